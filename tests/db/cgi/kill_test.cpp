// SPDX-License-Identifier: LGPL-3.0-or-later
// kill -9 of a scheduler at every point where it matters: no job is lost or sent twice, nothing stays locked, nothing
// is half written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

class KillAt : public ::testing::TestWithParam<const char*> {};

TEST_P(KillAt, NothingIsLostOrHalfDone) {
    SchedulerWorld world("<resend_lost_results>1</resend_lost_results>");
    const Id host = world.add_host(), other = world.add_host();
    const auto reported = world.add_in_progress(host, 3);
    world.add_jobs(2);
    world.start_feeder(10);
    RequestText r;
    r.hostid = host;
    r.seqno = 1;
    r.work_seconds = 15;
    r.reported = reported;
    const ReplyText killed = world.send(r, {{"SLUICE_KILL_AT", GetParam()}});
    EXPECT_EQ(killed.run.signal, SIGKILL) << "the point was not reached";
    EXPECT_EQ(killed.text(), "") << "no reply before the commit, and it died before writing one";

    const bool committed = std::string(GetParam()) == "committed" || std::string(GetParam()) == "consumed";
    // All or nothing.
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5")), committed ? 3 : 0);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), committed ? 2 : 3);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host_app_version")), committed ? 1 : 0);
    EXPECT_EQ(world.number(Sql("SELECT rpc_seqno FROM host WHERE id=1")), committed ? 1 : 0);

    // The feeder takes the claims back: the owner is dead.
    world.array().reclaim_dead_claims();
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);

    // Another host never gets what is committed to the first one; what was not committed is free for it.
    RequestText theirs;
    theirs.hostid = other;
    theirs.seqno = 1;
    theirs.work_seconds = 15;
    const ReplyText next = world.send(theirs);
    EXPECT_EQ(next.malformed(), "");
    EXPECT_EQ(next.result_names().size(), committed ? 0u : 2u);

    // The client asks again as if nothing had happened: it gets all its acknowledgements, and its jobs if they are its.
    const ReplyText again = world.send(r);
    EXPECT_EQ(again.malformed(), "");
    EXPECT_EQ(again.count("<result_ack>"), 3);
    EXPECT_EQ(again.result_names().size(), committed ? 2u : 0u);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1")), 3);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 2);
}

INSTANTIATE_TEST_SUITE_P(Points, KillAt,
                         ::testing::Values("decided", "workunits_written", "reports_written", "results_written",
                                           "before_commit", "committed", "consumed"));

TEST(KillDatabase, InTheMiddleOfARequest) {
    // A server of its own, because it dies.
    PrivateMariaDb& server = PrivateMariaDb::shared();
    SchedulerWorld world;
    world.db().execute(Sql("SET GLOBAL innodb_flush_log_at_trx_commit=1"));  // what is committed survives
    const Id host = world.add_host();
    world.add_jobs(2);
    world.start_feeder(10);
    RequestText r;
    r.hostid = host;
    r.seqno = 1;
    r.work_seconds = 15;
    const std::string gate = world.gate().string();
    auto rpc = world.start(r, {{"SLUICE_PAUSE_AT", "before_commit:" + gate}});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(gate); }));
    server.kill();
    std::filesystem::remove(gate);
    const ReplyText down{rpc->wait().value()};
    EXPECT_EQ(down.malformed(), "");
    EXPECT_TRUE(down.has("<project_is_down/>"));
    EXPECT_TRUE(down.has("Server can't open database"));
    EXPECT_TRUE(down.result_names().empty());
    const ReplyText still_down = world.send(r);
    EXPECT_EQ(still_down.malformed(), "");
    EXPECT_TRUE(still_down.has("<project_is_down/>"));
    server.start();
    world.db().disconnect();
    EXPECT_EQ(world.slots(SlotState::kPresent), 2);
    const ReplyText up = world.send(r);
    EXPECT_EQ(up.result_names().size(), 2u) << up.text();
}

}  // namespace
}  // namespace sluice::test
