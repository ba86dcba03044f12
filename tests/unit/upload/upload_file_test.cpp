// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/upload_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using upload::open_upload_file;
using upload::UploadFile;

struct Upload : ::testing::Test {
    TempDir dir;
    UploadFile writable(const std::string& path) {
        auto opened = open_upload_file(dir.path(), path, UploadFile::Access::kWrite, 0664);
        if (opened.problem) throw std::runtime_error(opened.problem->message);
        return std::move(*opened.file);
    }
    std::string content(const std::string& path) { return read_file(dir / path).value_or("NONE"); }
};

TEST_F(Upload, FoldersHaveTheirParentsPermissions) {
    ASSERT_EQ(::chmod(dir.path().c_str(), 02770), 0);
    const mode_t old = ::umask(077);
    writable("3f/a").put(0, "x");
    ::umask(old);
    struct stat s {};
    ASSERT_EQ(::stat((dir / "3f").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 02770u);
    EXPECT_EQ(content("3f/a"), "x");
}

TEST_F(Upload, ReadingCreatesNothing) {
    const auto opened = open_upload_file(dir.path(), "3f/a", UploadFile::Access::kRead, 0);
    EXPECT_FALSE(opened.file || opened.problem);
    EXPECT_FALSE(std::filesystem::exists(dir / "3f"));
}

TEST_F(Upload, PutAppendsOverwritesAndCutsAtFirstDifference) {
    dir.write("a", "0123456789");
    UploadFile file = writable("a");
    EXPECT_FALSE(file.put(2, "2345"));
    EXPECT_EQ(content("a"), "0123456789") << "what is there already stays as it is";
    EXPECT_FALSE(file.put(4, "45xy"));
    EXPECT_EQ(content("a"), "012345xy") << "nothing of the old upload stays behind a difference";
    EXPECT_FALSE(file.put(8, "z"));
    EXPECT_EQ(content("a"), "012345xyz");
    EXPECT_FALSE(file.put(8, ""));
    EXPECT_FALSE(file.put(7, "yzABC"));
    EXPECT_EQ(content("a"), "012345xyzABC");
}

TEST_F(Upload, LargeBlocks) {
    std::string all;
    for (int i = 0; i < 300000; ++i) all += static_cast<char>(i * 31);
    dir.write("a", all.substr(0, 200000));
    UploadFile file = writable("a");
    EXPECT_FALSE(file.put(0, all));
    EXPECT_TRUE(content("a") == all);
    std::string other = all;
    other[150000] ^= 1;
    EXPECT_FALSE(file.put(0, other.substr(0, 200000)));
    EXPECT_TRUE(content("a") == other.substr(0, 200000));
}

TEST_F(Upload, FinishCutsTheTailAndSealSetsPermissions) {
    dir.write("a", "0123456789");
    dir.write("b", "");
    EXPECT_FALSE(writable("a").finish(4));
    EXPECT_EQ(content("a"), "0123");
    ASSERT_EQ(::chmod((dir / "a").c_str(), 02664), 0);
    EXPECT_FALSE(writable("a").seal(-1));
    struct stat s {};
    ASSERT_EQ(::stat((dir / "a").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 02444u) << "nobody writes it, the rest stays";
    EXPECT_TRUE(writable("a").completed()) << "for root too";
    EXPECT_FALSE(writable("b").seal(0640));
    ASSERT_EQ(::stat((dir / "b").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0640u);
    EXPECT_FALSE(writable("b").completed());
}

TEST_F(Upload, ALockWaiterSeesTheCompleteFile) {
    UploadFile late = writable("a");
    {
        UploadFile first = writable("a");
        ASSERT_FALSE(first.lock());
        ASSERT_FALSE(first.put(0, "0123"));
        ASSERT_FALSE(first.finish(4));
        ASSERT_FALSE(first.seal(-1));
    }
    EXPECT_FALSE(late.completed()) << "opened before";
    EXPECT_FALSE(late.lock());
    EXPECT_TRUE(late.completed());
}

/// Another account's handler took it for abandoned: its client may not be told that it is stored.
TEST_F(Upload, NobodyWritesWhatWasDeletedBefore) {
    dir.write("a", "begun");
    UploadFile file = writable("a");
    ASSERT_EQ(::unlink((dir / "a").c_str()), 0);
    EXPECT_EQ(file.lock(), 0);
    UploadFile old = writable("a");
    ASSERT_EQ(::unlink((dir / "a").c_str()), 0);
    UploadFile fresh = writable("a");
    EXPECT_EQ(old.lock(), 0);
    EXPECT_EQ(fresh.lock(), std::nullopt);
    EXPECT_FALSE(fresh.put(0, "all"));
    EXPECT_FALSE(fresh.finish(3));
    EXPECT_EQ(content("a"), "all");
}

TEST_F(Upload, SymbolicLinksAreNotFollowed) {
    TempDir outside;
    outside.write("secret", "s");
    std::filesystem::create_symlink(outside / "secret", dir / "leaf");
    std::filesystem::create_symlink(outside / "new", dir / "dangling");
    std::filesystem::create_directory_symlink(outside.path(), dir / "3f");
    for (const char* path : {"leaf", "dangling", "3f/secret", "3f/new"}) {
        for (const auto access : {UploadFile::Access::kRead, UploadFile::Access::kWrite}) {
            const auto opened = open_upload_file(dir.path(), path, access, 0664);
            EXPECT_TRUE(opened.problem) << path;
        }
    }
    EXPECT_EQ(read_file(outside / "secret"), "s");
    EXPECT_FALSE(std::filesystem::exists(outside / "new"));
}

TEST_F(Upload, WhatIsNotFileIsRefusedWithoutWaiting) {
    std::filesystem::create_directory(dir / "folder");
    ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0666), 0);
    for (const char* path : {"folder", "fifo", ".", ".."}) {
        EXPECT_TRUE(open_upload_file(dir.path(), path, UploadFile::Access::kRead, 0).problem) << path;
        EXPECT_TRUE(open_upload_file(dir.path(), path, UploadFile::Access::kWrite, 0664).problem) << path;
    }
    EXPECT_TRUE(open_upload_file(dir / "missing", "a", UploadFile::Access::kWrite, 0664).problem);
}

TEST_F(Upload, FreeSpace) {
    EXPECT_GT(upload::free_bytes(dir.path()).value_or(0), 0);
    EXPECT_EQ(upload::free_bytes(dir / "missing"), std::nullopt);
}

}  // namespace
}  // namespace sluice::test
