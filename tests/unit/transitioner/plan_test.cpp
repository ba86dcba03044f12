// SPDX-License-Identifier: LGPL-3.0-or-later
// The rules of upstream's transitioner, one after the other (the numbers are the order in which it applies them).
#include "daemons/transitioner/config_params.h"
#include "sluice/model/host.h"
#include "tests/unit/transitioner/a_workunit.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// 1, 16: a new workunit gets its instances.
TEST(Plan, ANewWorkunitGetsTargetNresultsResults) {
    AWorkunit wu;
    wu.facts.wu.target_nresults = 3;
    wu.facts.wu.priority = 12;
    const TransitionPlan plan = wu.plan();
    EXPECT_EQ(plan.create.count, 3);
    EXPECT_EQ(plan.create.first_suffix, 0);
    EXPECT_EQ(plan.create.state, ServerState::kUnsent);
    EXPECT_EQ(plan.create.priority, 12);
    EXPECT_THAT(plan.results, IsEmpty());
    EXPECT_EQ(plan.workunit.error_mask, 0);
    EXPECT_EQ(plan.workunit.transition_time, kNow + 864000);
}

TEST(Plan, SizedJobsAreMadeInactive) {
    for (const int size_class : {-1, 0, 2}) {
        AWorkunit wu;
        wu.facts.wu.size_class = size_class;
        EXPECT_EQ(wu.plan().create.state, ServerState::kUnsent) << size_class << ": no regulator would release it";
        wu.params.apps_with_size_classes = {wu.facts.wu.appid};
        EXPECT_EQ(wu.plan().create.state, size_class < 0 ? ServerState::kUnsent : ServerState::kInactive) << size_class;
        EXPECT_EQ(wu.plan().create.size_class, size_class);
    }
}

// Upstream's submit tools and work generators know nothing of size classes.
TEST(Plan, Level1ANewJobGetsASizeClass) {
    AWorkunit wu;
    wu.params.apps_with_size_classes = {wu.facts.wu.appid};
    wu.params.typical_sizes[wu.facts.wu.appid] = {{0, 1e12}, {2, 1e15}};
    wu.facts.wu.rsc_fpops_est = 3e14;
    EXPECT_EQ(wu.plan().create.state, ServerState::kUnsent) << "level 0: as upstream";
    EXPECT_EQ(wu.plan().workunit.size_class, -1);

    wu.params.compat_level = 1;
    EXPECT_EQ(wu.plan().create.state, ServerState::kInactive);
    EXPECT_EQ(wu.plan().create.size_class, 2);
    EXPECT_EQ(wu.plan().workunit.size_class, 2);
    wu.params.typical_sizes[wu.facts.wu.appid] = {};
    EXPECT_EQ(wu.plan().create.size_class, 0) << "nothing is known: the smallest";
    wu.facts.wu.size_class = 1;
    EXPECT_EQ(wu.plan().create.size_class, 1) << "it has one";

    wu.facts.wu.size_class = -1;
    wu.over(Outcome::kNoReply);
    EXPECT_EQ(wu.plan().create.count, 1);
    EXPECT_EQ(wu.plan().create.size_class, -1) << "not new: its first job went out without one";
    EXPECT_EQ(wu.plan().create.state, ServerState::kUnsent);
}

TEST(Plan, NamesGoOnBehindTheHighestSuffix) {
    AWorkunit wu;
    wu.error();
    wu.error();
    wu.facts.results[0].suffix = 17;
    wu.facts.results[1].suffix = -1;
    EXPECT_EQ(wu.plan().create.first_suffix, 18);
}

TEST(ResultNameSuffix, IsTheNumberBehindTheLastUnderscore) {
    const std::vector<std::pair<std::string, std::int64_t>> cases = {
        {"wu_0", 0},   {"a_b_12", 12}, {"wu_123_1700000000_4", 4}, {"wu", -1}, {"wu_", -1}, {"wu_x", -1}, {"wu_3x", -1},
        {"wu_-4", -1}, {"", -1},       {"wu_99999999999", -1}};
    for (const auto& [name, suffix] : cases) EXPECT_EQ(result_name_suffix(name), suffix) << name;
}

// 2: time-outs.
TEST(Plan, AnOverdueResultTimesOut) {
    AWorkunit wu;
    wu.in_progress(kNow - 1);
    const TransitionPlan plan = wu.plan();
    EXPECT_EQ(state_of(wu, 0), "5/4");
    EXPECT_EQ(plan.results.at(0).if_deadline_before, kNow);
    ASSERT_EQ(plan.timed_out.size(), 1u);
    EXPECT_EQ(plan.timed_out[0].hostid, 11);
    EXPECT_EQ(plan.timed_out[0].generalized_version, 21);
    EXPECT_EQ(plan.timed_out[0].turnaround, 1000);
    EXPECT_EQ(plan.create.count, 1) << "its replacement";
}

TEST(Plan, DeadlineOfThisSecondIsNotYetOver) {
    AWorkunit wu;
    wu.in_progress(kNow);
    EXPECT_THAT(wu.plan().results, IsEmpty());
    EXPECT_EQ(wu.plan().create.count, 0);
    EXPECT_EQ(wu.plan().workunit.transition_time, kNow);
}

TEST(Plan, AnonymousTimeoutsUseTheGeneralizedId) {
    AWorkunit wu;
    wu.in_progress(kNow - 1);
    wu.facts.results[0].app_version_id = -3;
    EXPECT_EQ(wu.plan().timed_out.at(0).generalized_version, 3000003);
    wu.facts.results[0].app_version_id = 0;
    EXPECT_THAT(wu.plan().timed_out, IsEmpty()) << "an unknown version has no row";
}

TEST(Penalize, TurnaroundQuotaAndRecord) {
    struct Case {
        int max_jobs, quota, after;
    };
    for (const Case& c : {Case{0, 500, 499}, {600, 500, 499}, {10, 500, 9}, {1, 500, 1}, {2, 500, 1}, {50, 0, 1}}) {
        HostAppVersion v;
        v.max_jobs_per_day = c.max_jobs, v.consecutive_valid = 30;
        v.turnaround = {1, 200, 0, 0};
        penalize(v, {.turnaround = 1000, .daily_quota = c.quota});
        EXPECT_EQ(v.max_jobs_per_day, c.after) << c.max_jobs << " of " << c.quota;
        EXPECT_EQ(v.consecutive_valid, 0);
        EXPECT_EQ(v.turnaround.n, 2);
        EXPECT_DOUBLE_EQ(v.turnaround.avg, 600);
    }
}

// 3-5, 10: what may be validated.
TEST(Plan, TheQuorumAsksForValidation) {
    struct Case {
        std::string name;
        std::vector<ValidateState> successes;
        int quorum;
        bool need;
    };
    using V = ValidateState;
    for (const Case& c : {Case{"one short of the quorum", {V::kInit}, 2, false},
                          {"quorum reached", {V::kInit, V::kInit}, 2, true},
                          {"inconclusive ones count", {V::kInconclusive, V::kInit}, 2, true},
                          {"nothing new", {V::kInconclusive, V::kInconclusive}, 2, false},
                          {"invalid ones don't count", {V::kInvalid, V::kInit}, 2, false},
                          {"valid ones count", {V::kValid, V::kInit}, 2, true},
                          {"quorum of one", {V::kInit}, 1, true}}) {
        AWorkunit wu;
        wu.quorum(c.quorum);
        for (const V v : c.successes) wu.success(v);
        EXPECT_EQ(wu.plan().workunit.need_validate, c.need) << c.name;
    }
}

TEST(Plan, AnAskedForValidationStaysAskedFor) {
    AWorkunit wu;
    wu.facts.wu.need_validate = true;
    wu.unsent();
    EXPECT_TRUE(wu.plan().workunit.need_validate);
}

TEST(Plan, WithCanonicalFilesGoneItIsTooLate) {
    AWorkunit wu;
    wu.canonical(100).assimilated().success(ValidateState::kValid).success();
    EXPECT_TRUE(wu.plan().workunit.need_validate);
    wu.facts.results[0].file_delete_state = FileDeleteState::kDone;
    EXPECT_EQ(wu.after(1).validate_state, ValidateState::kTooLate);
    EXPECT_FALSE(wu.plan().workunit.need_validate);
}

// 6-9: how an outcome counts, seen by what is made in its place and whether it can end the workunit.
TEST(Plan, OutcomesAndTheirReplacements) {
    struct Case {
        std::string name;
        Outcome outcome;
        int exit_status;
        int created;
        int error_mask;
    };
    for (const Case& c : {Case{"client error", Outcome::kClientError, 1, 0, kWuTooManyErrors},
                          {"aborted by the volunteer", Outcome::kClientError, kExitAbortedViaGui, 1, 0},
                          {"validate error", Outcome::kValidateError, 0, 0, kWuTooManyErrors},
                          {"no reply", Outcome::kNoReply, 0, 1, 0},
                          {"detached", Outcome::kClientDetached, 0, 1, 0},
                          {"could not send", Outcome::kCouldntSend, 0, 0, kWuCouldntSend},
                          {"not needed", Outcome::kDidntNeed, 0, 1, 0},
                          {"success", Outcome::kSuccess, 0, 0, 0}}) {
        AWorkunit wu;
        wu.facts.wu.max_error_results = 0;
        wu.over(c.outcome);
        wu.facts.results[0].exit_status = c.exit_status;
        EXPECT_EQ(wu.plan().create.count, c.created) << c.name;
        EXPECT_EQ(wu.plan().workunit.error_mask, c.error_mask) << c.name;
    }
}

// What could not be started in time was not run; upstream counts it against the job, and so does level 0 without plans
// and gangs. That the project has aborted it anybody may say.
TEST(Plan, AnUnstartedTimeoutIsNobodysError) {
    ProjectConfig level0, level1, planned, gangs;
    level1.compat_level = 1;
    planned.plan_batches = true;
    gangs.gang_hub = "localhost:8077";
    EXPECT_FALSE(transition_params(level0).forgive_unstarted);
    for (const ProjectConfig& c : {level1, planned, gangs}) EXPECT_TRUE(transition_params(c).forgive_unstarted);
    for (const int status : {kExitUnstartedLate, kExitAbortedByProject, 1})
        for (const bool forgiving : {false, true}) {
            const bool forgiven = forgiving && status == kExitUnstartedLate;
            AWorkunit wu;
            wu.params.forgive_unstarted = forgiving;
            wu.facts.wu.max_error_results = 0;
            wu.over(Outcome::kClientError);
            wu.facts.results[0].exit_status = status;
            EXPECT_EQ(wu.plan().create.count, forgiven ? 1 : 0) << "another is made at once";
            EXPECT_EQ(wu.plan().workunit.error_mask, forgiven ? 0 : kWuTooManyErrors);
        }
}

// What was given up early keeps the files until it reports, or its deadline; if only to say that it was aborted.
TEST(Plan, FilesWaitForWhatMayReportOnly) {
    for (const bool said : {false, true}) {
        AWorkunit wu;
        wu.success().over(Outcome::kNoReply);
        wu.facts.results[1].report_deadline = kNow + 100;
        wu.facts.results[1].received_time = said ? kNow - 10 : 0;
        wu.facts.wu.canonical_resultid = wu.facts.results[0].id;
        wu.facts.results[0].validate_state = ValidateState::kValid;
        wu.facts.wu.assimilate_state = AssimilateState::kDone;
        EXPECT_EQ(wu.plan().workunit.file_delete_state, said ? FileDeleteState::kReady : FileDeleteState::kInit);
    }
}

// 12: commitments are given up when nothing came of them.
TEST(Plan, CommitmentsAreGivenUpAfterErrorsOnly) {
    struct Case {
        std::string name;
        AWorkunit wu;
        bool given_up;
    };
    for (const Case& c : {Case{"only errors", AWorkunit().error().error(), true},
                          {"an error, one waiting", AWorkunit().error().unsent(), true},
                          {"one in progress", AWorkunit().error().in_progress(kNow + 10), false},
                          {"a success", AWorkunit().error().success(), false},
                          {"one that did not reply", AWorkunit().error().over(Outcome::kNoReply), false},
                          {"one that timed out just now", AWorkunit().error().in_progress(kNow - 10), false},
                          {"no error", AWorkunit().over(Outcome::kDidntNeed), false}}) {
        AWorkunit wu = c.wu;
        wu.facts.wu.hr_class = 386;
        wu.facts.wu.app_version_id = 4;
        EXPECT_EQ(wu.plan().workunit.hr_class, c.given_up ? 0 : 386) << c.name;
        EXPECT_EQ(wu.plan().workunit.app_version_id, c.given_up ? 0 : 4) << c.name;
        wu.params.hr_class_static = true;
        EXPECT_EQ(wu.plan().workunit.hr_class, 386) << c.name;
    }
}

// 13
TEST(Plan, MoreErrorsThanAllowed) {
    AWorkunit wu;
    wu.facts.wu.max_error_results = 2;
    wu.facts.wu.max_total_results = 10;
    wu.error().error();
    EXPECT_EQ(wu.plan().workunit.error_mask, 0) << "as many as allowed";
    EXPECT_EQ(wu.plan().create.count, 1);
    wu.error();
    EXPECT_EQ(wu.plan().workunit.error_mask, kWuTooManyErrors);
    EXPECT_EQ(wu.plan().create.count, 0);
}

// 14
TEST(Plan, TotalResultsAreLimited) {
    struct Case {
        std::string name;
        int target, max_total, no_reply, waiting;
        int created, mask;
    };
    for (const Case& c : {Case{"room for all", 3, 5, 1, 0, 3, 0},
                          {"room for some", 3, 5, 3, 0, 2, 0},
                          {"no room, one needed", 3, 3, 3, 0, 0, kWuTooManyTotal},
                          {"no room, none needed", 1, 3, 2, 1, 0, 0},
                          {"more than allowed already", 1, 2, 2, 1, 0, kWuTooManyTotal}}) {
        AWorkunit wu;
        wu.facts.wu.target_nresults = c.target, wu.facts.wu.max_total_results = c.max_total;
        for (int i = 0; i < c.no_reply; ++i) wu.over(Outcome::kNoReply);
        for (int i = 0; i < c.waiting; ++i) wu.unsent();
        EXPECT_EQ(wu.plan().create.count, c.created) << c.name;
        EXPECT_EQ(wu.plan().workunit.error_mask, c.mask) << c.name;
    }
}

TEST(Plan, ACancelledJobHasNoTooManyResults) {
    for (const int level : {0, 1}) {
        AWorkunit wu;
        wu.params.compat_level = level;
        wu.over(Outcome::kDidntNeed);
        wu.facts.wu.max_total_results = 1;
        EXPECT_EQ(wu.plan().workunit.error_mask, kWuTooManyTotal);
        wu.facts.wu.error_mask = kWuCancelled;
        EXPECT_EQ(wu.plan().workunit.error_mask, kWuCancelled);
        EXPECT_EQ(wu.plan().create.count, 0);
        wu.facts.wu.max_total_results = 0;
        EXPECT_EQ(wu.plan().workunit.error_mask, kWuCancelled);
    }
}

TEST(Plan, Level1ADoneJobIsNoError) {
    AWorkunit wu;
    wu.quorum(2).canonical(100).success(ValidateState::kValid).over(Outcome::kNoReply).over(Outcome::kNoReply);
    wu.facts.wu.max_total_results = 3;
    EXPECT_EQ(wu.plan().workunit.error_mask, kWuTooManyTotal) << "upstream";
    wu.params.compat_level = 1;
    EXPECT_EQ(wu.plan().workunit.error_mask, 0);
}

// 15
TEST(Plan, ErrorEndsWhatWaitsAndLeavesWhatRuns) {
    AWorkunit wu;
    wu.facts.wu.error_mask = kWuCancelled;
    wu.inactive().unsent().in_progress(kNow + 100).success().success(ValidateState::kInconclusive);
    wu.success(ValidateState::kValid);
    EXPECT_EQ(state_of(wu, 0), "5/5");
    EXPECT_EQ(state_of(wu, 1), "5/5");
    EXPECT_EQ(state_of(wu, 2), "4/0");
    EXPECT_EQ(wu.after(3).validate_state, ValidateState::kNoCheck);
    EXPECT_EQ(wu.after(4).validate_state, ValidateState::kNoCheck);
    EXPECT_EQ(wu.after(5).validate_state, ValidateState::kValid);
    EXPECT_EQ(wu.plan().workunit.assimilate_state, AssimilateState::kReady);
    EXPECT_EQ(wu.plan().create.count, 0);
    EXPECT_EQ(wu.plan().workunit.transition_time, kNow + 100);
}

TEST(Plan, AnErrorIsHandedToTheAssimilatorOnce) {
    AWorkunit wu;
    wu.facts.wu.error_mask = kWuTooManyErrors;
    wu.error().assimilated();
    EXPECT_EQ(wu.plan().workunit.assimilate_state, AssimilateState::kDone);
}

// 16
TEST(Plan, NoNewResultsForTargetedOrFinishedJobs) {
    AWorkunit targeted;
    targeted.facts.wu.transitioner_flags = TransitionerFlags::kNoNewResults;
    EXPECT_EQ(targeted.plan().create.count, 0);
    EXPECT_EQ(targeted.plan().workunit.error_mask, 0);
    AWorkunit finished;
    finished.quorum(2).canonical(100).success(ValidateState::kValid);
    EXPECT_EQ(finished.plan().create.count, 0);
}

TEST(Plan, PriorityOfRetries) {
    struct Case {
        std::string name;
        AWorkunit wu;
        std::int64_t on_over, except_error;
        std::int64_t boost;
    };
    for (const Case& c : {Case{"first results", AWorkunit(), 10, 5, 0},
                          {"after a time-out found now", AWorkunit().in_progress(kNow - 1), 10, 5, 10},
                          {"after an error", AWorkunit().error(), 10, 5, 10},
                          {"after one not needed", AWorkunit().over(Outcome::kDidntNeed), 10, 5, 10},
                          {"after a time-out, only the second option", AWorkunit().over(Outcome::kNoReply), 0, 5, 5},
                          {"after an error, only the second option", AWorkunit().error(), 0, 5, 0},
                          {"after a success", AWorkunit().quorum(2).success(), 0, 5, 5},
                          {"neither", AWorkunit().over(Outcome::kNoReply), 0, 0, 0}}) {
        AWorkunit wu = c.wu;
        wu.facts.wu.priority = 100;
        wu.params.priority_on_over = c.on_over, wu.params.priority_on_over_except_error = c.except_error;
        ASSERT_GT(wu.plan().create.count, 0) << c.name;
        EXPECT_EQ(wu.plan().create.priority, 100 + c.boost) << c.name;
    }
}

// Upstream's validator cancels UNSENT results only: an INACTIVE one kept the workunit open for ever.
TEST(Plan, WaitingOnesAreCancelledByACanonicalResult) {
    for (const int level : {0, 1}) {
        AWorkunit wu;
        wu.params.compat_level = level;
        wu.quorum(2).canonical(100).assimilated().success(ValidateState::kValid).inactive().unsent();
        EXPECT_EQ(state_of(wu, 1), "5/5");
        EXPECT_EQ(state_of(wu, 2), "5/5");
        EXPECT_EQ(wu.plan().workunit.file_delete_state, FileDeleteState::kReady);
    }
}

// 21, 22
TEST(Plan, NextTransition) {
    struct Case {
        std::string name;
        AWorkunit wu;
        std::int64_t delay_bound, next;
    };
    AWorkunit cancelled;
    cancelled.facts.wu.error_mask = kWuCancelled;
    for (const Case& c :
         {Case{"waiting", AWorkunit().unsent(), 1000, kNow + 864000},
          {"long delay bound", AWorkunit().unsent(), 1000001, kNow + 1500001},
          {"the first deadline", AWorkunit().quorum(2).in_progress(kNow + 90).in_progress(kNow + 50), 1000, kNow + 50},
          {"canonical", AWorkunit().canonical(100).success(ValidateState::kValid), 1000, kNever},
          {"error", cancelled, 1000, kNever},
          {"error, one runs", AWorkunit(cancelled).in_progress(kNow + 70), 1000, kNow + 70},
          {"beyond 2038", AWorkunit().unsent(), 900000000, kNever}}) {
        AWorkunit wu = c.wu;
        wu.facts.wu.delay_bound = c.delay_bound;
        EXPECT_EQ(wu.plan().workunit.transition_time, c.next) << c.name;
    }
}

TEST(Plan, NextTransitionInPastIsMovedAheadBoundedly) {
    AWorkunit wu;  // no deadline lies in the past here: those time out. A delay bound below zero makes one
    wu.facts.wu.delay_bound = -5;
    wu.unsent();
    EXPECT_GT(wu.plan().workunit.transition_time, kNow);
}

TEST(Plan, PostponedCreationKeepsTheRestOfThePlan) {
    AWorkunit wu;
    wu.in_progress(kNow - 1);
    TransitionPlan plan = wu.plan();
    postpone_creation(plan, kNow, 300);
    EXPECT_EQ(plan.create.count, 0);
    EXPECT_EQ(plan.workunit.transition_time, kNow + 300);
    EXPECT_EQ(plan.results.size(), 1u);
}

TEST(Plan, NothingToDoChangesNothing) {
    AWorkunit wu;
    wu.quorum(2).unsent().in_progress(kNow + 5);
    const TransitionPlan plan = wu.plan();
    EXPECT_THAT(plan.results, IsEmpty());
    EXPECT_THAT(plan.timed_out, IsEmpty());
    EXPECT_THAT(plan.notes, IsEmpty());
    EXPECT_EQ(plan.create.count, 0);
}

}  // namespace
}  // namespace sluice::test
