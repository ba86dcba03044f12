// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/watch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "daemons/batches/telling.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(BatchWatch, ATenthStops) {
    struct Case {
        int jobs;
        std::int64_t good, failed, hosts;
        bool stops;
    };
    const Case cases[] = {{100, 0, 9, 9, false},         {100, 0, 10, 9, true},  {100, 1, 99, 9, false},
                          {100, 0, 50, 2, false},        {105, 0, 10, 3, false}, {105, 0, 11, 3, true},
                          {3, 0, 9, 3, false},           {3, 0, 10, 3, true},    {1'000'000, 0, 999, 50, false},
                          {1'000'000, 0, 1000, 50, true}};
    for (const Case& c : cases) {
        const BatchOutcomes outcomes{.good = c.good, .failed = c.failed, .failing_hosts = c.hosts};
        EXPECT_EQ(reason_to_stop(c.jobs, outcomes).has_value(), c.stops) << c.jobs << " " << c.failed;
    }
    EXPECT_EQ(reason_to_stop(3, {.failed = 12, .failing_hosts = 4, .exit_status = 195, .with_exit_status = 11}),
              "none succeeded and 12 failed on 4 hosts, 11 of them with exit status 195");
}

TEST(BatchWatch, HalfOfThemAreSlow) {
    EXPECT_FALSE(slow_text({.timed = 4, .slow = 4, .slow_by = 30}));
    EXPECT_FALSE(slow_text({.timed = 9, .slow = 4, .slow_by = 30}));
    EXPECT_THAT(slow_text({.timed = 8, .slow = 4, .slow_by = 30.4}).value_or(""),
                HasSubstr("4 of 8 jobs that came back took at least 10 times their estimate, 30 times on average"));
}

TEST(BatchWatch, LateIsBeyondTheFirstPromise) {
    WatchedBatch w;
    EXPECT_EQ(promise_of(w.row, 1000, {}), 0);
    w.row.est_completion_time = 2000;
    w.promised = promise_of(w.row, 1000, {.least = 0.5, .most = 2});
    EXPECT_EQ(w.promised, 3060);
    EXPECT_FALSE(late_text(w, 2500, {})) << "a plan that has passed is not late yet";
    EXPECT_THAT(late_text(w, 3061, {}).value_or(""), HasSubstr("now no end is known"));
    w.row.est_completion_time = 4000;
    EXPECT_THAT(late_text(w, 1100, {}).value_or(""), HasSubstr("it is now expected at 1970-01-01 01:06 UTC"));
    w.promised = 0;
    EXPECT_FALSE(late_text(w, 9999, {}));
}

// Its owner was told that it was late when it had just begun.
TEST(BatchWatch, NotLateAtOnceWhereBatchesEndSooner) {
    constexpr EtaFactors kSoon{.least = 0.1, .most = 0.8};
    WatchedBatch w;
    w.row.est_completion_time = 3000;
    w.promised = promise_of(w.row, 1000, kSoon);
    EXPECT_EQ(w.promised, 2660);
    for (const double now : {1000.0, 1060.0, 2600.0}) EXPECT_FALSE(late_text(w, now, kSoon)) << now;
    EXPECT_TRUE(late_text(w, 2661, kSoon));
    w.row.est_completion_time = 30000;
    EXPECT_TRUE(late_text(w, 1060, kSoon)) << "now it takes ten times as long";
}

TEST(BatchWatch, OnlyUnaskedEndsAreTold) {
    WatchedBatch w;
    w.row.njobs = 10, w.row.nerror_jobs = 3, w.row.fraction_done = 1;
    w.row.state = BatchState::kComplete;
    EXPECT_EQ(done_text(w), "7 of 10 jobs succeeded, 3 failed");
    w.row.state = BatchState::kRetired;
    EXPECT_TRUE(done_text(w));
    w.row.fraction_done = 0.4;
    EXPECT_FALSE(done_text(w)) << "aborted, then retired";
    w.row.state = BatchState::kAborted;
    EXPECT_FALSE(done_text(w));
    w.row.state = BatchState::kComplete, w.gone = true;
    EXPECT_FALSE(done_text(w));
}

TEST(BatchWatch, WaitsGrow) {
    EXPECT_EQ(wait_after(1), 60);
    EXPECT_EQ(wait_after(2), 120);
    EXPECT_EQ(wait_after(6), 1920);
    EXPECT_EQ(wait_after(7), 3600);
    EXPECT_EQ(wait_after(100000), 3600);
}

TEST(BatchTelling, SettingsAreChecked) {
    ProjectConfig config = default_config(0);
    config.project_dir = "/p";
    EXPECT_FALSE(telling_settings(config).any());
    config.batch_event_command = "tell 'a b'";
    config.batch_event_mail = "owner, ops@example.org";
    const TellingSettings settings = telling_settings(config);
    EXPECT_THAT(settings.command, testing::ElementsAre("/p/bin/tell", "a b"));
    EXPECT_TRUE(settings.mail_owner);
    EXPECT_THAT(settings.addresses, testing::ElementsAre("ops@example.org"));
    config.batch_event_mail = "owners";
    EXPECT_THROW(telling_settings(config), ConfigError);
    config.batch_event_mail = "";
    config.batch_event_command = "/bin/tell | mail ops";
    EXPECT_THROW(telling_settings(config), ConfigError);
}

// A batch's name is its owner's, and an owner's name anybody's.
TEST(BatchTelling, TextOfStrangersStaysText) {
    const TellingSettings settings{.project = "P",
                                   .folder = "/p",
                                   .command = {"/p/bin/tell"},
                                   .mail_owner = true,
                                   .addresses = {"ops@example.org"},
                                   .sendmail = {}};
    EventToTell event;
    event.event = {12, BatchEventKind::kStopped, 1000, "none succeeded"};
    event.batch_name = "a\nSLUICE_OWNER=1\nBcc: x@y", event.owner_name = "$(id)\r\n.", event.owner_address = "-f x@y";
    EXPECT_THAT(command_line_of(settings, event), testing::ElementsAre("/p/bin/tell", "stopped", "12"));
    const auto environment = environment_of(settings, event);
    EXPECT_THAT(environment, testing::Contains("SLUICE_BATCH_NAME=a SLUICE_OWNER=1 Bcc: x@y"));
    for (const std::string& entry : environment) EXPECT_EQ(entry.find('\n'), entry.npos) << entry;
    const Mail mail = mail_of(settings, event);
    EXPECT_THAT(mail.to, testing::ElementsAre("ops@example.org"));
    EXPECT_EQ(mail.subject, "P: batch 12: stopped");
    EXPECT_THAT(mail.text, HasSubstr("Name: a SLUICE_OWNER=1 Bcc: x@y\n"));
    EXPECT_THAT(mail.text, testing::Not(HasSubstr("\n.\n")));
}

}  // namespace
}  // namespace sluice
