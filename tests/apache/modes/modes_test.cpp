// SPDX-License-Identifier: LGPL-3.0-or-later
// Each way of running the scheduler, in operation: it finds a restarted feeder and database, reads a changed
// config.xml, follows a rotated log, reads bodies that it does not need, and ends without breaking a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "tests/apache/load/load_driver.h"
#include "tests/support/paths.h"
#include "tests/support/project_layout.h"
#include "tests/support/scheduler_server.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Modes : public testing::TestWithParam<Served> {
  protected:
    Modes() {
        project_.set_options("<maintenance_delay>77</maintenance_delay><sched_debug_level>4</sched_debug_level>");
        project_.store();
        project_.add_unsent_jobs(2000);
        feeder_ = &project_.start_feeder();
        served_ = std::make_unique<SchedulerServer>(project_, GetParam());
    }
    ~Modes() override { server_.start(); }

    /// The host of this test asks for work; the reply.
    HttpReply ask(double seconds = 1) {
        const HttpReply reply = served_->post(work_request(host_, ++seqno_, seconds));
        const auto id = elements(reply.body, "hostid");
        if (!id.empty()) host_ = std::stoll(id.front()), seqno_ = 0;
        return reply;
    }
    static bool has_job(const HttpReply& reply) { return reply.body.find("<result>") != std::string::npos; }
    bool work_flows() {
        return eventually([&] { return has_job(ask()); });
    }
    std::set<std::string> pids_in_log() {
        std::set<std::string> pids;
        const std::string log = project_.scheduler_log(), mark = "[PID=";
        for (auto at = log.find(mark); at != std::string::npos; at = log.find(mark, at + 1))
            pids.insert(log.substr(at + mark.size(), log.find(']', at) - at - mark.size()));
        return pids;
    }

    PrivateMariaDb& server_ = PrivateMariaDb::shared();
    TestProject project_{server_, "modes"};
    Subprocess* feeder_ = nullptr;
    std::unique_ptr<SchedulerServer> served_;
    Id host_ = 0;
    int seqno_ = 0;
};

TEST_P(Modes, JobsAreSentAndReported) {
    const HttpReply first = ask();
    EXPECT_EQ(malformed(first), "") << served_->logs();
    EXPECT_THAT(first.head, HasSubstr("Content-Type: text/xml"));
    ASSERT_TRUE(has_job(first)) << first.body << served_->logs();
    const std::string result = elements(first.body, "result").front(), name = elements(result, "name").front();
    const HttpReply second = served_->post(
        work_request(host_, 1, 0,
                     "<result>\n<name>" + name +
                         "</name>\n<final_cpu_time>1</final_cpu_time>\n<final_elapsed_time>1</final_elapsed_time>\n"
                         "<exit_status>0</exit_status>\n<state>5</state>\n</result>\n"));
    EXPECT_EQ(malformed(second), "");
    EXPECT_THAT(second.body, HasSubstr("<result_ack>"));
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1")), 1);
    // The address that the web server saw.
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM host WHERE external_ip_addr='127.0.0.1'")), 1);
}

TEST_P(Modes, ARestartedFeederIsFound) {
    ASSERT_TRUE(work_flows()) << served_->logs();
    for (const int signal : {SIGKILL, SIGTERM}) {
        feeder_->send_signal(signal);
        feeder_->wait();
        const HttpReply meanwhile = ask();
        EXPECT_EQ(malformed(meanwhile), "");
        if (signal == SIGTERM) {
            EXPECT_THAT(meanwhile.body, HasSubstr("feeder not running"));
            EXPECT_THAT(meanwhile.body, HasSubstr("<project_is_down/>"));
            EXPECT_THAT(meanwhile.body, HasSubstr("<request_delay>77</request_delay>"));
        }
        feeder_ = &project_.start_feeder();
        EXPECT_TRUE(work_flows()) << signal << served_->logs();
    }
}

TEST_P(Modes, ARestartedDatabaseIsFound) {
    ASSERT_TRUE(work_flows()) << served_->logs();
    server_.stop();
    const HttpReply meanwhile = ask();
    EXPECT_EQ(malformed(meanwhile), "");
    EXPECT_THAT(meanwhile.body, HasSubstr("<project_is_down/>"));
    server_.start();
    EXPECT_TRUE(work_flows()) << served_->logs();
}

TEST_P(Modes, AChangedConfigurationIsRead) {
    EXPECT_THAT(ask().body, HasSubstr("<project_name>Test project</project_name>"));
    const auto workers = pids_in_log();
    std::ifstream in(project_.folder() / "config.xml");
    const std::string good{std::istreambuf_iterator<char>(in), {}};
    std::string renamed = good;
    renamed.replace(renamed.find("Test project"), 12, "Another name");
    const auto write = [&](const std::string& text) {
        std::ofstream(project_.folder() / "config.xml", std::ios::trunc) << text;
    };
    const auto knows = [&](const std::string& text) {
        return eventually([&] { return ask(0).body.find(text) != std::string::npos; });
    };
    write(renamed);
    EXPECT_TRUE(knows("<project_name>Another name</project_name>")) << served_->logs();
    // An admin's slip: who knew the configuration goes on with it, who did not says so. Neither breaks.
    write("<boinc>\n<config>\n<shmem_key>");
    EXPECT_EQ(malformed(ask(0)), "");
    EXPECT_TRUE(eventually([&] { return ask(0), served_->logs().find("config.xml") != std::string::npos; }));
    write(good);
    EXPECT_TRUE(knows("<project_name>Test project</project_name>")) << served_->logs();
    if (GetParam() == Served::kSpawnFcgi) {
        EXPECT_EQ(pids_in_log(), workers) << "the same process served all of it";
    }
}

TEST_P(Modes, ARotatedLogIsFollowed) {
    EXPECT_EQ(malformed(ask()), "");
    const fs::path log = project_.scheduler_log_file();
    ASSERT_TRUE(fs::exists(log));
    fs::rename(log, log.string() + ".1");
    make_web_servers_log(project_.folder(), "scheduler.log");  // as the project's logrotate rule does
    EXPECT_TRUE(eventually([&] { return ask(), project_.scheduler_log().find("[PID=") != std::string::npos; }))
        << served_->logs();
    fs::remove(log);
    // Who may make no file there goes on elsewhere.
    const bool makes_it = !accounts_apart() || GetParam() == Served::kListen || GetParam() == Served::kRelay;
    EXPECT_TRUE(eventually([&] {
        ask();
        return makes_it ? fs::exists(log) : served_->logs().find("Can't open the log file") != std::string::npos;
    })) << served_->logs();
}

TEST_P(Modes, AStoppedProjectAnswersFiftyMegabytes) {
    std::ofstream(project_.folder() / "stop_sched") << "";
    const std::string body = "<scheduler_request>\n" + std::string(50 << 20, 'x') + "</scheduler_request>\n";
    const HttpReply reply = served_->post(body, 120);
    EXPECT_EQ(malformed(reply), "") << served_->logs();
    EXPECT_THAT(reply.head, HasSubstr("Content-Type: text/plain"));
    EXPECT_THAT(reply.body, HasSubstr("Project is temporarily shut down for maintenance"));
    EXPECT_THAT(reply.body, HasSubstr("<request_delay>77</request_delay>"));
    fs::remove(project_.folder() / "stop_sched");
    EXPECT_TRUE(work_flows()) << served_->logs();
}

TEST_P(Modes, AGracefulRestartOfApacheEndsInService) {
    LoadPlan plan;
    plan.port = served_->port();
    plan.clients = 4;
    plan.seconds = 4;
    LoadResult load;
    std::thread clients([&] { load = run_load(plan); });
    for (int i = 0; i < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::seconds(1));  // in the middle of the load
        served_->apache().restart_gracefully();
    }
    clients.join();
    EXPECT_GT(load.jobs, 4) << to_text(load);
    // mod_cgid and mod_fcgid end their helpers at a restart, and what runs just then; a server of its own is not
    // touched.
    const bool untouched = GetParam() == Served::kListen || GetParam() == Served::kSpawnFcgi;
    EXPECT_LE(load.broken, untouched ? 0 : load.requests / 2) << to_text(load) << served_->logs();
    EXPECT_EQ(load.malformed + load.twice, 0) << to_text(load);
    project_.add_unsent_jobs(100);  // on a fast machine the clients have taken all that there were
    EXPECT_TRUE(work_flows()) << served_->logs();
}

INSTANTIATE_TEST_SUITE_P(All, Modes,
                         testing::Values(Served::kCgi, Served::kFcgid, Served::kListen, Served::kRelay,
                                         Served::kSpawnFcgi),
                         [](const auto& how) { return name_of(how.param); });

/// FastCGI servers that Apache has not started end by themselves.
class Ending : public Modes {};

TEST_P(Ending, AskedToEndItFinishesItsRequest) {
    LoadPlan plan;
    plan.port = served_->port();
    plan.clients = 4;
    plan.seconds = 240;
    std::atomic<bool> over = false;
    plan.over = &over;
    LoadResult load;
    std::thread clients([&] { load = run_load(plan); });
    EXPECT_TRUE(
        eventually([&] { return project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")) > 4; }));
    served_->backend().send_signal(SIGTERM);
    const auto ended = served_->backend().wait();
    over = true;
    clients.join();
    ASSERT_TRUE(ended) << served_->logs();
    EXPECT_EQ(ended->status, 0) << ended->err;
    // Nobody is without a job that the database says he has.
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), load.jobs) << to_text(load);
    EXPECT_EQ(load.malformed + load.twice, 0) << to_text(load);
    EXPECT_FALSE(fs::exists(served_->socket()));
}

TEST_P(Ending, IdleItEndsAtOnce) {
    EXPECT_EQ(malformed(ask()), "");
    const auto start = std::chrono::steady_clock::now();
    served_->backend().send_signal(SIGTERM);
    const auto ended = served_->backend().wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, 0) << ended->err;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

INSTANTIATE_TEST_SUITE_P(All, Ending, testing::Values(Served::kListen, Served::kRelay, Served::kSpawnFcgi),
                         [](const auto& how) { return name_of(how.param); });

class Listen : public Modes {};

TEST_P(Listen, AKilledWorkerIsReplaced) {
    ASSERT_TRUE(work_flows());
    const auto before = pids_in_log();
    for (const auto& pid : before) ::kill(std::stoi(pid), SIGKILL);
    EXPECT_TRUE(eventually([&] {
        const HttpReply reply = ask();
        auto now = pids_in_log();
        for (const auto& pid : before) now.erase(pid);
        return malformed(reply).empty() && has_job(reply) && !now.empty();
    })) << served_->logs();
}

TEST_P(Listen, NoWorkerOutlivesAKilledServer) {
    const bool relay = GetParam() == Served::kRelay;
    ASSERT_TRUE(work_flows());
    const auto workers = pids_in_log();
    served_->backend().send_signal(SIGKILL);
    served_->backend().wait();
    EXPECT_TRUE(eventually([&] {
        return std::none_of(workers.begin(), workers.end(),
                            [](const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; });
    }));
    // Its socket is left over and in nobody's way.
    EXPECT_TRUE(fs::exists(served_->socket()));
    std::vector<std::string> command{sluice::test::binary_dir() + "/cgi-bin/cgi", "--listen",
                                     served_->socket().string()};
    if (relay) command = {sluice::test::binary_dir() + "/bin/scheduler"};
    Subprocess again(command, project_.run_options());
    EXPECT_TRUE(again.wait_for_output("listening on")) << again.err();
    EXPECT_TRUE(work_flows()) << served_->logs();
    const RunResult second = run(command, project_.run_options());
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("another server listens there"));
    again.send_signal(SIGTERM);
    EXPECT_EQ(again.wait().value_or(RunResult{}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Listen, testing::Values(Served::kListen, Served::kRelay),
                         [](const auto& how) { return name_of(how.param); });

/// In a project that names a database: of another one the server says first what is missing.
RunOptions in_project(const TempDir& folder) {
    folder.write("config.xml", "<boinc><config><db_name>tiles</db_name></config></boinc>");
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = folder.path().string();
    return options;
}

/// Started under an account of its own that may have no second process (root may, so it becomes somebody else).
TEST(ListenWithoutProcesses, SaysSoOnceAndHearsSignals) {
    const TempDir folder;
    fs::permissions(folder.path(), fs::perms(0777));
    std::vector<std::string> command{"prlimit", "--nproc=1"};
    if (::geteuid() == 0) command.insert(command.end(), {"setpriv", "--reuid=64999", "--clear-groups"});
    command.insert(command.end(), {sluice::test::binary_dir() + "/cgi-bin/cgi", "--listen", folder / "cgi.sock"});
    Subprocess server(command, in_project(folder));
    ASSERT_TRUE(server.wait_for_output("can't start a worker")) << server.err();
    // A server that tries without a pause has written megabytes when two ticks of its own clock are over.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    EXPECT_LT(server.out().size() + server.err().size(), 2000u);
    server.send_signal(SIGTERM);
    const auto ended = server.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, 0) << ended->err;
    EXPECT_EQ(std::count(ended->err.begin(), ended->err.end(), '\n'), 3) << ended->err;  // listening, can't, ended
}

TEST(ListenAddress, WhatCantBeUsedIsSaid) {
    const TempDir folder;
    folder.write("file", "text");
    const RunOptions options = in_project(folder);
    const struct {
        std::string address;
        const char* says;
    } cases[] = {{(folder / "no/such/folder").string(), "No such file or directory"},
                 {(folder / "file").string(), "a file that is no socket is there"},
                 {"/" + std::string(200, 'x'), "107 characters"},
                 {"localhost:9000", "HOST:PORT with a numeric host"},
                 {":9000", "no host is given"},
                 {"127.0.0.1:nine", "HOST:PORT"},
                 {"127.0.0.1:99999", "from 1 to 65535"},
                 {"127.0.0.1:0", "from 1 to 65535"},
                 {"192.0.2.77:9000", "annot assign requested address"}};
    for (const auto& c : cases) {
        const RunResult result = run({sluice::test::binary_dir() + "/cgi-bin/cgi", "--listen", c.address}, options);
        EXPECT_EQ(result.status, 1) << c.address;
        EXPECT_THAT(result.err, HasSubstr(c.says)) << c.address;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

}  // namespace
}  // namespace sluice::test
