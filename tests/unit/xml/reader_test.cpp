// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/xml/reader.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

using Kind = XmlReader::Kind;

/// A reader that has just read the first start tag.
XmlReader at_start(std::string_view text) {
    XmlReader reader(text);
    EXPECT_EQ(reader.next(), Kind::kStart) << text;
    return reader;
}

/// All tokens in one line: +start -end "text", '/' behind the name of an empty element.
std::string tokens(std::string_view text) {
    XmlReader reader(text);
    std::string out;
    for (Kind kind = reader.next(); kind != Kind::kEof; kind = reader.next()) {
        if (!out.empty()) out += ' ';
        if (kind == Kind::kText) {
            out += '"' + std::string(reader.raw_text()) + '"';
        } else {
            out += (kind == Kind::kStart ? '+' : '-') + std::string(reader.name());
            if (kind == Kind::kStart && reader.empty_element()) out += '/';
        }
    }
    return out;
}

struct TokenCase {
    const char* input;
    const char* expected;
};

TEST(XmlReader, SplitsTheDialect) {
    const TokenCase cases[] = {
        {"", ""},
        {"<a>b</a>", "+a \"b\" -a"},
        {"<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<a/>", "+a/"},
        {"<a href=\"x\" b='y'>t</a >", "+a \"t\" -a"},
        {"<a b=\"c\"/>", "+a/"},
        {"<a />", "+a/"},
        {"<a>  \n </a>", "+a -a"},
        {"<a><!-- <b>no</b> --><c/></a>", "+a +c/ -a"},
        {"<!-- never ends <a>", ""},
        {"<a><![CDATA[<b>&amp;</b>]]></a>", "+a \"<b>&amp;</b>\" -a"},
        {"<a><![CDATA[never ends</a>", "+a"},
        {"<a>1 < 2 and <3</a>", "+a \"1 < 2 and <3\" -a"},
        {"<<a>>", "\"<\" +a \">\""},
        {"<>x", "\"<>x\""},
        {"just text", "\"just text\""},
        {"<a>x</a", "+a \"x\""},
        {"<", "\"<\""},
        {"</", ""},
        {"</>", "-"},
    };
    for (const auto& c : cases) EXPECT_EQ(tokens(c.input), c.expected) << c.input;
}

TEST(XmlReader, NulByteEndsTheInput) { EXPECT_EQ(tokens(std::string_view("<a>\0<b>", 7)), "+a"); }

TEST(XmlReader, TagsOf4095BytesAreRead4096EndTheInput) {
    const std::string longest(4095, 'x');
    EXPECT_EQ(tokens("<" + longest + "><b/>"), "+" + longest + " +b/");
    EXPECT_EQ(tokens("<" + longest + "x><b/>"), "");
    EXPECT_EQ(tokens("<a>text</a><" + longest), "+a \"text\" -a");
}

TEST(XmlReader, AttributesAreSkipped) {
    XmlReader reader("<message priority=\"low\"  x='1' />");
    ASSERT_EQ(reader.next(), Kind::kStart);
    EXPECT_EQ(reader.name(), "message");
    EXPECT_TRUE(reader.empty_element());
}

TEST(XmlReader, TextIsTrimmedThenDecoded) {
    const TokenCase cases[] = {
        {"<a>  b c\n</a>", "b c"},
        {"<a>&lt;x&gt; &amp;amp; &quot;&apos;</a>", "<x> &amp; \"'"},
        {"<a>&#10;x&#xA;</a>", "\nx\n"},  // white space that was escaped is wanted
        {"<a>&#233;&#xe9;&#300;&nbsp;&#;&#0;&</a>", "\xe9\xe9&#300;&nbsp;&#;&#0;&"},
        {"<a><![CDATA[ &amp;<b> ]]></a>", "&amp;<b>"},
        {"<a>x <![CDATA[&lt;]]> y</a>", "x &lt; y"},
        {"<a>x<!-- comment -->y</a>", "xy"},
        {"<a/>", ""},
        {"<a></a>", ""},
        {"<a>   </a>", ""},
    };
    for (const auto& c : cases) EXPECT_EQ(at_start(c.input).text(255), c.expected) << c.input;
}

TEST(XmlReader, OverlongTextIsRefusedAndItsElementSkipped) {
    for (const std::string padding : {"", "   "}) {
        const std::string content = padding + std::string(255 - padding.size(), 'x');
        const std::string fits = "<r><a>" + content + "</a><b>1</b></r>";
        const std::string too_long = "<r><a>" + content + "y</a><b>1</b></r>";
        XmlReader reader(fits);
        ASSERT_TRUE(reader.next() == Kind::kStart && reader.next_child("r"));
        EXPECT_EQ(reader.text(255)->size(), 255 - padding.size());
        XmlReader other(too_long);
        ASSERT_TRUE(other.next() == Kind::kStart && other.next_child("r"));
        EXPECT_EQ(other.text(255), std::nullopt);
        ASSERT_TRUE(other.next_child("r"));
        EXPECT_EQ(other.name(), "b");
        EXPECT_EQ(other.integer(), 1);
    }
}

TEST(XmlReader, TextWithChildrenIsRefused) {
    XmlReader reader("<r><a>x<c>y</c></a><b>2</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.text(99), std::nullopt);
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.integer(), 2);
}

TEST(XmlReader, TextCutKeepsWholeCharacters) {
    EXPECT_EQ(at_start("<a>abcdef</a>").text_cut(4), "abcd");
    EXPECT_EQ(at_start("<a>ab\xc3\xa9z</a>").text_cut(3), "ab");
    EXPECT_EQ(at_start("<a>ab\xc3\xa9z</a>").text_cut(4), "ab\xc3\xa9");
    EXPECT_EQ(at_start("<a>a\xf0\x9f\x98\x80</a>").text_cut(4), "a");
    EXPECT_EQ(at_start("<a>\x80\x80\x80\x80\x80\x80</a>").text_cut(5), "\x80\x80\x80\x80\x80");
    EXPECT_EQ(at_start("<a>x<b>no</b>y</a>").text_cut(9), "xy");
    EXPECT_EQ(at_start("<a>never ends").text_cut(5), "never");
}

TEST(XmlReader, IntegersHaveCSyntax) {
    const std::pair<const char*, std::optional<std::int64_t>> cases[] = {{"<a>12</a>", 12},
                                                                         {"<a> -7 </a>", -7},
                                                                         {"<a>0x1F</a>", 31},
                                                                         {"<a>010</a>", 8},
                                                                         {"<a></a>", 0},
                                                                         {"<a>  </a>", 0},
                                                                         {"<a/>", std::nullopt},
                                                                         {"<a>12x</a>", std::nullopt},
                                                                         {"<a>1.5</a>", std::nullopt},
                                                                         {"<a>99999999999999999999</a>", std::nullopt},
                                                                         {"<a>5", std::nullopt},
                                                                         {"<a>9223372036854775807</a>", INT64_MAX},
                                                                         {"<a>-9223372036854775808</a>", INT64_MIN}};
    for (const auto& [input, expected] : cases) EXPECT_EQ(at_start(input).integer(), expected) << input;
}

TEST(XmlReader, NumbersHaveStrtodSyntax) {
    EXPECT_EQ(at_start("<a>1.5e3</a>").number(), 1500);
    EXPECT_EQ(at_start("<a></a>").number(), 0);
    EXPECT_EQ(at_start("<a/>").number(), std::nullopt);
    EXPECT_EQ(at_start("<a>1e999</a>").number(), std::nullopt);
    EXPECT_EQ(at_start("<a>abc</a>").number(), std::nullopt);
    EXPECT_TRUE(std::isinf(*at_start("<a>inf</a>").number()));
    EXPECT_TRUE(std::isnan(*at_start("<a>nan</a>").number()));
}

TEST(XmlReader, Booleans) {
    EXPECT_EQ(at_start("<a/>").boolean(), true);
    EXPECT_EQ(at_start("<a>1</a>").boolean(), true);
    EXPECT_EQ(at_start("<a>-3</a>").boolean(), true);
    EXPECT_EQ(at_start("<a>0</a>").boolean(), false);
    EXPECT_EQ(at_start("<a>yes</a>").boolean(), std::nullopt);
    // Upstream reads past the end of the input here; ours is false, and the next element is read.
    XmlReader reader("<r><a></a><b>5</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.boolean(), false);
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.integer(), 5);
}

/// Names of the children of <r> that a loop sees which skips each of them.
std::string children(std::string_view text) {
    XmlReader reader(text);
    std::string out;
    if (reader.next() != Kind::kStart) return out;
    while (reader.next_child("r")) {
        out += std::string(reader.name()) + ' ';
        reader.skip();
    }
    return out;
}

TEST(XmlReader, SkipFindsTheMatchingEnd) {
    const TokenCase cases[] = {
        {"<r><a>x</a><b/></r><c/>", "a b "},
        {"<r><a><a>x</a><b/></a><c/></r>", "a c "},
        {"<r><a><br><i></a><c/></r>", "a c "},  // inner ones that never end
        {"<r>text</stray><a/></r>", "a "},
        {"<r><a/><b/>", "a b "},  // the parent never ends
        {"<r/><a/>", ""},
        {"<r><r>x</r><a/></r>", "r a "},            // a child with its parent's name
        {"<r><a><r></r></a><b/></r><c/>", "a b "},  // the parent's name further down
        {"<r><a><!-- </a> --><![CDATA[</a>]]></a><b/></r>", "a b "},
    };
    for (const auto& c : cases) EXPECT_EQ(children(c.input), c.expected) << c.input;
}

TEST(XmlReader, AnEndlessElementStopsAtItsParent) {
    XmlReader reader("<r><p><lost>text<x/></p><b>3</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    ASSERT_TRUE(reader.next_child("p"));
    EXPECT_EQ(reader.name(), "lost");
    reader.skip();
    EXPECT_FALSE(reader.next_child("p"));
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.name(), "b");
    EXPECT_EQ(reader.integer(), 3);
    EXPECT_FALSE(reader.next_child("r"));
}

TEST(XmlReader, AnEndlessParentStopsAtItsOwn) {
    XmlReader reader("<r><p><a/></r><b/>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    ASSERT_TRUE(reader.next_child("p"));
    EXPECT_FALSE(reader.next_child("p"));
    EXPECT_FALSE(reader.next_child("r"));
    ASSERT_EQ(reader.next(), Kind::kStart);
    EXPECT_EQ(reader.name(), "b");
}

TEST(XmlReader, AnEndlessValueStopsAtItsParent) {
    XmlReader reader("<r><p><a>12<c></p><b>3</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    ASSERT_TRUE(reader.next_child("p"));
    EXPECT_EQ(reader.integer(), std::nullopt);
    EXPECT_FALSE(reader.next_child("p"));
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.integer(), 3);
}

TEST(XmlReader, LoopsLeftEarlyDoNotDisturbOuterOne) {
    XmlReader reader("<r><p><a/><b/></p><c/></r><d/>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    ASSERT_TRUE(reader.next_child("p"));  // a, then the caller leaves
    std::string rest;
    while (reader.next_child("r")) rest += std::string(reader.name()) + ' ';
    EXPECT_EQ(rest, "b c ");
}

TEST(XmlReader, RawToEndCopiesBytes) {
    XmlReader reader("<r><s>\n<core>7</core> <![CDATA[&lt;</r>]]>\n</s><b>1</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.raw_to_end(), "\n<core>7</core> <![CDATA[&lt;</r>]]>\n");
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.integer(), 1);
    EXPECT_EQ(at_start("<a/>").raw_to_end(), "");
}

TEST(XmlReader, RawWithoutEndSkipsToEndOfParent) {
    XmlReader reader("<r><p><s>no end</p><b>1</b></r>");
    reader.next();
    ASSERT_TRUE(reader.next_child("r"));
    ASSERT_TRUE(reader.next_child("p"));
    EXPECT_EQ(reader.raw_to_end(), std::nullopt);
    EXPECT_FALSE(reader.next_child("p"));
    ASSERT_TRUE(reader.next_child("r"));
    EXPECT_EQ(reader.name(), "b");
}

TEST(FindElement, TakesTheFirstAnywhere) {
    const char* prefs = "<x><venue name=\"home\"><ram>1</ram></venue><ram> 90 </ram><disk>50 GB</disk><e></e></x>";
    EXPECT_EQ(find_element(prefs, "ram"), "1");
    EXPECT_EQ(find_element(prefs, "none"), std::nullopt);
    EXPECT_EQ(find_element("<a>1", "a"), std::nullopt);
    EXPECT_EQ(find_number(prefs, "disk"), 50);
    EXPECT_EQ(find_number(prefs, "e"), 0);
    EXPECT_EQ(find_number("<a>inf</a>", "a"), std::nullopt);
    EXPECT_EQ(find_number("<a>1e999</a>", "a"), std::nullopt);
    EXPECT_EQ(find_number("<a>none</a>", "a"), std::nullopt);
    EXPECT_EQ(find_number("<a>7", "a"), 7);
}

}  // namespace
}  // namespace sluice
