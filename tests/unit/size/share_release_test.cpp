// SPDX-License-Identifier: LGPL-3.0-or-later
// Whose INACTIVE jobs are released first, where users have shares (seed 000).
#include "daemons/size_regulator/share_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ReleasePlace of(Id user, double end, double quota = 1) { return {{user, end, quota}, 0, false}; }

std::vector<QueueRelease> released(std::int64_t wanted, const std::vector<ClassQueue>& queues,
                                   const ReleasePlaces& places) {
    std::map<int, double> reserve;
    return plan_by_shares({{0, wanted}}, queues, {places, 0}, reserve);
}

TEST(ShareRelease, TheLeastEndGoesFirstNotTheOldest) {
    const ReleasePlaces places{{1, of(1, 5000)}, {2, of(2, 50)}};
    const std::vector<ClassQueue> queues{{0, 1, 30, 5000}, {0, 2, 0, 50}};
    EXPECT_THAT(released(20, queues, places), ElementsAre(QueueRelease{0, 2, 20}));
    EXPECT_THAT(released(70, queues, places), ElementsAre(QueueRelease{0, 1, 20}, QueueRelease{0, 2, 50}));
}

TEST(ShareRelease, PlannedBatchesGoBeforeAllOthers) {
    ReleasePlaces places{{1, of(1, 10)}, {2, of(2, 900)}, {3, of(3, 800)}};
    places[2].planned = places[3].planned = true;
    const std::vector<ClassQueue> queues{{0, 1, 0, 50}, {0, 2, 0, 5}, {0, 3, 0, 4}};
    EXPECT_THAT(released(6, queues, places), ElementsAre(QueueRelease{0, 2, 2}, QueueRelease{0, 3, 4}));
    EXPECT_THAT(released(10, queues, places),
                ElementsAre(QueueRelease{0, 1, 1}, QueueRelease{0, 2, 5}, QueueRelease{0, 3, 4}));
}

TEST(ShareRelease, EachWantingClassIsReleased) {
    const ReleasePlaces places{{1, of(1, 10)}, {2, of(2, 20)}};
    std::map<int, double> reserve;
    EXPECT_THAT(plan_by_shares({{0, 3}, {2, 4}}, {{0, 1, 0, 2}, {0, 2, 0, 9}, {1, 1, 0, 9}, {2, 2, 0, 9}}, {places, 0},
                               reserve),
                ElementsAre(QueueRelease{0, 1, 2}, QueueRelease{0, 2, 1}, QueueRelease{2, 2, 4}));
}

/// A stream's user is charged for each of its jobs when it is sent: jobs that wait to be sent count as sent. Of two
/// users with equal quotas a job of 10 s moves the next one by 20.
TEST(ShareRelease, EachJobOfStreamMovesNextOne) {
    ReleasePlaces places{{1, of(1, 110)}, {2, of(2, 185)}};
    places[1].head = 10;
    EXPECT_THAT(released(6, {{0, 1, 0, 99}, {0, 2, 0, 99}}, places),
                ElementsAre(QueueRelease{0, 1, 4}, QueueRelease{0, 2, 2}));
    EXPECT_THAT(released(6, {{0, 1, 3, 99}, {0, 2, 0, 99}}, places),
                ElementsAre(QueueRelease{0, 1, 1}, QueueRelease{0, 2, 5}));
    places[2] = of(2, 110), places[2].head = 10;
    EXPECT_THAT(released(8, {{0, 1, 0, 99}, {0, 2, 0, 99}}, places),
                ElementsAre(QueueRelease{0, 1, 4}, QueueRelease{0, 2, 4}));
}

TEST(ShareRelease, WithoutPlaceBesideTheLeast) {
    const ReleasePlaces places{{1, of(1, 500)}, {2, of(2, 900)}, {3, of(3, HUGE_VAL, 0)}};
    EXPECT_THAT(released(8, {{0, 0, 0, 99}, {0, 1, 0, 99}, {0, 2, 0, 99}, {0, 3, 0, 99}}, places),
                ElementsAre(QueueRelease{0, 0, 4}, QueueRelease{0, 1, 4}));
    EXPECT_THAT(released(8, {{0, 2, 0, 5}, {0, 3, 0, 99}}, places),
                ElementsAre(QueueRelease{0, 2, 5}, QueueRelease{0, 3, 3}));
    EXPECT_THAT(released(2, {{0, 0, 0, 99}}, places), ElementsAre(QueueRelease{0, 0, 2}));
}

/// Hosts whose user is drawn by quota must find jobs of all.
TEST(ShareRelease, TheFloorIsForThoseWithFewest) {
    const ReleasePlaces places{{1, of(1, 10, 1)}, {2, of(2, 900, 3)}, {3, of(3, 950, 1)}};
    const std::vector<ClassQueue> queues{{0, 1, 0, 999}, {0, 2, 2, 999}, {0, 3, 0, 999}};
    std::map<int, double> reserve;
    const ReleaseRules rules{places, 0.05};
    EXPECT_THAT(plan_by_shares({{0, 10}}, queues, rules, reserve), ElementsAre(QueueRelease{0, 1, 10}));
    EXPECT_DOUBLE_EQ(reserve[0], 0.5);
    EXPECT_THAT(plan_by_shares({{0, 10}}, {{0, 1, 9, 999}, queues[1], queues[2]}, rules, reserve),
                ElementsAre(QueueRelease{0, 1, 9}, QueueRelease{0, 3, 1}));
    EXPECT_DOUBLE_EQ(reserve[0], 0);
    EXPECT_THAT(plan_by_shares({{0, 100}}, {{0, 1, 9, 999}, queues[1], queues[2]}, rules, reserve),
                ElementsAre(QueueRelease{0, 1, 95}, QueueRelease{0, 2, 3}, QueueRelease{0, 3, 2}));
}

TEST(ShareRelease, GivesWhatIsWantedAndThere) {
    std::mt19937 rng(11);
    for (int i = 0; i < 3000; ++i) {
        ReleasePlaces places;
        std::vector<ClassQueue> queues;
        std::map<int, std::int64_t> inactive;
        for (Id b = 0; b < static_cast<Id>(rng() % 6); ++b) {
            if (rng() % 4 != 0) {
                places[b] = of(1 + static_cast<Id>(rng() % 3), static_cast<double>(rng() % 99), rng() % 3);
                places[b].head = static_cast<double>(rng() % 3);
                places[b].planned = rng() % 3 == 0;
            }
            for (int c = 0; c < 3; ++c) {
                queues.push_back({c, b, static_cast<std::int64_t>(rng() % 9), static_cast<std::int64_t>(rng() % 9)});
                inactive[c] += queues.back().inactive;
            }
        }
        const std::vector<Release> wanted{{0, static_cast<std::int64_t>(rng() % 40)},
                                          {1, static_cast<std::int64_t>(rng() % 40)}};
        std::map<int, double> reserve;
        std::map<int, std::int64_t> given;
        const double floor = static_cast<double>(rng() % 5) / 4;
        for (const QueueRelease& r : plan_by_shares(wanted, queues, {places, floor}, reserve)) {
            const auto queue = std::find_if(queues.begin(), queues.end(), [&](const ClassQueue& q) {
                return q.size_class == r.size_class && q.batch == r.batch;
            });
            ASSERT_NE(queue, queues.end());
            EXPECT_LE(r.wanted, queue->inactive);
            given[r.size_class] += r.wanted;
        }
        for (const Release& r : wanted) EXPECT_EQ(given[r.size_class], std::min(r.wanted, inactive[r.size_class])) << i;
        EXPECT_EQ(given[2], 0);
    }
}

std::vector<std::pair<int, std::int64_t>> wanted(const std::vector<ClassQueue>& queues, const ReleasePlaces& places) {
    std::vector<std::pair<int, std::int64_t>> all;
    for (const Release& r : wanted_by_shares(2, {20, 40}, queues, places)) all.emplace_back(r.size_class, r.wanted);
    return all;
}

/// A batch that is first and has nothing to send does not wait for the low mark; nobody ever passes the high one.
TEST(ShareRelease, AnEmptyFirstBatchGetsRoom) {
    using Wanted = std::vector<std::pair<int, std::int64_t>>;
    const ReleasePlaces places{{1, of(1, 5000)}, {2, of(2, 50)}};
    EXPECT_EQ(wanted({{0, 1, 30, 5000}, {0, 2, 0, 50}, {1, 1, 19, 9}}, places), (Wanted{{0, 10}, {1, 21}}));
    EXPECT_EQ(wanted({{0, 1, 30, 5000}, {0, 2, 0, 7}, {1, 1, 20, 9}}, places), (Wanted{{0, 7}}));
    EXPECT_EQ(wanted({{0, 1, 40, 5000}, {0, 2, 0, 50}, {1, 1, 50, 0}}, places), (Wanted{})) << "there is no room";
    EXPECT_EQ(wanted({{0, 1, 30, 5000}, {0, 2, 1, 50}, {1, 1, 20, 0}}, places), (Wanted{})) << "hosts find one";
    EXPECT_EQ(wanted({{0, 1, 0, 5000}, {0, 2, 30, 0}, {1, 1, 20, 0}}, places), (Wanted{})) << "it is not first";
}

TEST(ShareRelease, NothingComesOfNothing) { EXPECT_THAT(released(5, {}, {}), IsEmpty()); }

}  // namespace
}  // namespace sluice
