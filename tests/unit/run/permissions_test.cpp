// SPDX-License-Identifier: LGPL-3.0-or-later
// Owners, modes and links: what a project's programs open, and what sluice_options --check finds.
#include "config/options/permissions.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;

/// 0 or errno.
int opening(const fs::path& file) {
    const int fd = open_own_file(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) return errno;
    ::close(fd);
    return 0;
}

std::string text_of(const fs::path& file) { return read_file(file).value_or("gone"); }

TEST(OwnFile, IsMadeOrEmptied) {
    const test::TempDir dir;
    EXPECT_EQ(opening(dir / "new.pid"), 0);
    EXPECT_EQ(text_of(dir / "new.pid"), "");
    EXPECT_EQ(opening(dir.write("old.pid", "123")), 0);
    EXPECT_EQ(text_of(dir / "old.pid"), "");
}

/// What the web server's account can put where a daemon writes.
TEST(OwnFile, LinksAreNotFollowed) {
    const test::TempDir dir;
    const fs::path key = dir.write("keys/code_sign_private", "the key");
    fs::create_symlink(key, dir / "link");
    fs::create_hard_link(key, dir / "name");
    fs::create_symlink(dir / "nowhere", dir / "dangling");
    ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(opening(dir / "link"), ELOOP);
    EXPECT_EQ(opening(dir / "name"), EMLINK);
    EXPECT_EQ(opening(dir / "dangling"), ELOOP);
    EXPECT_NE(opening(dir / "pipe"), 0);
    EXPECT_EQ(text_of(key), "the key");
    EXPECT_FALSE(fs::exists(dir / "nowhere"));
    EXPECT_THAT(file_problem(ELOOP, dir / "link"), HasSubstr("symbolic link"));
    EXPECT_THAT(file_problem(EMLINK, dir / "name"), HasSubstr("hard link"));
}

TEST(OwnFile, LogsAndLocksDoNotFollowLinksEither) {
    const test::TempDir dir;
    const fs::path target = dir.write("target", "x");
    fs::create_symlink(target, dir / "link.log");
    fs::create_symlink(dir / "made", dir / "link.lock");
    LogOptions log;
    log.file = (dir / "link.log").string();
    EXPECT_THROW(log_open(log), FileError);
    EXPECT_THROW(FileLock::try_lock(dir / "link.lock"), FileError);
    EXPECT_EQ(text_of(target), "x");
    EXPECT_FALSE(fs::exists(dir / "made"));
}

class Permissions : public testing::Test {
  protected:
    Permissions() {
        for (const char* folder : {"bin", "cgi-bin", "keys", "apps", "templates"}) make(folder, 0755);
        make("log_" + short_host_name(), 02750);
        make("pid_" + short_host_name(), 02750);
        for (const auto& [name, mode] : std::vector<std::pair<std::string, int>>{{"config.xml", 0640},
                                                                                 {"project.xml", 0644},
                                                                                 {"bin/start", 0755},
                                                                                 {"keys/code_sign_private", 0600},
                                                                                 {"keys/upload_private", 0640}}) {
            dir.write(name, "x");
            set(name, mode);
        }
        ::chmod(dir.path().c_str(), 0755);
    }
    void make(const std::string& name, int mode) {
        fs::create_directories(dir / name);
        set(name, mode);
    }
    void set(const std::string& name, int mode) const { ::chmod((dir / name).c_str(), static_cast<mode_t>(mode)); }
    /// "what | command" of each, without the project's folder; root's ownership (of a test that runs as root) left out.
    std::vector<std::string> findings() const {
        std::vector<std::string> all;
        const std::string root = dir.path().string() + "/";
        for (const auto& f : permission_findings(dir.path())) {
            if (f.what.find("belongs to root") != std::string::npos) continue;
            std::string line = f.what + " | " + f.command;
            for (auto at = line.find(root); at != std::string::npos; at = line.find(root)) line.erase(at, root.size());
            all.push_back(line);
        }
        return all;
    }
    /// This account is the web server's, too.
    static std::string fix(const std::string& mode, const std::string& file) {
        const std::string user = ::geteuid() == 0 ? "boincadm" : user_name(::geteuid());
        const std::string group = ::geteuid() == 0 ? "boincadm" : group_name(::getegid());
        return "chown " + user + ":" + group + " " + file + " && chmod " + mode + " " + file;
    }
    test::TempDir dir;
};

TEST_F(Permissions, ProjectAsMakeProjectMakesItHasNone) { EXPECT_THAT(findings(), testing::IsEmpty()); }

TEST_F(Permissions, WhatOthersCanChangeIsFound) {
    set("bin", 0775);
    set("bin/start", 0777);
    set("keys", 0775);
    EXPECT_THAT(findings(),
                testing::ElementsAre("bin can be changed by its group | " + fix("go-w", "bin"),
                                     "keys can be changed by its group | " + fix("go-w", "keys"),
                                     "bin/start can be changed by everybody | " + fix("go-w", "bin/start")));
}

/// Daemons write them with group rights, as upstream's do: what everybody may write they refuse.
TEST_F(Permissions, FilesThatSteerDaemonsAreLookedAt) {
    for (const char* name : {"hr_info.txt", "size_census_app", "run_state_host.xml", "notes.txt"}) {
        dir.write(name, "x");
        set(name, 0664);
    }
    EXPECT_THAT(findings(), testing::IsEmpty());
    for (const char* name : {"hr_info.txt", "size_census_app", "run_state_host.xml", "notes.txt"}) set(name, 0666);
    EXPECT_THAT(findings(), testing::ElementsAre(
                                HasSubstr("hr_info.txt can be changed by everybody | " + fix("go-w", "hr_info.txt")),
                                HasSubstr("run_state_host.xml"), HasSubstr("size_census_app")));
}

TEST_F(Permissions, SecretsThatOthersReadAreFound) {
    set("config.xml", 0644);
    set("keys/code_sign_private", 0640);
    EXPECT_THAT(findings(),
                testing::ElementsAre("config.xml can be read by everybody: it holds the database's password | " +
                                         fix("640", "config.xml"),
                                     HasSubstr("| " + fix("600", "keys/code_sign_private"))));
}

/// As upstream's projects are: the web server's group writes in the folders of the daemons.
TEST_F(Permissions, FoldersOpenForLinksAreFound) {
    const std::string log = "log_" + short_host_name(), pid = "pid_" + short_host_name();
    set(log, 02775);
    set(pid, 02770);
    fs::create_symlink(dir / "keys/code_sign_private", dir / pid / "feeder.pid");
    const auto found = findings();
    ASSERT_EQ(found.size(), 3u);
    EXPECT_THAT(found[0], testing::AllOf(HasSubstr("written by"), HasSubstr("scheduler.log"),
                                         HasSubstr(fix("2750", log)), HasSubstr("chmod 660 ")));
    EXPECT_THAT(found[1], HasSubstr("| rm " + pid + "/feeder.pid"));
    EXPECT_THAT(found[2], HasSubstr("| " + fix("2750", pid)));
}

/// Who has the project's account could otherwise have root give away a file of root's.
TEST_F(Permissions, RootsCommandsFollowNoLinkOut) {
    const std::string log = "log_" + short_host_name();
    test::TempDir other;
    const fs::path file = other.write("file", "x");
    ::chmod(file.c_str(), 0666);
    fs::remove_all(dir / log);
    fs::create_symlink(other.path(), dir / log);
    fs::create_symlink(file, dir / "bin/one");
    fs::remove(dir / "keys/code_sign_private");
    fs::create_symlink(file, dir / "keys/code_sign_private");
    const std::string real = fs::canonical(file).string();
    EXPECT_THAT(findings(), testing::UnorderedElementsAre(testing::EndsWith(" | rm " + log),
                                                          testing::EndsWith(" | chmod go-w " + real),
                                                          testing::EndsWith(" | chmod go-w " + real),
                                                          testing::EndsWith(" | ls -l keys/code_sign_private")));
}

TEST_F(Permissions, ALinkInADaemonsWayIsRefused) {
    fs::create_symlink(dir / "elsewhere", dir / ("log_" + short_host_name()) / "feeder.log");
    fs::create_symlink(dir / "elsewhere", dir / ("log_" + short_host_name()) / "latest");
    std::vector<bool> refused;
    for (const auto& f : permission_findings(dir.path()))
        if (f.what.find("is a symbolic link") != std::string::npos) refused.push_back(f.refused);
    EXPECT_THAT(refused, testing::ElementsAre(true, false));
}

}  // namespace
}  // namespace sluice
