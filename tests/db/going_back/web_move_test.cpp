// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice adopt and sluice revert while clients ask through Apache: each of them gets a whole reply. The old scheduler
// breaks off, as BOINC's does behind Apache, where the project is stopped or its feeder has not filled the array.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <functional>

#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"
#include "tests/db/going_back/asking_clients.h"

namespace sluice::test {
namespace {

class MoveBehindApache : public AdoptedProject {
  protected:
    /// One request by Apache alone; what is wrong with the reply.
    std::string ask_once() {
        const TempDir folder;
        const PrivateApache web(apache_of(project_, folder));
        return malformed(http(web.port(), "/moved/cgi", work_request(0, 1, 0)));
    }
    /// The clients have heard something, from then on.
    static void hear_some(AskingClients& clients) {
        const int before = clients.replies();
        ASSERT_TRUE(eventually([&] { return clients.replies() >= before + 8; }, 120));
    }
    /// `meanwhile`: what the test does while the move is under way.
    void move_under_load(AskingClients& clients, const std::string& command, const std::function<void()>& meanwhile) {
        hear_some(clients);
        const auto move = begin(command);
        meanwhile();
        const auto moved = move->wait(600);
        ASSERT_TRUE(moved);
        EXPECT_EQ(moved->status, 0) << command << moved->out << moved->err;
        hear_some(clients);
        const Heard heard = clients.heard();
        fmt::print("{}: {} replies, {} of them 'come back later', {} broken\n", command, heard.replies,
                   heard.told_to_wait, heard.broken);
        EXPECT_EQ(heard.broken, 0) << command << ": " << heard.example << moved->out;
        EXPECT_GT(heard.told_to_wait, 0) << command << moved->out;
        EXPECT_THAT(heard.twice, testing::IsEmpty()) << command;
    }
    void there_and_back(const std::string& options, const std::function<void(AskingClients&)>& while_reverting) {
        const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
        AskingClients clients(project_, 4);
        move_under_load(clients, "adopt --watch 3 " + options + ".", [] {});
        EXPECT_FALSE(fs::exists(project_.folder() / "sluice_moving"));
        move_under_load(clients, "revert .", [&] { while_reverting(clients); });
        expect_old_again(old_cgi, before);
        const Heard last = clients.end();
        EXPECT_EQ(last.broken, 0) << last.example;
    }
};

/// The old programs work in a folder, and so with a job array, of their own.
class CutReplies : public MoveBehindApache {
  protected:
    CutReplies() : theirs_(server_, project_) {
        fs::remove(project_.folder() / "cgi-bin/fcgi");
        const std::string as_theirs = "BOINC_PROJECT_DIR=" + theirs_.folder().string() + " exec " + binary_dir();
        std::ofstream(project_.folder() / "old_scheduler") << as_theirs << "/cgi-bin/cgi";
        fs::copy_file(fs::path(binary_dir()) / "tests/old_scheduler", project_.folder() / "cgi-bin/cgi",
                      fs::copy_options::overwrite_existing);
        // It fills the array when the test says so.
        script(project_.folder() / "bin/feeder",
               "#!/bin/sh\ncd " + theirs_.folder().string() +
                   "\nwhile [ ! -e may_fill ] && [ -e config.xml ]; do sleep .1; done\n" + as_theirs +
                   "/bin/feeder \"$@\"\n");
    }
    void may_fill(bool may) const {
        const fs::path file = theirs_.folder() / "may_fill";
        may ? void(std::ofstream(file)) : void(fs::remove(file));
    }
    void there_and_back_with_a_slow_feeder() {
        may_fill(false);
        // Half of the old programs are ours, and check calls that mixed.
        there_and_back("--despite_errors ", [&](AskingClients& clients) {
            EXPECT_TRUE(eventually([&] { return !fs::exists(project_.folder() / "bin/scheduler"); }, 120));
            EXPECT_TRUE(eventually([&] { return !fs::exists(project_.folder() / "stop_sched"); }, 120));
            hear_some(clients);
            may_fill(true);
        });
    }
    TestProject theirs_;
};

TEST_F(CutReplies, NoneIsHeardDuringAMove) {
    ASSERT_EQ(shell("bin/start").status, 0);
    // How it is cut, before or behind the head, is the web server's affair.
    EXPECT_NE(ask_once(), "") << "before the array is filled";
    may_fill(true);
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }, 120));
    ASSERT_EQ(shell("bin/stop").status, 0);
    EXPECT_NE(ask_once(), "") << "of a stopped project";
    ASSERT_EQ(shell("bin/start").status, 0);
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }, 120));
    there_and_back_with_a_slow_feeder();
}

TEST_F(CutReplies, NoneIsHeardWhereCgiIsALink) {
    fs::create_directory(project_.folder() / "build_of_boinc");
    fs::rename(project_.folder() / "cgi-bin/cgi", project_.folder() / "build_of_boinc/cgi");
    fs::create_symlink("../build_of_boinc/cgi", project_.folder() / "cgi-bin/cgi");
    may_fill(true);
    ASSERT_EQ(shell("bin/start").status, 0);
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }, 120));
    there_and_back_with_a_slow_feeder();
    EXPECT_EQ(fs::read_symlink(project_.folder() / "cgi-bin/cgi"), "../build_of_boinc/cgi");
}

/// Killed at each step, and called again.
TEST_F(CutReplies, NoneIsHeardAfterKills) {
    may_fill(true);
    ASSERT_EQ(shell("bin/start").status, 0);
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }, 120));
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    AskingClients clients(project_, 4);
    const auto kill_at = [&](const std::string& arguments, const std::string& said) {
        const auto move = begin(arguments);
        EXPECT_TRUE(move->wait_for_output(said, 120)) << move->out() << move->err();
        move->send_signal(SIGKILL);
        move->wait();
        hear_some(clients);
        const Heard heard = clients.heard();
        EXPECT_EQ(heard.broken, 0) << arguments << " killed at " << said << ": " << heard.example;
    };
    const std::string adopt = "adopt --watch 2 --despite_errors .";
    for (const char* said : {"Keep in", "From now on", "Stopping", "Putting Sluice's", "Starting"})
        kill_at(adopt, said);
    const RunResult moved = sluice(adopt);
    EXPECT_EQ(moved.status, 0) << moved.out << moved.err;
    for (const char* said : {"From now on", "Stopping", "Cleaning", "Putting BOINC's", "Starting"})
        kill_at("revert .", said);
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    const Heard last = clients.end();
    EXPECT_EQ(last.broken, 0) << last.example;
    EXPECT_THAT(last.twice, testing::IsEmpty());
}

/// The database is away on the way back: the old programs run, and each further call has ours in front again.
TEST_F(CutReplies, NoneIsHeardOnASecondWayBack) {
    may_fill(true);
    ASSERT_EQ(shell("bin/start").status, 0);
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }, 120));
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    client_that_may_fail();
    set("broken", true);
    wrap("transitioner", "#!/bin/sh\nexit 1\n");
    AskingClients clients(project_, 4);
    for (const char* arguments : {"adopt --watch 5 --despite_errors .", "revert ."}) {
        const RunResult failed = sluice(arguments);
        EXPECT_EQ(failed.status, 2) << failed.out;
        EXPECT_THAT(failed.err,
                    testing::HasSubstr("The old programs run. When that is repaired, clean the database: "));
        EXPECT_TRUE(text_of(project_.folder() / "cgi-bin/cgi") == old_cgi) << arguments;
        EXPECT_FALSE(fs::exists(project_.folder() / "sluice_moving")) << arguments;
        hear_some(clients);
        const Heard heard = clients.heard();
        EXPECT_EQ(heard.broken, 0) << arguments << ": " << heard.example;
        EXPECT_GT(heard.told_to_wait, 0) << arguments;
    }
    set("broken", false);
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    const Heard last = clients.end();
    EXPECT_EQ(last.broken, 0) << last.example;
}

TEST_F(MoveBehindApache, UpstreamsClientsHearWholeReplies) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    install_upstream(prefix);
    std::string text = config();
    text.insert(text.find("</config>"), "<maintenance_delay>60</maintenance_delay>\n");
    std::ofstream(project_.folder() / "config.xml") << text;
    const RunResult started = shell("bin/start");
    ASSERT_EQ(started.status, 0) << started.out << started.err;
    EXPECT_TRUE(eventually([&] { return ask_once().empty(); }));
    there_and_back("", [](AskingClients&) {});

    AskingClients clients(project_, 4);
    hear_some(clients);
    ASSERT_EQ(shell("bin/stop").status, 0);
    hear_some(clients);
    ASSERT_EQ(shell("bin/start").status, 0);
    const Heard heard = clients.end();
    fmt::print("BOINC's own stop and start: {} replies, {} of them 'come back later', {} broken\n", heard.replies,
               heard.told_to_wait, heard.broken);
    EXPECT_GT(heard.broken, 0) << "else the move was not put to the test";
}

}  // namespace
}  // namespace sluice::test
