// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sluice/base/clock.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fixed_rng.h"

namespace sluice {
namespace {

TEST(Rng, TheSameSeedGivesTheSameSequenceEverywhere) {
    // The standard's check value of mt19937_64: the 10000th number from seed 5489.
    const auto rng = make_seeded_rng(5489);
    for (int i = 1; i < 10000; ++i) rng->next();
    EXPECT_EQ(rng->next(), 9981545732273789042ull);
}

TEST(Rng, SystemGeneratorsDiffer) { EXPECT_NE(make_system_rng()->next(), make_system_rng()->next()); }

TEST(Rng, UniformStaysBelowOne) {
    test::FixedRng rng{0, ~0ull, test::FixedRng::bits_for_uniform(0.25)};
    EXPECT_EQ(rng.uniform(), 0);
    EXPECT_LT(rng.uniform(), 1);
    EXPECT_EQ(rng.uniform(), 0.25);
    EXPECT_EQ(rng.left(), 0u);
}

TEST(Rng, BelowIsInRangeAndEven) {
    test::FixedRng rng(3);
    std::array<int, 7> counts{};
    for (int i = 0; i < 70000; ++i) ++counts.at(rng.below(7));
    for (const int n : counts) EXPECT_NEAR(n, 10000, 500);  // 5 standard deviations
    EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, BelowDrawsAgainWhereRangeDoesNotDivide) {
    // 2^64 mod 3 = 1: the value 0 is one too many.
    test::FixedRng rng{0, 5};
    EXPECT_EQ(rng.below(3), 2u);
}

TEST(Rng, GaussianHasMeanZeroAndVarianceOne) {
    test::FixedRng rng(4);
    constexpr int kN = 100000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kN; ++i) {
        const double x = rng.gaussian();
        sum += x;
        squares += x * x;
    }
    EXPECT_NEAR(sum / kN, 0, 0.02);
    EXPECT_NEAR(squares / kN, 1, 0.03);
    test::FixedRng edge{~0ull, 0};
    EXPECT_TRUE(std::isfinite(edge.gaussian()));
}

TEST(FixedRng, AScriptThatHasRunOutFails) {
    test::FixedRng rng{1};
    rng.next();
    EXPECT_THROW(rng.next(), std::logic_error);
}

TEST(Clock, SystemClockIsNow) {
    EXPECT_NEAR(SystemClock().now(), static_cast<double>(std::time(nullptr)), 2);
    test::FakeClock clock(1000.75);
    clock.advance(0.5);
    EXPECT_EQ(clock.now(), 1001.25);
    EXPECT_EQ(clock.now_sec(), 1001);
    clock.set(5);
    EXPECT_EQ(clock.now(), 5);
}

}  // namespace
}  // namespace sluice
