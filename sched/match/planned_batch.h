// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Jobs of batches that batch_planner has planned (seed 000): who may have one, and what deadline makes its client run
// it at once. A client runs jobs in the order of their deadlines as soon as it expects to miss one, that is when a job
// would end later than its deadline less the minimum buffer; and it gives up what it has not started by the deadline.
#include <algorithm>

#include "sched/match/candidate.h"
#include "sched/match/picked.h"
#include "sluice/match/cpu_use.h"

namespace sluice::match {

inline bool batches_are_planned(const MatchParams& params, const ProjectTables& tables) {
    return params.plan_batches && !tables.plan.batches.empty();
}
/// The plan of a batch; null: there is none that binds a request of that time.
inline const PlannedBatch* binding_plan(const MatchParams& params, const ProjectTables& tables, Id batch, double now) {
    return params.plan_batches ? tables.plan.binding(batch, now) : nullptr;
}
inline const PlannedBatch* plan_for(const MatchContext& x, const JobSummary& job) {
    return binding_plan(x.params, x.tables, job.batch, x.now);
}

/// What a host does before one more such job. Ordinary jobs give way.
struct TightQueue {
    double told = 0;  ///< s: what its client calls its delay, which is that of the least busy processor
    double here = 0;  ///< s after that: run times of the jobs in this reply that it does before
    double all = 0;   ///< s: run times of all that it has; not every client tells its delay
    double wait() const { return std::max(told + here, all); }
};

/// s from now until this host would be done with one more: the rule of H. The margin is that of our run times, and not
/// of what the client says itself.
inline double planned_end(const Candidate& c, const PlannedBatch& plan, const TightQueue& queue) {
    const double available = c.offer->choice.availability;
    const auto done = [&](double before) {
        return plan.margin * planned_run_time((before + c.runtime()) * available, available);
    };
    return std::max(queue.told + done(queue.here), done(queue.all));
}
inline double planned_end(const MatchContext& x, const Candidate& c, const PlannedBatch& plan) {
    return planned_end(c, plan, {.told = x.wanted.estimated_delay[static_cast<std::size_t>(c.offer->counted_as)]});
}

/// With so many jobs each host of H has to do several. It gets them together, for it may not come again soon. Of few
/// jobs every host gets one a processor, and so it does where H is small: when one of many hosts goes away the others
/// soon do what it had.
inline bool hosts_queue(const PlannedBatch& plan) {
    constexpr int kManyHosts = 8;
    return plan.hosts >= kManyHosts && plan.jobs > 2 * plan.hosts;
}

/// How many such jobs run on the host at a time: by its processors, or GPUs of that type, and by what a job takes.
inline int tight_places(const MatchContext& x, const Candidate& c) {
    const HostUsage& use = c.offer->choice.usage;
    const int devices = limit_processors(x.host, c.offer->counted_as);
    if (c.offer->counted_as == ProcType::kCpu) return planned_at_once_on_processors(devices, use.avg_ncpus);
    return std::max(planned_at_once(devices, use.gpu_usage > 0 ? use.gpu_usage : 1), 1);
}

/// Nothing where a processor is free for one more such job. A host that asks for much work gets as many as it can be
/// done with in time, and does them one after the other.
inline TightQueue tight_queue(const MatchContext& x, const Candidate& c, const Picked& picked) {
    const auto type = static_cast<std::size_t>(c.offer->counted_as);
    const int processors = tight_places(x, c);
    const int all = picked.tight[type], here = picked.tight_new[type], before = all - here;
    if (all < processors) return {};
    const double each = here > 0 ? picked.tight_seconds[type] / here : c.runtime();
    const int rounds_here = (before >= processors ? here : all) / processors, rounds = all / processors;
    return {x.wanted.estimated_delay[type], rounds_here * each, rounds * each};
}

/// s from now: k times the run time as the client expects it, and its minimum buffer, which is 180 s at least.
inline double tight_deadline(const MatchContext& x, const Candidate& c, double buffer) {
    constexpr double kLeastBuffer = 180;
    return x.params.plan_deadline_factor * c.runtime() + std::max(kLeastBuffer, buffer);
}
/// The same after those that it has, earlier than that of every ordinary job of the project on those devices: a client
/// that expects to miss one deadline runs the earliest first, whichever would be missed.
inline double tight_deadline(const MatchContext& x, const Candidate& c, const Picked& picked) {
    const double queued = x.params.plan_deadline_factor * tight_queue(x, c, picked).wait();
    return std::min({queued + tight_deadline(x, c, x.host.work_buf_min),
                     picked.first_due[static_cast<std::size_t>(c.offer->counted_as)] - 1,
                     static_cast<double>(c.job.delay_bound)});
}

}  // namespace sluice::match
