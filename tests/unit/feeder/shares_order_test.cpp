// SPDX-License-Identifier: LGPL-3.0-or-later
// Seed 000 in the feeder: a scheduler must find something of each user in the array, his least batch first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_map>

#include "config/project_config.h"
#include "db/memory/feeder_store.h"
#include "feeder/array_mirror.h"
#include "feeder/enumerator.h"
#include "feeder/picker.h"
#include "feeder/slot_filler.h"
#include "tests/support/fake_db.h"
#include "tests/support/fixed_rng.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

class SharesOrder : public testing::Test {
  protected:
    static FeederOptions by_shares() {
        FeederOptions options;
        options.order = FeederOrder::kShares;
        return options;
    }
    void job(Id id, Id batch, std::int64_t priority = 0) {
        Result& r = db_.results[id];
        r.id = r.workunitid = id, r.appid = 1, r.batch = batch, r.priority = priority;
        r.server_state = ServerState::kUnsent;
        r.xml_doc_in = "<result>\n</result>\n";
        db_.workunits[id].id = id, db_.workunits[id].appid = 1;
        db_.workunits[id].xml_doc = "<workunit>\n</workunit>\n";
    }
    /// With what the array holds of each batch meanwhile.
    std::vector<Id> take(std::size_t n, std::unordered_map<Id, std::size_t> held = {}) {
        std::vector<Id> ids;
        picker_.begin_round();
        while (ids.size() < n) {
            const auto c = picker_.take(enumerator_.backlog(), 0, {20, 0, 0, held}, {});
            if (!c) break;
            ids.push_back(c->row.id);
        }
        return ids;
    }

    FakeDb db_;
    MemoryFeederStore store_{db_.memory};
    FixedRng rng_ = FixedRng(5);
    Enumerator enumerator_{{.options = by_shares()}, store_, rng_, [](Id) { return false; }};
    Picker picker_{by_shares(), {}, rng_};
};

TEST_F(SharesOrder, UsersGetEqualSlotsLeastBatchFirst) {
    for (Id id = 1; id <= 20; ++id) job(id, 7);            // user 1
    for (Id id = 21; id <= 30; ++id) job(id, id % 2 + 8);  // user 2: batches 8 and 9, 9 is first
    job(31, 0);
    enumerator_.set_apps({1});
    picker_.set_batches({{7, {1, 500, 1}}, {8, {2, 300, 1}}, {9, {2, 200, 1}}});
    enumerator_.keep_batches_apart(true);
    enumerator_.turn(1000, false);
    EXPECT_THAT(take(1), ElementsAre(21)) << "nobody has any: the least of all";
    EXPECT_THAT(take(1, {{9, 1}}), ElementsAre(1)) << "user 2 has one";
    EXPECT_THAT(take(1, {{7, 2}, {9, 1}, {8, 1}, {0, 2}}), ElementsAre(23)) << "as many: the least";
    EXPECT_THAT(take(1, {{7, 2}, {9, 2}}), ElementsAre(31)) << "jobs of no batch count as a user's";
    EXPECT_THAT(take(9, {{7, 20}}), ElementsAre(25, 27, 29, 22, 24, 26, 28, 30, 2))
        << "whoever has too many gets more when there is nothing else";
}

TEST_F(SharesOrder, JobsWithoutABatchAreTheirOwners) {
    for (Id id = 1; id <= 5; ++id) job(id, 7);    // user 1
    for (Id id = 6; id <= 10; ++id) job(id, 9);   // user 2
    for (Id id = 11; id <= 15; ++id) job(id, 0);  // user 2's, behind his batch
    enumerator_.set_apps({1});
    picker_.set_batches({{7, {1, 500, 1}}, {9, {2, 200, 1}}, {0, {2, 300, 1}}});
    enumerator_.keep_batches_apart(true);
    enumerator_.turn(1000, false);
    EXPECT_THAT(take(1, {{9, 2}, {7, 3}, {0, 2}}), ElementsAre(1)) << "user 2 has four";
    EXPECT_THAT(take(6, {{7, 20}}), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST_F(SharesOrder, WithinARefillUsersTakeTurns) {
    for (Id id = 1; id <= 5; ++id) job(id, 7);   // user 1
    for (Id id = 6; id <= 10; ++id) job(id, 9);  // user 2, whose batch ends first
    enumerator_.set_apps({1});
    picker_.set_batches({{7, {1, 500, 1}}, {9, {2, 200, 1}}});
    enumerator_.keep_batches_apart(true);
    enumerator_.turn(1000, false);
    EXPECT_THAT(take(6), ElementsAre(6, 1, 7, 2, 8, 3));
}

// What a refill costs must not grow with the batches that wait: an array of 100,000 slots is filled at one go.
TEST_F(SharesOrder, NextIsFoundWithoutLookAtEachBatch) {
    constexpr int kBatches = 300, kUsers = 30;
    std::unordered_map<Id, BatchShare> batches;
    for (Id b = 1; b <= kBatches; ++b) {
        job(b, b), job(kBatches + b, b);
        batches[b] = {1 + b % kUsers, 1000.0 - static_cast<double>(b), 1};
    }
    enumerator_.set_apps({1});
    picker_.set_batches(batches);
    enumerator_.keep_batches_apart(true);
    enumerator_.turn(1000, false);
    int asked = 0;
    const Backlog::Accepts count = [&asked](const StreamKey&) { return ++asked > 0; };
    std::unordered_map<Id, std::size_t> held;
    picker_.begin_round();
    for (int n = 0; n < kBatches; ++n) {
        const auto queued = picker_.take(enumerator_.backlog(), 0, {kBatches, 0, 0, held}, count);
        ASSERT_TRUE(queued);
        const Id batch = queued->row.batch;
        ++held[batch];
        EXPECT_GT(batch, kBatches - kUsers * (1 + n / (2 * kUsers))) << "the least end of his, both of its jobs first";
    }
    EXPECT_LE(asked, 4 * kBatches);
}

TEST_F(SharesOrder, WithoutKnownSharesOrderIsDefault) {
    job(1, 7), job(2, 8), job(3, 9, 5);
    enumerator_.set_apps({1});
    enumerator_.turn(1000, false);
    EXPECT_THAT(take(3), ElementsAre(3, 1, 2));
    // When something is, what is known already is put into its batch's line.
    picker_.set_batches({{7, {1, 500, 1}}, {8, {2, 300, 1}}, {9, {2, 200, 1}}});
    enumerator_.keep_batches_apart(true);
    enumerator_.turn(1001, false);
    EXPECT_THAT(take(3, {{8, 1}}), ElementsAre(1, 3, 2));
}

// A request need not look at the whole array: jobs of a batch that came when a part of the slots was empty must not lie
// side by side, or whoever looks at another part finds none of them.
TEST_F(SharesOrder, EachPartOfTheArrayHoldsItsShare) {
    const std::size_t kSlots = 1000, kStream = 800, kBatch = 200;
    ProjectConfig config;
    App app;
    app.id = 1;
    SlotFiller filler(config, by_shares(), store_, enumerator_, picker_);
    filler.set_apps({app}, kSlots, nullptr);
    ArrayMirror mirror(kSlots);
    const auto fill = [&](double now) {
        enumerator_.turn(now, true);
        std::vector<std::uint32_t> slots;
        for (const Placement& p : filler.choose(mirror, mirror.empty_slots(), now).placements) {
            mirror.set(p.slot, p.held);
            slots.push_back(p.slot);
        }
        return slots;
    };
    enumerator_.set_apps({1});
    picker_.set_batches({{7, {1, 500, 1}}, {8, {2, 300, 1}}});
    enumerator_.keep_batches_apart(true);
    for (Id id = 1; id <= static_cast<Id>(kStream); ++id) job(id, 7);
    ASSERT_EQ(fill(1000).size(), kStream);
    for (Id id = 1; id <= static_cast<Id>(kBatch); ++id) job(static_cast<Id>(kStream) + id, 8);
    const auto slots = fill(2000);
    ASSERT_EQ(slots.size(), kBatch);
    for (const std::uint32_t from : {0u, 250u, 500u, 750u}) {
        const auto there =
            std::ranges::count_if(slots, [&](std::uint32_t s) { return (s + kSlots - from) % kSlots < 500; });
        EXPECT_NEAR(static_cast<double>(there), 100, 5) << "of those that a scan of half from " << from << " sees";
    }
}

}  // namespace
}  // namespace sluice::test
