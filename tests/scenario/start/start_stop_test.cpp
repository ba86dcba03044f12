// SPDX-License-Identifier: LGPL-3.0-or-later
// bin/start, bin/stop and bin/status with real processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/scenario/start/start_fixture.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(StartTest, DaemonsRunInTheirPlaceUntilStopped) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper -d 3 'two words'</cmd></daemon></daemons>");
    dir_.write("stop_daemons", "<stop/>");
    dir_.write("stop_sched", "<stop/>");

    const RunResult started = run_program("start", {"-v"});
    EXPECT_EQ(started.status, 0) << started.err;
    EXPECT_THAT(started.out, AllOf(HasSubstr("Entering ENABLED mode"), HasSubstr("Starting daemon: napper -d 3")));
    const pid_t pid = holder("napper.lock");
    ASSERT_GT(pid, 0);
    EXPECT_EQ(text_of(pid_dir() / "napper.pid"), std::to_string(pid) + "\n");
    ASSERT_TRUE(says("napper.log", " umask 0022"));
    EXPECT_THAT(text_of(log_dir() / "napper.log"),
                AllOf(HasSubstr("Executing command: napper -d 3 'two words'"), HasSubstr("-d 3 two words"),
                      HasSubstr((dir_ / ("tmp_" + host_)).string()), HasSubstr("umask 0022")));
    EXPECT_FALSE(exists("stop_daemons"));
    EXPECT_FALSE(exists("stop_sched"));
    EXPECT_NE(::getsid(pid), ::getsid(0));

    EXPECT_THAT(run_program("status").out, AllOf(HasSubstr("BOINC is ENABLED"), HasSubstr(std::to_string(pid)),
                                                 HasSubstr("running"), HasSubstr("locked"), HasSubstr("napper -d 3")));

    const RunResult stopped = run_program("stop");
    EXPECT_EQ(stopped.status, 0) << stopped.err;
    EXPECT_TRUE(has_ended(pid));
    EXPECT_FALSE(fs::exists(pid_dir() / "napper.pid"));
    EXPECT_EQ(text_of(dir_ / "stop_daemons"), "<stop/>\n");
    EXPECT_EQ(text_of(dir_ / "stop_sched"), "<stop/>\n");
    const RunResult status = run_program("status");
    EXPECT_THAT(status.out, AllOf(HasSubstr("BOINC is DISABLED"), HasSubstr("NOT RUNNING"), HasSubstr("UNLOCKED"),
                                  HasSubstr("stop_sched is present: every client is told"),
                                  HasSubstr("stop_daemons is present: daemons stop")));
}

TEST_F(StartTest, ASecondStartLeavesARunningDaemonAlone) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t first = holder("napper.lock");
    const RunResult again = run_program("start", {"-v"});
    EXPECT_EQ(again.status, 0);
    EXPECT_THAT(again.out, AllOf(HasSubstr("Staying in ENABLED mode"), HasSubstr("Daemon already running: napper")));
    EXPECT_EQ(holder("napper.lock"), first);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(StartTest, StopWaitsForDaemonThatTakesItsTime) {
    script("slow", "trap 'sleep 1; echo finished; exit 0' HUP; echo awaits it; while true; do sleep 0.05; done");
    config("<daemons><daemon><cmd>slow</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    ASSERT_TRUE(says("slow.log", "awaits it\n"));
    EXPECT_EQ(run_program("stop").status, 0);
    // Upstream's script returns at once: nothing is in the log then.
    EXPECT_THAT(text_of(log_dir() / "slow.log"), HasSubstr("finished"));
    EXPECT_EQ(holder("slow.lock"), 0);
    EXPECT_FALSE(fs::exists(pid_dir() / "slow.pid"));
}

TEST_F(StartTest, AnUnresponsiveDaemonKeepsItsPidFile) {
    script("deaf", kDeaf);
    config("<daemons><daemon><cmd>deaf</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    ASSERT_TRUE(says("deaf.log", "ignores it\n"));
    const pid_t pid = holder("deaf.lock");
    const RunResult stopped = run_program("stop", {"--wait", "0.3"});
    EXPECT_EQ(stopped.status, 1);
    EXPECT_THAT(stopped.err, AllOf(HasSubstr("deaf (pid " + std::to_string(pid) + ")"), HasSubstr("Still running")));
    EXPECT_TRUE(fs::exists(pid_dir() / "deaf.pid"));
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(eventually([&] { return holder("deaf.lock") == 0; }));
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_FALSE(fs::exists(pid_dir() / "deaf.pid"));
}

// `nohup bin/start`, or a caller that blocks signals: both are inherited, and bin/stop would wait in vain.
TEST_F(StartTest, WhatCallerIgnoresDoesNotMakeDaemonDeaf) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    for (const std::string deaf : {"--ignore-signal=HUP", "--block-signal=HUP"}) {
        const RunResult started = run({"/usr/bin/env", deaf, (dir_ / "bin/start").string()});
        ASSERT_EQ(started.status, 0) << started.err;
        const pid_t pid = holder("napper.lock");
        EXPECT_EQ(run_program("stop", {"--wait", "120"}).status, 0) << deaf;
        EXPECT_TRUE(has_ended(pid));
    }
}

TEST_F(StartTest, AStalePidFileNeverHitsAnotherProcess) {
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    fs::create_directories(pid_dir());
    Subprocess bystander({"/bin/sleep", "1000"});
    std::ofstream(pid_dir() / "napper.pid") << bystander.pid() << "\n";
    std::ofstream(pid_dir() / "napper.lock");
    std::ofstream(pid_dir() / "garbage.pid") << "not a number\n";
    ASSERT_EQ(::mkfifo((pid_dir() / "pipe.pid").c_str(), 0600), 0);  // to read it would wait for ever
    EXPECT_THAT(run_program("status").out, HasSubstr("NOT RUNNING"));
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(bystander.running());
    EXPECT_FALSE(fs::exists(pid_dir() / "napper.pid"));
    EXPECT_FALSE(fs::exists(pid_dir() / "garbage.pid"));
}

TEST_F(StartTest, TwoInstancesNeedOutputsOfTheirOwn) {
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper --mod 2 0</cmd></daemon><daemon><cmd>napper --mod 2 "
        "1</cmd></daemon></daemons>");
    const RunResult refused = run_program("start");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("Couldn't start 'napper --mod 2 1'"), HasSubstr("<output>")));
    EXPECT_GT(holder("napper.lock"), 0);  // the first one runs
    EXPECT_EQ(run_program("stop").status, 0);

    config(
        "<daemons><daemon><cmd>napper --mod 2 0</cmd><output>n0.log</output></daemon>"
        "<daemon><cmd>napper --mod 2 1</cmd><output>n1.log</output></daemon></daemons>");
    EXPECT_EQ(run_program("start").status, 0);
    const pid_t one = holder("n0.log.lock"), two = holder("n1.log.lock");
    ASSERT_GT(one, 0);
    ASSERT_GT(two, 0);
    EXPECT_NE(one, two);
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(one));
    EXPECT_TRUE(has_ended(two));
    EXPECT_FALSE(fs::exists(pid_dir() / "napper.pid"));
    EXPECT_FALSE(fs::exists(pid_dir() / "n1.log.pid"));
}

TEST_F(StartTest, DisabledOnesDoNotStart) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd><disabled/></daemon></daemons>");
    EXPECT_EQ(run_program("start").status, 0);
    EXPECT_FALSE(fs::exists(log_dir() / "napper.log"));
    EXPECT_THAT(run_program("status").out, HasSubstr("yes       napper"));
}

TEST_F(StartTest, MissingProgramIsToldAndLeavesNothingBehind) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>no_such_daemon</cmd></daemon><daemon><cmd>napper</cmd></daemon></daemons>");
    const RunResult started = run_program("start");
    EXPECT_EQ(started.status, 1);
    EXPECT_THAT(started.err, AllOf(HasSubstr("no_such_daemon"), HasSubstr((dir_ / "bin").string())));
    EXPECT_FALSE(fs::exists(pid_dir() / "no_such_daemon.pid"));
    EXPECT_GT(holder("napper.lock"), 0);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(StartTest, AShellAndWhatItRunsEndTogether) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper | cat &gt; ../piped</cmd><use_shell>1</use_shell></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t shell = holder("napper.lock");
    ASSERT_GT(shell, 0);
    EXPECT_TRUE(eventually([&] { return text_of(dir_ / "piped").find("napper") != std::string::npos; }));
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(shell));
    // All of its process group: the shell had a session of its own.
    EXPECT_EQ(group_members(shell), 0);
}

TEST_F(StartTest, DaemonsNoLongerInConfigAreStoppedToo) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t pid = holder("napper.lock");
    config("<daemons></daemons>");
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(pid));
}

/// A daemon as upstream's script starts it: lock by fcntl kept through exec, pid file, run state as it writes
/// it.
TEST_F(StartTest, TakesOverWhatUpstreamsScriptStarted) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    fs::create_directories(pid_dir());
    dir_.write("run_state_" + host_ + ".xml",
               "<?xml version=\"1.0\" ?>\n<boinc>\n  <tasks>\n  </tasks>\n  <enabled>\n    1\n  "
               "</enabled>\n</boinc>\n");
    const fs::path lock = pid_dir() / "napper.lock";
    const pid_t child = ::fork();
    if (child == 0) {
        const int fd = ::open(lock.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0664);
        struct flock whole {};
        whole.l_type = F_WRLCK;
        ::fcntl(fd, F_SETLK, &whole);
        ::signal(SIGHUP, SIG_DFL);  // whatever started this test, nohup perhaps
        ::execl("/bin/sleep", "sleep", "1000", nullptr);
        ::_exit(1);
    }
    std::ofstream(pid_dir() / "napper.pid") << child << "\n";
    ASSERT_TRUE(eventually([&] { return holder("napper.lock") == child; }));

    EXPECT_THAT(run_program("start", {"-v"}).out, AllOf(HasSubstr("Staying in ENABLED"), HasSubstr("already running")));
    EXPECT_EQ(holder("napper.lock"), child);
    // It is our child and stays a zombie until reaped; for stop it has ended.
    EXPECT_EQ(run_program("stop").status, 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
}

TEST_F(StartTest, OnlyOneStartAtATime) {
    script("napper", kSleeper);
    script("deaf", kDeaf);
    config("<daemons><daemon><cmd>deaf</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    ASSERT_TRUE(says("deaf.log", "ignores it\n"));
    Subprocess waiting({(dir_ / "bin/stop").string(), "--wait", "170"}, {.cwd = dir_.path()});
    ASSERT_TRUE(eventually([&] { return holder("start.lock." + host_) == waiting.pid() && exists("stop_daemons"); }));
    const RunResult second = run_program("start");
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("running already"));
    const RunResult cron = run_program("start", {"--cron"});
    EXPECT_EQ(cron.status, 0);
    EXPECT_EQ(cron.out + cron.err, "");
    ::kill(holder("deaf.lock"), SIGKILL);
    EXPECT_EQ(waiting.wait()->status, 0);
}

TEST_F(StartTest, AnotherUserIsRefused) {
    config("", "<project_user_name>nobody_else</project_user_name>");
    const RunResult result = run_program("start");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("nobody_else"), HasSubstr("project_user_name")));
}

TEST_F(StartTest, OtherHostsAreReachedBySsh) {
    script("napper", kSleeper);
    script("fake_ssh", "echo \"ssh $1: $2\" >> " + (dir_ / "calls").string());
    config(
        "<daemons><daemon><cmd>napper</cmd><host>node7</host></daemon>"
        "<daemon><cmd>napper</cmd><host>node8</host></daemon></daemons>",
        "<host>" + host_ + "</host><ssh_exec>" + (dir_ / "bin/fake_ssh").string() + "</ssh_exec>");
    EXPECT_EQ(run_program("start", {"--fork-delay", "0"}).status, 0);
    const std::string command = "cd " + (dir_ / "bin").string() + " && ./start --fork-delay 0\n";
    EXPECT_EQ(text_of(dir_ / "calls"), "ssh node7: " + command + "ssh node8: " + command);
    EXPECT_FALSE(fs::exists(log_dir() / "napper.log"));

    script("fake_ssh", "exit 255");
    EXPECT_EQ(run_program("start").status, 1);
}

TEST_F(StartTest, WrongCommandLinesAndConfigs) {
    config("");
    EXPECT_EQ(run_program("start", {"--no_such_option"}).status, 1);
    EXPECT_EQ(run_program("start", {"--enable", "--disable"}).status, 1);
    EXPECT_EQ(run_program("start", {"--help"}).status, 0);
    fs::create_symlink(fs::path(sluice::test::binary_dir()) / "bin" / "start", dir_ / "bin/begin");
    EXPECT_THAT(run_program("begin").err, HasSubstr("no command given"));
    fs::remove(dir_ / "config.xml");
    EXPECT_THAT(run_program("start").err, HasSubstr("config.xml"));
}

// Each was refused by stop and status, too, before: the project could not be stopped.
TEST_F(StartTest, StopAndStatusIgnoreABadConfigXml) {
    script("napper", kSleeper);
    const std::string daemons = "<daemons><daemon><cmd>napper</cmd></daemon></daemons>";
    const std::string fine = "<boinc><config><db_name>d</db_name></config>" + daemons + "</boinc>";
    const std::map<std::string, std::string> wrong{
        {"a value", "<boinc><config><db_name>d</db_name><report_max>many</report_max></config>" + daemons + "</boinc>"},
        {"a vital value", "<boinc><config><uldl_dir_fanout>x</uldl_dir_fanout></config>" + daemons + "</boinc>"},
        {"nothing", "<boinc><config></config>" + daemons + "</boinc>"},
        {"a tag", "<boinc><config><db_name>d</config>" + daemons + "</boinc>"},
        {"a task", "<boinc><config/>" + daemons + "<tasks><task><cmd>t</cmd></task></tasks></boinc>"},
        {"the daemons' tags", "<boinc><config/><daemons><daemon><cmd>napper</daemons></boinc>"},
        {"an empty file", ""}};
    for (const auto& [what, text] : wrong) {
        SCOPED_TRACE(what);
        dir_.write("config.xml", fine);
        ASSERT_EQ(run_program("start").status, 0);
        const pid_t pid = holder("napper.lock");
        ASSERT_GT(pid, 0);
        dir_.write("config.xml", text);
        const RunResult status = run_program("status");
        EXPECT_THAT(status.out, AllOf(HasSubstr("BOINC is ENABLED"), HasSubstr(std::to_string(pid))));
        const RunResult stopped = run_program("stop");
        EXPECT_EQ(stopped.status, 0) << stopped.err;
        EXPECT_TRUE(has_ended(pid));
    }
}

TEST_F(StartTest, ADamagedRunStateDoesNotPreventStop) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t pid = holder("napper.lock");
    dir_.write("run_state_" + host_ + ".xml", "<boinc><enabled>perhaps</enabled></boinc>");
    EXPECT_EQ(run_program("status").status, 1);
    const RunResult stopped = run_program("stop");
    EXPECT_EQ(stopped.status, 0);
    EXPECT_THAT(stopped.err, HasSubstr("perhaps"));
    EXPECT_TRUE(has_ended(pid));
    EXPECT_THAT(run_program("status").out, HasSubstr("BOINC is DISABLED"));
}

// A full disk, or one that is read-only by now: folders stand where nothing can be written, for root neither.
TEST_F(StartTest, StopEndsDaemonsWhereNothingCanBeWritten) {
    const pid_t pid = start_napper();
    ASSERT_GT(pid, 0);
    const std::vector<fs::path> taken{dir_ / "stop_sched", dir_ / "stop_daemons",
                                      dir_ / ("run_state_" + host_ + ".xml"), pid_dir() / ("start.lock." + host_)};
    for (const fs::path& file : taken) {
        fs::remove(file);
        fs::create_directories(file / "in the way");
    }
    const RunResult stopped = run_program("stop");
    EXPECT_TRUE(has_ended(pid));
    EXPECT_EQ(stopped.status, 1);
    for (const fs::path& file : taken) EXPECT_THAT(stopped.err, HasSubstr(file.filename().string()));
    EXPECT_THAT(stopped.err, AllOf(HasSubstr("nobody else can take it"), HasSubstr("run stop again")));
    for (const fs::path& file : taken) fs::remove_all(file);
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(exists("stop_daemons"));
}

TEST_F(StartTest, AWrongValueCostsItsOptionOnly) {
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper</cmd></daemon></daemons>"
        "<tasks><task><cmd>x</cmd><period>soon</period></task></tasks>",
        "<report_max>many</report_max>");
    const RunResult started = run_program("start");
    EXPECT_EQ(started.status, 0);
    EXPECT_THAT(started.err, AllOf(HasSubstr("<report_max>many</report_max>"), HasSubstr("ignored")));
    EXPECT_GT(holder("napper.lock"), 0);
    // Whoever runs the tasks is told of a wrong one.
    const RunResult cron = run_program("start", {"--cron"});
    EXPECT_EQ(cron.status, 1);
    EXPECT_THAT(cron.err, AllOf(HasSubstr("Couldn't start 'x'"), HasSubstr("<period>")));
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(StartTest, WithoutADatabaseNothingIsStarted) {
    script("napper", kSleeper);
    dir_.write("config.xml", "<boinc><config></config><daemons><daemon><cmd>napper</cmd></daemon></daemons></boinc>");
    for (const char* command : {"--enable", "--cron"}) {
        const RunResult started = run_program("start", {command});
        EXPECT_EQ(started.status, 1);
        EXPECT_THAT(started.err, HasSubstr("<db_name> is missing"));
    }
    EXPECT_FALSE(fs::exists(log_dir() / "napper.log"));
}

// A second complete set of daemons ran before, and stop knew neither.
TEST_F(StartTest, ADeletedPidFolderDoublesNoDaemon) {
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper 1</cmd></daemon><daemon><cmd>napper 2</cmd><output>n2.log</output></daemon>"
        "</daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t one = holder("napper.lock"), two = holder("n2.log.lock");
    ASSERT_GT(one, 0);
    ASSERT_GT(two, 0);
    fs::remove_all(pid_dir());

    for (const char* command : {"--enable", "--cron"}) {
        const RunResult again = run_program("start", {"-v", command});
        EXPECT_EQ(again.status, 0) << again.err;
        EXPECT_THAT(again.out, Not(HasSubstr("Starting daemon:")));
    }
    EXPECT_EQ(holder("napper.lock"), 0);
    EXPECT_FALSE(has_ended(one) || has_ended(two));
    const RunResult status = run_program("status");
    EXPECT_EQ(status.status, 0);
    EXPECT_THAT(status.out, AllOf(HasSubstr(std::to_string(one)), HasSubstr(std::to_string(two)), HasSubstr("GONE"),
                                  Not(HasSubstr("NOT RUNNING"))));

    fs::remove_all(pid_dir());
    config("<daemons><daemon><cmd>napper 1</cmd></daemon></daemons>");  // the other one is not even in config.xml
    EXPECT_THAT(run_program("status").out, HasSubstr("(pid " + std::to_string(two) + ")"));
    expect_stop_forgets_none({one, two});
}

// One rm of all that looks like run-time files took the guard with it.
TEST_F(StartTest, DeletedGuardsDoubleNoDaemon) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper 1</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t first = holder("napper.lock");
    ASSERT_GT(first, 0);
    const auto lose_all = [&] {
        fs::remove_all(pid_dir());
        // Who may read it can lock it.
        EXPECT_EQ(fs::status(dir_ / ("run_lock_" + host_)).permissions(), fs::perms(0600));
        fs::remove(dir_ / ("run_lock_" + host_));
    };
    lose_all();
    config(
        "<daemons><daemon><cmd>napper 1</cmd></daemon><daemon><cmd>napper 2</cmd><output>n2.log</output></daemon>"
        "</daemons>");
    for (const char* command : {"--enable", "--cron"}) {
        const RunResult again = run_program("start", {"-v", command});
        EXPECT_EQ(again.status, 0) << again.err;
        EXPECT_THAT(again.out, Not(HasSubstr("Starting daemon: napper 1")));
    }
    EXPECT_EQ(holder("napper.lock"), 0);
    const pid_t second = holder("n2.log.lock");  // in a new guard
    ASSERT_GT(second, 0);
    EXPECT_THAT(run_program("status").out, AllOf(HasSubstr(std::to_string(first)), HasSubstr(std::to_string(second)),
                                                 Not(HasSubstr("NOT RUNNING"))));
    lose_all();
    expect_stop_forgets_none({first, second});
}

// Where the web server's account may make files: an open() of a FIFO waits for its other end.
TEST_F(StartTest, FifoInWayOfLockKeepsNobodyWaiting) {
    const pid_t pid = start_napper();
    ASSERT_GT(pid, 0);
    const fs::path guard = dir_ / ("run_lock_" + host_);
    fs::remove(guard);
    for (const fs::path& file : {guard, pid_dir() / "other.lock", pid_dir() / "other.pid"})
        ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0) << file;
    EXPECT_THAT(run_program("status").out, HasSubstr(std::to_string(pid)));
    EXPECT_EQ(run_program("start").status, 0) << "it runs";
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(pid));
    const RunResult start = run_program("start");
    EXPECT_EQ(start.status, 1);
    EXPECT_THAT(start.err, HasSubstr(guard.string()));
}

// start can't know what was wanted; who looks and who stops goes on without.
TEST_F(StartTest, AFifoAsRunStateBlocksNobody) {
    const pid_t pid = start_napper();
    ASSERT_GT(pid, 0);
    const fs::path file = dir_ / ("run_state_" + host_ + ".xml");
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0644), 0);
    const RunResult status = run_program("status");
    EXPECT_EQ(status.status, 1);
    EXPECT_THAT(status.err, AllOf(HasSubstr(file.string()), HasSubstr("no regular file")));
    EXPECT_THAT(status.out, AllOf(HasSubstr(std::to_string(pid)), Not(HasSubstr("ENABLED"))));
    EXPECT_EQ(run_program("start").status, 1);
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_TRUE(has_ended(pid));
    EXPECT_TRUE(fs::is_regular_file(file)) << "written anew";
}

// A lock file of another account, which ours may not read.
TEST_F(StartTest, AnUnreadableLockStopsNoOtherStop) {
    const pid_t pid = start_napper();
    ASSERT_GT(pid, 0);
    fs::create_symlink("other.lock", pid_dir() / "other.lock");  // no user can read that, not even root
    EXPECT_EQ(run_program("status").status, 0);
    const RunResult stopped = run_program("stop");
    fs::remove(pid_dir() / "other.lock");
    EXPECT_TRUE(has_ended(pid));
    EXPECT_EQ(stopped.status, 0);
    EXPECT_THAT(stopped.err, AllOf(HasSubstr("other.lock"), HasSubstr("Going on without it")));
}

TEST_F(StartTest, WithoutConfigStopEndsWhatRuns) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    RunOptions elsewhere;
    elsewhere.cwd = "/";
    elsewhere.unset = {"BOINC_PROJECT_DIR"};
    const auto run_there = [&](const std::string& name) { return run({(dir_ / "bin" / name).string()}, elsewhere); };
    ASSERT_EQ(run_there("start").status, 0);
    const pid_t pid = holder("napper.lock");
    ASSERT_GT(pid, 0);
    fs::remove(dir_ / "config.xml");
    const RunResult status = run_there("status");
    EXPECT_EQ(status.status, 1) << "what should run is not known";
    EXPECT_THAT(status.out, HasSubstr("running: napper (pid " + std::to_string(pid) + ")"));
    EXPECT_THAT(status.err, HasSubstr("config.xml"));
    EXPECT_EQ(run_there("start").status, 1);
    EXPECT_EQ(run_program("status").status, 1);
    EXPECT_FALSE(has_ended(pid));
    const RunResult stopped = run_there("stop");
    EXPECT_EQ(stopped.status, 0) << stopped.err;
    EXPECT_TRUE(has_ended(pid));
    // A folder in which nothing ever ran is not taken for a project.
    RunOptions nowhere = elsewhere;
    TempDir empty;
    nowhere.env["BOINC_PROJECT_DIR"] = empty.path().string();
    EXPECT_EQ(run({(dir_ / "bin/stop").string()}, nowhere).status, 1);
    EXPECT_TRUE(fs::is_empty(empty.path()));
}

TEST_F(StartTest, StatusTellsMonitoringWhetherAllRuns) {
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper</cmd></daemon><daemon><cmd>napper off</cmd><disabled>1</disabled>"
        "<output>off</output></daemon></daemons>");
    EXPECT_EQ(run_program("status").status, 3);                    // never started
    EXPECT_FALSE(fs::exists(pid_dir()) || fs::exists(log_dir()));  // who looks makes nothing
    ASSERT_EQ(run_program("start").status, 0);
    EXPECT_EQ(run_program("status").status, 0);
    EXPECT_EQ(run_program("status", {"-q"}).status, 0);
    ::kill(holder("napper.lock"), SIGKILL);
    ASSERT_TRUE(eventually([&] { return holder("napper.lock") == 0; }));
    EXPECT_EQ(run_program("status").status, 2);
    EXPECT_EQ(run_program("status", {"--quiet"}).status, 2);
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_EQ(run_program("status").status, 3);
    dir_.write("config.xml", "<boinc>");
    EXPECT_EQ(run_program("status").status, 1);
}

TEST_F(StartTest, FindsItsProjectByItsOwnPath) {
    config("");
    RunOptions elsewhere;
    elsewhere.cwd = "/";
    elsewhere.unset = {"BOINC_PROJECT_DIR"};
    EXPECT_THAT(run({(dir_ / "bin/status").string()}, elsewhere).out, HasSubstr("BOINC is DISABLED"));
}

}  // namespace
}  // namespace sluice::test
