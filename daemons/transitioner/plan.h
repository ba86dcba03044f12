// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a workunit and its results become. Upstream: handle_wu() of the transitioner. Pure: facts in, decisions out;
// tests/unit/transitioner has one case for each rule.
#include <map>
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
    bool forgive_unstarted = false;  ///< what clients could not start in time (exit status 200) is no error of the job
    int daily_result_quota = 0;
    bool details = false;  ///< TransitionPlan::details is wanted
    /// Apps whose jobs size_regulator releases; nobody would ever release those of others.
    std::set<Id> apps_with_size_classes{};
    /// Of those apps, where a workunit lacks_size_class(): the typical rsc_fpops_est by class.
    std::map<Id, std::map<int, double>> typical_sizes{};
};

/// A new job without a size class in an app that has them, from a tool that knows nothing of classes: at compat level 1
/// it gets one by its size, as from create_work (seed 003: size_regulator releases the jobs of such apps). At level 0,
/// and once it has results, it goes out past the regulator, as upstream's.
bool lacks_size_class(const TransitionFacts& facts, const TransitionParams& params);

/// Results to make.
struct NewResults {
    int count = 0;
    std::int64_t first_suffix = 0;  ///< names are WORKUNIT_first, WORKUNIT_first+1 …
    ServerState state = ServerState::kUnsent;
    std::int64_t priority = 0;
    int size_class = -1;
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
