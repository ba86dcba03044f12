// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a caller that asks again and again, as cron does, has been told already.
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sched/health/judgement.h"

namespace sluice {

struct HealthTold {
    /// What was not well: at the last call, and when it was said. By check; one that is missing was well.
    std::map<std::string, std::string, std::less<>> seen, told;
    double at = 0;  ///< UNIX s when something was said last

    /// Anything that no version of ours wrote is nothing.
    static HealthTold parse(std::string_view text);
    std::string text() const;
};

/// s after which what is still not well is said again.
inline constexpr double kRemindAfter = 3600;

/// Is it to be said now? A check's state is said when it is seen twice in a row: most that is mended within one period
/// is no news. Sets what was seen and told: what is said tells the states of all checks.
bool is_news(const std::vector<HealthCheck>& checks, double now, HealthTold& told);

}  // namespace sluice
