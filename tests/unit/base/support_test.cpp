// SPDX-License-Identifier: LGPL-3.0-or-later
// The helpers of tests are tested too: a helper that hides failures hides them everywhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "tests/support/group_guard.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

TEST(Subprocess, CollectsEverything) {
    const auto result = run({"/bin/sh", "-c", "cat; echo err >&2; pwd; echo $SLUICE_X-$HOME-; exit 7"},
                            {.env = {{"SLUICE_X", "1"}}, .unset = {"HOME"}, .stdin_text = "in\n", .cwd = "/usr"});
    EXPECT_EQ(result.out, "in\n/usr\n1--\n");
    EXPECT_EQ(result.err, "err\n");
    EXPECT_EQ(result.status, 7);
    EXPECT_EQ(result.signal, 0);
}

TEST(Subprocess, MuchInputAndOutput) {
    const std::string text(5'000'000, 'x');
    EXPECT_EQ(run({"cat"}, {.stdin_text = text}).out, text);
}

TEST(Subprocess, ADescriptorAsStdin) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::write(ends[1], "piped", 5), 5);
    ::close(ends[1]);
    EXPECT_EQ(run({"cat"}, {.stdin_fd = ends[0]}).out, "piped");
    ::close(ends[0]);
}

TEST(Subprocess, ProgramThatIsNotThereIsError) {
    EXPECT_THROW(run({"/no/such/program"}), std::system_error);
    EXPECT_THROW(run({"/bin/true"}, {.cwd = "/no/such/folder"}), std::system_error);
}

TEST(Subprocess, KnowsWhichSignalsAProgramCatches) {
    Subprocess process({"/bin/bash", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"});
    ASSERT_TRUE(process.wait_for_output("ready"));
    EXPECT_TRUE(process.catches(SIGTERM));
    EXPECT_FALSE(Subprocess({"/bin/sleep", "100"}).catches(SIGTERM));
    process.send_signal(SIGTERM);
    EXPECT_EQ(process.wait().value_or(RunResult{}).status, 3);
    EXPECT_FALSE(process.catches(SIGTERM)) << "it has ended";
}

TEST(Subprocess, SignalsAndTheirStatus) {
    Subprocess process({"/bin/sleep", "100"});
    EXPECT_TRUE(process.running());
    EXPECT_EQ(process.wait(0.01), std::nullopt);
    process.send_signal(SIGTERM);
    const auto result = process.wait();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->signal, SIGTERM);
    EXPECT_EQ(result->status, 128 + SIGTERM);
    EXPECT_FALSE(process.running());
}

TEST(Subprocess, EndsWaitingWhenTheProgramEnds) {
    Subprocess process({"/bin/sh", "-c", "echo ready >&2; read line; echo last words"});
    EXPECT_TRUE(process.wait_for_output("ready"));
    EXPECT_TRUE(process.wait_for_output("last words"));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(process.wait_for_output("never", 100));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Subprocess, NoneOutlivesItsObject) {
    pid_t pid = 0;
    {
        const Subprocess process({"/bin/sleep", "100"});
        pid = process.pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_NE(::kill(pid, 0), 0);
    EXPECT_THROW(run({"/bin/sleep", "100"}, {}, 0.01), std::runtime_error);
}

TEST(Eventually, TellsBothWays) {
    int looks = 0;
    EXPECT_TRUE(eventually([&] { return ++looks == 3; }));
    EXPECT_FALSE(eventually([] { return false; }, 0.02));
}

TEST(TempDir, IsRemovedWithAllInIt) {
    std::filesystem::path path;
    {
        const TempDir dir;
        path = dir.path();
        EXPECT_TRUE(std::filesystem::exists(dir.write("a/b/c", "x")));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

/// True for a process that runs; false for one that is gone or only waits to be reaped.
bool runs(pid_t pid) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(in), {}};
    const auto state = stat.rfind(") ");
    return state != std::string::npos && stat.at(state + 2) != 'Z';
}

TEST(GroupGuard, WhatServerStartedEndsWithKilledTest) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t killed_test = ::fork();
    if (killed_test == 0) {
        RunOptions options;
        options.own_group = true;
        Subprocess server({"sh", "-c", "sleep 1000 & echo $!; wait"}, options);
        const GroupGuard guard(server.pid());
        eventually([&] { return server.out().ends_with("\n"); });
        const pid_t worker = std::stoi(server.out());
        if (::write(ends[1], &worker, sizeof worker) == sizeof worker) ::pause();
        ::_exit(1);
    }
    pid_t worker = 0;
    ASSERT_EQ(::read(ends[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    EXPECT_TRUE(runs(worker));
    ::kill(killed_test, SIGKILL);
    ::waitpid(killed_test, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return !runs(worker); }));
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace sluice::test
