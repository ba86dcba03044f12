// SPDX-License-Identifier: LGPL-3.0-or-later
// Texts of clients and columns of the project on servers whose sql_mode is '': no request is lost, and what a column
// can hold is stored. The real scheduler as CGI, so that each request is a process of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

constexpr const char* kText = "中文-Łódź-😀";

/// The tables that the scheduler writes, in another character set.
void convert(Database& db, SqlLiteral charset) {
    static constexpr SqlLiteral kTables[] = {"host",        "user", "workunit", "result",      "msg_from_host",
                                             "msg_to_host", "team", "app",      "app_version", "platform"};
    for (const SqlLiteral table : kTables) {
        Sql sql("ALTER TABLE ");
        db.execute(sql << table << " CONVERT TO CHARACTER SET " << charset);
    }
}

void add_columns_of_the_project(Database& db) {
    static constexpr SqlLiteral kTables[] = {"host", "user", "workunit", "result", "msg_from_host"};
    for (const SqlLiteral table : kTables) {
        Sql sql("ALTER TABLE ");
        db.execute(sql << table
                       << " ADD site varchar(40) NOT NULL, ADD weight double NOT NULL, ADD note text NOT NULL");
    }
}

RequestText with_texts(Id host) {
    RequestText request = asking(host, 1e5);
    request.domain_name = kText;
    const auto in = [](const char* tag) { return fmt::format("<{0}>{1}</{0}>", tag, kText); };
    request.more = in("cross_project_id") + in("client_brand") + "<alt_platform>" + in("name") +
                   "</alt_platform><coprocs><coproc_cuda><count>1</count>" + in("name") +
                   "</coproc_cuda></coprocs><msg_from_host>\n" + in("variety") + "\n" + in("result_name") +
                   "\n</msg_from_host>\n<global_preferences>\n<mod_time>1</mod_time>" + kText +
                   "</global_preferences>\n<app_versions><app_version>" + in("app_name") + in("platform") +
                   in("plan_class") + "</app_version></app_versions><file_info>" + in("name") + "</file_info>";
    request.reported.emplace_back(kText);
    request.others.emplace_back(kText);
    return request;
}

void expect_served(SchedulerWorld& w) {
    w.add_jobs(8);
    w.start_feeder();
    const ReplyText first = w.send(with_texts(0));
    const Id host = w.number(Sql("SELECT COALESCE(MAX(id),0) FROM host"));
    EXPECT_EQ(first.value("hostid"), std::to_string(host)) << w.log();
    ASSERT_GT(host, 0) << w.log();
    const auto reported = w.add_in_progress(host, 2);
    RequestText again = with_texts(host);
    again.seqno = 1;
    again.reported.insert(again.reported.end(), reported.begin(), reported.end());
    const ReplyText second = w.send(again);
    for (const std::string& name : reported) EXPECT_TRUE(second.has("<name>" + name + "</name>")) << second.text();
    EXPECT_FALSE(second.result_names().empty()) << second.text() << w.log();
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND hostid=") << host), 2);
    EXPECT_GE(w.number(Sql("SELECT COUNT(*) FROM msg_from_host WHERE hostid=") << host), 1) << w.log();
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM host")), 1) << "the same machine once";
}

class NarrowColumns : public ::testing::Test {
  protected:
    SchedulerWorld w{"<msg_to_host>1</msg_to_host><resend_lost_results>1</resend_lost_results>"};
    int lines(const std::string& text) const {
        const std::string log = w.log();
        int n = 0;
        for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++n;
        return n;
    }
};

TEST_F(NarrowColumns, Latin1) {
    convert(w.db(), "latin1");
    expect_served(w);
    EXPECT_EQ(rows_of(w.db(), Sql("SELECT domain_name FROM host"), 1)[0][0], "?\?-?ód?-?");
    EXPECT_EQ(lines("host.domain_name: the column can't hold"), 1) << "of two processes\n" << w.log();
}

TEST_F(NarrowColumns, Utf8mb3) {
    convert(w.db(), "utf8mb3");
    expect_served(w);
    EXPECT_EQ(rows_of(w.db(), Sql("SELECT LEFT(domain_name,8) FROM host"), 1)[0][0], "中文-Łódź-");
}

TEST_F(NarrowColumns, Ascii) {
    convert(w.db(), "ascii");
    expect_served(w);
}

TEST_F(NarrowColumns, Binary) {
    w.db().execute(Sql("ALTER TABLE team DROP KEY team_name_desc"));
    convert(w.db(), "binary");
    expect_served(w);
}

TEST_F(NarrowColumns, ColumnsOfTheProject) {
    add_columns_of_the_project(w.db());
    expect_served(w);
    EXPECT_EQ(rows_of(w.db(), Sql("SELECT domain_name FROM host"), 1)[0][0], kText);
}

TEST_F(NarrowColumns, ShorterAndSmallerOnes) {
    w.db().execute(
        Sql("ALTER TABLE host MODIFY domain_name varchar(4) NOT NULL, MODIFY p_ncpus tinyint NOT NULL, "
            "MODIFY p_fpops float NOT NULL, MODIFY host_cpid varchar(10) NOT NULL"));
    w.start_feeder();
    RequestText request = asking(0, 1);
    request.ncpus = 4000;
    const ReplyText reply = w.send(request);
    EXPECT_EQ(reply.value("hostid"), "1") << w.log();
    EXPECT_EQ(w.number(Sql("SELECT p_ncpus FROM host")), 127);
}

}  // namespace
}  // namespace sluice::test
