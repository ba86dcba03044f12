// SPDX-License-Identifier: LGPL-3.0-or-later
// Shares of users in the simulator: what batch_shares, the feeder and the matcher make of quotas together. The ideal is
// a fluid that is divided by quota; seed 000 and docs/batches.md say what may differ from it. tests/scenario/fleet has
// larger ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>

#include "db/memory/memory_db.h"
#include "sched/sim/fleet.h"
#include "sched/sim/project_services.h"

namespace sluice::sim {
namespace {

WorkSpec stream_of(const char* user, double from_day = 0) {
    WorkSpec w;
    w.user = user;
    w.keep = 40;
    w.size_hours = {4};
    w.from_day = from_day;
    return w;
}

/// Twenty hosts that are always on and keep next to nothing in store; Ada's quota is 3, Bob's 1.
Scenario two_streams() {
    Scenario s;
    s.days = 5, s.warmup_days = 1;
    s.fleet.hosts = 20;
    s.fleet.lifetime_days = 0, s.fleet.bad_hosts = 0, s.fleet.speed_sigma = 0.5;
    s.fleet.always_on = 1, s.fleet.daily = 0, s.fleet.buffer_factor = 0.02;
    s.config_xml = "<shmem_work_items>80</shmem_work_items>";
    s.apps.push_back({});
    s.users = {{"ada", 3}, {"bob", 1}};
    s.work = {stream_of("ada"), stream_of("bob")};
    s.shares_every_minutes = 5;
    s.keep_days = 2.0 / 24;
    return s;
}

double share_of(const FleetResult& r, const std::string& user, int from_day, int until_day) {
    double sum = 0;
    for (const ShareOnDay& s : r.shares_over_time)
        if (s.user == user && s.day >= from_day && s.day < until_day) sum += s.share;
    return sum / (until_day - from_day);
}

TEST(SharesInTheFleet, QuotasHoldAndSameSeedGivesSameBytes) {
    const FleetResult r = simulate_fleet(two_streams(), {});
    EXPECT_NEAR(share_of(r, "ada", 1, 5), 0.75, 0.04);
    EXPECT_LE(r.share_error, 0.04);
    EXPECT_EQ(to_json(r), to_json(simulate_fleet(two_streams(), {})));
}

/// Bob, who has no batches' order to help him, gets as many slots as Ada, that is half. A fluid would give him jobs
/// that were never made, since none of his were taken: his stream counts as endless.
TEST(SharesInTheFleet, ErrorIsSeenWhereNobodyLooksAtQuotas) {
    Scenario off = two_streams();
    off.shares_every_minutes = 0, off.days = 3;
    const FleetResult r = simulate_fleet(off, {});
    EXPECT_NEAR(r.share_error, 0.25, 0.15);
    EXPECT_NEAR(r.share_error, 0.75 - share_of(r, "ada", 1, 3), 0.03);
}

/// Eve comes late: neither does she shut the others out, nor they her.
TEST(SharesInTheFleet, ALatecomerGetsItsShare) {
    Scenario s = two_streams();
    s.users.push_back({"eve", 4});
    s.work.push_back(stream_of("eve", 2));
    s.config_xml += "<share_clamp>3600</share_clamp>";
    const FleetResult r = simulate_fleet(s, {});
    EXPECT_EQ(share_of(r, "eve", 0, 2), 0);
    EXPECT_NEAR(share_of(r, "eve", 3, 5), 0.5, 0.06);
    EXPECT_NEAR(share_of(r, "ada", 3, 5), 3 / 8.0, 0.06);
    ASSERT_EQ(r.more.count("longest_gap_hours, work[0], ada"), 1u);
    EXPECT_LT(r.more.at("longest_gap_hours, work[0], ada"), 6);
}

/// At level 0 the feeder reads its tables when it is told to: settled shares reach no scheduler otherwise.
TEST(SharesInTheFleet, Level0WhatWasSettledReachesSchedulerAtOnce) {
    Scenario s = two_streams();
    s.compat_level = 0, s.days = 2;
    s.config_xml += "<share_rule>settled</share_rule>";
    const auto same = [](const auto& a, const auto& b) {
        return a.user_id == b.user_id && a.end == b.end && a.quota == b.quota;
    };
    const MemoryDb* db = nullptr;
    std::unordered_map<Id, BatchShare> shares;
    int changes = 0, rereads = 0;
    SimulationWatcher watcher;
    watcher.starts = [&](const MemoryDb& rows) { db = &rows; };
    watcher.submitted = [](const Workunit&) {};
    watcher.answered = [](double, const SchedulerRequest&, const SchedulerReply&) {};
    watcher.reread = [&] { ++rereads; };
    watcher.looked = [&](double) {
        const bool changed = std::ranges::any_of(db->batch_shares, [&](const auto& b) {
            const auto before = shares.find(b.first);
            return before == shares.end() || !same(before->second, b.second);
        });
        changes += changed;
        if (changed) shares = db->batch_shares;
    };
    simulate_fleet(s, {.watcher = &watcher});
    EXPECT_GT(changes, 400) << "of 576 passes";
    EXPECT_GE(rereads, changes);
    EXPECT_LE(rereads, 576);
}

// The program plans batches in the order of their logical end times; a simulated one planned the oldest first.
TEST(SharesInTheFleet, SimulatedPlannerHasProgramsOrderOfBatches) {
    ProjectConfig config;
    config.share_rule = ShareOrder::kSettled;
    EXPECT_TRUE(planner_settings_of(two_streams(), config).by_logical_end_time);
    config.share_rule = ShareOrder::kOff;
    EXPECT_FALSE(planner_settings_of(two_streams(), config).by_logical_end_time);
}

}  // namespace
}  // namespace sluice::sim
