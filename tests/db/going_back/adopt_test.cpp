// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice adopt and sluice revert on a project that runs, with everything that may come between. The old programs are
// copies of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"
#include "tests/support/named_files.h"

namespace sluice::test {
namespace {

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
    NamedFiles programs({project_.folder() / "bin", project_.folder() / "cgi-bin"});
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
        EXPECT_TRUE(programs.named().contains(project_.folder() / "cgi-bin/cgi")) << command;
        EXPECT_THAT(programs.open_in_place(), testing::IsEmpty()) << command << ": the web server can't start them";
    }
    work(1);
    expect_rows_in_order();
}

TEST_F(AdoptedProject, AFailureAfterTheStartLeadsBack) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    wrap("transitioner", "#!/bin/sh\nexit 1\n");
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
        ask(0);  // whatever stands in cgi-bin
        EXPECT_NE(last_reply_.find("</scheduler_reply>"), std::string::npos) << said << last_reply_;
        if (last_reply_.find("<project_is_down/>") == std::string::npos) return;
        EXPECT_LE(std::stod(elements(last_reply_, "request_delay").at(0)), 60) << said << last_reply_;
    };
    const std::string adopt = "adopt --watch 2 .";
    for (const char* said : {"Keep in", "From now on", "Stopping", "Putting Sluice's", "Starting", "watching for"})
        kill_at(adopt, said);
    const RunResult moved = sluice(adopt);
    ASSERT_EQ(moved.status, 0) << moved.out << moved.err;
    work(1);
    for (const char* said : {"From now on", "Stopping", "Cleaning", "Putting BOINC's", "Starting"})
        kill_at("revert .", said);
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
    // What the admin changes meanwhile stays, also in the option that both commands use.
    const auto changed = [](std::string text) { return text.replace(text.find("1234"), 4, "77"); };
    const std::string now = changed(config());
    std::ofstream(project_.folder() / "config.xml") << now;
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_EQ(config(), changed(before));
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

TEST_F(AdoptedProject, CriticalLinesAgainAndAgainLeadBack) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const auto move = begin("adopt --watch 20 .");
    ASSERT_TRUE(move->wait_for_output("watching for")) << move->out() << move->err();
    while (!eventually([&] { return !move->running(); }, .5))
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

TEST_F(AdoptedProject, NobodyStartsAnythingInTheMiddle) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const fs::path pid_folder = project_.folder() / ("pid_" + short_host_name());
    auto held = FileLock::try_lock(pid_folder / ("start.lock." + short_host_name()));
    ASSERT_TRUE(held);
    const std::string start = (project_.folder() / "bin/start").string();
    wrap("make_project", "#!/bin/sh\n" + start + " >&2; echo $? > " + (installed_ / "status").string() + "\n" + start +
                             " --cron; exec " + binary_dir() + "/bin/make_project \"$@\"\n");
    const auto move = begin("adopt --watch 3 .");
    ASSERT_TRUE(move->wait_for_output("Stopping")) << move->err();
    EXPECT_FALSE(eventually([&] { return !move->running(); }, 1)) << "a start that was begun before is waited for";
    held.reset();
    EXPECT_EQ(move->wait()->status, 0) << move->out() << move->err();
    EXPECT_EQ(text_of(installed_ / "status"), "1\n") << "an admin's start is refused while programs are mixed";
    work(1);
    expect_rows_in_order();
}

TEST_F(AdoptedProject, DaemonsDeadBeforeAreNoFailure) {
    std::string before = config();
    before.insert(before.find("</daemons>"), "<daemon><cmd>ends_at_once -x</cmd></daemon>");
    std::ofstream(project_.folder() / "config.xml") << before;
    script(project_.folder() / "bin/ends_at_once", "#!/bin/sh\nexit 1\n");
    EXPECT_EQ(shell("bin/start").status, 1);
    work(1);
    const RunResult moved = sluice("adopt --watch 5 .");
    EXPECT_EQ(moved.status, 0) << moved.out << moved.err;
    work(1);
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    work(1);
    expect_rows_in_order();
}

TEST_F(AdoptedProject, DaemonsThatStayLeaveProjectRunning) {
    std::string before = config();
    before.insert(before.find("</daemons>"), "<daemon><cmd>stays</cmd></daemon>");
    std::ofstream(project_.folder() / "config.xml") << before;
    script(
        project_.folder() / "bin/stays",
        "#!/bin/sh\ntrap '' HUP\nwhile [ ! -e ../end ] && [ -e ../config.xml ]; do sleep .1; done\n");  // it ends with
                                                                                                        // the project
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const RunResult moved = sluice("adopt --wait 4 .");
    EXPECT_EQ(moved.status, 2) << moved.out;
    EXPECT_NE(moved.err.find("Still running after 4 s: stays"), std::string::npos) << moved.err;
    EXPECT_EQ(config(), before);
    EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
    work(1);
    std::ofstream(project_.folder() / "end") << "";
    expect_rows_in_order();
}

/// The terminal was closed, or somebody pressed Ctrl-C: it goes back by itself.
TEST_F(AdoptedProject, ASignalLeadsBackAtAnyStep) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    const std::pair<const char*, int> steps[] = {{"Keep in", SIGHUP},
                                                 {"From now on", SIGTERM},
                                                 {"Stopping", SIGINT},
                                                 {"Putting Sluice's", SIGTERM},
                                                 {"watching for", SIGHUP}};
    for (const auto& [said, signal] : steps) {
        const auto move = begin("adopt --watch 60 .");
        EXPECT_TRUE(move->wait_for_output(said)) << move->out() << move->err();
        move->send_signal(signal);
        EXPECT_EQ(move->wait()->status, 2) << said << move->out();
        EXPECT_NE(move->err().find("has its old programs again: signal"), std::string::npos) << said << move->err();
        expect_old_again(old_cgi, before);
    }
    work(1);
    expect_rows_in_order();
}

/// BOINC's tools/upgrade copies through links, and a project may have several names for a program.
TEST_F(AdoptedProject, NothingIsWrittenThroughLinks) {
    const fs::path build = project_.folder() / "build_of_boinc", cgi = project_.folder() / "cgi-bin/cgi";
    fs::create_directory(build);
    fs::create_hard_link(project_.folder() / "bin/feeder", build / "feeder");
    fs::rename(cgi, build / "cgi");
    fs::create_symlink(build / "cgi", cgi);
    const std::string feeder = text_of(build / "feeder"), old_cgi = text_of(build / "cgi");
    ASSERT_EQ(sluice("adopt --watch 2 .").status, 0);
    EXPECT_EQ(text_of(build / "feeder"), feeder);
    EXPECT_EQ(text_of(build / "cgi"), old_cgi);
    for (const char* name : {"bin/feeder", "bin/scheduler", "cgi-bin/cgi"}) {
        struct stat info {};
        ASSERT_EQ(::lstat((project_.folder() / name).c_str(), &info), 0) << name;
        EXPECT_TRUE(S_ISREG(info.st_mode) && info.st_nlink == 1) << name;
        fs::permissions(project_.folder() / name, fs::perms::owner_write, fs::perm_options::add);
        std::ofstream(project_.folder() / name) << "#!/bin/sh\n# BOINC's\n";
        EXPECT_NE(text_of(installed_ / name), text_of(project_.folder() / name)) << "the installation stays";
    }
    const RunResult found = sluice("check .");
    EXPECT_EQ(found.status, 1);
    const std::size_t line = found.out.find(" are not Sluice's");
    ASSERT_NE(line, std::string::npos) << found.out;
    for (const char* name : {"bin/feeder", "bin/scheduler", "cgi-bin/cgi"})
        EXPECT_NE(found.out.substr(0, line).find(name), std::string::npos) << name;
    ASSERT_EQ(sluice("revert .").status, 0);
    EXPECT_EQ(fs::read_symlink(cgi), build / "cgi");
    EXPECT_EQ(text_of(build / "cgi"), old_cgi);
    fs::rename(project_.folder() / "bin", project_.folder() / "elsewhere");
    fs::create_symlink("elsewhere", project_.folder() / "bin");
    EXPECT_EQ(sluice("adopt --watch 2 .").status, 2) << "others may use it";
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

/// The commands of docs/moving_in.md in their order, as they stand. Only the minute of watching is shorter.
TEST_F(AdoptedProject, ThePagesCommandsMoveInAndOut) {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(1);
    std::istringstream page(text_of(source_dir() + "/docs/moving_in.md"));
    std::string said;
    int commands = 0;
    for (std::string line; std::getline(page, line);) {
        // A live shadow and a canary run for long, and have tests of their own.
        if (!line.starts_with("    /opt/sluice/") || line.find("sluice shadow ") != line.npos ||
            line.find("sluice canary ") != line.npos)
            continue;
        ++commands;
        for (const auto& [what, by] :
             {std::pair<std::string, std::string>{" PROJECT", " " + project_.folder().string()},
              {"sluice adopt ", "sluice adopt --watch 2 --install_from /opt/sluice "},  // the program is a link here
              {"sluice revert ", "sluice revert --install_from /opt/sluice "}})
            if (const std::size_t at = line.find(what); at != line.npos) line.replace(at, what.size(), by);
        const RunResult result = shell(line);
        said += result.out;
        const bool only_looks = line.find(" check ") != line.npos || line.find("--dry_run") != line.npos;
        EXPECT_EQ(result.status, only_looks ? 1 : 0) << line << result.out << result.err;
        work(1);
    }
    EXPECT_EQ(commands, 5);
    EXPECT_NE(said.find("has Sluice's programs."), std::string::npos) << said;
    EXPECT_NE(said.find("has its old programs again"), std::string::npos) << said;
    expect_rows_in_order();
}

/// The project lies on a small disk, in a mount namespace of its own, which is filled to the last byte.
TEST_F(AdoptedProject, AFullDiskDoesNotStopRevert) {
    const std::string inside = "unshare -U -c -m --keep-caps ";
    if (shell(inside + "true").status != 0)
        GTEST_SKIP() << "user namespaces are forbidden here: no disk can be mounted";
    const TempDir copy;
    const std::string folder = project_.folder().string();
    const fs::path all =
        copy.write("all.sh", "set -e\ncd /\ncp -a " + folder + "/. " + copy.path().string() +
                                 "/p\nmount -t tmpfs -o size=600m none " + folder + "\ncp -a " + copy.path().string() +
                                 "/p/. " + folder + "\ncd " + folder + "\nbin/start\n" + command("adopt --watch 2 .") +
                                 "\ncat /dev/zero > fill 2> /dev/null || true\n"
                                 "! echo more 2> /dev/null > more\necho FULL\n" +
                                 command("revert .") + "\nbin/status && echo RUNS\ncmp cgi-bin/cgi " +
                                 copy.path().string() + "/p/cgi-bin/cgi && echo OLD\nbin/stop\n");
    fs::create_directory(copy.path() / "p");
    const RunResult result = shell("exec " + inside + "sh " + all.string());
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    for (const char* said : {"FULL\n", "has its old programs again\n", "RUNS\n", "OLD\n"})
        EXPECT_NE(result.out.find(said), std::string::npos) << said << result.out << result.err;
}

/// An account of the database that may only SELECT, and a project on a disk that nobody can write.
TEST_F(AdoptedProject, CheckWritesNothing) {
    const auto execute = [&](SqlLiteral statement) { project_.db().execute(Sql(statement)); };
    execute("CREATE OR REPLACE USER 'looks'@'localhost' IDENTIFIED BY 'looks_passwd'");
    execute("GRANT SELECT ON swap.* TO 'looks'@'localhost'");
    execute("UPDATE workunit SET app_version_num=100 WHERE id<=37");
    std::string text = config();
    for (const auto& [tag, value] : {std::pair("db_user", "looks"), std::pair("db_passwd", "looks_passwd")}) {
        const std::size_t at = text.find(std::string("<") + tag + ">") + std::string(tag).size() + 2;
        ASSERT_NE(text.find(std::string("</") + tag), std::string::npos) << text;
        text.replace(at, text.find("</", at) - at, value);
    }
    std::ofstream(project_.folder() / "config.xml") << text;
    const auto rows = [&] {
        return number_of(project_.db(), Sql("SELECT SUM(table_rows>=0)+COUNT(*) FROM information_schema.tables WHERE "
                                            "table_schema='swap'"));
    };
    const auto tables = rows();
    const std::string folder = project_.folder().string();
    // In a mount namespace of its own; nobody else sees that.
    const RunResult possible = shell("unshare -U -c -m --keep-caps true");
    const std::string looked = command("check --json .");
    const RunResult found = possible.status != 0
                                ? shell(looked)
                                : shell("exec unshare -U -c -m --keep-caps sh -c 'mount --bind " + folder + " " +
                                        folder + " && mount -o remount,bind,ro " + folder + " && cd " + folder +
                                        " && ! touch written 2> /dev/null && exec " + looked + "'");
    execute("DROP USER 'looks'@'localhost'");
    EXPECT_EQ(found.status, 1) << found.out << found.err;
    EXPECT_NE(found.out.find("lacks rights in database swap: INSERT"), std::string::npos) << found.out;
    EXPECT_NE(found.out.find("pinned to an app version: 37."), std::string::npos) << "it came to the end" << found.out;
    EXPECT_EQ(found.out.find("was not looked at to its end"), std::string::npos) << found.out;
    EXPECT_EQ(found.out.find("\"not_counted\""), std::string::npos) << found.out;
    EXPECT_EQ(rows(), tables) << "no table was made";
    if (possible.status != 0) GTEST_SKIP() << "the disk stayed writable: user namespaces are forbidden here";
}

}  // namespace
}  // namespace sluice::test
