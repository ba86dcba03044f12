// SPDX-License-Identifier: LGPL-3.0-or-later
// Text of clients in every field that reaches a statement; other users' results; forged ids. On the real database.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;

const char* const kTexts[] = {"x' OR '1'='1",
                              "'; DROP TABLE result; -- ",
                              "\\' OR 1=1 -- ",
                              "\\",
                              "%",
                              "a\xc3\x28z",
                              "\xff\xfe",
                              "ünï¢ode 😀",
                              "\"quoted\"",
                              "0x27"};

/// All columns of some rows, as one number: equal before and after means that nothing changed.
std::int64_t fingerprint(SchedulerWorld& w, const std::string& table, Id id) {
    Rows columns = w.db().query(Sql("SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS WHERE "
                                    "TABLE_SCHEMA=DATABASE() AND TABLE_NAME=")
                                << SqlText{table});
    EXPECT_TRUE(columns.next());
    const std::string query =
        fmt::format("SELECT CRC32(CONCAT_WS('|',{})) FROM {} WHERE id={}", columns.text(0), table, id);
    w.db().execute(Sql("SET @fingerprint=") << SqlText{query, 60000});
    w.db().execute(Sql("PREPARE fingerprint FROM @fingerprint"));
    return w.number(Sql("EXECUTE fingerprint"));
}

class Hostile : public ::testing::TestWithParam<const char*> {
  protected:
    static SchedulerWorld& world() {
        static SchedulerWorld w(
            "<send_result_abort>1</send_result_abort><resend_lost_results>1</resend_lost_results>"
            "<msg_to_host>1</msg_to_host>");
        return w;
    }
    /// `x` in every element whose text may get into a statement.
    static std::string everywhere(const std::string& x) {
        const auto in = [&](const char* tag) { return fmt::format("<{0}>{1}</{0}>", tag, x); };
        std::string all = in("cross_project_id") + in("global_prefs_source_email_hash") + in("client_brand") +
                          in("time_stats_log") + "<alt_platform>" + in("name") + "</alt_platform><host_info>";
        for (const char* tag : {"p_vendor", "p_model", "os_name", "os_version", "product_name", "ip_addr",
                                "virtualbox_version", "docker_version", "p_features", "timezone", "p_fpops"})
            all += in(tag);
        all += "<wsl><distro>" + in("distro_name") + in("docker_version") +
               "</distro></wsl><p_ncpus>2</p_ncpus>"
               "<m_nbytes>1e9</m_nbytes></host_info><coprocs><coproc_cuda><count>1</count>" +
               in("name") + "</coproc_cuda></coprocs><msg_from_host>\n" + in("variety") + "\n" + in("result_name") +
               "\n</msg_from_host>\n<global_preferences>\n<mod_time>1</mod_time>" + x + "</global_preferences>\n" +
               "<app_versions><app_version>" + in("app_name") + in("platform") + in("plan_class") +
               "</app_version></app_versions><file_info>" + in("name") + "</file_info>";
        for (const char* number : {"on_frac", "duration_correction_factor", "rpc_seqno"}) all += in(number);
        return all;
    }
};

TEST_P(Hostile, TextInEveryField) {
    SchedulerWorld& w = world();
    const std::string x = GetParam();
    const std::string nth = std::to_string(w.number(Sql("SELECT COUNT(*) FROM user")));
    const Id victim_user = w.add_user("victim" + nth, "victims_key" + nth);
    const Id victim = w.add_host(victim_user);
    const auto theirs = w.add_in_progress(victim, 2, victim_user);
    const Id last = w.number(Sql("SELECT MAX(id) FROM result"));
    if (!w.has_feeder()) w.start_feeder(10);
    const auto state = [&] {
        return std::vector{
            w.number(Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE()")),
            fingerprint(w, "host", victim),
            fingerprint(w, "user", victim_user),
            fingerprint(w, "result", last),
            fingerprint(w, "result", last - 1),
            fingerprint(w, "workunit", last),
            fingerprint(w, "workunit", last - 1)};
    };
    const auto before = state();
    RequestText r;
    r.domain_name = x;
    r.cpid = x;
    r.work_seconds = 1;
    r.reported = {x, theirs[0]};
    r.others = {x, theirs[1]};
    r.more = everywhere(x);
    const ReplyText reply = w.send(r, {{"HTTP_X_FORWARDED_FOR", x}});
    EXPECT_EQ(reply.malformed(), "") << w.log();
    EXPECT_FALSE(reply.has("<project_is_down/>")) << w.log();
    EXPECT_TRUE(reply.has("<userid>1</userid>"));
    EXPECT_EQ(state(), before) << "nobody else's rows change";
    EXPECT_THAT(w.log(), HasSubstr(fmt::format("Not even the same user; expected [USER#{}]", victim_user)));
    EXPECT_THAT(w.log(), HasSubstr("reported result not in DB"));
    RequestText forged;
    forged.authenticator = x;
    forged.hostid = victim;
    const ReplyText refused = w.send(forged);
    EXPECT_TRUE(refused.has("Invalid or missing account key")) << refused.text();
    EXPECT_FALSE(refused.has("<userid>"));
    EXPECT_EQ(state(), before);
    EXPECT_THAT(w.log(), HasSubstr(fmt::format("[HOST#{}] [USER#{}] Bad authenticator '", victim, victim_user)));
}

INSTANTIATE_TEST_SUITE_P(Texts, Hostile, ::testing::ValuesIn(kTexts));

TEST(ForgedHostId, GivesHostOfOnesOwnAndChangesNothing) {
    SchedulerWorld w("<resend_lost_results>1</resend_lost_results><msg_to_host>1</msg_to_host>");
    w.add_user("bob", "bobs_key");
    const Id victim = w.add_host(1);
    w.add_in_progress(victim, 3);
    w.rows.to_host[1] = {1, victim, 5, "v", "<trickle_down>a secret</trickle_down>", false};
    w.store();
    w.start_feeder(5);
    const auto state = [&] {
        return std::vector{fingerprint(w, "host", victim), fingerprint(w, "user", 1),
                           fingerprint(w, "result", 1),    fingerprint(w, "result", 2),
                           fingerprint(w, "result", 3),    fingerprint(w, "msg_to_host", 1)};
    };
    const auto before = state();
    RequestText r;
    r.authenticator = "bobs_key";
    r.hostid = victim;
    r.seqno = 1000;
    r.work_seconds = 1000;
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.value("hostid"), "2");
    EXPECT_TRUE(reply.result_names().empty());
    EXPECT_FALSE(reply.has("a secret"));
    EXPECT_EQ(state(), before);
    EXPECT_EQ(w.number(Sql("SELECT userid FROM host WHERE id=2")), 2);
    EXPECT_THAT(w.log(), HasSubstr("[HOST#1] [USER#2] inconsistent host ID; creating new host"));
}

TEST(ForgedHostId, NumbersOfAllKinds) {
    SchedulerWorld w;
    w.add_host(1);
    w.start_feeder(5);
    for (const char* id : {"-1", "0x1 OR 1=1", "99999999999999999999", "1; DROP TABLE host", "1e3", "", "2147483648"}) {
        RequestText r;
        std::string body = r.text();
        const auto at = body.find("<hostid>");
        ASSERT_NE(at, std::string::npos);
        body.replace(at, body.find("</hostid>") - at, std::string("<hostid>") + id);
        const ReplyText reply = w.send_raw(body);
        EXPECT_EQ(reply.malformed(), "") << id;
        EXPECT_EQ(reply.value("hostid"), "2") << id << ": the machine that it describes, not number 1";
    }
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM host")), 2);
    EXPECT_EQ(w.number(Sql("SELECT rpc_seqno FROM host WHERE id=1")), 0);
}

}  // namespace
}  // namespace sluice::test
