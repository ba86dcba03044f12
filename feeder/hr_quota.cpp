// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/hr_quota.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace sluice {
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
