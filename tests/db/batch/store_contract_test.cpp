// SPDX-License-Identifier: LGPL-3.0-or-later
// One suite for the batch stores in memory and those on MariaDB: what they answer, and the rows that are there
// afterwards, are the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "db/memory/batch_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

struct BatchStores {
    BatchUpkeepStore& upkeep;
    BatchStatsStore& stats;
    HostLttStore& ltt;
    BatchAccelStore& accel;
};

class BatchStoresContract : public testing::Test {
  protected:
    static Database& database() {
        static Database db(PrivateMariaDb::shared().create_project_database("batch_stores"));
        return db;
    }

    BatchStoresContract() {
        for (const Id id : {1, 2}) {
            App app;
            app.id = id;
            app.name = fmt::format("app{}", id);
            app.n_size_classes = id == 1 ? 1 : 3;
            rows.apps[id] = app;
        }
        for (Id id = 1; id <= 4; ++id) {
            Host host;
            host.id = id;
            host.error_rate = id == 3 ? 1 : 0;
            rows.hosts[id] = host;
        }
        for (Id id = 1; id <= 5; ++id) {
            Batch b;
            b.id = id;
            b.app_id = id == 4 ? 2 : 1;
            b.create_time = 1000 * id;
            b.njobs = 3;
            b.logical_end_time = 7e9 - static_cast<double>(id);
            b.state = id == 2 ? BatchState::kComplete : id == 3 ? BatchState::kInit : BatchState::kInProgress;
            b.name = fmt::format("batch{}", id);
            rows.batches[id] = b;
        }
        for (int i = 0; i < 12; ++i) job(1 + i % 2);
        job(0), job(4);
    }

    /// With two instances: one over, one that waits.
    void job(Id batch) {
        Workunit w;
        w.id = static_cast<Id>(rows.workunits.size()) + 1;
        w.appid = batch == 4 ? 2 : 1;
        w.batch = batch;
        w.name = fmt::format("w{}", w.id);
        w.target_nresults = 1 + static_cast<int>(w.id % 3);
        w.min_quorum = 1;
        w.max_total_results = 5;
        w.priority = w.id % 4 == 0 ? 3 : w.id % 5 == 0 ? -7 : 0;
        w.transition_time = 9000;
        w.canonical_resultid = w.id % 6 == 1 ? 2 * w.id : 0;
        w.canonical_credit = 2.5 * static_cast<double>(w.id);
        w.error_mask = w.id % 6 == 2 ? 4 : 0;
        for (const bool waits : {false, true}) {
            Result r;
            r.id = 2 * w.id + (waits ? 1 : 0);
            r.workunitid = w.id;
            r.appid = w.appid;
            r.batch = batch;
            r.name = fmt::format("{}_{}", w.name, waits ? 1 : 0);
            r.create_time = 2000;
            r.priority = w.priority;
            r.server_state = !waits          ? ServerState::kOver
                             : w.id % 3 == 0 ? ServerState::kInactive
                             : w.id % 3 == 1 ? ServerState::kUnsent
                                             : ServerState::kInProgress;
            if (!waits) {
                r.outcome = w.id % 5 == 0 ? Outcome::kNoReply : Outcome::kSuccess;
                r.validate_state = w.id % 7 == 0 ? ValidateState::kInvalid : ValidateState::kValid;
                r.hostid = 1 + w.id % 4;
                r.app_version_id = w.id % 2 == 0 ? -2 : 11;
                r.sent_time = 3000;
                r.received_time = w.id == 9 ? 0 : 3000 + 100 * w.id;
                r.report_deadline = 8000;
                r.exit_status = w.id % 5 == 0 ? 200 : 0;
            }
            rows.results[r.id] = r;
        }
        rows.workunits[w.id] = w;
    }

    std::string rows_text(const FakeDb& db) {
        std::string out;
        for (const auto& [id, b] : db.batches)
            out += fmt::format("batch {} state {} njobs {} errors {} done {} completed {} credit {} expire {}\n", id,
                               static_cast<int>(b.state), b.njobs, b.nerror_jobs, b.fraction_done, b.completion_time,
                               b.credit_canonical, b.expire_time);
        for (const auto& [id, w] : db.workunits)
            out += fmt::format("wu {} priority {} target {} transition {}\n", id, w.priority, w.target_nresults,
                               w.transition_time);
        for (const auto& [id, r] : db.results) out += fmt::format("result {} priority {}\n", id, r.priority);
        for (const auto& [id, h] : db.hosts) out += fmt::format("host {} {}\n", id, h.error_rate);
        for (const auto& [id, a] : db.apps) out += fmt::format("app {} {}\n", id, a.n_size_classes);
        return out;
    }

    void same_on_both(const std::function<std::string(const BatchStores&)>& verbs) {
        FakeDb mine = rows;
        MemoryBatchUpkeepStore upkeep(mine.memory);
        MemoryBatchStatsStore stats(mine.memory);
        MemoryHostLttStore ltt(mine.memory);
        MemoryBatchAccelStore accel(mine.memory);
        const std::string expected = verbs({upkeep, stats, ltt, accel});
        truncate_all_tables(database());
        store_rows(database(), rows);
        const auto real_upkeep = make_batch_upkeep_store(database());
        const auto real_stats = make_batch_stats_store(database(), database());
        const auto real_ltt = make_host_ltt_store(database());
        const auto real_accel = make_batch_accel_store(database());
        EXPECT_EQ(expected, verbs({*real_upkeep, *real_stats, *real_ltt, *real_accel}));
        EXPECT_EQ(rows_text(mine), rows_text(load_rows(database())));
        EXPECT_FALSE(expected.empty());
    }

    FakeDb rows;
};

std::string text(const Batch& b) {
    return fmt::format("{} {} app {} created {} njobs {} state {} ends {}\n", b.id, b.name, b.app_id, b.create_time,
                       b.njobs, static_cast<int>(b.state), b.logical_end_time);
}

std::string text(const ResultTimes& r) {
    return fmt::format("{} wu {} batch {} host {} version {} {} {} {} exit {} {} {} {}\n", r.id, r.workunitid, r.batch,
                       r.hostid, r.version, static_cast<int>(r.server_state), static_cast<int>(r.outcome),
                       static_cast<int>(r.validate_state), r.exit_status, r.sent_time, r.received_time,
                       r.report_deadline);
}

std::string text(const std::vector<App>& apps) {
    std::string out;
    for (const App& a : apps) out += fmt::format("app {} {} {}\n", a.id, a.name, a.n_size_classes);
    return out;
}

std::string text(const std::vector<OpenJob>& jobs) {
    std::string out;
    for (const OpenJob& j : jobs) {
        out +=
            fmt::format("{} {} priority {} target {} of {} quorum {} transition {}", j.wu.id, j.wu.name, j.wu.priority,
                        j.wu.target_nresults, j.wu.max_total_results, j.wu.min_quorum, j.wu.transition_time);
        for (const OpenInstance& i : j.instances)
            out +=
                fmt::format(" [{} {} {} {} {} {}]", i.id, static_cast<int>(i.server_state), static_cast<int>(i.outcome),
                            static_cast<int>(i.validate_state), i.sent_time, i.priority);
        if (j.before)
            out += fmt::format(" before: batch {} marked {} priority {} lent {} extra {}", j.before->batch,
                               j.before->marked, j.before->priority, j.before->lent, j.before->extra);
        out += "\n";
    }
    return out;
}

TEST_F(BatchStoresContract, ProgressOfBatches) {
    same_on_both([](const BatchStores& s) {
        std::string out;
        for (const Batch& b : s.upkeep.in_progress(100'000)) out += text(b);
        for (const Id id : {2, 99}) out += s.upkeep.batch(id) ? text(*s.upkeep.batch(id)) : "none\n";
        const std::vector<Id> ids{4, 1, 2, 5};
        for (const BatchProgress& p : s.upkeep.progress(ids))
            out += fmt::format("{}: {} {} {} {}\n", p.batch, p.njobs, p.success, p.errors, p.credit_canonical);
        const std::vector<BatchChange> changes{
            {1, BatchState::kInProgress, BatchState::kComplete, 6, 1, 1, 77777, 12.5},
            {2, BatchState::kInProgress, BatchState::kComplete, 9, 9, 1, 1, 1},  // is complete already
            {4, BatchState::kInProgress, BatchState::kInProgress, 1, 0, 0.5, 0, 0}};
        return out + std::to_string(s.upkeep.write(changes));
    });
}

TEST_F(BatchStoresContract, WhatStatisticsReadAndWrite) {
    same_on_both([](const BatchStores& s) {
        std::string out;
        for (const auto& [from, since] : {std::pair<Id, std::int64_t>{0, 0}, {2, 0}, {0, 2000}})
            for (const MeasuredBatch& b : s.stats.batches(from, since))
                out += fmt::format("{} {} {} {}, ", b.id, b.app_id, b.njobs, b.expire_time);
        const auto add = [&](const ResultTimes& r) { out += text(r); };
        const std::vector<Id> batches{1, 2, 77}, ids{28, 3, 4, 99};
        s.stats.results({.batches = batches}, add);
        s.stats.results({.ids = ids}, add);
        s.stats.results({.after = 20}, add);
        std::map<Id, ServerState> open;
        const std::vector<Id> apps{1};
        s.stats.open_results(apps, [&](Id id, ServerState state) { open[id] = state; });
        for (const auto& [id, state] : open) out += fmt::format("{}:{} ", id, static_cast<int>(state));
        out += fmt::format("last {}\n", s.stats.last_result_id()) + text(s.stats.apps());
        const std::vector<Id> among{1, 3, 50};
        for (const auto& [id, flag] : s.stats.flagged_hosts(among)) out += fmt::format("{}={} ", id, flag);
        s.stats.apply({{{1, 333.5}, {2, 0.25}}, {{1, true}, {3, false}, {4, true}}, {{1, false}, {2, true}}});
        for (const auto& [id, flag] : s.stats.flagged_hosts({})) out += fmt::format("{}={} ", id, flag);
        return out;
    });
}

TEST_F(BatchStoresContract, VerdictsOnVersionsOfHosts) {
    same_on_both([](const BatchStores& s) {
        std::string out;
        const auto add = [&](const VersionTurnaround& v) {
            out += fmt::format("{} {} {} {} {}\n", v.host_id, v.version, v.ltt, v.ratio, v.jobs);
        };
        s.ltt.all(add);
        const std::vector<VersionTurnaround> first{{1, 11, true, 0.5, 4}, {1, -2, false, 3, 9}, {2, 11, true, 0.25, 1}};
        const std::vector<VersionTurnaround> again{{1, 11, false, 1.5, 5}};
        const std::vector<std::pair<Id, Id>> gone{{2, 11}, {3, 3}};
        s.ltt.write(first, {});
        s.ltt.all(add);
        s.ltt.write(again, gone);
        s.ltt.all(add);
        for (const VersionTurnaround& v : s.ltt.of_host(1)) add(v);
        return out + fmt::format("{}", s.ltt.of_host(2).size());
    });
}

class Acceleration : public BatchStoresContract, public testing::WithParamInterface<bool> {};

TEST_P(Acceleration, MarkedLentAndGivenBack) {
    same_on_both([](const BatchStores& s) {
        std::string out = text(s.accel.apps());
        s.accel.prepare();
        const auto look = [&] {
            for (const Id batch : {1, 2, 4}) out += text(s.accel.open_jobs(batch, 0, 100));
            for (const auto& [batch, extra] : s.accel.accelerated_batches()) out += fmt::format("{}+{} ", batch, extra);
        };
        out += text(s.accel.open_jobs(1, 3, 2));
        for (const Id batch : {1, 2, 5}) out += fmt::format("{}\n", s.accel.mean_turnaround(batch).value_or(-1));
        AccelWrite write;
        write.batch = 1, write.now = 5000, write.only_zero = GetParam();
        for (Id id = 1; id <= 14; ++id) write.mark.push_back(id);
        for (Id id = 1; id <= 30; ++id) write.mark_results.push_back(id);
        write.more = {{3, 1}, {5, 3}, {9, 1}, {7, 2}, {4, 99}};  // of some the target is another by now
        s.accel.apply(write);
        look();
        AccelWrite more;
        more.now = 6000;
        more.more = {{3, 2}, {6, 1}};
        more.give_back = {{9, 1}};
        s.accel.apply(more);
        look();
        AccelWrite back;
        back.now = 7000;
        for (Id id = 1; id <= 12; ++id) back.restore.push_back(id);
        back.lower = {13, 14};
        s.accel.apply(back);
        look();
        const std::vector<Id> over{1};
        s.accel.forget(over);
        look();
        return out;
    });
}

TEST_P(Acceleration, WhatWasLentIsGivenBackOnce) {
    same_on_both([](const BatchStores& s) {
        s.accel.prepare();
        const auto target = [&] {
            for (const Id batch : {1, 2, 4})
                for (const OpenJob& job : s.accel.open_jobs(batch, 0, 100))
                    if (job.wu.id == 5) return job.wu.target_nresults;
            return 0;
        };
        const int before = target();
        EXPECT_EQ(before, 3) << "so that it could be lowered too far";
        AccelWrite write;
        write.batch = 1, write.now = 5000;
        write.more = {{5, before}};
        s.accel.apply(write);
        EXPECT_EQ(target(), before + 1);
        write.more = {{5, before + 1}};
        s.accel.apply(write);
        EXPECT_EQ(target(), before + 2);
        AccelWrite back;
        back.give_back = {{5, 2}};
        s.accel.apply(back);
        EXPECT_EQ(target(), before);
        // A COMMIT whose answer was lost: on another node of a cluster it is not seen yet when the pass begins anew.
        s.accel.apply(back);
        EXPECT_EQ(target(), before);
        return fmt::format("{}", target() - before);
    });
}

INSTANTIATE_TEST_SUITE_P(OnlyPriorityZero, Acceleration, testing::Bool());

}  // namespace
}  // namespace sluice::test
