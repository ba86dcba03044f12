// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/starvation.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

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

int hr_type_of(const App& app, int project_type) {
    return project_type != 0 ? project_type : static_cast<int>(app.homogeneous_redundancy);
}

std::string hr_misconfiguration(const std::vector<App>& apps, int project_type, bool allapps, bool strict) {
    if (project_type < 0 || project_type >= kHrTypes) {
        return fmt::format("<homogeneous_redundancy> is {}; it must be 0, 1 (fine) or 2 (coarse)", project_type);
    }
    const App* first = apps.empty() ? nullptr : &apps.front();
    for (const App& app : apps) {
        const int type = static_cast<int>(app.homogeneous_redundancy);
        if (type < 0 || type >= kHrTypes) {
            return fmt::format("app {} has homogeneous_redundancy {}; it must be 0, 1 (fine) or 2 (coarse)", app.name,
                               type);
        }
        if (project_type != 0 && type != 0) {
            return fmt::format(
                "homogeneous redundancy is set both in config.xml ({}) and for app {} ({}); use one of them",
                project_type, app.name, type);
        }
        if (strict && !allapps && app.homogeneous_redundancy != first->homogeneous_redundancy) {
            return fmt::format(
                "apps {} and {} have different types of homogeneous redundancy; that needs feeder --allapps",
                first->name, app.name);
        }
    }
    return "";
}

HrQuota::HrQuota(const HrInfo& info, const std::array<int, kHrTypes>& slots) : limits_(true) {
    for (std::size_t type = 1; type < kHrTypes; ++type) {
        const auto& rac = info[type];
        const double total = std::accumulate(rac.begin(), rac.end(), 0.0);
        const int uncommitted = slots[type] / 2;
        const int committed = slots[type] - uncommitted;
        limit_[type].assign(kHrClasses, 1);
        for (std::size_t c = 1; c < kHrClasses && total > 0; ++c) {
            limit_[type][c] = std::max(1, static_cast<int>(committed * rac[c] / total));
        }
        limit_[type][0] = std::max(1, uncommitted);
        count_[type].assign(kHrClasses, 0);
    }
}

bool HrQuota::accepts(int type, int hr_class) const {
    if (!limits_ || type == 0) return true;
    if (type < 0 || type >= kHrTypes || hr_class < 0 || hr_class >= kHrClasses) return false;
    const auto t = static_cast<std::size_t>(type), c = static_cast<std::size_t>(hr_class);
    return count_[t][c] < limit_[t][c];
}

void HrQuota::add(int type, int hr_class, int n) {
    if (!limits_ || type <= 0 || type >= kHrTypes || hr_class < 0 || hr_class >= kHrClasses) return;
    count_[static_cast<std::size_t>(type)][static_cast<std::size_t>(hr_class)] += n;
}

int HrQuota::limit(int type, int hr_class) const {
    return limit_.at(static_cast<std::size_t>(type)).at(static_cast<std::size_t>(hr_class));
}

void HrQuota::clear_counts() {
    for (auto& counts : count_) std::fill(counts.begin(), counts.end(), 0);
}

std::array<int, kHrTypes> hr_slots(const std::vector<App>& apps, int project_type, int slots) {
    std::array<int, kHrTypes> by_type{};
    std::array<double, kHrTypes> weight{};
    double sum = 0;
    for (const App& app : apps) {
        weight[static_cast<std::size_t>(hr_type_of(app, project_type))] += app.weight;
        sum += app.weight;
    }
    for (std::size_t t = 0; t < kHrTypes; ++t) {
        if (project_type != 0) {
            by_type[t] = static_cast<int>(t) == project_type ? slots : 0;
        } else if (sum > 0) {
            by_type[t] = static_cast<int>(slots * weight[t] / sum);
        }
    }
    return by_type;
}

}  // namespace sluice
