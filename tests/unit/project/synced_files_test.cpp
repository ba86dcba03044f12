// SPDX-License-Identifier: LGPL-3.0-or-later
// A power cut right after a move: programs are on the disk before they get their names, and the names before the move
// goes on. The program's own fsync() tells what was synced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "config/project/make_project/open_folder.h"
#include "sched/adopt/moved_project.h"
#include "sched/adopt/program_files.h"
#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"

namespace {
std::vector<std::string> synced;
}

// Takes the place of the C library's in this program.
extern "C" int fsync(int fd) {
    synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)));
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace sluice::test {
namespace {

using testing::ElementsAre;

class SyncedFiles : public testing::Test {
  protected:
    SyncedFiles() {
        fs::create_directories(dir_ / "bin");
        synced.clear();
    }
    std::string bin() const { return (dir_ / "bin").string(); }

    const TempDir dir_;
};

TEST_F(SyncedFiles, MakeProjectSyncsAProgramThenItsName) {
    OpenFolder(dir_ / "bin").put_file("feeder", "program", 0555);
    EXPECT_THAT(synced, ElementsAre(bin() + "/.feeder.new", bin()));
}

TEST_F(SyncedFiles, MoveSyncsAProgramThenItsName) {
    const auto from = dir_.write("installed", "program");
    copy_over(from, dir_ / "bin/feeder");
    EXPECT_THAT(synced, ElementsAre(bin() + "/.feeder.sluice_new", bin()));
}

/// The new name first.
TEST_F(SyncedFiles, WayBackSyncsBothNames) {
    const auto kept = dir_.write("kept/feeder", "old");
    move_over(kept, dir_ / "bin/feeder");
    EXPECT_THAT(synced, ElementsAre(bin(), (dir_ / "kept").string()));
}

TEST_F(SyncedFiles, MoveSyncsConfigThenItsName) {
    dir_.write("config.xml", "<boinc/>\n");
    MovedProject(dir_.path()).write_config("<boinc><config/></boinc>\n");
    ASSERT_FALSE(synced.empty());
    EXPECT_EQ(read_file(dir_ / "config.xml"), "<boinc><config/></boinc>\n");
    EXPECT_NE(synced.front(), (dir_ / "config.xml").string()) << "it has another name then";
    EXPECT_EQ(synced.back(), dir_.path().string());
    EXPECT_EQ(synced.size(), 3u) << "the file, the folder with its first name, the folder with its last";
}

/// The web server's account, or a reader of logs, may be named there only.
TEST_F(SyncedFiles, SharedLogKeepsNamesOfAccessList) {
    struct Entry {
        std::uint16_t tag, rights;
        std::uint32_t id;
    };
    struct List {
        std::uint32_t version = 2;
        Entry entries[6];
    };
    constexpr const char* kList = "system.posix_acl_access";
    const auto log = dir_.write("scheduler.log", "of the web server\n");
    // The mask lets the group 40001 read only, whatever its entry says.
    const List old{2, {{1, 4, ~0u}, {2, 4, 40000}, {4, 4, ~0u}, {8, 7, 40001}, {16, 4, ~0u}, {32, 0, ~0u}}};
    ASSERT_EQ(::setxattr(log.c_str(), kList, &old, sizeof old, 0), 0) << "TMPDIR needs access control lists";
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(log.c_str(), 40002, static_cast<gid_t>(-1)), 0);
    }
    share_log(dir_.path());
    EXPECT_EQ(read_file(log), "");
    const List wanted{2, {{1, 6, ~0u}, {2, 4, 40000}, {4, 6, ~0u}, {8, 4, 40001}, {16, 6, ~0u}, {32, 0, ~0u}}};
    List found{};
    ASSERT_EQ(::getxattr(log.c_str(), kList, &found, sizeof found), static_cast<ssize_t>(sizeof found));
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(found.entries[i].tag, wanted.entries[i].tag) << i;
        EXPECT_EQ(found.entries[i].rights, wanted.entries[i].rights) << i;
        EXPECT_EQ(found.entries[i].id, wanted.entries[i].id) << i;
    }
}

}  // namespace
}  // namespace sluice::test
