// SPDX-License-Identifier: LGPL-3.0-or-later
// Hosts as admins ask about them: several things hold at once, or the host is of a kind that is easily forgotten.
// sched_explain, the real program, still names what binds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

nlohmann::json explain_json(const Planted& planted, std::vector<std::string> args = {"--request", "request.xml"}) {
    return nlohmann::json::parse(explained(planted, std::move(args)));
}

App& second_app(Planted& p) {
    App b = p.app();
    b.id = 2;
    b.name = "b";
    b.user_friendly_name = "Bee";
    p.rows.apps[2] = b;
    AppVersion v = p.version();
    v.id = v.appid = 2;
    p.rows.versions[2] = v;
    return p.rows.apps[2];
}

Workunit& job_of_second_app(Planted& p) {
    Workunit& w = p.another_job();
    w.appid = p.rows.results.last().second.appid = 2;
    return w;
}

TEST(Combined, AppleSiliconHasClassAtLevelOneOnly) {
    for (const int level : {0, 1}) {
        SCOPED_TRACE(level);
        Planted p;
        p.config = fmt::format("<compat_level>{}</compat_level>", level);
        second_app(p);
        p.app().homogeneous_redundancy = HrType::kCoarse;
        p.rows.platforms[2] = {2, "arm64-apple-darwin", "Mac", false};
        p.version().platformid = 2;
        p.host().os_name = "Darwin";
        p.host().os_version = "23.1.0";
        p.host().p_vendor = "Apple";
        p.host().p_model = "Apple M2 [Apple Family 0]";
        p.store();
        const auto j = explain_json(p, {"--host", "1"});
        EXPECT_EQ(j["host"]["platforms"][0], "arm64-apple-darwin");
        EXPECT_EQ(j["would_send"], level) << j.dump(1);
        EXPECT_EQ(j["host"]["hr_class_coarse"], level == 0 ? 0 : 4 * 128 + 23) << j.dump(1);
        EXPECT_EQ(j["binding"], level == 0 ? nlohmann::json("hr_class_unknown") : nlohmann::json()) << j.dump(1);
    }
}

TEST(Combined, MoreThanTenSizeClasses) {
    Planted p;
    p.config = "<size_classes/>";
    p.app().n_size_classes = 15;
    p.workunit().size_class = 12;
    p.another_job().size_class = 3;
    p.store();
    ProjectTables tables = *p.world().array().tables();
    for (int q = 1; q < 15; ++q) tables.size_quantiles[1].push_back(q * 8e7);  // 1e9 flops: above the 12th
    p.world().array().publish_tables(tables);
    const auto j = explain_json(p);
    ASSERT_EQ(j["jobs"].size(), 2u);
    for (const auto& job : j["jobs"]) {
        EXPECT_EQ(job["size"]["host"], 12) << job.dump(1);
        EXPECT_EQ(job["terms"]["size_class"]["points"], job["result"] == 1 ? 5 : -1) << job.dump(1);
    }
}

TEST(Combined, ReservedJobSaysHowLongItStillWaits) {
    Planted p;
    p.config = "<compat_level>1</compat_level><batch_accel/><ltt_reserve_timeout>7200</ltt_reserve_timeout>";
    p.app().n_size_classes = 1;
    p.workunit().priority = 1;
    HostAppVersion v;  // a host with a history, not a quick one
    v.host_id = v.app_version_id = 1;
    v.max_jobs_per_day = 500;
    v.turnaround.n = 30;
    v.turnaround.avg = 1e5;
    p.rows.host_app_versions[{1, 1}] = v;
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["binding"], "reserved_for_ltt") << j.dump(1);
    EXPECT_EQ(j["summary"][0]["nearest"]["required"], 7200) << j.dump(1);
    p.host().error_rate = 1;
    p.store();
    const auto quick = explain_json(p);
    EXPECT_EQ(quick["would_send"], 1) << quick.dump(1);
    EXPECT_EQ(quick["jobs"][0]["terms"]["ltt_match"]["points"], 10);
}

TEST(Combined, AFailingGpuAndANearlySufficientCpu) {
    Planted p;
    p.plan_class("<gpu_type>nvidia</gpu_type><min_driver_version>99900</min_driver_version>", "cuda_x");
    AppVersion cpu = p.version();
    cpu.id = 2;
    cpu.plan_class.clear();
    p.rows.versions[2] = cpu;
    p.nvidia();
    p.workunit().rsc_memory_bound = 9e9;
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["binding"], "memory") << j.dump(1);
    EXPECT_THAT(explain(p, {"--request", "request.xml"}).out, HasSubstr("memory: needs 9.0 GB, host allows 8.0 GB"));
    const auto& jobs = j["jobs"];
    ASSERT_EQ(jobs.size(), 2u) << "each resource has its answer";
    EXPECT_EQ(jobs[0]["fate"], "gpu_driver");
    EXPECT_EQ(jobs[0]["refusal"]["value"], 53554);
}

TEST(Combined, ALimitPerProcessorIsToldScaled) {
    Planted p;
    p.config_aux =
        "<max_jobs_in_progress><app><app_name>up</app_name><cpu_limit><jobs>1</jobs><per_proc/></cpu_limit></app>"
        "</max_jobs_in_progress>";
    second_app(p);
    job_of_second_app(p).rsc_memory_bound = 1e12;
    for (int i = 0; i < 4; ++i) p.in_progress(1);
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    EXPECT_EQ(j["would_send"], 0) << j.dump(1);
    EXPECT_EQ(j["binding"], "app_in_progress_limit") << j.dump(1);
    EXPECT_EQ(j["summary"][0]["nearest"]["value"], 4) << j.dump(1);
    EXPECT_EQ(j["summary"][0]["nearest"]["required"], 4) << j.dump(1);
}

TEST(Combined, OneAppsQuotaDoesNotHideOthersReason) {
    Planted p;
    second_app(p);
    job_of_second_app(p).rsc_disk_bound = 1e14;
    HostAppVersion v;
    v.host_id = v.app_version_id = 1;
    v.max_jobs_per_day = 1;
    v.n_jobs_today = 1;
    p.rows.host_app_versions[{1, 1}] = v;
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    EXPECT_EQ(j["binding"], "daily_quota") << j.dump(1);
    EXPECT_EQ(j["summary"][1]["reason"], "disk") << j.dump(1);
    EXPECT_EQ(explain_json(p, {"--host", "1", "--app", "b"})["binding"], "disk");
}

TEST(Combined, AnonymousPlatformIsJudgedByItsOwnVersions) {
    Planted p;
    second_app(p);
    p.request.platform = "anonymous";
    p.rows.platforms[2] = {2, "anonymous", "anonymous", false};
    p.request.more = "<app_versions><app_version><app_name>b</app_name><version_num>700</version_num><platform>" +
                     std::string(kPlatform) +
                     "</platform><avg_ncpus>1</avg_ncpus><flops>1e9</flops></app_version></app_versions>";
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["binding"], "no_app_version") << j.dump(1);
    job_of_second_app(p);
    p.store();
    const auto with = explain_json(p);
    EXPECT_EQ(with["would_send"], 1) << with.dump(1);
    const auto sent =
        std::find_if(with["jobs"].begin(), with["jobs"].end(), [](const auto& x) { return x["fate"] == "sent"; });
    ASSERT_NE(sent, with["jobs"].end());
    EXPECT_EQ((*sent)["version"]["num"], 700) << sent->dump(1);
}

TEST(Combined, AMultithreadVersionNeedsCpusThatPreferencesLeave) {
    Planted p;
    p.version().plan_class = "mt";
    p.user().global_prefs = "<global_preferences><max_ncpus_pct>25</max_ncpus_pct></global_preferences>";
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    EXPECT_EQ(j["binding"], "cpu_count") << j.dump(1);
    EXPECT_EQ(j["summary"][0]["nearest"]["value"], 1);
    EXPECT_EQ(j["summary"][0]["nearest"]["required"], 2);
}

TEST(Combined, DockerByTheStoredHost) {
    Planted p;
    p.plan_class("<docker/>");
    p.host().misc = R"({"client_version":"8.2.8","docker":{"version":"28.1.1","type":1}})";
    p.store();
    EXPECT_EQ(explain_json(p, {"--host", "1"})["would_send"], 1);
    p.host().misc =
        R"({"client_version":"8.2.8","docker":{"version":"28.1.1","type":1},"config":{"dont_use_docker":true}})";
    p.store();
    EXPECT_EQ(explain_json(p, {"--host", "1"})["binding"], "docker");
}

TEST(Combined, CommittedVersionAndOldOneThatFits) {
    Planted p;
    p.app().homogeneous_app_version = true;
    AppVersion old = p.version();
    old.id = 2;
    old.version_num = 90;
    old.deprecated = true;
    p.rows.versions[2] = old;
    p.workunit().app_version_id = 2;
    p.another_job().app_version_id = 33;
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    ASSERT_EQ(j["jobs"].size(), 2u);
    EXPECT_EQ(j["would_send"], 1) << j.dump(1);
    for (const auto& job : j["jobs"])
        EXPECT_EQ(job["fate"], job["result"] == 1 ? "sent" : "app_version_mismatch") << job.dump(1);
}

}  // namespace
}  // namespace sluice::test
