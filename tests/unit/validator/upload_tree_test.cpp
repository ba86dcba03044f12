// SPDX-License-Identifier: LGPL-3.0-or-later
// Which files count as lost, and which as out of reach: real folders and permissions, and errors that a disk or a file
// server gives.
#include "daemons/validator/upload_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "daemons/validator/output_files.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Found = OpenedOutput::Kind;

struct Upload : testing::Test {
    test::TempDir project;
    fs::path root = project / "upload";
    fs::path mine = root / "a" / "mine", other = root / "b" / "other";
    std::int64_t made = std::time(nullptr), now = made + 2000;

    Upload() {
        for (const fs::path& file : {mine, other}) {
            fs::create_directories(file.parent_path());
            std::ofstream(file) << "x";
        }
    }
    ~Upload() override {
        for (const fs::path& path : {root, mine.parent_path(), mine}) ::chmod(path.c_str(), 0700);
    }
    /// Of a result that was reported `after` the folders were made.
    OpenedOutput open(std::int64_t after = 1000) {
        UploadTree tree(root, now);
        return tree.open(mine, made + after);
    }
    static void set_time(const fs::path& path, std::int64_t when) {
        const timespec time{when, 0};
        const std::array<timespec, 2> times{time, time};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    }
    /// `error` for what is opened by this name, and so for the file by its whole path.
    OpenedOutput open_failing(const fs::path& what, int error) {
        UploadTree tree(root, now, [&](int folder, const char* name, int flags) {
            if (what != name && mine != name) return ::openat(folder, name, flags);
            errno = error;
            return -1;
        });
        return tree.open(mine, made + 1000);
    }
};

TEST_F(Upload, WhatIsThereIsOpen) { EXPECT_EQ(open().kind, Found::kOpen); }

TEST_F(Upload, OneLostFileOfManyIsNamed) {
    fs::remove(mine);
    EXPECT_EQ(open().kind, Found::kLost) << "its folder is empty, and others' files are there";
    EXPECT_EQ(open().why, mine.string() + ": No such file or directory");
}

TEST_F(Upload, NothingIsLostWithFolderThatIsAway) {
    fs::rename(root / "a", project / "a");
    EXPECT_EQ(open().kind, Found::kNoFolder);
    EXPECT_EQ(open().why, mine.string() + ": No such file or directory, its folder is not there");
    fs::remove_all(root / "b");
    EXPECT_EQ(open().kind, Found::kEmpty) << "an empty upload folder is what an unmounted one looks like";
    EXPECT_NE(open().why.find("is a file system not mounted?"), std::string::npos) << open().why;
    fs::remove(root);
    EXPECT_EQ(open().kind, Found::kAway);
    std::ofstream(root) << "no folder";
    EXPECT_EQ(open().kind, Found::kAway);
    EXPECT_NE(open().why.find(std::strerror(ENOTDIR)), std::string::npos) << open().why;
}

TEST_F(Upload, FoldersWithoutAnyFileProveNothing) {
    fs::remove(mine);
    fs::remove(other);
    EXPECT_EQ(open().kind, Found::kEmpty);
    for (const fs::path& folder : {mine.parent_path(), other.parent_path(), root}) set_time(folder, made - 30 * 86400);
    now += 30 * 86400;
    EXPECT_EQ(open().kind, Found::kEmpty) << "however long nobody mounts the file system";
}

TEST_F(Upload, FilesThatCameAfterTheReportProveNothing) {
    fs::remove(mine);
    set_time(other, made + 1001);
    EXPECT_EQ(open().kind, Found::kEmpty) << "an upload into the place of a file system that is not mounted";
    EXPECT_NE(open().why.find("nor is any file below " + root.string() + " that is as old as the report"),
              std::string::npos)
        << open().why;
    set_time(other, made + 1000);
    EXPECT_EQ(open().kind, Found::kLost);
    set_time(other, made + 1001);
    now += 8 * 86400;
    EXPECT_EQ(open().kind, Found::kLost) << "no outage is that long";
}

TEST_F(Upload, OneTreeAnswersForReportsOfAnyAge) {
    fs::remove(mine);
    UploadTree tree(root, now);
    EXPECT_EQ(tree.open(mine, made - 5).kind, Found::kEmpty);
    EXPECT_EQ(tree.open(mine, made + 5).kind, Found::kLost);
    EXPECT_EQ(tree.open(mine, made - 5).kind, Found::kEmpty);
}

TEST_F(Upload, AFolderThatWasMadeAnewProvesNothing) {
    fs::remove(mine);
    set_time(other, made - 100);
    set_time(mine.parent_path(), made - 100);
    EXPECT_EQ(open(-5).kind, Found::kNoFolder) << "start or the upload handler made it";
    EXPECT_EQ(open(-5).why, mine.string() + ": No such file or directory, its folder was made after the report");
    now += 8 * 86400;
    EXPECT_EQ(open(-5).kind, Found::kLost);
}

TEST_F(Upload, FolderThatIsMissingForWeekIsLost) {
    fs::remove_all(root / "a");
    now += 8 * 86400;
    EXPECT_EQ(open().kind, Found::kLost) << "the tree has not changed since";
    EXPECT_EQ(open(3 * 86400).kind, Found::kNoFolder) << "a newer result";
}

TEST_F(Upload, FileThatAnotherFanoutPutElsewhereIsFound) {
    const UploadTree tree(root, now);
    EXPECT_EQ(tree.elsewhere(root / "c" / "mine"), mine);
    EXPECT_EQ(tree.elsewhere(root / "mine"), mine) << "no fan-out";
    EXPECT_EQ(tree.elsewhere(root / "c" / "of_nobody"), std::nullopt);
    fs::rename(mine, root / "mine");
    EXPECT_EQ(tree.elsewhere(mine), root / "mine");
}

TEST_F(Upload, PermissionThatIsMissingIsNoLostFile) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
    for (const fs::path& closed : {mine, mine.parent_path(), root}) {
        ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
        const OpenedOutput opened = open();
        EXPECT_EQ(opened.kind, Found::kAway) << closed;
        EXPECT_TRUE(opened.why.starts_with(mine.string() + ": Permission denied for user ")) << opened.why;
        ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
    }
    EXPECT_EQ(open().kind, Found::kOpen);
}

TEST_F(Upload, ErrorsOfDisksAndFileServersPass) {
    for (const int error : {EIO, ESTALE, ENOTDIR, ETIMEDOUT, ENODEV, ENOTCONN, EHOSTDOWN, EMFILE, ENOMEM})
        for (const fs::path& what : {root, mine.parent_path(), mine.filename()}) {
            const OpenedOutput opened = open_failing(what, error);
            EXPECT_EQ(opened.kind, Found::kAway) << what << " " << error;
            EXPECT_EQ(opened.why, mine.string() + ": " + std::strerror(error)) << what;
        }
    EXPECT_EQ(open_failing(mine.parent_path(), ELOOP).kind, Found::kAway) << "a folder behind links in a circle";
    EXPECT_EQ(open_failing(mine.filename(), ELOOP).kind, Found::kStrange) << "a link in the place of the file";
}

TEST_F(Upload, AReadErrorIsTransientAndNamed) {
    const OutputFile file{"mine", "out", false, false, mine};
    for (const int how : {0, 1, 2}) {
        UploadTree tree(root, now, [&](int folder, const char* name, int flags) {  // reading it at 0: EIO
            return mine == name ? ::open("/proc/self/mem", O_RDONLY) : ::openat(folder, name, flags);
        });
        const OutputCheck check = how == 2 ? check_read({file}, now, tree) : check_bitwise({file}, now, tree, how == 1);
        EXPECT_EQ(check.kind, OutputCheck::Kind::kTransient);
        EXPECT_EQ(check.why, "Can't read " + mine.string() + ": " + std::strerror(EIO));
    }
}

}  // namespace
}  // namespace sluice
