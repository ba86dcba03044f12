// How many statements an RPC costs, by the server's own count: bounded, whatever the number of jobs. Connecting,
// session set-up, BEGIN, COMMIT and QUIT are counted.
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

constexpr int kOneThing = 12, kEverything = 16;
constexpr int kCpus = 16;  ///< up to 160 jobs in one RPC

struct Costs {
    std::int64_t statements = 0;
    ReplyText reply;
};

Costs cost_of(SchedulerWorld& world, const RequestText& request) {
    const std::int64_t before = world.questions();
    Costs c;
    c.reply = world.send(request);
    EXPECT_EQ(c.reply.malformed(), "");
    c.statements = world.questions() - before - 1;  // less the second of these two questions
    // The program's own figures: it counts what it sends, all but the farewell.
    const std::string log = world.log();
    const std::size_t line = log.rfind("RPC: ");
    EXPECT_NE(line, std::string::npos);
    int own = 0, commits = 0;
    EXPECT_EQ(std::sscanf(log.c_str() + line, "RPC: %d SQL statements, %d commits", &own, &commits), 2);
    EXPECT_EQ(commits, 1);
    EXPECT_LE(c.statements - own, 1);
    ::testing::Test::RecordProperty("statements", static_cast<int>(c.statements));
    return c;
}

RequestText from_host(Id host, double work_seconds = 0) {
    RequestText r;
    r.hostid = host;
    r.seqno = 1;
    r.work_seconds = work_seconds;
    r.ncpus = kCpus;
    return r;
}

class StatementCount : public ::testing::Test {
  protected:
    SchedulerWorld world{
        "<one_result_per_user_per_wu>1</one_result_per_user_per_wu><send_result_abort>1"
        "</send_result_abort><resend_lost_results>1</resend_lost_results>"};
};

TEST_F(StatementCount, FirstContact) {
    world.add_jobs(3);
    world.start_feeder();
    RequestText r;
    r.work_seconds = 1;
    const Costs c = cost_of(world, r);
    EXPECT_EQ(c.reply.result_names().size(), 1u);
    EXPECT_LE(c.statements, kOneThing);
}

TEST_F(StatementCount, NoWork) {
    world.start_feeder();
    const Costs c = cost_of(world, from_host(world.add_host(), 1000));
    EXPECT_TRUE(c.reply.has("Project has no tasks available"));
    EXPECT_LE(c.statements, kOneThing);
}

TEST_F(StatementCount, NoWorkAndNothingReportedWithoutTheDatabase) {
    world.config("<nowork_skip>1</nowork_skip>");
    const Id host = world.add_host();
    world.start_feeder();
    const std::int64_t before = world.questions();
    const ReplyText reply = world.send(from_host(host, 1000));
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("No work available")) << reply.text();
    EXPECT_EQ(world.questions() - before - 1, 0) << "not even a connection";
    RequestText reporting = from_host(host, 1000);
    reporting.reported = world.add_in_progress(host, 1);
    EXPECT_EQ(world.send(reporting).count("<result_ack>"), 1) << "but what is reported is taken";
}

/// The set-up of the session, who it is, what the host has, and one guarded write that is committed by itself.
TEST_F(StatementCount, AnUpdateOfAKnownHost) {
    world.config("");
    world.start_feeder();
    RequestText r = from_host(world.add_host());
    world.send(r);  // the host has no attempt number before its first request
    r.seqno = 2;
    EXPECT_LE(cost_of(world, r).statements, 5);
    EXPECT_EQ(world.number(Sql("SELECT rpc_seqno FROM host WHERE id=") << r.hostid), 2);
}

class Reports : public StatementCount, public ::testing::WithParamInterface<int> {};
TEST_P(Reports, CostTheSameWhateverTheirNumber) {
    const Id host = world.add_host(1, kCpus);
    RequestText r = from_host(host);
    r.reported = world.add_in_progress(host, GetParam());
    world.start_feeder();
    const Costs c = cost_of(world, r);
    EXPECT_EQ(c.reply.count("<result_ack>"), GetParam());
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1 AND "
                               "stderr_out LIKE CONCAT('%stderr of ',name,'%')")),
              GetParam());
    EXPECT_LE(c.statements, kOneThing);
}
INSTANTIATE_TEST_SUITE_P(Counts, Reports, ::testing::Values(1, 50, 200));

class Sends : public StatementCount, public ::testing::WithParamInterface<int> {};
TEST_P(Sends, CostTheSameWhateverTheirNumber) {
    const Id host = world.add_host(1, kCpus);
    world.add_jobs(GetParam() + 20);
    world.start_feeder();
    const Costs c = cost_of(world, from_host(host, 10.0 * GetParam() - 5));  // 10 s a job
    EXPECT_EQ(static_cast<int>(c.reply.result_names().size()), GetParam());
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), GetParam());
    EXPECT_LE(c.statements, kOneThing);
}
INSTANTIATE_TEST_SUITE_P(Counts, Sends, ::testing::Values(1, 10, 50));

TEST_F(StatementCount, ReportFiftyAndSendFifty) {
    const Id host = world.add_host(1, kCpus);
    RequestText r = from_host(host, 495);
    r.reported = world.add_in_progress(host, 50);
    world.add_jobs(70);
    world.start_feeder();
    const Costs c = cost_of(world, r);
    EXPECT_EQ(c.reply.count("<result_ack>"), 50);
    EXPECT_EQ(c.reply.result_names().size(), 50u);
    EXPECT_LE(c.statements, kEverything);
}

TEST_F(StatementCount, ResendTwenty) {
    const Id host = world.add_host(1, kCpus);
    const auto lost = world.add_in_progress(host, 20);
    world.add_jobs(5);
    world.start_feeder();
    const Costs c = cost_of(world, from_host(host, 100000));
    EXPECT_EQ(c.reply.result_names().size(), 20u) << c.reply.text();
    EXPECT_LE(c.statements, kOneThing);
}

TEST_F(StatementCount, EverythingAtOnce) {
    world.config(
        "<msg_to_host>1</msg_to_host><send_result_abort>1</send_result_abort><resend_lost_results>1"
        "</resend_lost_results><enable_assignment>1</enable_assignment><one_result_per_user_per_wu>1"
        "</one_result_per_user_per_wu>");
    const Id host = world.add_host(1, kCpus);
    world.rows.to_host[1] = {1, host, 5, "v", "<trickle_down>hello</trickle_down>", false};
    world.store();
    RequestText r = from_host(host, 495);
    r.reported = world.add_in_progress(host, 50);
    r.others = world.add_in_progress(host, 5);
    r.others.push_back("unknown_job");
    r.more =
        "<msg_from_host>\n<variety>v</variety>\n<text>up</text>\n</msg_from_host>\n"
        "<cross_project_id>newcpid</cross_project_id>\n";
    world.add_jobs(70);
    world.start_feeder();
    const Costs c = cost_of(world, r);
    EXPECT_EQ(c.reply.count("<result_ack>"), 50);
    EXPECT_EQ(c.reply.result_names().size(), 50u);
    EXPECT_TRUE(c.reply.has("<message_ack/>"));
    EXPECT_TRUE(c.reply.has("<trickle_down>hello"));
    EXPECT_TRUE(c.reply.has("<result_abort>"));
    EXPECT_LE(c.statements, kEverything);
}

}  // namespace
}  // namespace sluice::test
