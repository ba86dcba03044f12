// SPDX-License-Identifier: LGPL-3.0-or-later
// What sluice_options --check says of a database, from what it has.
#include "config/options/schema_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kAll = "select,insert,update,references";

Schema expected() {
    Schema schema;
    schema.tables["result"] = "create table result (…);";
    schema.columns = {{"result", "id", "integer", "integer not null auto_increment"},
                      {"result", "workunitid", "integer", "integer not null"},
                      {"result", "name", "varchar(191)", "varchar(191) not null"},
                      {"result", "xml_doc_in", "blob", "blob"}};
    schema.indexes = {{"result", {"workunitid"}, "key res_wuid (workunitid)"}};
    return schema;
}

Grants all_rights_in_own_tables() {
    Grants grants;
    for (const std::string_view table : own_tables())
        for (const char* right : {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"})
            grants.add(std::string(table), right);
    return grants;
}

SchemaSurvey survey() {
    SchemaSurvey s;
    s.found.tables["result"];
    s.found.columns = {{"result", "id", "int(11)", "NOT NULL AUTO_INCREMENT", kAll},
                       {"result", "workunitid", "int(11)", "NOT NULL DEFAULT 0", kAll},
                       {"result", "name", "varchar(254)", "", kAll},
                       {"result", "xml_doc_in", "mediumblob", "", kAll}};
    s.found.indexes = {{"result", {"workunitid", "outcome"}}};
    s.account = "'boincadm'@'localhost'", s.database = "p";
    s.takes_text_default = true;
    s.grants = all_rights_in_own_tables();
    s.grants.add("assignment", "DELETE");
    return s;
}

TEST(SchemaFindings, LargerColumnsAndOtherIndexesAreFine) {
    const SchemaFindings found = schema_findings(expected(), survey());
    EXPECT_THAT(found.errors, IsEmpty());
    EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(SchemaFindings, TypesThatHoldLess) {
    SchemaSurvey s = survey();
    s.found.columns[2].type = "varchar(64)";
    EXPECT_THAT(schema_findings(expected(), s).warnings,
                ElementsAre(HasSubstr("ALTER TABLE result MODIFY name varchar(191) not null;")));
    s.found.columns[2].type = "double";
    EXPECT_THAT(schema_findings(expected(), s).errors, ElementsAre(HasSubstr("result.name is a double")));
}

TEST(SchemaFindings, OverflowFromFourFifthsOn) {
    SchemaSurvey s = survey();
    s.newest["result"] = 1717986917;  // 80 % of 2^31-1
    EXPECT_THAT(schema_findings(expected(), s).errors, IsEmpty());
    s.newest["result"] = 1717986919;
    EXPECT_THAT(schema_findings(expected(), s).errors,
                ElementsAre(HasSubstr("ALTER TABLE result MODIFY id bigint NOT NULL AUTO_INCREMENT;")));
    s.found.columns[0].type = "int(10) unsigned";
    EXPECT_THAT(schema_findings(expected(), s).errors, IsEmpty());
    s.newest["workunit"] = 2000000000;
    EXPECT_THAT(schema_findings(expected(), s).errors,
                ElementsAre(HasSubstr("ALTER TABLE result MODIFY workunitid bigint NOT NULL DEFAULT 0;")));
    s.found.columns[1].type = "smallint(5) unsigned", s.found.columns[1].definition = "NULL";
    EXPECT_THAT(schema_findings(expected(), s).errors,
                Contains(HasSubstr("ALTER TABLE result MODIFY workunitid bigint unsigned NULL;")));
}

TEST(SchemaFindings, RightsInOneStatement) {
    SchemaSurvey s = survey();
    s.grants = all_rights_in_own_tables();
    s.found.columns[1].rights = "select";
    EXPECT_THAT(schema_findings(expected(), s).errors,
                ElementsAre(testing::AllOf(
                    HasSubstr("lacks rights in database p: INSERT, UPDATE (of result), DELETE (of assignment); "),
                    HasSubstr("ON `p`.* TO 'boincadm'@'localhost';"))));
    s = survey(), s.read_only = true;
    EXPECT_THAT(schema_findings(expected(), s).errors, ElementsAre(HasSubstr("read-only")));
}

TEST(ColumnRange, OfEachKind) {
    EXPECT_EQ(column_range("int(11)").most, 2147483647);
    EXPECT_EQ(column_range("int(10) unsigned").most, 4294967295.);
    EXPECT_EQ(column_range("smallint(6)").most, 32767);
    EXPECT_EQ(column_range("varchar(254)").most, 254);
    EXPECT_GT(column_range("bigint(20)").most, 9e18);
    EXPECT_EQ(column_range("geometry").kind, ColumnRange::Kind::kOther);
}

}  // namespace
}  // namespace sluice
