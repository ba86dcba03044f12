// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_census/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

double fraction(double v) { return v > 0 ? std::min(v, 1.0) : 0; }  // NaN compares false: 0

}  // namespace

double availability(const SpeedRecord& r, const ResourceOf& resource) {
    const ProcType type = r.anonymous_type >= 0 ? static_cast<ProcType>(r.anonymous_type) : resource(r.plan_class);
    const double active =
        type == ProcType::kCpu || fraction(r.gpu_active_frac) == 0 ? r.active_frac : r.gpu_active_frac;
    return fraction(r.on_frac) * fraction(active);
}

double effective_speed(const SpeedRecord& r, const ResourceOf& resource) {
    if (!(r.et_avg > 0)) return 0;
    const double speed = availability(r, resource) / r.et_avg;
    return std::isfinite(speed) ? speed : 0;
}

std::vector<double> quantiles(std::vector<double>& speeds, int classes, bool between) {
    std::vector<double> points;
    if (speeds.empty()) return points;
    auto from = speeds.begin();
    for (int i = 1; i < classes; ++i) {
        // Each nth_element works on what lies right of the last point: linear, where a full sort is not needed.
        const auto at = speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() * static_cast<std::size_t>(i) /
                                                                     static_cast<std::size_t>(classes));
        std::nth_element(from, at, speeds.end());
        const bool same = at == from && !points.empty();
        const double slower = between && at != from ? *std::max_element(from, at) : *at;
        points.push_back(same ? points.back() : slower + (*at - slower) / 2);
        from = at;
    }
    return points;
}

std::string census_text(const std::vector<double>& points) {
    std::string text;
    for (const double q : points) {
        std::string line = fmt::format("{:e}", q);  // 1.500000e+09
        const std::size_t digits = line.find_first_of("+-", 1) + 1;
        const std::size_t first = std::min(line.find_first_not_of('0', digits), line.size() - 1);
        line.erase(digits, first - digits);
        text += line + '\n';
    }
    return text;
}

}  // namespace sluice
