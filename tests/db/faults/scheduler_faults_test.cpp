// SPDX-License-Identifier: LGPL-3.0-or-later
// The connection to the database breaks once while a scheduler handles a request: before a statement reaches the
// server, or after the server has done it and before it has said so, COMMIT included. The client gets what the database
// holds, once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "sluice/base/files.h"
#include "tests/support/scheduler_world.h"
#include "tests/support/sql_proxy.h"

namespace sluice::test {
namespace {

using Action = SqlProxy::Action;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

/// A host that reports two results, sends a trickle, is owed one, and asks for two jobs of 10 s.
class SchedulerFaults : public ::testing::TestWithParam<Action> {
  protected:
    SchedulerFaults() {
        world.add_jobs(4);
        world.start_feeder(400);
    }

    /// Of a known one all writes and COMMIT are one block, where the server takes such blocks.
    RequestText request_of_a_known_host() {
        const RequestText request = request_of_a_new_host();
        world.db().execute(Sql("INSERT INTO sluice_host_rpc (host_id,attempt) VALUES (") << host << ",7)");
        return request;
    }
    void cut_at_every_statement(const std::function<RequestText()>& new_request, int least);

    RequestText request_of_a_new_host() {
        host = world.add_host();
        ++last_message;
        world.rows.to_host[last_message] = {last_message, host, 5, "v", "<trickle_down>hello</trickle_down>", false};
        world.store();
        world.add_jobs(2);
        world.fill();
        RequestText r;
        r.hostid = host;
        r.seqno = 1;
        r.work_seconds = 15;
        r.reported = world.add_in_progress(host, 2);
        r.more = "<msg_from_host>\n<variety>v</variety>\n<text>up</text>\n</msg_from_host>\n";
        return r;
    }
    std::int64_t of_host(SqlLiteral query) { return world.number(Sql(query) << host); }

    void expect_all_done_once(const ReplyText& reply) {
        EXPECT_EQ(reply.malformed(), "");
        EXPECT_FALSE(reply.has("<project_is_down/>"));
        EXPECT_EQ(reply.count("<result_ack>"), 2);
        EXPECT_EQ(reply.count("<message_ack/>"), 1);
        EXPECT_EQ(reply.count("<trickle_down>hello"), 1);
        EXPECT_THAT(reply.result_names(), SizeIs(2));
        std::vector<std::string> held;
        Sql names("SELECT name FROM result WHERE server_state=4 AND hostid=");
        for (const auto& row : rows_of(world.db(), names << host, 1)) held.push_back(row[0]);
        EXPECT_THAT(reply.result_names(), UnorderedElementsAreArray(held))
            << "the client has what it is thought to have";
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1 AND hostid="), 2);
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM msg_from_host WHERE hostid="), 1) << "stored once";
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM msg_to_host WHERE handled=1 AND hostid="), 1);
        EXPECT_EQ(of_host("SELECT SUM(n_jobs_today) FROM host_app_version WHERE host_id="), 2) << "counted once";
        EXPECT_EQ(of_host("SELECT rpc_seqno FROM host WHERE id="), 1);
    }
    void expect_nothing_done(const ReplyText& reply) {
        EXPECT_EQ(reply.malformed(), "");
        EXPECT_THAT(reply.result_names(), SizeIs(0));
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid="), 2);
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM msg_from_host WHERE hostid="), 0);
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM host_app_version WHERE host_id="), 0);
    }
    ReplyText send_through(const SqlProxy& proxy, const RequestText& request) {
        return world.send(request, {{"MYSQL_UNIX_PORT", proxy.socket().string()}});
    }
    void expect_slots_free_but_for_what_was_sent() {
        EXPECT_EQ(world.slots(SlotState::kClaimed), 0);
        EXPECT_EQ(world.slots(SlotState::kPresent),
                  world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=2")));
    }

    SchedulerWorld world{"<msg_to_host>1</msg_to_host><resend_lost_results>1</resend_lost_results>"};
    Id host = 0, last_message = 0;
    std::filesystem::path server = PrivateMariaDb::shared().socket();
};

void SchedulerFaults::cut_at_every_statement(const std::function<RequestText()>& new_request, int least) {
    int commits_hit = 0;
    for (int at = 1, statements = 1; at <= statements; ++at) {
        std::string hit;
        SqlProxy proxy(server, [&](const std::string& text, int number) {
            if (number == at) hit = text;
            return number == at ? GetParam() : Action::kPass;
        });
        const RequestText request = new_request();
        const ReplyText reply = send_through(proxy, request);
        SCOPED_TRACE("statement " + std::to_string(at) + ": " + hit.substr(0, 60));
        ASSERT_EQ(proxy.cuts(), 1);
        commits_hit += SqlProxy::commits(hit) ? 1 : 0;
        if (at == 1)  // the session's set-up: there never was a connection
            expect_nothing_done(reply);
        else
            expect_all_done_once(reply);
        expect_slots_free_but_for_what_was_sent();
        SqlProxy whole(server, [](const std::string&, int) { return Action::kPass; });
        if (at > 1) continue;
        EXPECT_TRUE(reply.has("<project_is_down/>"));
        const ReplyText again = send_through(whole, request);
        expect_all_done_once(again);
        statements = whole.statements();
        ASSERT_GE(statements, least);
    }
    EXPECT_EQ(commits_hit, 1);
}

TEST_P(SchedulerFaults, OnceAtEveryStatement) {
    cut_at_every_statement([this] { return request_of_a_new_host(); }, 8);
}
TEST_P(SchedulerFaults, OnceAtEveryStatementOfKnownHost) {
    world.send(request_of_a_new_host());  // makes our table
    cut_at_every_statement([this] { return request_of_a_known_host(); }, 6);
}

/// A request that changes nothing but the host's row writes it without BEGIN and COMMIT.
TEST_P(SchedulerFaults, OnceAtEveryStatementOfAnUpdate) {
    RequestText r;
    r.hostid = world.add_host();
    r.seqno = 1;
    world.send(r);
    int writes_hit = 0;
    for (int at = 2, statements = 2; at <= statements; ++at) {
        std::string hit;
        const auto cut = [&](const std::string& text, int number) {
            if (number == at) hit = text;
            return number == at ? GetParam() : Action::kPass;
        };
        SqlProxy proxy(server, cut), whole(server, [](const std::string&, int) { return Action::kPass; });
        ++r.seqno;
        const ReplyText reply = send_through(proxy, r);
        SCOPED_TRACE(hit.substr(0, 60));
        EXPECT_EQ(proxy.cuts(), 1);
        EXPECT_EQ(reply.malformed(), "");
        EXPECT_FALSE(reply.has("<project_is_down/>"));
        host = r.hostid;
        EXPECT_EQ(of_host("SELECT rpc_seqno FROM host WHERE id="), r.seqno);
        writes_hit += hit.starts_with("UPDATE host") ? 1 : 0;
        if (at > 2) continue;
        ++r.seqno;
        send_through(whole, r);
        statements = whole.statements();
    }
    EXPECT_EQ(writes_hit, 1);
}
INSTANTIATE_TEST_SUITE_P(Cut, SchedulerFaults, ::testing::Values(Action::kCutBefore, Action::kCutAfter),
                         [](const auto& p) { return p.param == Action::kCutBefore ? "Before" : "After"; });

/// The network is gone, the server does not know it: the old transaction holds its locks until somebody ends it.
TEST_F(SchedulerFaults, AHangingConnectionHoldsItsLocks) {
    SqlProxy proxy(server, [hung = false](const std::string& text, int) mutable {
        return SqlProxy::commits(text) && !std::exchange(hung, true) ? Action::kHang : Action::kPass;
    });
    expect_all_done_once(send_through(proxy, request_of_a_new_host()));
    EXPECT_EQ(proxy.cuts(), 1);
    expect_slots_free_but_for_what_was_sent();
}

/// It accepts connections, since the system does that for it, and says nothing at all. Nobody waits for ever.
TEST_F(SchedulerFaults, ServerThatHangsInMiddleOfRequest) {
    std::optional<StoppedServer> stopped;
    SqlProxy proxy(server, [&](const std::string& text, int) {
        if (!stopped && text.find("UPDATE result") != std::string::npos) stopped.emplace(PrivateMariaDb::shared());
        return Action::kPass;
    });
    const RequestText request = request_of_a_new_host();
    const ReplyText reply = send_through(proxy, request);
    EXPECT_TRUE(stopped);
    stopped.reset();  // it goes on
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    expect_nothing_done(reply);
    expect_slots_free_but_for_what_was_sent();
    expect_all_done_once(world.send(request));
}

/// Whether the COMMIT takes place is known when it goes on: it does, and the client gets what it was thought to have.
TEST_F(SchedulerFaults, ServerThatHangsWhenItIsToCommit) {
    std::optional<StoppedServer> stopped;
    SqlProxy proxy(server, [&](const std::string& text, int) {
        if (!stopped && SqlProxy::commits(text)) stopped.emplace(PrivateMariaDb::shared());
        return Action::kPass;
    });
    RequestText request = request_of_a_new_host();
    const ReplyText reply = send_through(proxy, request);
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    EXPECT_THAT(reply.result_names(), SizeIs(0));
    stopped.reset();
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);
    ++request.seqno;
    const ReplyText again = world.send(request);
    std::vector<std::string> held;
    Sql names("SELECT name FROM result WHERE server_state=4 AND hostid=");
    for (const auto& row : rows_of(world.db(), names << host, 1)) held.push_back(row[0]);
    EXPECT_THAT(held, SizeIs(2));
    EXPECT_THAT(again.result_names(), UnorderedElementsAreArray(held));
    EXPECT_EQ(of_host("SELECT SUM(n_jobs_today) FROM host_app_version WHERE host_id="), 2) << "counted once";
}

/// Again and again, and at last for good: nothing may be written more than once, nothing sent that is not committed.
TEST_F(SchedulerFaults, EveryCommitIsCut) {
    SqlProxy proxy(server, [](const std::string& text, int) {
        return SqlProxy::commits(text) ? Action::kCutBefore : Action::kPass;
    });
    const ReplyText reply = send_through(proxy, request_of_a_new_host());
    expect_nothing_done(reply);
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    EXPECT_EQ(proxy.cuts(), 4) << "a decision is made four times at most";
    expect_slots_free_but_for_what_was_sent();
}

/// Our own table is missing: made by the first request; where that is not allowed, done without.
TEST_F(SchedulerFaults, WithoutItsTable) {
    world.db().execute(Sql("DROP TABLE IF EXISTS sluice_host_rpc"));
    const std::string database = rows_of(world.db(), Sql("SELECT database()"), 1)[0][0];
    world.db().execute(Sql("CREATE USER IF NOT EXISTS clerk@localhost IDENTIFIED BY 'pw'"));
    Sql grant("GRANT SELECT,INSERT,UPDATE,DELETE ON ");
    world.db().execute(grant.identifier(database) << ".* TO clerk@localhost");
    const std::string config = read_file(world.folder() / "config.xml").value();
    std::string of_clerk = config;
    of_clerk.replace(of_clerk.find("<db_user>root"), 13, "<db_user>clerk");
    const auto password = of_clerk.find("<db_passwd>");
    of_clerk.replace(password, of_clerk.find("</db_passwd>") - password, "<db_passwd>pw");
    write_file_atomically(world.folder() / "config.xml", of_clerk);
    expect_all_done_once(world.send(request_of_a_new_host()));
    const auto there = [&] {
        return world.number(
            Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=database() AND "
                "table_name='sluice_host_rpc'"));
    };
    EXPECT_EQ(there(), 0);
    write_file_atomically(world.folder() / "config.xml", config);
    expect_all_done_once(world.send(request_of_a_new_host()));
    EXPECT_EQ(there(), 1);
    EXPECT_EQ(of_host("SELECT COUNT(*) FROM sluice_host_rpc WHERE host_id="), 1);
}

/// The bytes of an account are counted in our own table, which may be missing; what is counted is stored, or not said
/// to be.
TEST_F(SchedulerFaults, WithoutTheTableOfMessages) {
    const RequestText request = request_of_a_new_host();
    world.db().execute(Sql("RENAME TABLE msg_from_host TO elsewhere"));
    const ReplyText reply = world.send(request);
    world.db().execute(Sql("RENAME TABLE elsewhere TO msg_from_host"));
    EXPECT_FALSE(reply.has("<message_ack/>")) << reply.text();
    expect_nothing_done(reply);
    expect_all_done_once(world.send(request));
}

TEST_F(SchedulerFaults, AFirstContactWhoseCommitIsCut) {
    for (const Action action : {Action::kCutBefore, Action::kCutAfter}) {
        SqlProxy proxy(server, [&, done = false](const std::string& text, int) mutable {
            return SqlProxy::commits(text) && !std::exchange(done, true) ? action : Action::kPass;
        });
        RequestText r;
        r.domain_name = action == Action::kCutBefore ? "one" : "two";
        r.cpid = r.domain_name;
        r.work_seconds = 5;
        const ReplyText reply = send_through(proxy, r);
        EXPECT_EQ(proxy.cuts(), 1);
        EXPECT_THAT(reply.result_names(), SizeIs(1));
        host = std::stoll("0" + reply.value("hostid"));
        EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host WHERE domain_name=") << SqlText{r.domain_name}), 1);
        EXPECT_EQ(world.number(Sql("SELECT id FROM host WHERE domain_name=") << SqlText{r.domain_name}), host);
        EXPECT_EQ(of_host("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid="), 1);
    }
}

}  // namespace
}  // namespace sluice::test
