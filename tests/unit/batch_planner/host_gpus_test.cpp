// SPDX-License-Identifier: LGPL-3.0-or-later
// Which GPUs a host has, by what its client told, and what a job of an app takes of them.
#include "daemons/batches/fleet_reader.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using Counts = std::array<std::uint8_t, kProcTypes>;

TEST(HostGpus, TheirCountsAreReadFromHostMisc) {
    EXPECT_EQ(gpus_of_misc(R"({"client_version": "8.0.2", "gpus": [
        {"type": "nvidia", "model": "RTX", "count": 2, "ram_mb": 8192},
        {"type": "intel", "model": "UHD", "count": 1}, {"type": "amd"}, {"type": "Some Vendor", "count": 3}]})"),
              (Counts{0, 2, 1, 1, 0}));
    EXPECT_EQ(gpus_of_misc(R"({"gpus": [{"type": "apple", "count": 1000000}, {"type": "apple", "count": 9}]})"),
              (Counts{0, 0, 0, 0, 64}));
    for (const char* text :
         {"", "{", "[]", "7", R"({"gpus": {}})", R"({"gpus": [7, {"type": 1}, {"type": ""}, {"count": 2}]})"})
        EXPECT_EQ(gpus_of_misc(text), Counts{}) << text;
    EXPECT_EQ(gpus_of_misc(R"({"gpus": [{"type": "amd", "count": -3}, {"type": "nvidia", "count": "2"}]})"),
              (Counts{0, 1, 1, 0, 0}));
}

TEST(HostGpus, GpusAreKeptAndRemovedOnesNotCounted) {
    HostGpus gpus;
    EXPECT_EQ(gpus.count(5, ProcType::kNvidia, 3), 3) << "they may be of this type";
    gpus.note(5, R"({"gpus": [{"type": "nvidia", "count": 2}, {"type": "intel", "count": 1}]})");
    gpus.note(5, "");
    EXPECT_EQ(gpus.count(5, ProcType::kNvidia, 3), 2);
    EXPECT_EQ(gpus.count(5, ProcType::kIntelGpu, 3), 1);
    EXPECT_EQ(gpus.count(5, ProcType::kAmd, 3), 0);
    EXPECT_EQ(gpus.count(5, ProcType::kNvidia, 0), 0);
    EXPECT_EQ(gpus.count(6, ProcType::kNvidia, -1), 0);
}

const char* const kClasses =
    "<plan_classes>"
    "<plan_class><name>fast</name><gpu_type>nvidia</gpu_type><ngpus>2</ngpus><avg_ncpus>.5</avg_ncpus>"
    "<gpu_peak_flops_scale>.2</gpu_peak_flops_scale></plan_class>"
    "<plan_class><name>faster</name><gpu_type>nvidia</gpu_type><ngpus>.5</ngpus><cpu_frac>.01</cpu_frac>"
    "<gpu_peak_flops_scale>.9</gpu_peak_flops_scale></plan_class>"
    "<plan_class><name>any</name><gpu_type_regex>NVIDIA|ATI</gpu_type_regex></plan_class>"
    "</plan_classes>";

TEST(AppUses, ClassesSayWhatAJobTakes) {
    const PlanClasses classes = PlanClasses::from_spec(kClasses, "f");
    const AppUses uses({{1, 1, "", true},
                        {2, 2, "fast", true},
                        {3, 3, "fast", true},
                        {4, 3, "faster", true},
                        {5, 3, "", false},
                        {6, 4, "any", true, 200, 3}},
                       classes, 1);
    const auto devices = [&](Id app) {
        std::array<double, kProcTypes> all{};
        for (std::size_t t = 0; t < all.size(); ++t) all[t] = uses.of_apps().at(app)[t].devices;
        return all;
    };
    using All = std::array<double, kProcTypes>;
    EXPECT_EQ(devices(1), (All{1}));
    EXPECT_EQ(devices(2), (All{0, 2}));
    EXPECT_EQ(uses.of_apps().at(2)[1].cpus, 0.5);
    EXPECT_EQ(devices(3), (All{0, .5})) << "the faster one, and none that is not sent any more";
    EXPECT_EQ(devices(4), (All{0, 1, 1}));
    EXPECT_EQ(uses.of_apps().at(4)[1].pfc, 3);
    EXPECT_FALSE(uses.of_apps().contains(5));
    EXPECT_EQ(uses.type_of(1), ProcType::kCpu);
    EXPECT_EQ(uses.type_of(4), ProcType::kNvidia);
    EXPECT_EQ(uses.type_of(-4), ProcType::kAmd) << "a result of a client's own version";
    EXPECT_EQ(uses.type_of(3'000'003), ProcType::kNvidia) << "its statistics";
    EXPECT_EQ(uses.type_of(99), ProcType::kCpu);
}

TEST(AppUses, AThreadedClassTakesAllTheHostsProcessors) {
    const PlanClasses built_in;
    const AppUses uses({{1, 1, "", true},
                        {2, 2, "mt", true},
                        {3, 3, "mt", true},
                        {4, 3, "", true},
                        {5, 4, "mt", false},
                        {6, 4, "sse3", true},
                        {7, 5, "vbox64", true}},
                       built_in, 0);
    for (const Id app : {1, 4, 5, 99}) EXPECT_EQ(uses.threads_of_app(app), nullptr) << app;
    ASSERT_NE(uses.threads_of_app(2), nullptr);
    ASSERT_NE(uses.threads_of_app(3), nullptr);
    EXPECT_EQ(uses.threads_of_app(2)->size(), 1U);
    EXPECT_EQ(uses.threads_of_app(3)->size(), 2U) << "both are sent";
    const CpuUse mt = uses.cpu_use(5);
    EXPECT_EQ(mt, uses.cpu_use(2)) << "also of one that is not sent any more";
    EXPECT_EQ(mt.processors(8), 8);
    EXPECT_EQ(mt.processors(128), 64);
    EXPECT_EQ(mt.least, 2);
    for (const Id version : {Id{1}, Id{7}, Id{-2}, Id{3'000'002}, Id{99}})
        EXPECT_EQ(uses.cpu_use(version), CpuUse{}) << version;
    const PlanClasses own = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>four</name><avg_ncpus>4</avg_ncpus></plan_class></plan_classes>", "f");
    const CpuUse four = AppUses({{1, 1, "four", true}}, own, 1).cpu_use(1);
    EXPECT_EQ(four.processors(2), 4);
    EXPECT_EQ(planned_at_once_on_processors(2, four.processors(2)), 1) << "it runs alone";
    EXPECT_EQ(planned_at_once_on_processors(11, four.processors(11)), 2);
}

TEST(AppUses, Level0TheClassNameSaysTheResource) {
    const PlanClasses classes = PlanClasses::from_spec(kClasses, "f");
    const AppUses uses({{1, 1, "fast", true}, {2, 2, "cuda_x", true}}, classes, 0);
    EXPECT_EQ(uses.of_apps().at(1)[0].devices, 1);
    EXPECT_EQ(uses.of_apps().at(1)[1].devices, 0);
    EXPECT_EQ(uses.of_apps().at(2)[1].devices, 1);
}

// The scheduler's figures: ten processors a GPU, or peak speed by what the version claims.
TEST(AppUses, UnmeasuredGpuIsTakenAsSchedulerDoes) {
    EXPECT_DOUBLE_EQ(unmeasured_speed({.devices = 2, .cpus = .5}, 1e9, 1e13), 20.5e9);
    const ResourceUse known{.devices = 2, .cpus = .5, .peak_scale = .2, .projected = 1, .pfc = 4};
    EXPECT_DOUBLE_EQ(unmeasured_speed(known, 1e9, 1e13), (2 * .2 * 1e13 + .5e9) / 4);
    EXPECT_DOUBLE_EQ(unmeasured_speed(known, 1e9, 0), 20.5e9);
}

}  // namespace
}  // namespace sluice::test
