// SPDX-License-Identifier: LGPL-3.0-or-later
// Will the job be back in time? If the client sent its queue, the queue is simulated with the job in it. Otherwise the
// resource's estimated delay plus the run time must not exceed the bound (upstream's crude rule).
#include "sched/match/deadline.h"

#include "sched/match/planned_batch.h"

namespace sluice::match {
namespace {

// Upstream marks apps whose jobs are hard to finish in time with weight -1; but where homogeneous redundancy is the
// project's, its feeder gives every app weight 1.
bool hard(const MatchContext& x, const AppFacts& app) {
    if (x.params.compat_level <= 0 && x.params.project_hr() != HrType::kNone) return false;
    return app.app->weight == -1;
}
constexpr double kHardMargin = 1.3;

double reduced_bound(const MatchContext& x, const Candidate& c) {
    const double bound = c.job.delay_bound, r = x.params.reliable_reduced_delay_bound;
    if (!c.job.need_reliable || !(r > 0.01)) return bound;
    const double reduced = r * bound, twice = 2 * c.runtime();
    return twice > reduced && twice < bound && twice < 2 * reduced ? twice : reduced;
}

}  // namespace

Verdict deadline_verdict(const MatchContext& x, const Candidate& c, const Picked& picked, double bound) {
    if (x.params.ignore_delay_bound) return feasible();
    const double delay = picked.left.estimated_delay[static_cast<std::size_t>(c.offer->counted_as)];
    const bool is_hard = hard(x, c.app);
    const double runtime = c.runtime() * (is_hard ? kHardMargin : 1);  // the simulation needs no margin (upstream)
    if (is_hard && x.host.row.total_credit == 0) return refuse(Reason::kDeadline, runtime, 0);
    // Upstream: an idle host always gets a job.
    if (x.params.compat_level <= 0 && delay == 0 && !is_hard) return feasible();
    if (picked.simulation.active()) {
        const bool gpu = c.offer->type != ProcType::kCpu;
        const HostUsage& use = c.offer->choice.usage;
        const auto answer =
            picked.simulation.try_job({bound, c.runtime(), gpu ? use.gpu_usage : use.avg_ncpus, c.offer->type, 0});
        if (answer.feasible) return feasible();
        if (answer.others) return refuse(Reason::kDeadlineOthers, answer.lateness, 0);
        return refuse(Reason::kDeadline, bound + answer.lateness, bound);
    }
    return delay + runtime <= bound ? feasible() : refuse(Reason::kDeadline, delay + runtime, bound);
}

double attainable_deadline(const MatchContext& x, const Candidate& c, const Picked& picked) {
    if (plan_for(x, c.job) != nullptr) return tight_deadline(x, c, picked);
    const double reduced = reduced_bound(x, c);
    if (reduced == c.job.delay_bound || !deadline_verdict(x, c, picked, reduced).refused()) return reduced;
    return c.job.delay_bound;
}

}  // namespace sluice::match
