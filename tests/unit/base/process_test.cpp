// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace sluice {
namespace {

TEST(Process, ThisOneIsAlive) {
    const ProcessId self = this_process();
    EXPECT_EQ(self.pid, ::getpid());
    EXPECT_GT(self.start_ticks, 0u);
    EXPECT_TRUE(is_alive(self));
    EXPECT_EQ(self, this_process());
}

TEST(Process, AnotherStartTimeMeansAReusedPid) {
    ProcessId other = this_process();
    --other.start_ticks;
    EXPECT_FALSE(is_alive(other));
}

TEST(Process, InvalidPidsAreDead) {
    EXPECT_FALSE(is_alive({}));
    EXPECT_FALSE(is_alive({-1, 5}));
    EXPECT_FALSE(is_alive({2147483647, 5}));
}

TEST(Process, ZombieIsDeadEvenBeforeItIsReaped) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        // A name with what the parser of /proc/PID/stat might trip over.
        ::prctl(PR_SET_NAME, "a) Z 1 (b");
        const ProcessId self = this_process();
        if (::write(ready[1], &self, sizeof self) == sizeof self) ::pause();
        ::_exit(1);
    }
    ProcessId id;
    ASSERT_EQ(::read(ready[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
    EXPECT_EQ(id.pid, child);
    EXPECT_TRUE(is_alive(id));
    ::kill(child, SIGKILL);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // dead, not reaped
    EXPECT_FALSE(is_alive(id));
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(is_alive(id));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(Script, ExitStatusAndArgumentsAreItsOwn) {
    for (const double limit : {0.0, 60.0}) {
        EXPECT_EQ(run_script({"/bin/sh", "-c", "exit 7"}, limit), 7);
        EXPECT_EQ(run_script({"/bin/sh", "-c", "test \"$1\" = \"a b;c'd\"", "sh", "a b;c'd"}, limit), 0)
            << "no shell in between";
        EXPECT_EQ(run_script({"/bin/sh", "-c", "kill -9 $$"}, limit), 137);
        EXPECT_EQ(run_script({"/nonexistent/program"}, limit), 127);
        const std::string input = "word\n";
        EXPECT_EQ(run_script({"/bin/sh", "-c", "read line; test \"$line\" = word"}, limit, &input), 0);
    }
}

TEST(Script, HungOneIsKilledWithItsChildren) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string out = "sleep 1000 >&" + std::to_string(ends[1]) + " & wait";
    EXPECT_EQ(run_script({"/bin/sh", "-c", out}, 0.05), kScriptTimedOut);
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the pipe ends with the last process that holds it";
    ::close(ends[0]);
}

}  // namespace
}  // namespace sluice
