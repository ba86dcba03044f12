// SPDX-License-Identifier: LGPL-3.0-or-later
// Validators that are written for upstream's interface, and what becomes of their faults.
#include <gmock/gmock.h>

#include "tests/db/handlers/outside_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

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
    RunResult judge(std::vector<std::string> more = {}) {
        std::vector<std::string> args{"judge", "--app", "a", "--one_pass"};
        args.insert(args.end(), more.begin(), more.end());
        return run_own(args);
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
    jobs({{"1", "1"}, {"crash", "1"}, {"2", "2"}, {"hang", "2"}, {"3", "exit"}, {"allocate", "3"}, {"4", "4"}});
    const RunResult r = judge({"--code_time_limit", "1", "--code_memory_limit", "300"});
    EXPECT_EQ(r.status, 0) << r.err;
    for (const Id good : {1, 3, 7}) EXPECT_EQ(states(good), "11") << r.err;
    for (const Id bad : {2, 4, 5, 6}) EXPECT_EQ(states(bad), "00") << r.err;
    EXPECT_EQ(count("need_validate=1"), 4);
    EXPECT_EQ(count("target_nresults<>2"), 0);
    for (const char* why : {"[RESULT#20 w_20] not judged: old_style_validator was ended by signal 6",
                            "[RESULT#40 w_40] not judged: old_style_validator took longer than 1 s",
                            "[RESULT#50 w_50] not judged: old_style_validator ended with exit status 0",
                            "[RESULT#60 w_60] not judged: old_style_validator was ended by signal 6"})
        EXPECT_THAT(r.err, HasSubstr(why));
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
    EXPECT_TRUE(daemon.wait(30));
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

TEST_F(OldStyle, OutliersAreMarked) {
    jobs({{"7", "7.1"}});
    const RunResult r = judge();
    EXPECT_EQ(number_of(db_, Sql("SELECT SUM(id) FROM result WHERE runtime_outlier=1")), 10) << r.err;
}

TEST_F(OldStyle, RefusedOptionsEndTheDaemon) {
    const RunResult refused = judge({"--tolerence", "3"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("validate_handler_init() returned ERR_INVALID_PARAM (-178)"));
    EXPECT_THAT(judge({"--post_assigned_credit"}).err, HasSubstr("is not in Sluice"));
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
