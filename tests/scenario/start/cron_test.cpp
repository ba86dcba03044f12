// SPDX-License-Identifier: LGPL-3.0-or-later
// start --cron: dead daemons are started anew, tasks run when they are due.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "config/run/hanging.h"
#include "config/run/run_state.h"
#include "sluice/base/life_sign.h"
#include "tests/scenario/start/start_fixture.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CronTest : public StartTest {
  protected:
    std::filesystem::path state_file() const { return dir_ / ("run_state_" + host_ + ".xml"); }
    void set_state(bool enabled, std::map<std::string, double> last_run = {}) {
        write_run_state(state_file(), {enabled, std::move(last_run)});
    }
    /// Waits for the task to have written so many lines.
    bool ran(const std::string& output, int times) {
        return eventually([&] {
            const std::string text = text_of(log_dir() / output);
            return std::count(text.begin(), text.end(), '\n') == times;
        });
    }
};

// To look at all files that all processes of a machine have open took a second for twenty daemons, every five minutes.
TEST_F(CronTest, WhereAllRunNoProcessIsSearched) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const auto links_read = [&] {
        run_program("start", {"--cron"},
                    {{"LD_PRELOAD", binary_dir() + "/tests/counts_links.so"},
                     {"SLUICE_TEST_COUNT", (dir_ / "count").string()}});
        return std::stoi(text_of(dir_ / "count"));
    };
    EXPECT_EQ(links_read(), 0);
    const pid_t napper = holder("napper.lock");
    ::kill(napper, SIGKILL);
    ASSERT_TRUE(eventually([&] { return holder("napper.lock") == 0; }));
    EXPECT_GT(links_read(), 0);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(CronTest, ADeadDaemonIsStartedAnew) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t first = holder("napper.lock");
    const RunResult nothing_to_do = run_program("start", {"--cron"});
    EXPECT_EQ(nothing_to_do.out + nothing_to_do.err, "");
    EXPECT_EQ(holder("napper.lock"), first);

    ::kill(first, SIGKILL);
    ASSERT_TRUE(eventually([&] { return holder("napper.lock") == 0; }));
    const RunResult restarted = run_program("start", {"--cron"});
    EXPECT_EQ(restarted.status, 0);
    EXPECT_THAT(restarted.out, HasSubstr("Starting daemon: napper"));
    const pid_t second = holder("napper.lock");
    EXPECT_GT(second, 0);
    EXPECT_NE(second, first);
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_EQ(run_program("start", {"--cron"}).status, 0);
    EXPECT_EQ(holder("napper.lock"), 0);  // DISABLED
}

/// What a daemon says of its turns; `change` makes it say something else.
LifeSign sign_of(pid_t pid, const std::function<void(LifeSign&)>& change) {
    LifeSign sign;
    sign.name = "napper";
    sign.pid = pid;
    sign.ended = now() - 4000;
    sign.due = now() - 3600;
    change(sign);
    return sign;
}

TEST_F(CronTest, ADaemonThatHangsIsStartedAnew) {
    script("napper", kSleeper);
    script("deaf", kDeaf);
    config("<daemons><daemon><cmd>napper</cmd></daemon><daemon><cmd>deaf</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    ASSERT_TRUE(says("deaf.log", "ignores it\n"));
    const pid_t napper = holder("napper.lock"), deaf = holder("deaf.lock");
    for (const pid_t pid : {napper, deaf})
        std::ofstream(pid_dir() / (std::to_string(pid) + ".life")) << life_sign_text(sign_of(pid, [](LifeSign&) {}));
    ASSERT_EQ(::kill(napper, SIGSTOP), 0);
    const RunResult cron = run_program("start", {"--cron"});
    EXPECT_EQ(cron.status, 0);
    EXPECT_THAT(cron.err,
                AllOf(HasSubstr("'napper' hangs: its turn is 60 min late. Ending process"), HasSubstr("'deaf' hangs")));
    EXPECT_TRUE(has_ended(napper) && has_ended(deaf));
    EXPECT_NE(holder("napper.lock"), 0);
    EXPECT_NE(holder("deaf.lock"), 0);
    const pid_t second = holder("napper.lock");
    EXPECT_EQ(run_program("start", {"--cron"}).err, "") << "the old signs are of nobody";
    EXPECT_EQ(holder("napper.lock"), second);
    ::kill(holder("deaf.lock"), SIGKILL);
    EXPECT_EQ(run_program("stop").status, 0);
}

/// The feeder, for one, waits within its turns.
TEST_F(CronTest, OneStoppedInATurnIsStartedAnew) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t pid = holder("napper.lock");
    std::ofstream(pid_dir() / "1.life") << life_sign_text(
        sign_of(pid, [](LifeSign& sign) { sign.began = now() - 900; }));
    EXPECT_EQ(run_program("start", {"--cron"}).err, "") << "it works";
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    // On a busy machine the signal takes its time.
    ASSERT_TRUE(eventually([&] { return is_stopped(pid); }));
    EXPECT_THAT(run_program("start", {"--cron"}).err,
                HasSubstr("'napper' hangs: it is stopped, and its last sign is 15 min old"));
    EXPECT_TRUE(has_ended(pid));
    EXPECT_NE(holder("napper.lock"), 0);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(CronTest, ADaemonThatWorksIsLeftAlone) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    ASSERT_EQ(run_program("start").status, 0);
    const pid_t pid = holder("napper.lock");
    const std::function<void(LifeSign&)> kinds[] = {
        [](LifeSign& sign) { sign.began = now() - 30 * 3600; }, [](LifeSign& sign) { sign.due = now() - 200; },
        [](LifeSign& sign) { sign.failing = now() - 7200; },    [](LifeSign& sign) { sign.start_ticks = 1; },
        [](LifeSign& sign) { sign.pid = ::getpid(); },
    };
    for (const auto& kind : kinds) {
        std::ofstream(pid_dir() / "1.life") << life_sign_text(sign_of(pid, kind));
        EXPECT_EQ(run_program("start", {"--cron"}).err, "");
        EXPECT_EQ(holder("napper.lock"), pid);
    }
    // Another service of the same process works.
    std::ofstream(pid_dir() / "1.life") << life_sign_text(sign_of(pid, [](LifeSign&) {}));
    std::ofstream(pid_dir() / "2.life") << life_sign_text(sign_of(pid, [](LifeSign& sign) {
        sign.name = "other";
        sign.began = now() - 60;
    }));
    EXPECT_EQ(run_program("start", {"--cron"}).err, "");
    EXPECT_EQ(holder("napper.lock"), pid);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(CronTest, SilentStartSaysNothing) {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd><silent_start>1</silent_start></daemon></daemons>");
    set_state(true);
    const RunResult result = run_program("start", {"--cron"});
    EXPECT_EQ(result.out + result.err, "");
    EXPECT_GT(holder("napper.lock"), 0);
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(CronTest, TasksRunWhenTheyAreDue) {
    script("chore", "echo \"did $*\"");
    config(
        "<tasks><task><cmd>chore a</cmd><period>1 hour</period><output>a.out</output></task>"
        "<task><cmd>chore b</cmd><period>1 hour</period><output>b.out</output></task>"
        "<task><cmd>chore c</cmd><period>1 hour</period><output>c.out</output><disabled/></task></tasks>");
    set_state(true, {{"chore a", now() - 3500}, {"chore b", now() - 3700}, {"gone", 5}});
    EXPECT_EQ(run_program("start", {"--cron"}).status, 0);
    EXPECT_TRUE(ran("b.out", 1));
    EXPECT_FALSE(std::filesystem::exists(log_dir() / "a.out"));
    EXPECT_FALSE(std::filesystem::exists(log_dir() / "c.out"));
    const RunState state = read_run_state(state_file());
    EXPECT_NEAR(state.last_run.at("chore b"), now(), 600);
    EXPECT_TRUE(state.last_run.contains("gone"));

    // Not again before its time; all of them when told so.
    EXPECT_EQ(run_program("start", {"--cron"}).status, 0);
    EXPECT_EQ(run_program("start", {"--cron", "--ignore-timestamps", "--prune-run-state"}).status, 0);
    EXPECT_TRUE(ran("a.out", 1));
    EXPECT_TRUE(ran("b.out", 2));
    EXPECT_FALSE(read_run_state(state_file()).last_run.contains("gone"));
}

TEST_F(CronTest, WhileDisabledOnlyTasksThatAlwaysRun) {
    script("chore", "echo \"did $*\"");
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper</cmd></daemon></daemons>"
        "<tasks><task><cmd>chore a</cmd><period>1</period><output>a.out</output></task>"
        "<task><cmd>chore "
        "b</cmd><period>1</period><output>b.out</output><always_run>1</always_run></task></tasks>");
    EXPECT_EQ(run_program("start", {"--cron"}).status, 0);
    EXPECT_TRUE(ran("b.out", 1));
    EXPECT_FALSE(std::filesystem::exists(log_dir() / "a.out"));
    EXPECT_EQ(holder("napper.lock"), 0);
}

TEST_F(CronTest, CronTasksStartsNoDaemons) {
    script("chore", "echo did");
    script("napper", kSleeper);
    config(
        "<daemons><daemon><cmd>napper</cmd></daemon></daemons>"
        "<tasks><task><cmd>chore</cmd><period>1</period></task></tasks>");
    set_state(true);
    EXPECT_EQ(run_program("start", {"--cron-tasks"}).status, 0);
    EXPECT_TRUE(ran("chore.out", 1));
    EXPECT_EQ(holder("napper.lock"), 0);
}

TEST_F(CronTest, ARunningTaskIsNotStartedTwice) {
    script("long_chore", "echo began; exec sleep 1000");
    config("<tasks><task><cmd>long_chore</cmd><period>1 day</period></task></tasks>");
    set_state(true, {{"long_chore", now() - 90000}});
    ASSERT_EQ(run_program("start", {"--cron"}).status, 0);
    const pid_t first = holder("long_chore.lock");
    ASSERT_GT(first, 0);
    set_state(true, {{"long_chore", now() - 90000}});
    EXPECT_THAT(run_program("start", {"--cron", "-v"}).out, HasSubstr("Task currently running: long_chore"));
    EXPECT_EQ(holder("long_chore.lock"), first);
    EXPECT_LT(read_run_state(state_file()).last_run.at("long_chore"), now() - 80000);
    // stop ends daemons, not tasks.
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_EQ(holder("long_chore.lock"), first);
    // Nor one that is no longer in config.xml.
    config("");
    EXPECT_EQ(run_program("stop").status, 0);
    EXPECT_EQ(holder("long_chore.lock"), first);
    ::kill(first, SIGKILL);
}

// It is told when it was so at two calls, and once.
TEST_F(CronTest, ChangesOfHealthAreToldAsConfigured) {
    const auto cron = [&] { return run_program("start", {"--cron"}); };
    const auto told_twice = [&] {
        std::filesystem::remove(log_dir() / "health_told");
        EXPECT_EQ(cron().out, "");
        return cron();
    };
    set_state(true);
    config("");
    EXPECT_EQ(told_twice().out, "");  // nobody wants it
    config("", "<health_mail>cron</health_mail>");
    const RunResult printed = told_twice();
    EXPECT_THAT(printed.out, HasSubstr("broken   database"));
    EXPECT_EQ(printed.status, 0);
    EXPECT_EQ(cron().out, "");

    const auto mail = dir_ / "mail";
    script("sendmail", "test \"$*\" = '-t -i' && cat > '" + mail.string() + "'");
    const std::string sendmail = "<sendmail>" + (dir_ / "bin/sendmail").string() + "</sendmail>";
    config("", "<health_mail>ops@example.org</health_mail>" + sendmail);
    EXPECT_EQ(told_twice().out, "");
    EXPECT_THAT(text_of(mail), AllOf(HasSubstr("To: ops@example.org\nSubject: "),
                                     HasSubstr(dir_.path().filename().string() + ": broken\n"),
                                     HasSubstr("\n\nwell     project"), HasSubstr("broken   database")));

    script("sendmail", "exit 3");
    const RunResult failed = told_twice();
    EXPECT_THAT(failed.err, HasSubstr("bin/sendmail ended with status 3"));
    EXPECT_THAT(failed.out, HasSubstr("broken   database"));
    config("", "<health_mail>ops@example.org</health_mail><sendmail>bin/sendmail</sendmail>");
    EXPECT_THAT(told_twice().err, HasSubstr("<sendmail> in config.xml is not an absolute path: bin/sendmail"));
    config("", "<health_mail>nobody</health_mail>" + sendmail);
    EXPECT_THAT(told_twice().err, HasSubstr("'nobody' is no e-mail address"));
}

TEST_F(CronTest, BrokenTaskDoesNotKeepOthersFromRunning) {
    script("chore", "echo did");
    config(
        "<tasks><task><cmd>no_such_chore</cmd><period>1</period></task>"
        "<task><cmd>chore</cmd><period>1</period></task></tasks>");
    set_state(true);
    const RunResult result = run_program("start", {"--cron"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("no_such_chore"));
    EXPECT_TRUE(ran("chore.out", 1));
}

}  // namespace
}  // namespace sluice::test
