// SPDX-License-Identifier: LGPL-3.0-or-later
// An incremental pass sees what a full one sees, and reads only what changed: random histories against a small store in
// memory.
#include "daemons/batches/turnaround.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

constexpr std::int64_t kPassTime = 1'700'000'000;

class MemoryStore final : public BatchStatsStore {
  public:
    std::map<Id, ResultTimes> table;
    std::size_t rows = 0;

    std::vector<MeasuredBatch> batches(Id, std::int64_t) override { return {}; }
    void results(const ResultSelection& s, const std::function<void(const ResultTimes&)>& row) override {
        for (const Id batch : s.batches)
            for (const auto& [id, r] : table)
                if (r.batch == batch) give(r, row);
        for (const Id id : s.ids)
            if (table.contains(id)) give(table[id], row);
        if (s.after >= 0)
            for (auto it = table.upper_bound(s.after); it != table.end(); ++it) give(it->second, row);
    }
    void open_results(std::span<const Id> apps, const std::function<void(Id, ServerState)>& row) override {
        EXPECT_FALSE(apps.empty());
        for (const auto& [id, r] : table)
            if (r.server_state != ServerState::kOver) row(id, r.server_state);
    }
    Id last_result_id() override { return table.empty() ? 0 : table.rbegin()->first; }
    std::vector<App> apps() override { return {}; }
    std::map<Id, double> flagged_hosts(std::span<const Id>) override { return {}; }
    void apply(const StatsWrite&) override {}

  private:
    void give(const ResultTimes& r, const std::function<void(const ResultTimes&)>& row) {
        ++rows;
        row(r);
    }
};

using Sections = std::map<Id, std::vector<Observation>>;

class Collect : public testing::Test {
  protected:
    Collect() {
        for (Id b = 1; b <= 8; ++b) batches.push_back({b, 1 + b % 2, 0, 0});
    }
    Id add(Id batch, Id id = 0) {
        ResultTimes r;
        r.id = id != 0 ? id : store.last_result_id() + 1;
        r.workunitid = r.id / 2;
        r.batch = batch;
        store.table[r.id] = r;
        return r.id;
    }
    void step(ResultTimes& r) {
        if (r.server_state == ServerState::kUnsent || r.server_state == ServerState::kInactive) {
            r.server_state = ServerState::kInProgress;
            r.sent_time = kPassTime - 5000;
            r.hostid = 1 + static_cast<Id>(random() % 50);
            r.version = 7;
        } else if (r.server_state == ServerState::kInProgress) {
            r.server_state = ServerState::kOver;
            r.outcome = random() % 4 == 0 ? Outcome::kClientError : Outcome::kSuccess;
            r.received_time = kPassTime - 100;
        }
    }
    Sections full() {
        Sections s;
        Collector collector(store, batches);
        collector.everything([&](const BatchSection& b) { s[b.batch] = b.observations; });
        last = collector.last_result();
        return s;
    }
    void keep(const Sections& sections, std::uint32_t pass = 1) {
        StateWriter writer(dir / "state");
        for (const auto& [batch, list] : sections) writer.put({batch, list});
        StatsSummary summary;
        summary.last_result = last;
        summary.pass = pass;
        writer.commit(summary);
    }
    std::optional<Sections> incremental() {
        std::string why;
        auto old = StateReader::open(dir / "state", why);
        EXPECT_TRUE(old);
        Sections s;
        Collector collector(store, batches);
        store.rows = 0;
        if (!collector.brought_up_to_date(*old, kPassTime, [&](const BatchSection& b) { s[b.batch] = b.observations; }))
            return std::nullopt;
        last = collector.last_result();
        return s;
    }

    test::TempDir dir;
    std::mt19937_64 random{11};
    MemoryStore store;
    std::vector<MeasuredBatch> batches;
    Id last = 0;
};

TEST_F(Collect, RandomHistoriesComeToTheSame) {
    for (int i = 0; i < 300; ++i) add(1 + static_cast<Id>(random() % 8));
    keep(full());
    for (std::uint32_t pass = 1; pass <= 25; ++pass) {
        for (int change = 0; change < 40; ++change) {
            auto it = store.table.begin();
            std::advance(it, static_cast<std::ptrdiff_t>(random() % store.table.size()));
            for (int steps = 1 + static_cast<int>(random() % 2); steps > 0; --steps) step(it->second);
        }
        for (int i = 0; i < 5; ++i) add(1 + static_cast<Id>(random() % 9));  // batch 9 is not measured
        const auto now = incremental();
        ASSERT_TRUE(now);
        EXPECT_EQ(*now, full()) << "pass " << pass;
        keep(*now, pass);
    }
}

TEST_F(Collect, ReadsOnlyWhatChanged) {
    for (int i = 0; i < 100000; ++i) {
        ResultTimes& r = store.table[add(1 + i % 8)];
        if (i < 90000) step(r), step(r), r.received_time = kPassTime - 5 * 86400, r.outcome = Outcome::kSuccess;
    }
    keep(full());
    int changed = 0;
    for (auto it = store.table.find(50001); changed < 100; ++it)
        if (it->second.server_state != ServerState::kOver) step(it->second), ++changed;
    ASSERT_TRUE(incremental());
    EXPECT_LT(store.rows, 20300u) << "100 that changed, 20000 of the overlap, some samples";
}

TEST_F(Collect, LateReportsAreSeenWithinTwelvePasses) {
    for (int i = 0; i < 24; ++i) {
        ResultTimes& r = store.table[add(1)];
        step(r), step(r);
        r.outcome = Outcome::kNoReply;
        r.received_time = 0;
        r.report_deadline = kPassTime - 1000;
    }
    for (int i = 0; i < 30000; ++i) add(2);  // beyond the overlap
    keep(full());
    for (Id id = 1; id <= 24; ++id)
        store.table[id].outcome = Outcome::kSuccess, store.table[id].received_time = kPassTime - 10;
    for (std::uint32_t pass = 1; pass <= 12; ++pass) {
        const auto now = incremental();
        ASSERT_TRUE(now);
        keep(*now, pass + 1);
    }
    EXPECT_EQ(*incremental(), full());
}

TEST_F(Collect, NewBatchesAreReadWholeOldOnesDropped) {
    batches.resize(4);
    for (int i = 0; i < 100; ++i) add(1 + i % 8);
    keep(full());
    batches.erase(batches.begin());
    batches.push_back({7, 1, 0, 0});
    const auto now = incremental();
    ASSERT_TRUE(now);
    EXPECT_EQ(now->size(), 4u);
    EXPECT_FALSE(now->contains(1));
    EXPECT_EQ(now->at(7).size(), 13u - 1);
    EXPECT_EQ(*now, full());
}

TEST_F(Collect, RowsThatWerePurgedGo) {
    for (int i = 0; i < 100; ++i) add(1);
    keep(full());
    for (Id id = 1; id < 100; id += 2) store.table.erase(id);
    const auto now = incremental();
    ASSERT_TRUE(now);
    EXPECT_EQ(now->at(1).size(), 50u);
}

TEST_F(Collect, AnotherDatabaseIsFoundOut) {
    for (int i = 0; i < 100; ++i) {
        ResultTimes& r = store.table[add(1 + i % 8)];
        step(r), step(r);
        r.received_time = kPassTime - 5 * 86400;
    }
    const Sections sections = full();
    const auto original = store.table;
    keep(sections);
    EXPECT_TRUE(incremental());
    for (auto& [id, r] : store.table) r.workunitid += 1000;  // the same ids, other rows
    EXPECT_FALSE(incremental());
    store.table = original;
    for (Id id = 1; id < 100; ++id) store.table.erase(id);  // nearly all of them gone
    EXPECT_FALSE(incremental());
    store.table = original;
    store.table.erase(100);  // the highest id is lower than it was: an older backup
    EXPECT_FALSE(incremental());
}

}  // namespace
}  // namespace sluice
