// SPDX-License-Identifier: LGPL-3.0-or-later
// Of which last instances of a batch copies are made, and how many at most.
#include "daemons/batches/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sluice::test {
namespace {

LastInstance instance(Id id, Id workunit, double end, std::int64_t sent = 100) {
    return {{id, workunit, 1, id, ServerState::kInProgress, 0, sent}, end};
}

std::vector<Id> chosen(const std::vector<LastInstance>& last, double another, std::int64_t most) {
    std::vector<Id> ids;
    for (const OpenBatchResult& r : instances_to_copy(last, another, most)) ids.push_back(r.id);
    return ids;
}

TEST(Copies, CapIsPartOfJobsRoundedDown) {
    EXPECT_EQ(copies_left(0, 1000, 0), 0);
    EXPECT_EQ(copies_left(0.05, 19, 0), 0);
    EXPECT_EQ(copies_left(0.05, 20, 0), 1) << "not one less because .05 is no binary number";
    EXPECT_EQ(copies_left(0.1, 1000, 30), 70);
    EXPECT_EQ(copies_left(0.1, 1000, 130), 0) << "the part was larger before";
    EXPECT_EQ(copies_left(0.5, -7, 0), 0);
}

TEST(Copies, OfWhatEndsLastFirst) {
    const std::vector<LastInstance> last{instance(1, 11, 500), instance(2, 12, 900), instance(3, 13, 501),
                                         instance(4, 14, HUGE_VAL), instance(5, 15, 700)};
    EXPECT_EQ(chosen(last, 500, 10), (std::vector<Id>{4, 2, 5, 3}));
    EXPECT_EQ(chosen(last, 500, 2), (std::vector<Id>{4, 2}));
    EXPECT_EQ(chosen(last, 500, 0), std::vector<Id>{});
    EXPECT_EQ(chosen({instance(1, 11, NAN)}, 500, 5), std::vector<Id>{}) << "nobody knows";
}

TEST(Copies, OfOverdueOnesOldestFirstOncePerJob) {
    EXPECT_EQ(chosen({instance(1, 11, HUGE_VAL, 300), instance(2, 12, HUGE_VAL, 200)}, 500, 5),
              (std::vector<Id>{2, 1}));
    EXPECT_EQ(chosen({instance(1, 11, 600), instance(2, 11, 800), instance(3, 12, 700)}, 500, 5),
              (std::vector<Id>{2, 3}));
}

}  // namespace
}  // namespace sluice::test
