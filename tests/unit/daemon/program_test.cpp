// SPDX-License-Identifier: LGPL-3.0-or-later
// The skeleton of daemons and of tools: what its options do, and how it ends.
#include "sluice/daemon/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class ProgramTest : public testing::Test {
  protected:
    ProgramTest() {
        write_file_atomically(project / "config.xml", "<boinc></boinc>");
        ::setenv("BOINC_PROJECT_DIR", project.path().c_str(), 1);
        program.settings.name = "tidier";
        program.summary = "tidies";
        program.run = [this](DaemonStart& start) {
            started = start.settings;
            share = start.share;
            dry_run = start.dry_run;
            return 0;
        };
    }
    ~ProgramTest() override { ::unsetenv("BOINC_PROJECT_DIR"); }

    int main(std::vector<const char*> args) {
        args.insert(args.begin(), "tidier");
        started.reset();
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = daemon_main(program, static_cast<int>(args.size()), args.data());
        out = testing::internal::GetCapturedStdout();
        err = testing::internal::GetCapturedStderr();
        return status;
    }
    bool one_pass(std::vector<const char*> args) {
        EXPECT_EQ(main(std::move(args)), 0) << err;
        return started && started->one_pass;
    }

    test::TempDir project;
    DaemonProgram program;
    std::optional<DaemonSettings> started;
    IdShare share;
    bool dry_run = false;
    std::string out, err;
};

TEST_F(ProgramTest, ArgumentsAreCheckedWithoutRunning) {
    int level = 1;
    program.options = [&](CommandLine& line) { line.option("--level", level, "How far."); };
    program.check = [&](DaemonStart&) { return std::string(level > 3 ? "--level is 3 at most" : ""); };
    ::setenv("BOINC_PROJECT_DIR", "/nonexistent", 1);
    EXPECT_EQ(main({"--check_arguments", "--level", "2"}), 0) << err;
    EXPECT_EQ(main({"--level", "4", "--check_arguments"}), 1);
    EXPECT_THAT(err, HasSubstr("--level is 3 at most"));
    EXPECT_EQ(main({"--levl", "2", "--check_arguments"}), 1);
    EXPECT_FALSE(started);
}

TEST_F(ProgramTest, ItRunsInProjectWithSharedOptions) {
    program.has_mod = program.has_dry_run = true;
    program.settings.sleep_interval = 60;
    EXPECT_EQ(main({}), 0) << err;
    EXPECT_EQ(started->project, fs::canonical(project.path()));
    EXPECT_EQ(started->sleep_interval, 60);
    EXPECT_FALSE(started->one_pass || dry_run);
    EXPECT_EQ(share, IdShare{});
    EXPECT_EQ(main({"-mod", "3", "1", "--dry_run", "--sleep_interval", "0"}), 0) << err;
    EXPECT_EQ(share, (IdShare{3, 1}));
    EXPECT_TRUE(dry_run && started->one_pass) << "a dry run is one pass";
    EXPECT_EQ(started->sleep_interval, 0);
}

// The log of a night shows when it was started anew.
TEST_F(ProgramTest, OneThatGoesOnSaysThatItStarts) {
    EXPECT_EQ(main({}), 0);
    EXPECT_THAT(err, HasSubstr(" UTC Starting\n"));
    EXPECT_EQ(main({"--one_pass"}), 0);
    EXPECT_EQ(err, "");
}

TEST_F(ProgramTest, LifetimeAndOptionsDecideOnePass) {
    for (const Lifetime lifetime : {Lifetime::kUntilStopped, Lifetime::kAtOwnPace}) {
        program.lifetime = lifetime;
        EXPECT_FALSE(one_pass({}));
        EXPECT_TRUE(one_pass({"--one_pass"}));
    }
    program.lifetime = Lifetime::kOnce;
    EXPECT_TRUE(one_pass({}));
    EXPECT_TRUE(one_pass({"--sleep_interval", "0"}));
    EXPECT_FALSE(one_pass({"--sleep_interval", "9"}));
    EXPECT_TRUE(one_pass({"--sleep_interval", "9", "--one_pass"}));
    program.lifetime = Lifetime::kAlwaysOnce;
    EXPECT_TRUE(one_pass({}));
    EXPECT_TRUE(one_pass({"--one_pass"}));
}

TEST_F(ProgramTest, OptionsThatItHasNotAreRefused) {
    EXPECT_EQ(main({"--mod", "3", "1"}), 1);
    EXPECT_THAT(err, HasSubstr("--mod"));
    EXPECT_EQ(main({"--dry_run"}), 1);
    program.lifetime = Lifetime::kAtOwnPace;
    EXPECT_EQ(main({"--sleep_interval", "1"}), 1);
    EXPECT_FALSE(started);
}

TEST_F(ProgramTest, WrongValuesAreRefusedFirst) {
    ::setenv("BOINC_PROJECT_DIR", "/nowhere", 1);
    EXPECT_EQ(main({"--sleep_interval", "-1"}), 1);
    EXPECT_EQ(err, "tidier: --sleep_interval can't be negative (tidier --help tells more)\n");
    program.check = [](DaemonStart&) { return "--x needs --y"; };
    EXPECT_EQ(main({}), 1);
    EXPECT_EQ(err, "tidier: --x needs --y (tidier --help tells more)\n");
    program.check = {};
    EXPECT_EQ(main({}), 1);
    EXPECT_THAT(err, HasSubstr("BOINC_PROJECT_DIR is /nowhere"));
    EXPECT_FALSE(started);
}

TEST_F(ProgramTest, ItsOwnOptionsStandBeforeTheSharedOnes) {
    int size = 0;
    program.options = [&](CommandLine& line) { line.option("--size", size, "How much."); };
    EXPECT_EQ(main({"--help"}), 0);
    EXPECT_LT(out.find("--size"), out.find("--one_pass"));
    EXPECT_FALSE(started);
    EXPECT_EQ(main({"--size", "7"}), 0);
    EXPECT_EQ(size, 7);
}

TEST_F(ProgramTest, WhatItThrowsIsLoggedAndStatusOne) {
    program.run = [](DaemonStart&) -> int { throw ConfigError("the key is missing"); };
    EXPECT_EQ(main({}), 1);
    EXPECT_THAT(err, HasSubstr("[CRITICAL] the key is missing"));
}

TEST_F(ProgramTest, ItLoopsUntilAPassEndsIt) {
    int passes = 0;
    program.settings.sleep_interval = 0;
    program.run = [&](DaemonStart& start) {
        return start.loop([&] { return ++passes == 3 ? TurnResult::kFailed : TurnResult::kIdle; });
    };
    EXPECT_EQ(main({}), 1);
    EXPECT_EQ(passes, 3);
}

TEST(Tool, WhatItThrowsBecomesALine) {
    const auto fails = []() -> int {
        std::fputs("said before\n", stdout);
        throw ConfigError("no such app");
    };
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    EXPECT_EQ(tool_main({}, fails), 1);
    EXPECT_EQ(tool_main({"xadd", 2}, fails), 2);
    EXPECT_EQ(tool_main({}, [] { return 7; }), 7);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "said before\nsaid before\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "no such app\nxadd: no such app\n");
}

/// The status of a tool that writes to `out`, and what it says on standard error.
std::pair<int, std::string> prints_to(const OwnedFd& out, const std::string& text) {
    std::fflush(stdout);
    const OwnedFd old(::dup(STDOUT_FILENO));
    ::dup2(out.get(), STDOUT_FILENO);
    testing::internal::CaptureStderr();
    const int status = tool_main({"lister", 2}, [&] {
        std::fputs(text.c_str(), stdout);
        return 0;
    });
    __fpurge(stdout);
    std::clearerr(stdout);
    ::dup2(old.get(), STDOUT_FILENO);
    return {status, testing::internal::GetCapturedStderr()};
}

// A script that keeps what a tool prints must not take half of it for the whole.
TEST(Tool, FailedOutputIsAnError) {
    for (const std::size_t length : {1, 100000}) {
        const OwnedFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
        const auto [status, said] = prints_to(full, std::string(length, 'x'));
        EXPECT_EQ(status, 2);
        EXPECT_EQ(said, "lister: Can't write to standard output: No space left on device\n");
    }
}

TEST(Tool, AReaderWhoHasEnoughIsNone) {
    const auto old = std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[0]);
    const OwnedFd pipe(ends[1]);
    for (const std::size_t length : {1, 100000})
        EXPECT_EQ(prints_to(pipe, std::string(length, 'x')), (std::pair<int, std::string>{0, ""}));
    std::signal(SIGPIPE, old);
}

}  // namespace
}  // namespace sluice
