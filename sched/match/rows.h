// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The shape of a policy, and every row. One policy = one file that defines its row; policies.cpp puts the rows in order
// of evaluation. docs/adding_a_policy.md shows how a project adds its own.
#include <span>

#include "sched/match/candidate.h"
#include "sched/match/picked.h"

namespace sluice::match {

using FastFn = Verdict (*)(const MatchContext&, const Candidate&);
using SetFn = Verdict (*)(const MatchContext&, const Candidate&, const Picked&);
using SlowFn = Verdict (*)(const MatchContext&, const Candidate&, const WorkunitFacts&);
using ScoreFn = double (*)(const MatchContext&, const Candidate&);

/// What a fast check or a score term depends on; it is evaluated no more often than that changes. In order of
/// evaluation.
enum class Scope {
    kApp,      ///< app and host: once per app (Candidate::job is a blank job)
    kJob,      ///< the job too: once per slot, whatever the number of resources asked for
    kVersion,  ///< the version too: once per slot and resource
    kJobLast   ///< as kJob, for checks that count only for hosts that have a version: once per slot
};
inline constexpr Scope kScopes[] = {Scope::kApp, Scope::kJob, Scope::kVersion, Scope::kJobLast};
/// Can a row matter to this request at all? Asked once; a row without the question always may.
using AppliesFn = bool (*)(const MatchContext&);

struct FastRow {
    const char* name = "";
    Scope scope = Scope::kJob;
    FastFn check = nullptr;
    const char* doc = "";
    AppliesFn applies = nullptr;  ///< false: it would refuse no job
    /// Asked again before a lost job is sent to the host that had it? Not what the volunteer now prefers, nor whom the
    /// job was reserved for (upstream).
    bool on_resend = false;
};

struct SetRow {
    const char* name = "";
    SetFn check = nullptr;
    const char* doc = "";
};

struct SlowRow {
    const char* name = "";
    SlowFn check = nullptr;
    const char* doc = "";
    bool for_no_host = false;  ///< a refusal means that no host may have this job: its slot is emptied
    bool commitment = false;   ///< a refusal means that the slot's copy is out of date: noted in the slot
};

/// Terms whose value is result.priority may be replaced by its rank among the candidates, in [-1,1].
enum class Ranking {
    kNone,
    kPriorities,       ///< at level 1: rank among the ordinary priorities; 0 for a logical end time
    kLogicalEndTimes,  ///< at every level: rank among those; 0 for an ordinary priority
    kLag               ///< at every level: by the lag of the job's batch behind the least of its band (share_bands.h)
};

struct ScoreRow {
    const char* name = "";
    Scope scope = Scope::kJob;
    ScoreFn value = nullptr;
    double weight_level0 = 0, weight_level1 = 0;
    Ranking ranking = Ranking::kNone;
    const char* doc = "";
    AppliesFn applies = nullptr;  ///< false: it would be 0 for every job
};

// Every row, in the order of evaluation: cheapest and most selective first. Beside its own file a new policy needs its
// line here and nothing else.
// clang-format off
#define SLUICE_FAST_ROWS(ROW) \
    /* app and host */ \
    ROW(kNonCpuIntensiveRow) \
    ROW(kBetaRow) \
    ROW(kAppSelectionRow) \
    ROW(kHrUnknownRow) \
    /* the job */ \
    ROW(kUserFilterRow) \
    ROW(kWithoutBatchRow) \
    ROW(kHrMismatchRow) \
    ROW(kKeywordRefusalRow) \
    ROW(kPlanLeftOutRow) \
    ROW(kPlanAwaitedRow) \
    /* the version that would run it; then, in upstream's order, what the volunteer is told with numbers (the last \
       two look at the job alone, but hosts without a version of the app are not told of them) */ \
    ROW(kVersionCommitmentRow) \
    ROW(kLttReservedRow) \
    ROW(kReliableOnlyRow) \
    ROW(kPlanFinishRow) \
    ROW(kMemoryRow) \
    ROW(kDiskRow) \
    ROW(kBandwidthRow)
#define SLUICE_SET_ROWS(ROW) \
    ROW(kJobsPerRpcRow) \
    ROW(kUserJobLimitRow) \
    ROW(kInProgressRow) \
    ROW(kDailyQuotaRow) \
    ROW(kOneInstanceRow) \
    ROW(kDiskSumRow) \
    ROW(kMemorySumRow) \
    ROW(kPlanRoomRow) \
    ROW(kDeadlineRow)
#define SLUICE_SLOW_ROWS(ROW) \
    ROW(kResultStillThereRow) \
    ROW(kWorkunitErrorRow) \
    ROW(kWorkunitDoneRow) \
    ROW(kHrCommittedElsewhereRow) \
    ROW(kVersionCommittedElsewhereRow) \
    ROW(kOneResultPerUserRow) \
    ROW(kOneResultPerHostRow)
#define SLUICE_SCORE_ROWS(ROW) \
    ROW(kLttMatchRow) \
    ROW(kLocalityLiteRow) \
    ROW(kSizeClassRow) \
    ROW(kBetaTermRow) \
    ROW(kNonPreferredAppRow) \
    ROW(kPreviouslyInfeasibleRow) \
    ROW(kKeywordRow) \
    ROW(kResultPriorityRow) \
    ROW(kHardnessRow) \
    ROW(kHrCommittedRow) \
    ROW(kBatchLetRow) \
    ROW(kShareLagRow) \
    ROW(kPlanRow) \
    ROW(kReliableRetryRow) \
    ROW(kWaitingRow)
// clang-format on

#define SLUICE_FAST_ROW(row) extern const FastRow row;
#define SLUICE_SET_ROW(row) extern const SetRow row;
#define SLUICE_SLOW_ROW(row) extern const SlowRow row;
#define SLUICE_SCORE_ROW(row) extern const ScoreRow row;
SLUICE_FAST_ROWS(SLUICE_FAST_ROW)
SLUICE_SET_ROWS(SLUICE_SET_ROW)
SLUICE_SLOW_ROWS(SLUICE_SLOW_ROW)
SLUICE_SCORE_ROWS(SLUICE_SCORE_ROW)
#undef SLUICE_FAST_ROW
#undef SLUICE_SET_ROW
#undef SLUICE_SLOW_ROW
#undef SLUICE_SCORE_ROW

std::span<const FastRow* const> fast_rows();
std::span<const SetRow* const> set_rows();
std::span<const SlowRow* const> slow_rows();
std::span<const ScoreRow* const> score_rows();

}  // namespace sluice::match
