// SPDX-License-Identifier: LGPL-3.0-or-later
// Why a BUDA job is not for a host: named as for other jobs, not as "no version" or "not asked for".
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct BudaRefusal : testing::Test {
    MatchWorld w;
    BudaRefusal() {
        w.use_buda = true;
        offer({{"gpu", "intel", "cuda_fermi", "", ""}});
    }
    void offer(std::vector<BudaVariant> variants) { w.buda = BudaCatalogue({{"sci", std::move(variants)}}); }
    Reason why() { return w.why(a_job().buda("sci")); }
};

TEST_F(BudaRefusal, GpuThatHostHasNotIsMissing) { EXPECT_EQ(why(), Reason::kGpuMissing); }

TEST_F(BudaRefusal, GpuThatHostHasIsNotAskedFor) {
    w.host = a_host().nvidia();
    EXPECT_EQ(why(), Reason::kResourceNotWanted);
}

TEST_F(BudaRefusal, WhatSpeaksAgainstTheWrapperIsTheReason) {
    offer({{"cpu", "intel", "", "", ""}});
    w.user.dont_use[0] = true;
    EXPECT_EQ(why(), Reason::kCpuRefusedByPrefs);
    w.pool.slots.clear();
    w.trace.rows.clear();
    w.user.dont_use[0] = false;
    for (AppVersion& v : w.tables.versions) v.min_core_version = 990000;
    EXPECT_EQ(why(), Reason::kClientTooOld);
}

TEST_F(BudaRefusal, AppWithoutVariantsForProcessorHasNoVersion) {
    offer({{"arm", "arm", "", "", ""}});
    EXPECT_EQ(why(), Reason::kNoAppVersion);
}

}  // namespace
}  // namespace sluice::test
