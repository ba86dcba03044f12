// SPDX-License-Identifier: LGPL-3.0-or-later
// One table row per fast check: a world in which exactly that check refuses, and the measured and required values.
#include <functional>

#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct Case {
    const char* name;
    std::function<JobSummary(MatchWorld&)> plant;
    Reason expected;
    double value = 0, required = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class FastCheck : public testing::TestWithParam<Case> {};

TEST_P(FastCheck, NamesTheCauseAndTheValues) {
    MatchWorld w;
    const JobSummary job = GetParam().plant(w);
    EXPECT_STREQ(reason_name(w.why(job)), reason_name(GetParam().expected));
    if (GetParam().expected == Reason::kFeasible) return;
    const auto* row = w.trace.of(job.result_id);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->verdict.value, GetParam().value);
    EXPECT_EQ(row->verdict.required, GetParam().required);
}

/// Batch 7 is planned, its T is `left` s away. A job of it takes 3600 s on this host, which is always on.
JobSummary planned(MatchWorld& w, double left) {
    w.params.plan_batches = true;
    w.host.row.p_fpops = 1 << 30;  // so that times are exact
    w.host.cpu_availability = 1;
    w.tables.plan = {1, w.now - 60, {{7, w.now + left, 1.25, 1, 5, 9}}, {}};
    return a_job().batch(7).flops(3600.0 * (1 << 30)).get();
}

/// Of a batch that came after the plan was begun.
JobSummary newer(MatchWorld& w) {
    JobSummary job = planned(w, 60);
    w.tables.plan.newest_batch = 7, w.tables.plan.newest_result = 99;
    job.batch = 8, job.result_id = 100;
    return job;
}

// A case a line.
// clang-format off
const Case kCases[] = {
    {"plan_finish", [](MatchWorld& w) { return planned(w, 4499); }, Reason::kPlanTooLate, 4500, 4499},
    {"plan_in_time", [](MatchWorld& w) { return planned(w, 4500); }, Reason::kFeasible},
    {"plan_behind_other_tight_jobs", [](MatchWorld& w) { w.wanted.estimated_delay[0] = 100; return planned(w, 4500); },
     Reason::kPlanTooLate, 4600, 4500},
    {"plan_switched_off", [](MatchWorld& w) { auto j = planned(w, 60); w.params.plan_batches = false; return j; }, Reason::kFeasible},
    {"plan_of_another_batch", [](MatchWorld& w) { auto j = planned(w, 60); j.batch = 8; return j; }, Reason::kFeasible},
    {"plan_that_nobody_renews", [](MatchWorld& w) { auto j = planned(w, 60); w.tables.plan.made_at = w.now - 3601; return j; }, Reason::kFeasible},
    {"plan_awaited", [](MatchWorld& w) { return newer(w); }, Reason::kPlanAwaited},
    {"plan_of_a_draft_awaited", [](MatchWorld& w) { auto j = newer(w); w.tables.plan.awaited = {5, 6}; j.batch = 6; return j; }, Reason::kPlanAwaited},
    {"plan_awaited_by_nothing_older", [](MatchWorld& w) { auto j = newer(w); j.batch = 6; return j; }, Reason::kFeasible},
    {"plan_awaited_no_longer_by_a_number_without_a_batch", [](MatchWorld& w) { auto j = newer(w); w.tables.plan.newest_result = 100; return j; },
     Reason::kFeasible},
    {"plan_awaited_by_no_single_job", [](MatchWorld& w) { auto j = newer(w); j.batch = 0; return j; }, Reason::kFeasible},
    {"plan_awaited_in_vain", [](MatchWorld& w) { auto j = newer(w); w.tables.plan.made_at = w.now - 301; return j; }, Reason::kFeasible},
    {"plan_awaited_since_tomorrow", [](MatchWorld& w) { auto j = newer(w); w.tables.plan.made_at = w.now + 301; return j; }, Reason::kFeasible},
    {"plan_that_does_not_say_what_it_knew", [](MatchWorld& w) { auto j = newer(w); w.tables.plan.newest_batch = -1; return j; }, Reason::kFeasible},
    {"plan_awaited_and_switched_off", [](MatchWorld& w) { auto j = newer(w); w.params.plan_batches = false; return j; }, Reason::kFeasible},
    {"plan_left_out",
     [](MatchWorld& w) { auto j = planned(w, 5000); w.host.row.id = 4; w.tables.plan.left_out = {{4, 3, 5}}; return j; },
     Reason::kPlanLeftOut, 3, 5},
    {"plan_left_out_gets_other_work",
     [](MatchWorld& w) { auto j = planned(w, 5000); w.host.row.id = 4; w.tables.plan.left_out = {{4, 3, 5}}; j.batch = 0; return j; },
     Reason::kFeasible},
    {"plan_leaves_out_another", [](MatchWorld& w) { auto j = planned(w, 5000); w.host.row.id = 3; w.tables.plan.left_out = {{4, 3, 5}}; return j; },
     Reason::kFeasible},
    {"ordinary", [](MatchWorld&) { return a_job().get(); }, Reason::kFeasible},
    {"no_such_app", [](MatchWorld&) { return a_job().app(99).get(); }, Reason::kNoSuchApp, 99, 0},
    {"no_platform", [](MatchWorld& w) { w.host.platforms = {"arm-linux"}; return a_job().get(); }, Reason::kNoAppVersion},
    {"non_cpu_intensive", [](MatchWorld& w) { w.app(1).non_cpu_intensive = true; return a_job().get(); }, Reason::kNonCpuIntensive},
    {"beta_refused", [](MatchWorld& w) { w.app(1).beta = true; return a_job().get(); }, Reason::kBetaNotAllowed, 0, 1},
    {"beta_allowed", [](MatchWorld& w) { w.app(1).beta = w.user.allow_beta_work = true; return a_job().get(); },
     Reason::kFeasible},
    {"app_selection", [](MatchWorld& w) { w.user.selected_apps = {2}; return a_job().get(); }, Reason::kAppNotSelected, 0, 1},
    {"not_selected_but_allowed",
     [](MatchWorld& w) { w.user.selected_apps = {2}; w.user.allow_non_preferred_apps = true; return a_job().get(); },
     Reason::kFeasible},
    {"hr_unknown",
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; w.host.hr_class_fine = 0; return a_job().get(); },
     Reason::kHrClassUnknown},
    {"hr_mismatch",
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; return a_job().hr_class(385).get(); },
     Reason::kHrClassMismatch, 277, 385},
    {"hr_match",
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; return a_job().hr_class(277).get(); },
     Reason::kFeasible},
    {"hr_of_whole_project",
     [](MatchWorld& w) { w.params.homogeneous_redundancy = 2; return a_job().hr_class(386).get(); },
     Reason::kHrClassMismatch, 258, 386},
    {"hr_class_without_hr", [](MatchWorld&) { return a_job().hr_class(385).get(); }, Reason::kFeasible},
    {"user_filter", [](MatchWorld& w) { w.params.user_filter = true; return a_job().batch(6).get(); }, Reason::kUserFilter, 5, 6},
    {"user_filter_own", [](MatchWorld& w) { w.params.user_filter = true; return a_job().batch(5).get(); }, Reason::kFeasible},
    {"user_filter_no_batch", [](MatchWorld& w) { w.params.user_filter = true; return a_job().get(); }, Reason::kFeasible},
    {"user_filter_off", [](MatchWorld&) { return a_job().batch(6).get(); }, Reason::kFeasible},
    {"without_batch", [](MatchWorld& w) { w.params.jobs_without_batch = "refuse"; return a_job().get(); }, Reason::kJobWithoutBatch},
    {"without_batch_refused_only", [](MatchWorld& w) { w.params.jobs_without_batch = "refuse"; return a_job().batch(5).get(); }, Reason::kFeasible},
    {"without_batch_free", [](MatchWorld& w) { w.params.jobs_without_batch = "free"; return a_job().get(); }, Reason::kFeasible},
    {"without_batch_owned", [](MatchWorld& w) { w.params.jobs_without_batch = "3"; return a_job().get(); }, Reason::kFeasible},
    {"ltt_reserved",
     [](MatchWorld& w) { w.params.batch_accel = true; w.app(1).n_size_classes = 1; return a_job().wu_priority(1).get(); },
     Reason::kReservedForLtt, 0, 1},
    {"ltt_reserved_not_from_ltt",
     [](MatchWorld& w) {
         w.params.batch_accel = true;
         w.app(1).n_size_classes = 1;
         w.host.row.error_rate = 1;
         return a_job().wu_priority(1).get();
     },
     Reason::kFeasible},
    {"ltt_low_priority",
     [](MatchWorld& w) { w.params.batch_accel = true; w.app(1).n_size_classes = 1; return a_job().wu_priority(0).get(); },
     Reason::kFeasible},
    {"ltt_not_accelerable",
     [](MatchWorld& w) { w.params.batch_accel = true; return a_job().wu_priority(1).get(); }, Reason::kFeasible},
    {"keyword_refusal",
     [](MatchWorld& w) { w.params.keyword_sched = true; w.user.keywords_no = {3}; return a_job().keywords({2, 3}).get(); },
     Reason::kKeywordRefused, 3, 0},
    {"keyword_sched_off",
     [](MatchWorld& w) { w.user.keywords_no = {3}; return a_job().keywords({2, 3}).get(); }, Reason::kFeasible},
    {"disk", [](MatchWorld& w) { w.host.disk_available = 5; return a_job().disk(6).get(); }, Reason::kDisk, 5, 6},
    {"disk_equal", [](MatchWorld& w) { w.host.disk_available = 6; return a_job().disk(6).get(); }, Reason::kFeasible},
    {"bandwidth", [](MatchWorld& w) { w.host.row.n_bwdown = 10; return a_job().bandwidth(11).get(); }, Reason::kBandwidth, 10, 11},
    {"bandwidth_unmeasured", [](MatchWorld& w) { w.host.row.n_bwdown = 0; return a_job().bandwidth(11).get(); }, Reason::kFeasible},
    {"memory", [](MatchWorld& w) { w.host.usable_ram = 100; return a_job().ram(101).get(); }, Reason::kMemory, 100, 101},
    {"memory_equal", [](MatchWorld& w) { w.host.usable_ram = 101; return a_job().ram(101).get(); }, Reason::kFeasible},
    {"reliable_only", [](MatchWorld&) { return a_job().need_reliable().get(); }, Reason::kNeedsReliable, 0, 1},
    {"need_reliable_beta",
     [](MatchWorld& w) { w.app(1).beta = w.user.allow_beta_work = true; return a_job().need_reliable().get(); },
     Reason::kFeasible},
    {"need_reliable_has",
     [](MatchWorld& w) {
         HostAppVersion v;
         v.app_version_id = 11;
         v.consecutive_valid = 10;
         w.host.versions.push_back(v);
         return a_job().need_reliable().get();
     },
     Reason::kFeasible},
    {"version_commitment",
     [](MatchWorld& w) { w.app(1).homogeneous_app_version = true; return a_job().committed_version(12).get(); },
     Reason::kAppVersionMismatch, 0, 12},
    {"committed_own_version",
     [](MatchWorld& w) { w.app(1).homogeneous_app_version = true; return a_job().committed_version(11).get(); },
     Reason::kFeasible},
    {"committed_without_hav", [](MatchWorld&) { return a_job().committed_version(12).get(); }, Reason::kFeasible},
    {"pinned", [](MatchWorld&) { return a_job().version_num(99).get(); }, Reason::kAppVersionMismatch, 100, 99},
    {"pinned_right", [](MatchWorld&) { return a_job().version_num(100).get(); }, Reason::kFeasible},
    {"no_cpu", [](MatchWorld& w) { w.user.dont_use[0] = true; return a_job().get(); }, Reason::kCpuRefusedByPrefs, 0, 1},
    {"client_too_old", [](MatchWorld& w) { w.tables.versions[0].min_core_version = 90000; return a_job().get(); },
     Reason::kClientTooOld, 80002, 90000},
    {"client_too_new", [](MatchWorld& w) { w.tables.versions[0].max_core_version = 70000; return a_job().get(); },
     Reason::kClientTooNew, 80002, 70000},
    {"version_beta", [](MatchWorld& w) { w.tables.versions[0].beta = true; return a_job().get(); }, Reason::kBetaNotAllowed, 0, 1},
    {"no_plan_class_support",
     [](MatchWorld& w) { w.tables.versions[0].plan_class = "mt"; w.host.plan_class_capable = false; return a_job().get(); },
     Reason::kNoPlanClassSupport, 0, 1},
    {"unknown_plan_class", [](MatchWorld& w) { w.tables.versions[0].plan_class = "foo"; return a_job().get(); },
     Reason::kPlanClassRefused},
    {"needs_64_bits",
     [](MatchWorld& w) { w.host.platforms = {"i686-pc-linux-gnu"}; w.tables.versions[0].platformid = 2; return a_job().ram(3.5e9).get(); },
     Reason::kMemory, 3 * kGiB, 3.5e9},
    {"quota",
     [](MatchWorld& w) {
         w.params.daily_result_quota = 10;
         HostAppVersion v;
         v.app_version_id = 11;
         v.max_jobs_per_day = 2;
         v.n_jobs_today = 8;  // 2 a day on each of 4 CPUs
         w.host.versions.push_back(v);
         return a_job().get();
     },
     Reason::kDailyQuota, 8, 8},
    {"quota_not_configured",
     [](MatchWorld& w) {
         HostAppVersion v;
         v.app_version_id = 11;
         v.n_jobs_today = 8;
         w.host.versions.push_back(v);
         return a_job().get();
     },
     Reason::kFeasible},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Rows, FastCheck, testing::ValuesIn(kCases), [](const auto& i) { return i.param.name; });

}  // namespace
}  // namespace sluice::test
