// SPDX-License-Identifier: LGPL-3.0-or-later
// start --cron: dead daemons are started anew, tasks run when they are due.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>

#include "config/run/run_state.h"
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
    static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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
    EXPECT_NEAR(state.last_run.at("chore b"), now(), 30);
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
