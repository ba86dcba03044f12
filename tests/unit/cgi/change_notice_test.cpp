// SPDX-License-Identifier: LGPL-3.0-or-later
// Each change that a request must see is told at once: no time passes on the clock of these tests.
#include "sched/cgi/change_notice.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace sluice;

namespace {

/// In memory: what /tmp lies on, for instance in a container, need not tell of changes.
fs::path folder_in_memory() {
    std::string name = "/dev/shm/sluice_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("can't make a folder in /dev/shm");
    return name;
}

class ChangeNoticeTest : public testing::Test {
  protected:
    ChangeNoticeTest() {
        fs::create_directory(folder_ / "keys");
        fs::create_directory(folder_ / "logs");
        write("config.xml", "old");
        notice_.watch({folder_ / "config.xml", folder_ / "stop_sched", folder_ / "keys", folder_ / "logs" / ""});
        EXPECT_TRUE(any()) << "all is to be looked at once";
        EXPECT_FALSE(any());
    }
    ~ChangeNoticeTest() override { fs::remove_all(folder_); }
    bool any() { return notice_.any(now_); }
    void write(const char* name, const char* text) { std::ofstream(folder_ / name) << text; }

    const fs::path folder_ = folder_in_memory();
    ChangeNotice notice_;
    ChangeNotice::Clock::time_point now_{std::chrono::seconds(100)};
};

TEST_F(ChangeNoticeTest, WrittenInPlace) {
    write("config.xml", "new");
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
}

TEST_F(ChangeNoticeTest, ReplacedAndThenWrittenInPlace) {
    write("config.new", "new");
    fs::rename(folder_ / "config.new", folder_ / "config.xml");
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
    write("config.xml", "newer");
    EXPECT_TRUE(any());
}

TEST_F(ChangeNoticeTest, FileComesAndGoes) {
    write("stop_sched", "");
    EXPECT_TRUE(any());
    write("stop_sched", "since it came it is watched");
    EXPECT_TRUE(any());
    fs::remove(folder_ / "stop_sched");
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
}

TEST_F(ChangeNoticeTest, OtherRights) {
    ASSERT_EQ(::chmod((folder_ / "config.xml").c_str(), 0600), 0);
    EXPECT_TRUE(any());
}

TEST_F(ChangeNoticeTest, WhatComesIntoAWatchedFolder) {
    write("keys/new", "");
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
}

TEST_F(ChangeNoticeTest, LogIsMovedButNotWritten) {
    write("logs/scheduler.log", "line");
    EXPECT_TRUE(any());
    write("logs/scheduler.log", "line, next line");
    EXPECT_FALSE(any()) << "each request writes to it";
    fs::rename(folder_ / "logs/scheduler.log", folder_ / "logs/scheduler.log.1");
    EXPECT_TRUE(any());
}

TEST_F(ChangeNoticeTest, TargetOfALinkIsWritten) {
    write("elsewhere", "old");
    fs::create_symlink(folder_ / "elsewhere", folder_ / "keys" / "link");
    notice_.watch({folder_ / "keys" / "link"});
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
    write("elsewhere", "new");
    EXPECT_TRUE(any());
}

TEST_F(ChangeNoticeTest, SaysSoOnceASecondInAnyCase) {
    now_ += std::chrono::milliseconds(999);
    EXPECT_FALSE(any());
    now_ += std::chrono::milliseconds(1);
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
}

TEST_F(ChangeNoticeTest, OtherFileSystemsAreLookedAtEachTime) {
    notice_.watch({"/proc/self/status"});
    EXPECT_TRUE(any());
    EXPECT_TRUE(any()) << "a file system that is not known to tell";
    notice_.watch({folder_ / "no folder" / "file"});
    EXPECT_TRUE(any());
    EXPECT_TRUE(any()) << "the folder may come";
    notice_.watch({folder_ / "config.xml"});
    EXPECT_TRUE(any());
    EXPECT_FALSE(any());
}

}  // namespace
