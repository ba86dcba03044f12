// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/project.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "sluice/base/error.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A project folder as current folder's parent; everything is put back afterwards.
class ProjectDir : public testing::Test {
  protected:
    ProjectDir() {
        ::unsetenv("BOINC_PROJECT_DIR");
        dir.write("project/config.xml", "<boinc/>");
        fs::create_directories(dir / "project/bin/deep");
    }
    ~ProjectDir() override {
        fs::current_path(before);
        ::unsetenv("BOINC_PROJECT_DIR");
    }
    std::string failure() {
        try {
            return "found " + find_project_dir().string();
        } catch (const ConfigError& e) {
            return e.what();
        }
    }
    fs::path before = fs::current_path();
    test::TempDir dir;
};

TEST_F(ProjectDir, IsTheCurrentFolderOrItsParent) {
    for (const char* at : {"project", "project/bin"}) {
        fs::current_path(dir / at);
        EXPECT_EQ(find_project_dir(), fs::canonical(dir / "project")) << at;
    }
    fs::current_path(dir / "project/bin/deep");
    EXPECT_THAT(failure(), HasSubstr("set BOINC_PROJECT_DIR"));
}

TEST_F(ProjectDir, TheEnvironmentDecides) {
    dir.write("other/config.xml", "<boinc/>");
    fs::current_path(dir / "other");
    ::setenv("BOINC_PROJECT_DIR", (dir / "project").c_str(), 1);
    EXPECT_EQ(find_project_dir(), fs::canonical(dir / "project"));
    ::setenv("BOINC_PROJECT_DIR", (dir / "nowhere").c_str(), 1);
    EXPECT_THAT(failure(), HasSubstr("nowhere"));  // and not silently the current folder
    ::setenv("BOINC_PROJECT_DIR", "", 1);
    EXPECT_EQ(find_project_dir(), fs::canonical(dir / "other"));
}

TEST(HostName, IsShort) {
    EXPECT_FALSE(short_host_name().empty());
    EXPECT_EQ(short_host_name().find('.'), std::string::npos);
    EXPECT_EQ(log_dir("/p"), "/p/log_" + short_host_name());
}

// A log folder that was deleted, made anew by a scheduler, kept the daemons or the web server out.
TEST(LogFolder, IsMadeForOwnerAndProjectsGroup) {
    const test::TempDir project;
    fs::create_directory(project / "upload");
    struct stat root {
    }, made{};
    const fs::path folder = log_dir(project.path());
    ASSERT_EQ(::stat(project.path().c_str(), &root), 0);
    const mode_t old = ::umask(077);
    make_log_folder(project.path(), root.st_uid);
    for (const char* log : {"scheduler.log", "file_upload_handler.log"}) {
        ASSERT_EQ(::stat((folder / log).c_str(), &made), 0) << log;
        EXPECT_EQ(made.st_mode & 07777, 0660u) << log;
    }
    ASSERT_EQ(::stat(folder.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 02750u);
    fs::permissions(folder, fs::perms(0700));
    make_log_folder(project.path(), root.st_uid);
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0700)) << "one that is there is left as it is";

    fs::remove_all(folder);
    make_log_folder(project.path(), root.st_uid + 1);
    ::umask(old);
    ASSERT_EQ(::stat(folder.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 01770u);
    EXPECT_EQ(made.st_gid, root.st_gid);
    EXPECT_TRUE(fs::is_empty(folder));
}

}  // namespace
}  // namespace sluice
