#pragma once
// What a workunit and its results become. Upstream: handle_wu() of the transitioner. Pure: facts in, decisions out;
// tests/unit/transitioner has one case for each rule.
#include <set>
#include <string>
#include <vector>

#include "sluice/db/transition_store.h"

namespace sluice {

struct TransitionParams {
    int compat_level = 0;
    std::int64_t priority_on_over = 0;               ///< reliable_priority_on_over
    std::int64_t priority_on_over_except_error = 0;  ///< reliable_priority_on_over_except_error
    std::int64_t delete_delay = 0;                   ///< s after the last report before files may go
    bool hr_class_static = false;
    int daily_result_quota = 0;
    bool details = false;  ///< TransitionPlan::details is wanted
    /// Apps whose jobs size_regulator releases; nobody would ever release those of others.
    std::set<Id> apps_with_size_classes{};
};

/// Results to make.
struct NewResults {
    int count = 0;
    std::int64_t first_suffix = 0;  ///< names are WORKUNIT_first, WORKUNIT_first+1 …
    ServerState state = ServerState::kUnsent;
    std::int64_t priority = 0;
};

struct TransitionPlan {
    std::vector<ResultChange> results;
    NewResults create;
    WorkunitChange workunit;
    std::vector<TimedOut> timed_out;
    std::vector<std::string> notes;    ///< what happened, for the log; upstream's lines
    std::vector<std::string> details;  ///< the same for -d 4
};

TransitionPlan plan_transition(const TransitionFacts& facts, const TransitionParams& params, std::int64_t now);

/// The results of the plan could not be made: the rest is done, and the workunit is looked at again after `delay` s.
void postpone_creation(TransitionPlan& plan, std::int64_t now, std::int64_t delay);

}  // namespace sluice
