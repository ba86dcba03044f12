// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "sluice/base/download_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

struct Staging : testing::Test {
    Staging() { fs::create_directory(settings.download_dir); }
    test::TempDir dir;
    StagingSettings settings{dir.path() / "download", "http://h/download", 1024, true};
    fs::path write(const std::string& name, const std::string& text) {
        std::ofstream(dir.path() / name) << text;
        return dir.path() / name;
    }
};

TEST_F(Staging, MovesIntoFanOutAndWritesMd5) {
    stage_file(write("foo", "hello\n"), settings, {});
    EXPECT_FALSE(fs::exists(dir.path() / "foo"));
    EXPECT_EQ(read_file(dir.path() / "download/db/foo"), "hello\n");  // upstream fact: foo -> db at fan-out 1024
    EXPECT_EQ(read_file(dir.path() / "download/db/foo.md5"), "b1946ac92492d2347c6235b4d2611184 6\n");
    const auto staged = find_staged("foo", settings);
    EXPECT_EQ(staged.url, "http://h/download/db/foo");
    EXPECT_EQ(staged.md5, "b1946ac92492d2347c6235b4d2611184");
    EXPECT_EQ(staged.nbytes, 6u);
}

/// Below the mount point of a file system that is away nobody could fetch the file.
TEST_F(Staging, TheDownloadFolderItselfIsNeverMade) {
    fs::remove(settings.download_dir);
    const fs::path file = write("foo", "hello\n");
    for (const int fanout : {0, 1024}) {
        settings.fanout = fanout;
        try {
            stage_file(file, settings, {});
            ADD_FAILURE() << "staged";
        } catch (const FileError& e) {
            EXPECT_NE(std::string(e.what()).find(settings.download_dir.string() + ": No such file or directory"),
                      std::string::npos)
                << e.what();
        }
    }
    EXPECT_FALSE(fs::exists(settings.download_dir));
    EXPECT_EQ(read_file(file), "hello\n") << "it is still there";
}

TEST_F(Staging, WhoeverMakesDownloadFolderIsToldItsOwner) {
    fs::remove(settings.download_dir);
    const fs::path file = write("foo", "hello\n"), project = dir.path() / "project", disk = dir.path() / "disk";
    fs::create_directory(project);
    std::ofstream(project / "config.xml") << "<boinc></boinc>";
    const bool root = ::geteuid() == 0;
    ASSERT_TRUE(!root || ::chown(project.c_str(), 54321, 54321) == 0);
    ::setenv("BOINC_PROJECT_DIR", project.c_str(), 1);
    const auto command = [&](const fs::path& made) {
        const std::string owner = root ? "54321" : user_name(::geteuid());
        return "mkdir -m 755 " + shell_quoted(made.string()) + " && chown " + owner + " " + shell_quoted(made.string());
    };
    const auto told = [&]() -> std::string {
        try {
            stage_file(file, settings, {});
        } catch (const FileError& e) {
            return e.what();
        }
        return "staged";
    };
    EXPECT_THAT(told(), testing::EndsWith(command(settings.download_dir)));
    fs::create_symlink(disk, settings.download_dir);
    EXPECT_THAT(told(), testing::HasSubstr("it is a symbolic link to " + disk.string() + ", which is not there"));
    EXPECT_THAT(told(), testing::EndsWith(command(disk))) << "mkdir makes nothing in place of a link";
    ::unsetenv("BOINC_PROJECT_DIR");
}

TEST_F(Staging, CopyKeepsTheOriginalAndGzipCompresses) {
    stage_file(write("foo", std::string(10000, 'a')), settings, {.copy = true, .gzip = true});
    EXPECT_TRUE(fs::exists(dir.path() / "foo"));
    EXPECT_EQ(read_file(dir.path() / "download/db/foo.gz")->substr(0, 2), "\x1f\x8b");
    EXPECT_GT(find_staged("foo", settings, true).gzipped_nbytes, 0u);
    EXPECT_EQ(find_staged("foo", settings).gzipped_nbytes, 0u) << "nobody asked";
}

TEST_F(Staging, EverybodyCanReadWhatIsPublished) {
    const auto mode = [&](const char* path) {
        return static_cast<unsigned>(fs::status(dir.path() / "download" / path).permissions());
    };
    const mode_t umask = ::umask(077);
    const fs::path file = write("foo", "hello\n");
    EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
    stage_file(file, settings, {.copy = true, .gzip = true});
    EXPECT_EQ(mode("db"), 0755u);
    EXPECT_EQ(mode("db/foo"), 0644u);
    EXPECT_EQ(mode("db/foo.gz"), 0644u);
    EXPECT_EQ(mode("db/foo.md5"), 0664u) << "whoever creates work of it";
    fs::permissions(dir.path() / "download/db/foo", fs::perms(0600));
    stage_file(file, settings, {});
    EXPECT_EQ(mode("db/foo"), 0644u) << "published again";
    EXPECT_EQ(::umask(umask), 077u) << "it stays as it was";
}

TEST_F(Staging, SameNameOtherContentIsRefused) {
    stage_file(write("foo", "one"), settings, {});
    stage_file(write("foo", "one"), settings, {});
    EXPECT_THROW(stage_file(write("foo", "two"), settings, {}), FileError);
    EXPECT_TRUE(fs::exists(dir.path() / "foo")) << "nothing is lost";
    EXPECT_EQ(read_file(dir.path() / "download/db/foo"), "one");
}

TEST_F(Staging, StaleOrMalformedMd5CacheIsNotBelieved) {
    stage_file(write("foo", "hello\n"), settings, {});
    const std::string zeros(35, '\0');  // as a power failure can leave it, and an empty one
    for (const std::string& text : {std::string("0"), std::string("ffffffffffffffffffffffffffffffff 7\n"),
                                    std::string("ffff 6\n"), std::string(), zeros}) {
        write_file_atomically(dir.path() / "download/db/foo.md5", text);
        EXPECT_EQ(find_staged("foo", settings).md5, "b1946ac92492d2347c6235b4d2611184") << text;
    }
    EXPECT_EQ(read_file(dir.path() / "download/db/foo.md5"), "b1946ac92492d2347c6235b4d2611184 6\n");
}

TEST_F(Staging, ATopLevelFileMovesIntoTheHierarchy) {
    fs::create_directories(dir.path() / "download");
    write("download/foo", "x");
    EXPECT_EQ(find_staged("foo", settings).nbytes, 1u);
    EXPECT_TRUE(fs::exists(dir.path() / "download/db/foo"));
}

/// To stage it again, as a file that nobody staged, would put it below the mount point.
TEST_F(Staging, FileSystemThatMayBeAwayIsSaid) {
    const auto told = [&]() -> std::string {
        try {
            find_staged("foo", settings);
        } catch (const FileError& e) {
            return e.what();
        }
        return "found";
    };
    EXPECT_THAT(told(), testing::HasSubstr("is a file system not mounted?")) << "an empty mount point";
    fs::create_directory(settings.download_dir / "db");
    write("download/.hidden", "x");
    EXPECT_FALSE(has_files(settings.download_dir)) << "folders say nothing";
    write("download/db/bar", "x");
    EXPECT_TRUE(has_files(settings.download_dir));
    EXPECT_THAT(told(), testing::AllOf(testing::HasSubstr("stage it first with bin/stage_file"),
                                       testing::Not(testing::HasSubstr("mounted"))));
    fs::remove_all(settings.download_dir);
    EXPECT_THAT(told(), testing::HasSubstr("the download folder can't be used: "));
}

/// What can't be seen is not missing: it would be replaced.
TEST_F(Staging, AFileBehindAClosedFolderStays) {
    if (::geteuid() == 0) GTEST_SKIP() << "root sees into every folder";
    stage_file(write("foo", "one"), settings, {});
    const fs::path folder = dir.path() / "download/db", top = dir.path() / "download/foo";
    write("download/foo", "two");
    fs::permissions(folder, fs::perms::none);
    const auto refusal = [](const auto& action) -> std::string {
        try {
            action();
        } catch (const FileError& e) {
            return e.what();
        }
        return "none";
    };
    for (const std::string& why : {refusal([&] { find_staged("foo", settings); }),
                                   refusal([&] { stage_file(write("foo", "three"), settings, {}); })}) {
        EXPECT_NE(why.find("can't look for " + (folder / "foo").string() + ": Permission denied"), std::string::npos)
            << why;
        EXPECT_EQ(why.find("stage it first"), std::string::npos);
    }
    fs::permissions(folder, fs::perms::owner_all);
    EXPECT_EQ(read_file(folder / "foo"), "one");
    EXPECT_EQ(find_staged("foo", settings).nbytes, 3u);
}

TEST_F(Staging, NameThatLooksLikeOptionIsRefused) {
    const fs::path file = write("-rf", "x");
    EXPECT_THROW(stage_file(file, settings, {}), FileError);
    EXPECT_TRUE(fs::exists(file));
}

TEST_F(Staging, WhatIsMissingOrBadIsSaid) {
    try {
        find_staged("nothere", settings);
        FAIL();
    } catch (const FileError& e) {
        EXPECT_NE(std::string(e.what()).find("stage_file"), std::string::npos);
    }
    EXPECT_THROW(find_staged("../etc/passwd", settings), FileError);
    EXPECT_THROW(stage_file(dir.path(), settings, {}), FileError);
}

}  // namespace
}  // namespace sluice
