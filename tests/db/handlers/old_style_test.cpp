// SPDX-License-Identifier: LGPL-3.0-or-later
// Validators that are written for upstream's interface, and what becomes of their faults.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <ctime>

#include "sluice/base/text.h"
#include "tests/db/handlers/outside_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class OldStyle : public OutsideProject {
  protected:
    OldStyle() { fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_validator", project_ / "bin/judge"); }
    /// A workunit a list; its results, one for each text, have ids from 10 times its id.
    void jobs(const std::vector<std::vector<std::string>>& texts) {
        stage("input");
        std::string lines;
        for (std::size_t i = 1; i <= texts.size(); ++i) lines += "--wu_name w" + std::to_string(i) + " input\n";
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--min_quorum", "2", "--target_nresults", "2",
                               "--max_success_results", "5", "--max_total_results", "9", "--stdin"},
                              lines)
                      .status,
                  0);
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
        for (std::size_t w = 0; w < texts.size(); ++w)
            for (std::size_t i = 0; i < texts[w].size(); ++i)
                returned(static_cast<Id>(10 * (w + 1) + i), static_cast<Id>(w + 1), static_cast<Id>(i) + 1,
                         texts[w][i]);
    }
    /// The same, but the texts are what the jobs said on standard error.
    void jobs_that_say(const std::vector<std::vector<std::string>>& texts) {
        jobs(texts);
        for (std::size_t w = 0; w < texts.size(); ++w)
            for (std::size_t i = 0; i < texts[w].size(); ++i)
                db_.execute(Sql("UPDATE result SET stderr_out=")
                            << SqlText{texts[w][i]} << " WHERE id=" << static_cast<Id>(10 * (w + 1) + i));
    }
    RunResult judge(std::vector<std::string> more = {}, const std::string& program = "judge") {
        std::vector<std::string> args{program, "--app", "a", "--one_pass"};
        args.insert(args.end(), more.begin(), more.end());
        return run_own(args);
    }
    /// In the last hours; the code has judged so many others since.
    void failed_nine_times(const std::vector<Id>& workunits, int judged) {
        std::string lines = std::to_string(judged) + "\n";
        for (const Id wu : workunits)
            lines += fmt::format("{} 9 9 {} {} 0 0\n", wu, std::time(nullptr) - 7200, std::time(nullptr) - 3600);
        project_.write("validator_a.state", lines);
    }
    std::string states(Id wu) {
        std::string all;
        for (const auto& row : rows_of(
                 db_, Sql("SELECT validate_state, outcome FROM result WHERE workunitid=") << wu << " ORDER BY id", 2))
            all += row[1] == "6" ? "E" : row[0];
        return all;
    }
};

TEST_F(OldStyle, OlderFormOfInitResultIsCalled) {
    jobs({{"1", "1.25", "3", "bad"}});
    const RunResult r = judge({"--tolerance", "0.3"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(states(1), "112E") << r.err;
    EXPECT_THAT(r.err, HasSubstr("[RESULT#10 w_10] of [WU#1] says 1"));
    EXPECT_THAT(r.err, HasSubstr("init_result() returned ERR_BAD_FORMAT (-126)"));
}

TEST_F(OldStyle, FaultsCostTheirOwnWorkunitARetry) {
    jobs({{"1", "1"}, {"crash", "1"}, {"2", "2"}, {"hang", "2"}, {"3", "exit"}, {"allocate", "3"}, {"0", "limits"}});
    const RunResult r = judge({"--code_time_limit", "1", "--code_memory_limit", "300"});
    EXPECT_EQ(r.status, 0) << r.err;
    for (const Id good : {1, 3, 7}) EXPECT_EQ(states(good), "11") << r.err;
    EXPECT_THAT(r.err, HasSubstr("files of crashes: 0 bytes"));
    for (const Id bad : {2, 4, 5, 6}) EXPECT_EQ(states(bad), "00") << r.err;
    EXPECT_EQ(count("need_validate=1"), 4);
    EXPECT_EQ(count("target_nresults<>2"), 0);
    for (const char* why : {"[RESULT#20 w_20] not judged: old_style_validator was ended by signal 6",
                            "[RESULT#40 w_40] not judged: old_style_validator took longer than 1 s",
                            "[RESULT#50 w_50] not judged: old_style_validator ended with exit status 0",
                            "[RESULT#60 w_60] not judged: old_style_validator was ended by signal 6"})
        EXPECT_THAT(r.err, HasSubstr(why));
}

TEST_F(OldStyle, WorkunitThatAlwaysFailsIsGivenUp) {
    jobs({{"1", "1"}, {"crash", "1"}, {"2", "2"}, {"13", "13"}, {"hang", "3"}});
    failed_nine_times({2, 4}, 20);
    const RunResult r = judge({"--code_time_limit", "1"});
    EXPECT_EQ(states(1) + states(3), "1111") << r.err;
    EXPECT_EQ(states(2), "E0") << "only the result on which it crashes" << r.err;
    EXPECT_THAT(r.err, HasSubstr("[RESULT#20 w_20] Validate error: old_style_validator was ended by signal 6"));
    EXPECT_THAT(r.err, HasSubstr("the project's code failed 10 times [HOST#1]"));
    EXPECT_EQ(states(4), "44") << "each by itself is good: they differ, as with upstream" << r.err;
    EXPECT_EQ(number_of(db_, Sql("SELECT target_nresults FROM workunit WHERE id=4")), 3) << "one more decides";
    EXPECT_EQ(states(5), "00") << "the first failure" << r.err;
}

TEST_F(OldStyle, CodeThatFailsOnAllBlamesNone) {
    jobs({{"crash", "1"}, {"crash", "2"}});
    failed_nine_times({1, 2}, 0);
    const RunResult r = judge();
    EXPECT_EQ(states(1) + states(2), "0000") << r.err;
}

TEST_F(OldStyle, WhatACrashLeavesBehindHidesNoCrash) {
    jobs({{"leaves", "1"}, {"2", "2"}});
    const RunResult r = judge({"--code_time_limit", "15"});
    EXPECT_THAT(r.err, HasSubstr("[RESULT#10 w_10] not judged: old_style_validator was ended by signal 6"));
    EXPECT_EQ(states(2), "11") << r.err;
}

TEST_F(OldStyle, ItsLinesGoIntoTheNewLog) {
    jobs({{"1", "1"}, {"2", "2"}});
    db_.execute(Sql("UPDATE workunit SET need_validate=0 WHERE id=2"));
    const fs::path log = project_ / "own.log", old = project_ / "old.log";
    const auto has = [](const fs::path& file, const std::string& text) {
        return read_file(file).value_or("").find(text) != std::string::npos;
    };
    RunOptions options = with_folders();
    options.cwd = project_.path();
    Subprocess daemon({"/bin/sh", "-c", "exec bin/judge --app a --sleep_interval 1 2>>own.log"}, options);
    ASSERT_TRUE(eventually([&] { return has(log, "of [WU#1] says 1"); })) << read_file(log).value_or("");
    fs::rename(log, old);
    ASSERT_TRUE(eventually([&] { return fs::exists(log); })) << "the daemon looks each second";
    db_.execute(Sql("UPDATE workunit SET need_validate=1 WHERE id=2"));
    EXPECT_TRUE(eventually([&] { return has(log, "of [WU#2] says 2"); })) << read_file(log).value_or("");
    EXPECT_FALSE(has(old, "of [WU#2]"));
    daemon.send_signal(SIGTERM);
    EXPECT_TRUE(daemon.wait());
}

// <log_format>json</log_format>, and journald on the other side.
TEST_F(OldStyle, ItsLinesHaveFormatAndPriority) {
    jobs({{"1", "1"}});
    const std::string with_journal =
        "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec bin/judge --app a --one_pass";
    const auto lines_of_code = [&](const std::string& begin) {
        const RunResult r = type(with_journal, project_.path());
        EXPECT_EQ(r.status, 0) << r.err;
        std::vector<std::string> lines;
        for (const std::string_view line : split(r.err, '\n')) {
            if (!line.empty()) {
                EXPECT_THAT(std::string(line), testing::StartsWith(begin)) << r.err;
            }
            if (line.find("says 1") != line.npos) lines.emplace_back(line.substr(3));
        }
        db_.execute(Sql("UPDATE workunit SET need_validate=1, canonical_resultid=0"));
        db_.execute(Sql("UPDATE result SET validate_state=0"));
        EXPECT_FALSE(lines.empty()) << r.err;
        return lines;
    };
    for (const std::string& line : lines_of_code("<6>2")) EXPECT_THAT(line, HasSubstr(" UTC  [RESULT#1"));
    std::string config = read_file(project_ / "config.xml").value();
    project_.write("config.xml", config.insert(config.find("<config>") + 8, "<log_format>json</log_format>"));
    for (const std::string& line : lines_of_code("<6>{\"time\":")) {
        EXPECT_THAT(line, HasSubstr("\"level\":\"normal\",\"program\":\"old_style_validator\",\"pid\":"));
        EXPECT_THAT(line, HasSubstr("\"message\":\"[RESULT#1"));
        EXPECT_THAT(line, testing::MatchesRegex(".*,\"workunit\":1,\"result\":1[01]\\}"));
    }
}

TEST_F(OldStyle, TransientErrorsAskForNoInstance) {
    jobs({{"later", "1"}, {"-1", "1"}, {"5", "5"}});
    const RunResult r = judge();
    EXPECT_EQ(states(1), "00") << r.err;
    EXPECT_EQ(states(2), "00") << r.err;
    EXPECT_EQ(states(3), "11") << r.err;
    EXPECT_EQ(count("target_nresults<>2"), 0);
    EXPECT_EQ(count("need_validate=1"), 2);
}

TEST_F(OldStyle, AssimilatorGetsAllAndFaultsAreRetried) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_assimilator", project_ / "bin/keep");
    jobs({{"1", "1"}, {"2", "2"}, {"3", "3"}, {"4", "4"}, {"5"}});
    for (const char* name : {"crash", "defer", "error"})
        db_.execute(Sql("UPDATE workunit SET name=") << SqlText{name} << " WHERE name="
                                                     << SqlText{std::string("w") + (*name == 'c'   ? "1"
                                                                                    : *name == 'd' ? "2"
                                                                                                   : "3")});
    db_.execute(Sql("UPDATE workunit SET assimilate_state=1, canonical_resultid=10*id, need_validate=0"));
    db_.execute(Sql("UPDATE workunit SET canonical_resultid=0, error_mask=2 WHERE id=5"));
    const RunResult r = run_own({"keep", "--app", "a", "--one_pass"});
    for (const char* said : {"was ended by signal 6", "assimilate_handler() defers it", "returned ERR_FOPEN (-108)",
                             "[WU#4 w4] 2 results, canonical 40, 0, 100 s", "[WU#5 w5] failed: 0x2"})
        EXPECT_THAT(r.err, HasSubstr(said));
    EXPECT_EQ(count("assimilate_state=2"), 2) << r.err;
    EXPECT_EQ(read_file(project_ / "kept/w4_out").value_or("none"), "4");
}

TEST_F(OldStyle, AssimilatorLooksIntoTheDatabase) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_assimilator", project_ / "bin/keep");
    jobs({{"1", "1"}});
    db_.execute(Sql("UPDATE workunit SET name='look up', assimilate_state=1, canonical_resultid=10, need_validate=0"));
    db_.execute(Sql("SET sql_mode=''"));
    db_.execute(Sql("INSERT IGNORE INTO user (id, name, email_addr) VALUES (7, 'Ada', 'a@x')"));
    db_.execute(Sql("REPLACE INTO host (id, userid, os_name) VALUES (1, 7, 'Linux'), (2, 7, 'Plan 9')"));
    db_.execute(
        Sql("REPLACE INTO host_app_version (host_id, app_version_id, consecutive_valid) SELECT hostid, "
            "IF(app_version_id<0, 1000000*appid-app_version_id, app_version_id), 5 FROM result WHERE id=10"));
    const RunResult r = run_own({"keep", "--app", "a", "--one_pass"});
    EXPECT_THAT(r.err, HasSubstr("looked up: 2 results w_10@Linux w_11@Plan 9, Linux of Ada"));
    EXPECT_THAT(r.err, HasSubstr(", 5 valid"));
    EXPECT_THAT(r.err, HasSubstr("database: Unknown column 'nothing'"));
    EXPECT_EQ(count("assimilate_state=2 AND opaque=2.5"), 1) << r.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT who FROM kept"), 1), (Table{{"D'Arcy \\"}}));
}

TEST_F(OldStyle, TransactionsEndWithTheirWorkunit) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_assimilator", project_ / "bin/keep");
    db_.execute(Sql("DROP TABLE IF EXISTS own"));
    db_.execute(Sql("CREATE TABLE own (id INT, n INT) ENGINE=InnoDB"));
    jobs({{"1"}, {"2"}, {"3"}, {"4"}, {"5"}});
    Id id = 0;
    for (const char* name : {"half", "open", "lost", "rested", "open again"})
        db_.execute(Sql("UPDATE workunit SET name=")
                    << SqlText{name} << ", assimilate_state=1, need_validate=0 WHERE id=" << ++id);
    db_.execute(Sql("UPDATE workunit SET canonical_resultid=10*id"));
    const RunResult r = run_own({"keep", "--app", "a", "--one_pass"});
    EXPECT_EQ(rows_of(db_, Sql("SELECT id FROM own ORDER BY id"), 1), (Table{{"2"}, {"5"}})) << r.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT id FROM workunit WHERE assimilate_state=2 ORDER BY id"), 1),
              (Table{{"2"}, {"5"}}))
        << r.err;
    EXPECT_THAT(r.err, HasSubstr("a transaction was left open: it is rolled back"));
    EXPECT_THAT(r.err, HasSubstr("a transaction was left open: it is committed"));
    EXPECT_THAT(r.err, HasSubstr("the connection was lost within a transaction, which is undone"));
}

TEST_F(OldStyle, ADryRunUndoesWhatCodeWrites) {
    db_.execute(Sql("DROP TABLE IF EXISTS own"));
    db_.execute(Sql("CREATE TABLE own (id INT, n INT) ENGINE=InnoDB"));
    jobs({{"9", "9"}});
    const RunResult dry = judge({"--dry_run"});
    EXPECT_THAT(dry.err, HasSubstr("of [WU#1] says 9"));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM own")), 0) << dry.err;
    const RunResult r = judge();
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM own")), 2) << r.err;
}

TEST_F(OldStyle, StatementsEndWithTheTimeLimit) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_assimilator", project_ / "bin/keep");
    jobs({{"1"}});
    db_.execute(Sql("UPDATE workunit SET name='long', assimilate_state=1, canonical_resultid=10"));
    const RunResult r = run_own({"keep", "--app", "a", "--one_pass", "--code_time_limit", "1"});
    EXPECT_EQ(count("assimilate_state=1"), 1) << "ended, or its statement failed: " << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("database: \n")));
    const Sql running("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'select benchmark(%'");
    EXPECT_TRUE(eventually([&] { return number_of(db_, running) == 0; })) << r.err;
}

TEST_F(OldStyle, CodeThatDecidesOnSetsIsAsked) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_sets", project_ / "bin/sets");
    jobs_that_say(
        {{"a", "a", "b"}, {"alone", "b"}, {"a", "b"}, {"bad", "a"}, {"later", "a"}, {"broken", "a"}, {"exit", "a"}});
    const RunResult r = judge({"--post_assigned_credit"}, "sets");
    EXPECT_EQ(r.status, 0) << r.err;
    const char* expected[] = {"112", "14", "44", "E4", "00", "00", "00"};
    for (int w = 1; w <= 7; ++w) EXPECT_EQ(states(w), expected[w - 1]) << "workunit " << w << "\n" << r.err;
    EXPECT_EQ(rows_of(db_,
                      Sql("SELECT id, canonical_resultid, canonical_credit, target_nresults FROM workunit "
                          "WHERE need_validate=0 ORDER BY id"),
                      4),
              (Table{{"1", "10", "40", "2"}, {"2", "20", "12", "2"}, {"3", "0", "0", "3"}, {"4", "0", "0", "2"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE validate_state<>0 AND opaque<>id+0.5")), 0);
    EXPECT_EQ(number_of(db_, Sql("SELECT granted_credit FROM result WHERE id=11")), 40);
    for (const char* why : {"[RESULT#50 w_50] not judged: check_set() or check_pair() says that it can't be told now",
                            "[RESULT#60 w_60] not judged: check_set() returned ERR_READ (-102)",
                            "[RESULT#70 w_70] not judged: old_style_sets ended with exit status 0"})
        EXPECT_THAT(r.err, HasSubstr(why));
}

TEST_F(OldStyle, PkgConfigKnowsWhatAProgramNeeds) {
    for (const auto& [kind, name] : {std::pair("validator", "sets"), std::pair("assimilator", "assimilator")}) {
        const std::string package = std::string("sluice-") + kind,
                          source = source_dir() + "/tests/db/handlers/old_style_" + name + ".cpp";
        const RunResult r =
            type("export PKG_CONFIG_PATH=$SLUICE/lib/pkgconfig\nc++ -include boinc/boinc_db.h '" + source +
                     "' $(pkg-config --cflags --libs " + package + ") -o $PROJECT/bin/own_" + kind,
                 source_.path());
        ASSERT_EQ(r.status, 0) << r.err;
    }
    jobs_that_say({{"a", "a"}});
    const RunResult judged = judge({}, "own_validator"), kept = judge({}, "own_assimilator");
    EXPECT_EQ(states(1), "11") << judged.err;
    EXPECT_EQ(count("assimilate_state=2"), 1) << kept.err;
}

TEST_F(OldStyle, LateResultsArePairedWithTheCanonicalOne) {
    fs::create_symlink(fs::path(binary_dir()) / "tests/old_style_sets", project_ / "bin/sets");
    jobs_that_say({{"a", "a", "b", "bad", "later"}});
    db_.execute(Sql("UPDATE workunit SET canonical_resultid=10, canonical_credit=7"));
    db_.execute(Sql("UPDATE result SET validate_state=1 WHERE id=10"));
    const RunResult r = judge({}, "sets");
    EXPECT_EQ(states(1), "112E0") << r.err;
    EXPECT_EQ(number_of(db_, Sql("SELECT granted_credit FROM result WHERE id=11")), 7);
}

TEST_F(OldStyle, ClaimedCreditIsGrantedIfAsked) {
    jobs({{"4", "4"}, {"8", "8"}});
    const RunResult r = judge({"--post_assigned_credit"});
    EXPECT_EQ(states(1) + states(2), "1111") << r.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT granted_credit FROM result ORDER BY id"), 1),
              (Table{{"44"}, {"44"}, {"0"}, {"0"}}))
        << r.err;
    EXPECT_THAT(r.err, HasSubstr(":40.2500"));
    EXPECT_THAT(r.err, HasSubstr("[WU#2 w2] post-assigned credit -8 is negative: none is granted"));
}

TEST_F(OldStyle, OutliersAreMarked) {
    jobs({{"7", "7.1"}});
    const RunResult r = judge();
    EXPECT_EQ(number_of(db_, Sql("SELECT SUM(id) FROM result WHERE runtime_outlier=1")), 10) << r.err;
}

TEST_F(OldStyle, RefusedOptionsEndTheDaemon) {
    const RunResult refused = judge({"--tolerence", "3"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("validate_handler_init() returned ERR_INVALID_PARAM (-178)"));
    for (const char* option : {"-check_punitive", "--update_credited_job"})
        EXPECT_THAT(judge({option}).err, HasSubstr("is not in Sluice")) << option;
}

TEST_F(OldStyle, ALinkToTheDaemonIsAdvised) {
    RunOptions options;
    options.cwd = source_.path();
    const RunResult lost = run({binary_dir() + "/tests/old_style_validator", "--app", "a"}, options);
    EXPECT_EQ(lost.status, 1);
    EXPECT_THAT(lost.err, testing::AllOf(HasSubstr("sluice_validator, which it starts, is neither beside it nor in /"),
                                         HasSubstr("ln -s SLUICE/bin/sluice_validator " + binary_dir() + "/tests/")));
}

TEST_F(OldStyle, HelpShowsOptionsOfBoth) {
    const RunResult help = run_own({"judge", "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, testing::AllOf(HasSubstr("--one_pass_N_WU"), HasSubstr("--tolerance X")));
}

TEST_F(OldStyle, ALostFileIsNamed) {
    jobs({{"1", "1", "1"}, {"2", "2"}, {"3", "3"}, {"4", "4"}});
    fs::remove(fanout_path(project_ / "upload", "w_10_r1_0", 1024));
    const RunResult r = judge();
    EXPECT_EQ(states(1)[0], 'E') << r.err;
    EXPECT_THAT(r.err, HasSubstr("w_10_r1_0: No such file or directory"));
}

}  // namespace
}  // namespace sluice::test
