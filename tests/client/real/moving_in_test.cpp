// SPDX-License-Identifier: LGPL-3.0-or-later
// docs/moving_in.md from end to end, with the commands as they stand there: a project that runs BOINC's own programs is
// looked at, divided, moved, upgraded and moved back, while real clients work. What they saw is what the database
// holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <regex>
#include <set>

#include "config/run/own_programs.h"
#include "sluice/base/project.h"
#include "tests/client/real/client_world.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class MovingIn : public testing::Test {
  protected:
    static constexpr int kJobs = 90, kClients = 4;

    void SetUp() override {
        const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
        if (prefix == nullptr || *prefix == '\0')
            GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
        world_ = std::make_unique<ClientWorld>();
        key_ = world_->add_user("volunteer");
        for (int i = 0; i < kJobs; ++i) world_->add_job("wait /", {"--rsc_fpops_est", "1e13"});  // one for each request
        world_->db().query(Sql("ANALYZE TABLE result, workunit, app"));  // else their feeder's first query is slow
        world_->stop_daemons();
        install();
        for (const char* folder : {"bin", "cgi-bin"})
            for (const auto& entry : fs::directory_iterator(fs::path(prefix) / folder)) {
                const fs::path to = world_->root() / folder / entry.path().filename();
                fs::remove(to);
                fs::copy(entry.path(), to);
            }
        fs::remove(world_->root() / kPrefixLink);  // a project of BOINC's make_project has none
        std::string config = text_of(world_->root() / "config.xml");
        config = std::regex_replace(config, std::regex("<maintenance_delay>[^<]*</maintenance_delay>\n?"), "");
        config = std::regex_replace(config, std::regex("<tasks>[^]*</tasks>"), "<tasks></tasks>");
        config = std::regex_replace(config, std::regex("<daemons>[^]*</daemons>"),
                                    "<daemons><daemon><cmd>feeder -d 3</cmd></daemon>"
                                    "<daemon><cmd>transitioner -d 3</cmd></daemon></daemons>");
        if (config.find("<host>") == std::string::npos)  // BOINC's start needs it
            config.insert(config.find("</config>"), "<host>" + short_host_name() + "</host>\n");
        std::ofstream(world_->root() / "config.xml", std::ios::trunc) << config;
        ASSERT_TRUE(did("bin/start", 0));
    }
    void TearDown() override {
        volunteers_.clear();
        if (world_) shell("bin/stop");
    }
    /// As `cmake --install` lays them out. Copies, so that sluice finds the others beside itself.
    void install() const {
        const fs::path build = binary_dir();
        for (const char* folder : {"bin", "cgi-bin", "share/sluice"}) fs::create_directories(installed_ / folder);
        for (const char* name : {"sluice", "feeder", "transitioner", "show_shmem", "sched_explain", "sluice_tune",
                                 "scheduler", "start", "make_project", "canary_front", "cgi_tee", "sluice_options"})
            fs::copy(build / "bin" / name, installed_ / "bin" / name);
        fs::copy(build / "cgi-bin/cgi", installed_ / "cgi-bin/cgi");
        fs::copy(source_dir() + "/db/going_back.sql", installed_ / "share/sluice/going_back.sql");
    }
    std::string here(const std::string& command) const {
        std::string text = std::regex_replace(command, std::regex("/opt/sluice"), installed_.path().string());
        return std::regex_replace(text, std::regex("PROJECT"), world_->root().string());
    }
    std::unique_ptr<Subprocess> begin(const std::string& command) const {
        RunOptions options;
        options.env = {{"MYSQL_UNIX_PORT", world_->server().socket().string()}};
        options.cwd = world_->root();
        return std::make_unique<Subprocess>(std::vector<std::string>{"/bin/sh", "-c", "exec " + here(command)},
                                            options);
    }
    RunResult shell(const std::string& command) const { return *begin(command)->wait(600); }
    /// The command ends with that status, while the clients work; says how long it took.
    bool did(const std::string& command, int status) {
        const auto start = std::chrono::steady_clock::now();
        const auto process = begin(command);
        while (process->running()) work_a_while(2);
        const auto result = process->wait(600);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        std::cout << command << ": " << seconds << " s" << std::endl;
        EXPECT_EQ(result->status, status) << command << "\n" << result->out << result->err;
        last_ = result->out + result->err;
        return result->status == status;
    }
    /// `command`, which must be a command of the page.
    bool page_says(const std::string& command, int status = 0) {
        EXPECT_NE(page_.find("    " + command + "\n"), std::string::npos) << command;
        return did(command, status);
    }
    void work_a_while(double pause = .5) {
        for (Volunteer& v : volunteers()) v.client().update(world_->url());
        wait_until([] { return false; }, pause);
    }
    std::int64_t reported() { return world_->number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5")); }
    /// Clients work until so many more jobs came back.
    void work(std::int64_t jobs) {
        const std::int64_t wanted = std::min<std::int64_t>(reported() + jobs, kJobs);
        EXPECT_TRUE(wait_until([&] { return work_a_while(), reported() >= wanted; }, 400))
            << reported() << " of " << wanted << "\n"
            << volunteers()[0].log() << world_->scheduler_log() << world_->web_log();
    }
    std::deque<Volunteer>& volunteers() { return volunteers_; }
    /// The web server of this test has the project's account. Where the machine has one of its own, `check` calls that
    /// unsafe, with errors, so that `adopt` needs --despite_errors.
    void expect_no_error_but_unsafe() const {
        EXPECT_GE(last_.find("error: "), last_.find("What is unsafe today")) << last_;
    }
    void expect_what_clients_saw() {
        std::set<std::string> all;
        const std::regex started("Starting task (\\S+)"), delay("requested delay of (\\d+) seconds");
        const auto matches = [](const std::string& text, const std::regex& what) {
            std::set<std::string> found;
            for (std::sregex_iterator m(text.begin(), text.end(), what), end; m != end; ++m) found.insert((*m)[1]);
            return found;
        };
        for (Volunteer& v : volunteers()) {
            EXPECT_TRUE(wait_until([&] { return v.count("<result>") == 0; })) << v.client().state();
            const std::string log = v.log();
            const std::set<std::string> seen = matches(log, started);
            std::set<std::string> sent;
            for (const auto& row :
                 rows_of(world_->db(), Sql("SELECT name FROM result WHERE hostid=") << v.host_id(), 1))
                sent.insert(row[0]);
            EXPECT_EQ(seen, sent) << log;
            for (const std::string& name : seen) EXPECT_TRUE(all.insert(name).second) << name << " came twice";
            EXPECT_EQ(v.complaints(), "") << log << world_->scheduler_log() << world_->web_log();
            for (const std::string& seconds : matches(log, delay)) EXPECT_LE(std::stoi(seconds), 60) << log;
        }
        const auto jobs = static_cast<std::size_t>(kJobs);
        EXPECT_EQ(all.size(), jobs);
        EXPECT_EQ(world_->number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1")), kJobs);
        EXPECT_EQ(world_->number(Sql("SELECT COUNT(*) FROM result")), kJobs);
        EXPECT_EQ(world_->number(Sql("SELECT COUNT(*) FROM host")), kClients);
    }

    const std::string page_ = text_of(source_dir() + "/docs/moving_in.md");
    TempDir installed_;
    std::unique_ptr<ClientWorld> world_;
    std::string key_, last_;
    std::deque<Volunteer> volunteers_;
};

TEST_F(MovingIn, FollowsThePageAndBack) {
    const std::string cgi = text_of(world_->root() / "cgi-bin/cgi"), config = text_of(world_->root() / "config.xml");
    for (int i = 0; i < kClients; ++i) volunteers_.emplace_back(*world_, key_).client().attach(world_->url(), key_);
    for (Volunteer& v : volunteers_) ASSERT_TRUE(wait_until([&] { return v.host_id() != 0; })) << v.log();
    work(2);
    page_says("/opt/sluice/bin/sluice check PROJECT", 1);
    expect_no_error_but_unsafe();

    const std::string shadow = "/opt/sluice/bin/sluice shadow PROJECT --tee --for 1h";
    EXPECT_NE(page_.find("    " + shadow + "\n"), std::string::npos);
    const auto looking = begin(shadow);
    ASSERT_TRUE(looking->wait_for_output("the tee is in place")) << looking->err();
    work(12);
    looking->send_signal(SIGINT);
    const auto looked = looking->wait();
    ASSERT_TRUE(looked);
    EXPECT_LE(looked->status, 1) << looked->out << looked->err;
    std::cout << looked->out << std::endl;
    EXPECT_TRUE(text_of(world_->root() / "cgi-bin/cgi") == cgi);

    page_says("/opt/sluice/bin/sluice canary --percent 1 PROJECT");
    did("/opt/sluice/bin/sluice canary --percent 10 PROJECT", 0);
    work(4);
    did("/opt/sluice/bin/sluice canary --percent 50 PROJECT", 0);
    work(4);
    page_says("/opt/sluice/bin/sluice canary PROJECT");
    std::cout << last_ << std::endl;
    page_says("/opt/sluice/bin/sluice canary --stop PROJECT");
    EXPECT_EQ(text_of(world_->root() / "config.xml"), config);

    did("/opt/sluice/bin/sluice adopt --dry_run --despite_errors PROJECT", 1);
    ASSERT_TRUE(did("/opt/sluice/bin/sluice adopt --watch 10 --despite_errors PROJECT", 0));
    work(4);
    did("/opt/sluice/bin/sluice check PROJECT", 1);
    expect_no_error_but_unsafe();

    world_->option("maintenance_delay", "60");  // docs/install.md: else BOINC's stop sends clients away for an hour
    did("bin/stop", 0);
    did("/opt/sluice/bin/sluice upgrade PROJECT", 0);
    did("/opt/sluice/bin/sluice upgrade --back PROJECT", 0);
    did("/opt/sluice/bin/sluice upgrade PROJECT", 0);
    did("bin/start", 0);
    work(4);

    page_says("/opt/sluice/bin/sluice revert PROJECT");
    EXPECT_TRUE(text_of(world_->root() / "cgi-bin/cgi") == cgi);
    std::string wanted = config;
    wanted.insert(wanted.find("</config>"), "<maintenance_delay>60</maintenance_delay>\n");
    // With an option added meanwhile, a line break stays where the daemon stood.
    const std::regex blanks("\\s+");
    EXPECT_EQ(std::regex_replace(text_of(world_->root() / "config.xml"), blanks, ""),
              std::regex_replace(wanted, blanks, ""));
    work(kJobs);
    expect_what_clients_saw();
}

}  // namespace
}  // namespace sluice::test
