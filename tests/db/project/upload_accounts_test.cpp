// SPDX-License-Identifier: LGPL-3.0-or-later
// Who owns uploads: the web server's account writes results, the project's reads and deletes them, and neither is in a
// group of the other's (docs/security.md, "Who owns uploads"). The upload handler, start, make_project and
// sluice_options are the real ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "config/load.h"
#include "config/options/web_access.h"
#include "config/options/web_files.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/db/project/accounts.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What "--check" says of the upload folder, and what it prints to be run.
std::vector<PermissionFinding> upload_problems(const fs::path& project) {
    const auto facts = read_upload_facts(project, load_config(project).config);
    return facts ? upload_findings(*facts) : std::vector<PermissionFinding>{{"the upload folder can't be seen", ""}};
}

class UploadAccounts : public Accounts {
  protected:
    void make() {
        const RunResult made = make_project({"--user", "games", "--web_user", "www-data", "--no_upload_certificates"});
        ASSERT_EQ(made.status, 0) << made.err;
    }
    /// The real handler, as the web server's account, which has no groups but its own.
    void upload(const std::string& name, const char* umask = "022") {
        RunOptions request;
        request.stdin_text =
            "<data_server_request>\n<core_client_major_version>8</core_client_major_version>\n<file_upload>\n<file_info>\n"
            "<name>" +
            name +
            "</name>\n<max_nbytes>9</max_nbytes>\n</file_info>\n<nbytes>2</nbytes>\n<offset>0</offset>\n<data>\nok";
        request.env = {{"BOINC_PROJECT_DIR", root_.string()},
                       {"REQUEST_METHOD", "POST"},
                       {"CONTENT_LENGTH", std::to_string(request.stdin_text.size())}};
        const RunResult done =
            run({"setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "sh", "-c",
                 std::string("umask ") + umask + "; exec \"$0\"", (root_ / "cgi-bin/file_upload_handler").string()},
                request);
        EXPECT_THAT(done.out, HasSubstr("<status>0</status>")) << done.err;
    }
    fs::path place(const std::string& name) const { return fanout_path(root_ / "upload", name, 1024); }
    /// By the project's account, which is in no group of the web server's.
    bool validates(const std::string& name) {
        return can("games", [&] { return read_file(place(name)) == "ok"; });
    }
    bool deletes(const std::string& name) {
        return can("games", [&] { return ::unlink(place(name).c_str()) == 0; });
    }
    RunResult start_cron() {
        return run(
            {"setpriv", "--reuid=games", "--regid=games", "--clear-groups", (root_ / "bin/start").string(), "--cron"});
    }
};

TEST_F(UploadAccounts, TheProjectReadsAndDeletesUploads) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    for (const char* umask : {"022", "077", "0"}) {
        const std::string name = std::string("wu_1_r_") + umask;
        upload(name, umask);
        EXPECT_TRUE(validates(name)) << umask;
        EXPECT_FALSE(can("nobody", [&] { return read_file(place(name)).has_value(); })) << umask;
        EXPECT_FALSE(can("games", [&] { return writes(place(name)); })) << "complete";
        EXPECT_TRUE(deletes(name)) << umask;
    }
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
}

TEST_F(UploadAccounts, HashFolderThatHandlerMakesIsProjectsToo) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    fs::remove(place("wu_2_r").parent_path());
    upload("wu_2_r", "077");
    EXPECT_TRUE(validates("wu_2_r"));
    EXPECT_FALSE(can("nobody", [&] { return read_file(place("wu_2_r")).has_value(); }));
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    EXPECT_TRUE(deletes("wu_2_r"));
    // Where everybody gets into upload/, such a folder is nobody's but its maker's.
    fs::permissions(root_ / "upload", fs::perms(0771));
    fs::remove(place("wu_3_r").parent_path());
    upload("wu_3_r");
    struct stat made {};
    ASSERT_EQ(::stat(place("wu_3_r").parent_path().c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0002, 0u);
}

TEST_F(UploadAccounts, StartMakesHashFoldersThatAreMissing) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    for (const char* name : {"0", "3ff"}) fs::remove(root_ / "upload" / name);
    ASSERT_EQ(start_cron().status, 0);
    for (const char* name : {"0", "3ff", "1"}) {
        struct stat info {};
        ASSERT_EQ(::stat((root_ / "upload" / name).c_str(), &info), 0) << name;
        EXPECT_EQ(info.st_uid, ::getpwnam("games")->pw_uid) << name;
        EXPECT_EQ(info.st_gid, ::getgrnam("www-data")->gr_gid) << name;
        EXPECT_EQ(info.st_mode & 07777, 02770u) << name;
    }
    // An empty one may be the place of a disk that is not mounted.
    for (const auto& folder : fs::directory_iterator(root_ / "upload")) fs::remove(folder);
    ASSERT_EQ(start_cron().status, 0);
    EXPECT_TRUE(fs::is_empty(root_ / "upload"));
    // Without the set-group-ID bit a folder of the project's account could not be written by the web server's.
    fs::create_directory(root_ / "upload/7");
    fs::permissions(root_ / "upload", fs::perms(0770));
    ASSERT_EQ(start_cron().status, 0);
    EXPECT_FALSE(fs::exists(root_ / "upload/8"));
    upload("wu_4_r");
    EXPECT_TRUE(validates("wu_4_r") && deletes("wu_4_r"));
}

/// What is printed for the folders themselves would not help.
TEST_F(UploadAccounts, ShutFolderAboveUploadsIsNamedAndMended) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const fs::path disk = fs::canonical(dir_.path()) / "the disk", uploads = disk / "data/uploads";
    fs::create_directories(uploads.parent_path());
    fs::rename(root_ / "upload", uploads);
    std::string config = read_file(root_ / "config.xml").value();
    const std::string was = (root_ / "upload").string() + "</upload_dir>";
    config.replace(config.find(was), was.size(), uploads.string() + "</upload_dir>");
    std::ofstream(root_ / "config.xml") << config;
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    for (const fs::path& shut : {disk, uploads.parent_path()}) {
        SCOPED_TRACE(shut);
        fs::permissions(shut, fs::perms(0700));
        const auto problems = upload_problems(root_);
        ASSERT_EQ(problems.size(), 2u);
        for (const PermissionFinding& problem : problems)
            EXPECT_THAT(problem.what, HasSubstr(shut.string() + ", above the upload folder, can't be entered by "));
        EXPECT_THAT(problems[0].what, HasSubstr("games, the project's account"));
        EXPECT_THAT(problems[1].what, HasSubstr("www-data, the web server's account: uploads fail"));
        EXPECT_EQ(run({"sh", "-c", problems[1].command}).status, 0);
        EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    }
}

/// `sed -i` as the project's account puts a new config.xml there, with that account's group; a home folder is shut,
/// say.
TEST_F(UploadAccounts, AnUnreadableConfigurationIsNamedAndMended) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const auto problems = [&] { return web_file_findings(*read_web_files(root_, load_config(root_).config)); };
    EXPECT_THAT(problems(), testing::IsEmpty());
    ASSERT_EQ(run({"setpriv", "--reuid=games", "--regid=games", "--clear-groups", "sed", "-i", "s/tiles/tiles/",
                   (root_ / "config.xml").string()})
                  .status,
              0);
    const RunResult checked = run({(root_ / "bin/sluice_options").string(), "--check", root_.string()});
    EXPECT_EQ(checked.status, 1);
    EXPECT_THAT(checked.out, HasSubstr("error: " + (root_ / "config.xml").string() + " can't be read by www-data"));
    for (const fs::path& closed : {root_ / "config.xml", root_ / "keys/upload_public", root_, dir_.path()}) {
        SCOPED_TRACE(closed);
        if (closed != root_ / "config.xml") fs::permissions(closed, fs::perms(0700));
        if (closed == root_ / "keys/upload_public") {
            EXPECT_THAT(problems(), testing::IsEmpty());  // this project doesn't look at certificates
            fs::permissions(closed, fs::perms(0644));
            continue;
        }
        const auto found = problems();
        ASSERT_EQ(found.size(), 1u);
        EXPECT_TRUE(found[0].refused);
        EXPECT_THAT(found[0].what, AllOf(HasSubstr(closed.string() + " can't be"), HasSubstr("www-data")));
        ASSERT_EQ(std::system(found[0].command.c_str()), 0);
        EXPECT_THAT(problems(), testing::IsEmpty());
        upload("wu_8_r" + closed.filename().string());
    }
    for (const fs::path& folder : {root_ / "download", root_ / "html"}) {
        fs::permissions(folder, fs::perms(0700));
        const auto shut = problems();
        ASSERT_EQ(shut.size(), 1u);
        EXPECT_THAT(shut[0].what, HasSubstr(folder.string() + " can't be entered by www-data"));
        ASSERT_EQ(std::system(shut[0].command.c_str()), 0);
        EXPECT_THAT(problems(), testing::IsEmpty());
    }
    // What a link leads to is named: nobody gives that away unseen, and the folder on the way may be what is shut.
    const fs::path disk = fs::canonical(dir_.path()) / "disk";
    fs::create_directory(disk);
    fs::rename(root_ / "download", disk / "download");
    fs::create_directory_symlink(disk / "download", root_ / "download");
    for (const fs::path& folder : {disk / "download", disk}) {
        fs::permissions(folder, fs::perms(0700));
        const auto shut = problems();
        ASSERT_EQ(shut.size(), 1u);
        EXPECT_THAT(shut[0].what, HasSubstr(folder.string() + " can't be entered by www-data"));
        EXPECT_THAT(shut[0].command, testing::EndsWith(folder.string()));
        ASSERT_EQ(std::system(shut[0].command.c_str()), 0);
        EXPECT_THAT(problems(), testing::IsEmpty());
    }
    fs::permissions(root_ / ("log_" + short_host_name()) / "file_upload_handler.log", fs::perms(0600));
    const auto found = problems();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].refused);
    ASSERT_EQ(std::system(found[0].command.c_str()), 0);
    EXPECT_THAT(problems(), testing::IsEmpty());
}

/// As the upload handler of earlier versions, and the original one, made them.
TEST_F(UploadAccounts, TheWebServersFoldersAreNamedAndMended) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const passwd web = *::getpwnam("www-data");
    for (const auto mode : {02770, 02771, 02750, 01777}) {
        SCOPED_TRACE(fmt::format("{:o}", mode));
        const fs::path folder = place("wu_5_r").parent_path();
        upload("wu_5_r");
        ASSERT_EQ(::chown(folder.c_str(), web.pw_uid, web.pw_gid), 0);
        ASSERT_EQ(::chmod(folder.c_str(), static_cast<mode_t>(mode)), 0);
        EXPECT_FALSE(validates("wu_5_r") && deletes("wu_5_r"));
        // Root and the project's user see the same.
        for (const std::vector<std::string>& who :
             {std::vector<std::string>{}, {"setpriv", "--reuid=games", "--regid=games", "--clear-groups"}}) {
            std::vector<std::string> words = who;
            words.insert(words.end(), {(root_ / "bin/sluice_options").string(), "--check", root_.string()});
            const RunResult checked = run(words);
            EXPECT_EQ(checked.status, 1);
            EXPECT_THAT(checked.out,
                        AllOf(HasSubstr("error: " + folder.string() + " can't be read and changed by games"),
                              HasSubstr("-exec chown games:www-data {} + -exec chmod 2770 {} +")));
        }
        const auto found = upload_problems(root_);
        ASSERT_EQ(found.size(), 1u);
        ASSERT_EQ(std::system(found[0].command.c_str()), 0);
        EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
        upload("wu_5_again");
        EXPECT_TRUE(validates("wu_5_r") && validates("wu_5_again"));
        EXPECT_TRUE(deletes("wu_5_r") && deletes("wu_5_again"));
    }
}

TEST_F(UploadAccounts, ClosedFilesAndFoldersAreNamed) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    upload("wu_6_r");
    fs::permissions(place("wu_6_r"), fs::perms(0440));
    auto found = upload_problems(root_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].refused);
    EXPECT_THAT(found[0].what, HasSubstr("wu_6_r can't be read by games"));
    ASSERT_EQ(::chown(place("wu_6_r").c_str(), 0, 0), 0);
    ASSERT_EQ(std::system(found[0].command.c_str()), 0);
    EXPECT_TRUE(validates("wu_6_r"));
    struct stat file {};
    ASSERT_EQ(::stat(place("wu_6_r").c_str(), &file), 0);
    EXPECT_EQ(file.st_uid, ::getpwnam("www-data")->pw_uid);
    EXPECT_EQ(file.st_gid, ::getgrnam("www-data")->gr_gid);
    EXPECT_EQ(file.st_mode & 07777, 0444u);

    const fs::path upload_dir = root_ / "upload";
    ASSERT_EQ(::chown(upload_dir.c_str(), ::getpwnam("games")->pw_uid, ::getpwnam("games")->pw_gid), 0);
    found = upload_problems(root_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_THAT(found[0].what, HasSubstr("can't be written by www-data"));
    ASSERT_EQ(std::system(found[0].command.c_str()), 0);
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    upload("wu_7_r");

    std::string config = read_file(root_ / "config.xml").value();
    config.insert(config.find("</config>"), "<fuh_set_completed_permission>440</fuh_set_completed_permission>");
    std::ofstream(root_ / "config.xml", std::ios::trunc) << config;
    found = upload_problems(root_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_THAT(found[0].what, HasSubstr("<fuh_set_completed_permission>"));
    fs::permissions(upload_dir, fs::perms(0777));
    EXPECT_THAT(upload_problems(root_).back().what, HasSubstr("can be changed by everybody"));
}

TEST_F(UploadAccounts, FoldersMissingAreMadeByPrintedCommands) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    make();
    const auto missing = [&] { return missing_folders(load_config(root_).config); };
    EXPECT_THAT(missing(), testing::IsEmpty());
    fs::remove_all(root_ / "upload");
    fs::remove_all(root_ / "download");
    const auto found = missing();
    ASSERT_EQ(found.size(), 2u);
    for (const std::string& line : found) {
        const auto at = line.find("as root: ");
        ASSERT_NE(at, std::string::npos) << line;
        ASSERT_EQ(std::system(line.substr(at + 9).c_str()), 0) << line;
    }
    EXPECT_THAT(missing(), testing::IsEmpty());
    EXPECT_THAT(upload_problems(root_), testing::IsEmpty());
    upload("wu_8_r");
    EXPECT_TRUE(validates("wu_8_r") && deletes("wu_8_r"));
    EXPECT_TRUE(can("games", [&] { return writes(root_ / "download/file"); }));
}

}  // namespace
}  // namespace sluice::test
