// SPDX-License-Identifier: LGPL-3.0-or-later
// What the accounts of a project may do: root runs none of its programs, and the web server's account changes nothing
// that the project runs, signs or believes.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <tuple>

#include "config/options/permissions.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "tests/db/project/accounts.h"
#include "tests/support/fastcgi_client.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

bool somebody_can_be_root() { return ::geteuid() == 0 || run({"unshare", "--map-root-user", "true"}).status == 0; }

TEST_F(Accounts, RootIsRefusedAndToldWhatToDo) {
    if (!somebody_can_be_root()) GTEST_SKIP() << "needs root, or a namespace in which this user is root";
    ASSERT_EQ(make_project({}, true).status, 0);
    for (const std::vector<std::string>& words : {std::vector<std::string>{"bin/start"},
                                                  {"bin/start", "--cron"},
                                                  {"bin/transitioner", "--one_pass"},
                                                  {"bin/feeder"},
                                                  {"bin/size_census"},
                                                  {"cgi-bin/cgi", "--listen", (dir_ / "sock").string()}}) {
        std::vector<std::string> full = words;
        full[0] = (root_ / words[0]).string();
        const RunResult refused = as_root(full, false);
        EXPECT_EQ(refused.status, 1) << words[0];
        EXPECT_THAT(refused.out + refused.err,
                    AllOf(HasSubstr("root"), HasSubstr("sudo -u "), HasSubstr("SLUICE_ALLOW_ROOT=1")))
            << words[0];
    }
    EXPECT_FALSE(fs::exists(dir_ / "sock"));
    // What runs already, started by root before this was refused, can be stopped; and who insists is not locked out.
    EXPECT_EQ(as_root({(root_ / "bin/stop").string()}, false).status, 0);
    const RunResult insisted = as_root({(root_ / "bin/start").string(), "--cron-tasks"}, true);
    EXPECT_EQ(insisted.status, 0) << insisted.err;
}

/// What they make would be root's, and keep the project's account out.
TEST_F(Accounts, ToolsRefuseRootInAnothersProject) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    std::ofstream(root_ / "input") << "x";
    for (const std::vector<std::string>& words : {std::vector<std::string>{"xadd"},
                                                  {"update_versions", "--noconfirm"},
                                                  {"stage_file", (root_ / "input").string()},
                                                  {"create_work", "--appname", "a", "--wu_name", "w", "input"}}) {
        std::vector<std::string> full = words;
        full[0] = (root_ / "bin" / words[0]).string();
        const RunResult refused = as_root(full, false);
        EXPECT_EQ(refused.status, 1) << words[0];
        EXPECT_THAT(refused.err, AllOf(HasSubstr("bin/" + words[0] + " does not run as root"),
                                       HasSubstr("sudo -u games bin/" + words[0])));
    }
    EXPECT_TRUE(fs::exists(root_ / "input"));
    // A project of root's own has nobody to keep out.
    ASSERT_EQ(::chown(root_.c_str(), 0, 0), 0);
    EXPECT_EQ(as_root({(root_ / "bin/stage_file").string(), (root_ / "input").string()}, false).status, 0);
}

TEST_F(Accounts, RootStoppingAProjectKeepsNobodyOut) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    for (const char* kind : {"log_", "pid_", "tmp_"}) fs::remove_all(root_ / (kind + short_host_name()));
    ASSERT_EQ(as_root({(root_ / "bin/stop").string()}, false).status, 0);
    EXPECT_THAT(permission_findings(root_), testing::IsEmpty());
    const fs::path log = root_ / ("log_" + short_host_name()) / "feeder.log";
    std::ofstream(log) << "by sudo";
    const auto found = permission_findings(root_);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].refused) << found[0].what;
    EXPECT_THAT(found[0].what, HasSubstr("feeder.log belongs to root"));
    ASSERT_EQ(std::system(found[0].command.c_str()), 0);
    EXPECT_THAT(permission_findings(root_), testing::IsEmpty());
    const uid_t owner = ::getpwnam("games")->pw_uid;
    ASSERT_EQ(::chown((root_ / ("pid_" + short_host_name())).c_str(), owner, ::getpwnam("games")->pw_gid), 0);
    const auto closed = permission_findings(root_);
    ASSERT_EQ(closed.size(), 1u);
    EXPECT_THAT(closed[0].what, HasSubstr("can't get in"));
    ASSERT_EQ(std::system(closed[0].command.c_str()), 0);
    EXPECT_THAT(permission_findings(root_), testing::IsEmpty());
    for (const char* kind : {"log_", "pid_", "tmp_"}) {
        const fs::path folder = root_ / (kind + short_host_name());
        struct stat info {};
        ASSERT_EQ(::stat(folder.c_str(), &info), 0);
        EXPECT_EQ(info.st_uid, owner) << folder;
        for (const auto& file : fs::directory_iterator(folder)) {
            ASSERT_EQ(::stat(file.path().c_str(), &info), 0);
            EXPECT_EQ(info.st_uid, owner) << file.path();
        }
    }
}

TEST_F(Accounts, AFileOfAnotherAccountSteersNoProgram) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    const fs::path file = dir_.write("size_census_app", "1e9\n");
    EXPECT_EQ(read_trusted_file(file, 100), "1e9\n");
    ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
    EXPECT_THROW(read_trusted_file(file, 100), FileError);
    ASSERT_EQ(::chown(dir_.path().c_str(), 65534, 65534), 0);
    EXPECT_EQ(read_trusted_file(file, 100), "1e9\n") << "the project's account may be another than the reader's";
}

TEST_F(Accounts, RootMakesProjectsForSomebodyElseOnly) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a project for another user";
    const RunResult refused = make_project({});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("--user"), HasSubstr("adduser")));
    EXPECT_EQ(make_project({"--user", "root"}).status, 1);
    EXPECT_EQ(make_project({"--user", "no_such_user"}).status, 1);
    EXPECT_FALSE(fs::exists(root_));
}

TEST_F(Accounts, WebServerWritesOnlyInFoldersOwn) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    const RunResult made = make_project({"--user", "games", "--web_user", "www-data"});
    ASSERT_EQ(made.status, 0) << made.err;
    const uid_t owner = ::getpwnam("games")->pw_uid;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
        struct stat info {};
        ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
        EXPECT_EQ(info.st_uid, owner) << entry.path();
        const bool link = S_ISLNK(info.st_mode);
        EXPECT_TRUE(link || (info.st_mode & 0002) == 0) << entry.path();
    }
    const std::string host = short_host_name();
    for (const std::string& folder :
         std::vector<std::string>{"", "bin", "cgi-bin", "keys", "apps", "templates", "download", "html/user",
                                  "log_" + host, "pid_" + host, "tmp_" + host})
        EXPECT_FALSE(can("www-data", [&] { return writes(root_ / folder / "planted"); })) << folder;
    for (const std::string& file :
         std::vector<std::string>{"bin/start", "config.xml", "project.xml", "keys/code_sign_private",
                                  "keys/upload_private", "keys/code_sign_public", "html/user/index.html"})
        EXPECT_FALSE(can("www-data", [&] { return writes(root_ / file); })) << file;
    for (const std::string& file :
         std::vector<std::string>{"upload/file", "html/cache/file", "log_" + host + "/scheduler.log",
                                  "log_" + host + "/file_upload_handler.log"})
        EXPECT_TRUE(can("www-data", [&] { return writes(root_ / file); })) << file;
    const auto reads = [&](const char* account, const std::string& file) {
        return can(account, [&] { return static_cast<bool>(std::ifstream(root_ / file)); });
    };
    EXPECT_TRUE(reads("www-data", "config.xml") && reads("www-data", "keys/upload_private"));
    EXPECT_FALSE(reads("www-data", "keys/code_sign_private"));
    for (const std::string& file : std::vector<std::string>{
             std::string("config.xml"), std::string("keys/upload_private"), "log_" + host + "/scheduler.log"})
        EXPECT_FALSE(reads("nobody", file)) << file;
    EXPECT_THAT(permission_findings(root_), testing::IsEmpty());
    // root stops it; nothing of root's is in the way of the project's own user afterwards.
    ASSERT_EQ(as_root({(root_ / "bin/stop").string()}, false).status, 0);
    const RunResult cron =
        run({"setpriv", "--reuid=games", "--regid=games", "--clear-groups", (root_ / "bin/start").string(), "--cron"});
    EXPECT_EQ(cron.status, 0) << cron.err;
    EXPECT_TRUE(can("games", [&] { return writes(root_ / ("pid_" + host) / "feeder.pid"); }));
    // Who may read a lock's file can lock it for reading, and then nothing starts.
    int locks = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
        const std::string name = entry.path().filename().string();
        if (name.find("lock") == std::string::npos) continue;
        const std::string file = fs::relative(entry.path(), root_).string();
        ++locks;
        EXPECT_FALSE(reads("www-data", file) || reads("nobody", file)) << file;
    }
    EXPECT_GE(locks, 1) << "of bin/start";
}

/// docs/security.md, "A scheduler with an account of its own".
TEST_F(Accounts, TheSchedulerNeedsNoSigningKey) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    fs::remove(root_ / "keys/code_sign_private");
    RunOptions request;
    request.env = {{"BOINC_PROJECT_DIR", root_.string()}, {"REQUEST_METHOD", "POST"}, {"REMOTE_ADDR", "127.0.0.1"}};
    request.stdin_text = "<scheduler_request>\n</scheduler_request>\n";
    request.env["CONTENT_LENGTH"] = std::to_string(request.stdin_text.size());
    request.cwd = root_ / "cgi-bin";
    const RunResult reply = run({"setpriv", "--reuid=nobody", "--regid=www-data", "--clear-groups", "--no-new-privs",
                                 (root_ / "cgi-bin/cgi").string()},
                                request);
    EXPECT_EQ(reply.status, 0) << reply.err;
    EXPECT_THAT(reply.out, HasSubstr("</scheduler_reply>"));
    std::ifstream log(root_ / ("log_" + short_host_name()) / "scheduler.log");
    EXPECT_THAT((std::string{std::istreambuf_iterator<char>(log), {}}), HasSubstr("[PID=")) << reply.err;
}

/// NAME.scheduler.service, as systemd runs it, with another account's name and another folder for the socket.
TEST_F(Accounts, SchedulersServerMayBeAccountOfItsOwn) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    const std::string unit = read_file(root_ / "tiles.scheduler.service").value();
    EXPECT_THAT(unit, AllOf(HasSubstr("User=boincsched\nGroup=www-data\n"), HasSubstr("InaccessiblePaths=-")));
    fs::remove(root_ / "keys/code_sign_private");
    const fs::path socket = dir_ / "run/cgi.sock";
    fs::create_directory(dir_ / "run");
    ASSERT_EQ(::chown((dir_ / "run").c_str(), ::getpwnam("nobody")->pw_uid, ::getgrnam("www-data")->gr_gid), 0);
    fs::permissions(dir_ / "run", fs::perms(0750));
    std::vector<std::string> words{"setpriv", "--reuid=nobody", "--regid=www-data", "--clear-groups", "--no-new-privs"};
    const auto begin = unit.find("ExecStart=") + std::string("ExecStart=").size();
    const std::string command = unit.substr(begin, unit.find('\n', begin) - begin);
    for (const std::string_view word : split(command, ' '))
        words.push_back(word == "/run/tiles/cgi.sock" ? socket.string() : std::string(word));
    RunOptions options;
    options.env = {{"BOINC_PROJECT_DIR", root_.string()}};
    options.unset = {"REQUEST_METHOD", "CONTENT_LENGTH", "GATEWAY_INTERFACE"};
    options.cwd = root_ / "cgi-bin";
    Subprocess server(words, options);
    ASSERT_TRUE(server.wait_for_output("listening on")) << server.err();

    const auto answered = [&] {
        const std::string body = "<scheduler_request>\n</scheduler_request>\n";
        try {
            const std::string reply = FastcgiClient(socket).request({{"REQUEST_METHOD", "POST"},
                                                                     {"REMOTE_ADDR", "192.0.2.1"},
                                                                     {"CONTENT_LENGTH", std::to_string(body.size())}},
                                                                    body);
            return reply.find("</scheduler_reply>") != std::string::npos;
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    EXPECT_TRUE(can("www-data", answered)) << server.err();
    EXPECT_FALSE(can("daemon", answered)) << "not of the web server's group";
    EXPECT_THAT(read_file(root_ / ("log_" + short_host_name()) / "scheduler.log").value(), HasSubstr("[PID="));
    for (const char* file : {"bin/start", "config.xml", "keys/upload_private", "cgi-bin/planted"}) {
        const RunResult written = run({"setpriv", "--reuid=nobody", "--regid=www-data", "--clear-groups", "sh", "-c",
                                       "echo x >> " + (root_ / file).string()});
        EXPECT_NE(written.status, 0) << file;
    }
    server.send_signal(SIGTERM);
    EXPECT_EQ(server.wait(30).value_or(RunResult{}).status, 0);
}

/// The web server's account can open the folder of the resident scheduler's socket, and so lock it.
TEST_F(Accounts, AForeignLockDoesNotStopTheScheduler) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    const std::string folder = (root_ / ("pid_" + short_host_name())).string();
    Subprocess holder({"setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "flock", folder, "sh", "-c",
                       "echo held; exec sleep 1000"},
                      {.own_group = true});
    ASSERT_TRUE(holder.wait_for_output("held")) << holder.err();
    RunOptions in_project;
    in_project.env = {{"BOINC_PROJECT_DIR", root_.string()}};
    in_project.cwd = root_ / "bin";
    Subprocess scheduler({"setpriv", "--reuid=games", "--regid=games", "--clear-groups", "./scheduler"}, in_project);
    ASSERT_TRUE(scheduler.wait_for_output("listening on")) << scheduler.err();
    EXPECT_THAT(scheduler.out() + scheduler.err(),
                AllOf(HasSubstr("of www-data has locked"), HasSubstr(folder + " (flock)"),
                      HasSubstr("process " + std::to_string(holder.pid()))));
    // The lock is held still, and what listens there still tells a second one apart.
    const RunResult second =
        run({"setpriv", "--reuid=games", "--regid=games", "--clear-groups", "./scheduler"}, in_project);
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("another server listens there"));
    scheduler.send_signal(SIGTERM);
    EXPECT_EQ(scheduler.wait(30).value_or(RunResult{}).status, 0);
    ::kill(-holder.pid(), SIGKILL);
}

/// NAME.logrotate: of a project that root made for an account, or of this user's own.
TEST_F(Accounts, LogsAreRotatedByTheShippedFile) {
    const bool root = ::geteuid() == 0;
    const std::vector<std::string> accounts{"--user", "games", "--web_user", "www-data"};
    ASSERT_EQ(make_project(root ? accounts : std::vector<std::string>{}).status, 0);
    const fs::path logs = root_ / ("log_" + short_host_name());
    const fs::path daemons = logs / "feeder.log", web = logs / "scheduler.log", rules = dir_ / "rules";
    std::ofstream(daemons) << "old\n";
    const passwd* owner = ::getpwnam("games");
    // As the daemons make it: the group is the folder's.
    ASSERT_EQ(root ? ::chown(daemons.c_str(), owner->pw_uid, static_cast<gid_t>(-1)) : 0, 0);
    std::ofstream(web) << "old\n";
    write_file_atomically(rules, read_file(root_ / "tiles.logrotate").value(), 0644);
    const auto rotate = [&] {
        const RunResult done =
            run({"/usr/sbin/logrotate", "--force", "--state", (dir_ / "state").string(), rules.string()});
        EXPECT_EQ(done.status, 0);
        EXPECT_EQ(done.err, "");
    };
    const auto who_and_how = [](const fs::path& file) {
        struct stat info {};
        EXPECT_EQ(::lstat(file.c_str(), &info), 0) << file;
        return std::tuple(info.st_uid, info.st_gid, info.st_mode);
    };
    const auto before = std::pair(who_and_how(daemons), who_and_how(web));
    rotate();
    EXPECT_EQ(std::pair(who_and_how(daemons), who_and_how(web)), before) << "the same accounts write the new ones";
    for (const fs::path& log : {daemons, web}) {
        EXPECT_EQ(read_file(log), "") << log;
        EXPECT_EQ(read_file(log.string() + ".1"), "old\n") << log;
        std::ofstream(log, std::ios::app) << "newer\n";
    }
    EXPECT_FALSE(fs::exists(logs / "file_upload_handler.log.1")) << "nothing stood in it";
    rotate();
    EXPECT_EQ(read_file(web.string() + ".1"), "newer\n");
    EXPECT_TRUE(fs::exists(web.string() + ".2.gz"));
}

/// The task of a new project, as bin/start runs it: by the project's account.
TEST_F(Accounts, RotateLogsLeavesTheWebServerItsLog) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    const fs::path log = root_ / ("log_" + short_host_name()) / "scheduler.log";
    const auto as_web_server = [&](const std::string& line) {
        return run({"setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "sh", "-c",
                    "echo " + line + " >> " + log.string()});
    };
    ASSERT_EQ(as_web_server("old").status, 0);
    RunOptions in_project;
    in_project.env = {{"BOINC_PROJECT_DIR", root_.string()}};
    in_project.cwd = root_ / "bin";
    const RunResult done =
        run({"setpriv", "--reuid=games", "--regid=games", "--clear-groups", "./rotate_logs", "--max_mb", "0.000001"},
            in_project);
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(read_file(log), "");
    EXPECT_EQ(as_web_server("new").status, 0);
    EXPECT_EQ(read_file(log), "new\n");
}

/// With the resident scheduler and PROJECT/relay_only the web server's account hands requests on and can read nothing.
TEST_F(Accounts, ResidentSchedulerSparesWebServerPassword) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    std::ofstream(root_ / "relay_only") << "";
    const auto as = [](const std::string& user, const std::string& group, const std::vector<std::string>& command) {
        std::vector<std::string> words{"setpriv", "--reuid=" + user, "--regid=" + group, "--clear-groups",
                                       "--no-new-privs"};
        words.insert(words.end(), command.begin(), command.end());
        return words;
    };
    const auto only_for = [](const fs::path& file, const char* group, fs::perms mode) {
        ASSERT_EQ(::chown(file.c_str(), static_cast<uid_t>(-1), ::getgrnam(group)->gr_gid), 0);
        fs::permissions(file, mode);
    };
    only_for(root_ / "config.xml", "games", fs::perms(0640));
    only_for(root_ / "keys", "games", fs::perms(0750));
    RunOptions in_project;
    in_project.env = {{"BOINC_PROJECT_DIR", root_.string()}};
    in_project.cwd = root_ / "bin";
    Subprocess scheduler(as("games", "games", {(root_ / "bin/scheduler").string()}), in_project);
    ASSERT_TRUE(scheduler.wait_for_output("listening on")) << scheduler.err();

    in_project.cwd = root_ / "cgi-bin";
    in_project.stdin_text = "<scheduler_request>\n</scheduler_request>\n";
    in_project.env.merge(std::map<std::string, std::string>{
        {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(in_project.stdin_text.size())}});
    const auto web = [&](const std::string& group) {
        return run(as("nobody", group, {(root_ / "cgi-bin/cgi").string()}), in_project);
    };
    EXPECT_NE(run(as("nobody", "www-data", {"cat", (root_ / "config.xml").string()})).status, 0);
    EXPECT_NE(run(as("nobody", "www-data", {"ls", (root_ / "keys").string()})).status, 0);
    const RunResult served = web("www-data");
    EXPECT_EQ(served.status, 0);
    EXPECT_EQ(served.err, "");
    EXPECT_THAT(served.out, AllOf(HasSubstr("</scheduler_reply>"), testing::Not(HasSubstr("try again later"))));
    // Not of the web server's group: the socket is shut.
    EXPECT_THAT(web("nogroup").out, HasSubstr("try again later"));
    // Nor where somebody opened it to all: the resident scheduler asks who connects.
    const fs::path folder = root_ / ("pid_" + short_host_name());
    fs::permissions(folder, fs::perms(0755));
    fs::permissions(folder / "scheduler.sock", fs::perms(0666));
    EXPECT_THAT(web("nogroup").out, HasSubstr("try again later"));
    EXPECT_THAT(web("www-data").out, testing::Not(HasSubstr("try again later")));
    scheduler.send_signal(SIGTERM);
    EXPECT_EQ(scheduler.wait(30).value_or(RunResult{}).status, 0);
    EXPECT_THAT(web("www-data").out, HasSubstr("try again later"));
    // Somebody else's socket in that place is not believed.
    ASSERT_EQ(::chown(folder.c_str(), ::getpwnam("daemon")->pw_uid, static_cast<gid_t>(-1)), 0);
    in_project.stdin_text.clear();
    RunOptions other = in_project;
    other.env.erase("REQUEST_METHOD");
    Subprocess impostor(
        as("daemon", "www-data", {binary_dir() + "/cgi-bin/cgi", "--listen", (folder / "scheduler.sock").string()}),
        other);
    ASSERT_TRUE(impostor.wait_for_output("listening on")) << impostor.err();
    EXPECT_THAT(web("www-data").out, HasSubstr("try again later"));
    impostor.send_signal(SIGTERM);
    EXPECT_EQ(impostor.wait(30).value_or(RunResult{}).status, 0);
}

}  // namespace
}  // namespace sluice::test
