// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/gang_run.h"

#include "sched/sim/fleet_result.h"

namespace sluice::sim {

GangRun::GangRun(MemoryDb& db, const Clock& clock)
    : db_(db), clock_(clock), gangs_(db), plans_(db), hall_(gangs_, plans_) {}

void GangRun::submit(Id batch, Id first, const WorkSpec& work, bool measured) {
    any_ = true;
    std::vector<GangJob> jobs;
    for (int number = 0; number * work.gang.size < work.jobs; ++number) {
        GangHall::GangToMake gang{{batch, number}, {}, work.size_hours[0] * kHour, clock_.now(), measured, work.gang};
        for (int member = 0; member < work.gang.size; ++member) {
            gang.workunits.push_back(first++);
            jobs.push_back({gang.id, member, db_.workunits.get(gang.workunits.back())->name});
        }
        hall_.add(gang);
    }
    gangs_.define(jobs, work.gang.size);
}

void GangRun::tell(std::map<std::string, double>& more) const {
    if (!any_) return;
    const GangFigures f = hall_.figures();
    more["gangs_submitted"] = f.submitted, more["gangs_done"] = f.done;
    more["gang_breaks"] = f.submitted > 0 ? static_cast<double>(f.breaks) / f.submitted : 0;
    const Spread hours = spread_of(f.hours);
    more["gang_hours_p50"] = hours.p50, more["gang_hours_p95"] = hours.p95, more["gang_hours_max"] = hours.max;
    more["gang_core_hours_useful"] = f.useful, more["gang_core_hours_uneven"] = f.uneven;
    more["gang_core_hours_idle"] = f.idle(), more["gang_core_hours_lost"] = f.lost;
    more["gang_idle_and_lost"] = f.wasted_part();
    const double all = f.useful + f.lost + f.idle();
    if (all <= 0) return;
    more["gang_idle_first"] = f.first_wait / all, more["gang_idle_after_breaks"] = f.later_waits / all;
    more["gang_lost"] = f.lost / all, more["gang_uneven"] = f.uneven / all;
}

}  // namespace sluice::sim
