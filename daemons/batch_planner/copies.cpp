// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/copies.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace sluice {

std::int64_t copies_left(double part, int jobs, std::int64_t made) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(part * std::max(jobs, 0) + 1e-9)) - made);
}

std::vector<OpenPlanResult> instances_to_copy(std::vector<LastInstance> last, double another, std::int64_t most) {
    std::erase_if(last, [&](const LastInstance& i) { return !(i.end > another); });
    std::sort(last.begin(), last.end(), [](const LastInstance& a, const LastInstance& b) {
        return std::tuple(-a.end, a.result.sent_time, a.result.id) <
               std::tuple(-b.end, b.result.sent_time, b.result.id);
    });
    std::vector<OpenPlanResult> chosen;
    std::set<Id> jobs;
    for (const LastInstance& i : last)
        if (static_cast<std::int64_t>(chosen.size()) < most && jobs.insert(i.result.workunit).second)
            chosen.push_back(i.result);
    return chosen;
}

}  // namespace sluice
