// SPDX-License-Identifier: LGPL-3.0-or-later
// What users would get of a fluid: by quota, as far as their work is for the devices that there are.
#include "sched/sim/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace sluice::sim {
namespace {

constexpr double kAlways = std::numeric_limits<double>::infinity();

void expect(const std::vector<PerDevice>& parts, const std::vector<PerDevice>& wanted) {
    ASSERT_EQ(parts.size(), wanted.size());
    for (std::size_t u = 0; u < parts.size(); ++u)
        for (const std::size_t d : {0u, 1u}) EXPECT_NEAR(parts[u][d], wanted[u][d], 1e-5) << u << " " << d;
}

TEST(Fluid, EqualDevicesAreSharedByQuota) {
    expect(fluid_of({1, 3}, {{kAlways, 0}, {kAlways, 0}}, {100, 0}), {{25, 0}, {75, 0}});
    expect(fluid_of({1, 3}, {{kAlways, 0}, {30, 0}}, {100, 0}), {{70, 0}, {30, 0}});
    expect(fluid_of({1, 0}, {{kAlways, 0}, {kAlways, 0}}, {100, 0}), {{100, 0}, {0, 0}});
    expect(fluid_of({1, 1}, {{10, 0}, {20, 0}}, {100, 50}), {{10, 0}, {20, 0}});
}

// It was thought that who has work for processors only could be given GPUs.
TEST(Fluid, NobodyGetsMoreThanUsableDevices) {
    expect(fluid_of({1, 1}, {{kAlways, 0}, {0, kAlways}}, {40, 60}), {{40, 0}, {0, 60}});
    expect(fluid_of({1, 1, 1}, {{kAlways, 0}, {5, 0}, {0, kAlways}}, {40, 60}), {{35, 0}, {5, 0}, {0, 60}});
}

TEST(Fluid, WhoCanUseBothMakesUpForIt) {
    expect(fluid_of({1, 1, 1}, {{kAlways, 0}, {kAlways, kAlways}, {0, kAlways}}, {50, 40}),
           {{30, 0}, {20, 10}, {0, 30}});
    expect(fluid_of({1, 1}, {{kAlways, 0}, {kAlways, kAlways}}, {20, 80}), {{20, 0}, {0, 80}});
}

/// Nobody could have more unless somebody who has no more than he, by quota, had less.
TEST(Fluid, ItIsTheFairestOfAllDivisions) {
    std::mt19937_64 bits(3);
    const auto uniform = [&] { return std::uniform_real_distribution<double>()(bits); };
    for (int world = 0; world < 300; ++world) {
        const auto n = 1 + static_cast<std::size_t>(5 * uniform());
        const PerDevice there{uniform() < 0.2 ? 0 : 100 * uniform(), 100 * uniform()};
        std::vector<double> quotas;
        std::vector<PerDevice> work;
        for (std::size_t u = 0; u < n; ++u) {
            quotas.push_back(0.2 + uniform());
            const auto some = [&] { return uniform() < 0.3 ? 0 : uniform() < 0.4 ? kAlways : 60 * uniform(); };
            work.push_back({some(), some()});
        }
        const std::vector<PerDevice> parts = fluid_of(quotas, work, there);
        PerDevice used{};
        for (std::size_t u = 0; u < n; ++u)
            for (const std::size_t d : {0u, 1u}) {
                EXPECT_GE(parts[u][d], -1e-6);
                EXPECT_LE(parts[u][d], work[u][d] + 1e-6);
                used[d] += parts[u][d];
            }
        for (const std::size_t d : {0u, 1u}) EXPECT_LE(used[d], there[d] + 1e-5) << world;
        const auto level = [&](std::size_t u) { return (parts[u][0] + parts[u][1]) / quotas[u]; };
        // Directly, from what is left, or from somebody with a higher level; or over one who moves to the other device.
        for (std::size_t u = 0; u < n; ++u)
            for (const std::size_t d : {0u, 1u}) {
                if (parts[u][d] > work[u][d] - 1e-4) continue;
                EXPECT_GT(used[d], there[d] - 1e-3) << world;
                for (std::size_t v = 0; v < n; ++v) {
                    if (parts[v][d] <= 1e-3) continue;
                    EXPECT_LE(level(v), level(u) + 1e-3) << world;
                }
            }
    }
}

}  // namespace
}  // namespace sluice::sim
