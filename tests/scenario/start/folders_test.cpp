// SPDX-License-Identifier: LGPL-3.0-or-later
// Which folders and logs bin/start makes, that bin/status makes none, and what start says of daemons that end at once.
#include <gmock/gmock.h>

#include "tests/scenario/start/start_fixture.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// As CGI the scheduler writes its log as the web server's account, as a FastCGI server as the project's.
TEST_F(StartTest, TheProjectMakesSharedLogs) {
    config("");
    dir_.write("log_" + host_ + "/file_upload_handler.log", "kept\n");
    EXPECT_EQ(run_program("start").status, 0);
    EXPECT_EQ(fs::status(log_dir() / "scheduler.log").permissions(), fs::perms(0660));
    EXPECT_EQ(text_of(log_dir() / "file_upload_handler.log"), "kept\n");
}

TEST_F(StartTest, MissingFoldersAreMade) {
    config("");
    for (const char* folder : {"log_", "pid_", "tmp_"}) fs::remove_all(dir_ / (folder + host_));
    EXPECT_EQ(run_program("start").status, 0);
    for (const fs::path& folder : {log_dir(), pid_dir()})
        EXPECT_EQ(fs::status(folder).permissions(), fs::perms(02750)) << folder;
    EXPECT_EQ(run_program("stop").status, 0);
}

TEST_F(StartTest, StatusMakesNothing) {
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    for (const char* folder : {"log_", "pid_", "tmp_"}) fs::remove_all(dir_ / (folder + host_));
    EXPECT_THAT(run_program("status").out, HasSubstr("NOT RUNNING"));
    for (const char* folder : {"log_", "pid_", "tmp_"}) EXPECT_FALSE(fs::exists(dir_ / (folder + host_))) << folder;
}

TEST_F(StartTest, ADaemonThatEndsAtOnceIsTold) {
    script("broken", "echo 'wrong password' >&2; exit 1");
    config("<daemons><daemon><cmd>broken</cmd></daemon></daemons>");
    const RunResult started = run_program("start");
    EXPECT_EQ(started.status, 1) << "a script that starts the project must notice";
    EXPECT_THAT(started.err, AllOf(HasSubstr("'broken' has ended already"), HasSubstr("broken.log")));
    EXPECT_THAT(text_of(log_dir() / "broken.log"), HasSubstr("wrong password"));
    EXPECT_EQ(run_program("stop").status, 0);
}

}  // namespace
}  // namespace sluice::test
