// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice canary on a project that runs: hosts are divided, both sides are counted, no job goes out twice, and all of it
// goes again. The project's own programs are copies of ours with a folder, and so a job array, of their own.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"
#include "tests/db/going_back/divided_load.h"
#include "tests/support/named_files.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class DividedProject : public AdoptedProject {
  protected:
    DividedProject() : theirs_(server_, project_) {
        const std::string as_theirs =
            "#!/bin/sh\nBOINC_PROJECT_DIR=" + theirs_.folder().string() + " exec " + binary_dir();
        script(project_.folder() / "cgi-bin/cgi", as_theirs + "/cgi-bin/cgi \"$@\"\n");
        // With an interval it shares jobs with no other feeder: each offers all of them.
        script(project_.folder() / "bin/feeder", as_theirs + "/bin/feeder --sleep_interval 0.05 \"$@\"\n");
        cgi_ = text_of(project_.folder() / "cgi-bin/cgi"), config_ = config();
    }
    nlohmann::json status() {
        const RunResult result = shell(installed_.path() / "bin/sluice canary --json .");
        EXPECT_EQ(result.status, 0) << result.out << result.err;
        return nlohmann::json::parse(result.out);
    }
    /// Of all hours.
    std::int64_t total(const char* side, const char* what) {
        std::int64_t sum = 0;
        const nlohmann::json all = status();
        for (const auto& hour : all["hours"]) sum += hour[side][what].get<std::int64_t>();
        return sum;
    }
    void expect_nothing_left() {
        expect_old_again(cgi_, config_);
        for (const char* name : {"sluice-canary", "bin/canary_feeder"})
            EXPECT_FALSE(fs::exists(project_.folder() / name)) << name << shell("ls -lA sluice-canary").out;
        EXPECT_EQ(shell("bin/status").out.find("canary"), std::string::npos);
    }
    /// The web server's account may put there what it likes.
    void expect_hostile_figures_do_no_harm() {
        const std::string before = status()["hours"].dump();
        const fs::path folder = project_.folder() / "sluice-canary/figures";
        const std::int64_t hour = std::time(nullptr) / 3600;
        const auto file = [&](std::int64_t ago) { return folder / fmt::format("counts_{}", hour - ago); };
        ASSERT_EQ(::mkfifo(file(3).c_str(), 0666), 0);
        fs::create_symlink("/dev/zero", file(4));
        std::ofstream(file(5)) << "ours s 1 1 " << std::string(100000, 'x') << "\nmine s 1 1 \nours s 1 1 no end";
        EXPECT_EQ(status()["hours"].dump(), before);
    }
    /// A new host asks for a job, by the front.
    void ask_as_new_host(const std::string& name) {
        const std::string request = work_request(0, 1, 1, "", 4, name);
        RunOptions options = project_.web_request(request);
        options.cwd = project_.folder() / "cgi-bin";
        last_reply_ = run({(project_.folder() / "cgi-bin/cgi").string()}, options).out;
        for (const std::string& result : elements(last_reply_, "result"))
            for (const std::string& job : elements(result, "name")) EXPECT_TRUE(sent_.insert(job).second) << job;
    }

    TestProject theirs_;
    std::string cgi_, config_;
};

TEST_F(DividedProject, DividesCountsAndLeavesNothing) {
    EXPECT_THAT(sluice("canary --percent 50 .").err, HasSubstr("the project is stopped"));
    ASSERT_EQ(shell("bin/start").status, 0);
    ASSERT_TRUE(eventually([&] { return (ask_as_new_host("first"), !sent_.empty()); })) << last_reply_;
    NamedFiles programs({project_.folder() / "bin", project_.folder() / "cgi-bin"});
    const RunResult begun = sluice("canary --percent 50 .");
    ASSERT_EQ(begun.status, 0) << begun.out << begun.err;
    EXPECT_TRUE(programs.named().contains(project_.folder() / "cgi-bin/cgi"));
    EXPECT_THAT(programs.open_in_place(), testing::IsEmpty()) << "the web server can't start them";
    EXPECT_THAT(config(), HasSubstr("<cmd>canary_feeder -d 3 --leave_reread_db</cmd>"));
    for (int i = 0; i < 12; ++i) ask_as_new_host(fmt::format("h{}", i));
    EXPECT_EQ(total("ours", "requests") + total("theirs", "requests"), 12);
    EXPECT_GT(total("ours", "jobs"), 0);
    EXPECT_GT(total("theirs", "jobs"), 0);
    EXPECT_EQ(total("ours", "failed") + total("theirs", "failed"), 0);

    const auto ours = total("ours", "requests");
    ASSERT_EQ(sluice("canary --percent 100 .").status, 0);
    for (int i = 0; i < 3; ++i) ask_as_new_host(fmt::format("g{}", i));
    EXPECT_EQ(total("ours", "requests"), ours + 3) << "at once, without a restart";
    std::string body =
        "<scheduler_request>\n<authenticator>nobody</authenticator>\n<hostid>0</hostid>\n"
        "<work_req_seconds>1</work_req_seconds>\n</scheduler_request>\n";
    RunOptions options = project_.web_request(body);
    options.cwd = project_.folder() / "cgi-bin";
    EXPECT_THAT(run({(project_.folder() / "cgi-bin/cgi").string()}, options).out, HasSubstr("account key"));
    EXPECT_EQ(status()["hours"].back()["ours"]["reasons"]["unknown_account"], 1);
    EXPECT_THAT(sluice("adopt .").err, HasSubstr("End that first: " + binary_dir() + "/bin/sluice canary --stop /"));
    EXPECT_THAT(sluice("check .").out, HasSubstr("100 % of the hosts go to Sluice since 20"));

    fs::copy_file(fs::path(binary_dir()) / "bin/show_shmem", project_.folder() / "cgi-bin/cgi",
                  fs::copy_options::overwrite_existing);
    const RunResult overwritten = shell(installed_.path() / "bin/sluice canary .");
    EXPECT_EQ(overwritten.status, 1) << overwritten.out;
    EXPECT_THAT(overwritten.out, HasSubstr("is not the program that divides hosts"));
    script(project_.folder() / "cgi-bin/cgi", cgi_);
    ASSERT_EQ(sluice("canary --percent 100 .").status, 0);
    ask_as_new_host("again");
    EXPECT_EQ(total("ours", "requests"), ours + 5);

    expect_hostile_figures_do_no_harm();
    std::ofstream(project_.folder() / "sluice-canary/settings") << "hundredths_of_a_per";
    EXPECT_THAT(shell(installed_.path() / "bin/sluice canary .").out, HasSubstr("names no share, and no host goes"));
    const fs::path foreign = project_.folder() / "sluice-canary/of_somebody_else";
    std::ofstream(foreign) << "";
    EXPECT_THAT(sluice("canary --stop .").err, HasSubstr("holds files of somebody else: remove it"));
    fs::remove(foreign);
    const RunResult ended = sluice("canary --stop .");
    ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
    expect_nothing_left();
    ask_as_new_host("last");
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")),
              static_cast<std::int64_t>(sent_.size()));
    EXPECT_THAT(sluice("canary --percent 0 .").out, HasSubstr("nothing to end"));
    fs::rename(project_.folder() / "cgi-bin/cgi", project_.folder() / "cgi-bin/real");
    fs::create_symlink("real", project_.folder() / "cgi-bin/cgi");
    EXPECT_THAT(sluice("canary --percent 1 .").err, HasSubstr("is a link that leads nowhere from"));
    expect_nothing_left();
}

/// After SIGKILL at any time the same command finishes, and --stop undoes.
TEST_F(DividedProject, AKilledCallIsFinishedOrUndone) {
    ASSERT_EQ(shell("bin/start").status, 0);
    const auto kill_after = [&](const std::string& arguments, double seconds) {
        const auto call = begin(arguments);
        eventually([&] { return !call->running(); }, seconds);
        call->send_signal(SIGKILL);
        call->wait();
    };
    const std::string divide = "canary --percent 100 .", end = "canary --stop .";
    for (const double seconds : {.02, .05, .1, .3}) kill_after(divide, seconds);
    const RunResult ended = sluice(end);
    ASSERT_EQ(ended.status, 0) << ended.out << ended.err;
    expect_nothing_left();
    for (const double seconds : {.1, .4}) kill_after(divide, seconds);
    const RunResult begun = sluice(divide);
    ASSERT_EQ(begun.status, 0) << begun.out << begun.err;
    ask_as_new_host("one");
    EXPECT_EQ(sent_.size(), 1u) << last_reply_;
    for (const double seconds : {.02, .05, .1, .2}) kill_after(end, seconds);
    ask_as_new_host("two");
    EXPECT_EQ(sent_.size(), 2u) << last_reply_;
    const RunResult finished = sluice(end);
    ASSERT_EQ(finished.status, 0) << finished.out << finished.err;
    expect_nothing_left();
}

TEST_F(DividedProject, WhatCannotServeIsUndone) {
    ASSERT_EQ(shell("bin/start").status, 0);
    wrap("feeder", "#!/bin/sh\nexit 1\n");
    const RunResult begun = sluice("canary --percent 10 --wait 2 .");
    EXPECT_EQ(begun.status, 2) << begun.out;
    EXPECT_THAT(begun.err, HasSubstr("The project is as it was: Sluice's scheduler did not serve within 2 s"));
    expect_nothing_left();
}

/// Eight clients at once behind Apache, until all jobs are out.
TEST_F(DividedProject, NoJobGoesOutTwiceUnderLoad) {
    ASSERT_EQ(shell("bin/start").status, 0);
    const RunResult begun = sluice("canary --percent 50 .");
    ASSERT_EQ(begun.status, 0) << begun.out << begun.err;
    const DividedLoad load = load_by_apache(project_, kJobs, 8, 1e4);
    EXPECT_EQ(load.broken, 0);
    EXPECT_THAT(load.twice, testing::IsEmpty());
    EXPECT_EQ(load.sent.size(), static_cast<std::size_t>(kJobs));
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), kJobs);
    fmt::print("ours sent {}, theirs {}, in {} and {} requests\n", total("ours", "jobs"), total("theirs", "jobs"),
               total("ours", "requests"), total("theirs", "requests"));
    EXPECT_EQ(total("ours", "jobs") + total("theirs", "jobs"), kJobs);
    EXPECT_GT(total("ours", "jobs"), 0);
    EXPECT_GT(total("theirs", "jobs"), 0);
    EXPECT_EQ(sluice("canary --stop .").status, 0);
}

}  // namespace
}  // namespace sluice::test
