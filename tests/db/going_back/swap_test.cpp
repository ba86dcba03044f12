// SPDX-License-Identifier: LGPL-3.0-or-later
// The swap of docs/install.md, and back, with the commands that stand there: a client works through all of it, and no
// job is lost, doubled or stuck. The old programs are upstream's, where they are given, and in any case copies of ours:
// then only the commands are tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kJobs = 300;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The first block of commands below a heading of docs/install.md.
std::string commands_below(const std::string& heading) {
    const std::string page = text_of(source_dir() + "/docs/install.md");
    const std::size_t section = page.find("\n## " + heading + "\n"), first = page.find("\n    ", section);
    if (section == std::string::npos || first == std::string::npos) return "";
    return page.substr(first + 1, page.find("\n\n", first) - first);
}

/// The commands of all steps below a heading: they are indented deeper than a step's text.
std::vector<std::string> steps_below(const std::string& heading) {
    const std::string page = text_of(source_dir() + "/docs/install.md");
    const std::size_t section = page.find("\n## " + heading + "\n");
    std::istringstream lines(page.substr(section, page.find("\n## ", section + 1) - section));
    std::vector<std::string> commands;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("       ")) commands.push_back(line);
    return commands;
}

class Swap : public testing::Test {
  protected:
    Swap() : server_(PrivateMariaDb::shared()), project_(server_, "swap") {
        fs::create_directories(installed_ / "share/sluice");
        for (const char* name : {"bin", "cgi-bin"})
            fs::create_directory_symlink(fs::path(binary_dir()) / name, installed_ / name);
        fs::create_symlink(source_dir() + "/db/going_back.sql", installed_ / "share/sluice/going_back.sql");
        std::string config = text_of(project_.folder() / "config.xml");
        config.insert(config.find("</boinc>"),
                      "<daemons><daemon><cmd>feeder -d 3</cmd></daemon><daemon><cmd>transitioner -d 3</cmd></daemon>"
                      "</daemons>\n");
        std::ofstream(project_.folder() / "config.xml") << config;
        for (const char* name : {"start", "stop", "status"})
            fs::create_symlink(fs::path(binary_dir()) / "bin/start", project_.folder() / "bin" / name);
        project_.store();
        project_.add_unsent_jobs(kJobs);
    }
    ~Swap() override { shell("bin/stop"); }

    void install_old(const fs::path& prefix) {
        for (const char* name : {"bin/feeder", "bin/transitioner", "bin/show_shmem", "cgi-bin/cgi"})
            fs::copy_file(prefix / name, project_.folder() / name);
        // Upstream's FastCGI program, where a project has it.
        fs::copy_file(prefix / "cgi-bin/cgi", project_.folder() / "cgi-bin/fcgi");
    }
    RunResult shell(std::string commands) {
        const auto replace = [&](const std::string& what, const std::string& by) {
            for (std::size_t at = 0; (at = commands.find(what, at)) != std::string::npos; at += by.size())
                commands.replace(at, what.size(), by);
        };
        replace("/opt/sluice", installed_.path().string());
        replace("cd PROJECT", "cd " + project_.folder().string());
        RunOptions options;
        options.env = project_.env();
        options.cwd = project_.folder();
        return run({"/bin/sh", "-c", commands}, options);
    }

    /// One request that reports all jobs and asks for one; what it got.
    std::vector<std::string> ask() {
        std::string reports;
        for (const std::string& name : held_)
            reports += "<result>\n<name>" + name +
                       "</name>\n<final_cpu_time>1</final_cpu_time>\n<final_elapsed_time>1</final_elapsed_time>\n"
                       "<exit_status>0</exit_status>\n<state>5</state>\n<platform>x86_64-pc-linux-gnu</platform>\n"
                       "<version_num>100</version_num>\n<file_info>\n</file_info>\n</result>\n";
        const std::string request = work_request(host_, ++seqno_, 1, reports);
        RunOptions options;
        options.env = project_.env();
        options.env["REQUEST_METHOD"] = "POST";
        options.env["CONTENT_LENGTH"] = std::to_string(request.size());
        options.env["CONTENT_TYPE"] = "text/xml";
        options.env["REMOTE_ADDR"] = "127.0.0.1";
        options.cwd = project_.folder() / "cgi-bin";
        options.stdin_text = request;
        const std::string reply = run({(project_.folder() / "cgi-bin/cgi").string()}, options).out;
        for (const std::string& acknowledged : elements(reply, "result_ack"))
            for (const std::string& name : elements(acknowledged, "name")) held_.erase(name);
        if (const auto id = elements(reply, "hostid"); !id.empty()) host_ = std::stoll(id[0]);
        std::vector<std::string> got;
        for (const std::string& result : elements(reply, "result"))
            for (const std::string& name : elements(result, "name")) got.push_back(name);
        last_reply_ = reply;
        return got;
    }
    /// `n` requests that each report what the one before got, and get something.
    void work(int n) {
        for (int i = 0; i < n; ++i) {
            std::vector<std::string> got;
            ASSERT_TRUE(eventually([&] { return !(got = ask()).empty(); })) << last_reply_ << project_.scheduler_log();
            for (const std::string& name : got) {
                EXPECT_TRUE(sent_.insert(name).second) << name << " was sent twice";
                held_.insert(name);
            }
        }
    }
    void expect_rows_in_order() {
        const auto count = [&](SqlLiteral where) {
            return project_.count(Sql("SELECT COUNT(*) FROM result WHERE ") << where);
        };
        const auto sent = static_cast<std::int64_t>(sent_.size()), held = static_cast<std::int64_t>(held_.size());
        EXPECT_EQ(count("server_state=5 AND outcome=1"), sent - held);
        EXPECT_EQ(count("server_state=4"), held);
        EXPECT_EQ(count("server_state=2"), kJobs - sent);
        EXPECT_EQ(count("1"), kJobs);
    }
    void there_and_back();

    PrivateMariaDb& server_;
    TempDir installed_;
    TestProject project_;
    Id host_ = 0;
    int seqno_ = 0;
    std::set<std::string> sent_, held_;
    std::string last_reply_;
};

void Swap::there_and_back() {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(3);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi");

    const RunResult swapped = shell(commands_below("Swap"));
    EXPECT_EQ(swapped.status, 0) << swapped.err;
    EXPECT_EQ(swapped.err, "");
    EXPECT_EQ(shell(commands_below("Swap")).err, "") << "who repeats them loses nothing";
    for (const char* name : {"bin/feeder", "cgi-bin/cgi", "cgi-bin/fcgi"}) {
        EXPECT_FALSE(fs::is_symlink(project_.folder() / name)) << "tools/upgrade writes through it";
        const std::string installed = std::string(name).ends_with("fcgi") ? "cgi-bin/cgi" : name;
        EXPECT_TRUE(text_of(project_.folder() / name) == text_of(installed_ / installed)) << name;
    }
    work(3);
    expect_rows_in_order();

    std::string back;
    for (const std::string& command : steps_below("Go back")) {
        if (command.find("mariadb ") != std::string::npos) {  // the page's USER and DATABASE are an admin's
            EXPECT_EQ(shell(std::exchange(back, "cd PROJECT\n")).err, "");
            server_.load("swap", installed_ / "share/sluice/going_back.sql");
        } else if (command.find("bin/start") == std::string::npos) {
            back += command + "\n";
        }
    }
    ASSERT_TRUE(back.find("mv before-sluice/bin/") != std::string::npos) << back;
    EXPECT_EQ(shell(back).err, "");
    EXPECT_TRUE(text_of(project_.folder() / "cgi-bin/cgi") == old_cgi);
    for (const char* name : {"bin/sched_explain", "cgi-bin/cgi.old", "sluice"})
        EXPECT_FALSE(fs::exists(project_.folder() / name)) << name;
    ASSERT_EQ(shell("bin/start").status, 0);
    work(3);
    expect_rows_in_order();
}

TEST_F(Swap, TheCommandsWork) {
    install_old(binary_dir());
    there_and_back();
}

TEST_F(Swap, UpstreamsProgramsAndBack) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    install_old(prefix);
    there_and_back();
}

class AdoptedProject : public Swap {
  protected:
    AdoptedProject() { install_old(binary_dir()); }
    RunResult sluice(const std::string& arguments) { return shell(command(arguments)); }
    std::unique_ptr<Subprocess> begin(const std::string& arguments) {
        RunOptions options;
        options.env = project_.env();
        options.cwd = project_.folder();
        return std::make_unique<Subprocess>(std::vector<std::string>{"/bin/sh", "-c", "exec " + command(arguments)},
                                            options);
    }
    std::string command(const std::string& arguments) const {
        return installed_.path() / ("bin/sluice --install_from " + installed_.path().string() + " " + arguments);
    }
    std::string config() const { return text_of(project_.folder() / "config.xml"); }
    void expect_old_again(const std::string& cgi, const std::string& config_before) {
        EXPECT_TRUE(text_of(project_.folder() / "cgi-bin/cgi") == cgi);
        EXPECT_EQ(config(), config_before);
        for (const char* name : {"bin/sched_explain", "bin/scheduler", "cgi-bin/cgi.old", "before-sluice"})
            EXPECT_FALSE(fs::exists(project_.folder() / name)) << name << shell("ls -lA before-sluice").out;
    }
};

TEST_F(AdoptedProject, WorksThroughTheMoveAndBack) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(3);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();

    const RunResult dry = sluice("adopt --dry_run .");
    EXPECT_EQ(dry.status, 1) << dry.err;
    EXPECT_NE(dry.out.find("before-sluice"), std::string::npos);
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
    EXPECT_EQ(config(), before);

    const RunResult moved = sluice("adopt --watch 3 .");
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    EXPECT_NE(config().find("<cmd>scheduler</cmd>"), std::string::npos);
    EXPECT_EQ(config().find("maintenance_delay"), std::string::npos) << config();
    EXPECT_NE(moved.out.find("cgi-bin/fcgi: if the web server runs it, reload"), std::string::npos) << moved.out;
    work(3);
    expect_rows_in_order();
    const RunResult again = sluice("adopt .");
    EXPECT_EQ(again.status, 0);
    EXPECT_NE(again.out.find("already"), std::string::npos) << again.out;

    const RunResult back = sluice("revert .");
    ASSERT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    work(3);
    expect_rows_in_order();
    EXPECT_NE(sluice("revert .").out.find("nothing to go back to"), std::string::npos);
}

TEST_F(AdoptedProject, CheckSaysTheSameAsSluiceOptions) {
    fs::remove(project_.folder() / "keys/upload_public");
    const RunResult lines = shell("/opt/sluice/bin/sluice_options --check ."), json = sluice("check --json .");
    EXPECT_EQ(json.status, 1) << json.err;
    std::istringstream each(lines.out);
    int errors = 0;
    for (std::string line; std::getline(each, line);) {
        if (!line.starts_with("error: ")) continue;
        ++errors;
        EXPECT_NE(json.out.find(line.substr(7, 40)), std::string::npos) << line << json.out;
    }
    EXPECT_GT(errors, 0) << "a key is missing";
    EXPECT_EQ(sluice("adopt .").status, 2) << "with errors nothing is moved";
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
    EXPECT_EQ(sluice("check --dry_run .").status, 2);
    EXPECT_EQ(sluice("adopt").status, 2);
}

/// It asks all the time: each answer is a reply, and none sends it away for more than a minute.
TEST_F(AdoptedProject, NoClientIsSentAwayForLong) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    for (const std::string command : {"adopt --watch 3 .", "revert ."}) {
        const auto move = begin(command);
        int told_to_wait = 0;
        // Ten a second: there are jobs to the end.
        while (!eventually([&] { return !move->running(); }, 0.1)) {
            for (const std::string& name : ask()) held_.insert(name), sent_.insert(name);
            ASSERT_NE(last_reply_.find("</scheduler_reply>"), std::string::npos) << last_reply_;
            if (last_reply_.find("<project_is_down/>") == std::string::npos) continue;
            ++told_to_wait;
            const auto delay = elements(last_reply_, "request_delay");
            ASSERT_EQ(delay.size(), 1u) << last_reply_;
            EXPECT_LE(std::stod(delay[0]), 60) << last_reply_;
        }
        EXPECT_EQ(move->wait()->status, 0) << command << move->out() << move->err();
        EXPECT_GT(told_to_wait, 0) << command;
    }
    work(1);
    expect_rows_in_order();
}

TEST_F(AdoptedProject, AFailureAfterTheStartLeadsBack) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    fs::remove(installed_ / "bin");
    fs::create_directory(installed_ / "bin");
    for (const auto& entry : fs::directory_iterator(fs::path(binary_dir()) / "bin"))
        if (entry.path().filename() != "transitioner")
            fs::create_symlink(entry.path(), installed_ / "bin" / entry.path().filename());
    std::ofstream(installed_ / "bin/transitioner") << "#!/bin/sh\nexit 1\n";
    fs::permissions(installed_ / "bin/transitioner", fs::perms::owner_all | fs::perms::others_exec);
    const RunResult moved = sluice("adopt --watch 5 .");
    EXPECT_EQ(moved.status, 2) << moved.out;
    EXPECT_NE(moved.err.find("The project has its old programs again: "), std::string::npos) << moved.err;
    expect_old_again(old_cgi, before);
    work(2);
    expect_rows_in_order();
}

/// After SIGKILL at any time the same command finishes the move.
TEST_F(AdoptedProject, TheNextCallFinishesAKilledMove) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    const auto kill_at = [&](const std::string& arguments, const std::string& said) {
        const auto move = begin(arguments);
        EXPECT_TRUE(move->wait_for_output(said)) << move->out() << move->err();
        move->send_signal(SIGKILL);
        move->wait();
    };
    const std::string adopt = "adopt --watch 2 .";
    for (const char* said : {"Keep in", "Stopping", "Putting Sluice's", "Starting", "watching for"})
        kill_at(adopt, said);
    const RunResult moved = sluice(adopt);
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    work(1);
    for (const char* said : {"Stopping", "Cleaning", "Putting BOINC's", "Starting"}) kill_at("revert .", said);
    const RunResult back = sluice("revert .");
    ASSERT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    work(1);
    expect_rows_in_order();
}

TEST_F(AdoptedProject, AStoppedProjectStaysSoWithItsOptions) {
    std::string before = config();
    before.insert(before.find("</config>"), "<maintenance_delay>1234</maintenance_delay>\n");
    std::ofstream(project_.folder() / "config.xml") << before;
    ASSERT_EQ(sluice("adopt --watch 2 .").status, 0);
    EXPECT_NE(config().find("<maintenance_delay>1234</maintenance_delay>"), std::string::npos) << config();
    EXPECT_EQ(shell("bin/status").status, 3) << "disabled";
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_EQ(config(), before);
    EXPECT_EQ(shell("bin/status").status, 3);
}

/// What is normal while the feeder fills the array, and what a client may write into a log.
TEST_F(AdoptedProject, NotEveryCriticalMarkIsAFailure) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const fs::path logs = project_.scheduler_log_file().parent_path();
    const auto move = begin("adopt --watch 5 .");
    ASSERT_TRUE(move->wait_for_output("Starting")) << move->err();
    std::ofstream(logs / "scheduler.log", std::ios::app)
        << "2026-01-01 00:00:00.0000 UTC [PID=7    ] [CRITICAL] the feeder has not filled the job array yet\n";
    ASSERT_TRUE(move->wait_for_output("watching for")) << move->out() << move->err();
    for (const char* name : {"scheduler.log", "transitioner.log"})
        std::ofstream(logs / name, std::ios::app)
            << "2026-01-01 00:00:00.0000 UTC [PID=7    ] [HOST#1] its name is x UTC [CRITICAL] y\n";
    EXPECT_EQ(move->wait()->status, 0) << move->out() << move->err();
}

TEST_F(AdoptedProject, ACriticalLineLeadsBack) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const auto move = begin("adopt --watch 20 .");
    ASSERT_TRUE(move->wait_for_output("watching for")) << move->out() << move->err();
    std::ofstream(project_.scheduler_log_file(), std::ios::app)
        << "2026-01-01 00:00:00.0000 UTC [PID=7    ] [CRITICAL] no database\n";
    EXPECT_EQ(move->wait()->status, 2) << move->out();
    EXPECT_NE(move->err().find("no database"), std::string::npos) << move->err();
}

/// The web server's account has made it, with its own umask.
TEST_F(AdoptedProject, ASchedulerLogOfAnotherAccountMakesWay) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const fs::path log = project_.scheduler_log_file();
    const std::string lines = text_of(log);
    fs::permissions(log, fs::perms::owner_read);  // to the daemon, as another's
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(log.c_str(), 65534, 65534), 0);
    }
    const RunResult moved = sluice("adopt --watch 3 .");
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    EXPECT_TRUE(text_of(log.string() + ".before_sluice").starts_with(lines));
    EXPECT_EQ(fs::status(log).permissions() & fs::perms(0660), fs::perms(0660)) << "the web server's account writes it";
    work(1);
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_EQ(fs::status(log).permissions() & fs::perms(0660), fs::perms(0660));
}

/// Upstream's grow for ever.
TEST_F(AdoptedProject, LongLogsAreNoFailure) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    for (const char* name : {"feeder.log", "scheduler.log"})
        fs::resize_file(project_.scheduler_log_file().parent_path() / name, std::uintmax_t{65} << 20);  // sparse
    const RunResult moved = sluice("adopt --watch 3 .");
    EXPECT_EQ(moved.status, 0) << moved.out << moved.err;
}

TEST_F(AdoptedProject, ALinkedConfigStaysOneWithItsMode) {
    const TempDir elsewhere;
    const fs::path real = elsewhere.path() / "tiles.xml", link = project_.folder() / "config.xml";
    const std::string before = config();
    std::ofstream(real) << before;
    fs::permissions(real, fs::perms(0640));
    fs::remove(link);
    fs::create_symlink(real, link);
    ASSERT_EQ(sluice("adopt --watch 2 .").status, 0);
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_NE(text_of(real).find("<cmd>scheduler</cmd>"), std::string::npos);
    EXPECT_EQ(fs::status(real).permissions(), fs::perms(0640)) << "the web server reads it by its group";
    EXPECT_EQ(fs::status(project_.folder() / "before-sluice/config.xml").permissions(), fs::perms(0600));
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(text_of(real), before);
    EXPECT_EQ(fs::status(real).permissions(), fs::perms(0640));
    EXPECT_EQ(std::distance(fs::directory_iterator(elsewhere.path()), {}), 1) << "no half remains";
}

TEST_F(AdoptedProject, ProgramsComeBackWithModeAndGroup) {
    const fs::path cgi = project_.folder() / "cgi-bin/cgi", link = project_.folder() / "bin/show_shmem";
    std::vector<gid_t> groups(64);
    groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(64, groups.data()))));
    const gid_t group = groups.empty() ? ::getegid() : groups.back();  // another than the first one, if there is one
    ASSERT_EQ(::chown(cgi.c_str(), static_cast<uid_t>(-1), group), 0);
    fs::permissions(cgi, fs::perms(02750));
    fs::rename(link, project_.folder() / "bin/show_it");
    fs::create_symlink("show_it", link);
    ASSERT_EQ(sluice("adopt --watch 2 .").status, 0);
    ASSERT_EQ(sluice("revert .").status, 0);
    struct stat info {};
    ASSERT_EQ(::stat(cgi.c_str(), &info), 0);
    EXPECT_EQ(info.st_gid, group);
    EXPECT_EQ(info.st_mode & 07777, 02750u);
    EXPECT_EQ(fs::read_symlink(link), "show_it");
}

TEST_F(AdoptedProject, WithoutAWayBackNothingIsMoved) {
    const std::string before = config();
    fs::rename(installed_ / "share/sluice/going_back.sql", installed_ / "away.sql");
    EXPECT_EQ(sluice("adopt --watch 2 .").status, 2);
    fs::rename(installed_ / "away.sql", installed_ / "share/sluice/going_back.sql");
    const TempDir no_client;
    for (const char* name : {"sh", "cat"}) fs::create_symlink(fs::path("/bin") / name, no_client / name);
    const RunResult refused = shell("PATH=" + no_client.path().string() + " " + command("adopt --watch 2 ."));
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_NE(refused.err.find("Nothing was changed"), std::string::npos) << refused.err;
    EXPECT_EQ(config(), before);
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
}

TEST_F(AdoptedProject, TheAccountsClientFileDoesNotDecide) {
    const TempDir home;
    std::ofstream(home / ".my.cnf") << "[client]\nuser=nobody_here\npassword=wrong\n";
    const std::string with_home = "HOME=" + home.path().string() + " ";
    const RunResult moved = shell(with_home + command("adopt --watch 2 ."));
    ASSERT_EQ(moved.status, 0) << moved.err;
    const RunResult back = shell(with_home + command("revert ."));
    EXPECT_EQ(back.status, 0) << back.err;
}

TEST_F(AdoptedProject, CronsStartIsWaitedFor) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const auto move = begin("adopt --watch 3 .");
    ASSERT_TRUE(move->wait_for_output("Putting Sluice's")) << move->err();
    const fs::path pid_folder = project_.folder() / ("pid_" + short_host_name());
    auto held = FileLock::try_lock(pid_folder / ("start.lock." + short_host_name()));
    ASSERT_TRUE(held);
    ASSERT_TRUE(move->wait_for_output("Starting")) << move->out() << move->err();
    EXPECT_FALSE(eventually([&] { return !move->running(); }, 1)) << move->err();
    held.reset();
    EXPECT_EQ(move->wait()->status, 0) << move->out() << move->err();
}

TEST_F(AdoptedProject, AProjectsOwnSchedulerScriptComesBack) {
    const fs::path own = project_.folder() / "bin/scheduler";
    std::ofstream(own) << "#!/bin/sh\n# of the project's own\n";
    fs::permissions(own, fs::perms::owner_all);
    const std::string before = text_of(own);
    const RunResult moved =
        sluice("adopt --despite_errors --watch 2 .");  // the old programs here are ours: that is mixed
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    EXPECT_NE(text_of(own), before);
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_EQ(text_of(own), before);
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
}

TEST_F(AdoptedProject, WhatWasSwappedByHandIsRefused) {
    ASSERT_EQ(shell(commands_below("Swap")).status, 0);
    const std::string before = config();
    const RunResult moved = sluice("adopt --watch 2 .");
    EXPECT_EQ(moved.status, 2) << moved.out;
    EXPECT_NE(moved.err.find("kept by hand"), std::string::npos) << moved.err;
    fs::remove_all(project_.folder() / "before-sluice");
    fs::create_directory_symlink(installed_.path(), project_.folder() / "sluice");
    EXPECT_EQ(sluice("adopt --watch 2 .").status, 2) << "make_project made it";
    EXPECT_EQ(config(), before);
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
}

/// What a call leaves that is killed at a step too short for a test to hit.
TEST_F(AdoptedProject, RevertFinishesWhatEndedBetweenTwoFiles) {
    const fs::path kept = project_.folder() / "before-sluice";
    std::string before = config();
    before.insert(before.find("</config>"), "<maintenance_delay>1234</maintenance_delay>\n");
    std::ofstream(project_.folder() / "config.xml") << before;
    for (const char* state : {"keeping on\n", "forgetting on\n"}) {
        fs::create_directories(kept / "bin");
        std::ofstream(kept / "state") << state;
        const RunResult back = sluice("revert .");
        EXPECT_EQ(back.status, 0) << state << back.err;
        EXPECT_EQ(config(), before) << state << "an option of the admin's";
        EXPECT_FALSE(fs::exists(kept)) << state;
        EXPECT_FALSE(fs::exists(project_.folder() / "stop_sched")) << state << "nothing is stopped any more";
    }
}

}  // namespace
}  // namespace sluice::test
