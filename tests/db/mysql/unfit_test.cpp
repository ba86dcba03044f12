// SPDX-License-Identifier: LGPL-3.0-or-later
// What a column can't hold costs no statement of ours its success, unless a number or a name would change.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

class Unfit : public testing::Test {
  protected:
    Unfit() {
        db.execute(Sql("drop database if exists unfit"));
        db.execute(Sql("create database unfit character set utf8mb4"));
        db.execute(Sql("use unfit"));
        db.execute(
            Sql("create table host (id int not null auto_increment primary key, domain_name varchar(20) character set "
                "latin1 not null default '', os_name varchar(20) character set utf8mb3 not null default '', p_model "
                "varchar(20) character set ascii not null default '', venue varbinary(20) not null default '', p_ncpus "
                "smallint not null default 0, p_fpops float not null default 0, userid int not null default 0, "
                "total_credit float not null default 0, name varchar(20) character set latin1 not null default '', "
                "xml_doc blob, stderr_out blob) engine=InnoDB"));
        insert("first");
        log_open({.file = (dir / "log").string()});
    }
    ~Unfit() override { log_open({}); }

    void insert(std::string_view text) {
        Sql sql("INSERT INTO host (domain_name) VALUES (");
        db.execute(sql << SqlText{text} << ")");
    }
    void set(SqlLiteral column, const Sql& value) {
        Sql sql("UPDATE host SET ");
        db.execute(sql << column << "=" << value << " WHERE id=1");
    }
    static Sql text(std::string_view value) {
        Sql sql;
        return sql << SqlText{value};
    }
    std::string stored(SqlLiteral column) {
        Sql sql("select ");
        return rows_of(db, sql << column << " from host where id=1", 1)[0][0];
    }
    std::string log() const { return read_file(dir / "log").value_or(""); }

    TempDir dir;
    Database db{PrivateMariaDb::shared().settings()};
};

TEST_F(Unfit, TextsAreStoredAsTheColumnCan) {
    set("domain_name", text("中-pc"));
    EXPECT_EQ(stored("domain_name"), "?-pc");
    set("domain_name", text("Łódź"));
    EXPECT_EQ(stored("domain_name"), "?ód?");
    set("domain_name", text("größe"));
    EXPECT_EQ(stored("domain_name"), "größe") << "what latin1 has is whole";
    set("os_name", text("😀 linux"));
    EXPECT_EQ(stored("os_name").substr(stored("os_name").size() - 6), " linux");
    set("p_model", text("é"));
    EXPECT_EQ(stored("p_model"), "?");
    set("domain_name", text("0123456789012345678901234"));
    EXPECT_EQ(stored("domain_name"), "01234567890123456789");
    set("venue", text("中中中中中中中中"));
    EXPECT_EQ(stored("venue").size(), 20u);
}

TEST_F(Unfit, TransactionsAreRepeatedWhole) {
    db.transaction([&] {
        db.enqueue(Sql("UPDATE host SET userid=userid+1"));
        db.enqueue(Sql("UPDATE host SET domain_name='中'"));
        EXPECT_TRUE(db.execute_matching(Sql("UPDATE host SET userid=userid+10"), 1));
    });
    EXPECT_EQ(stored("userid"), "11") << "once";
    EXPECT_EQ(stored("domain_name"), "?");
    const auto before = db.statements();
    db.transaction([&] { db.execute(Sql("UPDATE host SET userid=1")); });
    EXPECT_EQ(db.statements() - before, 3u) << "BEGIN, the write, COMMIT";
    EXPECT_EQ(number_of(db, Sql("select @@sql_mode like 'STRICT%'")), 1);
}

TEST_F(Unfit, TheUsualStatementCostsNothingMore) {
    auto before = db.statements();
    set("domain_name", text("pc"));
    EXPECT_EQ(db.statements() - before, 1u);
    before = db.statements();
    set("domain_name", text("中"));
    EXPECT_LE(db.statements() - before, 6u) << "refused; lenient mode, BEGIN, the write, its warnings, COMMIT";
}

TEST_F(Unfit, NumbersThatMatterAreNeverClipped) {
    for (const SqlLiteral column : {SqlLiteral("userid"), SqlLiteral("total_credit")}) {
        EXPECT_THROW(set(column, Sql("1e60")), DbError);
        EXPECT_EQ(stored(column), "0");
    }
    // One of both would be stored: nothing is.
    EXPECT_THROW(db.transaction([&] { db.execute(Sql("UPDATE host SET domain_name='中',userid=99999999999")); }),
                 DbError);
    EXPECT_EQ(stored("domain_name"), "first");
    EXPECT_EQ(stored("userid"), "0");
    // Behind more warnings than the server keeps by default.
    db.execute(Sql("insert into host (domain_name) select 'x' from information_schema.columns limit 200"));
    EXPECT_THROW(db.execute(Sql("UPDATE host SET domain_name=ELT(1,'中'),userid=IF(id=150,99999999999,1)")), DbError);
    EXPECT_EQ(number_of(db, Sql("select count(*) from host where userid<>0")), 0);
}

TEST_F(Unfit, NumbersThatClientsMeasureAre) {
    set("p_ncpus", Sql("2000000000"));
    EXPECT_EQ(stored("p_ncpus"), "32767");
    set("p_fpops", Sql("1e300"));
    EXPECT_EQ(stored("p_fpops").substr(0, 4), "3.40");
    EXPECT_NE(log().find("host.p_ncpus: a client's number"), std::string::npos) << log();
}

TEST_F(Unfit, NamesForProgramsAreStoredWholeOrNot) {
    EXPECT_THROW(set("name", text("中")), DbError);
    Sql xml;
    xml << SqlBlob{std::string(70000, 'x')};
    EXPECT_THROW(set("xml_doc", xml), DbError);
    EXPECT_EQ(stored("xml_doc"), "");
    set("stderr_out", xml);
    EXPECT_EQ(stored("stderr_out").size(), 65535u);
}

TEST_F(Unfit, AColumnWithoutDefaultGetsItsTypes) {
    db.execute(
        Sql("alter table host add grid_site varchar(20) not null, add weight int not null, add note text not null"));
    insert("second");
    db.transaction([&] { insert("third"); });
    EXPECT_EQ(number_of(db, Sql("select count(*) from host where grid_site='' and weight=0 and note=''")), 3);
    EXPECT_NE(log().find("ALTER TABLE host ALTER COLUMN weight SET DEFAULT 0"), std::string::npos) << log();
}

/// A column that a project may have added. None has a default, and no statement of ours names it.
struct OwnColumn {
    SqlLiteral definition;
    SqlLiteral stored;  ///< of a new row, as SQL
};

class OwnColumns : public Unfit {
  protected:
    void cost_no_statement(std::span<const OwnColumn> columns) {
        for (const OwnColumn& column : columns) {
            SCOPED_TRACE(std::string(column.definition.text));
            db.execute(Sql("delete from host"));
            Sql add("alter table host add own ");
            db.execute(add << column.definition << " after id");
            insert("alone");
            db.transaction([&] {
                db.enqueue(Sql("INSERT INTO host (domain_name) VALUES ('in a packet')"));
                db.execute_matching(Sql("UPDATE host SET venue='home' WHERE domain_name='in a packet'"), 1);
            });
            db.execute(Sql("UPDATE host SET venue='work',domain_name='ł' WHERE domain_name='alone'"));
            EXPECT_EQ(
                number_of(db, Sql("select count(*) from host where venue in ('home','work') and ") << column.stored),
                2);
            EXPECT_EQ(number_of(db, Sql("select @@sql_mode like 'STRICT%'")), 1);
            db.execute(Sql("alter table host drop own"));
        }
    }
};

TEST_F(OwnColumns, CostNoStatementWhateverTheirType) {
    cost_no_statement(std::vector<OwnColumn>{{"int not null", "own=0"},
                                             {"bigint unsigned not null", "own=0"},
                                             {"decimal(9,3) not null", "own=0"},
                                             {"double not null", "own=0"},
                                             {"bit(5) not null", "own=0"},
                                             {"bool not null", "own=0"},
                                             {"year not null", "own=0"},
                                             {"date not null", "own='0000-00-00'"},
                                             {"datetime(3) not null", "own='0000-00-00'"},
                                             {"time not null", "own='00:00:00'"},
                                             {"char(3) not null", "own=''"},
                                             {"varchar(30) not null", "own=''"},
                                             {"varbinary(30) not null", "own=''"},
                                             {"tinytext not null", "own=''"},
                                             {"longtext not null", "own=''"},
                                             {"mediumblob not null", "own=''"},
                                             {"enum('a','b') not null", "own='a'"},
                                             {"set('a','b') not null", "own=''"}});
}

/// JSON has a CHECK there.
TEST_F(OwnColumns, OfMariaDbCostNoStatementEither) {
    cost_no_statement(std::vector<OwnColumn>{{"json not null", "own=''"},
                                             {"json not null check (json_length(own) > 0)", "own=''"},
                                             {"int not null check (own > 5)", "own=0"},
                                             {"varchar(30) not null check (char_length(own) > 2)", "own=''"},
                                             {"uuid not null", "own='00000000-0000-0000-0000-000000000000'"},
                                             {"inet6 not null", "own='::'"},
                                             {"point not null", "hex(own)=''"},
                                             {"int as (userid + 1) persistent", "own=1"}});
    EXPECT_EQ(number_of(db, Sql("select @@check_constraint_checks")), 1);
    EXPECT_NE(log().find("table host: the project's CHECK host.own refuses a row"), std::string::npos) << log();
    EXPECT_NE(log().find("for JSON '{}'"), std::string::npos) << log();
}

/// Whoever breaks a CHECK is stored; what breaks none is not stored without a word because of another's.
TEST_F(OwnColumns, MariaDbChecksThatBreakChangeNoValues) {
    db.execute(Sql("alter table host add own int not null default 0 check (own > 5)"));
    const auto before = db.statements();
    db.execute(Sql("UPDATE host SET userid=7"));
    EXPECT_LE(db.statements() - before, 6u) << "refused; mode, BEGIN, the write, COMMIT";
    EXPECT_EQ(stored("userid"), "7");
    EXPECT_THROW(db.execute(Sql("UPDATE host SET userid=99999999999")), DbError);
    EXPECT_THROW(db.execute(Sql("UPDATE host SET userid=99999999999,domain_name='ł'")), DbError);
    EXPECT_EQ(stored("userid"), "7");
    db.execute(Sql("UPDATE host SET domain_name='ł'"));
    EXPECT_EQ(stored("domain_name"), "?");
}

TEST_F(Unfit, AnIncomparableTextFindsWhatWasStored) {
    set("domain_name", text("中-pc"));
    const auto found = [&](const char* name) {
        Sql sql("SELECT COUNT(*) FROM host WHERE domain_name=");
        sql << SqlText{name} << " AND domain_name IN (";
        return number_of(db, sql.texts(std::vector<std::string>{"x", name}) << ")");
    };
    EXPECT_EQ(found("中-pc"), 1);
    EXPECT_EQ(found("中-pd"), 0);
    db.transaction([&] { EXPECT_EQ(found("中-pc"), 1); });
    db.transaction([&] {
        db.enqueue(Sql("UPDATE host SET userid=userid+1 WHERE domain_name='中-pc'"));
        db.enqueue(Sql("UPDATE host SET domain_name=IF(id=1,'łb',domain_name)"));
    });
    EXPECT_EQ(stored("userid") + stored("domain_name"), "1?b");
}

TEST_F(Unfit, EachColumnIsLoggedOnceADay) {
    const auto lines = [&] {
        const std::string text = log();
        return std::count(text.begin(), text.end(), '\n');
    };
    db.execute(Sql("create table once (a varchar(9) character set latin1)"));
    for (int i = 0; i < 3; ++i) db.execute(Sql("INSERT INTO once VALUES ('中')"));
    EXPECT_EQ(lines(), 1) << log();
    EXPECT_NE(log().find("once.a: "), std::string::npos);
    EXPECT_EQ(log().find("中"), std::string::npos) << "no text of a client";
}

TEST(LogOnceADay, LooksIntoTheLogForOtherProcesses) {
    const TempDir dir;
    log_open({.file = (dir / "log").string()});
    log_once_a_day(LogLevel::kWarning, "said by nobody");
    const std::string line = read_file(dir / "log").value_or("");
    ASSERT_NE(line.find("said by nobody"), std::string::npos);
    // What another process said today, and what one said long ago.
    write_file_atomically(dir / "log", line.substr(0, 10) + " 00:00:00 of today\n2001-01-01 00:00:00 of old\n");
    log_reopen();
    log_once_a_day(LogLevel::kWarning, "of today");
    log_once_a_day(LogLevel::kWarning, "of old");
    const std::string text = read_file(dir / "log").value_or("");
    EXPECT_EQ(text.find("of today"), text.rfind("of today"));
    EXPECT_NE(text.find("of old"), text.rfind("of old"));
    log_open({});
}

TEST(SqlInAscii, ChangesTextsAlone) {
    Sql sql("SELECT 'ü' AS ");
    sql.identifier("ö") << "," << SqlText{"a'é\\ö'"} << "," << SqlBlob{"\xff'é"};
    EXPECT_EQ(sql.in_ascii().str(), "SELECT '?' AS `ö`,'a\\'?\\\\?\\'',_binary'\xff\\'é'");
}

}  // namespace
}  // namespace sluice::test
