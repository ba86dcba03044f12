// SPDX-License-Identifier: LGPL-3.0-or-later
// A pass of batch_planner over rows: what is planned, published and given up, and what a killed planner leaves.
#include "daemons/batches/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "db/memory/batch_plan_store.h"
#include "db/memory/batch_store.h"
#include "sluice/base/error.h"
#include "sluice/match/plan_classes.h"
#include "tests/support/counted_notices.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

constexpr double kStart = 1'700'000'000;
constexpr double kHourOfWork = 3.6e12;  ///< operations: an hour on a host of this fleet

/// Ten hosts of a GFLOPS that came a moment ago, an app, and batches of hour-long jobs.
class BatchPlannerTest : public testing::Test {
  protected:
    BatchPlannerTest() : clock(kStart) {
        settings.give_up = true;
        for (Id id = 1; id <= 10; ++id) {
            Host h;
            h.id = id;
            h.p_ncpus = 1;
            h.p_fpops = 1e9;
            h.on_frac = h.active_frac = 1;
            h.rpc_time = static_cast<std::int64_t>(kStart) - 10;
            db.hosts.put(id, h);
        }
    }
    void batch(Id id, double created = 0, double let = 0) {
        Batch b;
        b.id = id;
        b.app_id = 1;
        b.state = BatchState::kInProgress;
        b.create_time = static_cast<std::int64_t>(kStart + created);
        b.logical_end_time = let;
        db.batches.put(id, b);
    }
    Id job(Id of, ServerState state, Id host = 0, double sent_ago = 0) {
        Workunit w;
        w.id = db.workunits.next_key();
        w.appid = 1;
        w.batch = of;
        w.rsc_fpops_est = kHourOfWork;
        w.min_quorum = w.target_nresults = 1;
        w.max_total_results = 3;
        w.transition_time = kNever;
        w.create_time = static_cast<std::int64_t>(clock.now());
        Result r;
        r.id = db.results.next_key();
        r.workunitid = w.id;
        r.appid = 1;
        r.batch = of;
        r.name = "r" + std::to_string(r.id);
        r.server_state = state;
        r.hostid = host;
        r.create_time = static_cast<std::int64_t>(kStart);
        if (host != 0) r.sent_time = static_cast<std::int64_t>(clock.now() - sent_ago);
        r.report_deadline = r.sent_time + 7 * 86400;
        const Id id = r.id;
        db.workunits.put(w.id, w);
        db.results.put(id, std::move(r));
        return id;
    }
    Id over(Id of, Id host, Outcome outcome, int exit_status = 1) {
        const Id id = job(of, ServerState::kInProgress, host, 100);
        db.results.change(id, [&](Result& r) {
            r.server_state = ServerState::kOver;
            r.outcome = outcome;
            r.exit_status = exit_status;
        });
        return id;
    }
    void unsent(Id of, int n) {
        for (int i = 0; i < n; ++i) job(of, ServerState::kUnsent);
    }
    BatchPlanner planner() { return BatchPlanner(settings, {facts, plans, upkeep}, classes, clock); }
    const BatchPlan& published() { return *db.plans.get(1); }
    /// What a scheduler decides when the feeder reads its tables now.
    bool awaits(Id of, Id result) { return plans.plan_for_schedulers().awaits(of, result, clock.now()); }

    MemoryDb db;
    FakeClock clock;
    PlanClasses classes;
    PlannerSettings settings;
    MemoryBatchPlanFactsStore facts{db};
    MemoryBatchPlanStore plans{db};
    MemoryBatchUpkeepStore upkeep{db};
};

TEST_F(BatchPlannerTest, TIsWhenHostsCanHaveDoneIt) {
    batch(1);
    unsent(1, 20);
    settings.rules.margin = 1;
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    const PlannedBatch& b = published().batches.at(0);
    EXPECT_NEAR(b.finish, kStart + 1800 + 2 * 3600, 20) << "half the usual gap between contacts, then two jobs each";
    EXPECT_EQ(b.hosts, 10);
    EXPECT_EQ(b.jobs, 20);
    EXPECT_EQ(db.batches.get(1)->est_completion_time, b.finish);
    EXPECT_EQ(published().version, 1);
    batch_planner.run();
    EXPECT_EQ(published().version, 2);
}

/// His next batch, too, is planned by what his jobs took, and schedulers are told.
TEST_F(BatchPlannerTest, WhatJobsTookTakesThePlaceOfEstimates) {
    batch(1);
    for (const Id id : {1, 2}) db.batches.change(id, [](Batch& b) { b.user_id = 7; });
    std::vector<Id> sent;
    for (Id host = 1; host <= 10; ++host)
        for (int i = 0; i < 10; ++i) sent.push_back(job(1, ServerState::kInProgress, host, 60));
    unsent(1, 10);
    settings.rules.margin = 1;
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    EXPECT_EQ(published().batches.at(0).margin, 1);
    for (const Id id : sent)
        db.results.change(id, [&](Result& r) {
            r.server_state = ServerState::kOver, r.outcome = Outcome::kSuccess;
            r.received_time = clock.now_sec(), r.elapsed_time = 10 * 3600;
        });
    batch_planner.run();
    const double ratio = published().batches.at(0).margin;
    EXPECT_EQ(ratio, 10);
    batch(2);
    db.batches.change(2, [](Batch& b) { b.user_id = 7; });
    unsent(2, 10);
    batch_planner.run();
    ASSERT_NE(published().find_batch(2), nullptr);
    EXPECT_GT(published().find_batch(2)->margin, 7);
    EXPECT_GT(published().find_batch(2)->finish, kStart + 7 * 3600);
    const double before = published().find_batch(2)->finish;
    planner().run();
    EXPECT_NEAR(published().find_batch(2)->finish, before, 1) << "and by the next process";
}

/// What an expectation was worth is seen when its batch is over, and the next process begins with it.
TEST_F(BatchPlannerTest, ConfidenceIsLearntFromEndedBatches) {
    batch(1), batch(2);
    unsent(1, 10), unsent(2, 10);
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    EXPECT_EQ(plans.eta_factors(), EtaFactors{});
    const double left = db.batches.get(1)->est_completion_time - clock.now();
    clock.advance(10 * left);
    db.batches.change(1, [&](Batch& b) { b.state = BatchState::kComplete, b.completion_time = clock.now_sec(); });
    db.batches.change(2, [](Batch& b) { b.state = BatchState::kAborted; });
    batch_planner.run();
    EXPECT_NEAR(plans.eta_factors().most, std::pow(std::pow(2.3, 5) * 10, 1.0 / 6), 0.01) << "of one of them";
    planner().run();
    EXPECT_GT(plans.eta_factors().most, 2.9);
}

/// Single jobs of a user, a batch that takes longer than the horizon, one that is planned, a draft.
TEST_F(BatchPlannerTest, WhatIsKnownGoesToItsHosts) {
    for (Id id = 1; id <= 5; ++id) batch(id);
    for (const Id id : {1, 4}) db.batches.change(id, [](Batch& b) { b.state = BatchState::kInit; });
    unsent(1, 1), unsent(2, 5000), unsent(3, 2);
    const Id before = db.results.next_key();
    clock.advance(kPlanIsAwaited + 1);
    planner().run();
    ASSERT_NE(published().find_batch(3), nullptr);
    EXPECT_TRUE(awaits(6, before)) << "a batch that is new";
    EXPECT_TRUE(awaits(4, before)) << "a draft that may be submitted meanwhile";
    EXPECT_TRUE(awaits(5, before)) << "in progress without jobs: they come";
    for (const Id known : {0, 1, 2, 3}) EXPECT_FALSE(awaits(known, before)) << known;
    EXPECT_FALSE(awaits(77, before - 1)) << "a number without a batch was new for the tables before";
    batch(6), unsent(6, 1);
    EXPECT_TRUE(awaits(6, before)) << "it is in progress, and no plan has it";
    clock.advance(kPlanIsAwaited + 1);
    EXPECT_FALSE(awaits(6, before)) << "nobody seems to plan";
}

/// Where there was no result and no batch yet nothing is unknown.
TEST_F(BatchPlannerTest, TheFirstBatchOfAProjectWaits) {
    planner().run();
    EXPECT_TRUE(awaits(1, 1));
}

/// A batch that nobody submits.
TEST_F(BatchPlannerTest, FirstJobOfStreamWaitsForMinute) {
    planner().run();
    clock.advance(50);
    batch(1);
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInit; });
    EXPECT_TRUE(awaits(1, 1)) << "the tables of before its first job: it may be submitted any moment";
    const Id first = job(1, ServerState::kUnsent);
    clock.advance(50);
    planner().run();
    EXPECT_TRUE(awaits(1, first));
    clock.advance(10);
    planner().run();
    EXPECT_FALSE(awaits(1, first));
    EXPECT_FALSE(awaits(1, job(1, ServerState::kUnsent))) << "it is a stream";
}

/// BOINC's pages call create_work for each kind of job, and then set the batch in progress: nothing of it went to
/// anyone only if it is awaited until it is planned.
TEST_F(BatchPlannerTest, ABatchFilledByWebPagesWaits) {
    batch(1), batch(2);
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInit; });
    planner().run();  // it has seen the batch as a draft
    Id first = 0;
    for (int call = 0; call < 5; ++call) {
        const Id result = job(1, ServerState::kUnsent);
        if (call == 0) first = result;
        EXPECT_TRUE(awaits(1, first)) << call;
        clock.advance(10);
        if (call == 2) planner().run();
    }
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInProgress; });
    EXPECT_TRUE(awaits(1, first)) << "a plan of after its number has not seen its jobs";
    clock.advance(60);
    EXPECT_TRUE(awaits(1, first)) << "nor has any other";
    planner().run();
    EXPECT_NE(published().find_batch(1), nullptr);
    EXPECT_FALSE(awaits(1, first));
}

TEST_F(BatchPlannerTest, KilledSubmissionHoldsItsJobsForFiveMinutes) {
    batch(1);
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInit; });
    plans.note_submission(1, clock.now());
    const Id first = job(1, ServerState::kUnsent);
    const double killed = clock.now();
    BatchPlanner batch_planner = planner();
    for (batch_planner.run(); awaits(1, first); batch_planner.run()) {
        clock.advance(10);
        ASSERT_LT(clock.now() - killed, 3600);
    }
    EXPECT_EQ(clock.now() - killed, kPlanIsAwaited + 10);
}

/// Its first jobs are there long before the batch is in progress: a million jobs take a minute and more.
TEST_F(BatchPlannerTest, ABatchBeingSubmittedWaits) {
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    clock.advance(60);
    batch(1);
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInit; });
    Id first = 0;
    for (int minute = 0; minute <= 20; ++minute) {
        plans.note_submission(1, clock.now());
        const Id result = job(1, ServerState::kUnsent);
        if (first == 0) first = result;
        batch_planner.run();
        EXPECT_TRUE(awaits(1, first)) << minute;
        clock.advance(60);
    }
    EXPECT_FALSE(batch_planner.has_news());
    db.batches.change(1, [](Batch& b) { b.state = BatchState::kInProgress; });
    EXPECT_TRUE(awaits(1, first)) << "all jobs are in, and it is not planned";
    EXPECT_TRUE(batch_planner.has_news());
    EXPECT_TRUE(batch_planner.run().news);
    EXPECT_NE(published().find_batch(1), nullptr);
    EXPECT_FALSE(awaits(1, first));
    EXPECT_FALSE(batch_planner.has_news());
    EXPECT_FALSE(batch_planner.run().news);
    EXPECT_FALSE(planner().has_news()) << "nor for the process after it";
}

/// It was decided upon: nothing is planned of it, and its jobs go to anyone.
TEST_F(BatchPlannerTest, AnUnplannableBatchWaitsOnePass) {
    planner().run();
    batch(1);
    plans.note_submission(1, clock.now());
    unsent(1, 5000);
    EXPECT_TRUE(awaits(1, 1));
    planner().run();
    EXPECT_EQ(published().find_batch(1), nullptr);
    EXPECT_FALSE(awaits(1, 1));
}

/// Between the passes of each minute it looks for new batches each ten seconds, and no batch is news twice.
TEST_F(BatchPlannerTest, ANewBatchIsPlannedAtOnce) {
    batch(1);
    unsent(1, 2);
    BatchPlanner batch_planner = planner();
    settings.used = true, settings.compat_level = 1;
    CountedNotices notices;
    PlannerService service(settings, batch_planner, clock, notices);
    // Whether a pass was made, and the feeder was asked to hand its plan out at once.
    const auto after = [&](double seconds) {
        clock.advance(seconds);
        const auto version = plans.plan().version;
        const int rereads = notices.rereads;
        EXPECT_EQ(service.turn().wait, PlannerService::kLook);
        return std::pair(plans.plan().version != version, notices.rereads != rereads);
    };
    EXPECT_EQ(after(0), std::pair(true, true));
    EXPECT_EQ(after(10), std::pair(false, false));
    batch(2);
    EXPECT_EQ(after(10), std::pair(true, true));
    EXPECT_EQ(published().find_batch(2), nullptr) << "there is nothing to be done yet";
    unsent(2, 3);
    EXPECT_EQ(after(10), std::pair(false, false));
    EXPECT_EQ(after(50), std::pair(true, false)) << "a minute after the last pass";
    EXPECT_NE(published().find_batch(2), nullptr);
    settings.compat_level = 0;
    EXPECT_EQ(after(60), std::pair(true, true)) << "the feeder does not look by itself";
    settings.used = false;
    EXPECT_EQ(after(60), std::pair(true, false)) << "nobody goes by the plan";
}

TEST_F(BatchPlannerTest, BatchesAreOrderedByCreationOrLogicalEnd) {
    batch(1, 0, 2e9), batch(2, 10, 1.9e9), batch(3, 20, 0);
    for (Id b = 1; b <= 3; ++b) unsent(b, 10);
    const auto places = [&] {
        planner().run();
        std::vector<std::int64_t> of;
        for (const PlannedBatch& b : published().batches) of.push_back(b.place);
        return of;
    };
    EXPECT_EQ(places(), (std::vector<std::int64_t>{1, 2, 3}));
    settings.by_logical_end_time = true;
    EXPECT_EQ(places(), (std::vector<std::int64_t>{2, 1, 3})) << "without a logical end time: last";
    EXPECT_LT(published().batches[1].finish, published().batches[0].finish);
    EXPECT_LT(published().batches[0].finish, published().batches[2].finish);
}

TEST_F(BatchPlannerTest, FailingHostsAreLeftOutLateOnesNot) {
    batch(1);
    unsent(1, 10);
    for (int i = 0; i < 3; ++i) over(1, 1, Outcome::kClientError);
    for (int i = 0; i < 2; ++i) over(1, 2, Outcome::kClientError);
    for (int i = 0; i < 9; ++i) over(1, 3, Outcome::kNoReply);
    for (int i = 0; i < 9; ++i) over(1, 4, Outcome::kClientError, kExitUnstartedLate);
    for (int i = 0; i < 30; ++i) over(1, 5, i < 4 ? Outcome::kClientError : Outcome::kSuccess);
    planner().run();
    ASSERT_EQ(published().left_out.size(), 1u);
    EXPECT_EQ(published().left_out[0], (LeftOutHost{1, 3, 3}));
    EXPECT_EQ(published().batches[0].hosts, 9);
}

TEST_F(BatchPlannerTest, WhatAHostHoldsComesFirst) {
    batch(1);
    unsent(1, 10);
    for (Id host = 1; host <= 9; ++host) job(1, ServerState::kInProgress, host);
    settings.rules = {.margin = 1, .min_hosts = 0, .horizon = 1e6};
    planner().run();
    EXPECT_NEAR(published().batches[0].finish, kStart + 1800 + 2 * 3600, 20)
        << "nine second jobs, or two by the free host";
}

TEST_F(BatchPlannerTest, WhatIsLateIsExpectedFromAnotherInstance) {
    batch(1);
    job(1, ServerState::kInProgress, 1, 600);
    planner().run();
    EXPECT_NEAR(db.batches.get(1)->est_completion_time, kStart - 600 + 1.2 * 3600, 5);
    job(1, ServerState::kInProgress, 2, 3 * 3600);
    planner().run();
    EXPECT_NEAR(db.batches.get(1)->est_completion_time, kStart + 360 + 1.2 * 3600, 5);
}

TEST_F(BatchPlannerTest, AnInstanceThatMissesThePlanIsCancelled) {
    batch(1);
    unsent(1, 10);
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    const double finish = published().batches[0].finish;
    const Id sent = db.results.rows().begin()->first;
    db.results.change(sent, [](Result& r) {
        r.server_state = ServerState::kInProgress;
        r.hostid = 4;
        r.sent_time = static_cast<std::int64_t>(kStart) + 60;
        r.report_deadline = r.sent_time + 86400;
    });
    clock.set(kStart + 120);
    EXPECT_EQ(batch_planner.run().given_up, 0);
    const double at = plans.timers().at(0).at;
    EXPECT_NEAR(at, reissue_time(kStart + 60, finish, settings.rules.margin * 3600), 1);
    clock.set(at - 1);
    EXPECT_EQ(batch_planner.run().given_up, 0) << "the client has its chance";
    clock.set(at + 1);
    EXPECT_EQ(batch_planner.run().given_up, 1);
    const Result& r = *db.results.get(sent);
    EXPECT_EQ(r.server_state, ServerState::kOver);
    EXPECT_EQ(r.outcome, Outcome::kNoReply);
    EXPECT_EQ(r.report_deadline, static_cast<std::int64_t>(kStart) + 60 + 86400) << "it may come back until then";
    EXPECT_LE(db.workunits.get(r.workunitid)->transition_time, at + 1) << "the transitioner makes another at once";
    EXPECT_EQ(batch_planner.run().given_up, 0);
    EXPECT_TRUE(plans.timers().empty());
}

TEST_F(BatchPlannerTest, NoTimerIsShorterThanTheClientsChance) {
    for (const double finish : {0.0, 100.0, 1e5})
        EXPECT_GE(reissue_time(1000, 1000 + finish, 3600), 1000 + kPatientRuns * 3600 + 600) << finish;
}

// T of a batch of many jobs is far away; the last of them need not be waited for until then.
TEST_F(BatchPlannerTest, WhenAllIsSentItsOwnTimeCounts) {
    batch(1);
    unsent(1, 100);
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    ASSERT_GT(published().batches[0].finish, kStart + 10 * 3600);
    std::vector<Id> ids;
    for (const auto& [id, row] : db.results.rows()) ids.push_back(id);
    const auto give = [&](Id id) {
        db.results.change(id, [](Result& r) {
            r.server_state = ServerState::kInProgress;
            r.hostid = 4;
            r.sent_time = static_cast<std::int64_t>(kStart) + 60;
            r.report_deadline = r.sent_time + 86400;
        });
    };
    give(ids[0]);
    const double fair = kStart + 60 + kLastRuns * settings.rules.margin * 3600 + 600;
    clock.set(fair + 60);
    EXPECT_EQ(batch_planner.run().given_up, 0) << "others wait for a host, too: nothing would be won";
    for (const Id id : ids) give(id);
    clock.set(fair - 60);
    EXPECT_EQ(batch_planner.run().given_up, 0) << "the client has its chance";
    clock.set(fair + 60);
    EXPECT_EQ(batch_planner.run().given_up, static_cast<std::int64_t>(ids.size()));
}

// A second instance would take a host from jobs that wait, and the first one mostly comes back.
TEST_F(BatchPlannerTest, WhileAnotherBatchWaitsCancellingIsLater) {
    batch(1);
    unsent(1, 1);
    const Id last = db.results.rows().begin()->first;
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    db.results.change(last, [](Result& r) {
        r.server_state = ServerState::kInProgress;
        r.hostid = 4;
        r.sent_time = static_cast<std::int64_t>(kStart) + 60;
        r.report_deadline = r.sent_time + 86400;
    });
    batch(2);
    unsent(2, 1);
    const double run_time = settings.rules.margin * 3600;
    clock.set(kStart + 120);
    batch_planner.run();
    const double late = kStart + 60 + kLastRuns * run_time + 660;
    clock.set(late);
    EXPECT_EQ(batch_planner.run().given_up, 0);
    EXPECT_GT(db.batches.get(1)->est_completion_time, kStart + 60 + (kPatientRuns + 1) * run_time + 600);
    clock.set(kStart + 60 + kPatientRuns * run_time + 540);
    EXPECT_EQ(batch_planner.run().given_up, 0);
    clock.set(kStart + 60 + kPatientRuns * run_time + 660);
    EXPECT_EQ(batch_planner.run().given_up, 1);
}

// One job that no host can take must not change the rule for all others for ever.
TEST_F(BatchPlannerTest, AnUntakenJobKeepsNoLastJobWaiting) {
    batch(1), batch(2);
    job(2, ServerState::kUnsent);
    BatchPlanner batch_planner = planner();
    clock.set(kStart + 7 * 3600);
    job(1, ServerState::kInProgress, 4, 60);
    batch_planner.run();
    const double run_time = settings.rules.margin * 3600;
    clock.set(kStart + 7 * 3600 - 60 + kLastRuns * run_time + 540);
    EXPECT_EQ(batch_planner.run().given_up, 0);
    clock.set(kStart + 7 * 3600 - 60 + kLastRuns * run_time + 660);
    EXPECT_EQ(batch_planner.run().given_up, 1);
}

// A host of one processor that was given five jobs does one after the other; the last ones need not be given up for
// that.
TEST_F(BatchPlannerTest, QueueIsAwaitedWhileItsHostIsOn) {
    batch(1);
    BatchPlanner batch_planner = planner();
    unsent(1, 40);
    batch_planner.run();
    std::vector<Id> ids;
    for (const auto& [id, row] : db.results.rows()) {
        ids.push_back(id);
        db.results.change(id, [&](Result& r) {
            r.server_state = ServerState::kInProgress;
            r.hostid = ids.size() <= 5 ? 4 : 5;
            r.sent_time = static_cast<std::int64_t>(kStart) + 60;
            r.report_deadline = r.sent_time + 7 * 86400;
        });
    }
    const double chance = 1.2 * settings.rules.margin * 3600 + 600;
    clock.set(kStart + 120);
    EXPECT_EQ(batch_planner.run().given_up, 0);
    clock.set(kStart + 60 + chance - 60);
    const auto done = [&](Id id) {
        db.results.change(id, [](Result& r) { r.server_state = ServerState::kOver; });
        db.workunits.change(db.results.get(id)->workunitid, [&](Workunit& w) { w.canonical_resultid = id; });
    };
    done(ids[3]);  // whichever it did first
    EXPECT_EQ(batch_planner.run().given_up, 0);
    clock.set(kStart + 60 + chance + 60);
    EXPECT_EQ(batch_planner.run().given_up, 35) << "host 5 did none of its, host 4 gets on";
    EXPECT_EQ(db.results.get(ids[0])->server_state, ServerState::kInProgress);
    for (std::size_t i = 5; i < ids.size(); ++i) done(ids[i]);
    clock.set(kStart + 2 * chance + 120);
    EXPECT_EQ(batch_planner.run().given_up, 4) << "host 4 has stopped, too: none of those behind it will come";
}

// A client that is on for an hour in five believes that an hour's job takes it five.
TEST_F(BatchPlannerTest, PausesOfARareHostAreNotAwaited) {
    batch(1);
    const Id id = job(1, ServerState::kInProgress, 4);
    db.hosts.change(4, [](Host& h) { h.on_frac = 0.2; });
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    const double run = settings.rules.margin * planned_run_time(3600, 0.2);
    batch_planner.run();
    ASSERT_EQ(plans.timers().size(), 1u);
    EXPECT_LT(plans.timers()[0].at, kStart + 1.5 * 5 * 3600);
    clock.set(kStart + 1.5 * run + 600 + 60);
    EXPECT_EQ(batch_planner.run().given_up, 1);
    EXPECT_EQ(db.results.get(id)->outcome, Outcome::kNoReply);
}

TEST_F(BatchPlannerTest, AJobWithoutFurtherInstancesIsNotCancelled) {
    batch(1);
    unsent(1, 3);
    const Id last = job(1, ServerState::kInProgress, 3, 10);
    db.workunits.change(db.results.get(last)->workunitid, [](Workunit& w) { w.max_total_results = 1; });
    const std::vector<ReissueTimer> due{{last, 1, kStart - 5}};
    plans.set_timers(due, {});
    EXPECT_EQ(planner().run().given_up, 0);
    EXPECT_EQ(db.results.get(last)->server_state, ServerState::kInProgress);
}

// A planner that is killed and started anew goes on where the other was: neither timers nor plans are doubled.
TEST_F(BatchPlannerTest, AKilledPlannerIsContinued) {
    batch(1);
    unsent(1, 10);
    const Id held = job(1, ServerState::kInProgress, 2);
    for (const char* verb : {"plan.timers", "plan.set_timers", "plan.publish", "none"}) {
        db.before = [verb](const std::string& called) {
            if (called == verb) throw DbError(DbError::Kind::kLost, 2013, "killed");
        };
        BatchPlanner batch_planner = planner();
        if (std::string(verb) == "none")
            batch_planner.run();
        else
            EXPECT_THROW(batch_planner.run(), DbError);
    }
    EXPECT_EQ(published().version, 1);
    planner().run();  // the next one: what is in progress was sent by plan 1
    const std::vector<ReissueTimer> first = plans.timers();
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(first[0].result, held);
    clock.set(kStart + 600);
    planner().run();
    EXPECT_EQ(plans.timers(), first) << "a timer that runs is not set anew";
    EXPECT_EQ(published().version, 3);
}

// Of twenty jobs all are sent; hosts 9 and 10 are slow, the others would have done a job again long before them.
TEST_F(BatchPlannerTest, LastJobsGetCopiesUpToTheCap) {
    batch(1);
    db.batches.change(1, [](Batch& b) { b.njobs = 20; });
    for (const Id slow : {9, 10}) db.hosts.change(slow, [](Host& h) { h.p_fpops = 1e8; });
    const Id quick = job(1, ServerState::kInProgress, 8), a = job(1, ServerState::kInProgress, 9, 600),
             b = job(1, ServerState::kInProgress, 10, 300);
    EXPECT_EQ(planner().run().copies, 0) << "none by default";
    const auto state = [&](Id result) { return db.results.get(result)->server_state; };
    settings.copies = 0.04;
    EXPECT_EQ(planner().run().copies, 0) << "less than one";
    settings.copies = 0.05;
    EXPECT_EQ(planner().run().copies, 1);
    EXPECT_EQ(state(b), ServerState::kOver) << "it would end last";
    EXPECT_EQ(db.results.get(b)->outcome, Outcome::kNoReply);
    EXPECT_GT(db.results.get(b)->report_deadline, kStart) << "it is taken if it comes back first";
    EXPECT_LE(db.workunits.get(db.results.get(b)->workunitid)->transition_time, kStart);
    EXPECT_EQ(planner().run().copies, 0) << "the cap holds for ever";
    EXPECT_EQ(state(a), ServerState::kInProgress);
    settings.copies = 0.5;
    EXPECT_EQ(planner().run().copies, 0) << "the job that was copied waits for a host";
    Result copy = *db.results.get(b);
    copy.id = db.results.next_key(), copy.hostid = 9, copy.server_state = ServerState::kInProgress;
    db.results.put(copy.id, copy);
    EXPECT_THAT(planner().explain(1), testing::HasSubstr("copies of its last jobs: 1 so far, 9 more at most"));
    EXPECT_EQ(planner().run().copies, 1);
    EXPECT_EQ(state(a), ServerState::kOver);
    EXPECT_EQ(state(copy.id), ServerState::kInProgress) << "a job has one copy";
    EXPECT_EQ(state(quick), ServerState::kInProgress) << "nobody is sooner";
}

TEST_F(BatchPlannerTest, NoCopiesWhileJobsWait) {
    batch(1);
    db.batches.change(1, [](Batch& b) { b.njobs = 20; });
    settings.copies = 0.5;
    db.hosts.change(9, [](Host& h) { h.p_fpops = 1e8; });
    const Id slow = job(1, ServerState::kInProgress, 9), waits = job(1, ServerState::kUnsent);
    EXPECT_EQ(planner().run().copies, 0);
    db.workunits.change(db.results.get(waits)->workunitid, [](Workunit& w) { w.canonical_resultid = 1; });
    db.results.change(waits, [](Result& r) { r.server_state = ServerState::kOver; });
    const Id wu = db.results.get(slow)->workunitid;
    db.workunits.change(wu, [](Workunit& w) { w.max_total_results = 1; });
    EXPECT_EQ(planner().run().copies, 0);
    db.workunits.change(wu, [](Workunit& w) { w.max_total_results = 2; });
    settings.dry_run = true;
    EXPECT_EQ(planner().run().copies, 0);
    settings.dry_run = false;
    EXPECT_EQ(planner().run().copies, 1);
}

TEST_F(BatchPlannerTest, ExplainSaysWhoIsInH) {
    batch(1), batch(2);
    unsent(1, 10), unsent(2, 5);
    db.hosts.change(7, [](Host& h) { h.p_fpops = 1e6; });
    for (int i = 0; i < 3; ++i) over(2, 9, Outcome::kClientError);
    BatchPlanner batch_planner = planner();
    const std::string text = batch_planner.explain(2);
    EXPECT_THAT(text, testing::HasSubstr("batch 2: number 2 of 2 in the order of batches"));
    EXPECT_THAT(text, testing::HasSubstr("8 jobs to be sent"));
    EXPECT_THAT(text, testing::HasSubstr("host 9 is left out: 3 of its 3 jobs failed"));
    EXPECT_THAT(text, testing::HasSubstr("H: 8 of 9 hosts; 1 can't be done with a job by then"));
    EXPECT_THROW(batch_planner.explain(77), ConfigError);
    EXPECT_EQ(db.plans.get(1), nullptr) << "nothing is written";
}

// The server's clock was a year ahead when a job was sent to each host.
TEST_F(BatchPlannerTest, WhatWasSentInFutureRunsSinceNow) {
    batch(1);
    unsent(1, 10);
    for (Id host = 1; host <= 10; ++host) job(1, ServerState::kInProgress, host, -365 * 86400.0);
    settings.rules.margin = 1;
    planner().run();
    ASSERT_EQ(published().batches.size(), 1U);
    EXPECT_NEAR(published().batches[0].finish, kStart + 1800 + 2 * 3600, 20) << "what it holds, and one more";
    EXPECT_NEAR(db.batches.get(1)->est_completion_time, published().batches[0].finish, 1);
    planner().run();
    for (const ReissueTimer& t : plans.timers()) EXPECT_LT(t.at, kStart + 86400);
    EXPECT_EQ(plans.timers().size(), 10U);
}

TEST_F(BatchPlannerTest, EstimatesBeyondNumbersAreNotPlannedAsNothing) {
    batch(1);
    unsent(1, 10);
    for (Id w = 1; w <= 10; ++w) db.workunits.change(w, [](Workunit& wu) { wu.rsc_fpops_est = 1e308; });
    planner().run();
    EXPECT_TRUE(published().batches.empty());
}

// Its owner is not told of a time that nothing is done to keep.
TEST_F(BatchPlannerTest, AnUnplannableBatchHasNoExpectedEnd) {
    batch(1), batch(2);
    unsent(1, 10), unsent(2, 10);
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    EXPECT_GT(db.batches.get(1)->est_completion_time, kStart);
    for (Id w = 1; w <= 10; ++w) db.workunits.change(w, [](Workunit& wu) { wu.rsc_fpops_est = 1e18; });
    batch_planner.run();
    EXPECT_EQ(db.batches.get(1)->est_completion_time, 0);
    EXPECT_GT(db.batches.get(2)->est_completion_time, kStart);
}

// A volunteer's client tells an absurd speed when it has its job.
TEST_F(BatchPlannerTest, HostsSpeedIsNumberWhateverItTells) {
    for (const double fpops : {kHourOfWork, 0.0}) {
        batch(1);
        const Id id = job(1, ServerState::kInProgress, 4);
        db.workunits.change(db.results.get(id)->workunitid, [&](Workunit& w) { w.rsc_fpops_est = fpops; });
        for (const double speed : {-1.0, 1e-300, 1e-30, 1e300}) {
            db.hosts.change(4, [&](Host& h) { h.p_fpops = speed; });
            unsent(1, 3);
            BatchPlanner batch_planner = planner();
            batch_planner.run();
            batch_planner.run();
            EXPECT_EQ(published().batches.size(), 1u) << speed;
            const double end = db.batches.get(1)->est_completion_time;
            EXPECT_GT(end, kStart) << speed;
            EXPECT_LT(end, kStart + 86400) << speed;
            for (const ReissueTimer& t : plans.timers()) EXPECT_GT(t.at, kStart) << speed;
        }
        db.results.change(id, [](Result& r) { r.server_state = ServerState::kOver; });
    }
}

// The quickest hosts have no version of the app, or are nobody's: they come each four minutes, and T that they could
// keep is one that no other reaches.
TEST_F(BatchPlannerTest, AHostThatTakesNoneIsNotCounted) {
    batch(1);
    unsent(1, 40);
    const auto come = [&](Id first, Id last, double speed) {
        for (Id id = first; id <= last; ++id) {
            Host h = *db.hosts.get(1);
            h.id = id, h.p_fpops = speed, h.rpc_time = clock.now_sec();
            db.hosts.put(id, h);
        }
    };
    BatchPlanner batch_planner = planner();
    const auto minutes = [&](int n) {
        for (int i = 0; i < n; ++i) {
            clock.advance(60);
            if (i % 4 == 0) come(11, 18, 1e12);
            if (i % 30 == 0) come(1, 10, 1e9);
            batch_planner.run();
        }
        return published().batches.at(0);
    };
    EXPECT_EQ(minutes(20).hosts, 8);
    PlannedBatch b = minutes(15);
    EXPECT_EQ(b.hosts, 10) << "nothing was sent for half an hour: the others";
    EXPECT_GE(b.finish, clock.now() + 4 * 1.2 * 3600) << "by when those ten have done all";
    job(1, ServerState::kInProgress, 11);
    b = minutes(1);
    EXPECT_EQ(b.hosts, 11) << "this one does take jobs";
    for (Id id = 12; id <= 14; ++id) job(1, ServerState::kInProgress, id);
    for (Id id = 1; id <= 10; ++id) db.hosts.change(id, [](Host& h) { h.rpc_time = 0; });
    batch_planner.run();
    EXPECT_EQ(published().batches.at(0).hosts, 8) << "where fewer than eight are left, all are counted on";
}

/// Of ten hosts three have an NVIDIA GPU each, one two; app 2 has a version for these, app 1 one for processors.
class PlannerGpus : public BatchPlannerTest {
  protected:
    PlannerGpus() {
        settings.compat_level = 1;
        settings.rules = {.margin = 1, .min_hosts = 0, .patience = 0, .least = 0};
        version(1, 1, ""), version(2, 2, "cuda");
        for (Id id = 1; id <= 4; ++id) gpus(id, id == 4 ? 2 : 1, "nvidia");
        gpus(5, 3, "intel");
    }
    void version(Id id, Id app, const std::string& plan_class) {
        AppVersion v;
        v.id = id, v.appid = app, v.plan_class = plan_class;
        db.versions.put(id, v);
    }
    void gpus(Id host, int n, const std::string& type) {
        db.hosts.change(host, [&](Host& h) {
            h.p_ngpus = n;
            h.gpu_active_frac = 1;
            h.misc = R"({"gpus": [{"type": ")" + type + R"(", "count": )" + std::to_string(n) + "}]}";
        });
    }
    void of_app_2(Id of) {
        for (const auto& [id, w] : std::map<Id, Workunit>(db.workunits.rows().begin(), db.workunits.rows().end()))
            if (w.batch == of) db.workunits.change(id, [](Workunit& x) { x.appid = 2; });
    }
    double finish(Id of) { return published().find_batch(of)->finish - kStart; }
};

constexpr double kGpuJob = 3600 / 10.02;  ///< s of an hour of work: the scheduler takes a GPU for ten processors

TEST_F(PlannerGpus, GpuBatchesTakeNoProcessorsFromOthers) {
    batch(1), batch(2, 10);
    unsent(1, 50), unsent(2, 20);
    of_app_2(1);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 10 * kGpuJob, 0.01 * 3600) << "ten on each of five GPUs";
    EXPECT_EQ(published().find_batch(1)->hosts, 4);
    EXPECT_NEAR(finish(2), 1800 + 2 * 3600, 0.1 * 3600) << "but what a GPU's job takes of a processor";
    EXPECT_EQ(published().find_batch(2)->hosts, 10);
}

/// Its processors' version is gone: what runs with it runs on a processor each all the same.
TEST_F(PlannerGpus, JobsOfAGoneVersionStillBlock) {
    db.hosts.change(1, [](Host& h) { h.p_ncpus = 16; });
    batch(1), batch(2, 10);
    for (int i = 0; i < 16; ++i) job(1, ServerState::kInProgress, 1, 1800);
    unsent(1, 1), unsent(2, 20);
    of_app_2(1);
    planner().run();
    EXPECT_LT(finish(2), 2 * 3600 + 1800) << "host 1 has done them in half an hour, and the others take what is left";
    clock.advance(4000);
    planner().run();
    for (const auto& [id, r] : db.results.rows()) {
        if (r.hostid == 1) {
            EXPECT_EQ(r.server_state, ServerState::kInProgress) << id;
        }
    }
}

TEST_F(PlannerGpus, AppWithBothVersionsIsPlannedOnBoth) {
    batch(1);
    unsent(1, 60);
    version(3, 1, "cuda");
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 3600, 60) << "ten on each of five GPUs, one on each processor";
    EXPECT_EQ(published().find_batch(1)->hosts, 10);
}

TEST_F(PlannerGpus, GpuMeasurementsSayNothingOfProcessors) {
    batch(1);
    unsent(1, 10);
    version(3, 1, "cuda");
    db.versions.change(3, [](AppVersion& v) { v.deprecated = true; });
    HostAppVersion fast;
    fast.host_id = 1, fast.app_version_id = 3, fast.et = {20, 1e-12, 0, 0};
    db.host_app_versions.put({1, 3}, fast);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 3600, 20);
}

TEST_F(PlannerGpus, GpuWorkBlocksGpusOnly) {
    batch(1), batch(2, 10);
    unsent(1, 5), unsent(2, 10);
    for (Id host = 1; host <= 3; ++host) {
        const Id id = job(1, ServerState::kInProgress, host);
        db.results.change(id, [](Result& r) { r.app_version_id = 2; });
    }
    of_app_2(1);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 2 * kGpuJob, 20);
    EXPECT_NEAR(finish(2), 1800 + 3600, 50);
    const ReissueTimer timer = (planner().run(), plans.timers().at(0));
    EXPECT_LT(timer.at, kStart + kPatientRuns * 3600) << "it is waited for as long as a GPU takes";
}

TEST_F(PlannerGpus, AHostsGpusAreRereadAfterItCame) {
    batch(1);
    unsent(1, 50);
    of_app_2(1);
    BatchPlanner batch_planner = planner();
    batch_planner.run();
    clock.advance(3600);
    batch_planner.run();
    EXPECT_EQ(published().find_batch(1)->hosts, 4);
    for (Id id = 1; id <= 3; ++id) gpus(id, 1, "amd");
    db.hosts.change(3, [&](Host& h) { h.rpc_time = clock.now_sec() - 10; });
    batch_planner.run();
    EXPECT_EQ(published().find_batch(1)->hosts, 3);
    db.hosts.change(4, [&](Host& h) { h.p_ngpus = 0; });
    batch_planner.run();
    EXPECT_EQ(published().find_batch(1)->hosts, 2);
}

TEST_F(PlannerGpus, ExplainNamesTheDevices) {
    batch(1);
    unsent(1, 50);
    of_app_2(1);
    const std::string text = planner().explain(1);
    EXPECT_THAT(text, testing::HasSubstr("H: 4 of 4 hosts; 0 can't be done with a job by then\n"
                                         "6 more hosts lack the devices that the versions of app 2 take\n"
                                         "  host 4: can start in 1800 s, 359 s a job, 2 NVIDIA GPUs: 20 jobs by T\n"
                                         "  host 1: can start in 1800 s, 359 s a job, 1 NVIDIA GPU: 10 jobs by T\n"));
}

/// Hosts 1 to 8 have four processors, 9 and 10 one; app 1 has a version that uses all, and wants two at least.
class PlannerThreads : public PlannerGpus {
  protected:
    PlannerThreads() {
        version(1, 1, "mt");
        for (Id id = 1; id <= 8; ++id) db.hosts.change(id, [](Host& h) { h.p_ncpus = 4; });
    }
    void measured(Id host, Id of_version, double speed) {
        HostAppVersion v;
        v.host_id = host, v.app_version_id = of_version, v.et = {20, 1 / speed, 0, 0};
        db.host_app_versions.put({host, of_version}, v);
    }
};

constexpr double kThreads = 900;  ///< s of an hour of work on four processors

TEST_F(PlannerThreads, JobTakesAllProcessorsAndIsDoneSooner) {
    batch(1);
    unsent(1, 16);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 2 * kThreads, 20) << "two on each host, one after the other";
    EXPECT_EQ(published().find_batch(1)->hosts, 8) << "the others have too few processors";
}

TEST_F(PlannerThreads, MeasuredSpeedIsThatOfAllProcessors) {
    for (Id host = 1; host <= 8; ++host) measured(host, 1, 4e9);
    batch(1);
    unsent(1, 16);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 2 * kThreads, 20);
}

TEST_F(PlannerThreads, WhatAHostHoldsHasAllItsProcessors) {
    batch(1);
    for (Id host = 1; host <= 8; ++host) {
        const Id id = job(1, ServerState::kInProgress, host);
        db.results.change(id, [](Result& r) { r.app_version_id = 1; });
    }
    unsent(1, 8);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 2 * kThreads, 20);
}

TEST_F(PlannerThreads, OfSeveralVersionsHostGetsOneFastestThere) {
    version(3, 1, "");
    batch(1);
    unsent(1, 8 + 8 * 3);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 4 * kThreads, 20) << "one on each single processor, four on the others";
    EXPECT_EQ(published().find_batch(1)->hosts, 10);
    // Where only the other one was measured, its jobs run one a processor.
    for (Id host = 1; host <= 8; ++host) measured(host, 3, 2e9);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + kThreads * 2, 20) << "four at a time, each in half an hour";
    for (Id host = 1; host <= 8; ++host) measured(host, 1, 4e9);
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + 4 * kThreads, 20);
    // A version that is not sent any more says nothing of those that are.
    db.versions.change(1, [](AppVersion& v) { v.deprecated = true; });
    planner().run();
    EXPECT_NEAR(finish(1), 1800 + kThreads * 2, 20);
}

TEST_F(PlannerThreads, ExplainNamesTheProcessorsOfAJob) {
    batch(1);
    unsent(1, 16);
    EXPECT_THAT(planner().explain(1),
                testing::HasSubstr("H: 8 of 8 hosts; 0 can't be done with a job by then\n"
                                   "2 more hosts lack the devices that the versions of app 1 take\n"
                                   "  host 1: can start in 1800 s, 900 s a job, 4 CPUs (4 a job): 2 jobs by T\n"));
}

TEST_F(BatchPlannerTest, NothingToPlanPublishesAnEmptyPlan) {
    batch(1);
    planner().run();
    EXPECT_EQ(published().version, 1);
    EXPECT_TRUE(published().batches.empty());
}

}  // namespace
}  // namespace sluice::test
