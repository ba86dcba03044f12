// SPDX-License-Identifier: LGPL-3.0-or-later
// Credit: figures worked out by hand from upstream's rules (1 GFLOPS for a day = 200).
#include "daemons/validator/plan.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

struct Credit : testing::Test {
    App app;
    Workunit wu;
    Result r;
    Credit() {
        wu.rsc_fpops_est = 1e13;
        wu.rsc_fpops_bound = 1e16;
        r.elapsed_time = 1000;
        r.flops_estimate = 2e9;
        r.app_version_id = 7;
        r.appid = 1;
    }
    CreditInputs in(double cap = 73000000) { return {app, wu, cap}; }
    const HostAppVersion fresh;  // a row without samples
    static HostAppVersion hav(double n, double avg, int valid = 0) {
        HostAppVersion h;
        h.pfc_n = n;
        h.pfc_avg = avg;
        h.consecutive_valid = valid;
        return h;
    }
    static AppVersion version(double n, double avg, double scale) {
        AppVersion v;
        v.pfc_n = n;
        v.pfc_avg = avg;
        v.pfc_scale = scale;
        return v;
    }
};

TEST_F(Credit, WithoutHistoryTheRawClaimIsApproximate) {
    const auto v = version(0, 0, 0);
    const auto c = claim_of(r, &fresh, &v, in());
    EXPECT_EQ(c.kind, CreditClaim::Kind::kApprox);
    EXPECT_DOUBLE_EQ(c.pfc, 2e12);
    EXPECT_DOUBLE_EQ(c.pfc_sample, 0.2);
    EXPECT_DOUBLE_EQ(c.et_sample, 1e-10);
}
TEST_F(Credit, VersionAndHostScaleMakeItNormal) {
    const auto v = version(200, 0.5, 1.5);
    const auto h = hav(20, 0.25);
    const auto c = claim_of(r, &h, &v, in());
    EXPECT_EQ(c.kind, CreditClaim::Kind::kNormal);
    EXPECT_DOUBLE_EQ(c.pfc, 2e12 * 1.5 * 2);
}
TEST_F(Credit, HostScaleIsCappedAtTen) {
    const auto v = version(200, 50, 1);
    const auto h = hav(20, 0.1);
    EXPECT_DOUBLE_EQ(claim_of(r, &h, &v, in()).pfc, 2e13);
}
TEST_F(Credit, HostScaleCheckWantsTenValidInRow) {
    app.host_scale_check = true;
    const auto v = version(200, 0.5, 1);
    auto h = hav(20, 0.25, 9);
    EXPECT_EQ(claim_of(r, &h, &v, in()).kind, CreditClaim::Kind::kApprox);
    h.consecutive_valid = 10;
    EXPECT_EQ(claim_of(r, &h, &v, in()).kind, CreditClaim::Kind::kNormal);
}
TEST_F(Credit, AnonymousPlatformUsesEstimateUntilHostIsKnown) {
    r.app_version_id = -2;
    app.min_avg_pfc = 0.5;
    EXPECT_DOUBLE_EQ(claim_of(r, nullptr, nullptr, in()).pfc, 5e12);
    const auto h = hav(10, 0.1);
    EXPECT_DOUBLE_EQ(claim_of(r, &h, nullptr, in()).pfc, 2e12 * 0.5 / 0.1);
}
TEST_F(Credit, HostThatWasNeverBenchmarkedIsOutlier) {
    r.flops_estimate = 1e9;
    const auto v = version(0, 0, 0);
    const auto c = claim_of(r, &fresh, &v, in());
    EXPECT_TRUE(c.outlier);
    EXPECT_DOUBLE_EQ(c.raw_pfc, 4.3e12);
    EXPECT_LT(c.pfc_sample, 0);
}
TEST_F(Credit, WithoutARowTheClaimIsAnEstimate) {
    const auto v = version(200, 0.5, 1);
    for (const AppVersion* version : {&v, static_cast<const AppVersion*>(nullptr)}) {
        const auto c = claim_of(r, nullptr, version, in());
        EXPECT_DOUBLE_EQ(c.pfc, 1e13);
        EXPECT_LT(c.pfc_sample, 0);
        EXPECT_LT(c.et_sample, 0);
    }
    app.min_avg_pfc = 0;
    EXPECT_DOUBLE_EQ(claim_of(r, nullptr, nullptr, in()).pfc, 1e13)
        << "an app without statistics is no reason for no credit";
}
TEST_F(Credit, WhatProjectCallsOutlierIsNoSample) {
    const auto v = version(0, 0, 0);
    r.runtime_outlier = true;
    const auto c = claim_of(r, &fresh, &v, in());
    EXPECT_TRUE(c.outlier);
    EXPECT_LT(c.pfc_sample, 0);
    EXPECT_LT(c.et_sample, 0);
}
TEST_F(Credit, OldClientsReportCpuTimeOnly) {
    const auto v = version(0, 0, 0);
    r.cpu_time = 500, r.elapsed_time = 0;
    EXPECT_DOUBLE_EQ(claim_of(r, &fresh, &v, in()).et_sample, 500 / wu.rsc_fpops_est);
}
TEST_F(Credit, ClaimsAreBoundedByJobsBoundAndCap) {
    r.elapsed_time = 1e9;
    const auto v = version(0, 0, 0);
    EXPECT_DOUBLE_EQ(claim_of(r, &fresh, &v, in()).pfc, 1e16);
    const auto capped = claim_of(r, &fresh, &v, in(1));
    EXPECT_EQ(capped.kind, CreditClaim::Kind::kInvalid);
    EXPECT_DOUBLE_EQ(capped.pfc * kCobblestone, 1);
}
TEST_F(Credit, GrantIsTheMeanOfEqualClaims) {
    const auto v = version(0, 0, 0);
    const auto c = claim_of(r, &fresh, &v, in());
    EXPECT_NEAR(grant({c, c}, in()), 2e12 * 200 / 86400e9, 1e-9);
}
TEST_F(Credit, AnExtravagantClaimWeighsLittle) {
    CreditClaim fair, greedy;
    fair.pfc = 1e13;
    greedy.pfc = 1e15;
    EXPECT_LT(grant({fair, greedy}, in()), 2.1 * 1e13 * kCobblestone);
    EXPECT_GT(grant({fair, greedy}, in()), 1e13 * kCobblestone);
}
TEST_F(Credit, NoUsableClaimGivesTheEstimate) {
    CreditClaim invalid;
    invalid.kind = CreditClaim::Kind::kInvalid;
    EXPECT_DOUBLE_EQ(grant({invalid}, in()), 1e13 * kCobblestone);
}
TEST_F(Credit, FromRuntimeLeansToTheLowClaim) {
    Result big = r;
    big.elapsed_time = 3000;
    const double low = 2e12 * kCobblestone, high = 6e12 * kCobblestone;
    EXPECT_NEAR(runtime_credit({&r, &big}, in()), (low * high + high * low) / (low + high), 1e-12);
    EXPECT_EQ(runtime_credit({}, in()), 0);
}

}  // namespace
}  // namespace sluice
