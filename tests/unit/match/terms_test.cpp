// SPDX-License-Identifier: LGPL-3.0-or-later
// Score terms, set checks and slow checks: one table row each, from the seeds and upstream's behaviour.
#include <cmath>
#include <functional>

#include "sluice/match/policies.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using World = std::function<JobSummary(MatchWorld&)>;

struct TermCase {
    const char* name;
    const char* term;
    int level;
    World plant;
    double points;
};
void PrintTo(const TermCase& c, std::ostream* out) { *out << c.name; }

class ScoreTerm : public testing::TestWithParam<TermCase> {};

TEST_P(ScoreTerm, GivesItsPoints) {
    MatchWorld w;
    w.params.compat_level = GetParam().level;
    const JobSummary job = GetParam().plant(w);
    if (w.pool.slots.empty()) w.pool.add(job);
    w.match();
    const auto* row = w.trace.of(job.result_id);
    ASSERT_TRUE(row);
    ASSERT_TRUE(row->points.contains(GetParam().term)) << "the term is not active";
    EXPECT_NEAR(row->points.at(GetParam().term), GetParam().points, 1e-9);
}

JobSummary sized(MatchWorld& w, int job_class) {
    w.params.size_classes = true;
    w.app(1).n_size_classes = 3;
    w.tables.size_quantiles[1] = {5e8, 2e9};  // the host, at 1e9, is of class 1
    return a_job().size_class(job_class);
}
JobSummary accelerated(MatchWorld& w) {
    w.params.batch_accel = true;
    w.app(1).n_size_classes = 1;
    w.host.row.error_rate = 1;
    return a_job().wu_priority(1);
}
JobSummary local(MatchWorld& w) {
    w.app(1).locality_scheduling = 1;
    w.host = a_host().file("on_host", 300);
    return a_job().input_file("on_host", 300).input_file("elsewhere", 100);
}
JobSummary among_priorities(MatchWorld& w, int mine, std::initializer_list<int> others) {
    const JobSummary job = a_job(1).priority(mine);
    w.pool.add(job);
    int id = 2;
    for (int p : others) w.pool.add(a_job(id++).priority(p));
    return job;
}
JobSummary reliable(MatchWorld& w) {
    HostAppVersion v;
    v.app_version_id = 11;
    v.consecutive_valid = 10;
    w.host.versions.push_back(v);
    return a_job().need_reliable();
}

JobSummary aged(const MatchWorld& w, double days) {
    JobSummary j = a_job();
    j.create_time = static_cast<std::int32_t>(w.now - days * 86400);
    return j;
}

/// Of a planned batch; a second a job.
JobSummary of_planned_batch(MatchWorld& w) {
    w.params.plan_batches = true;
    w.params.plan_deadline_factor = 1.2;
    w.tables.plan = {1, w.now - 60, {{7, w.now + 5000, 1.2, 1, 5, 9}}, {}};
    return a_job(1).batch(7).flops(1e9).get();
}

constexpr int kLet = -1800000000;

/// A job of batch 1, whose logical end time is so many hours behind that of batch 2; a job of that waits, too.
JobSummary lagging(MatchWorld& w, double hours) {
    w.tables.batch_shares[1] = {1, 1.8e9 + hours * 3600};
    w.tables.batch_shares[2] = {2, 1.8e9};
    const JobSummary job = a_job(1).batch(1);
    w.pool.add(job);
    w.pool.add(a_job(2).batch(2));
    return job;
}

// A case a line.
// clang-format off
const TermCase kTerms[] = {
    {"size_same", "size_class", 0, [](MatchWorld& w) { return sized(w, 1); }, 5},
    {"size_smaller", "size_class", 0, [](MatchWorld& w) { return sized(w, 0); }, -1},
    {"size_larger", "size_class", 0, [](MatchWorld& w) { return sized(w, 2); }, -2},
    {"size_none", "size_class", 0, [](MatchWorld& w) { return sized(w, -1); }, -1},
    {"size_none_1", "size_class", 1, [](MatchWorld& w) { return sized(w, -1); }, 5},
    {"size_of_another_app", "size_class", 1, [](MatchWorld& w) { auto j = sized(w, 1); w.tables.size_quantiles = {{77, {5e8, 2e9}}}; return j; }, 5},
    {"size_of_another_app_0", "size_class", 0, [](MatchWorld& w) { auto j = sized(w, 1); w.tables.size_quantiles = {{77, {5e8, 2e9}}}; return j; }, 0},
    {"size_classes_off", "size_class", 0, [](MatchWorld& w) { auto j = sized(w, 1); w.params.size_classes = false; return j; }, 0},
    {"size_quantiles_unknown", "size_class", 0, [](MatchWorld& w) { auto j = sized(w, 1); w.tables.size_quantiles.clear(); return j; }, 0},
    {"size_by_availability", "size_class", 0,
     [](MatchWorld& w) { w.host = a_host().availability(0.4); return sized(w, 0); }, 5},
    {"size_fast_host", "size_class", 0, [](MatchWorld& w) { w.host = a_host().speed(5e9); return sized(w, 2); }, 5},
    {"ltt", "ltt_match", 0, accelerated, 10},
    {"ltt_level1", "ltt_match", 1, accelerated, 10},
    {"ltt_ordinary_host", "ltt_match", 0, [](MatchWorld& w) { auto j = accelerated(w); w.host.row.error_rate = 0; j.wu_priority = 0; return j; }, 0},
    {"ltt_without_batch_accel", "ltt_match", 0, [](MatchWorld& w) { auto j = accelerated(w); w.params.batch_accel = false; return j; }, 0},
    {"locality", "locality_lite", 0, local, 10},
    {"locality_share", "locality_lite", 1, local, 7.5},
    {"locality_none", "locality_lite", 0, [](MatchWorld& w) { local(w); return a_job().input_file("elsewhere", 100).get(); }, 0},
    {"locality_not_the_app", "locality_lite", 0, [](MatchWorld& w) { auto j = local(w); w.app(1).locality_scheduling = 0; return j; }, 0},
    {"locality_in_xml", "locality_lite", 1,
     [](MatchWorld& w) {
         local(w);
         a_job j;
         for (int i = 0; i < 5; ++i) j.input_file("f", 1);  // more than a slot holds: the XML is read
         w.pool.add(j).xml =
             "<file_info><name>on_host</name><sticky/><nbytes>300</nbytes></file_info>"
             "<file_info><name>far</name><sticky/><nbytes>300</nbytes></file_info>"
             "<file_info><name>not_sticky</name><nbytes>999</nbytes></file_info>";
         return j.get();
     },
     5},
    {"beta", "beta", 0, [](MatchWorld& w) { w.app(1).beta = w.user.allow_beta_work = true; return a_job().get(); }, 1},
    {"non_preferred", "non_preferred_app", 0,
     [](MatchWorld& w) { w.user.selected_apps = {2}; w.user.allow_non_preferred_apps = true; return a_job().get(); }, -1},
    {"infeasible_before", "previously_infeasible", 0,
     [](MatchWorld& w) { const JobSummary j = a_job(); w.pool.add(j).infeasible = 1; return j; }, 1},
    {"infeasible_by_hr_class", "previously_infeasible", 0,
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; return a_job().hr_class(277).get(); }, 1},
    {"passed_over_is_not_infeasible", "previously_infeasible", 0,
     [](MatchWorld& w) { const JobSummary j = a_job(); w.pool.add(j).passed_over = 9; return j; }, 0},
    {"keywords", "keyword", 0,
     [](MatchWorld& w) { w.params.keyword_sched = true; w.user.keywords_yes = {1, 2}; return a_job().keywords({1, 2, 3}).get(); }, 2},
    {"keyword_share", "keyword", 1,
     [](MatchWorld& w) { w.params.keyword_sched = true; w.user.keywords_yes = {1}; return a_job().keywords({1, 2}).get(); }, 0.5},
    {"keywords_beyond_the_slot", "keyword", 0,
     [](MatchWorld& w) {
         w.params.keyword_sched = true;
         w.user.keywords_yes = {7, 8};
         const JobSummary j = a_job().keywords({1, 2, 3, 4, 5, 6, 7, 8});
         w.pool.add(j).keywords = "1 2 3 4 5 6 7 8";
         return j;
     },
     2},
    {"keyword_off", "keyword", 0, [](MatchWorld& w) { w.user.keywords_yes = {1}; return a_job().keywords({1}).get(); }, 0},
    {"priority_raw", "result_priority", 0, [](MatchWorld&) { return a_job().priority(-7).get(); }, -7},
    {"priority_let_raw", "result_priority", 0, [](MatchWorld&) { return a_job().priority(kLet).get(); }, kLet},
    {"priority_rank_top", "result_priority", 1, [](MatchWorld& w) { return among_priorities(w, 1000000, {1, 2, 3}); }, 4},
    {"priority_rank_bottom", "result_priority", 1, [](MatchWorld& w) { return among_priorities(w, 0, {1, 2, 3}); }, -4},
    {"priority_rank_middle", "result_priority", 1, [](MatchWorld& w) { return among_priorities(w, 5, {0, 1000}); }, 0},
    {"priority_rank_alone", "result_priority", 1, [](MatchWorld& w) { return among_priorities(w, 5, {5, 5}); }, 0},
    {"let_first", "batch_let", 1, [](MatchWorld& w) { return among_priorities(w, kLet + 2, {kLet, kLet + 1, 0}); }, 3},
    {"let_last", "batch_let", 1, [](MatchWorld& w) { return among_priorities(w, kLet, {kLet + 1, kLet + 2, 0}); }, -3},
    {"let_is_no_priority", "result_priority", 1, [](MatchWorld& w) { return among_priorities(w, kLet, {kLet + 1, 0, 1}); }, 0},
    {"hardness_time", "hardness", 1, [](MatchWorld&) { return a_job().flops(4.32e13).ram(0).disk(0).get(); }, 1},
    {"hardness_memory", "hardness", 1, [](MatchWorld&) { return a_job().ram(8 * kGiB).get(); }, 2},
    {"hardness_disk", "hardness", 1, [](MatchWorld&) { return a_job().disk(75e9).get(); }, 1.5},
    {"hr_committed", "hr_committed", 1,
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; return a_job().hr_class(277).get(); }, 2},
    {"hr_not_committed", "hr_committed", 1,
     [](MatchWorld& w) { w.app(1).homogeneous_redundancy = HrType::kFine; return a_job().get(); }, 0},
    {"share_first", "share_lag", 1, [](MatchWorld& w) { return lagging(w, -3); }, 0},
    {"share_half_a_tau", "share_lag", 0, [](MatchWorld& w) { return lagging(w, 3); }, -5},
    {"share_tau", "share_lag", 1, [](MatchWorld& w) { return lagging(w, 6); }, -12},
    {"share_first_of_the_next_band", "share_lag", 1, [](MatchWorld& w) { return lagging(w, 6.01); }, 0},
    {"share_within_the_next_band", "share_lag", 1,
     [](MatchWorld& w) {
         const JobSummary job = lagging(w, 12);
         w.tables.batch_shares[3] = {3, 1.8e9 + 9 * 3600};
         w.pool.add(a_job(3).batch(3));
         return job;
     },
     -6},
    {"share_without_quota", "share_lag", 1, [](MatchWorld& w) { return lagging(w, HUGE_VAL); }, 0},
    {"share_without_batch", "share_lag", 1, [](MatchWorld& w) { lagging(w, 3); const JobSummary j = a_job(3); w.pool.add(j); return j; }, 0},
    {"share_off", "share_lag", 1, [](MatchWorld& w) { auto j = lagging(w, 3); w.tables.batch_shares.clear(); return j; }, 0},
    {"share_alone", "share_lag", 1, [](MatchWorld& w) { lagging(w, 9); w.pool.slots.pop_back(); return w.pool.slots[0].job; }, 0},
    {"plan", "plan", 0, of_planned_batch, 20},
    {"plan_level_1", "plan", 1, of_planned_batch, 9},
    {"plan_other_job", "plan", 1, [](MatchWorld& w) { auto j = of_planned_batch(w); j.batch = 0; return j; }, 0},
    {"reliable_retry", "reliable_retry", 1, reliable, 3},
    {"waiting_new", "waiting", 1, [](MatchWorld& w) { return aged(w, 0); }, 0},
    {"waiting_half_a_week", "waiting", 1, [](MatchWorld& w) { return aged(w, 3.5); }, 0.5},
    {"waiting_a_month", "waiting", 1, [](MatchWorld& w) { return aged(w, 30); }, 1},
    {"waiting_unknown", "waiting", 1, [](MatchWorld&) { return a_job().get(); }, 0},
    {"weight_from_config", "result_priority", 0,
     [](MatchWorld& w) { w.params.score_weights["result_priority"] = 0.5; return a_job().priority(6).get(); }, 3},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Rows, ScoreTerm, testing::ValuesIn(kTerms), [](const auto& i) { return i.param.name; });

struct SetCase {
    const char* name;
    World plant;  ///< the pool's first job is sent, the returned one is judged
    Reason expected;
    double value, required;
};
void PrintTo(const SetCase& c, std::ostream* out) { *out << c.name; }
class SetCheck : public testing::TestWithParam<SetCase> {};

TEST_P(SetCheck, RefusesTheSecondJob) {
    MatchWorld w;
    w.want(ProcType::kCpu, 1e9, 8);
    const JobSummary job = GetParam().plant(w);
    w.pool.slots.insert(w.pool.slots.begin(), MemoryPool::Slot{});
    w.pool.slots[0].state = SlotState::kPresent;
    JobSummary first = job;
    first.result_id = 50;
    if (first.workunit_id != 77) first.workunit_id = 78;
    first.priority = 100;
    w.pool.slots[0].job = first;
    w.pool.add(job);
    w.match();
    // Limits say nothing about the job; a deadline that this host can't keep does.
    EXPECT_EQ(w.pool.slots[1].passed_over, GetParam().expected == Reason::kDeadline ? 1u : 0u);
    const auto* row = w.trace.of(job.result_id);
    ASSERT_TRUE(row);
    EXPECT_STREQ(reason_name(row->fate), reason_name(GetParam().expected));
    if (GetParam().expected == Reason::kFeasible) return;
    EXPECT_NEAR(row->verdict.value, GetParam().value, 1e-6);
    EXPECT_NEAR(row->verdict.required, GetParam().required, 1e-6);
}

// A case a line.
// clang-format off
const SetCase kSets[] = {
    {"fits", [](MatchWorld&) { return a_job().get(); }, Reason::kFeasible, 0, 0},
    {"jobs_per_rpc",
     [](MatchWorld& w) {
         w.host = a_host().cpus(1);
         w.params.max_wus_to_send = 1;
         return a_job().get();
     },
     Reason::kJobsPerRpcLimit, 1, 1},
    {"user_job_limit", [](MatchWorld& w) { w.user.max_jobs_in_progress = 1; return a_job().get(); },
     Reason::kUserJobLimit, 1, 1},
    {"disk_sum", [](MatchWorld& w) { w.host.disk_available = 10; return a_job().disk(6).get(); }, Reason::kDiskSet, 4, 6},
    {"one_instance",
     [](MatchWorld& w) { w.params.one_result_per_host_per_wu = true; return a_job().workunit(77).get(); },
     Reason::kOneInstancePerWorkunit, 1, 0},
    {"two_instances_at_level_0", [](MatchWorld&) { return a_job().workunit(77).get(); }, Reason::kFeasible, 0, 0},
    {"one_instance_at_level_1", [](MatchWorld& w) { w.params.compat_level = 1; return a_job().workunit(77).get(); },
     Reason::kOneInstancePerWorkunit, 1, 0},
    {"project_total", [](MatchWorld& w) { w.params.max_jobs_in_progress.project.total = {1, true}; return a_job().get(); },
     Reason::kInProgressLimit, 1, 1},
    {"in_progress", [](MatchWorld& w) { w.params.max_jobs_in_progress.apps["app1"].cpu = {1, false}; return a_job().get(); },
     Reason::kAppInProgressLimit, 1, 1},
    {"app_cpu_per_processor", [](MatchWorld& w) { w.params.max_jobs_in_progress.apps["app1"].cpu = {1, true}; return a_job().get(); },
     Reason::kFeasible, 0, 0},
    {"gpu_limit_is_not_for_cpus", [](MatchWorld& w) { w.params.max_jobs_in_progress.apps["app1"].gpu = {1, false}; return a_job().get(); },
     Reason::kFeasible, 0, 0},
    {"limit_of_another_app", [](MatchWorld& w) { w.params.max_jobs_in_progress.apps["app2"].total = {1, false}; return a_job().get(); },
     Reason::kFeasible, 0, 0},
    {"daily_quota",
     [](MatchWorld& w) {
         w.params.daily_result_quota = 9;
         HostAppVersion v;
         v.app_version_id = 11;
         v.max_jobs_per_day = 1;  // one is one, whatever the number of CPUs
         w.host.versions.push_back(v);
         return a_job().get();
     },
     Reason::kDailyQuota, 1, 1},
    {"memory_sum", [](MatchWorld& w) { w.params.compat_level = 1; w.host.usable_ram = 100; return a_job().ram(60).get(); },
     Reason::kMemorySet, 40, 60},
    {"memory_sum_level_0", [](MatchWorld& w) { w.host.usable_ram = 100; return a_job().ram(60).get(); }, Reason::kFeasible, 0, 0},
    {"plan_room", [](MatchWorld& w) { w.host = a_host().cpus(1); return of_planned_batch(w); }, Reason::kPlanRoom, 1, 1},
    {"plan_room_of_many_jobs", [](MatchWorld& w) { w.host = a_host().cpus(1); auto j = of_planned_batch(w); w.tables.plan.batches[0].jobs = 17, w.tables.plan.batches[0].hosts = 8; return j; }, Reason::kFeasible, 0, 0},
    {"plan_room_of_many_jobs_until_t",
     [](MatchWorld& w) { w.host = a_host().cpus(1); auto j = of_planned_batch(w); w.tables.plan.batches[0].jobs = 17, w.tables.plan.batches[0].hosts = 8; w.tables.plan.batches[0].finish = w.now + 2.3; return j; },
     Reason::kPlanRoom, 1, 1},
    {"plan_room_on_two_processors", [](MatchWorld& w) { w.host = a_host().cpus(2); return of_planned_batch(w); }, Reason::kFeasible, 0, 0},
    {"deadline",
     [](MatchWorld& w) { w.host.usable_cpus = w.host.row.p_ncpus = 1; return a_job().flops(1e12).delay_bound(1500).get(); },
     Reason::kDeadline, 2000, 1500},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Rows, SetCheck, testing::ValuesIn(kSets), [](const auto& i) { return i.param.name; });

struct SlowCase {
    const char* name;
    std::function<void(MatchWorld&, WorkunitFacts&)> plant;
    Reason expected;
    bool discarded, noted;
};
void PrintTo(const SlowCase& c, std::ostream* out) { *out << c.name; }
class SlowCheck : public testing::TestWithParam<SlowCase> {};

TEST_P(SlowCheck, RefusesAndTellsTheSlot) {
    MatchWorld w;
    w.app(1).homogeneous_redundancy = HrType::kFine;
    GetParam().plant(w, w.facts.at(1));
    EXPECT_STREQ(reason_name(w.why(a_job())), reason_name(GetParam().expected));
    EXPECT_EQ(w.pool.slots[0].discarded, GetParam().discarded);
    EXPECT_EQ(w.pool.slots[0].infeasible, GetParam().noted ? 1u : 0u);
    // What another host may do, and this one can't, gives way when the array is clogged.
    const bool refused = GetParam().expected != Reason::kFeasible;
    EXPECT_EQ(w.pool.slots[0].passed_over, refused && !GetParam().discarded ? 1u : 0u);
}

// A case a line.
// clang-format off
const SlowCase kSlow[] = {
    {"fine", [](MatchWorld&, WorkunitFacts&) {}, Reason::kFeasible, false, false},
    {"result_still_there", [](MatchWorld&, WorkunitFacts& f) { f.found = false; }, Reason::kResultGone, true, false},
    {"sent_meanwhile", [](MatchWorld&, WorkunitFacts& f) { f.server_state = ServerState::kInProgress; }, Reason::kResultGone, true, false},
    {"other_workunit", [](MatchWorld&, WorkunitFacts& f) { f.workunit_id = 5; }, Reason::kResultGone, true, false},
    {"workunit_error", [](MatchWorld&, WorkunitFacts& f) { f.error_mask = kWuCancelled; }, Reason::kWorkunitError, true, false},
    {"workunit_done", [](MatchWorld&, WorkunitFacts& f) { f.canonical_resultid = 3; }, Reason::kWorkunitDone, true, false},
    {"hr_committed_elsewhere", [](MatchWorld&, WorkunitFacts& f) { f.hr_class = 385; }, Reason::kHrCommittedElsewhere, false, true},
    {"own_class", [](MatchWorld&, WorkunitFacts& f) { f.hr_class = 277; }, Reason::kFeasible, false, false},
    {"version_committed_elsewhere", [](MatchWorld& w, WorkunitFacts& f) { w.app(1).homogeneous_app_version = true; f.app_version_id = 12; },
     Reason::kVersionCommittedElsewhere, false, true},
    {"other_version_without_hav", [](MatchWorld&, WorkunitFacts& f) { f.app_version_id = 12; }, Reason::kFeasible, false, false},
    {"one_result_per_user", [](MatchWorld& w, WorkunitFacts& f) { w.params.one_result_per_user_per_wu = true; f.results_of_user = 1; },
     Reason::kOneResultPerUser, false, false},
    {"user_has_one_unrestricted", [](MatchWorld&, WorkunitFacts& f) { f.results_of_user = 1; }, Reason::kFeasible, false, false},
    {"one_result_per_host", [](MatchWorld& w, WorkunitFacts& f) { w.params.one_result_per_host_per_wu = true; f.results_of_host = 1; },
     Reason::kOneResultPerHost, false, false},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Rows, SlowCheck, testing::ValuesIn(kSlow), [](const auto& i) { return i.param.name; });

TEST(Policies, EveryTermHasItsTest) {
    std::set<std::string> tested;
    for (const TermCase& c : kTerms) tested.insert(c.term);
    for (std::string_view name : score_term_names()) EXPECT_TRUE(tested.contains(std::string(name))) << name;
}

TEST(Policies, NamesAreUniqueAndDocumented) {
    std::set<std::pair<PolicyKind, std::string>> names;
    for (const PolicyInfo& p : policy_infos()) {
        EXPECT_TRUE(names.insert({p.kind, p.name}).second) << p.name;
        EXPECT_GT(std::string_view(p.doc).size(), 20u) << p.name;
    }
    std::set<std::string> reasons;
    for (int r = 0; r < static_cast<int>(Reason::kCount); ++r) {
        EXPECT_TRUE(reasons.insert(reason_name(static_cast<Reason>(r))).second) << r;
        EXPECT_GT(std::string_view(reason_advice(static_cast<Reason>(r))).size(), 20u) << r;
    }
}

}  // namespace
}  // namespace sluice::test
