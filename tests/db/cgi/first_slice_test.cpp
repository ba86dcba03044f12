// SPDX-License-Identifier: LGPL-3.0-or-later
// The main path of the scheduler, by the real program on a real database.
#include <gtest/gtest.h>

#include "tests/support/captures.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

TEST(FirstSlice, RealClientGetsJobAndReportsIt) {
    SchedulerWorld world;
    world.add_jobs(3);
    world.start_feeder(10);
    const ReplyText first = world.send_raw(capture("01_client_attach_first_contact.request"));
    ASSERT_EQ(first.malformed(), "");
    EXPECT_EQ(first.value("hostid"), "1");
    EXPECT_EQ(first.value("user_name"), "alice");
    ASSERT_EQ(first.result_names().size(), 1u) << first.text() << world.log();
    EXPECT_EQ(first.count("<app_version>"), 1);
    EXPECT_TRUE(first.has("<code_sign_key>"));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid=1 AND userid=1")), 1);
    EXPECT_EQ(world.number(Sql("SELECT n_jobs_today FROM host_app_version WHERE host_id=1 AND app_version_id=1")), 1);
    EXPECT_EQ(world.slots(SlotState::kPresent), 2);
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);

    RequestText report;
    report.hostid = 1;
    report.seqno = 1;
    report.reported = first.result_names();
    const ReplyText second = world.send(report);
    ASSERT_EQ(second.malformed(), "");
    EXPECT_EQ(second.count("<result_ack>"), 1) << second.text();
    EXPECT_FALSE(second.has("<hostid>"));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1 AND hostid=1")), 1);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM workunit WHERE transition_time<2147483647 AND id=(SELECT "
                               "workunitid FROM result WHERE server_state=5)")),
              1);
}

}  // namespace
}  // namespace sluice::test
