// SPDX-License-Identifier: LGPL-3.0-or-later
// What holds for every host is told before anything of one host: triggers, the feeder, deprecated apps, the option that
// was set.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <regex>

#include "sched/explain/live_project.h"
#include "tests/db/explain/planted_world.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

nlohmann::json explain_json(const Planted& planted, std::vector<std::string> args = {"--request", "request.xml"}) {
    return nlohmann::json::parse(explained(planted, std::move(args)));
}

std::string text_for(const Planted& p) { return explain(p, {"--host", "1"}).out; }

/// A file in the project's folder for the life of the object.
struct Trigger {
    Trigger(const Planted& p, const char* name) : file(p.world().folder() / name) { std::ofstream(file) << "<stop/>"; }
    ~Trigger() { std::filesystem::remove(file); }
    std::filesystem::path file;
};

TEST(ProjectState, StopSchedMeansThatNobodyGetsJobs) {
    Planted p;
    p.store();
    EXPECT_EQ(explain_json(p)["would_send"], 1);
    EXPECT_EQ(explain_json(p)["jobs"][0]["fate"], "sent");
    EXPECT_THAT(text_for(p), HasSubstr(": WOULD BE SENT, score"));
    const Trigger stop(p, "stop_sched"), uploads(p, "stop_upload");
    const auto j = explain_json(p);
    EXPECT_EQ(j["would_send"], 0);
    EXPECT_EQ(j["would_send_but_for_that"], 1);
    EXPECT_THAT(j["blocked_by"].dump(), HasSubstr("stop_sched is present"));
    EXPECT_THAT(j["notes"].dump(), HasSubstr("stop_upload is present"));
    EXPECT_THAT(text_for(p), HasSubstr("No job would be sent: stop_sched is present: every client is told that the "
                                       "project is down for maintenance, and gets no jobs; remove it to go on\n"
                                       "But for that, 1 job would be sent.\n"));
    EXPECT_THAT(text_for(p), AllOf(Not(HasSubstr("WOULD BE SENT")), HasSubstr(": would be sent but for what is named "
                                                                              "below, score")));
    EXPECT_EQ(j["jobs"][0]["fate"], "blocked");
    RunOptions options;
    options.cwd = p.world().folder();
    options.unset = {"BOINC_PROJECT_DIR"};
    EXPECT_THAT(run({binary_dir() + "/bin/show_shmem"}, options).out,
                testing::AllOf(HasSubstr("stop_sched is present"), HasSubstr("stop_upload is present")));
}

TEST(ProjectState, AFeederThatWasKilledIsTold) {
    JobArrayStats array;
    array.feeder = {1, 1};  // not the process that has this number now
    array.feeder_heartbeat = 1000;
    TempDir folder;
    Report killed, stopped;
    tell_project_state(killed, folder.path(), array, true, 1030);
    ASSERT_EQ(killed.notes.size(), 1u);
    EXPECT_THAT(killed.notes[0], HasSubstr("the feeder does not run (PID 1, last sign of life 30 s ago)"));
    EXPECT_THAT(killed.blocked_by, IsEmpty()) << "what is in the array is still sent";
    tell_project_state(stopped, folder.path(), array, false, 1030);
    EXPECT_THAT(stopped.blocked_by, Contains(HasSubstr("the feeder has stopped (PID 1")));
    Report running;
    array.feeder = this_process();
    tell_project_state(running, folder.path(), array, true, 1030);
    EXPECT_THAT(running.notes, IsEmpty());
    EXPECT_THAT(running.blocked_by, IsEmpty());
}

TEST(ProjectState, ADeprecatedAppIsCalledSo) {
    Planted p;
    p.app().deprecated = true;
    p.result().server_state = ServerState::kInactive;  // the feeder would leave it out
    p.store();
    p.world().db().execute(Sql("UPDATE result SET server_state=2"));
    const std::string deprecated = "app up is deprecated: the feeder leaves its jobs out until app.deprecated is 0";
    const std::string text = text_for(p);
    EXPECT_THAT(text, HasSubstr("No job would be sent: array_empty: 1 unsent result waits; 1: " + deprecated));
    EXPECT_THAT(text, Not(HasSubstr("feeder does not run")));
    EXPECT_THAT(explain(p, {"--host", "1", "--app", "up"}).err, HasSubstr("--app up: " + deprecated));
    const auto job = explain_json(p, {"--host", "1", "--job", "1"});
    EXPECT_THAT(job["job"]["standing"].dump(), HasSubstr(deprecated));
    EXPECT_THAT(job["blocked_by"].dump(), HasSubstr(deprecated));
    EXPECT_TRUE(job["binding"].is_null()) << job.dump(1);
    const RunResult said = explain(p, {"--host", "1", "--job", "1"});
    EXPECT_THAT(said.out, HasSubstr("No job would be sent: " + deprecated));
    EXPECT_THAT(said.out, Not(HasSubstr("no_such_app")));
}

TEST(ProjectState, FeederThatWorksWithAnotherKeyIsNamed) {
    Planted p;
    p.store();
    const std::filesystem::path file = p.world().folder() / "config.xml";
    std::ifstream in(file);
    const std::string config{std::istreambuf_iterator<char>(in), {}};
    std::smatch key;
    ASSERT_TRUE(std::regex_search(config, key, std::regex("<shmem_key>([0-9]+)</shmem_key>")));
    const auto old_key = static_cast<std::uint32_t>(std::stoll(key[1]));
    std::ofstream(file) << std::regex_replace(config, std::regex("<shmem_key>[0-9]+"),
                                              "<shmem_key>" + std::to_string(old_key ^ 0x5A5A));
    const RunResult r = explain(p, {"--host", "1"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr(fmt::format("but a feeder runs with shmem_key 0x{:08x}", old_key)));
    RunOptions options;
    options.cwd = p.world().folder();
    options.unset = {"BOINC_PROJECT_DIR"};
    EXPECT_THAT(run({binary_dir() + "/bin/show_shmem"}, options).err,
                HasSubstr(fmt::format("but a feeder runs with shmem_key 0x{:08x}", old_key)));
}

TEST(ProjectState, NamesTheOptionThatRefusesTheClient) {
    const struct {
        const char* search;
        const char* config;
    } cases[] = {{"dont_send_jobs", "<dont_send_jobs/>"},
                 {"client_too_old", "<min_core_client_version>90000</min_core_client_version>"},
                 {"os_banned", "<ban_os>Linux.*</ban_os>"},
                 {"cpu_banned", "<ban_cpu>.*Xeon</ban_cpu>"}};
    for (const auto& c : cases) {
        Planted p;
        p.config = c.config;
        p.store();
        EXPECT_EQ(explain_json(p)["search"], c.search);
        EXPECT_THAT(text_for(p), HasSubstr(std::string("No job would be sent: ") + c.search)) << c.config;
        EXPECT_THAT(text_for(p), Not(HasSubstr("HOST#0"))) << "a host that was not read is not described";
    }
}

TEST(ProjectState, JobsBehindALimitAreCountedAndNamed) {
    const struct {
        const char *config, *aux, *reason, *names;
    } cases[] = {
        {"<max_wus_in_progress>1</max_wus_in_progress>", "", "in_progress_limit",
         "Raise <max_wus_in_progress> 1 in config.xml;"},
        {"",
         "<max_jobs_in_progress><project><total_limit><jobs>4</jobs></total_limit></project></max_jobs_in_progress>",
         "in_progress_limit", "Raise <total_limit> 4 of <project> in config_aux.xml;"},
        {"",
         "<max_jobs_in_progress><app><app_name>up</app_name><cpu_limit><jobs>4</jobs></cpu_limit></app></max_jobs_in_progress>",
         "app_in_progress_limit", "Raise <cpu_limit> 4 of <app_name>up</app_name> in config_aux.xml;"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.names);
        const bool of_app = std::string(c.reason) == "app_in_progress_limit";  // the client does not say of which app
        for (const int held : of_app ? std::vector<int>{0} : std::vector<int>{0, 4}) {
            Planted p;
            p.config = c.config;
            p.config_aux = c.aux;
            p.request.work_seconds = 1e6;
            for (int i = 0; i < held; ++i) p.in_progress(1);
            for (int i = 1; i < 10; ++i) p.another_job();
            p.store();
            const auto j = explain_json(p);
            ASSERT_FALSE(j["summary"].empty()) << j.dump(1);
            EXPECT_EQ(j["would_send"], 4 - held);
            EXPECT_EQ(j["summary"][0]["reason"], c.reason);
            EXPECT_EQ(j["summary"][0]["count"], 6 + held) << j["summary"].dump(1);
            EXPECT_THAT(j["summary"][0]["advice"].get<std::string>(), HasSubstr(c.names));
        }
    }
}

TEST(ProjectState, WrongArgumentsAreNamed) {
    Planted p;
    Result named = p.result();
    named.id = 7;
    named.name = "wu_1_0";
    p.rows.results = {{7, named}};
    p.store();
    EXPECT_THAT(explain(p, {"--host", "1", "--config", "NOSUCH"}).err,
                HasSubstr("--config NOSUCH: there is no such file"));
    EXPECT_THAT(explain(p, {"--host", "1", "--job", "wu_1"}).err,
                HasSubstr("--job wu_1: that is a workunit; name one of its results: wu_1_0"));
}

}  // namespace
}  // namespace sluice::test
