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
    kJobLast   ///< as kJob, for checks of which only hosts are told that have a version: once per slot
};
inline constexpr Scope kScopes[] = {Scope::kApp, Scope::kJob, Scope::kVersion, Scope::kJobLast};
/// Can a row matter to this request at all? Asked once; a row without the question always may.
using AppliesFn = bool (*)(const MatchContext&);

struct FastRow {
    const char* name;
    Scope scope;
    FastFn check;
    const char* doc;
    AppliesFn applies = nullptr;  ///< false: it would refuse no job
};

struct SetRow {
    const char* name;
    SetFn check;
    const char* doc;
};

struct SlowRow {
    const char* name;
    SlowFn check;
    bool for_no_host;  ///< a refusal means that no host may have this job: its slot is emptied
    bool commitment;   ///< a refusal means that the slot's copy is out of date: noted in the slot
    const char* doc;
};

/// Terms whose value is result.priority may be replaced by its rank among the candidates, in [-1,1].
enum class Ranking {
    kNone,
    kPriorities,      ///< at level 1: rank among the ordinary priorities; 0 for a logical end time
    kLogicalEndTimes  ///< at every level: rank among those; 0 for an ordinary priority
};

struct ScoreRow {
    const char* name;
    Scope scope;
    ScoreFn value;
    double weight_level0, weight_level1;
    Ranking ranking;
    const char* doc;
    AppliesFn applies = nullptr;  ///< false: it would be 0 for every job
};

// In the order of evaluation.
std::span<const FastRow* const> fast_rows();
std::span<const SetRow* const> set_rows();
std::span<const SlowRow* const> slow_rows();
std::span<const ScoreRow* const> score_rows();

// fast/
extern const FastRow kNonCpuIntensiveRow, kBetaRow, kAppSelectionRow, kHrUnknownRow;
extern const FastRow kUserFilterRow, kLttReservedRow, kKeywordRefusalRow, kHrMismatchRow, kDiskRow, kBandwidthRow;
extern const FastRow kVersionCommitmentRow, kReliableOnlyRow, kMemoryRow;
// set/
extern const SetRow kJobsPerRpcRow, kUserJobLimitRow, kInProgressRow, kDailyQuotaRow, kOneInstanceRow, kDiskSumRow,
    kMemorySumRow, kDeadlineRow;
// slow/
extern const SlowRow kResultStillThereRow, kWorkunitErrorRow, kWorkunitDoneRow, kHrCommittedElsewhereRow,
    kVersionCommittedElsewhereRow, kOneResultPerUserRow, kOneResultPerHostRow;
// score/
extern const ScoreRow kLttMatchRow, kLocalityLiteRow, kSizeClassRow, kBetaTermRow, kNonPreferredAppRow,
    kPreviouslyInfeasibleRow, kKeywordRow, kResultPriorityRow, kHardnessRow, kHrCommittedRow, kBatchLetRow,
    kReliableRetryRow, kWaitingRow;

}  // namespace sluice::match
