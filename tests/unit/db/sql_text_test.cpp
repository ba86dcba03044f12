// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include <limits>

#include "db/mysql/bulk.h"
#include "sluice/db/sql.h"

namespace sluice {
namespace {

using namespace std::string_literals;

std::string text_of(std::string_view text, std::size_t max_chars = 254) {
    Sql sql;
    sql << SqlText{text, max_chars};
    return sql.str();
}
std::string blob_of(std::string_view bytes) {
    Sql sql;
    sql << SqlBlob{bytes};
    return sql.str();
}
std::string number_of(double value) {
    Sql sql;
    sql << value;
    return sql.str();
}

TEST(SqlText, EscapesWhatEndsOrChangesALiteral) {
    EXPECT_EQ(text_of(""), "''");
    EXPECT_EQ(text_of("plain"), "'plain'");
    EXPECT_EQ(text_of("it's"), "'it\\'s'");
    EXPECT_EQ(text_of("a\\"), "'a\\\\'");
    EXPECT_EQ(text_of("\\'; drop table user; --"), "'\\\\\\'; drop table user; --'");
    EXPECT_EQ(text_of("a\0b"s), "'a\\0b'");
    EXPECT_EQ(text_of("\x1a"), "'\\Z'");
    EXPECT_EQ(text_of("line\nline\r\t\""), "'line\nline\r\t\"'");
}

TEST(SqlText, KeepsUtf8AndTakesOtherBytesAsLatin1) {
    EXPECT_EQ(text_of("Zürich"), "'Zürich'");
    EXPECT_EQ(text_of("日本 🚀"), "'日本 🚀'");
    EXPECT_EQ(text_of("Z\xfcrich"), "'Zürich'");
    EXPECT_EQ(text_of("\xc0\x80"), "'\xc3\x80\xc2\x80'") << "overlong NUL";
    EXPECT_EQ(text_of("\xed\xa0\x80"), "'\xc3\xad\xc2\xa0\xc2\x80'") << "surrogate";
    EXPECT_EQ(text_of("\xf4\x90\x80\x80"), "'\xc3\xb4\xc2\x90\xc2\x80\xc2\x80'") << "above U+10FFFF";
    EXPECT_EQ(text_of("\xe6\x97"), "'\xc3\xa6\xc2\x97'") << "cut in the middle";
    EXPECT_EQ(text_of("\xc3'"), "'\xc3\x83\\''") << "a lead byte does not swallow the quote";
}

TEST(SqlText, CutsAtCharacters) {
    EXPECT_EQ(text_of("abcdef", 3), "'abc'");
    EXPECT_EQ(text_of("äöü", 2), "'äö'");
    EXPECT_EQ(text_of("🚀🚀🚀", 1), "'🚀'");
    EXPECT_EQ(text_of("'''", 2), "'\\'\\''");
    EXPECT_EQ(text_of("\xfc\xfc\xfc", 2), "'üü'");
    EXPECT_EQ(text_of("abc", 0), "''");
}

TEST(SqlBlob, KeepsEveryByte) {
    EXPECT_EQ(blob_of("\xff\xfe\0'\\"s), "_binary'\xff\xfe\\0\\'\\\\'");
    EXPECT_EQ(blob_of(""), "_binary''");
}

TEST(SqlNumber, IsADoubleThatReadsBackTheSame) {
    EXPECT_EQ(number_of(0.1), "0.1e0");
    EXPECT_EQ(number_of(3), "3e0");
    EXPECT_EQ(number_of(-2.5), "-2.5e0");
    EXPECT_EQ(number_of(1e300), "1e+300");
    EXPECT_EQ(number_of(std::numeric_limits<double>::quiet_NaN()), "0e0");
    EXPECT_EQ(number_of(std::numeric_limits<double>::infinity()), "0e0");
    for (const double value : {1.0 / 3, 2.2250738585072014e-308, 1.7976931348623157e308, 123456789.123456789})
        EXPECT_EQ(std::stod(number_of(value)), value);
}

enum class Colour { kRed = 7 };

TEST(Sql, IsPutTogetherFromLiteralsAndValues) {
    Sql part(" and b=");
    part << true;
    Sql sql("update t set a=");
    sql << -5 << ",c=" << std::int64_t{9000000000} << ",d=" << Colour::kRed << " where id in (";
    const std::vector<Id> ids = {3, 1, 2};
    const std::vector<std::string> names = {"x", "y'"};
    sql.ids(ids) << ") and name in (";
    sql.texts(names) << ")" << part;
    EXPECT_EQ(sql.str(), "update t set a=-5,c=9000000000,d=7 where id in (3,1,2) and name in ('x','y\\'') and b=1");
    EXPECT_EQ(sql.size(), sql.str().size());
}

TEST(Sql, IdentifiersAreQuoted) {
    Sql sql("select * from ");
    EXPECT_EQ(sql.identifier("a`; drop table b").str(), "select * from `a``; drop table b`");
}

TEST(Bulk, OneValueOfAllRowsStandsForItself) {
    struct Row {
        std::int64_t id;
        double number;
        std::string text;
    };
    const auto sql_of = [](const std::vector<Row>& rows) {
        Sql sql;
        bulk::by_id(sql, "id", rows, [](const Row& r) { return r.number; });
        sql << " ";
        bulk::by_id(sql, "id", rows, [](const Row& r) { return SqlBlob{r.text}; });
        return sql.str();
    };
    EXPECT_EQ(sql_of({{3, 1.5, "a"}}), "'1.5' _binary'a'");
    EXPECT_EQ(sql_of({{3, 1.5, "a"}, {7, 1.5, "a"}}), "'1.5' _binary'a'");
    EXPECT_EQ(sql_of({{3, 1.5, "a"}, {7, 2.5, "b"}}),
              "ELT(INTERVAL(id,3,7),'1.5','2.5') ELT(INTERVAL(id,3,7),_binary'a',_binary'b')");
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(sql_of({{3, nan, ""}, {7, nan, ""}}), "ELT(INTERVAL(id,3,7),'0','0') _binary''");
}

TEST(Sql, RefusesEmptyLists) {
    Sql sql;
    EXPECT_THROW(sql.ids({}), std::logic_error);
    EXPECT_THROW(sql.texts({}), std::logic_error);
}

}  // namespace
}  // namespace sluice
