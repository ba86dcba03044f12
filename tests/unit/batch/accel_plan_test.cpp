// SPDX-License-Identifier: LGPL-3.0-or-later
// Which batches are accelerated and what becomes of their jobs: upstream's facts at level 0, seed 004 at level 1.
#include "daemons/batches/acceleration_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

constexpr std::int64_t kAccelTime = 1'700'000'000;

BatchFacts facts(int njobs, int done, bool accelerable = true) {
    BatchFacts f;
    f.batch.id = 1;
    f.batch.state = BatchState::kInProgress;
    f.progress = {1, njobs, done, 0, 0};
    f.accelerable = accelerable;
    f.turnaround = 1000;
    return f;
}

OpenInstance one(Id id, ServerState state, std::int64_t age = 0, Outcome outcome = Outcome::kInit,
                 std::int64_t priority = 0) {
    OpenInstance i;
    i.id = id;
    i.server_state = state;
    i.outcome = outcome;
    i.sent_time = kAccelTime - age;
    i.priority = priority;
    return i;
}
OpenInstance running(std::int64_t age, Id id = 1) { return one(id, ServerState::kInProgress, age); }
OpenInstance waiting(Id id = 2, std::int64_t priority = 0) {
    return one(id, ServerState::kUnsent, 0, Outcome::kInit, priority);
}
OpenInstance over(Outcome outcome, Id id = 3) { return one(id, ServerState::kOver, 9000, outcome); }

OpenJob a_job(std::vector<OpenInstance> instances, int target = 1, int max_total = 5) {
    OpenJob j;
    j.wu.id = 10;
    j.wu.batch = 1;
    j.wu.min_quorum = 1;
    j.wu.target_nresults = target;
    j.wu.max_total_results = max_total;
    j.instances = std::move(instances);
    return j;
}

TEST(AccelBatch, ThresholdsOfBothLevels) {
    struct Case {
        int njobs, done;
        bool level0, level1;
    };
    for (const Case& c : {Case{1000, 850, false, false},
                          {1000, 851, true, false},
                          {1000, 899, true, false},
                          {1000, 900, true, true},
                          {100, 80, false, false},
                          {100, 81, true, false},
                          {19, 0, true, false},
                          {20, 0, false, false},
                          {1, 0, true, false}})
        for (const int level : {0, 1})
            EXPECT_EQ(judge(facts(c.njobs, c.done), accel_rules(level)).accelerate, level == 0 ? c.level0 : c.level1)
                << c.done << " of " << c.njobs << ", level " << level;
}

// Batches of which more than a tenth went to hosts that never return them: waiting for 90 % would be waiting for their
// deadlines.
TEST(AccelBatch, LateJobsCountAsDoneAtLevelOne) {
    const AccelRules rules = accel_rules(1);
    BatchFacts f = facts(150, 126);
    EXPECT_FALSE(judge(f, rules).accelerate);
    ASSERT_TRUE(late_jobs_matter(f, rules));
    f.late = 8;
    EXPECT_FALSE(judge(f, rules).accelerate) << "134 of 150";
    f.late = 9;
    EXPECT_TRUE(judge(f, rules).accelerate) << "135 of 150";
    EXPECT_EQ(text_of(judge(f, rules)), "accelerated: 84.0 % done, 9 jobs are late and count as done");
    EXPECT_FALSE(late_jobs_matter(f, accel_rules(0))) << "upstream waits for their deadlines";
    EXPECT_FALSE(late_jobs_matter(facts(150, 74), rules)) << "less than half: what is late, nobody knows";
    EXPECT_FALSE(late_jobs_matter(facts(150, 135), rules)) << "enough as it is";
    EXPECT_FALSE(late_jobs_matter(facts(150, 126, false), rules));
}

TEST(AccelBatch, AJobIsLateAfterThreeTurnarounds) {
    const AccelRules rules = accel_rules(1);
    BatchFacts f = facts(150, 126);
    const auto late = [&](const OpenJob& job) { return is_late(job, f, rules, kAccelTime); };
    EXPECT_FALSE(late(a_job({running(2999)})));
    EXPECT_TRUE(late(a_job({running(3000)})));
    EXPECT_FALSE(late(a_job({waiting()})));
    EXPECT_TRUE(late(a_job({running(3000), waiting()}))) << "its copy does not take it back";
    EXPECT_TRUE(late(a_job({over(Outcome::kNoReply), running(10, 2)})));
    EXPECT_FALSE(is_late(a_job({running(9000)}), f, accel_rules(0), kAccelTime));
    f.turnaround.reset();
    EXPECT_FALSE(late(a_job({running(9000)})));
}

TEST(AccelBatch, FailedJobsAreDoneToo) {
    BatchFacts f = facts(1000, 800);
    f.progress.errors = 60;
    EXPECT_TRUE(judge(f, accel_rules(0)).accelerate);
}

TEST(AccelBatch, WhatKeepsABatchFromIt) {
    const AccelRules rules = accel_rules(0);
    for (const BatchState state :
         {BatchState::kInit, BatchState::kComplete, BatchState::kAborted, BatchState::kRetired}) {
        BatchFacts f = facts(100, 99);
        f.batch.state = state;
        EXPECT_EQ(judge(f, rules).why, BatchWhy::kNotInProgress);
        EXPECT_FALSE(judge(f, rules).accelerate || judge(f, rules).restore);
    }
    EXPECT_EQ(judge(facts(0, 0), rules).why, BatchWhy::kNoJobs);
    EXPECT_EQ(judge(facts(100, 10), rules).why, BatchWhy::kNotEnoughDone);
    EXPECT_EQ(judge(facts(100, 99, false), rules).why, BatchWhy::kNotAccelerable);
}

TEST(AccelBatch, WhenPrioritiesComeBack) {
    BatchFacts f = facts(100, 99, false);
    EXPECT_TRUE(judge(f, accel_rules(0)).restore);
    EXPECT_TRUE(judge(f, accel_rules(0)).lower);
    f = facts(100, 10, false);
    EXPECT_FALSE(judge(f, accel_rules(0)).restore) << "upstream looks at almost finished batches only";
    f.touched = true;
    EXPECT_TRUE(judge(f, accel_rules(0)).restore) << "but what we accelerated is given back";
    EXPECT_FALSE(judge(f, accel_rules(0)).lower);
    f = facts(100, 10);
    f.touched = true;  // more jobs were submitted to it
    EXPECT_FALSE(judge(f, accel_rules(0)).restore);
    EXPECT_TRUE(judge(f, accel_rules(1)).restore);
}

JobDecision decision(const OpenJob& job, BatchFacts f = facts(100, 99), int level = 0) {
    const AccelRules rules = accel_rules(level);
    const BatchVerdict v = judge(f, rules);
    return decide(job, v, f, rules, kAccelTime);
}

TEST(AccelJob, ReasonsForAndAgainstOneInstanceMore) {
    struct Case {
        const char* what;
        OpenJob job;
        InstanceWhy why;
    };
    using W = InstanceWhy;
    using O = Outcome;
    OpenJob targeted = a_job({running(5000)});
    targeted.wu.transitioner_flags = TransitionerFlags::kNoNewResults;
    OpenJob invalid = a_job({over(O::kSuccess), running(5000)}, 1);
    invalid.instances[0].validate_state = ValidateState::kInvalid;
    OpenJob quorum = a_job({over(O::kSuccess), running(5000)}, 2);
    quorum.wu.min_quorum = 2;
    const Case cases[] = {
        {"old", a_job({running(1000)}), W::kOneMore},
        {"young", a_job({running(999)}), W::kRecent},
        {"an old and a young one", a_job({running(5000), running(10, 2)}, 2), W::kRecent},
        {"two old ones", a_job({running(5000), running(5000, 2)}, 2), W::kOneMore},
        {"one waits", a_job({running(5000), waiting()}, 2), W::kUnsentWaits},
        {"an inactive one waits for size_regulator", a_job({running(5000), one(2, ServerState::kInactive)}, 2),
         W::kUnsentWaits},
        {"at the limit", a_job({running(5000)}, 1, 1), W::kAtLimit},
        {"failed ones count for the limit", a_job({over(O::kClientError), running(5000)}, 1, 2), W::kAtLimit},
        {"asked for already", a_job({running(5000)}, 2), W::kOnItsWay},
        {"all failed: the transitioner acts", a_job({over(O::kNoReply)}), W::kOnItsWay},
        {"waits for the validator", a_job({over(O::kSuccess)}), W::kAwaitsValidation},
        {"waits for the validator, another runs", a_job({over(O::kSuccess), running(5000)}, 1), W::kAwaitsValidation},
        {"an invalid one does not wait for it", invalid, W::kOneMore},
        {"half of the quorum", quorum, W::kOneMore},
        {"for certain hosts only", targeted, W::kTargeted},
    };
    for (const Case& c : cases)
        for (const int level : {0, 1}) EXPECT_EQ(decision(c.job, facts(100, 99), level).instance, c.why) << c.what;
}

TEST(AccelJob, WithoutATypicalTurnaroundNothingIsOld) {
    BatchFacts f = facts(10, 0);
    f.turnaround.reset();
    EXPECT_EQ(decision(a_job({running(100000)}), f).instance, InstanceWhy::kNoTypicalTime);
}

TEST(AccelJob, Marks) {
    struct Case {
        std::int64_t priority;
        MarkWhy level0, level1;
    };
    for (const Case& c : {Case{0, MarkWhy::kMarked, MarkWhy::kMarked},
                          {1, MarkWhy::kHighAlready, MarkWhy::kHighAlready},
                          {7, MarkWhy::kHighAlready, MarkWhy::kHighAlready},
                          {-1795000000, MarkWhy::kOwnPriority, MarkWhy::kMarked}})
        for (const int level : {0, 1}) {
            OpenJob job = a_job({waiting(2, c.priority), one(4, ServerState::kInactive, 0, Outcome::kInit, c.priority),
                                 one(5, ServerState::kInProgress, 0, Outcome::kInit, c.priority),
                                 one(6, ServerState::kOver, 0, Outcome::kNoReply, c.priority)});
            job.wu.priority = c.priority;
            const JobDecision d = decision(job, facts(100, 99), level);
            EXPECT_EQ(d.mark, level == 0 ? c.level0 : c.level1) << c.priority;
            const bool marked = d.mark == MarkWhy::kMarked;
            EXPECT_EQ(d.mark_results, marked ? (std::vector<Id>{2, 4}) : std::vector<Id>{}) << c.priority;
        }
}

TEST(AccelJob, GivesTheTargetBackAtTheLimit) {
    OpenJob job = a_job({running(5000), waiting()}, 2, 2);
    AcceleratedJob before;
    before.lent = 1;
    job.before = before;
    EXPECT_TRUE(decision(job).give_back_target);
    job.wu.max_total_results = 3;
    EXPECT_FALSE(decision(job).give_back_target) << "a failed copy may still be replaced";
    job.wu.max_total_results = 2;
    job.instances.pop_back();
    job.instances.push_back(over(Outcome::kClientError));
    EXPECT_FALSE(decision(job).give_back_target) << "the transitioner has not made its choice yet";
}

TEST(AccelJob, CapsCountWhatWasAskedFor) {
    AccelRules rules = accel_rules(0);
    rules.max_extra_per_batch = 2;
    BatchFacts f = facts(100, 99);
    const BatchVerdict v = judge(f, rules);
    EXPECT_EQ(decide(a_job({running(5000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kOneMore);
    EXPECT_EQ(decide(a_job({running(5000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kOneMore);
    EXPECT_EQ(decide(a_job({running(5000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kBatchCap);
    rules.max_extra_per_batch = 0;
    rules.max_extra_total = 2;
    EXPECT_EQ(decide(a_job({running(5000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kTotalCap);
    rules = accel_rules(1);
    f = facts(1000, 950);
    f.extra = 99;
    EXPECT_EQ(decide(a_job({running(2000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kOneMore);
    EXPECT_EQ(decide(a_job({running(2000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kBatchCap)
        << "a tenth of 1000";
    f = facts(10, 9);
    f.extra = kFreeExtra - 1;
    EXPECT_EQ(decide(a_job({running(2000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kOneMore);
    EXPECT_EQ(decide(a_job({running(2000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kBatchCap);
    EXPECT_EQ(decide(a_job({running(3000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kOneMore)
        << "late: else it waits for its deadline, and the batch with it";
    rules.max_extra_per_batch = kFreeExtra;
    EXPECT_EQ(decide(a_job({running(3000)}), v, f, rules, kAccelTime).instance, InstanceWhy::kBatchCap);
}

TEST(AccelJob, WhatIsGivenBack) {
    BatchFacts f = facts(100, 99, false);
    OpenJob job = a_job({waiting(2, 1)});
    job.wu.priority = 1;
    EXPECT_EQ(decision(job, f).mark, MarkWhy::kLowered) << "marked by upstream's program";
    AcceleratedJob before;
    before.marked = true;
    job.before = before;
    EXPECT_EQ(decision(job, f).mark, MarkWhy::kGivenBack);
    job.before.reset();
    for (const std::int64_t own : {0, 7, -1795000000}) {
        job.wu.priority = job.instances[0].priority = own;
        EXPECT_EQ(decision(job, f).mark, MarkWhy::kNothingToGiveBack) << own;
    }
    EXPECT_EQ(decision(job, f).instance, InstanceWhy::kNotAccelerated);
}

TEST(AccelText, EveryReasonHasANameAndASentence) {
    std::set<std::string> names, texts;
    for (int i = 0; i <= static_cast<int>(InstanceWhy::kNotAccelerated); ++i) {
        JobDecision d;
        d.mark = MarkWhy::kMarked;
        d.instance = static_cast<InstanceWhy>(i);
        names.insert(name_of(d.instance));
        texts.insert(text_of(d));
    }
    EXPECT_EQ(names.size(), 11u);
    EXPECT_EQ(names.count("?"), 0u);
    EXPECT_EQ(texts.size(), 11u);
}

}  // namespace
}  // namespace sluice
