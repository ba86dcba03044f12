// SPDX-License-Identifier: LGPL-3.0-or-later
// Facts of upstream's get_batch_params.
#include "daemons/batches/upkeep.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Upkeep, Table) {
    struct Case {
        const char* what;
        BatchState state;
        BatchProgress p;
        BatchState new_state;
        int njobs, errors;
        double fraction;
        std::int64_t completion_time;
    };
    using S = BatchState;
    const Case cases[] = {
        {"INIT is left alone", S::kInit, {1, 5, 5, 0, 3}, S::kInit, 9, 9, 0.9, 9},
        {"no workunits: only njobs", S::kInProgress, {1, 0, 0, 0, 0}, S::kInProgress, 0, 9, 0.9, 9},
        {"some open", S::kInProgress, {1, 4, 1, 1, 3}, S::kInProgress, 4, 1, 0.5, 9},
        {"all done or failed", S::kInProgress, {1, 4, 3, 1, 3}, S::kComplete, 4, 1, 1, 1000},
        {"all failed", S::kInProgress, {1, 2, 0, 2, 0}, S::kComplete, 2, 2, 1, 1000},
        {"an aborted one stays so", S::kAborted, {1, 4, 3, 1, 3}, S::kAborted, 4, 1, 1, 9},
        {"a complete one stays so", S::kComplete, {1, 4, 3, 0, 3}, S::kComplete, 4, 0, 0.75, 9},
    };
    for (const Case& c : cases) {
        Batch b;
        b.id = 1;
        b.state = c.state;
        b.njobs = b.nerror_jobs = 9;
        b.fraction_done = 0.9;
        b.completion_time = 9;
        const Batch u = updated_batch(b, c.p, 1000);
        EXPECT_EQ(u.state, c.new_state) << c.what;
        EXPECT_EQ(u.njobs, c.njobs) << c.what;
        EXPECT_EQ(u.nerror_jobs, c.errors) << c.what;
        EXPECT_EQ(u.fraction_done, c.fraction) << c.what;
        EXPECT_EQ(u.completion_time, c.completion_time) << c.what;
        // What is right is not written again.
        EXPECT_FALSE(plan_upkeep(u, c.p, 2000)) << c.what;
        EXPECT_EQ(plan_upkeep(b, c.p, 1000).has_value(), c.state != S::kInit) << c.what;
    }
}

}  // namespace
}  // namespace sluice
