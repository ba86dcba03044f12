// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/daemon/daemon.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "src/daemon/stop.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using Step = std::function<TurnResult()>;

/// A project folder, a clock that the fake sleep advances, and a log file to read.
class DaemonTest : public testing::Test {
  protected:
    DaemonTest() {
        settings.name = "transitioner";
        settings.project = dir.path();
        settings.sleep = [this](double seconds) {
            slept.push_back(seconds);
            clock.advance(seconds);
            return stop_requested();
        };
        log_open({.file = (dir / "log").string()});
    }
    ~DaemonTest() override { log_open({}); }

    /// Runs the steps, one a pass; the pass after the last one asks for a stop by SIGHUP.
    int run(std::vector<Step> steps) {
        return run_daemon(settings, {clock, rng}, [this, steps] {
            if (passes == steps.size()) {
                ::raise(SIGHUP);
                return TurnResult::kIdle;
            }
            return steps[passes++]();
        });
    }
    std::string log() const { return read_file(dir / "log").value_or(""); }
    int lines_with(const std::string& text) const {
        int n = 0;
        const std::string all = log();
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++n;
        return n;
    }

    test::TempDir dir;
    test::FakeClock clock;
    test::FixedRng rng;
    DaemonSettings settings;
    std::vector<double> slept;
    std::size_t passes = 0;
};

Step gives(TurnResult result) {
    return [result] { return result; };
}
Step fails(DbError::Kind kind, const std::string& text = "database is away") {
    return [kind, text]() -> TurnResult { throw DbError(kind, 2013, text); };
}
Step fails_otherwise(const std::string& text) {
    return [text]() -> TurnResult { throw ConfigError(text); };
}

TEST_F(DaemonTest, TheServiceManagerHearsOfItsTurns) {
    test::NotifySocket manager((dir / "notify").string());
    const test::Variable socket("NOTIFY_SOCKET", manager.name()), patience("WATCHDOG_USEC", "20000000");
    settings.sleep_interval = 7;
    EXPECT_EQ(run({fails(DbError::Kind::kCantConnect), gives(TurnResult::kIdle)}), 0);
    const auto& told = manager.told();
    ASSERT_EQ(told.size(), 4u);
    EXPECT_EQ(told[0], "EXTEND_TIMEOUT_USEC=20000000\n");
    EXPECT_EQ(told[1], "STATUS=Turns have failed for 0 s: database is away\nEXTEND_TIMEOUT_USEC=20000000\n")
        << "it is not ready, and the start may take longer";
    EXPECT_EQ(told[2], "READY=1\nSTATUS=The last turn went well; the next one is due in 7 s\nWATCHDOG=1\n");
    EXPECT_EQ(told[3], "STOPPING=1\nSTATUS=Ends because SIGHUP was received");
}

TEST_F(DaemonTest, ItsLogLevelChangesWhileItRuns) {
    EXPECT_EQ(run({[this] {
                       log_debug("not yet");
                       dir.write("log_levels", "transitioner 4\n");
                       return test::eventually([] { return stop_requested(), log_level() == LogLevel::kDebug; })
                                  ? TurnResult::kIdle
                                  : TurnResult::kFailed;
                   },
                   [] { return log_debug("now"), TurnResult::kIdle; }}),
              0);
    EXPECT_EQ(lines_with("not yet"), 0);
    EXPECT_EQ(lines_with("[debug] now"), 1);
    log_set_level(LogLevel::kNormal);
}

// The feeder goes on without a database: its turns end well, and are none.
TEST_F(DaemonTest, ATurnInTroubleIsNoGoodOne) {
    test::NotifySocket manager((dir / "notify").string());
    const test::Variable socket("NOTIFY_SOCKET", manager.name());
    settings.trouble = [this] { return passes < 2 ? "the database is away" : ""; };
    EXPECT_EQ(run({gives(TurnResult::kWorked), gives(TurnResult::kWorked)}), 0);
    EXPECT_EQ(manager.place_of("STATUS=Turns have failed for 0 s: the database is away"), 1);
    EXPECT_EQ(manager.place_of("READY=1"), 2);
}

TEST_F(DaemonTest, ALongTurnGivesSignsOfLife) {
    test::NotifySocket manager((dir / "notify").string());
    const test::Variable socket("NOTIFY_SOCKET", manager.name()), patience("WATCHDOG_USEC", "20000000");
    EXPECT_EQ(run({gives(TurnResult::kWorked),
                   [&] {
                       const auto said = manager.told().size();
                       EXPECT_TRUE(test::eventually([&] { return stop_requested(), manager.told().size() > said; }));
                       return TurnResult::kIdle;
                   }}),
              0);
    EXPECT_EQ(manager.told()[1], "READY=1\nSTATUS=At work; the last turn went well\nWATCHDOG=1\n");
    EXPECT_EQ(manager.told()[2], "WATCHDOG=1\n") << "within the turn";
}

TEST_F(DaemonTest, OnePassTellsNoServiceManager) {
    test::NotifySocket manager((dir / "notify").string());
    const test::Variable socket("NOTIFY_SOCKET", manager.name());
    settings.one_pass = true;
    EXPECT_EQ(run({gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(manager.place_of("READY=1"), -1);
}

/// What it needs is asked for until it was there once, and no turn is done before.
TEST_F(DaemonTest, APreparedServiceAsksBeforeItsFirstTurn) {
    class Turns final : public Service {
      public:
        Turns() : Service(5) {}
        Turn turn() override { return {++done < 3 ? TurnResult::kWorked : TurnResult::kFinished}; }
        int done = 0;
    } turns;
    int asked = 0;
    PreparedService prepared(turns, [&] {
        if (++asked < 3) throw DbError(DbError::Kind::kCantConnect, 2002, "no server");
    });
    EXPECT_EQ(prepared.interval(), 5);
    EXPECT_EQ(run_daemon(settings, {clock, rng}, prepared), 0);
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(turns.done, 3);

    PreparedService refused(turns, [] { throw ConfigError("these tables are newer"); });
    EXPECT_EQ(run_daemon(settings, {clock, rng}, refused), 1);
    EXPECT_EQ(turns.done, 3);
    EXPECT_EQ(lines_with("these tables are newer"), 1);
}

TEST_F(DaemonTest, SleepsOnlyAfterAnIdlePass) {
    settings.sleep_interval = 7;
    EXPECT_EQ(run({gives(TurnResult::kWorked), gives(TurnResult::kWorked), gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(slept, (std::vector<double>{7, 7}));  // the second: after the pass that the signal came in
}

TEST_F(DaemonTest, FinishedLeavesTheLoop) {
    EXPECT_EQ(run({gives(TurnResult::kWorked), gives(TurnResult::kFinished), gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(passes, 2u);
}

TEST_F(DaemonTest, AFailedPassEndsItWithStatusOne) {
    EXPECT_EQ(run({gives(TurnResult::kWorked), gives(TurnResult::kFailed), gives(TurnResult::kIdle)}), 1);
    EXPECT_EQ(passes, 2u);
}

TEST_F(DaemonTest, OnePassRunsUntilNothingIsLeft) {
    settings.one_pass = true;
    EXPECT_EQ(run({gives(TurnResult::kWorked), gives(TurnResult::kWorked), gives(TurnResult::kIdle),
                   gives(TurnResult::kIdle)}),
              0);
    EXPECT_EQ(passes, 3u);
    EXPECT_TRUE(slept.empty());
}

TEST_F(DaemonTest, EachStopSignalGivesStatusZero) {
    for (const int signal : {SIGHUP, SIGTERM, SIGINT}) {
        int n = 0;
        const int status = run_daemon(settings, {clock, rng}, [&] {
            ++n;
            ::raise(signal);
            EXPECT_TRUE(stop_requested());  // a long pass sees it too
            return TurnResult::kWorked;
        });
        EXPECT_EQ(status, 0);
        EXPECT_EQ(n, 1);
    }
    EXPECT_EQ(lines_with("SIGTERM was received"), 1);
}

TEST_F(DaemonTest, TheSignalHandlersOfBeforeAreBackAfterwards) {
    static int caught = 0;
    const auto old = std::signal(SIGTERM, [](int) { ++caught; });
    run({});
    ::raise(SIGTERM);
    std::signal(SIGTERM, old);
    EXPECT_EQ(caught, 1);
}

TEST_F(DaemonTest, Sigusr1AndSigpipeDoNotEndIt) {
    EXPECT_EQ(run({[] {
                  ::raise(SIGUSR1);
                  ::raise(SIGPIPE);
                  return TurnResult::kWorked;
              }}),
              0);
    EXPECT_EQ(passes, 1u);
}

TEST_F(DaemonTest, AProgramKeepsItsOwnSigusr1Handler) {
    static int caught = 0;
    const auto old = std::signal(SIGUSR1, [](int) { ++caught; });
    run({[] {
        ::raise(SIGUSR1);
        return TurnResult::kWorked;
    }});
    std::signal(SIGUSR1, old);
    EXPECT_EQ(caught, 1);
}

TEST_F(DaemonTest, AnOldStopFileMeansNoPass) {
    dir.write("stop_daemons", "<stop/>");
    EXPECT_EQ(run({gives(TurnResult::kWorked)}), 0);
    EXPECT_EQ(passes, 0u);
    EXPECT_EQ(lines_with("Quitting because trigger file"), 1);
}

TEST(StopWatch, AFileThatAppearsEndsASleep) {
    const test::TempDir dir;
    const StopWatch watch(dir / "stop_daemons", 0.01);
    EXPECT_FALSE(stop_requested());
    int looks = 0;
    const auto also_wake = [&] {
        if (++looks == 2) dir.write("stop_daemons", "<stop/>");
        return false;
    };
    EXPECT_TRUE(interruptible_sleep(20, also_wake, 0.005));
    EXPECT_GE(looks, 2);
    EXPECT_THAT(stop_reason(), testing::HasSubstr("stop_daemons is present"));
}

TEST(StopWatch, FileIsNotLookedForAtEveryQuestion) {
    const test::TempDir dir;
    const StopWatch watch(dir / "stop_daemons", 100);
    EXPECT_FALSE(stop_requested());
    dir.write("stop_daemons", "");
    EXPECT_FALSE(stop_requested());
}

TEST_F(DaemonTest, DatabaseTroubleIsRetriedAndSaidOnce) {
    std::vector<Step> steps;
    for (int i = 0; i < 9; ++i) steps.push_back(fails(i % 2 == 0 ? DbError::Kind::kCantConnect : DbError::Kind::kLost));
    steps.push_back(gives(TurnResult::kWorked));
    steps.push_back(fails(DbError::Kind::kRetry));
    EXPECT_EQ(run(steps), 0);
    EXPECT_EQ(slept, (std::vector<double>{1, 2, 4, 8, 16, 32, 60, 60, 60, 1, 5}));
    EXPECT_EQ(lines_with("database is away; trying again"), 2);  // once for each time it went away
    EXPECT_EQ(lines_with("[warning]"), 2);
    EXPECT_EQ(lines_with("The database answers again"), 2);
}

TEST_F(DaemonTest, TroubleThatStaysIsRepeatedEveryTenMinutes) {
    std::vector<Step> steps(25, fails(DbError::Kind::kCantConnect));  // 63 s, then 19 * 60 s
    run(steps);
    EXPECT_EQ(lines_with("database is away; trying again"), 2);
}

TEST_F(DaemonTest, OtherErrorsAreRetriedAfterTheSleepInterval) {
    settings.sleep_interval = 0;
    EXPECT_EQ(run({fails_otherwise("template a is wrong"), fails_otherwise("template a is wrong"),
                   fails(DbError::Kind::kOther, "unknown column"), fails_otherwise("template b is wrong")}),
              0);
    EXPECT_EQ(slept, (std::vector<double>{1, 1, 1, 1, 0}));  // never a busy loop
    EXPECT_EQ(lines_with("template a is wrong"), 1);
    EXPECT_EQ(lines_with("unknown column"), 1);
    EXPECT_EQ(lines_with("[CRITICAL]"), 3);
}

// A cron task must not write during maintenance. Upstream's transitioner does.
TEST_F(DaemonTest, OnePassHeedsTheStopFile) {
    settings.one_pass = true;
    dir.write("stop_daemons", "");
    EXPECT_EQ(run({gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(passes, 0u);
    EXPECT_EQ(lines_with("stop_daemons is present"), 1) << log();
    settings.one_pass_while_stopped = true;
    EXPECT_EQ(run({gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(passes, 1u);
}

TEST_F(DaemonTest, ALogThatWasMovedAwayIsLeft) {
    const auto move_log = [this] {
        fs::rename(dir / "log", dir / "log.1");
        return TurnResult::kIdle;
    };
    // The log is looked at where the trigger file is, once a second.
    settings.sleep = [&](double s) {
        return interruptible_sleep(
            s, [&] { return fs::exists(dir / "log"); }, 0.25);
    };
    settings.sleep_interval = 60;
    const int status =
        run_daemon(settings, {clock, rng}, [&] { return passes++ == 0 ? move_log() : TurnResult::kFinished; });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(passes, 2u) << "woken by the new file";
    log_normal("after");
    EXPECT_EQ(lines_with("after"), 1);
    EXPECT_EQ(read_file(dir / "log.1").value_or("").find("after"), std::string::npos);
}

TEST_F(DaemonTest, OnePassFailsWithStatusOne) {
    settings.one_pass = true;
    EXPECT_EQ(run({fails_otherwise("broken")}), 1);
    EXPECT_EQ(run({gives(TurnResult::kIdle), fails(DbError::Kind::kCantConnect)}), 1);
    EXPECT_TRUE(slept.empty());
}

TEST_F(DaemonTest, OnePassSurvivesALostConnection) {
    settings.one_pass = true;
    EXPECT_EQ(run({fails(DbError::Kind::kLost), fails(DbError::Kind::kRetry), gives(TurnResult::kIdle)}), 0);
    EXPECT_EQ(slept, (std::vector<double>{1, 2}));
    passes = 0;
    EXPECT_EQ(run(std::vector<Step>(9, fails(DbError::Kind::kLost))), 1);
    EXPECT_EQ(passes, 4u);
}

TEST_F(DaemonTest, OnePassWaitsForARestartingServer) {
    settings.one_pass = true;
    std::vector<Step> steps{fails(DbError::Kind::kLost)};
    steps.resize(5, fails(DbError::Kind::kCantConnect));
    steps.push_back(gives(TurnResult::kIdle));
    EXPECT_EQ(run(steps), 0);
    EXPECT_EQ(slept, (std::vector<double>{1, 2, 4, 8, 16}));
    passes = 0;
    steps.resize(20, fails(DbError::Kind::kCantConnect));
    steps[5] = fails(DbError::Kind::kCantConnect);
    EXPECT_EQ(run(steps), 1);
    EXPECT_EQ(passes, 7u);  // after 1 + 2 + 4 + 8 + 16 + 32 s
}

TEST_F(DaemonTest, ASecondCopySaysWhoHoldsTheLock) {
    settings.lock_name = "feeder";
    const fs::path file = dir / ("pid_" + short_host_name()) / "feeder.run";
    EXPECT_EQ(run({[&] {
                  EXPECT_EQ(read_file(file), std::to_string(::getpid()) + "\n");
                  test::FakeClock other_clock;
                  EXPECT_EQ(run_daemon(settings, {other_clock, rng}, gives(TurnResult::kFinished)), 1);
                  return TurnResult::kFinished;
              }}),
              0);
    EXPECT_EQ(lines_with("(process " + std::to_string(::getpid()) + ")"), 1);
    EXPECT_EQ(run({gives(TurnResult::kFinished)}), 0);  // free again
}

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(DaemonTest, RealSleepEndsAtOnceOnSignal) {
    settings.sleep_interval = 100;
    int looks = 0;
    const auto look = [&looks] {
        if (++looks == 2) ::raise(SIGTERM);
        return false;
    };
    settings.sleep = [&](double s) { return interruptible_sleep(s, look, 0.01); };
    EXPECT_LT(seconds_of([&] { EXPECT_EQ(run_daemon(settings, {clock, rng}, gives(TurnResult::kIdle)), 0); }), 50);
    EXPECT_EQ(looks, 2);
}

TEST_F(DaemonTest, ASignalFromOutsideEndsARealSleep) {
    settings.sleep = nullptr;
    settings.sleep_interval = 100;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        ::usleep(30'000);
        ::kill(parent, SIGTERM);
        ::_exit(0);
    }
    EXPECT_LT(seconds_of([&] { EXPECT_EQ(run_daemon(settings, {clock, rng}, gives(TurnResult::kIdle)), 0); }), 60);
    ::waitpid(child, nullptr, 0);
}

TEST(InterruptibleSleep, AlsoWakeEndsIt) {
    int looks = 0;
    const double took = seconds_of([&] {
        EXPECT_FALSE(interruptible_sleep(
            100, [&] { return ++looks == 3; }, 0.005));
    });
    EXPECT_LT(took, 50);
    EXPECT_GE(took, 0.009);
    EXPECT_GE(seconds_of([] { EXPECT_FALSE(interruptible_sleep(0.02)); }), 0.02);
}

}  // namespace
}  // namespace sluice
