// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Text, TrimAndSplit) {
    EXPECT_EQ(trim(" \t\r\n a b \v\f"), "a b");
    EXPECT_EQ(trim("   "), "");
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, CaseIsAsciiOnly) {
    EXPECT_EQ(to_lower_ascii("AbZ[\xc3\x84"), "abz[\xc3\x84");
    EXPECT_TRUE(contains_ignoring_case("Intel(R) Core", "(r) CORE"));
    EXPECT_TRUE(contains_ignoring_case("x", ""));
    EXPECT_FALSE(contains_ignoring_case("", "x"));
    EXPECT_FALSE(contains_ignoring_case("abc", "abd"));
}

TEST(Text, ReplaceAll) {
    const auto replaced = [](std::string s, std::string_view from, std::string_view to) {
        replace_all(s, from, to);
        return s;
    };
    EXPECT_EQ(replaced("a<x/>b<x/>", "<x/>", "1"), "a1b1");
    EXPECT_EQ(replaced("aaaa", "aa", "aaa"), "aaaaaa");  // what was put in is not searched again
    EXPECT_EQ(replaced("abc", "", "x"), "abc");
    EXPECT_EQ(replaced("abc", "abc", ""), "");
    EXPECT_EQ(replaced("abc", "d", "x"), "abc");
}

TEST(Text, IntegersInCBaseZero) {
    const std::pair<std::string_view, std::optional<std::int64_t>> cases[] = {
        {"0", 0},
        {"42", 42},
        {" \n-42\t", -42},
        {"+7", 7},
        {"0x1f", 31},
        {"0XFF", 255},
        {"-0x10", -16},
        {"010", 8},
        {"-010", -8},
        {"00", 0},
        {"", 0},
        {"  ", 0},
        {"08", std::nullopt},
        {"0x", std::nullopt},
        {"0xg", std::nullopt},
        {"--1", std::nullopt},
        {"+-1", std::nullopt},
        {"-", std::nullopt},
        {"1 2", std::nullopt},
        {"12abc", std::nullopt},
        {"1.0", std::nullopt},
        {"0x-5", std::nullopt},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", std::nullopt},
        {"-9223372036854775808", INT64_MIN},
        {"-9223372036854775809", std::nullopt},
        {"99999999999999999999999", std::nullopt},
        {std::string_view("1\0", 2), std::nullopt},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(parse_int(text), expected) << '"' << text << '"';
}

TEST(Text, DoublesAsStrtod) {
    const std::pair<std::string_view, std::optional<double>> cases[] = {
        {"1.5", 1.5},
        {" -2e3 ", -2000},
        {"+.5", 0.5},
        {"5.", 5},
        {"1E-2", 0.01},
        {"0x10", 16},
        {"-0x1p3", -8},
        {"inf", kInf},
        {"-Infinity", -kInf},
        {"", 0},
        {" ", 0},
        {"1,5", std::nullopt},
        {"1.5x", std::nullopt},
        {"e5", std::nullopt},
        {"--1", std::nullopt},
        {"-+1", std::nullopt},
        {"0x-1", std::nullopt},
        {".", std::nullopt},
        {"1e999", std::nullopt},
        {"-1e999", std::nullopt},
        {"1e-999", std::nullopt},
        {"1.7976931348623157e308", 1.7976931348623157e308},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(parse_double(text), expected) << '"' << text << '"';
    EXPECT_TRUE(std::isnan(*parse_double("nan")));
    EXPECT_TRUE(std::isnan(*parse_double("NaN")));
}

TEST(Text, NumbersDoNotDependOnTheLocale) {
    const std::string old = std::setlocale(LC_NUMERIC, nullptr);
    std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where the machine has it, strtod would stop at the dot
    EXPECT_EQ(parse_double("1.5"), 1.5);
    std::setlocale(LC_NUMERIC, old.c_str());
}

TEST(Text, ClampsToTheColumnsRange) {
    EXPECT_EQ(clamp_to_int32(3e9), INT32_MAX);
    EXPECT_EQ(clamp_to_int32(-3e9), INT32_MIN);
    EXPECT_EQ(clamp_to_int32(kInf), INT32_MAX);
    EXPECT_EQ(clamp_to_int32(std::nan("")), 0);
    EXPECT_EQ(clamp_to_int32(-1.9), -1);
    EXPECT_EQ(clamp_to_int32(std::int64_t{5000000000}), INT32_MAX);
    EXPECT_EQ(clamp_to_int32(std::int64_t{-5000000000}), INT32_MIN);
    EXPECT_EQ(clamp_to_int32(std::int64_t{-7}), -7);
    EXPECT_EQ(finite_or_zero(-kInf), 0);
    EXPECT_EQ(finite_or_zero(std::nan("")), 0);
    EXPECT_EQ(finite_or_zero(2.5), 2.5);
}

TEST(Text, InOneLine) {
    EXPECT_EQ(in_one_line("a b"), "a b");
    EXPECT_EQ(in_one_line(std::string_view("a\n\r\t\0\x1b\x7f"
                                           "b",
                                           8)),
              "a      b");
    EXPECT_EQ(in_one_line("J\xc3\xa9"), "J\xc3\xa9");
    EXPECT_EQ(in_one_line("a\xc2\x80\xc2\x9b"
                          "2J\xc2\xa0"
                          "b"),
              "a    2J\xc2\xa0"
              "b")
        << "terminals obey U+0080 to U+009F, too";
    EXPECT_EQ(in_one_line("\xc2X"), "\xc2X") << "that is none";
    EXPECT_EQ(in_one_line("123456", 6), "123456");
    EXPECT_EQ(in_one_line("1234567", 6), "123456...");
    EXPECT_EQ(in_one_line("ab\xc3\xa9"
                          "cd",
                          3),
              "ab...")
        << "no half of a character";
    EXPECT_EQ(in_one_line("\x80\x80\x80", 1), "...");
}

TEST(Text, XmlEscape) {
    EXPECT_EQ(xml_escape("a<b>&\"'"), "a&lt;b&gt;&amp;\"'");
    EXPECT_EQ(xml_escape("J\xc3\xa9"), "J\xc3\xa9");
    EXPECT_EQ(xml_escape("J\xc3\xa9 <", true), "J&#195;&#169; &lt;");
}

TEST(Text, XmlUnescape) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"&lt;&gt;&amp;&quot;&apos;", "<>&\"'"},
        {"&amp;lt;", "&lt;"},  // once, not until nothing is left
        {"&#65;&#x41;&#X41;&#xa;", "AAA\n"},
        {"&#255;", "\xff"},
        {"&#256;&#x100;&#99999999999;", "&#256;&#x100;&#99999999999;"},
        {"&#0;&#-5;&#;&#x;&#65", "&#0;&#-5;&#;&#x;&#65"},
        {"&nbsp; & &&lt;", "&nbsp; & &<"},
        {"&", "&"},
        {"", ""},
    };
    for (const auto& [text, expected] : cases) EXPECT_EQ(xml_unescape(text), expected) << text;
}

TEST(Text, UnescapeUndoesEscape) {
    std::string all;
    for (int c = 1; c < 256; ++c) all += static_cast<char>(c);
    EXPECT_EQ(xml_unescape(xml_escape(all, false)), all);
    EXPECT_EQ(xml_unescape(xml_escape(all, true)), all);
}

}  // namespace
}  // namespace sluice
