// SPDX-License-Identifier: LGPL-3.0-or-later
// What sluice_batch prints, and the names of jobs by which a submission goes on where it was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons/batch/batch_commands.h"
#include "daemons/batch/batch_text.h"
#include "sluice/json/input.h"

namespace sluice {
namespace {

using testing::HasSubstr;

constexpr double kLookedAt = 1793348400;  // 2026-10-30 08:20 UTC

BatchView a_batch(Id id, const std::string& name) {
    BatchView v;
    v.batch.row.id = id;
    v.batch.row.name = name;
    v.batch.row.user_id = 3;
    v.batch.row.create_time = 1793340000;
    v.batch.row.state = BatchState::kInProgress;
    v.batch.user_name = "Ada";
    v.batch.app_name = "mandelbrot";
    v.progress = {id, 200, 45, 5, 7.5};
    v.now = kLookedAt;
    return v;
}

TEST(BatchText, ListIsTableWithHeadAboveItsColumns) {
    BatchView eta = a_batch(12, "caf\xc3\xa9\n");
    eta.batch.row.est_completion_time = kLookedAt + 7200;
    EXPECT_EQ(
        list_text({a_batch(7, "tiles of May"), eta}),
        "BATCH  NAME          OWNER    APP         STATE        JOBS    DONE  FAILED  CREATED               ETA\n"
        "    7  tiles of May  Ada (3)  mandelbrot  in progress   200  25.0 %       5  2026-10-30 06:00 UTC  not known\n"
        "   12  caf\xc3\xa9          Ada (3)  mandelbrot  in progress   200  25.0 %       5  2026-10-30 06:00 UTC  in 2.0 h\n");
    EXPECT_THAT(list_text({}), HasSubstr("no batches"));
}

TEST(BatchText, EtaOnlyOfWhatIsInProgress) {
    BatchView v = a_batch(1, "b");
    EXPECT_FALSE(v.eta());
    v.batch.row.est_completion_time = kLookedAt - 60;
    EXPECT_THAT(list_text({v}), HasSubstr("overdue"));
    v.batch.row.est_completion_time = 1e300;
    EXPECT_THAT(list_text({v}), HasSubstr("not known")) << "beyond all calendars";
    v.batch.row.state = BatchState::kComplete;
    EXPECT_FALSE(v.eta());
    EXPECT_THAT(show_json(v), HasSubstr("\"eta\": null"));
}

TEST(BatchText, ShowSaysHowSureTheTimeIs) {
    BatchView v = a_batch(1, "b");
    EXPECT_THAT(show_text(v), HasSubstr("ETA                     not known\n"));
    EXPECT_THAT(show_json(v), HasSubstr("\"eta_band\": null"));
    v.batch.row.est_completion_time = kLookedAt + 7200;
    v.eta_factors = {0.25, 3};
    const EtaBand band = eta_band(kLookedAt, kLookedAt + 7200, {0.25, 3});
    EXPECT_LT(band.from, kLookedAt + 7200);
    EXPECT_GT(band.until, kLookedAt + 7200);
    EXPECT_THAT(show_text(v), HasSubstr("(in 2.0 h; with 80 % probability in " + time_span_text(band.from - kLookedAt) +
                                        " to " + time_span_text(band.until - kLookedAt) + ")\n"));
    // Of what is overdue only that it is not done is known.
    const EtaBand late = eta_band(kLookedAt, kLookedAt - 100, {});
    EXPECT_EQ(late.from, kLookedAt);
    EXPECT_GT(late.until, kLookedAt);
    v.batch.row.est_completion_time = kLookedAt - 7200;
    EXPECT_THAT(show_text(v), HasSubstr("(overdue)\n"));
}

TEST(BatchText, ShowSaysWhatTheBatchCost) {
    BatchView v = a_batch(9, "b");
    v.cost = BatchCost{110, 100, 7200 * 50, 5400};
    const std::string text = show_text(v);
    EXPECT_THAT(text, HasSubstr("instances per workunit  1.100\n"));
    EXPECT_THAT(text, HasSubstr("core-hours              100.00\n"));
    EXPECT_THAT(text, HasSubstr("wasted core-hours       1.50\n"));
    EXPECT_THAT(text, HasSubstr("done                    50 (25.0 %)\n"));
    const json::Object object = json::parse(show_json(v), "show");
    EXPECT_EQ(object.number("instances_per_workunit"), 1.1);
    EXPECT_EQ(object.number("wasted_core_hours"), 1.5);
    EXPECT_EQ(object.number("done"), 50);
    EXPECT_EQ(object.number("errors"), 5);
    EXPECT_EQ(object.text("state"), "in progress");
    EXPECT_EQ(object.number("copies"), 0);
    EXPECT_THAT(text, testing::Not(HasSubstr("copies")));
    v.cost->copies = 3, v.cost->copies_wasted_seconds = 1800;
    EXPECT_THAT(show_text(v), HasSubstr("copies                  3 (0.50 core-hours of them wasted)\n"));
    EXPECT_EQ(json::parse(show_json(v), "show").number("copies_wasted_core_hours"), 0.5);
}

TEST(BatchText, ABatchWithoutJobsDividesByNothing) {
    BatchView v = a_batch(9, "b");
    v.progress = {};
    v.cost = BatchCost{};
    EXPECT_THAT(show_text(v), HasSubstr("done                    0 (-)\n"));
    EXPECT_THAT(show_text(v), HasSubstr("instances per workunit  -\n"));
    EXPECT_THAT(show_json(v), HasSubstr("\"instances_per_workunit\": null"));
}

TEST(BatchText, NamesOfAnyBytesAreJson) {
    BatchView v = a_batch(1, "\xff\"<");
    EXPECT_EQ(json::parse(show_json(v), "show").text("name"), "\xef\xbf\xbd\"<");
}

TEST(BatchText, TimesAndStatesOfForeignRows) {
    EXPECT_EQ(utc_text(0), "-");
    EXPECT_EQ(utc_text(1e300), "-");
    EXPECT_EQ(utc_text(kLookedAt), "2026-10-30 08:20 UTC");
    EXPECT_EQ(time_span_text(59), "59 s");
    EXPECT_EQ(time_span_text(7200), "2.0 h");
    EXPECT_EQ(time_span_text(10 * 86400), "10.0 d");
    EXPECT_EQ(state_name(static_cast<BatchState>(17)), "state 17");
}

TEST(BatchText, ProgressBarAtItsEndsAndInBetween) {
    EXPECT_EQ(progress_text(0, 0, 0), "[                    ]   0 %  0 jobs");
    EXPECT_EQ(progress_text(0.5, 3000, 10), "[##########          ]  50 %  3000 jobs, 10 s left");
    EXPECT_EQ(progress_text(1.2, 6000, 20), "[####################] 100 %  6000 jobs");
    EXPECT_EQ(progress_text(-1, 6000, 20), "6000 jobs");
}

TEST(JobName, IsThatOfBatchLineAndContent) {
    const std::string name = job_name(12, 340, "--command_line 'x 1' in1");
    EXPECT_THAT(name, testing::MatchesRegex("batch_12_340_[0-9a-f]+"));
    EXPECT_EQ(name, job_name(12, 340, "  --command_line 'x 1' in1\r"));
    EXPECT_NE(name, job_name(12, 341, "--command_line 'x 1' in1"));
    EXPECT_NE(name, job_name(12, 340, "--command_line 'x 2' in1"));
    EXPECT_NE(name, job_name(13, 340, "--command_line 'x 1' in1"));
}

}  // namespace
}  // namespace sluice
