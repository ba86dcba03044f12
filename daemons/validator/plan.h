// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Credit for a valid result. Upstream's adaptive system ("CreditNew"): peak flop count (PFC) claims are scaled by the
// version's and the host's record so that versions and hosts get the same for the same job. Constants and formulas:
// upstream behaviour.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/model/job.h"

namespace sluice {

struct App;
struct AppVersion;
struct HostAppVersion;

enum class CreditMode { kAdaptive, kFromWorkunit, kFromRuntime, kFromJudge, kNone };

/// One credit unit a day for 1/200 of a GFLOPS machine.
inline constexpr double kCobblestone = 200.0 / 86400e9;

/// What one valid result claims.
struct CreditClaim {
    enum class Kind { kNormal, kApprox, kInvalid };
    Kind kind = Kind::kApprox;
    double pfc = 0;  ///< scaled
    double raw_pfc = 0;
    bool outlier = false;  ///< not used for averages
    /// Sample for pfc averages (raw_pfc / rsc_fpops_est); < 0: none.
    double pfc_sample = -1;
    double et_sample = -1;  ///< elapsed / rsc_fpops_est
};

struct CreditInputs {
    const App& app;
    const Workunit& wu;
    double max_granted_credit = 73000000;
};

/// `hav` and `version` may be null (unknown).
CreditClaim claim_of(const Result& result, const HostAppVersion* hav, const AppVersion* version,
                     const CreditInputs& in);

/// The credit all valid results of the workunit get (adaptive mode).
double grant(const std::vector<CreditClaim>& claims, const CreditInputs& in);

/// credit_from_runtime: flops_estimate * elapsed, capped.
double runtime_credit(const std::vector<const Result*>& results, const CreditInputs& in);

// The validator's decisions for one workunit, as a pure function: what its results' outputs say -> what is written.
// Stands for upstream's validator framework with check_set.

/// What looking at a result's output gave.
struct OutputCheck {
    enum class Kind {
        kGood,       ///< readable; `key` compares it with others
        kTransient,  ///< can't be read just now (file system away): try again later
        kError       ///< lost
    };
    /// What it says about the upload folder.
    enum class Files { kNone, kRead, kMissing, kShut };
    Kind kind = Kind::kGood;
    std::string key;       ///< equal keys = results agree
    std::string why = {};  ///< if not good: which file, and the system's words
    Files files = Files::kNone;
    std::string missing = {};           ///< if kMissing: the file's path; empty: it is not known which files there were
    bool suspicious = false;            ///< good, but not without a second one where the app asks for several
    bool outlier = false;               ///< its run time says nothing of others: the project's own code says so
    std::optional<double> credit = {};  ///< what the judge says that it is worth, for --post_assigned_credit
    std::optional<double> opaque = {};  ///< becomes result.opaque, if there is a verdict
    bool code_failed = false;           ///< kTransient: the project's code crashed, hung or made no sense
};

/// What comparing two results gave.
enum class Agreement : unsigned char {
    kNotAsked,
    kSame,
    kDifferent,
    kTransient,  ///< can't be told just now
    kFailed      ///< nor this: the project's code crashed or hung
};
constexpr bool is_open(Agreement answer) { return answer == Agreement::kTransient || answer == Agreement::kFailed; }
/// Row a, column b: result a compared with result b. Empty: results with equal keys agree.
using Comparisons = std::vector<std::vector<Agreement>>;

/// What a judge says that decides on a workunit's results itself (upstream's check_set and check_pair).
struct SetVerdict {
    std::vector<ValidateState> states = {};  ///< of each result kValid or kInvalid; kInit: not decided
    std::optional<std::size_t> canonical = {};
};

struct ValidateFacts {
    Workunit wu;
    std::vector<Result> results;
    std::vector<std::optional<OutputCheck>> outputs;  ///< same order; set for results that needs_output() names
    Comparisons compared = {};
    std::optional<SetVerdict> decided = {};  ///< then neither quorums nor `compared` count
};

/// The results whose output has to be looked at: those without a verdict that could form a quorum, or, when a canonical
/// result exists, those to compare with it and the canonical one.
std::vector<bool> needs_output(const Workunit& wu, const std::vector<Result>& results);

/// Asks for the comparisons that a decision needs, in upstream's order: each good result with all others, until one
/// agrees with enough; late results with the canonical one.
Comparisons compare_as_needed(const Workunit& wu, const std::vector<Result>& results,
                              const std::vector<std::optional<OutputCheck>>& outputs,
                              const std::function<Agreement(std::size_t a, std::size_t b)>& compare);

struct ResultVerdict {
    Id result_id = 0;
    ValidateState validate_state = ValidateState::kInit;
    Outcome outcome = Outcome::kSuccess;
    ServerState server_state = ServerState::kOver;
    /// Guards: the row is written only if it still has these.
    ServerState was_server_state = ServerState::kOver;
    ValidateState was_validate_state = ValidateState::kInit;
    double granted_credit = 0;
    bool grant = false;  ///< VALID now: credit and host statistics are due
};

struct ValidationPlan {
    Id wu_id = 0;
    std::vector<ResultVerdict> verdicts;
    std::vector<Id> cancel;            ///< UNSENT or INACTIVE results that are not needed any more
    Id canonical_resultid = 0;         ///< newly found; 0 = none
    int error_mask = 0;                ///< bits to set
    bool assimilate = false;           ///< assimilate_state := READY
    int target_nresults = 0;           ///< 0: unchanged
    std::int64_t transition_time = 0;  ///< 0: unchanged
    bool again_later = false;          ///< an output can't be read just now: its result stays to be judged
};

ValidationPlan plan_validation(const ValidateFacts& facts, const App& app, std::int64_t now);

}  // namespace sluice
