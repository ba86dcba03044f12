// SPDX-License-Identifier: LGPL-3.0-or-later
// What connecting costs and what a session is like, asked of the server itself.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

class Session : public testing::Test {
  protected:
    PrivateMariaDb& server = PrivateMariaDb::shared();
    Database admin{server.settings("mysql")};

    /// What the server logged of other connections while `work` ran: the texts of Query lines.
    std::vector<std::string> logged(const std::function<void()>& work) {
        admin.execute(Sql("set global log_output='TABLE'"));
        admin.execute(Sql("truncate table mysql.general_log"));
        admin.execute(Sql("set global general_log=1"));
        work();
        admin.execute(Sql("set global general_log=0"));
        Rows rows =
            admin.query(Sql("select convert(argument using utf8mb4) from mysql.general_log where "
                            "command_type='Query' and thread_id<>connection_id() order by event_time"));
        std::vector<std::string> texts;
        while (rows.next()) texts.push_back(rows.text(0));
        return texts;
    }
};

TEST_F(Session, ConnectingSendsOneStatement) {
    const auto texts = logged([&] {
        Database db(server.settings());
        db.connect();
        EXPECT_EQ(db.statements(), 1u);
    });
    ASSERT_EQ(texts.size(), 1u) << testing::PrintToString(texts);
    EXPECT_THAT(texts[0], testing::StartsWith("SET autocommit=1,time_zone='+00:00',sql_mode='STRICT_TRANS_TABLES"));
}

TEST_F(Session, RowsOfTwoResultsAreReadInTurn) {
    Database db(server.settings("mysql"));
    // MySQL has no tables of numbers.
    static constexpr char kFour[] =
        " from (select 1 n union all select 2 union all select 3 union all select 4) numbers";
    Rows longer = db.query(Sql("select repeat('a',n), n") << SqlLiteral{kFour}),
         shorter = db.query(Sql("select repeat('b',5-n), 5-n") << SqlLiteral{kFour});
    for (std::size_t i = 1; i <= 4; ++i) {
        ASSERT_TRUE(longer.next());
        EXPECT_EQ(longer.text(0), std::string(i, 'a'));
        ASSERT_TRUE(shorter.next());
        EXPECT_EQ(shorter.text(0), std::string(5 - i, 'b'));
        EXPECT_EQ(longer.i64(1), static_cast<std::int64_t>(i));
        EXPECT_EQ(longer.text(0), std::string(i, 'a'));
        EXPECT_EQ(shorter.i64(1), static_cast<std::int64_t>(5 - i));
        EXPECT_EQ(shorter.text(0), std::string(5 - i, 'b'));
    }
    // A new result may be where a former one was.
    for (std::size_t i = 0; i < 50; ++i) {
        Rows rows = db.query(Sql("select repeat('c',") << static_cast<std::int64_t>(i) << "), ''");
        ASSERT_TRUE(rows.next());
        EXPECT_EQ(rows.text(0), std::string(i, 'c'));
        EXPECT_EQ(rows.text(1), "");
    }
}

TEST_F(Session, ReadUncommittedCostsNoFurtherStatement) {
    DbSettings settings = server.settings();
    settings.read_uncommitted = true;
    const auto texts = logged([&] {
        Database db(settings);
        EXPECT_EQ(rows_of(db, Sql("select @@tx_isolation"), 1)[0][0], "READ-UNCOMMITTED");
    });
    EXPECT_EQ(texts.size(), 2u) << testing::PrintToString(texts);
}

TEST_F(Session, WaitsForLocksAFewSecondsAtMost) {
    const auto limits = [&](const DbSettings& settings) {
        Database db(settings);
        return rows_of(db, Sql("select @@innodb_lock_wait_timeout, @@lock_wait_timeout, floor(@@max_statement_time)"),
                       3)[0];
    };
    DbSettings settings = server.settings();
    EXPECT_EQ(limits(settings), (std::vector<std::string>{"10", "86400", "0"}));
    settings.interactive = true;
    EXPECT_EQ(limits(settings), (std::vector<std::string>{"2", "2", "10"}));
    settings.interactive = false, settings.turn_comes_again = true;
    EXPECT_EQ(limits(settings), (std::vector<std::string>{"1", "2", "0"}));
}

TEST_F(Session, IsUtf8UtcStrictAndKeepsServersIsolation) {
    admin.execute(
        Sql("set global time_zone='+05:00', global sql_mode='NO_BACKSLASH_ESCAPES', global autocommit=0, "
            "global tx_isolation='READ-COMMITTED'"));
    Database db(server.settings());
    const auto row = rows_of(db,
                             Sql("select @@time_zone, @@sql_mode, @@character_set_client, "
                                 "@@character_set_connection, @@character_set_results, @@autocommit, @@tx_isolation"),
                             7)[0];
    admin.execute(
        Sql("set global time_zone='SYSTEM', global sql_mode=default, global autocommit=1, "
            "global tx_isolation='REPEATABLE-READ'"));
    EXPECT_EQ(row, (std::vector<std::string>{"+00:00",
                                             "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
                                             "utf8mb4", "utf8mb4", "utf8mb4", "1", "READ-COMMITTED"}));
}

std::string refusal(DbSettings settings) {
    Database db(std::move(settings));
    try {
        db.connect();
    } catch (const DbError& e) {
        EXPECT_EQ(e.kind(), DbError::Kind::kCantConnect);
        EXPECT_FALSE(db.connected());
        return e.what();
    }
    return "connected";
}

TEST_F(Session, EachFailureToConnectSaysWhatToDo) {
    admin.execute(Sql("create or replace user 'vol'@'%' identified by 'secret'"));
    DbSettings settings = server.settings();
    settings.user = "vol";
    settings.password = "guess";
    EXPECT_THAT(refusal(settings),
                testing::AllOf(testing::HasSubstr("<db_passwd>"), testing::Not(testing::HasSubstr("guess"))));
    settings.password = "secret";
    EXPECT_EQ(refusal(settings), "connected");
    settings.name = "mysql";
    EXPECT_THAT(refusal(settings), testing::HasSubstr("grant the right"));
    EXPECT_THAT(refusal(server.settings("nothere")), testing::HasSubstr("there is no database 'nothere'"));
    settings = server.settings();
    settings.host = "127.0.0.1:1";
    EXPECT_THAT(refusal(settings),
                testing::AllOf(testing::HasSubstr("127.0.0.1:1"), testing::HasSubstr("is it running")));
    settings.host = "nosuchhost.invalid";
    EXPECT_THAT(refusal(settings), testing::HasSubstr("is it running"));
}

TEST_F(Session, TcpByHostAndPort) {
    PrivateMariaDb tcp({.tcp = true});
    DbSettings settings = tcp.settings();
    settings.host = "127.0.0.1:" + std::to_string(tcp.port());
    Database db(settings);
    EXPECT_EQ(number_of(db, Sql("select @@port")), tcp.port());
    EXPECT_EQ(db.statements(), 2u);
    settings.host = "localhost:" + std::to_string(tcp.port());
    Database by_name(settings);
    EXPECT_EQ(number_of(by_name, Sql("select @@port")), tcp.port());
    setenv("MYSQL_UNIX_PORT", server.socket().c_str(), 1);
}

/// s until the kernel asks whether the peer of our connection to that port is still there; -1: it never does.
double keepalive_due_in(int port) {
    std::ifstream table("/proc/self/net/tcp");
    const std::string peer = fmt::format("0100007F:{:04X}", port);
    std::string line;
    while (std::getline(table, line)) {
        std::istringstream words(line);
        std::string number, local, remote, state, queues, timer;
        words >> number >> local >> remote >> state >> queues >> timer;
        constexpr char kEstablished[] = "01";
        if (remote != peer || state != kEstablished) continue;
        if (!timer.starts_with("02:")) return -1;
        return static_cast<double>(std::stoul(timer.substr(3), nullptr, 16)) /
               static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    return -1;
}

TEST_F(Session, AMachineWithoutPowerIsNoticed) {
    PrivateMariaDb tcp({.tcp = true});
    DbSettings settings = tcp.settings();
    settings.host = fmt::format("127.0.0.1:{0},127.0.0.1:{0}", tcp.port());
    Database db(settings);
    EXPECT_EQ(number_of(db, Sql("select @@port")), tcp.port());
    const double due = keepalive_due_in(tcp.port());
    EXPECT_GT(due, 0);
    EXPECT_LE(due, 30) << "the system's own time is two hours";
    setenv("MYSQL_UNIX_PORT", server.socket().c_str(), 1);
}

}  // namespace
}  // namespace sluice::test
