// SPDX-License-Identifier: LGPL-3.0-or-later
#include <ctime>

#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// An accelerable app; batch 1 with 95 done jobs (turnaround 1000 s) and what a test adds.
class BatchAccel : public BatchFixture {
  protected:
    BatchAccel() {
        app(1, 1);
        batch(1);
        for (int i = 1; i <= 95; ++i) success(1, i, 1000);
    }
    Table workunit(Id id) {
        return rows(
            Sql("SELECT priority, target_nresults, max_total_results, transition_time<2147483647 FROM workunit WHERE id=")
                << id,
            4);
    }
    std::int64_t priority(const Result& r) { return number(Sql("SELECT priority FROM result WHERE id=") << r.id); }
    /// What the transitioner does where a target is not reached: copies of the workunit's priority.
    void transition() {
        db.execute(Sql("UPDATE workunit SET transition_time=2147483647"));
        FakeDb rows_now = load_rows(db);
        FakeDb made;
        for (const auto& [id, wu] : rows_now.workunits) {
            if (wu.canonical_resultid != 0 || wu.error_mask != 0) continue;
            int have = 0;
            for (const auto& [rid, r] : rows_now.results)
                have += r.workunitid == id && (r.server_state != ServerState::kOver || r.outcome == Outcome::kSuccess);
            for (; have < wu.target_nresults; ++have) {
                Result r;
                r.id = std::max(rows_now.results.next_key(), made.results.next_key());
                r.workunitid = id;
                r.batch = wu.batch;
                r.appid = wu.appid;
                r.name = wu.name + "_x" + std::to_string(r.id);
                r.create_time = std::time(nullptr);
                r.priority = wu.priority;
                made.results[r.id] = r;
            }
        }
        store_rows(db, made);
    }
};

TEST_F(BatchAccel, MarksOpenWorkunitsAndTheirUnsentResults) {
    const Result waiting = unsent(1), running = in_progress(1, 200, 10);
    Workunit& failed = job(1);
    failed.error_mask = 2;
    const Id failed_id = failed.id;
    store();
    run_ok({"batch_accel"});
    EXPECT_EQ(workunit(waiting.workunitid), (Table{{"1", "1", "5", "0"}}));
    EXPECT_EQ(priority(waiting), 1);
    EXPECT_EQ(workunit(running.workunitid), (Table{{"1", "1", "5", "0"}})) << "sent 10 s ago: no new instance";
    EXPECT_EQ(priority(running), 0) << "only unsent results";
    EXPECT_EQ(number(Sql("SELECT priority FROM workunit WHERE id=") << failed_id), 0);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE canonical_resultid<>0 AND priority<>0")), 0);
    EXPECT_EQ(rows(Sql("SELECT njobs, nerror_jobs, state FROM batch"), 3), (Table{{"98", "1", "1"}}));
}

TEST_F(BatchAccel, OneMoreInstanceOfOldOnesPerJob) {
    const Result old = in_progress(1, 200, 5000);
    store();
    run_ok({"batch_accel"});
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "2", "5", "1"}}));
    run_ok({"batch_accel"});  // the transitioner has not come by yet
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "2", "5", "1"}}));
    transition();
    run_ok({"batch_accel"});  // the new instance waits to be sent
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "2", "5", "0"}}));
    db.execute(Sql("UPDATE result SET server_state=4, hostid=201, sent_time=")
               << now - 20 << Sql(" WHERE server_state=2"));
    run_ok({"batch_accel"});  // it runs, not for long
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "2", "5", "0"}}));
    db.execute(Sql("UPDATE result SET sent_time=") << now - 3000 << Sql(" WHERE server_state=4"));
    run_ok({"batch_accel"});  // it runs for long, too
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "3", "5", "1"}}));
}

TEST_F(BatchAccel, StaysBelowMaxTotalResults) {
    const Result old = in_progress(1, 200, 5000);
    world.workunits[old.workunitid].max_total_results = 2;
    store();
    run_ok({"batch_accel"});
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "2", "2", "1"}}));
    transition();
    for (int i = 0; i < 3; ++i) run_ok({"batch_accel"});
    // Two instances exist. With a target of 2 the failure of one would end the job: no more results are allowed.
    EXPECT_EQ(workunit(old.workunitid), (Table{{"1", "1", "2", "0"}}));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE workunitid=") << old.workunitid), 2);
}

TEST_F(BatchAccel, PrioritiesComeBackWhenAppIsNotAccelerable) {
    config("", 1);
    const Result waiting = unsent(1), own = unsent(1), let = unsent(1), old = in_progress(1, 200, 5000);
    world.workunits[own.workunitid].priority = world.results[own.id].priority = 7;
    world.workunits[let.workunitid].priority = world.results[let.id].priority = -1795000000;
    store();
    run_ok({"batch_accel"});
    EXPECT_EQ(priority(waiting), 1);
    EXPECT_EQ(priority(own), 7);
    EXPECT_EQ(priority(let), 1);
    EXPECT_EQ(workunit(let.workunitid)[0][0], "1");
    transition();  // old's second instance, born with priority 1
    db.execute(Sql("UPDATE result SET server_state=5, outcome=1 WHERE id=") << waiting.id);
    db.execute(Sql("UPDATE workunit SET canonical_resultid=") << waiting.id << Sql(" WHERE id=") << waiting.workunitid);
    db.execute(Sql("UPDATE app SET n_size_classes=0"));
    run_ok({"batch_accel", "--no_stats"});
    EXPECT_EQ(priority(own), 7);
    EXPECT_EQ(priority(let), -1795000000);
    EXPECT_EQ(workunit(let.workunitid)[0][0], "-1795000000");
    EXPECT_EQ(workunit(old.workunitid), (Table{{"0", "1", "5", "0"}}));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE server_state=2 AND priority=1")), 0)
        << "the new instance too";
    EXPECT_EQ(priority(waiting), 1) << "a finished job is not rewritten";
    EXPECT_EQ(workunit(waiting.workunitid)[0][0], "1");
    run_ok({"batch_accel", "--no_stats"});
    EXPECT_EQ(priority(let), -1795000000);
}

TEST_F(BatchAccel, AChangeBySubmittersMeanwhileStays) {
    const Result waiting = unsent(1);
    store();
    run_ok({"batch_accel"});
    db.execute(Sql("UPDATE workunit SET priority=42 WHERE id=") << waiting.workunitid);
    db.execute(Sql("UPDATE result SET priority=42 WHERE id=") << waiting.id);
    db.execute(Sql("UPDATE app SET n_size_classes=0"));
    run_ok({"batch_accel", "--no_stats"});
    EXPECT_EQ(workunit(waiting.workunitid)[0][0], "42");
    EXPECT_EQ(priority(waiting), 42);
}

TEST_F(BatchAccel, MarksOfUpstreamsProgramAreTakenBack) {
    app(1, 0);
    const Result waiting = unsent(1);
    world.workunits[waiting.workunitid].priority = world.results[waiting.id].priority = 1;
    const Id done = world.workunits.begin()->first;
    world.workunits[done].priority = 1;
    store();
    run_ok({"batch_accel", "--no_stats"});
    EXPECT_EQ(workunit(waiting.workunitid)[0][0], "0");
    EXPECT_EQ(priority(waiting), 0);
    EXPECT_EQ(workunit(done)[0][0], "1") << "a finished job is not rewritten";
}

TEST_F(BatchAccel, ThresholdsOfTheLevels) {
    // Batch 2: 84 of 100; batch 3: 86 of 100; batch 4: 5 of 24 open jobs only; batch 5: 90 of 100.
    struct Case {
        Id id;
        int done, open;
    };
    for (const Case& c : {Case{2, 840, 160}, {3, 860, 140}, {4, 5, 19}, {5, 900, 100}}) {
        batch(c.id);
        for (int i = 0; i < c.done; ++i) success(c.id, 1 + i % 50, 1000);
        for (int i = 0; i < c.open; ++i) unsent(c.id);
    }
    unsent(1);
    store();
    const auto accelerated = [&] {
        return rows(Sql("SELECT DISTINCT batch FROM workunit WHERE priority=1 ORDER BY batch"), 1);
    };
    run_ok({"batch_accel"});
    EXPECT_EQ(accelerated(), (Table{{"1"}, {"3"}, {"4"}, {"5"}}));
    config("", 1);
    run_ok({"batch_accel", "--no_stats"});
    EXPECT_EQ(accelerated(), (Table{{"1"}, {"5"}})) << "those that no longer qualify got theirs back";
    run_ok({"batch_accel", "--no_stats", "--batch_accel_min_frac_done", "0.84"});
    EXPECT_EQ(accelerated(), (Table{{"1"}, {"2"}, {"3"}, {"5"}}));
}

TEST_F(BatchAccel, CapsOnExtraInstances) {
    for (int i = 0; i < 4; ++i) in_progress(1, 200 + i, 5000);
    store();
    const auto extra = [&] { return number(Sql("SELECT SUM(target_nresults-1) FROM workunit")); };
    EXPECT_THAT(run_ok({"batch_accel", "--max_extra_per_batch", "1"}), HasSubstr("1 instances more"));
    EXPECT_EQ(extra(), 1);
    run_ok({"batch_accel", "--max_extra_total", "3"});
    EXPECT_EQ(extra(), 3);
    run_ok({"batch_accel"});
    EXPECT_EQ(extra(), 4);
}

TEST_F(BatchAccel, ExplainsEveryDecisionAndWritesNothing) {
    const Result waiting = unsent(1), old = in_progress(1, 200, 5000), young = in_progress(1, 201, 10);
    const Result limited = in_progress(1, 202, 5000);
    world.workunits[limited.workunitid].max_total_results = 1;
    store();
    const std::string out = run_ok({"batch_accel", "--explain", "1"});
    EXPECT_THAT(out, HasSubstr("batch 1 'batch_1', app app1 (accelerable): 99 jobs, 95 successful, 0 failed, 4 open"));
    EXPECT_THAT(out, HasSubstr("typical turnaround: 1000 s"));
    EXPECT_THAT(out, HasSubstr("result " + std::to_string(waiting.id) + " is not sent yet [unsent_waits]"));
    EXPECT_THAT(out, HasSubstr("WU " + std::to_string(old.workunitid) + " wu_" + std::to_string(old.workunitid) +
                               ": made high priority; one instance more (1 of 5 so far) [one_more]"));
    EXPECT_THAT(out, HasSubstr("result " + std::to_string(young.id) + " was sent 1"));
    EXPECT_THAT(out, HasSubstr("it has 1 results, max_total_results is 1 [at_limit]"));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE priority<>0")), 0);
    EXPECT_EQ(number(Sql("SELECT fraction_done FROM batch")), 0);
    EXPECT_EQ(run_program({"batch_accel", "--explain", "77"}).status, 1);
}

TEST_F(BatchAccel, RunsTheStatisticsFirstLikeUpstream) {
    app(1, 0);
    batch(2);
    for (int i = 1; i <= 120; ++i) success(2, i, i % 2 == 0 ? 400 : 1000);
    const Result waiting = unsent(1);
    store();
    const std::string log = run_ok({"batch_accel"});
    EXPECT_THAT(log, HasSubstr("full pass: 2 batches"));
    EXPECT_EQ(number(Sql("SELECT n_size_classes FROM app")), 1);
    EXPECT_EQ(priority(waiting), 1);
    // They are fresh now: used as they are.
    db.execute(Sql("UPDATE app SET n_size_classes=0"));
    EXPECT_THAT(run_ok({"batch_accel"}), testing::Not(HasSubstr("full pass")));
    EXPECT_EQ(priority(waiting), 0);
    run_ok({"batch_accel", "--stats_age", "0"});
    EXPECT_EQ(priority(waiting), 1);
}

TEST_F(BatchAccel, Level1SizeClassesNeedQuickHostsToo) {
    config("", 1);
    app(1, 3);
    const Result waiting = unsent(1);
    store();
    run_ok({"batch_accel"});  // 95 hosts, all of them as quick as the median: none is LTT
    EXPECT_EQ(priority(waiting), 0);
    EXPECT_EQ(number(Sql("SELECT n_size_classes FROM app")), 3);
    db.execute(Sql("UPDATE result SET sent_time=received_time-10 WHERE server_state=5 AND id<=45"));
    run_ok({"batch_stats", "--min_hosts", "50", "--min_jobs", "1"});
    run_ok({"batch_accel"});
    EXPECT_EQ(priority(waiting), 1);
}

TEST_F(BatchAccel, BatchesThatAreOverAreForgotten) {
    const Result waiting = unsent(1);
    store();
    run_ok({"batch_accel"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_accel_job")), 1);
    db.execute(Sql("UPDATE workunit SET canonical_resultid=") << waiting.id << Sql(" WHERE id=") << waiting.workunitid);
    run_ok({"batch_accel"});
    EXPECT_EQ(number(Sql("SELECT state FROM batch")), 2);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_accel_job")), 0);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_accel_result")), 0);
}

}  // namespace
}  // namespace sluice::test
