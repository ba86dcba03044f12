// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 003, "Computing device quantiles": effective speed = speed * availability, sorted, cut at the quantile points.
#include "daemons/size_census/size_census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace sluice {
namespace {

SpeedRecord record(double et, double on, double active, double gpu, const char* plan_class = "") {
    return {et, on, active, gpu, plan_class, -1};
}

/// What level 0 goes by.
ProcType by_name(const std::string& plan_class) { return proc_type_of_plan_class(plan_class.c_str()); }

TEST(EffectiveSpeed, CpuAndGpuHaveTheirOwnAvailability) {
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-9, 0.5, 0.8, 0.1), by_name), 0.4e9);
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-12, 0.5, 0.8, 0.1, "cuda_fermi"), by_name), 0.05e12);
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-12, 0.5, 0.8, 0, "opencl_ati_101"), by_name), 0.4e12)
        << "client without gpu_active_frac";
    SpeedRecord anonymous = record(1e-12, 0.5, 0.8, 0.1);
    anonymous.anonymous_type = 1;
    EXPECT_DOUBLE_EQ(effective_speed(anonymous, by_name), 0.05e12);
}

TEST(EffectiveSpeed, AGpuVersionIsOneWhateverItsClass) {
    const auto all_gpus = [](const std::string&) { return ProcType::kNvidia; };
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-12, 0.5, 0.8, 0.1, "fast"), all_gpus), 0.05e12);
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-12, 0.5, 0.8, 0.1, "fast"), by_name), 0.4e12);
}

TEST(EffectiveSpeed, BadNumbersDoNotSpoilTheCensus) {
    EXPECT_EQ(effective_speed(record(1e-9, std::nan(""), 1, 1), by_name), 0);
    EXPECT_EQ(effective_speed(record(1e-9, -1, 1, 1), by_name), 0);
    EXPECT_DOUBLE_EQ(effective_speed(record(1e-9, 7, 1, 1), by_name), 1e9);
    EXPECT_EQ(effective_speed(record(0, 1, 1, 1), by_name), 0);
    EXPECT_EQ(effective_speed(record(1e-320, 1, 1, 1), by_name), 0) << "would be infinite";
}

TEST(Quantiles, OfSmallSamples) {
    std::vector<double> none, one{5}, four{4, 1, 3, 2};
    EXPECT_TRUE(quantiles(none, 3).empty());
    EXPECT_EQ(quantiles(one, 3), (std::vector<double>{5, 5}));
    EXPECT_EQ(quantiles(four, 2), (std::vector<double>{3}));
    EXPECT_EQ(quantiles(four, 1), std::vector<double>{});
}

TEST(Quantiles, AtLevelOneNoDeviceStandsOnBorder) {
    std::vector<double> one{5}, two{8, 2}, three{4, 1, 8}, six{6, 5, 4, 3, 2, 1}, many{7, 7, 7, 1, 9, 9, 9, 9};
    EXPECT_EQ(quantiles(one, 3, true), (std::vector<double>{5, 5}));
    EXPECT_EQ(quantiles(two, 2, true), (std::vector<double>{5}));
    EXPECT_EQ(quantiles(two, 4, true), (std::vector<double>{2, 5, 5}));
    EXPECT_EQ(quantiles(three, 3, true), (std::vector<double>{2.5, 6}));
    EXPECT_EQ(quantiles(six, 3, true), (std::vector<double>{2.5, 4.5}));
    EXPECT_EQ(quantiles(many, 2, true), (std::vector<double>{8}));
}

TEST(Quantiles, EqualAnIndependentComputation) {
    std::mt19937_64 rng(42);
    for (int round = 0; round < 500; ++round) {
        std::vector<double> speeds(1 + rng() % 2000);
        const bool ties = round % 3 == 0;
        for (double& s : speeds)
            s = ties ? static_cast<double>(rng() % 5) : std::exp(static_cast<double>(rng() % 20000) / 1000);
        auto sorted = speeds;
        std::sort(sorted.begin(), sorted.end());
        const int classes = 2 + static_cast<int>(rng() % 14);
        const auto points = quantiles(speeds, classes);
        ASSERT_EQ(points.size(), static_cast<std::size_t>(classes - 1));
        for (int i = 1; i < classes; ++i)
            EXPECT_EQ(points[static_cast<std::size_t>(i - 1)],
                      sorted[static_cast<std::size_t>(i) * sorted.size() / static_cast<std::size_t>(classes)]);
        EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
    }
}

TEST(CensusText, IsWrittenAsUpstreamsPhpWritesIt) {
    // php -r 'printf("%e\n", 1.5e9);' and so on.
    EXPECT_EQ(census_text({1.5e9, 2.25e12, 1.2345678e100}), "1.500000e+9\n2.250000e+12\n1.234568e+100\n");
    EXPECT_EQ(census_text({0, 1, 9.99999999, 3.5e-7, 1e-10}),
              "0.000000e+0\n1.000000e+0\n1.000000e+1\n3.500000e-7\n1.000000e-10\n");
}

}  // namespace
}  // namespace sluice
