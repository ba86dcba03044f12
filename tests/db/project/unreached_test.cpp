// SPDX-License-Identifier: LGPL-3.0-or-later
// The web server's account can't reach the resident scheduler: the log says so, once an hour, and sluice_options
// --check tries it as that account. The commands that both name mend it.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/db/project/accounts.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCant = "can't reach the resident scheduler at ";

class UnreachedSocket : public Accounts {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
        ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
        std::ofstream(root_ / "stop_sched") << "";
        folder_ = root_ / ("pid_" + short_host_name());
        socket_ = folder_ / "scheduler.sock";
    }
    static std::vector<std::string> as(const std::string& user, const std::string& program) {
        return {"setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups", program};
    }
    std::unique_ptr<Subprocess> resident() {
        RunOptions in_project = options(false);
        in_project.env["BOINC_PROJECT_DIR"] = root_.string();
        in_project.cwd = root_ / "bin";
        auto started = std::make_unique<Subprocess>(as("games", (root_ / "bin/scheduler").string()), in_project);
        EXPECT_TRUE(started->wait_for_output("listening on")) << started->err();
        return started;
    }
    static void end(Subprocess& resident) {
        resident.send_signal(SIGTERM);
        EXPECT_EQ(resident.wait(30).value_or(RunResult{}).status, 0);
    }
    RunResult request() const {
        RunOptions web;
        web.cwd = root_ / "cgi-bin";
        web.stdin_text = "<scheduler_request>\n</scheduler_request>\n";
        web.env = {{"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(web.stdin_text.size())}};
        web.unset = {"BOINC_PROJECT_DIR"};
        return run(as("www-data", (root_ / "cgi-bin/cgi").string()), web);
    }
    fs::path log() const { return log_dir(root_) / "scheduler.log"; }
    /// The lines of the log that say so.
    std::vector<std::string> lines() const {
        std::vector<std::string> found;
        std::ifstream in(log());
        for (std::string line; std::getline(in, line);)
            if (line.find(kCant) != std::string::npos) found.push_back(line);
        return found;
    }
    std::string check() const { return run({(root_ / "bin/sluice_options").string(), "--check", root_.string()}).out; }
    /// What stands behind "as root: ", without the programs of the project: the test starts its own.
    static std::string command_of(const std::string& line) {
        std::string command = line.substr(line.find("; as root: ") + 11);
        for (const char* program : {"/bin/stop", "/bin/start"}) {
            const auto end = command.find(program);
            if (end == std::string::npos) continue;
            const auto begin = command.rfind("sudo -u games ", end);
            command.replace(begin, end + std::string(program).size() - begin, "true");
        }
        return command;
    }
    fs::path folder_, socket_;
};

TEST_F(UnreachedSocket, IsSaidOnceHourWhateverNumberOfRequests) {
    request();
    EXPECT_THAT(lines(), testing::IsEmpty()) << "without a socket nobody wants one";
    auto scheduler = resident();
    request();
    EXPECT_THAT(lines(), testing::IsEmpty());
    EXPECT_THAT(check(), Not(HasSubstr(kCant)));
    fs::permissions(folder_, fs::perms(0700));
    for (int i = 0; i < 3; ++i) EXPECT_THAT(request().out, HasSubstr("</scheduler_reply>"));
    ASSERT_EQ(lines().size(), 1u);
    EXPECT_THAT(lines()[0], AllOf(HasSubstr("www-data, the web server's account"), HasSubstr(socket_.string()),
                                  HasSubstr("Permission denied (errno 13)"), HasSubstr("starts a scheduler of its own"),
                                  HasSubstr("chown games:www-data " + folder_.string() + " && chmod 2750 ")));
    // An hour later.
    const fs::path said = root_ / "html/cache/scheduler_unreached";
    fs::last_write_time(said, fs::last_write_time(said) - std::chrono::minutes(61));
    request();
    request();
    EXPECT_EQ(lines().size(), 2u);
    // Somebody who holds the file's lock keeps nobody waiting.
    fs::last_write_time(said, fs::last_write_time(said) - std::chrono::minutes(61));
    Subprocess holder({"flock", said.string(), "sh", "-c", "echo held; exec sleep 1000"}, {.own_group = true});
    ASSERT_TRUE(holder.wait_for_output("held"));
    EXPECT_THAT(request().out, HasSubstr("</scheduler_reply>"));
    ::kill(-holder.pid(), SIGKILL);
    // Where no such file can be made, the end of the log tells.
    fs::remove_all(root_ / "html/cache");
    std::ofstream(log(), std::ios::trunc) << "";
    request();
    request();
    EXPECT_EQ(lines().size(), 1u);
    end(*scheduler);
}

TEST_F(UnreachedSocket, CheckTriesItAsTheWebServersAccount) {
    auto scheduler = resident();
    ASSERT_EQ(::chown(folder_.c_str(), ::getpwnam("games")->pw_uid, ::getpwnam("games")->pw_gid), 0);
    fs::permissions(folder_, fs::perms(02750));
    std::string said = check();
    EXPECT_THAT(said, AllOf(HasSubstr(std::string("warning: www-data, the web server's account, ") + kCant +
                                      socket_.string() + ": Permission denied"),
                            HasSubstr("chown games:www-data " + folder_.string() + " && chmod 2750 " +
                                      folder_.string() + " && sudo -u games " + (root_ / "bin/start").string())));
    // A socket of an older group: open to all, but the resident scheduler asks who connects.
    fs::permissions(folder_, fs::perms(0755));
    fs::permissions(socket_, fs::perms(0666));
    end(*scheduler);
    scheduler = resident();
    fs::permissions(socket_, fs::perms(0666));
    said = check();
    EXPECT_THAT(said, HasSubstr("it turned this account away"));
    // With relay_only nobody else serves the clients.
    std::ofstream(root_ / "relay_only") << "";
    said = check();
    const auto at = said.find("error: www-data, the web server's account");
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_THAT(said, HasSubstr("clients are told to come back later"));
    const std::string line = said.substr(at, said.find('\n', at) - at);
    end(*scheduler);
    ASSERT_EQ(std::system(command_of(line).c_str()), 0) << line;
    scheduler = resident();
    EXPECT_THAT(check(), Not(HasSubstr(kCant)));
    EXPECT_THAT(request().out, HasSubstr("shut down for maintenance"));
    // Killed, it leaves its socket behind.
    scheduler->send_signal(SIGKILL);
    scheduler->wait();
    EXPECT_THAT(check(), AllOf(HasSubstr("Connection refused"), HasSubstr("rm -f " + socket_.string())));
    // As the project's user it can't be tried.
    std::vector<std::string> words = as("games", (root_ / "bin/sluice_options").string());
    words.insert(words.end(), {"--check", root_.string()});
    EXPECT_THAT(run(words).out, HasSubstr("note: whether www-data, the web server's account, reaches "));
}

}  // namespace
}  // namespace sluice::test
