// SPDX-License-Identifier: LGPL-3.0-or-later
// sched_explain, the real program: it changes nothing, and answers for hosts, requests, single jobs and other
// configurations.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <fstream>
#include <set>

#include "sluice/match/verdict.h"
#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json explain_json(const Planted& planted, std::vector<std::string> args = {"--request", "request.xml"}) {
    return nlohmann::json::parse(explained(planted, std::move(args)));
}

TEST(Explain, ChangesNothingInDatabaseSegmentAndFolder) {
    Planted p;
    p.config = "<decision_log>all</decision_log><sched_lockfile_dir>.</sched_lockfile_dir>";
    p.another_job().rsc_memory_bound = 1e11;
    p.after_fill = [](Database& db) { db.execute(Sql("UPDATE workunit SET error_mask=16 WHERE id=1")); };
    p.store();
    const std::string before = state_of(p);
    explain_json(p);
    explain_json(p, {"--host", "1"});
    explain_json(p, {"--host", "1", "--job", "2"});
    p.request.reported = {"wu_1_1"};
    std::ofstream(p.world().folder() / "request2.xml") << p.request_text();
    explain_json(p, {"--request", "request2.xml"});
    std::filesystem::remove(p.world().folder() / "request2.xml");
    EXPECT_TRUE(before == state_of(p));
}

TEST(Explain, TextBeginsWithTheBindingConstraint) {
    Planted p;
    p.host().m_nbytes = 1.6e9;
    p.edits = {{"<m_nbytes>8e9", "<m_nbytes>1.6e9"}};
    p.workunit().rsc_memory_bound = 2e9;
    p.another_job().rsc_memory_bound = 9e9;
    p.another_job().app_version_num = 300;
    p.store();
    for (const std::vector<std::string>& args :
         {std::vector<std::string>{"--request", "request.xml"}, {"--host", "1"}}) {
        const RunResult r = explain(p, args);
        ASSERT_EQ(r.status, 0) << r.err;
        EXPECT_THAT(r.out, HasSubstr("RESULT#1 WU#1 up CPU: memory: needs 2.0 GB, host allows 1.6 GB"));
        EXPECT_THAT(r.out, HasSubstr("RESULT#2 WU#2 up CPU: memory: needs 9.0 GB, host allows 1.6 GB"));
        const std::size_t head = r.out.find(
            "No job would be sent. The binding constraint: memory: nearest miss needs 2.0 GB, host allows 1.6 GB");
        ASSERT_NE(head, std::string::npos) << r.out;
        EXPECT_LT(r.out.find("memory: 2 times", head), r.out.find("app_version_mismatch: 1 time", head)) << r.out;
        EXPECT_THAT(r.out, HasSubstr(reason_advice(Reason::kMemory)));
    }
}

TEST(Explain, APinnedJobSaysWhyNobodyGetsIt) {
    Planted p;
    p.workunit().app_version_num = 7;
    p.store();
    const RunResult all = explain(p, {"--host", "1"});
    ASSERT_EQ(all.status, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr("app up has no version 7, so no host can run the job"));
    const RunResult one = explain(p, {"--host", "1", "--job", "1"});
    EXPECT_THAT(one.out, HasSubstr("the job is pinned (app_version_num): app up has no version 7"));
}

TEST(Explain, EachPinnedVersionIsNamed) {
    Planted p;
    p.workunit().app_version_num = 7;
    p.another_job().app_version_num = 8;
    p.another_job().app_version_num = 8;
    for (int version = 101; version < 112; ++version) p.another_job().app_version_num = version;
    p.store();
    const std::string out = explain(p, {"--host", "1"}).out;
    for (const char* version : {"7", "8", "101"})
        EXPECT_THAT(out, HasSubstr(std::string("(app_version_num): app up has no version ") + version + ","));
    EXPECT_THAT(out, HasSubstr("more versions like these"));
    EXPECT_THAT(out, testing::Not(HasSubstr("has no version 111")));
}

TEST(Explain, HostsRequestIsMadeOfWhatDatabaseKnows) {
    Planted p;
    p.plan_class("<gpu_type>nvidia</gpu_type><min_gpu_ram_mb>6000</min_gpu_ram_mb>", "cuda_x");
    p.host().misc =
        R"({"client_version":"7.24.1","gpus":[{"type":"nvidia","model":"RTX","count":2,"ram_mb":8192,"driver_version":"53554","opencl_version":"300"}]})";
    p.host().p_ngpus = 2;
    p.host().p_gpu_fpops = 4e13;
    p.user().global_prefs =
        "<global_preferences><ram_max_used_busy_pct>50</ram_max_used_busy_pct><ram_max_used_idle_pct>50</ram_max_used_idle_pct></global_preferences>";
    p.in_progress(1);
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    EXPECT_EQ(j["would_send"], 1) << j.dump(1);
    EXPECT_EQ(j["jobs"][0]["resource"], "NVIDIA");
    EXPECT_EQ(j["host"]["client_version"], 72401);
    EXPECT_EQ(j["host"]["usable_ram"], 4e9);
    EXPECT_EQ(j["host"]["jobs_in_progress"], 1);
    EXPECT_EQ(j["asked"]["NVIDIA"]["instances"], 2);
    EXPECT_FALSE(j["assumed"].empty());
    p.host().misc =
        R"({"gpus":[{"type":"nvidia","model":"GT","count":1,"ram_mb":2048,"driver_version":"53554","opencl_version":"300"}]})";
    p.store();
    EXPECT_EQ(explain_json(p, {"--host", "1"})["binding"], "gpu_memory");
}

TEST(Explain, AVersionsHistoryOnTheHostCounts) {
    Planted p;
    HostAppVersion v;
    v.host_id = v.app_version_id = 1;
    v.max_jobs_per_day = 1;
    v.n_jobs_today = 4;
    p.rows.host_app_versions[{1, 1}] = v;
    p.store();
    EXPECT_EQ(explain_json(p, {"--host", "1"})["binding"], "daily_quota");
}

TEST(Explain, SizeClassWithoutHistoryIsMarkedAsGuess) {
    Planted p;
    p.config = "<size_classes/>";
    p.app().n_size_classes = 3;
    p.workunit().size_class = 1;
    p.files = {"size_census_up", "1e8\n1e11\n"};
    p.store();
    ProjectTables tables = *p.world().array().tables();
    tables.size_quantiles[1] = {1e8, 1e11};
    p.world().array().publish_tables(tables);
    const auto j = explain_json(p);
    EXPECT_EQ(j["jobs"][0]["size"], (nlohmann::json{{"job", 1}, {"host", 1}, {"guess", true}})) << j.dump(1);
    EXPECT_EQ(j["jobs"][0]["terms"]["size_class"]["points"], 5);
    HostAppVersion v;
    v.host_id = v.app_version_id = 1;
    v.max_jobs_per_day = 500;
    v.et = {20, 1e-12, 0, 0};
    p.rows.host_app_versions[{1, 1}] = v;
    p.store();
    p.world().array().publish_tables(tables);
    const auto known = explain_json(p, {"--host", "1"});
    EXPECT_EQ(known["jobs"][0]["size"]["guess"], false) << known.dump(1);
    EXPECT_THAT(explain(p, {"--request", "request.xml"}).out, Not(HasSubstr("a guess")));
}

TEST(Explain, WhatHostHoldsCountsAgainstItsMemoryLevel1) {
    for (const int level : {0, 1}) {
        Planted p;
        p.config = fmt::format("<compat_level>{}</compat_level>", level);
        p.edits = {{"<cpu_req_instances>0", "<cpu_req_instances>3"}};
        const Id wu = p.in_progress(1).workunitid;
        p.rows.workunits[wu].rsc_memory_bound = 5e9;
        p.workunit().rsc_memory_bound = 5e9;
        p.store();
        const auto j = explain_json(p);
        EXPECT_EQ(j["would_send"], level == 0 ? 1 : 0) << j.dump(1);
        if (level == 0) continue;
        EXPECT_EQ(j["binding"], "memory");
        EXPECT_EQ(j["summary"][0]["nearest"]["value"], 3e9) << j.dump(1);
    }
}

TEST(Explain, OneAppsJobsOnly) {
    Planted p;
    App b = p.app();
    b.id = 2;
    b.name = "b";
    p.rows.apps[2] = b;
    p.another_job().appid = 2;
    p.rows.results[2].appid = 2;
    p.store();
    const auto j = explain_json(p, {"--host", "1", "--app", "b"});
    ASSERT_EQ(j["jobs"].size(), 1u);
    EXPECT_EQ(j["jobs"][0]["app"], "b");
    EXPECT_EQ(j["binding"], "no_app_version");
    EXPECT_EQ(explain_json(p, {"--host", "1", "--app", "up"})["would_send"], 1);
}

TEST(Explain, AnotherConfigurationIsTriedWithoutBeingDeployed) {
    Planted p;
    p.config = "<user_filter/><reliable_on_priority>5</reliable_on_priority>";
    p.workunit().batch = 77;
    p.result().priority = 9;
    p.plan_class("<min_ncpus>64</min_ncpus>");
    p.store();
    const auto& folder = p.world().folder();
    std::ofstream(folder / "new.xml") << "<boinc><config><mm_max_slots>3</mm_max_slots></config></boinc>";
    std::ofstream(folder / "new_classes.xml")
        << "<plan_classes><plan_class><name>special</name></plan_class></plan_classes>";
    EXPECT_EQ(explain_json(p)["binding"], "user_filter");
    EXPECT_EQ(explain_json(p, {"--host", "1", "--config", "new.xml"})["binding"], "cpu_count");
    const auto both = explain_json(p, {"--host", "1", "--config", "new.xml", "--plan_class_spec", "new_classes.xml"});
    EXPECT_EQ(both["would_send"], 1) << both.dump(1);
    EXPECT_THAT(both["notes"].dump(), HasSubstr("mm_max_slots"));
    std::ofstream(folder / "bad.xml")
        << "<boinc><config><score_weights><luck>1</luck></score_weights></config></boinc>";
    const auto bad = explain_json(p, {"--host", "1", "--config", "bad.xml"});
    EXPECT_THAT(bad["notes"].dump(), HasSubstr("there is no such term: ignored"));
}

TEST(Explain, RealScanLooksAtAtMostRequestWould) {
    Planted p;
    p.request.work_seconds = 1;
    for (int i = 0; i < 9; ++i) p.another_job();
    p.store();
    const auto& folder = p.world().folder();
    std::ofstream(folder / "m.xml") << "<boinc><config><mm_max_slots>3</mm_max_slots></config></boinc>";
    std::ofstream(folder / "n.xml") << "<boinc><config><mm_min_slots>12</mm_min_slots></config></boinc>";
    const auto judged = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"--request", "request.xml"});
        return explain_json(p, more);
    };
    EXPECT_EQ(judged({"--config", "m.xml"})["jobs"].size(), 10u) << "every job, unless asked for";
    const auto m = judged({"--config", "m.xml", "--real_scan"});
    EXPECT_EQ(m["array"]["slots_seen"], 3);
    EXPECT_LE(m["jobs"].size(), 3u);
    EXPECT_THAT(m["notes"].dump(), HasSubstr("looked at 3 of 20 slots"));
    // Slots 0 to 9 hold jobs: twelve slots hold some, wherever they begin, and one is enough.
    EXPECT_EQ(judged({"--config", "n.xml", "--real_scan"})["array"]["slots_seen"], 12);
    EXPECT_EQ(judged({"--real_scan"})["array"]["slots_seen"], 20) << "level 0 knows no bounds";
    std::set<std::string> starts;
    for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"})
        starts.insert(judged({"--config", "m.xml", "--real_scan", "--seed", seed})["jobs"].dump());
    EXPECT_GT(starts.size(), 1u) << "another seed, another start";
    const RunResult both = explain(p, {"--host", "1", "--job", "1", "--real_scan"});
    EXPECT_EQ(both.status, 1);
    EXPECT_THAT(both.err, HasSubstr("leave --real_scan out"));
}

TEST(Explain, WhatStandsBeforeTheSearchIsNamed) {
    const struct {
        const char* search;
        void (*plant)(Planted&);
    } cases[] = {
        {"not_asked", [](Planted& p) { p.request.work_seconds = 0; }},
        {"client_too_old", [](Planted& p) { p.config = "<min_core_client_version>90000</min_core_client_version>"; }},
        {"unknown_account", [](Planted& p) { p.request.authenticator = "nobody"; }},
        {"host_banned", [](Planted& p) { p.host().max_results_day = -1; }},
        {"unknown_platform", [](Planted& p) { p.request.platform = "pdp11"; }},
        {"array_empty", [](Planted& p) { p.result().server_state = ServerState::kInactive; }},
        {"key_unknown", [](Planted& p) { p.request.more = "<code_sign_key>\n1024\nabc\n</code_sign_key>"; }},
        {"own_jobs_only", [](Planted& p) { p.user().seti_id = 1; }},
        {"hr_unknown_for_all",
         [](Planted& p) {
             p.app().homogeneous_redundancy = HrType::kFine;
             p.edits = {{"Linux Debian", "Plan 9"}};
         }},
        {"lost_jobs_resent",
         [](Planted& p) {
             p.config = "<resend_lost_results/>";
             p.in_progress(1);
             p.request.others.clear();
         }},
        {"assigned_jobs_sent",
         [](Planted& p) {
             p.config = "<enable_assignment/>";
             Workunit w = p.workunit();
             w.id = 2;
             w.name = "meant";
             w.transitioner_flags = TransitionerFlags::kNoNewResults;
             p.rows.workunits[2] = w;
             Assignment a;
             a.id = 1;
             a.target_id = 1;
             a.target_type = AssignTarget::kHost;
             a.workunitid = 2;
             p.rows.assignments[1] = a;
         }},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.search);
        Planted p;
        c.plant(p);
        p.store();
        const auto j = explain_json(p);
        EXPECT_EQ(j["search"], c.search) << j.dump(1);
        const std::string text = explain(p, {"--request", "request.xml"}).out;
        EXPECT_TRUE(j["would_send"] != 0 || text.find(c.search) != std::string::npos) << text;
    }
}

TEST(Explain, AskingForGpuWithoutGpuVersionsIsTold) {
    Planted p;
    p.nvidia();
    p.request.work_seconds = 0;
    p.edits = {{"<work_req_seconds>0", "<work_req_seconds>1000"}};
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["search"], "done") << j.dump(1);
    EXPECT_EQ(j["binding"], "no_app_version") << j.dump(1);
    ASSERT_EQ(j["jobs"].size(), 1u);
    EXPECT_EQ(j["jobs"][0]["fate"], "no_app_version");
}

TEST(Explain, TheIntervalBetweenRequestsIsANote) {
    Planted p;
    p.config = "<min_sendwork_interval>1000</min_sendwork_interval>";
    p.store();
    const auto j = explain_json(p, {"--host", "1"});
    EXPECT_EQ(j["would_send"], 1);
    EXPECT_THAT(j["notes"].dump(), HasSubstr("too_recent"));
}

TEST(Explain, BadInputIsAClearError) {
    Planted p;
    p.host().userid = 0;
    p.host().rpc_seqno = 17;
    App other = p.app();
    other.id = 2;
    other.name = "other";
    p.rows.apps[2] = other;
    p.store();
    std::ofstream(p.world().folder() / "junk") << "hello";
    const struct {
        std::vector<std::string> args;
        const char* says;
    } cases[] = {
        {{}, "either --host ID or --request FILE"},
        {{"--host", "1", "--request", "request.xml"}, "either --host ID or --request FILE"},
        {{"--host", "0"}, "positive"},
        {{"--host", "x"}, "--host"},
        {{"--host", "99"}, "there is no HOST#99"},
        {{"--host", "1"}, "merged into HOST#17"},
        {{"--request", "absent.xml"}, "absent.xml does not exist"},
        {{"--request", "junk"}, "junk is no scheduler request"},
        {{"--request", "request.xml", "--app", "nope"}, "there is no such app; there are: up, other"},
        {{"--request", "request.xml", "--job", "4711"}, "no result of that id"},
        {{"--request", "request.xml", "--job", "nope"}, "no result of that id or name"},
        {{"--request", "request.xml", "--job", "1", "--app", "other"},
         "--job 1 is a job of app up, not of --app other"},
        {{"--request", "request.xml", "--config", "absent.xml"}, "absent.xml"},
        {{"--request", "request.xml", "--seconds", "-1"}, "--seconds"},
        {{"--frobnicate"}, "frobnicate"},
    };
    for (const auto& c : cases) {
        const RunResult r = explain(p, c.args);
        EXPECT_EQ(r.status, 1) << r.out;
        EXPECT_THAT(r.err, HasSubstr(c.says));
        EXPECT_EQ(r.out, "");
    }
    p.world().stop_feeder();
    const RunResult r = explain(p, {"--host", "1"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("feeder"));
}

}  // namespace
}  // namespace sluice::test
