// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/watch_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "daemons/batches/owners_page.h"

namespace sluice {

std::int64_t failures_that_stop(int jobs) {
    return std::clamp((std::int64_t{jobs} + 9) / 10, kLeastFailed, kMostFailed);
}

std::optional<std::string> reason_to_stop(int jobs, const BatchOutcomes& o) {
    if (o.good > 0 || o.failed < failures_that_stop(jobs) || o.failing_hosts < kLeastFailingHosts) return std::nullopt;
    std::string text = fmt::format("none succeeded and {} failed on {} hosts", o.failed, o.failing_hosts);
    if (o.with_exit_status > 0)
        text += fmt::format(", {} of them with exit status {}", o.with_exit_status, o.exit_status);
    return text;
}

std::optional<std::string> slow_text(const BatchOutcomes& o) {
    if (o.timed < kLeastTimed || 2 * o.slow < o.timed) return std::nullopt;
    return fmt::format(
        "{} of {} jobs that came back took at least {:.0f} times their estimate, {:.0f} times on average: "
        "rsc_fpops_est is too low, or the jobs hang",
        o.slow, o.timed, BatchOutcomes::kSlowFactor, o.slow_by);
}

double promise_of(const Batch& batch, double now, const EtaFactors& factors) {
    if (!(batch.est_completion_time > now)) return 0;
    return eta_band(now, batch.est_completion_time, factors).until;
}

std::optional<std::string> late_text(const WatchedBatch& w, double now, const EtaFactors& factors) {
    const double eta = w.row.est_completion_time;
    // Where batches end sooner than expected, the ETA itself lies beyond the band.
    const double soonest = factors.most < 1 ? eta_band(now, eta, factors).from : eta;
    if (w.promised <= 0 || (now <= w.promised && soonest <= w.promised)) return std::nullopt;
    return fmt::format("its first ETA said that it would be done by {}; {}", utc_text(w.promised),
                       eta > now ? "it is now expected at " + utc_text(eta) : "now no end is known");
}

std::optional<std::string> done_text(const WatchedBatch& w) {
    const Batch& b = w.row;
    // Its owner may have retired it already.
    const bool done = b.state == BatchState::kComplete || (b.state == BatchState::kRetired && b.fraction_done >= 1);
    if (w.gone || !done) return std::nullopt;
    return fmt::format("{} of {} jobs succeeded, {} failed", std::max(0, b.njobs - b.nerror_jobs), b.njobs,
                       b.nerror_jobs);
}

std::int64_t wait_after(int tries) {
    constexpr std::int64_t kFirst = 60, kLongest = 3600;
    return std::min(kLongest, kFirst << std::clamp(tries - 1, 0, 6));
}

}  // namespace sluice
