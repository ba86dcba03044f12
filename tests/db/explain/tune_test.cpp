// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_tune, the real program: what bounds and weights cost and bring, on the live array, which it does not change.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/db/explain/planted_world.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

RunResult tune(const Planted& planted, const std::vector<std::string>& args) {
    std::vector<std::string> all{sluice::test::binary_dir() + "/bin/sluice_tune"};
    all.insert(all.end(), args.begin(), args.end());
    RunOptions options;
    options.cwd = planted.world().folder();
    options.unset = {"BOINC_PROJECT_DIR"};
    return run(all, options);
}

json tuned(const Planted& planted, std::vector<std::string> args) {
    args.push_back("--json");
    const RunResult r = tune(planted, args);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return json::parse(r.out, nullptr, false);
}

/// 60 jobs of 60 priorities, mixed, in an array of 60; host 1 asks for one of them.
Planted sixty_jobs() {
    Planted p;
    p.slots = 60;
    p.config = "<compat_level>1</compat_level>";
    p.request.work_seconds = 1;
    for (int i = 1; i < 60; ++i) p.another_job();
    for (auto& [id, result] : p.rows.results) result.priority = static_cast<int>(id) * 37 % 60;
    return p;
}

json point(const json& j, int n, int m) {
    for (const json& p : j["weights"][0]["points"])
        if (p["min_slots"] == n && p["max_slots"] == m) return p;
    ADD_FAILURE() << "no point " << n << "," << m << " in " << j.dump(1);
    return {};
}

TEST(Tune, BoundsCostScoreAFullScanCostsNone) {
    Planted p = sixty_jobs();
    p.store();
    const json j =
        tuned(p, {"--requests", "request.xml", "--min_slots", "0,6", "--max_slots", "0,12", "--repeat", "30"});
    EXPECT_EQ(j["array"]["jobs"], 60);
    const json full = point(j, 0, 0), n = point(j, 6, 0), m = point(j, 0, 12);
    EXPECT_EQ(full["decisions"], 30);
    EXPECT_EQ(full["looked_at"], 60);
    EXPECT_EQ(full["score_lost"], 0);
    EXPECT_EQ(full["jobs"], 1);
    // Each job is for this host, so that the scan ends at N.
    EXPECT_EQ(n["looked_at"], 6);
    EXPECT_EQ(m["looked_at"], 12);
    EXPECT_EQ(n["empty"], 0);
    // Ranks from -1 to 1 at weight 4: the best of a few is some points short of the best of all, and the fewer the
    // more.
    EXPECT_GT(n["score_lost"], m["score_lost"]);
    EXPECT_GT(m["score_lost"], 0);
    EXPECT_LT(n["score_lost"], 8);
    EXPECT_GT(n["ms_median"], 0);
    // What is sent by a full scan is the best one.
    EXPECT_NEAR(j["weights"][0]["values"]["result_priority"].get<double>(), 1, 1e-9);
}

TEST(Tune, SimultaneousRequestsLockJobsForEachOther) {
    Planted p;
    p.config = "<compat_level>1</compat_level><mm_max_locked>2</mm_max_locked>";
    p.request.work_seconds = 1;
    p.another_job();
    p.store();
    const std::vector<std::string> three{"--requests",  "request.xml", "--requests",
                                         "request.xml", "--requests",  "request.xml"};
    std::vector<std::string> together = three;
    together.insert(together.end(), {"--at_once", "3"});
    json alone = point(tuned(p, three), 0, 0), at_once = point(tuned(p, together), 0, 0);
    EXPECT_EQ(alone["empty"], 0);
    EXPECT_EQ(alone["locked"], 0);
    // Two jobs for three: the second request meets one locked slot, the third two, and gets nothing.
    EXPECT_EQ(at_once["empty"], 1);
    EXPECT_EQ(at_once["missed"], 1);
    EXPECT_NEAR(at_once["locked"].get<double>(), 1, 1e-9);
    EXPECT_EQ(at_once["over_limit"], 1) << "L";
}

TEST(Tune, WeightsAreTriedEachWithEach) {
    Planted p;
    p.config = "<compat_level>1</compat_level>";
    p.request.work_seconds = 1;
    p.result().priority = 5;
    p.another_job().create_time -= 7 * 86400;  // has waited for a week
    p.rows.results[2].create_time -= 7 * 86400;
    p.store();
    const json j =
        tuned(p, {"--requests", "request.xml", "--weights", "waiting=0,100", "--weights", "result_priority=0,4"});
    ASSERT_EQ(j["weights"].size(), 4u) << j.dump(1);
    for (const json& w : j["weights"]) {
        const bool old_one = w["weights"]["waiting"] == 100;
        const bool priority = !old_one && w["weights"]["result_priority"] == 4;
        const char* term = old_one ? "waiting" : "result_priority";
        if (old_one || priority) {  // else a tie
            EXPECT_NEAR(w["values"][term].get<double>(), 1, 0.01) << w.dump(1);
        }
        EXPECT_EQ(w["points"][0]["score_lost"], 0);
    }
}

TEST(Tune, HostsOfTheLogAskAsTheyAsked) {
    Planted p = sixty_jobs();
    p.store();
    std::ofstream(p.world().folder() / "decisions.jsonl")
        << R"({"host":1,"asked":{"CPU":{"seconds":1,"instances":0,"estimated_delay":0}}})" << '\n'
        << R"({"host":1,"asked":{"CPU":{"seconds":95,"instances":0,"estimated_delay":0}}})" << '\n'
        << R"({"host":1,"asked":{}})" << '\n'
        << R"({"host":99,"asked":{"CPU":{"seconds":95,"instances":0,"estimated_delay":0}}})" << '\n';
    const json j = tuned(p, {"--decisions", "decisions.jsonl", "--min_slots", "0"});
    EXPECT_EQ(j["requests"], 2) << "one asked for nothing, one host is unknown";
    EXPECT_THAT(j["notes"].dump(), HasSubstr("there is no HOST#99"));
    EXPECT_NEAR(point(j, 0, 0)["jobs"].get<double>(), (1 + 10) / 2.0, 1e-9) << "jobs of 10 s";
    EXPECT_EQ(tuned(p, {"--hosts", "1,1", "--min_slots", "0"})["requests"], 2);
}

TEST(Tune, MadeUpHostsAreServedWithoutARow) {
    Planted p = sixty_jobs();
    p.store();
    json first = tuned(p, {"--synthesise", "25", "--seconds", "20", "--min_slots", "0,10"});
    const json full = point(first, 0, 0);
    EXPECT_EQ(full["decisions"], 25);
    EXPECT_LT(full["empty"].get<int>(), 5) << "small jobs for the project's only platform";
    json again = tuned(p, {"--synthesise", "25", "--seconds", "20", "--min_slots", "0,10"});
    // But for times: that of a decision, and the age of jobs that is a part of their score.
    for (json* j : {&first, &again}) {
        json& tuned_weights = (*j)["weights"][0];
        for (const char* name : {"score", "values"}) tuned_weights.erase(name);
        for (json& each : tuned_weights["points"])
            for (const char* name : {"ms_mean", "ms_median", "score_lost"}) each.erase(name);
    }
    EXPECT_EQ(first, again) << "the same seed";
    EXPECT_EQ(p.world().db().query(Sql("SELECT id FROM host")).next() ? 1 : 0, 1);
}

TEST(Tune, ChangesNothingInDatabaseSegmentAndFolder) {
    Planted p = sixty_jobs();
    p.config += "<decision_log>all</decision_log>";
    p.store();
    const std::string before = state_of(p);
    tuned(p, {"--requests", "request.xml", "--hosts", "1", "--synthesise", "3", "--at_once", "2"});
    EXPECT_TRUE(before == state_of(p));
}

TEST(Tune, ATableForPeople) {
    Planted p = sixty_jobs();
    p.store();
    const RunResult r = tune(p, {"--requests", "request.xml", "--weights", "hardness=2"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("array: 60 slots, 60 jobs, 0 held by schedulers"));
    EXPECT_THAT(r.out, HasSubstr("weights: hardness 2, others as configured"));
    EXPECT_THAT(r.out, HasSubstr("score lost"));
    EXPECT_THAT(r.out, HasSubstr("look-ups"));
}

TEST(Tune, WhatIsWrongIsSaidInOneLine) {
    Planted p;
    p.store();
    const struct {
        std::vector<std::string> args;
        int status;
        const char* text;
    } cases[] = {{{}, 2, "say which requests"},
                 {{"--synthesise", "-1"}, 2, "--synthesise is a number"},
                 {{"--nonsense"}, 2, "--nonsense"},
                 {{"--synthesise", "1", "--min_slots", "10,x"}, 2, "--min_slots is a list of whole numbers"},
                 {{"--synthesise", "1", "--weights", "luck=1"}, 2, "there is no such term; the terms are"},
                 {{"--synthesise", "1", "--weights", "hardness"}, 2, "must be TERM=X"},
                 {{"--synthesise", "1", "--at_once", "0"}, 2, "--at_once is a number"},
                 {{"--hosts", "0"}, 2, "--hosts is a list of ids"},
                 {{"--hosts", "77"}, 1, "there is no HOST#77"},
                 {{"--requests", "nosuch.xml"}, 1, "nosuch.xml does not exist"},
                 {{"--requests", "keys"}, 1, "holds no *sched_request.xml"},
                 {{"--decisions", "request.xml"}, 1, "request.xml:1"},
                 {{"--synthesise", "1", "--config", "nosuch.xml"}, 1, "there is no such file"}};
    std::filesystem::create_directories(p.world().folder() / "keys");
    for (const auto& c : cases) {
        const RunResult r = tune(p, c.args);
        EXPECT_EQ(r.status, c.status) << r.err;
        EXPECT_THAT(r.err, HasSubstr(c.text));
        EXPECT_EQ(r.out, "");
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
    p.config = "<dont_send_jobs>1</dont_send_jobs>";
    p.store();
    EXPECT_THAT(tune(p, {"--requests", "request.xml"}).err, HasSubstr("dont_send_jobs"));
}

/// The first commands of a page, indented, as they stand: their explanations, which begin after three blanks, left out.
std::string commands_of(const std::string& page, const std::string& program) {
    std::ifstream in(sluice::test::source_dir() + "/docs/" + page);
    std::string all;
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("    " + program + " ")) all += line.substr(4, line.find("   ", 4) - 4) + "\n";
    return all;
}

TEST(CommandsOfPages, RunAsTheyStand) {
    Planted p = sixty_jobs();
    // The pages' host and app; their job is the first here.
    p.rows.hosts[17] = p.host();
    p.rows.hosts[17].id = 17;
    p.app().name = "uppercase";
    p.files = {"NEW.xml", "", "F", "<plan_classes></plan_classes>", "req_reply/1_sched_request.xml", ""};
    p.store();
    const std::filesystem::path folder = p.world().folder();
    std::filesystem::copy_file(folder / "config.xml", folder / "NEW.xml",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::create_directories(folder / "req_reply");
    for (const auto& copy : {folder / "FILE", folder / "req_reply/1_sched_request.xml"})
        std::filesystem::copy_file(folder / "request.xml", copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::create_directories(folder / "log_HOST/decisions");
    std::ofstream(folder / "log_HOST/decisions/decisions_2026-01-31.jsonl")
        << R"({"host":17,"user":1,"client":"7.20.5","asked":{"CPU":{"seconds":1,"instances":0,"estimated_delay":0}},"search":"done","binding":"memory"})"
           "\n";
    std::filesystem::create_directories(folder / "bin");
    for (const char* name : {"sched_explain", "sluice_tune"}) {
        std::filesystem::remove(folder / "bin" / name);
        std::filesystem::create_symlink(sluice::test::binary_dir() + "/bin/" + name, folder / "bin" / name);
    }
    RunOptions options;
    options.cwd = folder;
    options.unset = {"BOINC_PROJECT_DIR"};
    const std::string all = commands_of("why_no_work.md", "sched_explain") +
                            commands_of("tuning.md", "bin/sluice_tune") + commands_of("why_no_work.md", "grep") +
                            commands_of("why_no_work.md", "python3");
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 14) << all;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with("< FILE")) line.replace(line.size() - 4, 4, "log_HOST/decisions/decisions_2026-01-31.jsonl");
        line = std::regex_replace(line, std::regex(" 4711$"), " 1");
        const RunResult r = run({"sh", "-c", "PATH=bin:$PATH; " + line}, options);
        EXPECT_EQ(r.status, 0) << line << "\n" << r.err;
        EXPECT_NE(r.out, "") << line;
    }
}

}  // namespace
}  // namespace sluice::test
