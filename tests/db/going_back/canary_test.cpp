// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice canary on a project that runs: hosts are divided, both sides are counted, no job goes out twice, and all of it
// goes again. The project's own programs are copies of ours with a folder, and so a job array, of their own.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>

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

/// By which the web server's account may read or run a file, also where its group may not.
TEST_F(DividedProject, AccessListsStay) {
    constexpr const char* kList = "system.posix_acl_access";
    struct Entry {
        std::uint16_t tag, rights;
        std::uint32_t id;
    };
    struct {
        std::uint32_t version = 2;
        Entry entries[5] = {{1, 7, ~0u}, {2, 5, 1}, {4, 5, ~0u}, {16, 5, ~0u}, {32, 1, ~0u}};
    } const list;
    const std::string wanted(reinterpret_cast<const char*>(&list), sizeof list);
    const auto list_of = [&](const char* name) {
        std::string found(1000, '\0');
        const ssize_t n = ::getxattr((project_.folder() / name).c_str(), kList, found.data(), found.size());
        return found.substr(0, n < 0 ? 0 : static_cast<std::size_t>(n));
    };
    for (const char* name : {"cgi-bin/cgi", "config.xml"})
        ASSERT_EQ(::setxattr((project_.folder() / name).c_str(), kList, &list, sizeof list, 0), 0) << name;
    ASSERT_EQ(shell("bin/start").status, 0);
    const RunResult begun = sluice("canary --percent 50 .");
    ASSERT_EQ(begun.status, 0) << begun.out << begun.err;
    for (const char* name : {"cgi-bin/cgi", "sluice-canary/theirs", "config.xml"})
        EXPECT_TRUE(list_of(name) == wanted) << name;
    ASSERT_EQ(sluice("canary --stop .").status, 0);
    for (const char* name : {"cgi-bin/cgi", "config.xml"}) EXPECT_TRUE(list_of(name) == wanted) << name;
}

TEST_F(DividedProject, UpgradeRenewsItsCopies) {
    ASSERT_EQ(shell("bin/start").status, 0);
    ASSERT_EQ(sluice("canary --percent 100 .").status, 0);
    const fs::path front = project_.folder() / "cgi-bin/cgi", scheduler = project_.folder() / "bin/scheduler";
    const std::string front_now = text_of(front), scheduler_now = text_of(scheduler);
    for (const auto& [file, now] : {std::pair(front, front_now), std::pair(scheduler, scheduler_now)}) {
        fs::remove(file);
        std::ofstream(file) << now << "of an older release";
        fs::permissions(file, fs::perms(0755));
    }
    const std::string sluice_here = installed_.path() / "bin/sluice ";
    EXPECT_THAT(shell(sluice_here + "canary .").out, HasSubstr(": bin/scheduler cgi-bin/cgi. Call "));
    EXPECT_THAT(shell(sluice_here + "check .").out,
                HasSubstr("are of another release: bin/scheduler cgi-bin/cgi. Call bin/stop"));
    const RunResult upgraded = shell(sluice_here + "upgrade .");
    EXPECT_EQ(upgraded.status, 0) << upgraded.err;
    EXPECT_THAT(upgraded.out, HasSubstr("Programs of sluice canary are of this release: bin/scheduler cgi-bin/cgi"));
    EXPECT_TRUE(text_of(front) == front_now);
    EXPECT_TRUE(text_of(scheduler) == scheduler_now);
    EXPECT_EQ(shell(sluice_here + "canary .").status, 0);
    EXPECT_THAT(shell(sluice_here + "check .").out, testing::Not(HasSubstr("another release")));
    EXPECT_EQ(sluice("canary --stop .").status, 0);
    expect_nothing_left();
}

/// As with adopt: in a mount namespace of its own, on a disk that is filled to the last byte.
TEST_F(DividedProject, AFullDiskKeepsTheShareAndStops) {
    const std::string inside = "unshare -U -c -m --keep-caps ", folder = project_.folder().string();
    if (shell(inside + "true").status != 0)
        GTEST_SKIP() << "user namespaces are forbidden here: no disk can be mounted";
    const TempDir copy;
    const std::string kept = copy.path().string() + "/p";
    fs::create_directory(kept);
    const fs::path all =
        copy.write("all.sh", "set -e\ncd /\ncp -a " + folder + "/. " + kept + "\nmount -t tmpfs -o size=600m none " +
                                 folder + "\ncp -a " + kept + "/. " + folder + "\ncd " + folder + "\nbin/start\n" +
                                 command("canary --percent 50 .") + "\ncat /dev/zero > fill 2> /dev/null || true\n" +
                                 "! echo more 2> /dev/null > more\necho FULL\n! " + command("canary --percent 60 .") +
                                 "\ngrep 5000 sluice-canary/settings && echo SHARE\n" + command("canary --stop .") +
                                 "\ncmp config.xml " + kept + "/config.xml && cmp cgi-bin/cgi " + kept +
                                 "/cgi-bin/cgi && echo OLD\nbin/stop\n");
    const RunResult result = shell("exec " + inside + "sh " + all.string());
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    for (const char* said : {"FULL\n", "SHARE\n", "OLD\n"})
        EXPECT_NE(result.out.find(said), std::string::npos) << said << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr("No space left"));
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
