// SPDX-License-Identifier: LGPL-3.0-or-later
// The stores of batch_planner: the same on tables in memory and on MariaDB; a plan is there whole or not at all; the
// program, killed wherever it writes.
#include <fmt/format.h>

#include <csignal>
#include <thread>

#include "db/memory/batch_plan_store.h"
#include "sluice/base/error.h"
#include "sluice/db/batch_plan_store.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class BatchPlans : public BatchFixture {
  protected:
    BatchPlans() {
        for (const SqlLiteral table :
             {SqlLiteral("sluice_plan"), SqlLiteral("sluice_plan_batch"), SqlLiteral("sluice_plan_host"),
              SqlLiteral("sluice_plan_seen"), SqlLiteral("sluice_plan_job"), SqlLiteral("sluice_plan_copy"),
              SqlLiteral("sluice_gang"), SqlLiteral("sluice_gang_job")}) {
            Sql sql("DROP TABLE IF EXISTS ");
            db.execute(sql << table);
        }
    }
    Host& machine(Id id, double credit, std::int64_t heard_ago) {
        Host& h = host(id);
        h.expavg_credit = credit;
        h.rpc_time = now - heard_ago;
        h.p_ncpus = 2;
        h.p_fpops = 1e9;
        h.on_frac = 0.5, h.active_frac = 0.8;
        return h;
    }
    void measured(Id host_id, Id version, double n, double seconds) {
        HostAppVersion hav;
        hav.host_id = host_id, hav.app_version_id = version, hav.et = {n, seconds, 0, 0};
        world.host_app_versions[{host_id, version}] = hav;
    }
    /// Batches 1 and 2 in progress, with instances in every state.
    void fill() {
        AppVersion version;
        version.id = 7, version.appid = 1, version.platformid = 1, version.version_num = 100;
        world.versions[7] = version;
        version.id = 9, version.plan_class = "cuda", version.deprecated = true, version.pfc_n = 5, version.pfc_avg = 2;
        world.versions[9] = version;
        machine(1, 50, 100), machine(2, 70, 100), machine(3, 0, 100), machine(4, 90, 86400 * 30), machine(5, 0, 50);
        for (const Id id : {1, 2, 5}) {
            Host& h = host(id);
            h.p_ngpus = id == 2 ? 0 : 2, h.p_gpu_fpops = 3e12, h.gpu_active_frac = 0.25, h.misc = "{\"gpus\": []}";
        }
        measured(1, 7, 20, 1e-9), measured(1, 3'000'002, 15, 2e-9), measured(1, 8, 11, 3e-9), measured(2, 7, 10, 1e-9);
        batch(1), batch(2);
        unsent(1), unsent(1), in_progress(1, 1, 500), in_progress(2, 2, 700);
        success(1, 1, 300);
        job(1).error_mask = 1;
        unsuccessful(1, 1, Outcome::kClientError).exit_status = 5;
        unsuccessful(1, 2, Outcome::kClientError).exit_status = 200;
        unsuccessful(2, 1, Outcome::kClientError).exit_status = 7;
        unsuccessful(2, 2, Outcome::kNoReply);
        for (auto& [id, w] : world.workunits) w.rsc_fpops_est = 1e12 * static_cast<double>(id);
    }
};

std::string plan_text(const BatchPlan& plan) {
    std::string out = fmt::format("plan {} of {}:", plan.version, plan.made_at);
    for (const PlannedBatch& b : plan.batches)
        out += fmt::format(" [{} {} {} {} {} {}]", b.batch, b.finish, b.margin, b.place, b.jobs, b.hosts);
    for (const LeftOutHost& h : plan.left_out) out += fmt::format(" ({} {}/{})", h.host, h.errors, h.returned);
    if (plan.newest_batch != BatchPlan::kUnknown)
        out += fmt::format(" newest {} {}", plan.newest_batch, plan.newest_result);
    for (const Id batch : plan.awaited) out += fmt::format(" awaits {}", batch);
    return out + "\n";
}

std::string text_of_facts(BatchPlanFactsStore& store, std::int64_t now) {
    std::string out;
    for (const int most : {1000, 1})
        store.hosts({now - 86400, most, now - 75}, [&](const HostSpeedRow& h) {
            out += fmt::format("host {} {} {} {} {} {} app {} {} version {} gpus {} {} {} {}\n", h.host, h.cpus,
                               h.p_fpops, h.on_frac, h.active_frac, h.rpc_time, h.app, h.seconds_per_op, h.version,
                               h.gpus, h.gpu_fpops, h.gpu_active_frac, h.misc);
        });
    for (const AppVersionUse& v : store.versions())
        out +=
            fmt::format("version {} app {} {} sent {} {} {}\n", v.id, v.app, v.plan_class, v.sent, v.pfc_n, v.pfc_avg);
    const std::vector<Id> batches{2, 1, 9};
    for (const BatchDemandRow& d : store.demands(batches))
        out += fmt::format("batch {} app {} open {} of {}\n", d.batch, d.app, d.open, d.mean_fpops);
    std::map<Id, std::string> open;
    store.open_results(batches, [&](const OpenBatchResult& r) {
        open[r.id] = fmt::format("result {} wu {} batch {} host {} state {} {} {} version {}\n", r.id, r.workunit,
                                 r.batch, r.host, static_cast<int>(r.state), r.create_time, r.sent_time, r.version);
    });
    for (const auto& [id, line] : open) out += line;
    for (const LeftOutHost& h : store.failing_hosts(batches))
        out += fmt::format("host {}: {} of {} failed\n", h.host, h.errors, h.returned);
    const NewestIds newest = store.newest();
    std::vector<Id> all;
    for (Id id = 1; id <= newest.result + 1; ++id) all.push_back(id);
    std::map<Id, ReturnedBatchResult> returned;
    for (const ReturnedBatchResult& r : store.returned(all)) returned[r.id] = r;
    for (const auto& [id, r] : returned) out += fmt::format("returned {} of {} after {}\n", id, r.fpops, r.elapsed);
    out += fmt::format("newest {} {}\n", newest.batch, newest.result);
    return out;
}

TEST_F(BatchPlans, FactsAreSameInMemoryAndInDatabase) {
    fill();
    batch(3, 1, BatchState::kInit), batch(4, 1, BatchState::kInit), batch(5, 1, BatchState::kComplete);
    batch(6, 1, BatchState::kInit);
    unsent(4);  // a day ago
    success(5, 1, 300).elapsed_time = 250;
    unsent(6).create_time = now;
    store();
    FakeDb mine = world;
    MemoryBatchPlanFactsStore memory(mine.memory);
    const std::string expected = text_of_facts(memory, now);
    EXPECT_EQ(text_of_facts(*make_batch_plan_facts_store(db), now), expected);
    EXPECT_THAT(expected, HasSubstr(fmt::format(
                              "host 1 2 1000000000 0.5 0.8 {} app 3 2e-09 version 3000002 gpus 2 3000000000000 0.25 \n",
                              now - 100)));
    EXPECT_THAT(expected, HasSubstr("gpus 2 3000000000000 0.25 {\"gpus\": []}\n")) << "of who came since then";
    EXPECT_THAT(expected, HasSubstr("version 9 app 1 cuda sent false 5 2\n"));
    EXPECT_THAT(expected, HasSubstr("host 1: 2 of 3 failed\n"));
    EXPECT_THAT(expected, HasSubstr(" after 250\n"));
    EXPECT_THAT(expected, HasSubstr(" after 0\n"));
    EXPECT_THAT(expected, testing::Not(HasSubstr("host 4")));
    EXPECT_THAT(expected, HasSubstr(fmt::format("newest 6 {}\n", world.results.last().first)));
    EXPECT_THAT(expected, testing::Not(HasSubstr("host 2: ")));
}

std::string use_plans(BatchPlanStore& store) {
    std::string out = plan_text(store.plan());
    store.prepare();
    out += plan_text(store.plan());
    const BatchPlan first{0, 1000.5, {{1, 2000.25, 1.2, 2, 5, 9}, {2, 3000, 1.2, 1, 0, 8}}, {{4, 3, 5}}, 5, 77, {3, 4}};
    const std::vector<std::pair<Id, double>> completions{{1, 2000.25}, {2, 3000}, {3, 1}};
    out += fmt::format("{}\n", store.publish(first, completions)) + plan_text(store.plan());
    out += fmt::format("{}\n", store.publish({0, 1001, {{2, 3500, 1.3, 1, 2, 8}}, {}, 6, 78, {}}, {})) +
           plan_text(store.plan());
    out += fmt::format("{}\n", store.publish({0, 1002, {}, {}}, {})) + plan_text(store.plan());
    const std::vector<ReissueTimer> timers{{7, 1, 500.5}, {3, 2, 600}}, again{{7, 1, 900}, {8, 1, 800}};
    const std::vector<Id> gone{3, 99};
    store.set_timers(timers, {});
    store.set_timers(again, gone);
    const EtaFactors usual = store.eta_factors();
    store.keep_eta_factors({0.25, 4});
    store.keep_eta_factors({0.125, 8.5});
    out += fmt::format("eta {} {}, then {} {}\n", usual.least, usual.most, store.eta_factors().least,
                       store.eta_factors().most);
    for (const ReissueTimer& t : store.timers()) out += fmt::format("timer {} {} {}\n", t.result, t.batch, t.at);
    return out;
}

TEST_F(BatchPlans, PlansAndTimersAreSameInBothStores) {
    fill();
    batch(3, 1, BatchState::kComplete);
    store();
    FakeDb mine = world;
    MemoryBatchPlanStore memory(mine.memory);
    const std::string expected = use_plans(memory);
    EXPECT_EQ(use_plans(*make_batch_plan_store(db)), expected);
    EXPECT_THAT(
        expected,
        HasSubstr(
            "plan 1 of 1000.5: [1 2000.25 1.2 2 5 9] [2 3000 1.2 1 0 8] (4 3/5) newest 5 77 awaits 3 awaits 4\n"));
    EXPECT_THAT(expected, HasSubstr("[2 3500 1.3 1 2 8] newest 6 78\n"));
    EXPECT_THAT(expected, HasSubstr("eta 0.3 2.3, then 0.125 8.5\n"));
    EXPECT_THAT(expected, HasSubstr("timer 7 1 500.5\ntimer 8 1 800\n"));
    const FakeDb after = load_rows(db);
    for (const Id id : {1, 2, 3})
        EXPECT_EQ(after.batches.at(id).est_completion_time, mine.batches.at(id).est_completion_time);
    EXPECT_EQ(after.batches.at(3).est_completion_time, 0) << "it is over";
}

std::string plans_to_hand_out(BatchPlanStore& store) {
    std::string out = plan_text(store.plan_for_schedulers());
    store.prepare();
    out += plan_text(store.plan_for_schedulers());
    store.publish({0, 1000, {{1, 2000, 1.2, 1, 5, 9}}, {}, 1, 1, {9}}, {});
    for (const auto& [batch, heard_at] : {std::pair{Id{4}, 600.0}, {4, 900}, {5, 600}, {8, 900}, {7, 1e9}})
        store.note_submission(batch, heard_at);
    out += plan_text(store.plan_for_schedulers());
    const std::vector<Id> decided{4};
    store.forget_submissions(decided, 86000);
    out += plan_text(store.plan_for_schedulers());
    store.forget_submissions({}, 90000);
    out += plan_text(store.plan_for_schedulers());
    for (const std::vector<Id>& seen :
         {std::vector<Id>{seen_and_free(0), 9}, {seen_and_free(2), seen_and_free(0), 9}}) {
        store.publish({0, 1000, {{1, 2000, 1.2, 1, 5, 9}}, {}, 6, 1, seen}, {});
        out += plan_text(store.plan_for_schedulers());
    }
    store.publish({0, 1000, {}, {}}, {});
    return out + plan_text(store.plan_for_schedulers());
}

/// Batch 1 is planned, 2 newer than the plan; 3 is a draft, 4 and 5 have jobs in state INIT, 6 is over. The first
/// jobs of 10 and 11 were made half a minute and a minute before the plan. A plan that tells which batches it has seen
/// in progress has seen no other, whatever their numbers are.
TEST_F(BatchPlans, WhatSchedulersGetIsSameInBothStores) {
    fill();
    for (const Id id : {3, 4, 5}) batch(id, 1, BatchState::kInit);
    unsent(4), unsent(5);
    batch(6, 1, BatchState::kComplete);
    for (const auto& [id, first_job] : {std::pair<Id, std::int64_t>{10, 970}, {11, 940}}) {
        batch(id, 1, BatchState::kInit);
        world.workunits[unsent(id).workunitid].create_time = first_job;
        world.workunits[unsent(id).workunitid].create_time = 990;
    }
    store();
    db.execute(Sql("DROP TABLE IF EXISTS sluice_plan, sluice_plan_submission"));
    FakeDb mine = world;
    MemoryBatchPlanStore memory(mine.memory);
    const std::string expected = plans_to_hand_out(memory);
    EXPECT_EQ(plans_to_hand_out(*make_batch_plan_store(db)), expected);
    const Id newest = world.results.last().first;
    const auto line = [&](int version, const char* awaited) {
        return fmt::format("plan {} of 1000: [1 2000 1.2 1 5 9] newest 11 {}{}\n", version, newest, awaited);
    };
    EXPECT_EQ(expected,
              "plan 0 of 0:\nplan 0 of 0:\n" + line(1, " awaits 2 awaits 3 awaits 4 awaits 8 awaits 9 awaits 10") +
                  line(1, " awaits 2 awaits 3 awaits 8 awaits 9 awaits 10") +
                  line(1, " awaits 2 awaits 3 awaits 9 awaits 10") + line(2, " awaits 2 awaits 3 awaits 9 awaits 10") +
                  line(3, " awaits 3 awaits 9 awaits 10") + "plan 4 of 1000:\n");
}

/// By a batch_planner that did not say what it had seen.
TEST_F(BatchPlans, AnOlderPlanIsWholeAndBlocksNothing) {
    const auto plans = make_batch_plan_store(db);
    plans->prepare();
    plans->publish({0, 1000, {{1, 2000, 1.2, 1, 5, 9}}, {}, 5, 77, {3}}, {});
    db.execute(Sql("DELETE FROM sluice_plan_seen"));
    EXPECT_EQ(plan_text(plans->plan()), "plan 1 of 1000: [1 2000 1.2 1 5 9]\n");
    db.execute(Sql("DROP TABLE sluice_plan_seen"));
    EXPECT_EQ(plan_text(plans->plan()), "plan 1 of 1000: [1 2000 1.2 1 5 9]\n");
}

/// Somebody who went back dropped some of the tables; versions begin anew.
TEST_F(BatchPlans, RowsOfVersionsToComeAreForgotten) {
    const auto plans = make_batch_plan_store(db);
    plans->prepare();
    const BatchPlan plan{0, 1000, {{1, 2000, 1.2, 1, 5, 9}}, {{4, 3, 5}}, 5, 77, {3}};
    for (int version = 1; version <= 3; ++version) plans->publish(plan, {});
    db.execute(Sql("DROP TABLE sluice_plan"));
    plans->prepare();
    for (int version = 1; version <= 3; ++version) EXPECT_EQ(plans->publish(plan, {}), version);
    EXPECT_EQ(plan_text(plans->plan()), "plan 3 of 1000: [1 2000 1.2 1 5 9] (4 3/5) newest 5 77 awaits 3\n");
}

TEST_F(BatchPlans, CancelledInstancesAreTheSameInBothStores) {
    fill();
    world.workunits[in_progress(1, 3, 900).workunitid].canonical_resultid = 77;
    world.workunits[in_progress(1, 3, 900).workunitid].max_total_results = 1;
    store();
    std::vector<OpenBatchResult> all;
    for (const auto& [id, r] : world.results)
        all.push_back({id, r.workunitid, r.batch, r.hostid, r.server_state, r.create_time, r.sent_time});
    FakeDb mine = world;
    MemoryBatchPlanStore memory(mine.memory);
    const auto real = make_batch_plan_store(db);
    EXPECT_EQ(memory.give_up(all, now, false), 2);
    EXPECT_EQ(real->give_up(all, now, false), 2);
    EXPECT_EQ(real->give_up(all, now, false), 0) << "what is given up is not given up again";
    for (BatchPlanStore* store : std::initializer_list<BatchPlanStore*>{&memory, real.get()})
        EXPECT_EQ(store->give_up(all, now, true), 1) << "the only instance that its job may have";
    const FakeDb after = load_rows(db);
    for (const auto& [id, r] : mine.results) {
        EXPECT_EQ(after.results.at(id).server_state, r.server_state) << id;
        EXPECT_EQ(after.results.at(id).outcome, r.outcome) << id;
        EXPECT_EQ(after.results.at(id).report_deadline, r.report_deadline) << id;
    }
    for (const auto& [id, w] : mine.workunits)
        EXPECT_EQ(after.workunits.at(id).transition_time, w.transition_time) << id;
}

TEST_F(BatchPlans, AnInstanceMadeMeanwhileCountsAgainstItsLimit) {
    batch(1);
    const Id first = in_progress(1, 1, 500).workunitid, last = in_progress(1, 2, 500).workunitid;
    const Id one_more = unsuccessful(1, 3, Outcome::kClientError).id;
    world.workunits[first].max_total_results = world.workunits[last].max_total_results = 2;
    store();
    std::vector<OpenBatchResult> all;
    for (const auto& [id, r] : world.results)
        all.push_back({id, r.workunitid, r.batch, r.hostid, r.server_state, r.create_time, r.sent_time});
    Database transitioner(PrivateMariaDb::shared().settings("batches"));
    std::int64_t given_up = 0;
    std::thread planner;
    transitioner.transaction([&] {
        Sql lock("SELECT id FROM workunit WHERE id="), make("UPDATE result SET workunitid=");
        transitioner.query(lock << last << " FOR UPDATE");
        transitioner.execute(make << last << " WHERE id=" << one_more);
        planner = std::thread([&] {
            Database own(PrivateMariaDb::shared().settings("batches"));
            given_up = make_batch_plan_store(own)->give_up(all, now, false);
        });
        EXPECT_TRUE(eventually([&] {
            return number(Sql("SELECT variable_value FROM information_schema.global_status WHERE "
                              "variable_name='Innodb_row_lock_current_waits'")) > 0;
        }));
    });
    planner.join();
    EXPECT_EQ(given_up, 1);
    EXPECT_EQ(load_rows(db).results.at(all[1].id).server_state, ServerState::kInProgress);
}

std::string use_copies(BatchPlanStore& store, std::span<const OpenBatchResult> all, std::int64_t now) {
    const std::vector<Id> both{1, 2};
    std::string out = fmt::format("{} before\n", store.copied(both).size());
    store.prepare();
    for (int i = 0; i < 2; ++i) out += fmt::format("{} copies\n", store.copy(all, now));
    for (const CopiedJob& c : store.copied(both)) out += fmt::format("of {} in {}\n", c.workunit, c.batch);
    return out;
}

TEST_F(BatchPlans, CopiesAreSameInMemoryAndInDatabase) {
    fill();
    // Two instances of one job, a job that may have no more, one that is done.
    const Result& first = in_progress(1, 3, 900);
    Result second = first;
    second.id = 900, second.name = "second";
    world.workunits[first.workunitid].max_total_results = 5;
    world.results[900] = second;
    world.workunits[in_progress(2, 3, 900).workunitid].max_total_results = 1;
    world.workunits[in_progress(2, 3, 900).workunitid].canonical_resultid = 77;
    store();
    std::vector<OpenBatchResult> all;
    for (const auto& [id, r] : world.results)
        all.push_back({id, r.workunitid, r.batch, r.hostid, r.server_state, r.create_time, r.sent_time});
    FakeDb mine = world;
    MemoryBatchPlanStore memory(mine.memory);
    const std::string expected = use_copies(memory, all, now);
    EXPECT_EQ(use_copies(*make_batch_plan_store(db), all, now), expected);
    EXPECT_THAT(expected, HasSubstr("0 before\n3 copies\n0 copies\n"));
    const FakeDb after = load_rows(db);
    for (const auto& [id, r] : mine.results) {
        EXPECT_EQ(after.results.at(id).server_state, r.server_state) << id;
        EXPECT_EQ(after.results.at(id).outcome, r.outcome) << id;
    }
    // Who looks at the batch later sees them, until it is retired.
    db.execute(Sql("UPDATE batch SET state=4 WHERE id=1"));
    const auto real = make_batch_plan_store(db);
    real->copy({}, now);
    const std::vector<Id> both{1, 2};
    EXPECT_THAT(real->copied(both), testing::Each(testing::Field(&CopiedJob::batch, 2)));
}

TEST_F(BatchPlans, TheProgramMakesCopiesIfToldTo) {
    config("", 1);
    fill();
    Result& slow = in_progress(1, 5, 600);
    for (auto& [id, w] : world.workunits)
        if (id != slow.workunitid && w.batch == 1) w.canonical_resultid = 1;
    for (auto& [id, r] : world.results)
        if (id != slow.id) r.server_state = ServerState::kOver;
    world.hosts[5].p_fpops = 1e7;
    for (Id quick = 11; quick <= 18; ++quick) machine(quick, 1, 100);
    world.batches[1].njobs = 10;
    store();
    const RunResult to_anyone = run_program({"batch_planner", "--one_pass", "--copies", "0.1"});
    EXPECT_EQ(to_anyone.status, 1);
    EXPECT_THAT(to_anyone.err, HasSubstr("--copies wants <one_result_per_host_per_wu>"));
    config("<one_result_per_host_per_wu>1</one_result_per_host_per_wu>", 1);
    EXPECT_THAT(run_ok({"batch_planner", "--one_pass"}), HasSubstr(", 0 copies;"));
    const std::string said = run_ok({"batch_planner", "--one_pass", "--copies", "0.1"});
    EXPECT_THAT(said, HasSubstr("[batch#1] copies of 1 of its last jobs, 0 before; another host is done"));
    EXPECT_THAT(run_ok({"batch_planner", "--explain", "1", "--copies", "0.1"}),
                HasSubstr("copies of its last jobs: 1 so far, 0 more at most"));
    EXPECT_EQ(run_program({"batch_planner", "--copies", "0.6"}).status, 1);

    // The one that was copied came back after all, an hour of work for nothing.
    Sql back("UPDATE result SET outcome=1, validate_state=5, cpu_time=3600 WHERE id=");
    db.execute(back << slow.id);
    EXPECT_THAT(run_ok({"sluice_batch", "show", "1"}), HasSubstr("1 (1.00 core-hours of them wasted)"));
    EXPECT_THAT(run_ok({"sluice_batch", "show", "1", "--json"}), HasSubstr("\"copies_wasted_core_hours\": 1.0"));
}

TEST_F(BatchPlans, ADirtyReaderFindsAWholePlan) {
    batch(1);
    store();
    const auto writer = make_batch_plan_store(db);
    writer->prepare();
    writer->publish({0, 1, {{1, 10, 1.2, 1, 1, 1}}, {{5, 3, 3}}}, {});
    DbSettings dirty = PrivateMariaDb::shared().settings("batches");
    dirty.read_uncommitted = true;
    Database other(dirty);
    const auto reader = make_batch_plan_store(other);
    const auto half_way = [&] {
        db.execute(
            Sql("INSERT INTO sluice_plan_batch (version, batch_id, finish, margin, place, jobs, hosts) VALUES "
                "(2,1,20,1.2,1,1,1),(2,2,20,1.2,1,1,1)"));
        const BatchPlan seen = reader->plan();
        EXPECT_EQ(seen.version, 1);
        EXPECT_EQ(seen.batches.size(), 1u);
        EXPECT_EQ(seen.left_out.size(), 1u);
        // A head whose rows are not all there, as a reader between two plans might find it.
        db.execute(Sql("REPLACE INTO sluice_plan (id, version, made_at, batches, hosts) VALUES (1,2,2,3,0)"));
        EXPECT_EQ(reader->plan().version, 0) << "no half of a plan";
        throw ConfigError("roll back");
    };
    EXPECT_THROW(db.transaction(half_way), ConfigError);
    EXPECT_EQ(reader->plan().version, 1);
}

TEST_F(BatchPlans, TheProgramPlansAndSaysWhy) {
    config("", 1);
    fill();
    store();
    EXPECT_THAT(run_ok({"batch_planner", "--dry_run"}), HasSubstr("batch 1: 4 jobs to be sent, T in "));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_name='sluice_plan'")), 0);
    EXPECT_THAT(run_ok({"batch_planner", "--one_pass"}),
                HasSubstr("pass: 2 batches in progress, 2 planned on 4 hosts"));
    EXPECT_EQ(rows(Sql("SELECT version, batches, hosts FROM sluice_plan"), 3), (Table{{"1", "2", "0"}}));
    EXPECT_EQ(rows(Sql("SELECT batch_id, place, jobs, hosts FROM sluice_plan_batch ORDER BY batch_id"), 4),
              (Table{{"1", "1", "4", "3"}, {"2", "2", "2", "4"}}))
        << "failed jobs are to be sent again";
    EXPECT_EQ(number(Sql("SELECT est_completion_time>UNIX_TIMESTAMP() FROM batch WHERE id=1")), 1);
    const std::string why = run_ok({"batch_planner", "--explain", "1"});
    EXPECT_THAT(why, HasSubstr("H: 3 of 4 hosts; 1 can't be done with a job by then"));
    const RunResult unknown = run_program({"batch_planner", "--explain", "99"});
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.err, HasSubstr("batch 99 is not in progress"));
    EXPECT_EQ(run_program({"batch_planner", "--margin", "0.5"}).status, 1);
}

TEST_F(BatchPlans, GangBatchesAreNotPlannedButUseHosts) {
    config("", 1);
    fill();
    store();
    const std::string before = run_ok({"batch_planner", "--dry_run"});
    EXPECT_THAT(before, HasSubstr("batch 2: "));
    const std::vector<Id> both{1, 2};
    EXPECT_THAT(make_batch_plan_facts_store(db)->gang_batches(both), testing::IsEmpty())
        << "nobody has made the tables";
    const auto gangs = make_gang_store(db);
    gangs->prepare();
    gangs->define(std::vector<GangJob>{{{2, 0}, 0, "a"}, {{2, 0}, 1, "b"}}, 2);
    EXPECT_THAT(make_batch_plan_facts_store(db)->gang_batches(both), testing::ElementsAre(2));
    const std::string out = run_ok({"batch_planner", "--one_pass"});
    EXPECT_THAT(out, HasSubstr("pass: 2 batches in progress, 1 planned on 4 hosts"));
    EXPECT_EQ(rows(Sql("SELECT batch_id FROM sluice_plan_batch"), 1), (Table{{"1"}}));
    const RunResult why = run_program({"batch_planner", "--explain", "2"});
    EXPECT_EQ(why.status, 1);
    EXPECT_THAT(why.err, HasSubstr("batch 2: its jobs are gangs: gang_planner --dry_run says"));
}

TEST_F(BatchPlans, SharesOrderBatchesByLogicalEnd) {
    fill();
    world.batches[1].logical_end_time = 2e9, world.batches[2].logical_end_time = 1.9e9;
    store();
    for (const bool on : {true, false}) {
        config(on ? "<share_rule>settled</share_rule>" : "<share_rule>off</share_rule>", 1);
        run_ok({"batch_planner", "--one_pass"});
        EXPECT_EQ(
            rows(
                Sql("SELECT batch_id, place FROM sluice_plan_batch p JOIN sluice_plan v ON v.version=p.version ORDER BY "
                    "place"),
                2),
            (on ? Table{{"2", "1"}, {"1", "2"}} : Table{{"1", "1"}, {"2", "2"}}));
    }
}

// At level 1 the feeder reads its tables every minute, and is told of batches that are new; at level 0 of each plan
// that may bind.
TEST_F(BatchPlans, FeederLevel0IsToldOfPlanThatBinds) {
    struct Case {
        const char* more;
        int level;
        bool told;
    };
    fill();
    store();
    for (const Case& c : {Case{"", 0, false}, Case{"<plan_batches>1</plan_batches>", 0, true},
                          Case{"<plan_batches>1</plan_batches>", 1, false}}) {
        config(c.more, c.level);
        const std::filesystem::path trigger = project / "reread_db";
        run_ok({"batch_planner", "--dry_run"});
        EXPECT_FALSE(std::filesystem::exists(trigger)) << c.more;
        run_ok({"batch_planner", "--one_pass"});
        EXPECT_EQ(std::filesystem::exists(trigger), c.told) << c.more << " at level " << c.level;
        std::filesystem::remove(trigger);
    }
    db.execute(Sql("UPDATE batch SET id=7 WHERE id=2"));
    config("<plan_batches>1</plan_batches>", 1);
    run_ok({"batch_planner", "--one_pass"});
    EXPECT_TRUE(std::filesystem::remove(project / "reread_db")) << "a new batch's jobs wait for the plan";
    // A plan that is gone binds nobody any more, as soon as the feeder has seen that.
    config("<plan_batches>1</plan_batches>");
    db.execute(Sql("UPDATE batch SET state=2"));
    run_ok({"batch_planner", "--one_pass"});
    EXPECT_TRUE(std::filesystem::exists(project / "reread_db"));
}

/// A row lock that the program runs into, where it is killed.
struct Kill {
    const char* what;
    SqlLiteral lock;       ///< … FOR UPDATE
    SqlLiteral statement;  ///< LIKE pattern of the statement that waits then
};
void PrintTo(const Kill& k, std::ostream* out) { *out << k.what; }

class KilledPlanner : public BatchPlans, public testing::WithParamInterface<Kill> {};

TEST_P(KilledPlanner, LosesAndDoublesNothing) {
    config("", 1);
    fill();
    store();
    run_ok({"batch_planner", "--one_pass", "--give_up"});
    run_ok({"batch_planner", "--one_pass", "--give_up"});  // now timers run
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_plan_job")), 2);
    db.execute(Sql("UPDATE sluice_plan_job SET reissue_at=1"));
    db.execute(Sql("UPDATE workunit SET transition_time=2147483647"));
    Database other(PrivateMariaDb::shared().settings("batches"));
    other.transaction([&] {
        other.query(Sql(GetParam().lock));
        Subprocess program = start_program({"batch_planner", "--one_pass", "--give_up"});
        ASSERT_TRUE(eventually([&] {
            Sql sql("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '");
            return number(sql << GetParam().statement << "' AND id<>CONNECTION_ID()") > 0;
        })) << program.err();
        program.send_signal(SIGKILL);
        program.wait();
    });
    other.disconnect();
    ASSERT_TRUE(eventually([&] {
        return number(Sql("SELECT COUNT(*) FROM information_schema.processlist WHERE db='batches' AND "
                          "id<>CONNECTION_ID()")) == 0;
    }));
    EXPECT_EQ(
        number(Sql("SELECT s.batches=COUNT(*) FROM sluice_plan s JOIN sluice_plan_batch b ON b.version=s.version")), 1);
    run_ok({"batch_planner", "--one_pass", "--give_up"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 0);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE outcome=4")), 3) << "one was before";
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE transition_time<2147483647")), 2);
    EXPECT_EQ(
        number(Sql("SELECT s.batches=COUNT(*) FROM sluice_plan s JOIN sluice_plan_batch b ON b.version=s.version")), 1);
    run_ok({"batch_planner", "--one_pass", "--give_up"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_plan_job")), 0);
}
const Kill kKills[] = {
    {"Workunits", "SELECT id FROM workunit WHERE canonical_resultid=0 FOR UPDATE", "SELECT id FROM workunit%"},
    {"Results", "SELECT id FROM result WHERE server_state=4 FOR UPDATE", "UPDATE result SET server_state%"},
    {"Plan", "SELECT id FROM sluice_plan FOR UPDATE", "SELECT version FROM sluice_plan%"},
    {"Batches", "SELECT id FROM batch WHERE id=1 FOR UPDATE", "%UPDATE batch SET est_completion_time%"}};
INSTANTIATE_TEST_SUITE_P(Wherever, KilledPlanner, testing::ValuesIn(kKills),
                         [](const auto& k) { return k.param.what; });

}  // namespace
}  // namespace sluice::test
