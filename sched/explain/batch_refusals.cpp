// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/batch_refusals.h"

#include <algorithm>
#include <map>

#include "sched/explain/live_project.h"
#include "sched/explain/report.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

using Count = std::map<std::string, BatchRefusals::Refusal>;

void add(Count& count, const std::string& reason, const std::string& advice) {
    BatchRefusals::Refusal& r = count[reason];
    r.reason = reason, r.advice = advice;
    ++r.hosts;
}

bool has_use_for(const Explanation& e) {
    return std::any_of(e.jobs.begin(), e.jobs.end(),
                       [](const JudgedJob& j) { return j.fate == Reason::kFeasible || j.fate == Reason::kNotNeeded; });
}

/// nullopt: it was merged, or its account is gone.
std::optional<SchedulerRequest> request_of(LiveProject& project, Id host) {
    try {
        return project.request_of(host, RequestedWork{}).request;
    } catch (const DbError&) {
        throw;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

BatchRefusals refusals_of_batch(const std::filesystem::path& folder, Id batch, std::span<const Id> hosts) {
    BatchRefusals found;
    LiveProject project(folder, {});
    MatchParams params = project.params;
    params.mm_min_slots = params.mm_max_slots = params.mm_max_locked = 0;  // every job is judged
    DryJobPool pool(*project.array, {.batch = batch});
    found.jobs_in_array = static_cast<int>(pool.shown());
    if (found.jobs_in_array == 0) return found;
    SystemClock clock;
    Report state;
    tell_project_state(state, project.live.project_dir, project.array->stats(), project.array->ready(),
                       clock.now_sec());
    found.blocked_by = state.blocked_by;
    RpcStores s = project.stores.stores();
    AsUnsentStore judged(s.results, KnownResult{});
    RpcStores reading{s.accounts, s.host_states, judged, s.assignments, s.unit_of_work};
    Count count;
    for (const Id host : hosts) {
        const auto request = request_of(project, host);
        if (!request) continue;
        ++found.hosts;
        const auto rng = make_seeded_rng(1);
        RpcServices services{project.config, project.files, params,           *project.tables,
                             pool,           reading,       Env{clock, *rng}, request_limits(project.config)};
        services.ignore_seqno = true;
        const Explanation e = dry_run(services, pool, *request);
        pool.release_all();
        if (e.search == Search::kDone && has_use_for(e))
            ++found.would_get;
        else if (e.search != Search::kDone)
            add(count, search_info(e.search).name, search_info(e.search).advice);
        else if (const auto r = binding_reason(e))
            add(count, reason_name(*r), reason_advice(*r));
    }
    for (const auto& [reason, refusal] : count) found.refusals.push_back(refusal);
    std::stable_sort(found.refusals.begin(), found.refusals.end(),
                     [](const auto& a, const auto& b) { return a.hosts > b.hosts; });
    return found;
}

}  // namespace sluice
