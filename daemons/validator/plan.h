// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The validator's decisions for one workunit, as a pure function: what its results' outputs say -> what is written.
// Stands for upstream's validator framework with check_set.
#include <optional>
#include <string>
#include <vector>

#include "sluice/model/records.h"

namespace sluice {

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
    std::string missing = {};  ///< if kMissing: the file's path; empty: it is not known which files there were
};

struct ValidateFacts {
    Workunit wu;
    std::vector<Result> results;
    std::vector<std::optional<OutputCheck>> outputs;  ///< same order; set for results that needs_output() names
};

/// The results whose output has to be looked at: those without a verdict that could form a quorum, or, when a canonical
/// result exists, those to compare with it and the canonical one.
std::vector<bool> needs_output(const Workunit& wu, const std::vector<Result>& results);

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
