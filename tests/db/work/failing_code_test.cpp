// SPDX-License-Identifier: LGPL-3.0-or-later
// Daemons that run for hours beside project code that fails on a workunit each time.
#include <gmock/gmock.h>

#include "tests/db/work/lasting_daemons.h"
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

/// Hangs on result 10, and finds all others equal.
struct HangingJudge final : PairJudge {
    using PairJudge::PairJudge;
    OutputCheck look(const JudgedWorkunit& w, std::size_t result) override {
        OutputCheck check;
        if (w.result(result).id != 10) return check;
        ++calls;
        check = {.kind = OutputCheck::Kind::kTransient, .key = "", .why = "it hung", .code_failed = true};
        return check;
    }
    Agreement compare(const JudgedWorkunit&, std::size_t, std::size_t) override { return Agreement::kSame; }
    int calls = 0;
};

struct FailingCode : WorkChain {
    /// A workunit of one instance, which was returned.
    void job(Id wu) {
        make_workunit(1);
        db_.execute(Sql("UPDATE workunit SET name=CONCAT('w', id)"));
        returned(10 * wu, wu, 1, "x");
    }
};

TEST_F(FailingCode, ValidatorGivesUpAfterTenFailures) {
    LastingValidator lasting(project_.path(), db_);
    HangingJudge judge(lasting.clock);
    lasting.options.judge = &judge;
    job(1);
    for (int failures = 1; failures <= 10; ++failures) {
        job(1 + failures);
        lasting.pass_after(3600);
        EXPECT_EQ(judge.calls, failures);
        EXPECT_EQ(results().back()[3], "1") << "the other one is judged";
        EXPECT_EQ(results()[0][2] + results()[0][3], failures < 10 ? "10" : "62") << failures;
    }
}

TEST_F(FailingCode, ValidatorBlamesNoWorkunitForAnOutage) {
    LastingValidator lasting(project_.path(), db_);
    HangingJudge judge(lasting.clock);
    lasting.options.judge = &judge;
    job(1);
    for (int i = 0; i < 30; ++i) {
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
        lasting.pass_after(3600);
    }
    EXPECT_EQ(judge.calls, 30);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "0"}})) << "the code has judged nothing meanwhile";
}

TEST_F(FailingCode, AssimilatorAsksForHelpAndGoesOn) {
    job(1);
    db_.execute(Sql("UPDATE workunit SET need_validate=0, assimilate_state=1, error_mask=1"));
    LastingAssimilator lasting(project_.path(), db_, "absent wu_name");
    const auto said = [&] {
        testing::internal::CaptureStderr();
        lasting.pass_after(3600);
        return testing::internal::GetCapturedStderr();
    };
    for (int i = 1; i <= 12; ++i)
        EXPECT_EQ(said().find("[WU#1 w1] absent has failed 10 times on it") != std::string::npos, i == 10) << i;
    EXPECT_EQ(count("assimilate_state=1"), 1);
}

}  // namespace
}  // namespace sluice::test
