// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/job_rows.h"

#include <algorithm>

#include "sluice/model/gang_member.h"

namespace sluice::sim {

Batch batch_row(const Scenario& scenario, const WorkSpec& work, const MemoryDb& db, std::int64_t now, int jobs) {
    const auto user = std::find_if(scenario.users.begin(), scenario.users.end(),
                                   [&](const UserSpec& u) { return u.name == work.user; });
    Batch batch;
    batch.id = db.batches.next_key();
    batch.user_id = user - scenario.users.begin() + 1;
    batch.app_id = &app_of(scenario, work) - scenario.apps.data() + 1;
    batch.create_time = now;
    batch.njobs = jobs;
    batch.state = jobs > 0 ? BatchState::kInProgress : BatchState::kInit;
    return batch;
}

Workunit job_row(const WorkSpec& work, std::size_t size, const MemoryDb& db, const Batch& batch, std::int64_t now) {
    Workunit wu;
    wu.id = db.workunits.next_key();
    wu.create_time = now;
    wu.appid = batch.app_id;
    wu.xml_doc = "<workunit></workunit>";
    wu.batch = batch.id;
    wu.rsc_fpops_est = work.size_hours[size] * kHour * kBaseFlops * work.estimate;
    wu.rsc_fpops_bound = 1000 * wu.rsc_fpops_est;
    wu.rsc_memory_bound = work.memory_mb * 1e6;
    wu.rsc_disk_bound = work.disk_mb * 1e6;
    wu.transition_time = now;
    wu.delay_bound = static_cast<std::int64_t>(work.delay_bound_days * kDay);
    wu.min_quorum = work.quorum;
    wu.target_nresults = std::max(work.quorum, work.target);
    wu.max_error_results = wu.max_success_results = 10 + wu.target_nresults;
    wu.max_total_results = 20 + 2 * wu.target_nresults;
    wu.result_template_file = "out";
    if (work.gang.size > 0) send_by_gang_planner_only(wu);
    return wu;
}

}  // namespace sluice::sim
