// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using Kind = DbError::Kind;

/// The kind of the DbError that `work` throws; "none" if it throws none.
std::string thrown(const std::function<void()>& work) {
    try {
        work();
    } catch (const DbError& e) {
        switch (e.kind()) {
            case Kind::kCantConnect: return "cant_connect";
            case Kind::kLost: return "lost";
            case Kind::kRetry: return "retry";
            case Kind::kDuplicate: return "duplicate";
            case Kind::kOther: return "other";
        }
    }
    return "none";
}

int inherited_sockets() {
    int n = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        struct stat info {};
        if (::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) ++n;
    }
    return n;
}

class Db : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        Database admin(PrivateMariaDb::shared().settings());
        admin.execute(Sql("create database if not exists t character set utf8mb4 collate utf8mb4_unicode_ci"));
    }
    void SetUp() override {
        db.execute(Sql("drop table if exists t"));
        db.execute(
            Sql("create table t (id int not null auto_increment primary key, n int not null default 0, "
                "d double not null default 0, s varchar(20) not null default '', b mediumblob, "
                "unique u (s)) engine=InnoDB"));
    }
    std::int64_t insert(const std::string& s, int n = 0) {
        Sql sql("insert into t (s,n) values (");
        sql << SqlText{s, 20} << "," << n << ")";
        return db.execute(sql);
    }
    void kill_connection_of(Database& victim) {
        Sql sql("kill ");
        sql << number_of(victim, Sql("select connection_id()"));
        admin.execute(sql);
    }
    PrivateMariaDb& server = PrivateMariaDb::shared();
    Database db{server.settings("t")};
    Database admin{server.settings("t")};
};

TEST_F(Db, StartedProgramsDoNotGetTheConnection) {
    const int before = inherited_sockets();
    Database other(server.settings("t"));
    other.connect();
    EXPECT_EQ(inherited_sockets(), before);
}

TEST_F(Db, AffectedRowsAreRowsMatched) {
    insert("a");
    insert("b");
    EXPECT_EQ(db.execute(Sql("update t set n=0")), 2) << "matched, though unchanged";
    EXPECT_EQ(db.execute(Sql("update t set n=1 where s='a' and n=0")), 1);
    EXPECT_EQ(db.execute(Sql("update t set n=1 where s='a' and n=0")), 0);
    EXPECT_EQ(db.execute(Sql("insert into t (s) values ('x'),('y'),('z')")), 3);
    EXPECT_EQ(db.execute(Sql("delete from t")), 5);
}

TEST_F(Db, DebugLevelLogsStatementsWithoutKeys) {
    const TempDir dir;
    log_open({.file = (dir / "log").string(), .level = LogLevel::kDebug});
    db.query(Sql("SELECT x.id FROM (SELECT 1 id,'k' authenticator) x WHERE x.authenticator=")
             << SqlText{"0123456789abcdef"} << " AND x.id<>" << 17);
    log_set_level(LogLevel::kNormal);
    db.query(Sql("SELECT 18"));
    log_open({});
    const std::string log = read_file(dir / "log").value();
    EXPECT_THAT(log, testing::HasSubstr("WHERE x.authenticator='012345...' AND x.id<>17"));
    EXPECT_THAT(log, testing::HasSubstr("[debug] query: SELECT x.id"));
    EXPECT_THAT(log, testing::Not(testing::HasSubstr("SELECT 18")));
}

TEST_F(Db, LastInsertIdIsFirstOfStatement) {
    insert("a");
    EXPECT_EQ(db.last_insert_id(), 1);
    db.execute(Sql("insert into t (s) values ('x'),('y')"));
    EXPECT_EQ(db.last_insert_id(), 2);
    db.execute(Sql("update t set n=4"));
    EXPECT_EQ(db.last_insert_id(), 2);
}

TEST_F(Db, EveryByteOfABlobComesBack) {
    std::string bytes;
    for (int round = 0; round < 3; ++round)
        for (int i = 0; i < 256; ++i) bytes += static_cast<char>(round == 1 ? 255 - i : i);
    Sql sql("insert into t (b) values (");
    sql << SqlBlob{bytes} << ")";
    db.execute(sql);
    Rows rows = db.query(Sql("select b, length(b) from t"));
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(0), bytes);
    EXPECT_EQ(rows.i64(1), static_cast<std::int64_t>(bytes.size()));
}

TEST_F(Db, StrictModeStoresTextOfAnyBytes) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"it's \\ ok", "it's \\ ok"},
        {"日本🚀", "日本🚀"},
        {"M\xfcller", "Müller"},
        {std::string("a\0b", 3), std::string("a\0b", 3)},
        {"\xff\xfe'; drop table t; -- ", "ÿþ'; drop table t; -"},
        {"\x1a\n\r\"", "\x1a\n\r\""}};
    for (const auto& [given, stored] : cases) {
        insert(given);
        Sql sql("select s from t where id=");
        sql << db.last_insert_id();
        EXPECT_EQ(rows_of(db, sql, 1)[0][0], stored);
    }
}

TEST_F(Db, RandomBytesComeBackCutAtCharacters) {
    std::minstd_rand random(1);
    for (int round = 0; round < 300; ++round) {
        std::string text;
        for (int i = 0; i < 40; ++i)
            text += static_cast<char>(random() % 3 ? random() % 256 : "\xc3\xa4\xf0\x9f\x9a\x80'\\"[random() % 8]);
        Sql sql("select char_length(");
        sql << SqlText{text, 20} << "), length(" << SqlBlob{text} << "), hex(" << SqlBlob{text} << ")=hex("
            << SqlBlob{text} << ")";
        const auto row = rows_of(db, sql, 3)[0];
        EXPECT_LE(std::stoi(row[0]), 20);
        EXPECT_EQ(row[1], "40");
        EXPECT_EQ(row[2], "1");
    }
}

TEST_F(Db, DoublesComeBackExactly) {
    for (const double value :
         {0.1, 1.0 / 3, 1e-300, 1.7976931348623157e308, -2.2250738585072014e-308, 123456789.12345679, 0.0}) {
        db.execute(Sql("delete from t"));
        Sql sql("insert into t (d) values (");
        sql << value << ")";
        db.execute(sql);
        Rows rows = db.query(Sql("select d from t"));
        ASSERT_TRUE(rows.next());
        EXPECT_EQ(rows.f64(0), value);
    }
}

TEST_F(Db, ValuesOfOtherTypesAndNullRead) {
    Rows rows = db.query(Sql("select null, 1.9e3, 18446744073709551615, 'text', -7, 2.5"));
    EXPECT_EQ(rows.size(), 1u);
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.i64(0), 0);
    EXPECT_EQ(rows.f64(0), 0);
    EXPECT_EQ(rows.text(0), "");
    EXPECT_EQ(rows.i64(1), 1900);
    EXPECT_EQ(rows.i64(3), 0);
    EXPECT_EQ(rows.i32(4), -7);
    EXPECT_EQ(rows.f64(5), 2.5);
    EXPECT_TRUE(rows.flag(4));
    EXPECT_FALSE(rows.next());
    EXPECT_EQ(Rows().size(), 0u);
}

TEST_F(Db, RowsOutliveLaterStatementsAndTheConnection) {
    insert("a");
    insert("b");
    Rows rows = db.query(Sql("select s from t order by s"));
    ASSERT_TRUE(rows.next());
    insert("c");
    db.disconnect();
    EXPECT_EQ(rows.text(0), "a");
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.text(0), "b");
}

TEST_F(Db, CountersAgreeWithTheServers) {
    const auto status = [](Database& of, const std::string& name) {
        Sql sql("show session status like ");
        sql << SqlText{name};
        return std::stoull(rows_of(of, sql, 2)[0][1]);
    };
    Database counted(server.settings("t"));
    counted.query(Sql("select 1"));
    counted.execute(Sql("insert into t (s) values ('one')"));
    counted.transaction([&] {
        counted.execute(Sql("update t set n=1"));
        counted.execute(Sql("update t set n=2"));
    });
    EXPECT_THROW(counted.transaction([] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(thrown([&] { counted.query(Sql("select nothing from t")); }), "other");
    counted.query_streaming(Sql("select * from t"), [](const Rows&) {});
    EXPECT_EQ(counted.commits(), 2u);
    EXPECT_EQ(status(counted, "Com_commit"), 1u) << "and one autocommit";
    const auto questions = status(counted, "Questions");
    EXPECT_EQ(questions, counted.statements());
    EXPECT_EQ(counted.statements(), 11u) << "nothing is begun that comes to nothing";
}

TEST_F(Db, ErrorsAreSorted) {
    insert("a");
    EXPECT_EQ(thrown([&] { insert("a"); }), "duplicate");
    EXPECT_EQ(thrown([&] { db.query(Sql("selec")); }), "other");
    EXPECT_EQ(thrown([&] { db.execute(Sql("insert into t (n) values ('x')")); }), "other") << "strict mode";
    try {
        db.query(Sql("select 1 from missing where s='secret'"));
        FAIL();
    } catch (const DbError& e) {
        EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("load db/schema.sql"), testing::HasSubstr("missing"),
                                             testing::Not(testing::HasSubstr("secret"))));
    }
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 1) << "the connection stays usable";
}

TEST_F(Db, StreamingKeepsMemoryBounded) {
    insert("seed");
    db.execute(Sql("update t set b=repeat('x',10000)"));
    for (int doubling = 0; doubling < 13; ++doubling)
        db.execute(Sql("insert into t (s,n,b) select uuid_short(), id, b from t"));
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    std::int64_t rows = 0, bytes = 0;
    db.query_streaming(Sql("select id, b from t"), [&](const Rows& row) {
        ++rows;
        bytes += static_cast<std::int64_t>(row.text(1).size());
    });
    getrusage(RUSAGE_SELF, &after);
    EXPECT_EQ(rows, 8192);
    EXPECT_EQ(bytes, 81920000);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 20000) << "kB, of 80 MB read";
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 8192);
}

TEST_F(Db, AnErrorAmongStreamedRowsIsNoEnd) {
    int rows = 0;
    try {
        db.query_streaming(
            Sql("SELECT IF(s.seq<20000, REPEAT('x',100), (SELECT t.seq FROM seq_1_to_2 t WHERE t.seq<=s.seq)) FROM "
                "seq_1_to_30000 s"),
            [&](const Rows&) { ++rows; });
        FAIL() << "after " << rows << " rows";
    } catch (const DbError& e) {
        EXPECT_EQ(e.code(), 1242) << e.what();
    }
    EXPECT_EQ(rows, 19999) << "they had been sent by then";
    EXPECT_EQ(number_of(db, Sql("SELECT 7")), 7) << "the connection is usable";
}

TEST_F(Db, StreamThatIsBrokenOffLeavesConnectionUsable) {
    db.execute(Sql("insert into t (s) values ('a'),('b'),('c')"));
    int seen = 0;
    EXPECT_THROW(db.query_streaming(Sql("select s from t"),
                                    [&](const Rows&) {
                                        ++seen;
                                        throw std::runtime_error("enough");
                                    }),
                 std::runtime_error);
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 3);
    EXPECT_THROW(db.query_streaming(Sql("select s from t"), [&](const Rows&) { insert("d"); }), std::logic_error);
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 3);
}

TEST_F(Db, TransactionsCommitOrLeaveNothing) {
    db.transaction([&] {
        EXPECT_TRUE(db.in_transaction());
        insert("a");
        EXPECT_EQ(number_of(admin, Sql("select count(*) from t")), 0);
    });
    EXPECT_FALSE(db.in_transaction());
    EXPECT_EQ(number_of(admin, Sql("select count(*) from t")), 1);
    EXPECT_THROW(db.transaction([&] {
        insert("b");
        throw std::runtime_error("stop");
    }),
                 std::runtime_error);
    EXPECT_EQ(thrown([&] {
                  db.transaction([&] {
                      insert("c");
                      insert("a");
                  });
              }),
              "duplicate");
    EXPECT_EQ(number_of(admin, Sql("select count(*) from t")), 1);
    EXPECT_THROW(db.transaction([&] { db.transaction([] {}); }), std::logic_error);
    EXPECT_FALSE(db.in_transaction());
}

TEST_F(Db, WaitingWritesGoWithTheNextStatement) {
    insert("a");
    const auto text_of = [](const char* what) {
        Sql sql("insert into t (s) values (");
        return sql << SqlText{what} << ")";
    };
    const std::uint64_t before = db.statements();
    db.transaction([&] {
        db.enqueue(text_of("b; 'c"));
        db.enqueue(text_of("d"));
        EXPECT_TRUE(db.execute_matching(Sql("update t set n=7"), 3));
        EXPECT_EQ(number_of(admin, Sql("select count(*) from t")), 1);
        db.enqueue(text_of("e"));
        EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 4) << "a query sees what was written before it";
        db.enqueue(text_of("f"));
    });
    EXPECT_EQ(db.statements() - before, 5u) << "begin and three writes; e; the query; f; COMMIT";
    EXPECT_EQ(number_of(admin, Sql("select sum(n=7)*100+count(*) from t")), 305);
    db.enqueue(text_of("g"));
    EXPECT_EQ(number_of(admin, Sql("select count(*) from t")), 6) << "outside a transaction at once";
}

TEST_F(Db, WritesAboveAMegabyteGoOneByOne) {
    const Sql last("update t set n=n+1");
    const auto statements_of = [&](std::size_t bytes) {
        Sql first("insert into t (b) values (");
        const std::size_t around = first.size() + 10 + Sql("START TRANSACTION").size() + last.size();
        first << SqlBlob{std::string(bytes - around, 'x')} << ")";
        EXPECT_EQ(first.size() + Sql("START TRANSACTION").size() + last.size(), bytes);
        db.execute(Sql("delete from t"));
        const std::uint64_t before = db.statements();
        db.transaction([&] {
            db.enqueue(first);
            EXPECT_TRUE(db.execute_matching(last, 1));
        });
        EXPECT_EQ(number_of(admin, Sql("select count(*) from t where n=1 and length(b)>1000000")), 1);
        return db.statements() - before;
    };
    const std::size_t most = Database::kBulkBytes / 2;
    EXPECT_EQ(statements_of(most), 2u) << "one packet, COMMIT";
    EXPECT_EQ(statements_of(most + 1), 3u) << "the last one by itself";
    EXPECT_EQ(statements_of(most + last.size()), 3u);
    EXPECT_EQ(statements_of(most + last.size() + 1), 4u) << "BEGIN, two writes, COMMIT";
}

TEST_F(Db, FewerRowsThanExpectedAreNoticed) {
    insert("a");
    insert("b");
    const auto two_rows = [&] { return db.execute_matching(Sql("update t set n=n"), 2); };
    const auto three_rows = [&] { return db.execute_matching(Sql("update t set n=n"), 3); };
    EXPECT_TRUE(two_rows()) << "matched, not changed";
    EXPECT_FALSE(three_rows());
    for (const bool waits : {false, true}) {
        db.transaction([&] {
            if (waits) db.enqueue(Sql("update t set n=n+1"));
            EXPECT_TRUE(two_rows());
            if (waits) db.enqueue(Sql("update t set n=n+1"));
            EXPECT_FALSE(three_rows());
            EXPECT_TRUE(two_rows()) << "and the transaction goes on";
        });
    }
    EXPECT_EQ(number_of(admin, Sql("select sum(n) from t")), 4) << "none of them is undone";
}

TEST_F(Db, AnErrorOfWhatWaitsEndsTheTransaction) {
    insert("a");
    const auto again = [] { return Sql("insert into t (s) values ('a')"); };
    EXPECT_EQ(thrown([&] {
                  db.transaction([&] {
                      insert("b");
                      db.enqueue(again());
                      db.enqueue(Sql("update t set n=5"));
                      db.execute_matching(Sql("update t set n=6"), 1);
                      ADD_FAILURE() << "went on";
                  });
              }),
              "duplicate");
    EXPECT_EQ(thrown([&] { db.transaction([&] { db.enqueue(again()); }); }), "duplicate") << "before the COMMIT";
    EXPECT_EQ(rows_of(admin, Sql("select s,n from t"), 2), (std::vector<std::vector<std::string>>{{"a", "0"}}));
    EXPECT_FALSE(db.in_transaction());
}

TEST_F(Db, ATransactionsFirstPacketIsRepeated) {
    insert("a");
    kill_connection_of(db);
    db.transaction([&] {
        db.enqueue(Sql("update t set n=n+1"));
        EXPECT_TRUE(db.execute_matching(Sql("update t set n=n+10"), 1));
    });
    EXPECT_EQ(number_of(admin, Sql("select n from t")), 11);
    EXPECT_EQ(thrown([&] {
                  db.transaction([&] {
                      db.execute_matching(Sql("update t set n=0"), 1);
                      kill_connection_of(db);
                      db.enqueue(Sql("update t set n=1"));
                      db.execute_matching(Sql("update t set n=2"), 1);
                  });
              }),
              "lost")
        << "not a later one";
    EXPECT_EQ(number_of(admin, Sql("select n from t")), 11);
}

TEST_F(Db, DeadlocksAreRepeatedUntilBothAreThrough) {
    db.execute(Sql("insert into t (s) values ('a'),('b')"));
    std::atomic<int> tries{0}, both{0};
    const auto add_to = [&](SqlLiteral first, SqlLiteral second) {
        Database own(server.settings("t"));
        own.transaction([&] {
            ++tries;
            Sql one("update t set n=n+1 where s='");
            one << first << "'";
            own.execute(one);
            ++both;  // on the first try each waits until the other holds its first row
            for (int i = 0; i < 60000 && both < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            Sql two("update t set n=n+1 where s='");
            two << second << "'";
            own.execute(two);
        });
    };
    std::thread other([&] { add_to("b", "a"); });
    add_to("a", "b");
    other.join();
    EXPECT_GE(tries, 3) << "one of them was the victim of a deadlock";
    EXPECT_EQ(rows_of(db, Sql("select n from t order by s"), 1), (std::vector<std::vector<std::string>>{{"2"}, {"2"}}));
}

TEST_F(Db, RetriesAreBounded) {
    int tries = 0;
    EXPECT_EQ(thrown([&] {
                  db.transaction(
                      [&] {
                          ++tries;
                          throw DbError(Kind::kRetry, 1213, "again");
                      },
                      {}, 3);
              }),
              "retry");
    EXPECT_EQ(tries, 3);
    EXPECT_FALSE(db.in_transaction());
}

TEST_F(Db, QueryOnBrokenConnectionIsRepeatedOnce) {
    insert("a");
    kill_connection_of(db);
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 1);
    kill_connection_of(db);
    int rows = 0;
    db.query_streaming(Sql("select * from t"), [&](const Rows&) { ++rows; });
    EXPECT_EQ(rows, 1);
    kill_connection_of(db);
    db.transaction([&] { insert("b"); });
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 2);
}

/// Statements of one query_often() of the row with this id, and what it reads.
struct Asked {
    std::string text;
    std::uint64_t statements = 0;
    friend bool operator==(const Asked&, const Asked&) = default;
    friend void PrintTo(const Asked& a, std::ostream* out) { *out << a.text << " " << a.statements; }
};
Asked ask_often(Database& db, Id id) {
    const std::uint64_t before = db.statements();
    Rows rows = db.query_often(Sql("select concat(s,';\\\'',n,'?') from t where id="), id);
    const std::string text = rows.next() ? rows.text(0) : "no row";
    return {text, db.statements() - before};
}

TEST_F(Db, WhatIsAskedOftenIsPrepared) {
    insert("a", 1);
    insert("b", 2);
    const bool prepares = !server.is_mysql();
    EXPECT_EQ(ask_often(db, 1), (Asked{"a;'1?", 1}));
    EXPECT_EQ(ask_often(db, 2), (Asked{"b;'2?", prepares ? 2u : 1u}));
    EXPECT_EQ(ask_often(db, 1), (Asked{"a;'1?", 1}));
    EXPECT_EQ(ask_often(db, 3), (Asked{"no row", 1}));
    EXPECT_EQ(number_of(admin, Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                                   "VARIABLE_NAME='PREPARED_STMT_COUNT'")),
              prepares ? 1 : 0);
    db.transaction([&] { EXPECT_EQ(ask_often(db, 2).text, "b;'2?"); });
    kill_connection_of(db);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_often(db, 2).text, "b;'2?") << "on a new connection";
    kill_connection_of(db);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask_often(db, 1).text, "a;'1?");
}

/// Prepared, it means the database of that time. A proxy may give the session of another project's scheduler.
TEST_F(Db, EachDatabasePreparesUnderNamesOfItsOwn) {
    const bool prepares = !server.is_mysql();
    admin.execute(Sql("create database if not exists another"));
    admin.execute(Sql("create table if not exists another.t like t"));
    Database other(server.settings("another"));
    admin.execute(Sql("set global log_output='TABLE'"));
    admin.execute(Sql("truncate table mysql.general_log"));
    admin.execute(Sql("set global general_log=1"));
    insert("a", 1);
    for (Database* scheduler : {&db, &other})
        for (int i = 0; i < 3; ++i) ask_often(*scheduler, 1);
    admin.execute(Sql("set global general_log=0"));
    admin.execute(Sql("set global log_output=default"));
    EXPECT_EQ(number_of(admin, Sql("select count(distinct argument) from mysql.general_log where argument like "
                                   "'PREPARE %'")),
              prepares ? 2 : 0);
    db.execute(Sql("use another"));
    EXPECT_EQ(ask_often(db, 1), (Asked{prepares ? "a;'1?" : "no row", 1}));
    admin.execute(Sql("drop database another"));
}

TEST_F(Db, APreparedQueryFollowsChangesOfItsTable) {
    insert("a", 1);
    for (int i = 0; i < 3; ++i) ask_often(db, 1);
    admin.execute(Sql("alter table t add column first int not null default 7 first"));
    EXPECT_EQ(ask_often(db, 1).text, "a;'1?");
    admin.execute(Sql("alter table t drop column n"));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(thrown([&] { ask_often(db, 1); }), "other") << "as the statement itself";
    admin.execute(Sql("alter table t add column n int not null default 3"));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ask_often(db, 1).text, "a;'3?");
}

TEST_F(Db, UnpreparedItIsAskedAllTheSame) {
    insert("a", 1);
    admin.execute(Sql("set global max_prepared_stmt_count=0"));
    ask_often(db, 1);
    EXPECT_EQ(ask_often(db, 1).text, "a;'1?");
    EXPECT_EQ(ask_often(db, 1), (Asked{"a;'1?", 1})) << "and it is not tried again";
    admin.execute(Sql("set global max_prepared_stmt_count=default"));
}

TEST_F(Db, AWriteOnABrokenConnectionIsNot) {
    kill_connection_of(db);
    EXPECT_EQ(thrown([&] { insert("a"); }), "lost");
    EXPECT_FALSE(db.connected());
    EXPECT_EQ(insert("a"), 1);
}

TEST_F(Db, NothingEscapesFromABrokenTransaction) {
    EXPECT_EQ(thrown([&] {
                  db.transaction([&] {
                      insert("a");
                      kill_connection_of(db);
                      EXPECT_EQ(thrown([&] { insert("b"); }), "lost");
                      EXPECT_EQ(thrown([&] { insert("c"); }), "lost") << "not outside the transaction";
                      insert("d");
                  });
              }),
              "lost");
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 0);
}

TEST_F(Db, ARestartedServerIsFoundAgain) {
    insert("a");
    server.stop();
    EXPECT_EQ(thrown([&] { db.query(Sql("select 1")); }), "lost") << "it was there: who works once may wait for it";
    EXPECT_EQ(thrown([&] { db.query_streaming(Sql("select 1"), [](const Rows&) {}); }), "cant_connect");
    EXPECT_EQ(thrown([&] { db.execute(Sql("delete from t")); }), "cant_connect");
    server.start();
    EXPECT_EQ(number_of(db, Sql("select count(*) from t")), 1);
    server.kill();
    EXPECT_NE(thrown([&] { db.execute(Sql("delete from t")); }), "none");
    server.start();
    EXPECT_NO_THROW(number_of(db, Sql("select count(*) from t")));
}

}  // namespace
}  // namespace sluice::test
