// SPDX-License-Identifier: LGPL-3.0-or-later
// What units of systemd run: one daemon or task as the unit's own process. bin/start, bin/stop and bin/status see it as
// one that bin/start started.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "config/run/foreground.h"
#include "config/run/run_state.h"
#include "tests/scenario/start/start_fixture.h"
#include "tests/support/notify_socket.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class UnitsTest : public StartTest {
  protected:
    fs::path state_file() const { return dir_ / ("run_state_" + host_ + ".xml"); }
    void enable(bool enabled, std::map<std::string, double> last_run = {}) {
        write_run_state(state_file(), {enabled, std::move(last_run)});
    }
    void leave_to_systemd() {
        dir_.write(units_mark_file(dir_.path()).filename(),
                   units_mark_text({"sluice@tiles.target", "/etc/systemd/system", ""}, dir_.path()));
    }
    /// As systemd starts a unit with Type=notify and WatchdogSec.
    std::unique_ptr<Subprocess> unit(const std::vector<std::string>& arguments) {
        RunOptions options;
        options.cwd = dir_.path();
        options.own_group = true;  // bin/stop ends the whole group of a daemon with a shell
        options.unset = {"BOINC_PROJECT_DIR", "REQUEST_METHOD", "GATEWAY_INTERFACE"};
        options.env = {{"NOTIFY_SOCKET", manager_.name()}, {"WATCHDOG_USEC", "600000000"}};
        std::vector<std::string> words{(dir_ / "bin/start").string()};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return std::make_unique<Subprocess>(words, options);
    }
    bool is(const std::string& lock, pid_t pid) {
        return eventually([&] { return holder(lock) == pid; });
    }

    NotifySocket manager_{(dir_ / "notify").string()};
};

constexpr const char* kNapper = "<daemons><daemon><cmd>napper</cmd></daemon></daemons>";

TEST_F(UnitsTest, ADaemonHasLockPidFileAndLog) {
    script("napper", kSleeper);
    config(kNapper);
    enable(true);
    const auto napper = unit({"--daemon", "napper"});
    ASSERT_TRUE(is("napper.lock", napper->pid())) << napper->err();
    ASSERT_TRUE(eventually([&] { return text_of(log_dir() / "napper.log").find("umask 0022") != std::string::npos; }));
    EXPECT_EQ(text_of(pid_dir() / "napper.pid"), std::to_string(napper->pid()) + "\n");
    EXPECT_EQ(run_program("status").status, 0);
    EXPECT_EQ(run_program("start", {"--cron"}).out, "") << "it starts no second one";
    EXPECT_THAT(run_program("start", {"-v"}).out, HasSubstr("already running"));
    EXPECT_EQ(holder("napper.lock"), napper->pid());
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(napper->wait());
}

// A program that does not speak to systemd must neither wait for its READY nor be killed by its watchdog.
TEST_F(UnitsTest, OnlyProgramsOfOursSpeakForThemselves) {
    script("napper", "echo \"socket $NOTIFY_SOCKET\"; exec sleep 1000");
    config("<daemons><daemon><cmd>napper</cmd></daemon><daemon><cmd>" + binary_dir() +
           "/bin/scheduler</cmd></daemon><daemon><cmd>" + binary_dir() +
           "/bin/scheduler --listen ./s</cmd><use_shell>1</use_shell><output>shell.log</output></daemon></daemons>");
    enable(true);
    const auto napper = unit({"--daemon", "napper"});
    ASSERT_TRUE(manager_.is_told("READY=1\nSTATUS=It runs; it reports no turns\nWATCHDOG_USEC=0"));
    ASSERT_TRUE(eventually([&] { return text_of(log_dir() / "napper.log").find("socket \n") != std::string::npos; }));
    const auto shell = unit({"--daemon", "shell.log"});
    ASSERT_TRUE(is("shell.log.lock", shell->pid()));
    ASSERT_EQ(manager_.told().size(), 2u) << "nor can one speak that a shell started";
    fs::create_directory(dir_ / "cgi-bin");
    const auto scheduler = unit({"--daemon", "scheduler"});
    ASSERT_TRUE(manager_.is_told("READY=1\nSTATUS=Serves requests at")) << text_of(log_dir() / "scheduler.log");
    EXPECT_THAT(manager_.told()[2], StartsWith("READY=1")) << "not before its first good turn";
    EXPECT_TRUE(manager_.is_told("WATCHDOG=1"));
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(scheduler->wait());
}

// Its <cmd> counts from the folder where daemons run, and not from the one where systemd starts them.
TEST_F(UnitsTest, AProgramOfCgiBinSpeaksForItself) {
    fs::create_directory(dir_ / "cgi-bin");
    fs::create_symlink(binary_dir() + "/bin/scheduler", dir_ / "cgi-bin/scheduler");
    config("<daemons><daemon><cmd>../cgi-bin/scheduler</cmd></daemon></daemons>");
    enable(true);
    const auto scheduler = unit({"--daemon", "scheduler"});
    ASSERT_TRUE(manager_.is_told("READY=1\nSTATUS=Serves requests at")) << text_of(log_dir() / "scheduler.log");
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(scheduler->wait());
}

// bin/stop and bin/start of the project's account hold for units, too.
TEST_F(UnitsTest, ADaemonWaitsUntilTheProjectIsEnabled) {
    script("napper", kSleeper);
    config(kNapper);
    leave_to_systemd();
    const auto napper = unit({"--daemon", "napper"});
    ASSERT_TRUE(manager_.is_told("STATUS=Waits: the project is stopped; bin/start lets it run\nEXTEND_TIMEOUT_USEC="));
    EXPECT_EQ(holder("napper.lock"), 0);
    const RunResult start = run_program("start");
    EXPECT_EQ(start.status, 0) << start.err;
    EXPECT_THAT(start.out, HasSubstr("systemctl start sluice@tiles.target"));
    ASSERT_TRUE(is("napper.lock", napper->pid())) << "bin/start has started none itself";
    EXPECT_EQ(run_program("stop").status, 0);
    ASSERT_TRUE(napper->wait());
    const auto again = unit({"--daemon", "napper"});  // Restart=always
    ASSERT_TRUE(again->wait_for_output("napper: Waits: the project is stopped"));
    again->send_signal(SIGTERM);
    EXPECT_EQ(again->wait().value().signal, SIGTERM);
}

TEST_F(UnitsTest, ADaemonWaitsForOneOfBinStart) {
    const pid_t first = start_napper();
    ASSERT_GT(first, 0);
    const auto second = unit({"--daemon", "napper"});
    ASSERT_TRUE(manager_.is_told("STATUS=Waits: another process is this daemon; bin/stop ends that one"));
    leave_to_systemd();
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(first));
    EXPECT_EQ(run_program("start").status, 0);
    EXPECT_TRUE(is("napper.lock", second->pid()));
    dir_.write("stop_daemons", "");
    const auto third = unit({"--daemon", "napper"});
    EXPECT_TRUE(manager_.is_told("STATUS=Waits: the file stop_daemons is present"));
}

TEST_F(UnitsTest, CronLeavesAllToSystemd) {
    script("napper", kSleeper);
    script("job", "echo ran");
    config(std::string(kNapper) + "<tasks><task><cmd>job</cmd><period>1 hour</period></task></tasks>");
    enable(true);
    leave_to_systemd();
    const RunResult cron = run_program("start", {"--cron"});
    EXPECT_EQ(cron.out + cron.err, "");
    EXPECT_EQ(holder("napper.lock"), 0);
    EXPECT_FALSE(fs::exists(log_dir() / "job.out"));
    EXPECT_EQ(run_program("status").status, 2) << "it does not run, whoever was to start it";
    fs::remove(dir_ / ("systemd_" + host_));
    EXPECT_THAT(run_program("start", {"--cron"}).out, HasSubstr("Starting daemon: napper"));
}

TEST_F(UnitsTest, ATaskRunsWhenItIsDue) {
    script("job", "echo ran in $PWD; exit 3");
    config(
        "<tasks><task><cmd>job</cmd><period>1 hour</period></task>"
        "<task><cmd>job always</cmd><period>1 hour</period><output>always.out</output><always_run>1</always_run></task></tasks>");
    const auto last_run = [&] { return read_run_state(state_file()).last_run["job"]; };
    enable(true, {{"job", now() - 1800}});
    EXPECT_EQ(unit({"--task", "job"})->wait().value().status, 0);
    EXPECT_FALSE(fs::exists(log_dir() / "job.out")) << "it is not due";
    enable(true, {{"job", now() - 3590}});
    EXPECT_EQ(unit({"--task", "job"})->wait().value().status, 3) << "what systemd is to see";
    EXPECT_THAT(text_of(log_dir() / "job.out"), HasSubstr("ran in " + (dir_ / ("tmp_" + host_)).string()));
    EXPECT_NEAR(last_run(), now(), 600);
    enable(false, {{"job", 0}});
    EXPECT_EQ(unit({"--task", "job"})->wait().value().status, 0);
    EXPECT_EQ(last_run(), 0) << "the project is stopped";
    EXPECT_EQ(unit({"--task", "always.out"})->wait().value().status, 3);
}

TEST_F(UnitsTest, OutputGoesToTheJournalIfAsked) {
    script("napper", "echo hello; exec sleep 1000");
    config(kNapper);
    enable(true);
    const auto napper = unit({"--daemon", "napper", "--journal"});
    EXPECT_TRUE(napper->wait_for_output("hello"));
    EXPECT_FALSE(fs::exists(log_dir() / "napper.log"));
    napper->send_signal(SIGTERM);
    EXPECT_TRUE(napper->wait());
}

TEST_F(UnitsTest, UnknownDaemonsAndTasksAreRefused) {
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper</cmd><disabled>1</disabled></daemon><daemon><cmd>a | b</cmd></daemon></daemons>");
    enable(true);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"--daemon", "nobody"}, {"--daemon", "napper"}, {"--task", "napper"}}) {
        const auto result = unit(words)->wait().value();
        EXPECT_EQ(result.status, 1);
        EXPECT_THAT(result.err, HasSubstr("/bin/sluice units --install "));
    }
    EXPECT_THAT(unit({"--daemon", "a"})->wait().value().err, HasSubstr("add <use_shell>"));
    EXPECT_THAT(run_program("start", {"--journal"}).err, HasSubstr("--journal needs --daemon or --task"));
    EXPECT_THAT(run_program("start", {"--daemon", "napper", "--cron"}).err, HasSubstr("more than one command"));
}

TEST(TaskLookInterval, IsATenthOfThePeriodWithinBounds) {
    EXPECT_EQ(task_look_interval(60), 60);
    EXPECT_EQ(task_look_interval(600), 300);
    EXPECT_EQ(task_look_interval(6000), 600);
    EXPECT_EQ(task_look_interval(864000), 900);
}

}  // namespace
}  // namespace sluice::test
