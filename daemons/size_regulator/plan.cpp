// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/size_regulator/plan.h"

namespace sluice {

std::vector<Release> plan_release(int classes, const std::map<int, std::int64_t>& unsent, const WaterMarks& marks) {
    std::vector<Release> plan;
    for (int c = 0; c < classes; ++c) {
        const auto it = unsent.find(c);
        const std::int64_t have = it == unsent.end() ? 0 : it->second;
        if (have < marks.low) plan.push_back({c, marks.high - have});
    }
    return plan;
}

std::string check_marks(const WaterMarks& marks) {
    if (marks.low <= 0 || marks.high <= 0) return "--lo and --hi are required and must be above 0";
    if (marks.low > marks.high)
        return "--lo " + std::to_string(marks.low) + " is above --hi " + std::to_string(marks.high) +
               ": a class is filled up to --hi when it falls below --lo";
    return "";
}

}  // namespace sluice
