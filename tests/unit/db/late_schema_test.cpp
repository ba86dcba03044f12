// SPDX-License-Identifier: LGPL-3.0-or-later
// What a statement becomes where the database lacks a column or an index.
#include "sluice/db/late_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/mysql/own_tables.h"
#include "db/mysql/sql_without.h"
#include "sluice/base/error.h"

namespace sluice::test {
namespace {

constexpr SqlColumn kMisc{"host", "misc", "''", false}, kVersion{"workunit", "app_version_num", "0", true};

constexpr MissingSchema::Time kNow{std::chrono::hours(9)};

std::string without(std::string_view statement, const SqlColumn& column = kMisc) {
    return without_column(statement, column).value_or("lost");
}

TEST(WithoutColumn, IsReadAsItsDefault) {
    EXPECT_EQ(without("SELECT h.id,h.misc,0 FROM host h"), "SELECT h.id,'',0 FROM host h");
    EXPECT_EQ(without("(SELECT 1,host.misc FROM host WHERE id=1) UNION ALL (SELECT 2,host.misc FROM host)"),
              "(SELECT 1,'' FROM host WHERE id=1) UNION ALL (SELECT 2,'' FROM host)");
    EXPECT_EQ(without("SELECT misc FROM host"), "SELECT '' FROM host");
    EXPECT_EQ(without("SELECT r.app_version_num, w.app_version_num FROM result r JOIN workunit w ON w.id=1", kVersion),
              "SELECT r.app_version_num, 0 FROM result r JOIN workunit w ON w.id=1");
}

TEST(WithoutColumn, OtherTablesAndTextsAreLeftAlone) {
    for (const char* statement : {"SELECT misc FROM user", "UPDATE result SET app_version_num=7 WHERE id=1",
                                  "SELECT g.misc FROM host h", "INSERT INTO result (id,app_version_num) VALUES (1,7)",
                                  "UPDATE host SET os_name='h.misc=1, \\', misc=2 WHERE' WHERE id=1"}) {
        EXPECT_EQ(without(statement), statement);
        EXPECT_EQ(without(statement, kVersion), statement);
    }
}

TEST(WithoutColumn, IsNotAssigned) {
    EXPECT_EQ(without("UPDATE host h SET h.rpc_time=5,h.misc='a, \\' b' WHERE h.id=1"),
              "UPDATE host h SET h.rpc_time=5 WHERE h.id=1");
    EXPECT_EQ(without("UPDATE host SET misc=IF(1,'a','b'), p_ncpus=-2 WHERE id=1"),
              "UPDATE host SET  p_ncpus=-2 WHERE id=1");
    EXPECT_EQ(without("UPDATE host h JOIN user u ON u.id=1 SET h.os_name='x',h.misc='y',u.seti_id=2 WHERE h.id=1"),
              "UPDATE host h JOIN user u ON u.id=1 SET h.os_name='x',u.seti_id=2 WHERE h.id=1");
    EXPECT_EQ(without("UPDATE host SET misc='only' WHERE id=1"), "lost") << "nothing would be left of the statement";
}

TEST(WithoutColumn, IsNotInserted) {
    EXPECT_EQ(without("INSERT INTO host (id,os_name,misc) VALUES (1,'a)','b,(')"),
              "INSERT INTO host (id,os_name) VALUES (1,'a)')");
    EXPECT_EQ(without("INSERT INTO host (misc, id) VALUES ('x',1),('y', 2) ON DUPLICATE KEY UPDATE id=VALUES(id)"),
              "INSERT INTO host ( id) VALUES (1),( 2) ON DUPLICATE KEY UPDATE id=VALUES(id)");
    EXPECT_EQ(without("INSERT INTO host (id, misc, xml_doc) VALUES (-1,'x',_binary'\\'\\\\'),(NOW(),'y',IF(1,2,3))"),
              "INSERT INTO host (id, xml_doc) VALUES (-1,_binary'\\'\\\\'),(NOW(),IF(1,2,3))");
}

TEST(WithoutColumn, EachStatementOfAPacketByItself) {
    EXPECT_EQ(
        without("BEGIN NOT ATOMIC START TRANSACTION;INSERT INTO user (misc) VALUES ('a;b');UPDATE host h JOIN user u "
                "ON u.id=1 SET h.rpc_time=1,h.misc=';' WHERE h.id=1;IF ROW_COUNT()<1 THEN SIGNAL;END IF;END"),
        "BEGIN NOT ATOMIC START TRANSACTION;INSERT INTO user (misc) VALUES ('a;b');UPDATE host h JOIN user u "
        "ON u.id=1 SET h.rpc_time=1 WHERE h.id=1;IF ROW_COUNT()<1 THEN SIGNAL;END IF;END");
}

TEST(WithoutColumn, ValueThatMustBeKeptIsNotLost) {
    EXPECT_EQ(without("INSERT INTO workunit (id, app_version_num) VALUES (1,0),(2,0)", kVersion),
              "INSERT INTO workunit (id) VALUES (1),(2)");
    EXPECT_EQ(without("INSERT INTO workunit (id, app_version_num) VALUES (1,0),(2,3)", kVersion), "lost");
    EXPECT_EQ(without("UPDATE workunit SET batch=1, app_version_num=0 WHERE id=1", kVersion),
              "UPDATE workunit SET batch=1 WHERE id=1");
    EXPECT_EQ(without("UPDATE workunit SET batch=1, app_version_num=3 WHERE id=1", kVersion), "lost");
}

TEST(WithoutIndex, OnlyOutsideTexts) {
    EXPECT_EQ(without_index("SELECT id FROM result FORCE INDEX (res_batch) WHERE name='FORCE INDEX (res_batch)'",
                            "res_batch"),
              "SELECT id FROM result  WHERE name='FORCE INDEX (res_batch)'");
    EXPECT_EQ(without_index("SELECT 1 FROM workunit FORCE INDEX (PRIMARY)", "wu_batch"),
              "SELECT 1 FROM workunit FORCE INDEX (PRIMARY)");
}

TEST(MissingSchema, LearnsFromTheServersWords) {
    MissingSchema lacking;
    EXPECT_FALSE(lacking.learn(1054, "Unknown column 'h.no_such' in 'field list'", kNow));
    EXPECT_FALSE(lacking.learn(1054, "Unknown column 'r.app_version_num' in 'field list'", kNow));
    EXPECT_FALSE(lacking.learn(1146, "Table 'x.host' doesn't exist", kNow));
    EXPECT_TRUE(lacking.nothing());
    EXPECT_TRUE(lacking.learn(1054, "Unknown column 'h.misc' in 'field list'", kNow));
    EXPECT_FALSE(lacking.learn(1054, "Unknown column 'h.misc' in 'field list'", kNow)) << "known: the next is an error";
    EXPECT_TRUE(lacking.learn(1054, "Unknown column 'host.p_ngpus' in 'SELECT'", kNow));
    EXPECT_TRUE(lacking.learn(1176, "Key 'res_batch' doesn't exist in table 'r'", kNow));
    EXPECT_FALSE(lacking.learn(1176, "Key 'res_batch' doesn't exist in table 'r'", kNow));
    EXPECT_EQ(lacking.adapt("SELECT h.p_ngpus,h.p_gpu_fpops,h.misc FROM host h"),
              "SELECT 0,h.p_gpu_fpops,'' FROM host h");
}

TEST(MissingSchema, IsForgottenAfterSomeMinutes) {
    const std::string statement = "SELECT h.p_ngpus,h.misc FROM host h FORCE INDEX (res_batch)";
    MissingSchema lacking;
    lacking.forget_old(kNow + std::chrono::hours(1));
    ASSERT_TRUE(lacking.learn(1054, "Unknown column 'h.misc' in 'field list'", kNow));
    ASSERT_TRUE(lacking.learn(1176, "Key 'res_batch' doesn't exist in table 'h'", kNow));
    const auto later = kNow + MissingSchema::kKept;
    lacking.forget_old(later);
    EXPECT_EQ(lacking.adapt(statement), "SELECT h.p_ngpus,'' FROM host h ");
    ASSERT_TRUE(lacking.learn(1054, "Unknown column 'h.p_ngpus' in 'field list'", later));
    lacking.forget_old(kNow + 2 * MissingSchema::kKept);
    EXPECT_FALSE(lacking.nothing()) << "a transaction that is repeated for each of them comes to its end";
    lacking.forget_old(later + 2 * MissingSchema::kKept);
    EXPECT_TRUE(lacking.nothing());
    EXPECT_EQ(lacking.adapt(statement), statement);
    EXPECT_TRUE(lacking.learn(1054, "Unknown column 'h.misc' in 'field list'", later)) << "if it still lacks that";
}

TEST(MissingSchema, RefusesWithTheStatementThatHelps) {
    MissingSchema lacking;
    ASSERT_TRUE(lacking.learn(1054, "Unknown column 'keywords' in 'field list'", kNow));
    try {
        lacking.adapt("INSERT INTO workunit (id,keywords) VALUES (1,'2 3')");
        FAIL() << "the keywords were lost";
    } catch (const DbError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("keywords of jobs can't be stored"));
        EXPECT_THAT(e.what(), testing::HasSubstr("ALTER TABLE workunit ADD COLUMN keywords varchar(254) NOT NULL"));
    }
}

}  // namespace
}  // namespace sluice::test
