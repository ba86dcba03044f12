// Text of clients in every field that reaches a statement; other users' results; forged ids. On the real database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

const char* const kTexts[] = {"x' OR '1'='1", "'; DROP TABLE result; -- ", "\\' OR 1=1 -- ", "\\", "%", "a\xc3\x28z",
                              "\xff\xfe", "ünï¢ode 😀", "\"quoted\"", "0x27"};

class Hostile : public ::testing::TestWithParam<const char*> {
  protected:
    static SchedulerWorld& world() {
        static SchedulerWorld w("<send_result_abort>1</send_result_abort><resend_lost_results>1</resend_lost_results>"
                                "<msg_to_host>1</msg_to_host>");
        return w;
    }
};

TEST_P(Hostile, TextInEveryField) {
    SchedulerWorld& w = world();
    const std::string x = GetParam();
    const std::string nth = std::to_string(w.number(Sql("SELECT COUNT(*) FROM user")));
    const Id victim_user = w.add_user("victim" + nth, "victims_key" + nth);
    const Id victim = w.add_host(victim_user);
    const auto theirs = w.add_in_progress(victim, 2, victim_user);
    const std::int64_t tables = w.number(Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE()"));
    RequestText r;
    r.domain_name = x;
    r.cpid = x;
    r.work_seconds = 1;
    r.reported = {x, theirs[0]};
    r.others = {x, theirs[1]};
    r.more = "<cross_project_id>" + x + "</cross_project_id><alt_platform><name>" + x + "</name></alt_platform>"
             "<host_info><p_vendor>" + x + "</p_vendor><p_model>" + x + "</p_model><os_name>" + x + "</os_name>"
             "<os_version>" + x + "</os_version><product_name>" + x + "</product_name><ip_addr>" + x + "</ip_addr>"
             "<virtualbox_version>" + x + "</virtualbox_version><p_ncpus>2</p_ncpus><m_nbytes>1e9</m_nbytes></host_info>"
             "<msg_from_host>\n<variety>" + x + "</variety>\n<result_name>" + x + "</result_name>\n</msg_from_host>\n"
             "<global_preferences>\n<mod_time>1</mod_time>" + x + "</global_preferences>\n";
    if (!w.has_feeder()) w.start_feeder(10);
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.malformed(), "") << w.log();
    EXPECT_FALSE(reply.has("<project_is_down/>")) << w.log();
    EXPECT_TRUE(reply.has("<userid>1</userid>"));
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE()")), tables);
    EXPECT_EQ(w.number(Sql() << "SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid=" << victim), 2)
        << "another user's results are untouched";
    EXPECT_EQ(w.number(Sql() << "SELECT rpc_seqno FROM host WHERE id=" << victim), 0);
    RequestText forged;
    forged.authenticator = x;
    forged.hostid = victim;
    const ReplyText refused = w.send(forged);
    EXPECT_TRUE(refused.has("Invalid or missing account key")) << refused.text();
    EXPECT_FALSE(refused.has("<userid>"));
}
INSTANTIATE_TEST_SUITE_P(Texts, Hostile, ::testing::ValuesIn(kTexts));

TEST(ForgedHostId, GivesAHostOfOnesOwnAndChangesNothing) {
    SchedulerWorld w("<resend_lost_results>1</resend_lost_results>");
    w.add_user("bob", "bobs_key");
    const Id victim = w.add_host(1);
    w.add_in_progress(victim, 3);
    w.start_feeder(5);
    RequestText r;
    r.authenticator = "bobs_key";
    r.hostid = victim;
    r.seqno = 1000;
    r.work_seconds = 1000;
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.value("hostid"), "2");
    EXPECT_TRUE(reply.result_names().empty());
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM result WHERE hostid=1 AND server_state=4")), 3);
    EXPECT_EQ(w.number(Sql("SELECT userid FROM host WHERE id=2")), 2);
}

}  // namespace
}  // namespace sluice::test
