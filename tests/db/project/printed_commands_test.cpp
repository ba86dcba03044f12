// SPDX-License-Identifier: LGPL-3.0-or-later
// The commands that sluice_options --check prints for owners and modes: after them nothing is left to do.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "config/options/permissions.h"
#include "sluice/base/project.h"
#include "tests/db/project/accounts.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Runs what is printed, in its order, and looks again.
std::string mended(const fs::path& project, std::size_t least) {
    const auto found = permission_findings(project);
    EXPECT_GE(found.size(), least);
    for (const auto& finding : found) {
        std::string command = finding.command;
        if (!command.starts_with("rm ")) {
            EXPECT_THAT(command, AllOf(HasSubstr("chown "), Not(HasSubstr("--reference")))) << finding.what;
        }
        // No account is made on the machine of a test.
        if (command.starts_with("adduser")) command = command.substr(command.find("; ") + 2);
        for (auto at = command.find("boincadm"); at != std::string::npos; at = command.find("boincadm"))
            command.replace(at, 8, "games");
        EXPECT_EQ(std::system(command.c_str()), 0) << finding.command;
    }
    std::string left;
    for (const auto& finding : permission_findings(project)) left += finding.what + "; " + finding.command + "\n";
    return left;
}

/// Nothing is left to do after them, and the web server's account has what it needs.
TEST_F(Accounts, WhatCheckPrintsMendsAllOfIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    fs::rename(root_, dir_ / "it's the tiles");  // a name that has to be quoted
    root_ = dir_ / "it's the tiles";
    const fs::path log = root_ / ("log_" + short_host_name()), pid = root_ / ("pid_" + short_host_name());
    const auto give = [](const fs::path& path, const char* user, fs::perms mode) {
        const passwd* account = ::getpwnam(user);
        ASSERT_EQ(::chown(path.c_str(), account->pw_uid, account->pw_gid), 0) << path;
        fs::permissions(path, mode);
    };
    give(root_ / "config.xml", "daemon", fs::perms(0666));
    give(root_ / "keys/upload_private", "games", fs::perms(0644));
    give(root_ / "keys/code_sign_private", "root", fs::perms(0644));
    give(root_ / "bin/start", "nobody", fs::perms(0777));
    give(root_ / "project.xml", "daemon", fs::perms(0644));
    give(log, "root", fs::perms(0777));
    give(pid, "games", fs::perms(0775));
    fs::remove(log / "scheduler.log");
    fs::create_symlink(root_ / "keys/code_sign_private", log / "scheduler.log");
    std::ofstream(log / "feeder.log") << "by root";
    EXPECT_EQ(mended(root_, 9), "");
    const auto reads = [](const char* account, const fs::path& file) {
        return can(account, [&] { return static_cast<bool>(std::ifstream(file)); });
    };
    for (const char* file : {"config.xml", "keys/upload_private"}) {
        EXPECT_TRUE(reads("www-data", root_ / file)) << file;
        EXPECT_FALSE(reads("nobody", root_ / file)) << file;
    }
    EXPECT_TRUE(reads("games", root_ / "keys/code_sign_private"));
    EXPECT_FALSE(reads("www-data", root_ / "keys/code_sign_private"));
    EXPECT_TRUE(can("www-data", [&] { return writes(log / "scheduler.log"); }));
    EXPECT_TRUE(can("games", [&] { return writes(log / "feeder.log") && writes(pid / "feeder.pid"); }));
    EXPECT_FALSE(can("www-data", [&] { return writes(pid / "planted"); }));
}

TEST_F(Accounts, WhatCheckPrintsMendsAProjectOfRoots) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--web_user", "www-data"}, true).status, 0);
    fs::permissions(root_ / ("log_" + short_host_name()), fs::perms(0777));
    EXPECT_EQ(mended(root_, 2), "");
    EXPECT_TRUE(can("games", [&] { return writes(root_ / "project.xml"); }));
    EXPECT_TRUE(can("www-data", [&] { return static_cast<bool>(std::ifstream(root_ / "config.xml")); }));
}

}  // namespace
}  // namespace sluice::test
