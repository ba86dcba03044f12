// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_stats as a program: upstream's rule at level 0, the seed's at level 1, incremental passes, what goes wrong.
#include "sluice/db/batch_store.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class BatchStats : public BatchFixture {
  protected:
    Table ltt() { return rows(Sql("SELECT id FROM host WHERE error_rate=1 ORDER BY id"), 1); }
    std::string median(Id batch) { return text(Sql("SELECT expire_time FROM batch WHERE id=") << batch); }
    std::int64_t n_size_classes(Id app_id) { return number(Sql("SELECT n_size_classes FROM app WHERE id=") << app_id); }
};

TEST_F(BatchStats, MarksHostsAppsAndMedians) {
    // 120 hosts: every 4th takes 2000 s, of the others half 1000 s and half 500 s. Sorted: 60 x 500, 30 x 1000, 30 x
    // 2000; the median is element 60: 1000.
    measured_batch(1, 1, 120);
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "1000");
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM host WHERE error_rate=1")), 60);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM host WHERE error_rate=1 AND id%2=0")), 0);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM host WHERE error_rate NOT IN (0,1)")), 0);
    EXPECT_EQ(n_size_classes(1), 1);
}

TEST_F(BatchStats, TimeoutsCountTenAndMakeAHostSlow) {
    measured_batch(1, 1, 120);
    unsuccessful(1, 1, Outcome::kNoReply);      // (0.5 + 10) / 2
    unsuccessful(1, 3, Outcome::kClientError);  // not at level 0
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(number(Sql("SELECT error_rate FROM host WHERE id=1")), 0);
    EXPECT_EQ(number(Sql("SELECT error_rate FROM host WHERE id=3")), 1);
}

TEST_F(BatchStats, TooFewSuccessesGiveNoMedian) {
    batch(1).expire_time = 777;
    for (int i = 0; i < 99; ++i) success(1, 5, 10);
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "0");
    EXPECT_EQ(ltt(), Table{});
}

TEST_F(BatchStats, AMedianOfZeroIsNotDividedBy) {
    batch(1);
    for (int i = 1; i <= 120; ++i) success(1, i, i < 90 ? 0 : 50);
    store();
    const std::string log = run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "0");
    EXPECT_EQ(ltt(), Table{});
    EXPECT_EQ(n_size_classes(1), 0);
}

TEST_F(BatchStats, OldAndAbortedBatchesDoNotCount) {
    measured_batch(1, 1, 120);
    measured_batch(2, 1, 120);
    measured_batch(3, 1, 120);
    world.batches[1].create_time = now - 31 * 86400;
    world.batches[1].expire_time = 55;
    world.batches[2].state = BatchState::kAborted;
    world.batches[3].state = BatchState::kComplete;
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "55");
    EXPECT_EQ(median(2), "0");
    EXPECT_EQ(median(3), "1000");
}

TEST_F(BatchStats, NeedsAHundredHostsAndAQuarterLtt) {
    struct Case {
        int hosts, ltt;
        int accelerable;
    };
    Id id = 0;
    for (const Case& c : {Case{100, 60, 0}, {101, 26, 1}, {104, 26, 0}, {104, 27, 1}, {150, 0, 0}}) {
        app(++id);
        batch(id, id);
        // Each app its own hosts. The slow majority sets the median 1000: ratio 1, not below.
        for (int i = 1; i <= c.hosts; ++i) success(id, id * 1000 + i, i <= c.ltt && c.ltt <= c.hosts / 2 ? 500 : 1000);
    }
    for (auto& [rid, r] : world.results)
        if (r.batch == 1 && r.hostid <= 1060) r.sent_time = r.received_time - 10;
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(rows(Sql("SELECT id, n_size_classes FROM app ORDER BY id"), 2),
              (Table{{"1", "0"}, {"2", "1"}, {"3", "0"}, {"4", "1"}, {"5", "0"}}));
}

TEST_F(BatchStats, AppsWithSizeClassesAreLeftAlone) {
    app(1, 3);
    app(2, 1);
    app(3, 2);
    measured_batch(1, 1, 120);
    store();
    const std::string log = run_ok({"batch_stats"});
    EXPECT_EQ(rows(Sql("SELECT id, n_size_classes FROM app ORDER BY id"), 2),
              (Table{{"1", "3"}, {"2", "0"}, {"3", "2"}}));
    EXPECT_THAT(log, HasSubstr("it has size classes"));
}

TEST_F(BatchStats, WritesOnlyWhatDiffersAndADateStays) {
    measured_batch(1, 1, 120);
    host(500).error_rate = 1;           // no jobs: not LTT
    host(501).error_rate = 0.25;        // from the time when the column was an error rate
    batch(2).expire_time = 1795000000;  // the web site's expiry date; nothing measured
    store();
    EXPECT_THAT(run_ok({"batch_stats"}), HasSubstr("60 LTT (+60 -2), 1 medians, 1 app flags"));
    EXPECT_THAT(run_ok({"batch_stats"}), HasSubstr("60 LTT (+0 -0), 0 medians, 0 app flags"));
    EXPECT_EQ(median(2), "1795000000");
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM host WHERE id>=500 AND error_rate<>0")), 0);
}

/// Reading every flag at each pass would cost more than all the rest of an incremental one.
TEST_F(BatchStats, FlagsThatOthersChangedComeBackInTurns) {
    measured_batch(1, 1, 120);
    store();
    run_ok({"batch_stats"});
    ASSERT_EQ(ltt().size(), 60u);
    db.execute(Sql("UPDATE host SET error_rate=0"));
    EXPECT_THAT(run_ok({"batch_stats", "--incremental_above", "0"}), HasSubstr("60 LTT (+10 -0)"));
    for (int pass = 0; pass < 11; ++pass) run_ok({"batch_stats", "--incremental_above", "0"});
    EXPECT_EQ(ltt().size(), 60u);
    EXPECT_THAT(run_ok({"batch_stats", "--incremental_above", "0"}), HasSubstr("60 LTT (+0 -0)"));
    db.execute(Sql("UPDATE host SET error_rate=0"));
    EXPECT_THAT(run_ok({"batch_stats", "--full"}), HasSubstr("60 LTT (+60 -0)"));
}

TEST_F(BatchStats, ALongerAgeFindsOlderBatchesToo) {
    measured_batch(1, 1, 120);
    measured_batch(20000, 1, 120);
    store();
    db.execute(Sql("UPDATE batch SET create_time=") << now - 60 * 86400 << Sql(" WHERE id=1"));
    EXPECT_THAT(run_ok({"batch_stats", "--max_age_days", "30"}), HasSubstr("full pass: 1 batches"));
    const std::string log = run_ok({"batch_stats", "--max_age_days", "90", "--incremental_above", "0"});
    EXPECT_THAT(log, HasSubstr("incremental pass: 2 batches (2 measured)"));
    EXPECT_EQ(median(1), "1000");
}

TEST_F(BatchStats, AnUnwritableStateOnlyCostsFullPasses) {
    measured_batch(1, 1, 120);
    store();
    std::filesystem::create_directories(project / "batch_stats.state");
    EXPECT_THAT(run_ok({"batch_stats"}), HasSubstr("the next pass will read everything"));
    EXPECT_EQ(ltt().size(), 60u);
    run_ok({"batch_accel"});
    EXPECT_EQ(number(Sql("SELECT state FROM batch WHERE id=1")), 2) << "batch_accel went on to its own work";
}

TEST_F(BatchStats, WrongValuesAreRefused) {
    batch(1);
    store();
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"batch_stats", "--min_success", "-5"},
             {"batch_stats", "--max_age_days", "-1"},
             {"batch_stats", "--max_age_days", "0"},
             {"batch_stats", "--min_ltt_frac", "1.5"},
             {"batch_stats", "--count_errors", "2"},
             {"batch_stats", "--count_errors", "-1"},
             {"batch_stats", "--sleep_interval", "-1"},
             {"batch_stats", "--min_jobs", "3x"},
             {"batch_accel", "--min_frac_done", "-0.5"},
             {"batch_accel", "--max_not_done", "-1"},
             {"batch_accel", "--explain", "0"},
             {"batch_accel", "--explain", "-3"},
             {"batch_upkeep", "--batch", "0"},
             {"batch_upkeep", "--sleep_interval", "-2"},
         }) {
        const RunResult r = run_program(args);
        EXPECT_EQ(r.status, 1) << testing::PrintToString(args);
        EXPECT_THAT(r.err, HasSubstr("(" + args[0] + " --help tells more)")) << testing::PrintToString(args);
    }
    EXPECT_FALSE(std::filesystem::exists(project / "batch_stats.state")) << "nothing ran";
}

TEST_F(BatchStats, DryRunWritesNothing) {
    measured_batch(1, 1, 120);
    store();
    const RunResult r = run_program({"batch_stats", "--dry_run"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("batch 1: expire_time := 1000"));
    EXPECT_THAT(r.out, HasSubstr("host 3: error_rate := 1"));
    EXPECT_THAT(r.out, HasSubstr("app 1: n_size_classes := 1"));
    EXPECT_EQ(ltt(), Table{});
    EXPECT_EQ(median(1), "0");
    EXPECT_FALSE(std::filesystem::exists(project / "batch_stats.state"));
}

TEST_F(BatchStats, Level1CountsFailuresAndWantsSeveralJobs) {
    config("", 1);
    batch(1);
    for (int h = 1; h <= 6; ++h)
        for (int i = 0; i < (h <= 3 ? 4 : 6); ++i) success(1, h, h <= 3 ? 500 : 1500);
    unsuccessful(1, 2, Outcome::kClientError);            // (4 * 1/3 + 10) / 5 > 1
    for (int i = 0; i < 4; ++i) in_progress(1, 3, 9000);  // (4 * 1/3 + 4 * 6) / 8 > 1
    in_progress(1, 1, 900);                               // younger than the median: no news
    success(1, 7, 100), success(1, 7, 100);               // two jobs are not a verdict
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "1500") << "32 times: 2 x 100, 12 x 500, 18 x 1500; element 16";
    EXPECT_EQ(ltt(), (Table{{"1"}}));
}

TEST_F(BatchStats, LevelOneNeedsHalfOfTheJobsDone) {
    config("", 1);
    batch(1).njobs = 100;
    batch(2);
    for (int i = 0; i < 49; ++i) success(1, 5, 100);
    for (int i = 0; i < 20; ++i) success(2, 5, 100);
    for (int i = 0; i < 20; ++i) unsent(2);
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(median(1), "0");
    EXPECT_EQ(median(2), "100") << "20 of 40";
}

TEST_F(BatchStats, LevelOneTellsAHostsVersionsApart) {
    config("", 1);
    batch(1);
    for (int i = 0; i < 12; ++i) success(1, 1 + i % 3, 1000);
    for (int i = 0; i < 4; ++i) {
        success(1, 10, 100).app_version_id = 7;                         // quick on the CPU …
        unsuccessful(1, 10, Outcome::kClientError).app_version_id = 8;  // … and bad on the GPU
        success(1, 11, 100).app_version_id = -2;                        // anonymous platform, CPU
    }
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(
        rows(
            Sql("SELECT host_id, app_version_id, ltt, ROUND(ratio,1), jobs FROM sluice_host_ltt WHERE host_id>=10 ORDER BY 1,2"),
            5),
        (Table{{"10", "7", "1", "0.1", "4"}, {"10", "8", "0", "10.0", "4"}, {"11", "1000002", "1", "0.1", "4"}}));
    EXPECT_EQ(ltt(), (Table{{"11"}})) << "the one flag of host 10 is the mean of both";
    const auto store_of_host = make_host_ltt_store(db);
    const auto found = store_of_host->of_host(10);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(found[0].ltt);
    EXPECT_FALSE(found[1].ltt);
    db.execute(Sql("DELETE FROM result WHERE app_version_id=8"));
    run_ok({"batch_stats"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_host_ltt WHERE app_version_id=8")), 0);
}

TEST_F(BatchStats, LevelZeroMakesNoTables) {
    measured_batch(1, 1, 120);
    store();
    run_ok({"batch_stats"});
    EXPECT_EQ(
        number(Sql(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE 'sluice%'")),
        0);
    EXPECT_TRUE(make_host_ltt_store(db)->of_host(1).empty());
}

}  // namespace
}  // namespace sluice::test
