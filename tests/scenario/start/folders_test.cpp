// Which folders and logs bin/start makes, and that bin/status makes none.
#include <gmock/gmock.h>

#include "start_fixture.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// As CGI the scheduler writes its log as the web server's account, as a FastCGI server as the project's.
TEST_F(StartTest, LogsThatTheWebServerWritesTooAreMadeByTheProject) {
    config("");
    dir_.write("log_" + host_ + "/file_upload_handler.log", "kept\n");
    EXPECT_EQ(run_program("start").status, 0);
    EXPECT_EQ(fs::status(log_dir() / "scheduler.log").permissions(), fs::perms(0660));
    EXPECT_EQ(text_of(log_dir() / "file_upload_handler.log"), "kept\n");
}

TEST_F(StartTest, StatusMakesNothing) {
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    for (const char* folder : {"log_", "pid_", "tmp_"}) fs::remove_all(dir_ / (folder + host_));
    EXPECT_THAT(run_program("status").out, HasSubstr("NOT RUNNING"));
    for (const char* folder : {"log_", "pid_", "tmp_"}) EXPECT_FALSE(fs::exists(dir_ / (folder + host_))) << folder;
}

}  // namespace
}  // namespace sluice::test
