// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "db/mysql/errors.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DbSettings on(const std::string& host) {
    return {.host = host, .name = "proj", .user = "boincadm", .password = "S3cret"};
}

TEST(Endpoint, FollowsDbHost) {
    setenv("MYSQL_UNIX_PORT", "/run/own.sock", 1);
    char own[256] = {};
    gethostname(own, sizeof own - 1);
    for (const std::string local : {"", "localhost", static_cast<const char*>(own)}) {
        EXPECT_EQ(endpoint_of(on(local)).host, "") << local;
        EXPECT_EQ(endpoint_of(on(local)).socket, "/run/own.sock") << local;
    }
    struct Case {
        std::string text, host;
        int port;
    };
    for (const Case& c : {Case{"db.example.org", "db.example.org", 3306},
                          {"db.example.org:3307", "db.example.org", 3307},
                          {"127.0.0.1:33060", "127.0.0.1", 33060},
                          {"localhost:3308", "127.0.0.1", 3308},
                          {"[::1]:3309", "::1", 3309},
                          {"::1", "::1", 3306}}) {
        EXPECT_EQ(endpoint_of(on(c.text)).host, c.host) << c.text;
        EXPECT_EQ(endpoint_of(on(c.text)).port, c.port) << c.text;
    }
    for (const std::string bad : {"db:", "db:x", "db:0", "db:70000", "db:33 06"})
        EXPECT_THROW(endpoint_of(on(bad)), DbError) << bad;
}

TEST(Hosts, AreTriedInOrderThisMachineFirst) {
    char own[256] = {};
    gethostname(own, sizeof own - 1);
    using List = std::vector<std::string>;
    EXPECT_EQ(hosts_of(""), List{""});
    EXPECT_EQ(hosts_of("db.example.org"), List{"db.example.org"});
    EXPECT_EQ(hosts_of(" a:3307, b ,,c,"), (List{"a:3307", "b", "c"}));
    EXPECT_EQ(hosts_of(std::string("a,") + own + ":3306,b"), (List{std::string(own) + ":3306", "a", "b"}));
    EXPECT_EQ(hosts_of("[::1]:3309,localhost"), (List{"[::1]:3309", "localhost"}));
    // As the list is written for a cluster, the same on each machine. (203.0.113.0/24 is nobody's.)
    EXPECT_EQ(hosts_of("203.0.113.1,203.0.113.2:3307,127.0.0.1:3308"),
              (List{"127.0.0.1:3308", "203.0.113.1", "203.0.113.2:3307"}));
    EXPECT_EQ(hosts_of("2001:db8::1,[2001:db8::2]:3307,::1"), (List{"::1", "2001:db8::1", "[2001:db8::2]:3307"}));
    EXPECT_EQ(hosts_of("a,:3307,b"), (List{":3307", "a", "b"})) << "no name is this machine";
    const std::string full = std::string(own).substr(0, std::string(own).find('.')) + ".example.org";
    EXPECT_EQ(hosts_of("a," + full), (List{full, "a"})) << "gethostname() gives the short name on most machines";
}

TEST(Endpoint, WithoutTheVariableAUsualPlace) {
    unsetenv("MYSQL_UNIX_PORT");
    EXPECT_THAT(endpoint_of(on("")).socket,
                testing::AnyOf("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"));
}

TEST(StatementError, WhatPassesIfItIsRepeated) {
    for (const int code : {1020, 1047, 1180, 1205, 1213, 1467, 1613, 1614, 1637, 1969, 3101})
        EXPECT_EQ(statement_error(on(""), code, "x", "COMMIT").kind(), DbError::Kind::kRetry) << code;
    for (const int code : {2006, 2013, 1053, 1927, 4031})
        EXPECT_EQ(statement_error(on(""), code, "x", "COMMIT").kind(), DbError::Kind::kLost) << code;
    for (const int code : {1062, 1586})
        EXPECT_EQ(statement_error(on(""), code, "x", "COMMIT").kind(), DbError::Kind::kDuplicate) << code;
    for (const int code : {1054, 1064, 1146})
        EXPECT_EQ(statement_error(on(""), code, "x", "COMMIT").kind(), DbError::Kind::kOther) << code;
}

TEST(ConnectError, NamesAFullServer) {
    EXPECT_TRUE(server_is_busy(1040, "Too many connections"));
    EXPECT_TRUE(server_is_busy(2002, "Can't connect to local server through socket '/run/s' (11)"));
    EXPECT_TRUE(
        server_is_busy(2002, "Can't connect to local server through socket '/run/s' (11 \"Resource temporarily\")"));
    EXPECT_FALSE(server_is_busy(2002, "Can't connect to local server through socket '/run/s' (111)"));
    EXPECT_FALSE(server_is_busy(2002, "Can't connect to local server through socket '/run/s' (2)"));
    EXPECT_FALSE(server_is_busy(1045, "Access denied"));
}

TEST(ConnectError, SaysWhatToDo) {
    struct Case {
        int code;
        std::string says;
    };
    for (const Case& c : {Case{1045, "<db_passwd>"},
                          {1049, "load db/schema.sql"},
                          {1044, "grant"},
                          {2002, "is it running"},
                          {2003, "is it running"},
                          {1040, "max_connections"},
                          {1130, "does not accept this machine"}}) {
        const DbError error = connect_error(on("h:1"), c.code, "server's words");
        EXPECT_EQ(error.kind(), DbError::Kind::kCantConnect);
        EXPECT_EQ(error.code(), c.code);
        EXPECT_THAT(error.what(),
                    AllOf(HasSubstr(c.says), HasSubstr("h:1"), Not(HasSubstr("S3cret")), Not(HasSubstr("\n"))));
    }
}

TEST(StatementError, IsSortedByWhatTheCallerCanDo) {
    using K = DbError::Kind;
    struct Case {
        int code;
        K kind;
    };
    for (const Case& c : {Case{1213, K::kRetry},
                          {1205, K::kRetry},
                          {1020, K::kRetry},
                          {1062, K::kDuplicate},
                          {2006, K::kLost},
                          {2013, K::kLost},
                          {1927, K::kLost},
                          {1053, K::kLost},
                          {1064, K::kOther},
                          {1146, K::kOther}})
        EXPECT_EQ(statement_error(on(""), c.code, "x", "select 1").kind(), c.kind) << c.code;
}

TEST(StatementError, SaysWhatToDoInOneLine) {
    const DbError error = statement_error(on(""), 1146, "Table 'proj.user'\ndoesn't exist",
                                          "select id\nfrom user where authenticator='0123'");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("proj.user"), HasSubstr("load db/schema.sql"), Not(HasSubstr("0123")),
                                    HasSubstr("select id from user"), Not(HasSubstr("\n"))));
}

TEST(Redacted, HidesLiteralsWhateverIsInThem) {
    EXPECT_EQ(redacted("select 'a\\'b' , 'c'"), "select '…' , '…'");
    EXPECT_EQ(redacted("select 'never ends"), "select '…'");
    EXPECT_EQ(redacted("update t set b=_binary'\\\\' where id=5"), "update t set b=_binary'…' where id=5");
    EXPECT_LE(redacted(std::string(5000, 'x')).size(), 210u);
}

}  // namespace
}  // namespace sluice
