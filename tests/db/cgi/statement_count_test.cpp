// SPDX-License-Identifier: LGPL-3.0-or-later
// How many statements an RPC costs, by the server's own count: bounded, whatever the number of jobs. BEGIN and COMMIT
// are counted. On a connection that lives on (FastCGI, the resident scheduler); plain CGI has the session's set-up and
// QUIT besides.
#include <gtest/gtest.h>

#include "tests/support/live_scheduler.h"

namespace sluice::test {
namespace {

constexpr int kSetUpAndQuit = 2;
constexpr int kCpus = 16;  ///< up to 160 jobs in one RPC

/// MySQL has no blocks of statements: each write goes by itself.
int at_most(int on_mariadb, int on_mysql) { return PrivateMariaDb::shared().is_mysql() ? on_mysql : on_mariadb; }

struct Costs {
    std::int64_t statements = 0;
    ReplyText reply;
};

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
    Costs counted(const std::function<ReplyText()>& send, int connected = 0) {
        const std::int64_t before = world.questions(connected);
        Costs c;
        c.reply = send();
        EXPECT_EQ(c.reply.malformed(), "") << world.log();
        c.statements = world.questions(connected) - before - 1;  // less the second of these two questions
        ::testing::Test::RecordProperty("statements", static_cast<int>(c.statements));
        return c;
    }
    /// By a process that has served another host before: what it asks often is prepared.
    Costs cost_of(const RequestText& request) {
        LiveScheduler live(world);
        for (const bool reports : {false, true, false, true}) {
            RequestText warm_up = from_host(warm_up_host_, 0);
            warm_up.seqno = ++warm_ups_;
            if (reports) warm_up.reported = {"of nobody"};
            EXPECT_EQ(live.post(warm_up).malformed(), "");
        }
        const Costs c = counted([&] { return live.post(request); }, 1);
        expect_own_count(c.statements);
        return c;
    }
    Costs cost_as_cgi(const RequestText& request) {
        const Costs c = counted([&] { return world.send(request); });
        expect_own_count(c.statements - 1);
        return c;
    }
    /// The program's own figures: it counts what it sends, all but the farewell.
    void expect_own_count(std::int64_t statements) {
        const std::string log = world.log();
        const std::size_t line = log.rfind("RPC: ");
        ASSERT_NE(line, std::string::npos);
        int own = 0, commits = 0;
        ASSERT_EQ(std::sscanf(log.c_str() + line, "RPC: %d SQL statements, %d commits", &own, &commits), 2);
        EXPECT_EQ(commits, 1);
        EXPECT_EQ(statements, own);
    }

    SchedulerWorld world{
        "<one_result_per_user_per_wu>1</one_result_per_user_per_wu><send_result_abort>1"
        "</send_result_abort><resend_lost_results>1</resend_lost_results>"};

  private:
    Id warm_up_host_ = world.add_host(1, kCpus);
    int warm_ups_ = 0;
};

TEST_F(StatementCount, FirstContact) {
    world.add_jobs(3);
    world.start_feeder();
    RequestText r;
    r.work_seconds = 1;
    r.domain_name = r.cpid = "another";
    const Costs c = cost_of(r);
    EXPECT_EQ(c.reply.result_names().size(), 1u);
    EXPECT_LE(c.statements, at_most(7, 10));
}

TEST_F(StatementCount, NoWork) {
    world.start_feeder();
    const Costs c = cost_of(from_host(world.add_host(), 1000));
    EXPECT_TRUE(c.reply.has("Project has no tasks available"));
    EXPECT_LE(c.statements, 6);
}

TEST_F(StatementCount, NoWorkAndNothingReportedWithoutTheDatabase) {
    world.config("<nowork_skip>1</nowork_skip>");
    const Id host = world.add_host();
    world.start_feeder();
    const Costs c = counted([&] { return world.send(from_host(host, 1000)); });
    EXPECT_TRUE(c.reply.has("No work available")) << c.reply.text();
    EXPECT_EQ(c.statements, 0) << "not even a connection";
    RequestText reporting = from_host(host, 1000);
    reporting.reported = world.add_in_progress(host, 1);
    EXPECT_EQ(world.send(reporting).count("<result_ack>"), 1) << "but what is reported is taken";
}

/// Who it is and what the host has, and one guarded write that is committed by itself.
TEST_F(StatementCount, AnUpdateOfAKnownHost) {
    world.config("");
    world.start_feeder();
    RequestText r = from_host(world.add_host());
    world.send(r);  // the host has no attempt number before its first request
    r.seqno = 2;
    EXPECT_LE(cost_of(r).statements, 2);
    EXPECT_EQ(world.number(Sql("SELECT rpc_seqno FROM host WHERE id=") << r.hostid), 2);
    r.seqno = 3;
    EXPECT_LE(cost_as_cgi(r).statements, 2 + kSetUpAndQuit);
}

class Reports : public StatementCount, public ::testing::WithParamInterface<int> {};
TEST_P(Reports, CostTheSameWhateverTheirNumber) {
    const Id host = world.add_host(1, kCpus);
    RequestText r = from_host(host);
    r.reported = world.add_in_progress(host, GetParam());
    world.start_feeder();
    const Costs c = cost_of(r);
    EXPECT_EQ(c.reply.count("<result_ack>"), GetParam());
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1 AND "
                               "stderr_out LIKE CONCAT('%stderr of ',name,'%')")),
              GetParam());
    EXPECT_LE(c.statements, at_most(3, 7));
}
INSTANTIATE_TEST_SUITE_P(Counts, Reports, ::testing::Values(1, 10, 200));

class Sends : public StatementCount, public ::testing::WithParamInterface<int> {
  protected:
    RequestText request() {
        const Id host = world.add_host(1, kCpus);
        world.add_jobs(GetParam() + 20);
        world.start_feeder();
        return from_host(host, 10.0 * GetParam() - 5);  // 10 s a job
    }
    void expect_sent(const ReplyText& reply) {
        EXPECT_EQ(static_cast<int>(reply.result_names().size()), GetParam());
        EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), GetParam());
    }
};
TEST_P(Sends, CostTheSameWhateverTheirNumber) {
    const Costs c = cost_of(request());
    expect_sent(c.reply);
    EXPECT_LE(c.statements, at_most(4, 9));
}
TEST_P(Sends, CostAsCgiSetUpAndQuitBesides) {
    const RequestText r = request();
    const Costs c = cost_as_cgi(r);
    expect_sent(c.reply);
    EXPECT_LE(c.statements, at_most(4, 9) + kSetUpAndQuit);
}
INSTANTIATE_TEST_SUITE_P(Counts, Sends, ::testing::Values(1, 10, 50));

TEST_F(StatementCount, ReportFiftyAndSendFifty) {
    const Id host = world.add_host(1, kCpus);
    RequestText r = from_host(host, 495);
    r.reported = world.add_in_progress(host, 50);
    world.add_jobs(70);
    world.start_feeder();
    const Costs c = cost_of(r);
    EXPECT_EQ(c.reply.count("<result_ack>"), 50);
    EXPECT_EQ(c.reply.result_names().size(), 50u);
    EXPECT_LE(c.statements, at_most(4, 10));
}

TEST_F(StatementCount, ResendTwenty) {
    const Id host = world.add_host(1, kCpus);
    const auto lost = world.add_in_progress(host, 20);
    world.add_jobs(5);
    world.start_feeder();
    const Costs c = cost_of(from_host(host, 100000));
    EXPECT_EQ(c.reply.result_names().size(), 20u) << c.reply.text();
    EXPECT_LE(c.statements, at_most(4, 8));
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
    const Costs c = cost_of(r);
    EXPECT_EQ(c.reply.count("<result_ack>"), 50);
    EXPECT_EQ(c.reply.result_names().size(), 50u);
    EXPECT_TRUE(c.reply.has("<message_ack/>"));
    EXPECT_TRUE(c.reply.has("<trickle_down>hello"));
    EXPECT_TRUE(c.reply.has("<result_abort>"));
    EXPECT_LE(c.statements, at_most(7, 16));
}

}  // namespace
}  // namespace sluice::test
