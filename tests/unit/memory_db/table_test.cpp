// SPDX-License-Identifier: LGPL-3.0-or-later
// What stores rely on: indexes follow every change, and a transaction that fails leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/memory/memory_db.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Result unsent(Id id, Id workunit, const std::string& name, std::int64_t priority = 0) {
    Result r;
    r.id = id;
    r.workunitid = workunit;
    r.name = name;
    r.appid = 1;
    r.batch = 9;
    r.priority = priority;
    r.server_state = ServerState::kUnsent;
    return r;
}

std::vector<Id> unsent_ids(const MemoryDb& db) {
    std::vector<Id> ids;
    for (const auto& [priority, set] : db.results.index().unsent_by_priority)
        for (const Id id : set) ids.push_back(id);
    return ids;
}

TEST(MemoryTable, IndexesFollowStatesAndNames) {
    MemoryDb db;
    db.results.put(1, unsent(1, 5, "a"));
    db.results.put(2, unsent(2, 5, "b"));
    EXPECT_THAT(unsent_ids(db), ElementsAre(1, 2));
    db.results.change(1, [](Result& r) {
        r.server_state = ServerState::kInProgress;
        r.hostid = 7;
    });
    EXPECT_THAT(unsent_ids(db), ElementsAre(2));
    EXPECT_THAT(db.results.index().in_progress_on.at(7), ElementsAre(1));
    db.results.put(2, unsent(2, 6, "c", 3));
    EXPECT_THAT(db.results.index().instances(5), ElementsAre(1));
    EXPECT_THAT(db.results.index().instances(6), ElementsAre(2));
    EXPECT_FALSE(db.results.index().by_name.contains("b"));
    EXPECT_TRUE(db.results.index().unsent_by_priority.contains(3));
    db.results.remove(2);
    EXPECT_THAT(unsent_ids(db), IsEmpty());
    EXPECT_EQ(db.results.index().of_batch.at(9).size(), 1u);
    EXPECT_EQ(db.results.next_key(), 3) << "ids are never used again";
}

TEST(MemoryTable, ATransactionThatFailsIsUndone) {
    MemoryDb db;
    db.results.put(1, unsent(1, 5, "a"));
    Workunit w;
    w.id = 5;
    w.transition_time = 100;
    db.workunits.put(5, w);
    db.begin_transaction();
    db.results.change(1, [](Result& r) { r.server_state = ServerState::kOver; });
    db.results.put(2, unsent(2, 5, "b"));
    db.workunits.change(5, [](Workunit& row) { row.transition_time = 7; });
    db.workunits.remove(5);
    db.end_transaction(false);
    EXPECT_THAT(unsent_ids(db), ElementsAre(1));
    EXPECT_FALSE(db.results.get(2) != nullptr);
    EXPECT_THAT(db.workunits.index().due, ElementsAre(std::pair<std::int64_t, Id>{100, 5}));
    EXPECT_EQ(db.workunits.get(5)->transition_time, 100);
}

TEST(MemoryTable, SpeedsOfActiveHostsFollowTheirCredit) {
    MemoryDb db;
    const auto host = [](Id id, double credit, double speed) {
        Host h;
        h.id = id, h.expavg_credit = credit, h.p_fpops = speed;
        return h;
    };
    const auto speeds = [&]() -> const std::vector<double>& { return db.hosts.index().active_speeds; };
    for (const Id id : {1, 2, 3, 4}) db.hosts.put(id, host(id, id == 4 ? 10 : 11, id == 3 ? 2e9 : 3e9));
    EXPECT_THAT(speeds(), ElementsAre(2e9, 3e9, 3e9)) << "10 is not above 10";
    db.hosts.change(4, [](Host& h) { h.expavg_credit = 10.5; });
    db.hosts.change(1, [](Host& h) { h.expavg_credit = 5; });
    EXPECT_THAT(speeds(), ElementsAre(2e9, 3e9, 3e9));
    db.hosts.put(2, host(2, 11, 1e9));
    EXPECT_THAT(speeds(), ElementsAre(1e9, 2e9, 3e9));
    db.begin_transaction();
    db.hosts.change(3, [](Host& h) { h.expavg_credit = 0; });
    db.hosts.remove(2);
    db.end_transaction(false);
    EXPECT_THAT(speeds(), ElementsAre(1e9, 2e9, 3e9));
}

}  // namespace
}  // namespace sluice
