// SPDX-License-Identifier: LGPL-3.0-or-later
// The accounts of tests: who is who where root started the tests, and that nobody has more rights than an admin would
// give. Started by another user, all are that user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "tests/support/accounts.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr Role kAll[] = {Role::kProject, Role::kDatabase, Role::kWeb, Role::kClient};

std::string said_by(Role role, const std::vector<std::string>& words) {
    const RunResult result = run(words, {.run_as = role});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
}

bool readable(const fs::path& file) { return std::ifstream(file).good(); }

TEST(TestAccounts, EachRoleHasItsAccountAlone) {
    std::set<std::string> users, groups;
    for (const Role role : kAll) {
        const std::string user = said_by(role, {"id", "-un"});
        EXPECT_EQ(user, account_name(role) + "\n");
        users.insert(user);
        if (!accounts_apart()) continue;
        const std::string all_groups = said_by(role, {"id", "-Gn"});
        EXPECT_EQ(all_groups, user) << "the group of its own, and no other";
        groups.insert(all_groups);
        for (const char* set : {"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n"})
            EXPECT_THAT(said_by(role, {"cat", "/proc/self/status"}), testing::HasSubstr(set)) << user;
    }
    EXPECT_EQ(users.size(), accounts_apart() ? std::size(kAll) : 1u);
    EXPECT_EQ(groups.size(), accounts_apart() ? std::size(kAll) : 0u);
    EXPECT_EQ(said_by(Role::kRoot, {"id", "-un"}), account_name(Role::kRoot) + "\n");
    EXPECT_EQ(said_by(Role::kProject, {"id", "-u"}), std::to_string(::geteuid()) + "\n") << "as the test program";
}

TEST(TestAccounts, ATestSeesOthersFilesOnlyWhenDeclared) {
    const TempDir folder;
    const fs::path file = folder.write("web/file", "text");
    fs::permissions(file, fs::perms(0600));
    give(folder / "web", Role::kWeb);
    fs::permissions(folder.path(), fs::perms(0711));
    EXPECT_EQ(said_by(Role::kWeb, {"cat", file.string()}), "text");
    EXPECT_EQ(readable(file), !accounts_apart());
    {
        const RightsToAllFiles rights;
        EXPECT_TRUE(readable(file));
        { const RightsToAllFiles inner; }
        EXPECT_TRUE(readable(file)) << "the inner ones are gone, the outer ones are not";
        const RunResult as_project = run({"cat", file.string()});
        EXPECT_EQ(as_project.status == 0, !accounts_apart()) << "a program has no part in them";
    }
    EXPECT_EQ(readable(file), !accounts_apart());
    // What the test makes is the project's, and what it shares has the web server's group.
    const fs::path own = folder.write("own", "text");
    share_with_web_server(own, 02640);
    struct stat info {};
    ASSERT_EQ(::stat(own.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, ::geteuid());
    if (accounts_apart()) {
        EXPECT_EQ(info.st_mode & 07777, 02640u);
        EXPECT_NE(info.st_gid, ::getegid());
    }
}

TEST(TestAccounts, WhatOthersMadeIsClearedAway) {
    fs::path path;
    {
        const TempDir folder;
        path = folder.path();
        fs::permissions(path, fs::perms(0711));
        fs::create_directories(folder / "db");
        give(folder / "db", Role::kDatabase);
        said_by(Role::kDatabase, {"mkdir", "-m", "700", (folder / "db/inner").string()});
        said_by(Role::kDatabase, {"touch", (folder / "db/inner/file").string()});
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(TestAccounts, ATestsProgramsEndWithIt) {
    for (const Role role : kAll) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t test = ::fork();
        if (test == 0) {
            const Subprocess sleeper({"sleep", "1000"}, {.run_as = role});
            const pid_t pid = sleeper.pid();
            if (::write(ends[1], &pid, sizeof pid) > 0) ::pause();
            ::_exit(1);
        }
        pid_t started = 0;
        ASSERT_EQ(::read(ends[0], &started, sizeof started), static_cast<ssize_t>(sizeof started));
        EXPECT_TRUE(fs::exists("/proc/" + std::to_string(started)));
        ::kill(test, SIGKILL);
        ::waitpid(test, nullptr, 0);
        const auto ended = [&] {
            std::ifstream stat("/proc/" + std::to_string(started) + "/stat");
            std::string pid, name, state;
            return !(stat >> pid >> name >> state) || state == "Z";  // or nobody has collected it
        };
        EXPECT_TRUE(eventually(ended)) << account_name(role);
        for (const int end : ends) ::close(end);
    }
}

TEST(TestAccounts, ATestEndsProgramsOfOthers) {
    for (const Role role : kAll) {
        Subprocess sleeper({"sleep", "1000"}, {.run_as = role});
        sleeper.send_signal(SIGTERM);
        const auto ended = sleeper.wait();
        ASSERT_TRUE(ended) << account_name(role);
        EXPECT_EQ(ended->signal, SIGTERM);
    }
}

}  // namespace
}  // namespace sluice::test
