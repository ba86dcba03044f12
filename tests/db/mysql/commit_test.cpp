// SPDX-License-Identifier: LGPL-3.0-or-later
// What a transaction does that has to wait for a lock, and one whose COMMIT gets no answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/private_mariadb.h"
#include "tests/support/sql_proxy.h"

namespace sluice::test {
namespace {

using Kind = DbError::Kind;

class Commit : public testing::Test {
  protected:
    Commit() {
        admin.execute(Sql("create database if not exists commits"));
        db.execute(Sql("drop table if exists t"));
        db.execute(Sql("create table t (n int not null) engine=InnoDB"));
        db.execute(Sql("insert into t values (0)"));
    }
    void kill_connection_of(Database& victim) {
        Sql sql("kill ");
        admin.execute(sql << number_of(victim, Sql("select connection_id()")));
    }
    DbSettings impatiently() const {
        DbSettings settings = server.settings("commits");
        settings.interactive = true;
        return settings;
    }
    /// The kind of the DbError that `work` throws; nullopt if it throws none.
    static std::optional<Kind> thrown(const std::function<void()>& work) {
        try {
            work();
        } catch (const DbError& e) {
            return e.kind();
        }
        return std::nullopt;
    }
    PrivateMariaDb& server = PrivateMariaDb::shared();
    Database admin{server.settings()};
    Database db{server.settings("commits")};
};

TEST_F(Commit, WhereSomebodyWaitsLockIsWaitedForOnce) {
    DbSettings service = server.settings("commits");
    service.turn_comes_again = true;
    for (const DbSettings& settings : {impatiently(), service}) {
        Database impatient(settings);
        int tries = 0;
        db.transaction([&] {
            db.execute(Sql("update t set n=1"));
            EXPECT_EQ(thrown([&] {
                          impatient.transaction([&] {
                              ++tries;
                              impatient.execute(Sql("update t set n=2"));
                          });
                      }),
                      Kind::kRetry);
        });
        EXPECT_EQ(tries, 1);
        EXPECT_FALSE(impatient.in_transaction());
        EXPECT_EQ(number_of(db, Sql("select n from t")), 1);
    }
}

TEST_F(Commit, InteractiveWaitsAreShort) {
    Database impatient(impatiently());
    int asked = 0;
    const auto write = [&](const std::function<void()>& before_commit) {
        return thrown([&] {
            impatient.transaction(
                [&] {
                    impatient.execute(Sql("update t set n=3"));
                    before_commit();
                },
                [&] { return ++asked > 0; });
        });
    };
    db.execute(Sql("lock tables t read"));  // mysqldump
    EXPECT_EQ(write([] {}), Kind::kRetry);
    db.execute(Sql("unlock tables"));
    EXPECT_EQ(write([&] { db.execute(Sql("flush tables with read lock")); }), Kind::kRetry);
    db.execute(Sql("unlock tables"));
    EXPECT_EQ(asked, 0) << "a COMMIT that waited in vain is rolled back";
    EXPECT_EQ(number_of(db, Sql("select n from t")), 0);
    EXPECT_EQ(write([] {}), std::nullopt);
}

TEST_F(Commit, InteractiveTransactionsHaveOnePatience) {
    DbSettings settings = impatiently();
    settings.patience = 0.2;
    Database impatient(settings);
    EXPECT_EQ(thrown([&] { impatient.query(Sql("select sleep(100)")); }), Kind::kRetry);
    int tries = 0, statements = 0;
    const auto short_ones = [&] {
        ++tries;
        for (; statements < 1000; ++statements) {
            impatient.execute(Sql("update t set n=n+1"));
            impatient.query(Sql("select sleep(0.01)"));
        }
    };
    EXPECT_EQ(thrown([&] { impatient.transaction(short_ones); }), Kind::kRetry);
    EXPECT_EQ(tries, 1);
    EXPECT_LT(statements, 1000);
    EXPECT_EQ(number_of(db, Sql("select n from t")), 0) << "rolled back";
    // On a busy machine even that may take longer than it has.
    const auto one = [&] { impatient.execute(Sql("update t set n=7")); };
    EXPECT_TRUE(eventually([&] { return !thrown([&] { impatient.transaction(one); }); }));
    EXPECT_EQ(number_of(db, Sql("select n from t")), 7);
}

// Of a transaction that is over, however it ended, nothing ends what comes later.
TEST_F(Commit, PatienceEndsWithTheTransaction) {
    DbSettings settings = impatiently();
    settings.patience = 3;
    for (const bool in_block : {true, false}) {
        Database idle(settings);
        const auto known = in_block ? std::function<bool()>([] { return false; }) : std::function<bool()>();
        idle.transaction([&] { idle.enqueue(Sql("update t set n=n+1")); }, known);
        std::this_thread::sleep_for(std::chrono::milliseconds(3100));
        EXPECT_EQ(thrown([&] { idle.query(Sql("select n from t")); }), std::nullopt) << in_block;
    }
}

TEST_F(Commit, AnUnansweredCommitIsCheckedAfterwards) {
    int asked = 0;
    const auto cut_off = [&](const std::function<bool()>& took_place) {
        db.transaction(
            [&] {
                db.execute(Sql("update t set n=n+1"));
                kill_connection_of(db);  // the COMMIT does not arrive
            },
            [&] {
                ++asked;
                EXPECT_FALSE(db.in_transaction());
                return took_place();
            });
    };
    EXPECT_EQ(thrown([&] { cut_off([&] { return number_of(db, Sql("select n from t for update")) > 0; }); }),
              Kind::kLost);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(thrown([&] { cut_off([] { return true; }); }), std::nullopt) << "believed";
    const auto in_the_end = [&] {
        if (asked < 5) throw DbError(Kind::kLost, 2013, "away");
        return true;
    };
    EXPECT_EQ(thrown([&] { cut_off(in_the_end); }), std::nullopt) << "asked until it is known";
    EXPECT_EQ(asked, 5);
    EXPECT_EQ(thrown([&] { cut_off([]() -> bool { throw DbError(Kind::kOther, 1146, "no such table"); }); }),
              Kind::kOther);
}

TEST_F(Commit, WaitingWritesAndItAreOneBlock) {
    struct Refused {};
    int asked = 0;
    const auto add_one = [&](std::int64_t least, const char* who) {
        const std::uint64_t before = db.statements();
        try {
            db.transaction(
                [&] {
                    db.enqueue(Sql("update t set n=n+1"));
                    db.enqueue_matching(Sql("update t set n=n+10"), 1, [] { ADD_FAILURE() << "it matched"; });
                    db.enqueue_matching(Sql("update t set n=n+100 where n=11"), least, [&] {
                        EXPECT_EQ(number_of(db, Sql("select n from t")), 111) << who << ": the transaction is open";
                        throw Refused{};
                    });
                    db.enqueue(Sql("update t set n=n+1000"));
                    db.enqueue_matching(Sql("update t set n=0 where n=0"), 0, {});
                },
                [&] { return ++asked > 0; });
        } catch (const Refused&) {
            return std::int64_t{-1};
        }
        return static_cast<std::int64_t>(db.statements() - before);
    };
    EXPECT_EQ(add_one(2, "fewer"), -1);
    EXPECT_FALSE(db.in_transaction());
    EXPECT_EQ(number_of(admin, Sql("select n from commits.t")), 0) << "rolled back";
    EXPECT_EQ(add_one(1, "enough"), 1) << "one statement";
    EXPECT_EQ(number_of(admin, Sql("select n from commits.t")), 1111);
    EXPECT_EQ(asked, 0);
    EXPECT_THROW(db.transaction([&] { db.enqueue_matching(Sql("update t set n=5"), 2, [] {}); }), std::logic_error);
    EXPECT_EQ(number_of(admin, Sql("select n from commits.t")), 1111) << "fewer() did not throw";
    bool fewer = false;
    db.enqueue_matching(Sql("update t set n=5"), 2, [&] { fewer = true; });
    EXPECT_TRUE(fewer) << "outside a transaction at once";
    EXPECT_EQ(number_of(admin, Sql("select n from commits.t")), 5);
}

TEST_F(Commit, UnclearOneNamesTheRefusedWrite) {
    std::string text;
    try {
        db.transaction([&] { db.enqueue(Sql("insert into nowhere values (1)")); },
                       []() -> bool { throw DbError(Kind::kOther, 1142, "no right to ask"); });
    } catch (const DbError& e) {
        text = e.what();
    }
    EXPECT_NE(text.find("no right to ask"), text.npos) << text;
    EXPECT_NE(text.find("commits.nowhere"), text.npos) << text;
}

TEST_F(Commit, AStoppedServerDoesNotBlockADaemon) {
    DbSettings settings = server.settings("commits");
    settings.silence = 0.1;
    Database daemon(settings);
    bool asked = false;
    {
        std::optional<StoppedServer> stopped;
        const auto write = [&] {
            daemon.transaction(
                [&] {
                    daemon.execute(Sql("update t set n=1"));
                    stopped.emplace(server);  // the COMMIT arrives, and is not looked at before it goes on
                },
                [&] { return asked = true; });
        };
        EXPECT_EQ(thrown(write), Kind::kOther) << "whether it took place can't be found out now";
        EXPECT_FALSE(asked);
    }
    EXPECT_EQ(number_of(db, Sql("select n from t for update")), 1);
}

TEST_F(Commit, ALongStatementIsAwaited) {
    DbSettings settings = server.settings("commits");
    settings.silence = 0.05;
    const auto connections = [&] {
        return std::stoi(rows_of(db, Sql("show global status like 'Connections'"), 2).at(0).at(1));
    };
    db.query(Sql("select get_lock('long', 0)"));
    Database daemon(settings);
    daemon.connect();
    const int before = connections();
    std::int64_t got = 0;
    std::thread slow([&] { got = number_of(daemon, Sql("select get_lock('long', 1000)")); });
    while (connections() < before + 4) std::this_thread::yield();
    db.query(Sql("select release_lock('long')"));
    slow.join();
    EXPECT_EQ(got, 1);
}

/// The answers of a cluster's node to a COMMIT, given by a proxy.
class RefusedCommit : public Commit {
  protected:
    static constexpr int kInBlock = 10000;  ///< added to a code: in_block
    /// `action` at the first COMMIT; what n is afterwards.
    std::int64_t add_one(int code, SqlProxy::Action action, const std::function<bool(Database&)>& took_place) {
        SqlProxy proxy(server.socket(), [action, first = true](const std::string& text, int) mutable {
            return SqlProxy::commits(text) && std::exchange(first, false) ? action : SqlProxy::Action::kPass;
        });
        proxy.set_refusal(code);
        db.execute(Sql("update t set n=0"));
        Database through(server.settings("commits"));
        ::setenv("MYSQL_UNIX_PORT", proxy.socket().c_str(), 1);
        through.connect();
        ::setenv("MYSQL_UNIX_PORT", server.socket().c_str(), 1);
        tries = 0;
        std::function<bool()> ask;
        if (took_place) ask = [&] { return took_place(through); };
        error = thrown([&] {
            through.transaction(
                [&] {
                    ++tries;
                    if (in_block)
                        through.enqueue(Sql("update t set n=n+1"));
                    else
                        through.execute(Sql("update t set n=n+1"));
                },
                ask);
        });
        through.disconnect();
        return number_of(db, Sql("select n from t"));
    }
    static bool is_there(Database& asked) { return number_of(asked, Sql("select n from t for update")) > 0; }
    bool in_block = false;  ///< COMMIT goes with the write
    int tries = 0;
    std::optional<Kind> error;
};

TEST_F(RefusedCommit, AnotherNodeWasQuicker) {
    EXPECT_EQ(add_one(1213, SqlProxy::Action::kRefuse, {}), 1);
    EXPECT_EQ(error, std::nullopt);
    EXPECT_EQ(tries, 2);
}

TEST_F(RefusedCommit, ADoubtfulCommitIsCheckedAfterwards) {
    for (const int code : {1047, 1180, 1213, 1047 + kInBlock, 1180 + kInBlock, 1213 + kInBlock}) {
        SCOPED_TRACE(code);
        in_block = code > kInBlock;
        EXPECT_EQ(add_one(code % kInBlock, SqlProxy::Action::kRefuse, is_there), 1);
        EXPECT_EQ(error, std::nullopt);
        EXPECT_EQ(tries, 2) << "it had not";
        EXPECT_EQ(add_one(code % kInBlock, SqlProxy::Action::kRefuseAfter, is_there), 1);
        EXPECT_EQ(error, std::nullopt);
        EXPECT_EQ(tries, 1) << "it had";
    }
}

/// The first statement of a transaction is repeated if the connection is lost: not so a block that COMMIT is part of.
TEST_F(RefusedCommit, BlockWithItIsNotRepeatedUnchecked) {
    in_block = true;
    EXPECT_EQ(add_one(0, SqlProxy::Action::kCutAfter, is_there), 1) << "not twice";
    EXPECT_EQ(error, std::nullopt);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(add_one(0, SqlProxy::Action::kCutBefore, is_there), 0);
    EXPECT_EQ(error, Kind::kLost);
    EXPECT_EQ(tries, 1);
}

TEST_F(RefusedCommit, ADoubtfulCommitIsNotRepeatedUnchecked) {
    for (const int code : {1047, 1180}) {
        SCOPED_TRACE(code);
        EXPECT_EQ(add_one(code, SqlProxy::Action::kRefuseAfter, {}), 1) << "not twice";
        EXPECT_EQ(tries, 1);
        EXPECT_EQ(error, Kind::kLost);
    }
}

TEST_F(RefusedCommit, TheCheckWaitsForTheOtherNodes) {
    std::vector<std::string> seen;
    bool cut = false;
    SqlProxy proxy(server.socket(), [&](const std::string& text, int) {
        const bool question = text.starts_with("select n");
        seen.push_back(text);
        if (text.starts_with("COMMIT")) return SqlProxy::Action::kCutAfter;
        return question && !std::exchange(cut, true) ? SqlProxy::Action::kCutBefore : SqlProxy::Action::kPass;
    });
    Database through(server.settings("commits"));
    ::setenv("MYSQL_UNIX_PORT", proxy.socket().c_str(), 1);
    through.transaction([&] { through.execute(Sql("update t set n=n+1")); }, [&] { return is_there(through); });
    ::setenv("MYSQL_UNIX_PORT", server.socket().c_str(), 1);
    through.disconnect();
    EXPECT_TRUE(cut);
    const auto last = std::ranges::find_if(seen.rbegin(), seen.rend(),
                                           [](const std::string& text) { return text.starts_with("select n"); });
    ASSERT_NE(last, seen.rend());
    ASSERT_NE(last + 1, seen.rend());
    EXPECT_EQ(*(last + 1), "SET SESSION wsrep_sync_wait=1") << "it could be another node's, which has less";
}

/// A block that fails for a column that the database lacks is repeated with its transaction. Whoever went on without it
/// is not repeated: its COMMIT may have taken place.
TEST_F(Commit, UnansweredOneIsNotRepeatedForColumn) {
    admin.execute(Sql("create table if not exists commits.host (id int not null primary key) engine=InnoDB"));
    int tries = 0;
    const auto kind = thrown([&] {
        db.transaction([&] {
            ++tries;
            db.execute(Sql("update t set n=n+1"));
            db.enqueue(Sql("INSERT INTO host (id,misc) VALUES (1,'')"));
            EXPECT_TRUE(thrown([&] { db.execute_matching(Sql("update t set n=n+1"), 1); }));
            kill_connection_of(db);
        });
    });
    EXPECT_EQ(kind, Kind::kLost);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(number_of(db, Sql("select n from t")), 0) << "the server rolled back when the connection ended";
}

TEST_F(Commit, TheNextConnectionFindsAnAddedColumn) {
    db.execute(Sql("drop table if exists host"));
    db.execute(Sql("create table host (id int not null primary key) engine=InnoDB"));
    db.execute(Sql("insert into host values (1)"));
    const auto misc = [&] { return rows_of(db, Sql("SELECT h.misc FROM host h"), 1)[0][0]; };
    EXPECT_EQ(misc(), "");
    admin.execute(Sql("alter table commits.host add misc varchar(9) not null default 'new'"));
    EXPECT_EQ(misc(), "") << "known for some minutes";
    db.disconnect();
    EXPECT_EQ(misc(), "new");
}

}  // namespace
}  // namespace sluice::test
