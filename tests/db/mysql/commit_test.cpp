// What a transaction does that has to wait for a lock, and one whose COMMIT gets no answer.
#include <gtest/gtest.h>

#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using Kind = DbError::Kind;

class Commit : public testing::Test {
  protected:
    Commit() {
        admin.execute(Sql("create database if not exists commits"));
        db.execute(Sql("create or replace table t (n int not null) engine=InnoDB"));
        db.execute(Sql("insert into t values (0)"));
    }
    void kill_connection_of(Database& victim) {
        Sql sql("kill ");
        admin.execute(sql << number_of(victim, Sql("select connection_id()")));
    }
    DbSettings impatiently() const {
        DbSettings settings = server.settings("commits");
        settings.somebody_waits = true;
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

TEST_F(Commit, WhereSomebodyWaitsALockIsWaitedForOnce) {
    Database impatient(impatiently());
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

TEST_F(Commit, WhereSomebodyWaitsNeitherATableLockNorAServerThatIsCopiedIsWaitedForLong) {
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

TEST_F(Commit, WhereSomebodyWaitsATransactionHasOnePatienceForAllItsStatements) {
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
    impatient.transaction([&] { impatient.execute(Sql("update t set n=7")); });
    EXPECT_EQ(number_of(db, Sql("select n from t")), 7);
}

TEST_F(Commit, OneOfWhichNothingIsHeardIsAskedAfter) {
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

}  // namespace
}  // namespace sluice::test
