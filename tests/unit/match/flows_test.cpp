// SPDX-License-Identifier: LGPL-3.0-or-later
// The matcher's other doors: resent, targeted and non-CPU-intensive jobs, limits of what the host already holds, old
// requests, deadlines, and traces as text.
#include <nlohmann/json.hpp>

#include "sluice/match/policies.h"
#include "sluice/match/trace_text.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

JobOnHost holding(Id app, ProcType type, bool ours = true) {
    JobOnHost j;
    j.result_name = "r";
    j.appid = app;
    j.proc_type = type;
    j.ours = ours;
    return j;
}

struct Flows : testing::Test {
    MatchWorld w;
    std::unique_ptr<MatchContext> context;
    std::unique_ptr<Matcher> matcher() {
        context = std::make_unique<MatchContext>(w.context());
        return std::make_unique<Matcher>(*context, w.pool, w.facts, &w.trace);
    }
};

TEST_F(Flows, WhatTheHostHoldsCountsAgainstLimits) {
    w.params.max_jobs_in_progress.project.cpu = {1, true};  // one per CPU: four
    w.pool.add(a_job(1));
    for (int i = 0; i < 3; ++i) w.host.in_progress.push_back(holding(1, ProcType::kCpu));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.slots[0].state = SlotState::kPresent;
    w.host.in_progress.push_back(holding(1, ProcType::kCpu, false));  // another project's
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.slots[0].state = SlotState::kPresent;
    w.host.in_progress.push_back(holding(1, ProcType::kCpu));
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    const ReasonCount& count = r.stats.reasons[static_cast<std::size_t>(Reason::kInProgressLimit)];
    EXPECT_GT(count.count, 0u);
    EXPECT_EQ(count.nearest.required, 4);
    EXPECT_EQ(binding_order(r.stats).front(), Reason::kInProgressLimit);
}

TEST_F(Flows, AGpuLimitHoldsForEachTypeSeparately) {
    w.host = a_host().nvidia(2);
    w.tables.versions[0].plan_class = "cuda_fermi";
    w.params.max_jobs_in_progress.project.gpu = {1, true};
    w.host.in_progress = {holding(1, ProcType::kAmd), holding(1, ProcType::kAmd), holding(1, ProcType::kNvidia)};
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 1e9, 2);
    for (int i = 1; i <= 3; ++i) w.pool.add(a_job(i));
    EXPECT_THAT(w.sent(), SizeIs(1));
}

TEST_F(Flows, JobsPerReplyScaleWithProcessors) {
    w.want(ProcType::kCpu, 1e9, 100);
    for (int i = 1; i <= 60; ++i) w.pool.add(a_job(i).flops(1e10));
    w.params.max_wus_to_send = 3;
    const MatchResult first = w.match();
    EXPECT_THAT(first.jobs, SizeIs(12));
    EXPECT_EQ(binding_order(first.stats).front(), Reason::kJobsPerRpcLimit);
    w.params.gpu_multiplier = 2;
    w.host.coprocs = a_host().nvidia(2).get().coprocs;
    for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
    EXPECT_THAT(w.match().jobs, SizeIs(24));
    w.params.non_cpu_intensive = true;
    for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
    EXPECT_THAT(w.match().jobs, SizeIs(3));
    w.params.max_wus_to_send = 0;
    for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(60)) << "0: no limit";
}

TEST_F(Flows, TheVolunteersOwnLimitEndsTheReply) {
    w.user.max_jobs_in_progress = 2;
    w.host.in_progress.push_back(holding(1, ProcType::kCpu));
    w.want(ProcType::kCpu, 1e9, 4);
    w.pool.add(a_job(1));
    w.pool.add(a_job(2));
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(1));
    EXPECT_EQ(binding_order(r.stats).front(), Reason::kUserJobLimit);
    w.host.in_progress.push_back(holding(1, ProcType::kCpu));
    EXPECT_FALSE(matcher()->work_needed());
    EXPECT_EQ(binding_order(w.match().stats).front(), Reason::kUserJobLimit);
}

TEST_F(Flows, OldRequestsAskForSecondsOfAnyResource) {
    w.wanted = {};
    w.wanted.resource_specific = false;
    w.wanted.total_seconds = 2.5 * 3600;
    for (int i = 1; i <= 9; ++i) w.pool.add(a_job(i));
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, SizeIs(3));
    EXPECT_DOUBLE_EQ(r.left.total_seconds, -0.5 * 3600);
}

TEST_F(Flows, IdleHostAlwaysGetsJobAtLevel0) {
    w.pool.add(a_job(1).delay_bound(10));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.slots[0].state = SlotState::kPresent;
    w.wanted.estimated_delay[0] = 1;
    EXPECT_THAT(w.sent(), IsEmpty());
    w.wanted.estimated_delay[0] = 0;
    w.params.compat_level = 1;
    EXPECT_THAT(w.sent(), IsEmpty()) << "it would be late";
    w.params.ignore_delay_bound = true;
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Flows, HardAppsNeedProvenHostAndMoreTime) {
    w.app(1).weight = -1;
    w.pool.add(a_job(1).delay_bound(4000));  // runs 3600 s, counted as 4680
    EXPECT_THAT(w.sent(), IsEmpty());
    w.pool.slots[0].job.delay_bound = 4700;
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.slots[0].state = SlotState::kPresent;
    w.host.row.total_credit = 0;
    EXPECT_THAT(w.sent(), IsEmpty());
}

TEST_F(Flows, RetriesHaveAReducedDeadline) {
    HostAppVersion v;
    v.app_version_id = 11;
    v.consecutive_valid = 10;
    w.host.versions.push_back(v);
    w.params.reliable_reduced_delay_bound = 0.4;
    w.wanted.estimated_delay[0] = 1;
    struct Retry {
        double runtime, bound;
    };
    const Retry cases[] = {{100, 4000},     // plenty of time
                           {2500, 5000},    // raised to twice the run time
                           {4500, 10000}};  // twice would pass twice the reduced bound, and that can't be kept
    for (const Retry& c : cases) {
        w.pool.slots.clear();
        w.pool.add(a_job(1).need_reliable().flops(c.runtime * 1e9).delay_bound(10000));
        const MatchResult r = w.match();
        ASSERT_THAT(r.jobs, SizeIs(1));
        EXPECT_DOUBLE_EQ(r.jobs[0].delay_bound, c.bound) << c.runtime;
    }
    w.pool.slots.clear();
    w.pool.add(a_job(1).flops(1e11).delay_bound(10000));
    EXPECT_DOUBLE_EQ(w.match().jobs.at(0).delay_bound, 10000) << "not a retry";
}

TEST_F(Flows, WorkBufferShortensDeadlinesOfTheQueue) {
    w.params.workload_sim = true;
    w.wanted.estimated_delay[0] = 1;
    JobOnHost mine = holding(1, ProcType::kCpu);
    mine.deadline = w.now + 10000;
    mine.remaining = 5000;
    w.host = a_host().cpus(1).holds(mine);
    w.pool.add(a_job(1).flops(4e12).delay_bound(5000));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.slots[0].state = SlotState::kPresent;
    w.host.work_buf_min = 2000;  // 4000 + 5000 > 8000
    EXPECT_THAT(w.sent(), IsEmpty());
    w.params.workload_sim = false;
    EXPECT_THAT(w.sent(), ElementsAre(1)) << "the crude rule knows only the delay";
}

TEST_F(Flows, MemoryBesideWhatRunsAtLevel1) {
    w.params.compat_level = 1;
    JobOnHost big = holding(1, ProcType::kCpu);
    big.memory = 6 * kGiB;
    w.host.in_progress = {big};
    w.pool.add(a_job(1).ram(3 * kGiB));
    const MatchResult r = w.match();
    EXPECT_THAT(r.jobs, IsEmpty());
    EXPECT_EQ(w.trace.of(1)->verdict.value, 2 * kGiB);
    EXPECT_EQ(w.trace.of(1)->verdict.required, 3 * kGiB);
    w.want(ProcType::kCpu, 100, 0);  // no idle processor: the job waits its turn
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Flows, PlanClassesMemoryReplacesBoundAtLevel1) {
    w.plan_classes = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>m</name><max_threads>4</max_threads><mem_usage_base_mb>100</mem_usage_base_mb>"
        "<mem_usage_per_cpu_mb>100</mem_usage_per_cpu_mb></plan_class></plan_classes>",
        "f");
    w.tables.versions[0].plan_class = "m";
    w.host.usable_ram = 1e9;
    w.pool.add(a_job(1).ram(2e9));
    EXPECT_THAT(w.sent(), IsEmpty());
    w.params.compat_level = 1;
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Flows, ResentJobsCountAgainstTheRequest) {
    auto m = matcher();
    Chosen lost;
    const JobSummary job = a_job(9);
    EXPECT_FALSE(m->consider(job, JobOrigin::kResend, lost).refused());
    EXPECT_EQ(lost.version.app_version_id, 11);
    EXPECT_DOUBLE_EQ(lost.estimated_runtime, 3600);
    EXPECT_TRUE(m->work_needed());
    m->account(lost);
    EXPECT_FALSE(m->work_needed());
    w.pool.add(a_job(1));
    EXPECT_THAT(m->match().jobs, IsEmpty());
}

TEST_F(Flows, AResentJobMustStillFitTheHost) {
    w.wanted.estimated_delay[0] = 1;
    auto m = matcher();
    Chosen lost;
    EXPECT_EQ(m->consider(a_job(1).ram(1e12), JobOrigin::kResend, lost).reason, Reason::kMemory);
    EXPECT_EQ(m->consider(a_job(2).delay_bound(3000), JobOrigin::kResend, lost).reason, Reason::kDeadline);
    EXPECT_EQ(m->consider(a_job(3).app(77), JobOrigin::kResend, lost).reason, Reason::kNoSuchApp);
    EXPECT_EQ(w.trace.rows.size(), 3u);
}

TEST_F(Flows, TargetedJobsAreCheckedAtLevel1Only) {
    Chosen job;
    EXPECT_FALSE(matcher()->consider(a_job(1).ram(1e12), JobOrigin::kTargeted, job).refused());
    w.user.selected_apps = {2};
    EXPECT_EQ(matcher()->consider(a_job(1), JobOrigin::kTargeted, job).reason, Reason::kAppNotSelected);
    w.user.selected_apps = {};
    w.params.compat_level = 1;
    EXPECT_EQ(matcher()->consider(a_job(1).ram(1e12), JobOrigin::kTargeted, job).reason, Reason::kMemory);
}

TEST_F(Flows, ALostClaimIsNoRefusal) {
    w.pool.add(a_job(1));
    w.pool.lost = {1};
    const MatchResult r = w.match();
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kClaimLost);
    EXPECT_EQ(r.stats.claims_lost, 1u);
    EXPECT_EQ(binding_order(r.stats).back(), Reason::kClaimLost);
}

TEST_F(Flows, AVolunteerMayRefuseAKindOfGpu) {
    w.host = a_host().nvidia();
    w.tables.versions[0].plan_class = "cuda_fermi";
    w.user.dont_use[1] = true;
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 100, 1);
    EXPECT_EQ(w.why(a_job()), Reason::kGpuRefusedByPrefs);
}

struct Nci : Flows {
    Nci() {
        for (Id a : {2, 3}) w.app(a).non_cpu_intensive = true;
        w.pool.add(a_job(1));
        for (int i = 2; i <= 9; ++i) w.pool.add(a_job(i).app(2 + i % 2));
    }
    std::vector<Id> run(const std::vector<Id>& on_host) {
        std::vector<Id> ids;
        for (const Chosen& c : matcher()->match_non_cpu_intensive(on_host).jobs) ids.push_back(c.job.result_id);
        return ids;
    }
};

TEST_F(Nci, OneJobOfEachAppTheHostLacks) {
    EXPECT_THAT(run({}), ElementsAre(2, 3));
    EXPECT_EQ(w.facts.loads, 1);
    EXPECT_EQ(w.pool.claimed.size(), 2u);
}

TEST_F(Nci, NotOfAppsItHas) {
    EXPECT_THAT(run({2}), ElementsAre(3));
    EXPECT_THAT(run({2, 3}), IsEmpty());
}

TEST_F(Nci, TheNextSlotIfTheFirstFails) {
    w.facts.at(2).error_mask = 16;
    w.pool.lost = {3};
    EXPECT_THAT(run({}), ElementsAre(4, 5));
    EXPECT_TRUE(w.pool.slots[1].discarded);
}

TEST_F(Nci, FastChecksApply) {
    w.user.selected_apps = {3};
    EXPECT_THAT(run({}), ElementsAre(3));
    w.host.usable_ram = 1;
    EXPECT_THAT(run({}), IsEmpty());
}

TEST_F(Nci, OrdinaryScansLeaveThemAlone) {
    w.want(ProcType::kCpu, 1e9, 9);
    EXPECT_THAT(w.sent(), ElementsAre(1));
}

TEST_F(Flows, TraceAsText) {
    w.pool.add(a_job(1).priority(3));
    w.pool.add(a_job(2).ram(1e12));
    const MatchContext c = w.context();
    for (const auto style : {TraceLines::Style::kLog, TraceLines::Style::kJson}) {
        TraceLines lines(style, 10);
        for (auto& s : w.pool.slots) s.state = SlotState::kPresent;
        Matcher(c, w.pool, w.facts, &lines).match();
        ASSERT_THAT(lines.lines(), SizeIs(2));
        const bool first_is_refusal = lines.lines()[0].find("memory") != std::string::npos;
        const std::string& refused = lines.lines()[first_is_refusal ? 0 : 1];
        const std::string& sent = lines.lines()[first_is_refusal ? 1 : 0];
        if (style == TraceLines::Style::kLog) {
            EXPECT_THAT(refused, HasSubstr("[RESULT#2]"));
            EXPECT_THAT(refused, HasSubstr("can't send: memory (has 8.58993e+09, needs 1e+12 bytes)"));
            EXPECT_THAT(sent, HasSubstr("sent, score 3.00"));
            continue;
        }
        const auto no = nlohmann::json::parse(refused), yes = nlohmann::json::parse(sent);
        EXPECT_EQ(no["refused"], "memory");
        EXPECT_EQ(no["needs"], 1e12);
        EXPECT_EQ(no["fate"], "memory");
        EXPECT_EQ(yes["fate"], "sent");
        EXPECT_EQ(yes["terms"]["result_priority"]["points"], 3);
        EXPECT_EQ(yes["app"], "app1");
    }
}

TEST_F(Flows, TraceLinesAreBounded) {
    for (int i = 0; i < 50; ++i) w.pool.add(a_job(i));
    const MatchContext c = w.context();
    TraceLines lines(TraceLines::Style::kLog, 5);
    Matcher(c, w.pool, w.facts, &lines).match();
    EXPECT_THAT(lines.lines(), SizeIs(5));
    EXPECT_EQ(lines.dropped(), 45u);
}

TEST_F(Flows, EveryCandidateHasOneRowWithItsFate) {
    for (int i = 1; i <= 30; ++i) w.pool.add(a_job(i).ram(i % 3 == 0 ? 1e12 : 1));
    w.match();
    EXPECT_THAT(w.trace.rows, SizeIs(30));
    int sent = 0;
    for (const auto& r : w.trace.rows) {
        sent += r.fate == Reason::kFeasible ? 1 : 0;
        EXPECT_EQ(r.fate == Reason::kMemory, r.result % 3 == 0);
        double sum = 0;
        for (const auto& [name, points] : r.points) sum += points;
        EXPECT_NEAR(sum, r.score, 1e-9);
    }
    EXPECT_EQ(sent, 1);
}

// Fifty jobs for Windows say nothing to a Linux host's owner; the one limit that held back the rest does.
TEST_F(Flows, TheBindingReasonComesFirst) {
    w.app(2);
    w.tables.versions.back().platformid = 3;
    for (int i = 1; i <= 50; ++i) w.pool.add(a_job(i).app(2));
    for (int i = 51; i <= 60; ++i) w.pool.add(a_job(i).ram(1e12));
    w.pool.add(a_job(61));
    w.params.max_jobs_in_progress.apps["app1"].total.jobs = 1;
    w.host.in_progress.push_back(holding(1, ProcType::kCpu));
    EXPECT_THAT(binding_order(w.match().stats),
                ElementsAre(Reason::kAppInProgressLimit, Reason::kMemory, Reason::kNoAppVersion));
}

TEST_F(Flows, TheNearestMissIsKept) {
    for (int i = 1; i <= 5; ++i) w.pool.add(a_job(i).ram((8 + i) * kGiB));
    const ReasonCount r = w.match().stats.reasons[static_cast<std::size_t>(Reason::kMemory)];
    EXPECT_EQ(r.count, 5u);
    EXPECT_EQ(r.nearest_result, 1);
    EXPECT_EQ(r.nearest.required, 9 * kGiB);
    EXPECT_EQ(r.nearest.value, 8 * kGiB);
}

TEST_F(Flows, ManyAppsAndLargeIds) {
    for (Id a : {5000, 123456, 2000000000}) w.app(a);
    w.pool.add(a_job(1).app(123456));
    EXPECT_THAT(w.sent(), ElementsAre(1));
    w.pool.add(a_job(2).app(2000000000));
    EXPECT_THAT(w.sent(), ElementsAre(2));
    EXPECT_EQ(w.why(a_job(3).app(6000)), Reason::kNoSuchApp);
    EXPECT_EQ(w.why(a_job(4).app(-5)), Reason::kNoSuchApp);
}

}  // namespace
}  // namespace sluice::test
