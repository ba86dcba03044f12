// SPDX-License-Identifier: LGPL-3.0-or-later
// Assimilation that was put off, and when files may be deleted (rules 17 to 20).
#include "tests/unit/transitioner/a_workunit.h"

namespace sluice::test {
namespace {

using F = FileDeleteState;
using V = ValidateState;

AWorkunit done() { return AWorkunit().canonical(100).assimilated().success(V::kValid); }

// 18: deferred assimilation.
TEST(PlanFiles, AssimilationWaitsUntilAllIsOver) {
    struct Case {
        std::string name;
        AWorkunit wu;
        AssimilateState after;
    };
    for (const Case& c :
         {Case{"all over", AWorkunit().canonical(100).success(V::kValid).error(), AssimilateState::kReady},
          {"one runs", AWorkunit().canonical(100).success(V::kValid).in_progress(kNow + 9), AssimilateState::kInit},
          {"one not validated", AWorkunit().canonical(100).success(V::kValid).success(), AssimilateState::kInit},
          {"no canonical result", AWorkunit().success(V::kInvalid), AssimilateState::kInit}}) {
        EXPECT_EQ(c.wu.plan().workunit.assimilate_state, c.after) << c.name;
    }
    AWorkunit late = AWorkunit().canonical(100).success(V::kValid).over(Outcome::kNoReply);
    late.facts.results[1].report_deadline = kNow + 50;
    EXPECT_EQ(late.plan().workunit.assimilate_state, AssimilateState::kReady) << "a job that is given up may be late";
}

// 17, 19: input files.
TEST(PlanFiles, InputFilesGoAfterValidation) {
    struct Case {
        std::string name;
        AWorkunit wu;
        F after;
    };
    for (const Case& c : {Case{"done", done(), F::kReady},
                          {"one runs", done().in_progress(kNow + 9), F::kInit},
                          {"one not validated", done().success(), F::kInit},
                          {"an error beside it", done().error(), F::kReady},
                          {"inconclusive is decided enough", done().success(V::kInconclusive), F::kReady}}) {
        EXPECT_EQ(c.wu.plan().workunit.file_delete_state, c.after) << c.name;
    }
    AWorkunit failed;
    failed.facts.wu.error_mask = kWuTooManyErrors;
    failed.assimilated().error();
    EXPECT_EQ(failed.plan().workunit.file_delete_state, F::kReady);
    AWorkunit not_assimilated = AWorkunit().canonical(100).success(V::kValid);
    not_assimilated.facts.wu.assimilate_state = AssimilateState::kReady;
    EXPECT_EQ(not_assimilated.plan().workunit.file_delete_state, F::kInit);
}

TEST(PlanFiles, AStateAlreadyReachedStays) {
    for (const F state : {F::kReady, F::kDone, F::kError}) {
        AWorkunit wu = done();
        wu.facts.wu.file_delete_state = wu.facts.results[0].file_delete_state = state;
        EXPECT_EQ(wu.plan().workunit.file_delete_state, state);
        EXPECT_EQ(wu.after(0).file_delete_state, state);
    }
}

// 19: output files.
TEST(PlanFiles, OutputFilesByOutcome) {
    struct Case {
        std::string name;
        Outcome outcome;
        V validate;
        F level0, level1;
    };
    for (const Case& c :
         {Case{"valid", Outcome::kSuccess, V::kValid, F::kReady, F::kReady},
          {"invalid", Outcome::kSuccess, V::kInvalid, F::kReady, F::kReady},
          {"too late", Outcome::kSuccess, V::kTooLate, F::kReady, F::kReady},
          {"no check", Outcome::kSuccess, V::kNoCheck, F::kReady, F::kReady},
          {"not validated", Outcome::kSuccess, V::kInit, F::kInit, F::kInit},
          {"client error", Outcome::kClientError, V::kInvalid, F::kReady, F::kReady},
          {"validate error: upstream leaves the files", Outcome::kValidateError, V::kInvalid, F::kInit, F::kReady},
          {"no reply", Outcome::kNoReply, V::kInit, F::kInit, F::kInit},
          {"not needed", Outcome::kDidntNeed, V::kInit, F::kInit, F::kInit},
          {"detached", Outcome::kClientDetached, V::kInit, F::kInit, F::kInit}}) {
        AWorkunit wu = done();
        wu.over(c.outcome);
        wu.facts.results[1].validate_state = c.validate;
        EXPECT_EQ(wu.after(1).file_delete_state, c.level0) << c.name;
        wu.params.compat_level = 1;
        EXPECT_EQ(wu.after(1).file_delete_state, c.level1) << c.name;
    }
}

TEST(PlanFiles, CanonicalOutputStaysWhileComparable) {
    AWorkunit wu = done().success(V::kInvalid).in_progress(kNow + 9);
    EXPECT_EQ(wu.after(0).file_delete_state, F::kInit);
    EXPECT_EQ(wu.after(1).file_delete_state, F::kReady);
    EXPECT_EQ(done().after(0).file_delete_state, F::kReady);
}

// 20
TEST(PlanFiles, TheDeleteDelayCountsFromTheLastReport) {
    AWorkunit wu =
        AWorkunit().canonical(100).assimilated().success(V::kValid, kNow - 900).success(V::kValid, kNow - 100);
    wu.params.delete_delay = 500;
    EXPECT_EQ(wu.plan().workunit.file_delete_state, F::kInit);
    EXPECT_EQ(wu.after(0).file_delete_state, F::kInit);
    EXPECT_EQ(wu.plan().workunit.transition_time, kNow + 400);
    wu.params.delete_delay = 100;
    EXPECT_EQ(wu.plan().workunit.file_delete_state, F::kReady) << "now is late enough";
    EXPECT_EQ(wu.plan().workunit.transition_time, kNever);
}

// A result given up while its deadline is still ahead may be reported: the files wait for that moment, and the
// workunit is looked at again then. With nothing else to wake it, "never" would keep the files for ever.
TEST(PlanFiles, FilesWaitForLateReportAndThenGo) {
    AWorkunit wu = done().over(Outcome::kNoReply);
    wu.facts.results[1].report_deadline = kNow + 50;
    EXPECT_EQ(wu.plan().workunit.file_delete_state, F::kInit);
    EXPECT_EQ(wu.plan().workunit.transition_time, kNow + 50);
    // Before assimilation nothing waits for it: the assimilator makes the workunit due. As upstream.
    wu.facts.wu.assimilate_state = AssimilateState::kReady;
    EXPECT_EQ(wu.plan().workunit.transition_time, kNever);
    wu.facts.wu.assimilate_state = AssimilateState::kDone;
    wu.facts.results[1].report_deadline = kNow;
    EXPECT_EQ(wu.plan().workunit.file_delete_state, F::kReady);
    EXPECT_EQ(wu.plan().workunit.transition_time, kNever);
}

}  // namespace
}  // namespace sluice::test
