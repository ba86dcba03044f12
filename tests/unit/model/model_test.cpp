// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "sluice/model/anonymous_version.h"
#include "sluice/model/codes.h"
#include "sluice/model/job_summary.h"
#include "sluice/model/project_tables.h"

namespace sluice {
namespace {

TEST(ProcTypes, NamesAreTheProtocols) {
    EXPECT_STREQ(proc_type_name(ProcType::kCpu), "CPU");
    EXPECT_STREQ(proc_type_name(ProcType::kNvidia), "NVIDIA");
    EXPECT_STREQ(proc_type_name(ProcType::kAmd), "ATI");
    EXPECT_STREQ(proc_type_name(ProcType::kIntelGpu), "intel_gpu");
    EXPECT_STREQ(proc_type_name(ProcType::kAppleGpu), "apple_gpu");
}

TEST(ProcTypes, OfPlanClasses) {
    const std::pair<const char*, ProcType> cases[] = {
        {"", ProcType::kCpu},
        {"mt", ProcType::kCpu},
        {"vbox64_mt", ProcType::kCpu},
        {"cuda_fermi", ProcType::kNvidia},
        {"opencl_nvidia_101", ProcType::kNvidia},
        {"ati14", ProcType::kAmd},
        {"opencl_ati_101", ProcType::kAmd},
        {"opencl_amd", ProcType::kAmd},
        {"opencl_intel_gpu_102", ProcType::kIntelGpu},
        {"apple_gpu", ProcType::kAppleGpu},
        {"cuda_ati", ProcType::kNvidia},  // the first mark decides
    };
    for (const auto& [plan_class, type] : cases) EXPECT_EQ(proc_type_of_plan_class(plan_class), type) << plan_class;
    EXPECT_EQ(proc_type_of_plan_class(nullptr), ProcType::kCpu);
}

TEST(GeneralizedVersionId, AnonymousVersionsStandBelowTheirApp) {
    EXPECT_EQ(generalized_version_id(7, 123), 123);
    EXPECT_EQ(generalized_version_id(7, 0), 0);
    EXPECT_EQ(generalized_version_id(7, -2), 7000002);  // CPU
    EXPECT_EQ(generalized_version_id(7, -3), 7000003);  // NVIDIA
}

TEST(GeneralizedVersionId, AnonymousVersionsAreFoundBack) {
    for (int t = 0; t < kProcTypes; ++t) {
        const auto type = static_cast<ProcType>(t);
        EXPECT_EQ(anonymous_type(anonymous_version_id(type)), type);
        for (const Id app : {1, 7, 2100}) {
            const auto own = anonymous_version(generalized_version_id(app, anonymous_version_id(type)));
            ASSERT_TRUE(own) << t << " of app " << app;
            EXPECT_EQ(own->appid, app);
            EXPECT_EQ(own->type, type);
        }
    }
}

TEST(GeneralizedVersionId, ProjectVersionsAreNotAnonymous) {
    for (const Id id : {Id{0}, Id{1}, Id{2}, Id{6}, Id{-1}, Id{-7}}) EXPECT_FALSE(anonymous_type(id)) << id;
    for (const Id id : {Id{-2}, Id{0}, Id{2}, Id{999'999}, Id{1'000'000}, Id{1'000'001}, Id{1'000'007}, Id{1'999'998}})
        EXPECT_FALSE(anonymous_version(id)) << id;
}

TEST(App, TheTwoMeaningsOfSizeClasses) {
    App app;
    const std::tuple<int, int, bool> cases[] = {{0, 0, false}, {1, 0, true}, {2, 2, true}, {30, 30, true}};
    for (const auto& [n, classes, accelerable] : cases) {
        app.n_size_classes = n;
        EXPECT_EQ(app.size_classes(), classes) << n;
        EXPECT_EQ(app.accelerable(), accelerable) << n;
    }
}

TEST(FileNameHash, IsFnv1aAndNeverZero) {
    EXPECT_EQ(file_name_hash("", 0), 2166136261u);
    EXPECT_EQ(file_name_hash("a", 1), 0xe40c292cu);
    EXPECT_EQ(file_name_hash("foobar", 6), 0xbf9cf968u);
}

TEST(ProjectTables, LooksRowsUpInAnyOrder) {
    ProjectTables tables;
    for (const Id id : {2, 5, 9}) {
        tables.apps.emplace_back().id = id;
        tables.apps.back().name = "app" + std::to_string(id);
        tables.platforms.emplace_back().id = id;
        tables.platforms.back().name = "platform" + std::to_string(id);
    }
    for (const Id id : {30, 10, 20}) tables.versions.emplace_back().id = id;
    EXPECT_EQ(tables.app(5), &tables.apps[1]);
    EXPECT_EQ(tables.app(4), nullptr);
    EXPECT_EQ(tables.app_by_name("app9"), &tables.apps[2]);
    EXPECT_EQ(tables.app_by_name("App9"), nullptr);
    EXPECT_EQ(tables.platform(2), &tables.platforms[0]);
    EXPECT_EQ(tables.platform_by_name("platform2"), &tables.platforms[0]);
    EXPECT_EQ(tables.platform_by_name(""), nullptr);
    EXPECT_EQ(tables.version(10), &tables.versions[1]);
    EXPECT_EQ(tables.version(20), &tables.versions[2]);
    EXPECT_EQ(tables.version(30), &tables.versions[0]);
    EXPECT_EQ(tables.version(99), nullptr);
    EXPECT_EQ(ProjectTables().app(1), nullptr);
}

}  // namespace
}  // namespace sluice
