// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/base/error.h"
#include "sluice/base/users.h"
#include "tests/support/named_files.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

/// Entries of a folder, dot files too.
int entries(const fs::path& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

int mode_of(const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0);
    return info.st_mode & 07777;
}

TEST(ReadFile, WholeOrAbsentOrAnError) {
    const test::TempDir dir;
    const std::string text("a\0b\n", 4);
    EXPECT_EQ(read_file(dir.write("f", text)), text);
    EXPECT_EQ(read_file(dir.write("empty", "")), "");
    EXPECT_EQ(read_file(dir / "none"), std::nullopt);
    EXPECT_EQ(read_file(dir / "f" / "below a file"), std::nullopt);
    EXPECT_THROW(read_file(dir.path()), FileError);
    EXPECT_EQ(read_file("/proc/self/cmdline")->substr(0, 1).empty(), false);  // a file without a size
}

TEST(ReadFile, TheLimitIsExact) {
    const test::TempDir dir;
    const fs::path file = dir.write("f", std::string(10000, 'x'));
    EXPECT_EQ(read_file(file, 10000)->size(), 10000u);
    EXPECT_THROW(read_file(file, 9999), FileError);
    EXPECT_THROW(read_file("/dev/zero", 1 << 20), FileError);
}

TEST(ReadFile, OneThatEverybodyMayChangeIsNotTrusted) {
    const test::TempDir dir;
    const fs::path file = dir.write("f", "text");
    fs::permissions(file, fs::perms(0664));
    EXPECT_EQ(read_trusted_file(file, 10), "text");
    EXPECT_THROW(read_trusted_file(file, 3), FileError);
    EXPECT_EQ(read_trusted_file(dir / "none", 10), std::nullopt);
    fs::permissions(file, fs::perms(0666));
    try {
        read_trusted_file(file, 10);
        ADD_FAILURE() << "it was read";
    } catch (const FileError& e) {
        EXPECT_THAT(e.what(), testing::MatchesRegex(".*as root: chown [^:]+:[^ ]+ " + file.string() +
                                                    " && chmod go-w " + file.string()));
    }
}

TEST(WriteFile, ReplacesAtOnceWithTheModeAskedFor) {
    const test::TempDir dir;
    const fs::path file = dir.write("f", "old");
    const mode_t old_mask = ::umask(077);
    write_file_atomically(file, "new");
    EXPECT_EQ(mode_of(file), 0664);
    write_file_atomically(file, "secret", 0600);
    EXPECT_EQ(mode_of(file), 0600);
    ::umask(old_mask);
    EXPECT_EQ(read_file(file), "secret");
    EXPECT_EQ(entries(dir.path()), 1);
}

/// It may be a program, which somebody starts at any moment.
TEST(WriteFile, ItIsClosedBeforeItGetsItsName) {
    const test::TempDir dir;
    test::NamedFiles files({dir.path()});
    write_file_atomically(dir / "script", "#!/bin/sh\n", 0755);
    EXPECT_TRUE(files.named().contains(dir / "script"));
    EXPECT_TRUE(files.open_in_place().empty());
}

TEST(WriteFile, FailureLeavesOldTextAndNoRubbish) {
    const test::TempDir dir;
    fs::create_directories(dir / "f" / "inside");  // a folder in the way: the rename fails
    EXPECT_THROW(write_file_atomically(dir / "f", "new"), FileError);
    EXPECT_EQ(entries(dir.path()), 1);
    EXPECT_THROW(write_file_atomically(dir / "none" / "f", "x"), FileError);
}

TEST(WriteFile, ARelativeNameStaysInTheCurrentFolder) {
    const test::TempDir dir;
    const fs::path before = fs::current_path();
    fs::current_path(dir.path());
    write_file_atomically("f", "x");
    fs::current_path(before);
    EXPECT_EQ(read_file(dir / "f"), "x");
}

TEST(FileLock, OneHolderAtATime) {
    const test::TempDir dir;
    const mode_t old_mask = ::umask(077);
    auto first = FileLock::try_lock(dir / "lock");
    ::umask(old_mask);
    ASSERT_TRUE(first);
    EXPECT_EQ(mode_of(dir / "lock"), 0600) << "who may read it can lock it for reading";
    fs::create_directory(dir / "shared");
    fs::permissions(dir / "shared", fs::perms(0770));
    EXPECT_TRUE(FileLock::try_lock(dir / "shared" / "lock"));
    EXPECT_EQ(mode_of(dir / "shared" / "lock"), 0660);
    fs::permissions(dir / "shared", fs::perms(0750));
    EXPECT_TRUE(FileLock::try_lock(dir / "shared" / "lock"));
    EXPECT_EQ(mode_of(dir / "shared" / "lock"), 0600) << "made by an older version";
    EXPECT_FALSE(FileLock::try_lock(dir / "lock"));
    FileLock moved = std::move(*first);
    first.reset();
    EXPECT_FALSE(FileLock::try_lock(dir / "lock"));
    { const FileLock ends_here = std::move(moved); }
    EXPECT_TRUE(FileLock::try_lock(dir / "lock"));
    EXPECT_TRUE(fs::exists(dir / "lock"));
    EXPECT_THROW(FileLock::try_lock(dir / "none" / "lock"), FileError);
}

TEST(FileLock, KernelReleasesItWhenItsHolderIsKilled) {
    const test::TempDir dir;
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lock = FileLock::try_lock(dir / "lock");
        if (lock && ::write(ready[1], "x", 1) == 1) ::pause();
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_FALSE(FileLock::try_lock(dir / "lock"));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(FileLock::try_lock(dir / "lock"));
    ::close(ready[0]);
    ::close(ready[1]);
}

/// In another process: is the file free for upstream's kind of lock?
bool free_for_upstream(const fs::path& file) {
    const pid_t child = ::fork();
    if (child == 0) {
        struct flock whole {};
        whole.l_type = F_WRLCK;
        const int fd = ::open(file.c_str(), O_RDWR);
        ::_exit(::fcntl(fd, F_SETLK, &whole) == 0 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status == 0;
}

TEST(FileLock, ExcludesUpstreamsProgramsAndSurvivesAnotherOpen) {
    const test::TempDir dir;
    auto lock = FileLock::try_lock(dir / "lock");
    ASSERT_TRUE(lock);
    EXPECT_FALSE(free_for_upstream(dir / "lock"));
    ::close(::open((dir / "lock").c_str(), O_RDWR));
    EXPECT_FALSE(free_for_upstream(dir / "lock")) << "fcntl's own kind would have vanished";
    lock.reset();
    EXPECT_TRUE(free_for_upstream(dir / "lock"));
}

TEST(FileLock, IsExcludedByUpstreamsPrograms) {
    const test::TempDir dir;
    dir.write("lock", "");
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        struct flock whole {};
        whole.l_type = F_WRLCK;
        const int fd = ::open((dir / "lock").c_str(), O_WRONLY);
        const char answer = ::fcntl(fd, F_SETLK, &whole) == 0 ? 'y' : 'n';
        if (::write(ready[1], &answer, 1) == 1) ::pause();
        ::_exit(1);
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    EXPECT_FALSE(FileLock::try_lock(dir / "lock"));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(FileLock::try_lock(dir / "lock"));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(Fanout, UpstreamsCheckValues) {
    EXPECT_EQ(fanout_path("/d", "foo", 1024), "/d/db/foo");
    EXPECT_EQ(fanout_path("/d", "example_app_1_0", 1024), "/d/136/example_app_1_0");
    EXPECT_EQ(fanout_path("/d", "uc_0_r123_0", 1024), "/d/3ff/uc_0_r123_0");
    EXPECT_EQ(fanout_path("/d", "foo", 0), "/d/foo");
    EXPECT_EQ(fanout_path("/d", "foo", -3), "/d/foo");
    EXPECT_EQ(fanout_path("/d", "foo", 1), "/d/0/foo");
    EXPECT_EQ(fanout_url("http://h/download", "foo", 1024), "http://h/download/db/foo");
    EXPECT_EQ(fanout_url("http://h/download", "foo", 0), "http://h/download/foo");
}

TEST(FileNames, WhatIsRefused) {
    for (const char* good : {"a", "a b", "dir/file", ".hidden", "a.b", "\xc3\xa9"})
        EXPECT_TRUE(is_valid_file_name(good));
    for (const char* bad : {"", "/etc/passwd", "..", "a/../b", "a..b", "a\nb", "a\tb", "\x7f"}) {
        EXPECT_FALSE(is_valid_file_name(bad)) << bad;
    }
    EXPECT_FALSE(is_valid_file_name(std::string_view("a\0b", 3)));
    EXPECT_TRUE(is_valid_file_name(std::string(255, 'x')));
    EXPECT_FALSE(is_valid_file_name(std::string(256, 'x')));
}

TEST(FileProblem, ADeniedPermissionSaysWhoseTheFileIs) {
    const test::TempDir dir;
    dir.write("config.xml", "");
    ::chmod((dir / "config.xml").c_str(), 0640);
    const std::string owner = ::getpwuid(::geteuid())->pw_name;
    const std::string group = ::getgrgid(::getegid())->gr_name;
    EXPECT_EQ(file_problem(EACCES, dir / "config.xml"),
              "Permission denied for user " + owner + " (" + (dir / "config.xml").string() + " belongs to " + owner +
                  ":" + group + ", mode 640); run as that user, or give this one access");
    // One that is to be made: its folder is the obstacle.
    EXPECT_THAT(file_problem(EACCES, dir / "no/such/file"),
                testing::HasSubstr("(" + dir.path().string() + " belongs to " + owner));
    EXPECT_EQ(file_problem(ENOSPC, dir / "config.xml"), "No space left on device");
}

}  // namespace
}  // namespace sluice
