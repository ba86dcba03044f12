// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/mail.h"

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

TEST(Script, EnvironmentAndOutput) {
    ::setenv("SLUICE_TEST_OWN", "kept", 1);
    ::setenv("SLUICE_TEST_BOTH", "replaced", 1);
    std::string output = "old";
    const ScriptRun script{.limit = 60, .output = &output, .environment = {"SLUICE_TEST_BOTH=a b;$(c)\nd"}};
    EXPECT_EQ(run_script({"/bin/sh", "-c", "echo \"$SLUICE_TEST_OWN|$SLUICE_TEST_BOTH\"; exit 3"}, script), 3);
    EXPECT_EQ(output, "kept|a b;$(c)\nd\n");
    EXPECT_EQ(run_script({"/bin/sh", "-c", "exit 0"}, script), 0);
    EXPECT_EQ(output, "");
}

TEST(Mail, AddressesHoldNothingThatMailProgramsObey) {
    for (const char* good : {"a@b", "ops+batches@example.org", "o'neil@x-y.example"})
        EXPECT_TRUE(is_mail_address(good));
    for (const char* bad : {"", "a", "@b", "a@", "a@b@c", "-oQ/tmp@b", "a@b\nBcc: c@d", "a b@c", "\"a\"@b", "a@b,c@d",
                            "<a@b>", "|/bin/sh@b\t"})
        EXPECT_FALSE(is_mail_address(bad)) << bad;
    EXPECT_EQ(mail_addresses(" a@b, c@d\n", "x"), (std::vector<std::string>{"a@b", "c@d"}));
    EXPECT_THROW(mail_addresses("a@b; c@d", "x"), ConfigError);
}

TEST(Mail, TheSubjectIsOneLineOfAscii) {
    const std::string text = mail_text({{"a@b", "c@d"}, "done\nBcc: x@y \xc3\xa4\xff", "Body \xc3\xa4\n"});
    EXPECT_EQ(text.substr(0, text.find("Auto-")), "To: a@b, c@d\nSubject: done Bcc: x@y ??\n");
    EXPECT_EQ(text.substr(text.find("\n\n")), "\n\nBody \xc3\xa4\n");
    EXPECT_EQ(send_mail("/bin/true", {{"a@b"}, "s", "t"}), "");
    EXPECT_EQ(send_mail("/bin/false", {{"a@b"}, "s", "t"}), "/bin/false ended with status 1");
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

TEST(Script, AStopWaitsForNoHungOne) {
    for (const double limit : {0.0, 1000.0}) {
        bool asked = false;
        const ScriptRun run{.limit = limit, .stop = [&asked] { return std::exchange(asked, true); }, .grace = 0.05};
        EXPECT_EQ(run_script({"/bin/sleep", "1000"}, run), kScriptStopped);
    }
    ScriptRun run{.stop = [] { return true; }, .grace = 60};
    EXPECT_EQ(run_script({"/bin/sh", "-c", "exit 7"}, run), 7) << "one that soon ends, ends";
    run.limit = 0.05;
    EXPECT_EQ(run_script({"/bin/sleep", "1000"}, run), kScriptTimedOut) << "its limit comes first";
}

/// A pipe that reads as ended when the last process that holds its other end has.
struct HeldPipe {
    HeldPipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
    HeldPipe(const HeldPipe&) = delete;
    ~HeldPipe() { ::close(ends[0]); }
    std::array<int, 2> ends{};
};

TEST(Script, KilledWithWhoeverWaitsForIt) {
    for (const double limit : {0.0, 1000.0}) {
        HeldPipe held;
        const std::string script = "echo x >&" + std::to_string(held.ends[1]) + "; exec sleep 1000";
        const pid_t daemon = ::fork();
        if (daemon == 0) ::_exit(run_script({"/bin/sh", "-c", script}, limit));
        ::close(held.ends[1]);
        char byte = 0;
        ASSERT_EQ(::read(held.ends[0], &byte, 1), 1) << "the script runs";
        while (byte == 'x') ASSERT_EQ(::read(held.ends[0], &byte, 1), 1);
        ::kill(daemon, SIGKILL);
        ::waitpid(daemon, nullptr, 0);
        EXPECT_EQ(::read(held.ends[0], &byte, 1), 0) << "no script is left behind";
    }
}

TEST(Script, WaitingForItCostsNoTime) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_THREAD, &before);
    EXPECT_EQ(run_script({"/bin/sleep", "0.3"}, 100), 0);
    ::getrusage(RUSAGE_THREAD, &after);
    EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 6) << "it sleeps until the script ends";
}

}  // namespace
}  // namespace sluice
