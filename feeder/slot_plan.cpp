// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/slot_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {

std::vector<std::size_t> interleave(std::vector<double> weights, std::size_t slots) {
    const auto counts = [](double w) { return std::isfinite(w) && w > 0; };
    if (weights.empty()) return {};
    if (std::none_of(weights.begin(), weights.end(), counts)) std::fill(weights.begin(), weights.end(), 1.0);
    constexpr double kNoCredit = -std::numeric_limits<double>::infinity();
    std::vector<double> credit;
    for (const double w : weights) credit.push_back(counts(w) ? 0 : kNoCredit);
    std::vector<std::size_t> plan;
    plan.reserve(slots);
    while (plan.size() < slots) {
        const auto best = static_cast<std::size_t>(std::max_element(credit.begin(), credit.end()) - credit.begin());
        credit[best] -= 1 / weights[best];
        plan.push_back(best);
    }
    return plan;
}

std::vector<std::uint32_t> spread(std::vector<std::uint32_t> slots) {
    constexpr std::uint32_t kGolden = 0x9e3779b1;  // of 2^32: no multiples of another number lie as evenly
    std::ranges::sort(slots, {}, [](std::uint32_t slot) { return slot * kGolden; });
    return slots;
}

}  // namespace sluice
