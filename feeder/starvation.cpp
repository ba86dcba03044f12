// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/starvation.h"

#include <fmt/core.h>

namespace sluice {
namespace {

/// Rotation brings jobs back; what is older than this many has long been forgotten by everybody.
constexpr std::size_t kMostWaits = 200000;

}  // namespace

double StarvationWatch::offered(Id result, double now) {
    if (waits_.size() >= kMostWaits) waits_.clear();
    return waits_.try_emplace(result, Wait{now, 0, 0}).first->second.since;
}

void StarvationWatch::withdrawn(Id result, std::uint32_t passed_over) {
    const auto wait = waits_.find(result);
    if (wait != waits_.end()) wait->second.passed_over += passed_over;
}

int StarvationWatch::rotated(Id result) {
    const auto wait = waits_.find(result);
    return wait == waits_.end() ? 1 : ++wait->second.rotations;
}

std::optional<StarvationWatch::Finding> StarvationWatch::find(const ArrayMirror& mirror, const JobArray& array,
                                                              double now, double age) const {
    Finding finding;
    for (std::size_t i = 0; i < mirror.size(); ++i) {
        if (!mirror.at(i).held) continue;
        const Id id = mirror.at(i).queued.row.id;
        const auto wait = waits_.find(id);
        if (wait == waits_.end() || now - wait->second.since < age) continue;
        const std::uint64_t passed = wait->second.passed_over + array.passed_over_count(static_cast<std::uint32_t>(i));
        if (passed == 0) continue;
        ++finding.jobs;
        if (now - wait->second.since > finding.waited) {
            finding.oldest = id;
            finding.waited = now - wait->second.since;
            finding.passed_over = passed;
            finding.slot = i;
        }
    }
    if (finding.jobs == 0) return std::nullopt;
    return finding;
}

namespace {

std::string who_could(const JobSummary& job, const std::optional<HostFit>& counted) {
    if (!counted)
        return fmt::format("The hosts that could take it were not counted: that took longer than {} s", kHostsPatience);
    const HostFit& fit = *counted;
    const std::string of = fmt::format(" (of the {} with most recent credit)", kHostsLookedAt);
    if (fit.hosts == 0) return "No host was heard of in the last day" + of;
    if (fit.both == 0)
        return fmt::format(
                   "None of the {} hosts heard of in the last day could take it: {} lack its {:.2f} GB of memory, {} its {:.2f} GB of disk",
                   fit.hosts, fit.hosts - fit.enough_memory, job.rsc_memory_bound / 1e9, fit.hosts - fit.enough_disk,
                   job.rsc_disk_bound / 1e9) +
               of;
    return fmt::format(
               "{} of the {} hosts heard of in the last day have its {:.2f} GB of memory and {:.2f} GB of disk: something else refuses it",
               fit.both, fit.hosts, job.rsc_memory_bound / 1e9, job.rsc_disk_bound / 1e9) +
           of;
}

}  // namespace

std::string starvation_text(const StarvationWatch::Finding& f, const JobSummary& job, const std::string& app,
                            const std::optional<HostFit>& fit) {
    return fmt::format(
        "{} of the jobs in the array find no host; the oldest, [RESULT#{}] of app {} (size class {}, HR class {}, priority {}), "
        "waits for {:.0f} minutes and was passed over {} times. {}. sched_explain --host ID --job {} says what a host lacks",
        f.jobs, f.oldest, app, job.size_class, job.hr_class, job.priority, f.waited / 60, f.passed_over,
        who_could(job, fit), f.oldest);
}

}  // namespace sluice
