// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice adopt where something is wrong: what is tried before anything changes, and what becomes of the way back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sluice/base/project.h"
#include "tests/db/going_back/adopted_project.h"
#include "tests/support/answering_server.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class AdoptFailures : public AdoptedProject {
  protected:
    void start_project() {
        ASSERT_EQ(shell("bin/start").status, 0);
        work(1);
    }
    /// Each file and folder, and when it was changed.
    std::map<std::string, fs::file_time_type> files() const {
        std::map<std::string, fs::file_time_type> all;
        for (const auto& entry : fs::recursive_directory_iterator(project_.folder()))
            all[entry.path()] = fs::last_write_time(entry.path());
        all["."] = fs::last_write_time(project_.folder());
        return all;
    }
    void set_account(const std::string& user, const std::string& password) const {
        std::string text = config();
        for (const auto& [tag, value] : {std::pair("db_user", user), std::pair("db_passwd", password)}) {
            const std::size_t at = text.find(std::string("<") + tag + ">") + std::string(tag).size() + 2;
            text.replace(at, text.find("</", at) - at, value);
        }
        std::ofstream(project_.folder() / "config.xml") << text;
    }
};

TEST_F(AdoptFailures, ADryRunWritesNothing) {
    fs::remove_all(project_.folder() / ("pid_" + short_host_name()));
    const auto before = files();
    const RunResult dry = sluice("adopt --dry_run .");
    EXPECT_EQ(dry.status, 1) << dry.err;
    EXPECT_EQ(sluice("revert --dry_run .").status, 0);
    EXPECT_EQ(files(), before);
}

TEST_F(AdoptFailures, JsonSaysWhatWasDone) {
    const auto json = [&](const std::string& arguments, int status) {
        const RunResult result = sluice(arguments + " --json .");
        EXPECT_EQ(result.status, status) << result.err;
        return nlohmann::json::parse(result.out);
    };
    auto said = json("adopt --dry_run", 1);
    EXPECT_EQ(said["outcome"], "would_change");
    EXPECT_EQ(said["stage"], "none");
    said = json("adopt --watch 2", 0);
    EXPECT_EQ(said["outcome"], "done") << said;
    EXPECT_EQ(said["stage"], "adopted");
    EXPECT_EQ(said["dry_run"], false);
    EXPECT_THAT(said["steps"].dump(), HasSubstr("Putting Sluice's programs in place"));
    EXPECT_EQ(json("adopt", 0)["outcome"], "nothing_to_do");
    client_that_may_fail();
    set("broken", true);
    said = json("revert", 2);
    EXPECT_EQ(said["outcome"], "undone") << said;
    EXPECT_EQ(said["stage"], "adopted");
    EXPECT_THAT(said["error"].get<std::string>(), HasSubstr("goes on with Sluice's programs"));
    set("broken", false);
    EXPECT_EQ(json("revert", 0)["outcome"], "done");
    fs::remove(project_.folder() / "keys/upload_public");
    EXPECT_EQ(json("adopt", 2)["outcome"], "refused");
}

/// With exactly the rights that the refusal names it goes there and back.
TEST_F(AdoptFailures, RightsOfTheWayBackAreTriedFirst) {
    const auto execute = [&](SqlLiteral statement) { project_.db().execute(Sql(statement)); };
    execute("CREATE OR REPLACE USER 'moves'@'localhost' IDENTIFIED BY 'moves_passwd'");
    execute("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER ON swap.* TO 'moves'@'localhost'");
    set_account("moves", "moves_passwd");
    const std::string before = config();
    EXPECT_THAT(sluice("check .").out, HasSubstr("the way back (sluice revert) needs in database swap: DROP;"));
    for (const char* arguments : {"adopt --watch 2 .", "adopt --despite_errors --watch 2 ."}) {
        const RunResult refused = sluice(arguments);
        EXPECT_EQ(refused.status, 2) << refused.out;
        EXPECT_THAT(refused.err, HasSubstr("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP ON `swap`.*"));
        EXPECT_EQ(config(), before);
        EXPECT_FALSE(fs::exists(project_.folder() / "before-sluice"));
    }
    execute("GRANT DROP ON swap.* TO 'moves'@'localhost'");
    const RunResult moved = sluice("adopt --watch 2 ."), back = sluice("revert .");
    EXPECT_EQ(moved.status, 0) << moved.out << moved.err;
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    execute("DROP USER 'moves'@'localhost'");
}

TEST_F(AdoptFailures, ErrorsOfTheSurroundingsRefuseIt) {
    in_path("crontab", "#!/bin/sh\necho '* * * * * " + (project_.folder() / "bin/feeder").string() + "'\n");
    const RunResult refused = sluice("adopt --dry_run .");
    EXPECT_EQ(refused.status, 2) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("runs feeder: bin/stop does not find it"));
    EXPECT_THAT(refused.err, HasSubstr("--despite_errors"));
    EXPECT_EQ(sluice("adopt --dry_run --despite_errors .").status, 1);
}

TEST_F(AdoptFailures, ACgiThatHangsLeadsBack) {
    start_project();
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    fs::remove(installed_ / "cgi-bin");
    fs::create_directory(installed_ / "cgi-bin");
    for (const auto& entry : fs::directory_iterator(fs::path(binary_dir()) / "cgi-bin"))
        if (entry.path().filename() != "cgi")
            fs::create_symlink(entry.path(), installed_ / "cgi-bin" / entry.path().filename());
    script(installed_ / "cgi-bin/cgi", "#!/bin/sh\nexec sleep 1000\n");
    const RunResult moved = sluice("adopt --watch 2 .");
    EXPECT_EQ(moved.status, 2) << moved.out;
    EXPECT_THAT(moved.err, HasSubstr("did not serve within 2 s: cgi-bin/cgi did not answer within 2 s"));
    expect_old_again(old_cgi, before);
    work(1);
    expect_rows_in_order();
}

/// The program answers, and what clients ask does not: a web server that goes on with old FastCGI processes.
TEST_F(AdoptFailures, TheUrlOfClientsHasToServe) {
    AnsweringServer web;
    const std::string url = "http://127.0.0.1:" + std::to_string(web.port()) + "/cgi", head = "HTTP/1.0 200 OK\r\n\r\n";
    fs::create_directories(project_.folder() / "html/user");
    std::ofstream(project_.folder() / "html/user/schedulers.txt") << "<scheduler>" << url << "</scheduler>\n";
    start_project();
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    const auto move = begin("adopt --watch 5 .");
    ASSERT_TRUE(move->wait_for_output("Putting Sluice's")) << move->out() << move->err();
    web.say(head + "<scheduler_reply>\n<project_is_down/>\n</scheduler_reply>\n");
    EXPECT_EQ(move->wait()->status, 2) << move->out();
    EXPECT_THAT(move->err(), HasSubstr(url + " answers that the project is down; if the web server runs "
                                             "cgi-bin/fcgi, reload it now"));
    expect_old_again(old_cgi, before);
    web.say(head + "<scheduler_reply>\n</scheduler_reply>\n");
    EXPECT_EQ(sluice("adopt --watch 2 .").status, 0);
    work(1);
    expect_rows_in_order();
}

/// adopt fails while the database is away: the old programs run again, and the next call cleans.
TEST_F(AdoptFailures, WithoutADatabaseTheFilesGoBack) {
    start_project();
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    client_that_may_fail();
    set("broken", true);
    wrap("transitioner", "#!/bin/sh\nexit 1\n");
    for (const char* arguments : {"adopt --watch 5 .", "revert ."}) {
        const RunResult failed = sluice(arguments);
        EXPECT_EQ(failed.status, 2) << failed.out;
        EXPECT_THAT(failed.err, HasSubstr("The old programs run. When that is repaired, clean the database: /"));
        EXPECT_FALSE(fs::exists(project_.folder() / "bin/scheduler")) << arguments;
        EXPECT_EQ(config(), before) << arguments;
        EXPECT_TRUE(fs::exists(project_.folder() / "before-sluice/state")) << arguments;
        work(1);
        EXPECT_THAT(sluice("adopt .").err, HasSubstr("finish it first: /"));
    }
    set("broken", false);
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    work(1);
    expect_rows_in_order();
}

/// The way back of an adopt that failed, killed at each of its steps.
TEST_F(AdoptFailures, TheNextCallFinishesAKilledWayBack) {
    start_project();
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    wrap("transitioner", "#!/bin/sh\nexit 1\n");
    for (const char* said : {"Going back", "Cleaning", "Putting BOINC's"}) {
        const auto move = begin("adopt --watch 5 .");
        EXPECT_TRUE(move->wait_for_output(said)) << move->out() << move->err();
        move->send_signal(SIGKILL);
        move->wait();
        const RunResult back = sluice("revert .");
        EXPECT_EQ(back.status, 0) << said << back.out << back.err;
        expect_old_again(old_cgi, before);
    }
    work(1);
    expect_rows_in_order();
}

/// The client of a killed call would clean beside that of the next one.
TEST_F(AdoptFailures, AKilledCallLeavesNoClientBehind) {
    ASSERT_EQ(sluice("adopt --watch 2 .").status, 0);
    client_that_may_fail();
    set("hangs", true);
    const auto move = begin("revert .");
    ASSERT_TRUE(eventually([&] { return !text_of(path_ / "pid").empty(); })) << move->out() << move->err();
    const int client = std::stoi(text_of(path_ / "pid"));
    ASSERT_EQ(::kill(client, 0), 0);
    move->send_signal(SIGKILL);
    move->wait();
    EXPECT_TRUE(eventually([&] { return ::kill(client, 0) != 0; })) << "it goes on alone";
    set("hangs", false);
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
}

/// Of the move that failed, a program does not end. Beside it the old ones are not started.
TEST_F(AdoptFailures, OldProgramsDoNotRunBesideOurs) {
    start_project();
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi"), before = config();
    wrap("transitioner", "#!/bin/sh\ntrap '' HUP\nwhile [ ! -e ../end ] && [ -e ../config.xml ]; do sleep .1; done\n");
    const auto move = begin("adopt --wait 3 --watch 60 .");
    ASSERT_TRUE(move->wait_for_output("watching for")) << move->out() << move->err();
    move->send_signal(SIGINT);
    EXPECT_EQ(move->wait()->status, 2) << move->out();
    EXPECT_THAT(move->err(), HasSubstr("which still run (transitioner): end them, then call: /"));
    EXPECT_TRUE(fs::exists(project_.folder() / "bin/scheduler")) << "ours are still there";
    std::ofstream(project_.folder() / "end") << "";
    const RunResult back = sluice("revert .");
    EXPECT_EQ(back.status, 0) << back.out << back.err;
    expect_old_again(old_cgi, before);
    work(1);
    expect_rows_in_order();
}

}  // namespace
}  // namespace sluice::test
