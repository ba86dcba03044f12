// SPDX-License-Identifier: LGPL-3.0-or-later
// When jobs begin that hosts do one after the other.
#include "daemons/batches/planner_memory.h"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

constexpr double kRun = 600;

/// Jobs `first` … `last` of a pool, sent at 1000.
std::vector<HostQueues::Held> held(Id first, Id last, int at_once = 2, Id pool = 5) {
    std::vector<HostQueues::Held> all;
    for (Id id = last; id >= first; --id) all.push_back({id, pool, 1000, kRun, at_once});
    return all;
}

TEST(HostQueues, WhatHasProcessorBeganWhenItWasSent) {
    HostQueues q;
    q.note({}, 900);
    q.note(held(1, 2), 1060);
    EXPECT_EQ(q.start(1), 1000);
    EXPECT_EQ(q.start(2), 1000);
    q.note(held(2, 2), 1500);
    EXPECT_EQ(q.start(2), 1000) << "it does not begin anew because another one is done";
    EXPECT_FALSE(q.is_queued(2));
}

TEST(HostQueues, TheOthersComeAfterThem) {
    HostQueues q;
    q.note({}, 900);
    q.note(held(1, 5), 1060);
    EXPECT_TRUE(q.runs(2));
    EXPECT_FALSE(q.runs(3));
    EXPECT_EQ(q.start(3), 1000 + kRun);
    EXPECT_EQ(q.start(4), 1000 + kRun);
    EXPECT_EQ(q.start(5), 1000 + 2 * kRun);
    EXPECT_TRUE(q.is_queued(1));
    q.note(held(1, 5), 3000);
    EXPECT_EQ(q.start(3), 3000) << "it has not begun as long as nothing is done";
    EXPECT_EQ(q.start(5), 3000 + kRun);
}

TEST(HostQueues, WhereOneIsDoneNextHasItsTime) {
    HostQueues q;
    q.note({}, 900);
    q.note(held(1, 3, 1), 1060);
    q.note(held(2, 3, 1), 1700);
    EXPECT_EQ(q.start(2), 1700);
    EXPECT_EQ(q.start(3), 1700 + kRun);
    q.note(held(3, 3, 1), 2300);
    EXPECT_EQ(q.start(3), 2300);
    EXPECT_TRUE(q.is_queued(3)) << "it was";
    q.note({}, 3000);
    q.note(held(9, 9, 1), 3060);
    EXPECT_FALSE(q.is_queued(9));
    EXPECT_EQ(q.start(9), 1000);
}

TEST(HostQueues, JobOfAllProcessorsWaitsForAllBefore) {
    HostQueues q;
    q.note({}, 900);
    auto all = held(1, 3, 4);
    all.push_back({4, 5, 1000, 2 * kRun, 1});
    for (const auto& h : held(5, 6, 4)) all.push_back(h);
    q.note(all, 1060);
    EXPECT_TRUE(q.runs(1) && q.runs(2) && q.runs(3));
    EXPECT_FALSE(q.runs(4) || q.runs(5) || q.runs(6));
    EXPECT_EQ(q.start(4), 1000 + kRun);
    EXPECT_EQ(q.start(5), 1000 + 3 * kRun);
    EXPECT_EQ(q.start(6), 1000 + 3 * kRun);
}

TEST(HostQueues, HostsJobsDoesntWaitForThoseOfOthers) {
    HostQueues q;
    q.note({}, 900);
    auto all = held(1, 1, 1, 5);
    for (const auto& h : held(2, 2, 1, 6)) all.push_back(h);
    q.note(all, 1060);
    EXPECT_TRUE(q.runs(1) && q.runs(2));
}

TEST(HostQueues, ANewPlannerGivesAFoundQueueTime) {
    HostQueues q;
    q.note(held(4, 6, 1), 9000);
    EXPECT_EQ(q.start(4), 9000);
    HostQueues other;
    other.note(held(4, 4, 1), 9000);
    EXPECT_EQ(other.start(4), 1000);
}

}  // namespace
}  // namespace sluice::test
