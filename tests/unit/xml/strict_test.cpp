// SPDX-License-Identifier: LGPL-3.0-or-later
// What a strict XML parser refuses, with the line and what to write instead.
#include "sluice/xml/strict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

TEST(StrictXml, TakesWhatIsXml) {
    for (const char* text : {"<a/>", "<?xml version=\"1.0\" ?>\n<a b='1'><!-- - x -->&lt;&amp;&#228;<b></b></a>\n",
                             "\xef\xbb\xbf<a/>", "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>",
                             "<a><![CDATA[ & < ]]></a>", "<a>]</a>", "<!-- first --><a>\xc3\xa4</a><!-- last -->"})
        EXPECT_FALSE(strict_xml_fault(text)) << text << ": " << strict_xml_fault(text)->what;
}

struct Refused {
    const char* text;
    std::size_t line;
    const char* what;
};

TEST(StrictXml, NamesTheLineAndWhatToWrite) {
    for (const Refused& refused :
         std::vector<Refused>{{"<a>\n<!-- cgi --listen x -->\n</a>", 2, "a comment may not hold \"--\""},
                              {"<a>\n<!-- x --->\n</a>", 2, "a comment may not hold \"--\""},
                              {"<a>\n<!--\n a -- b\n-->\n</a>", 3, "a comment may not hold \"--\""},
                              {"<a>\n<b>R & D</b></a>", 2, "&amp;"},
                              {"<a>\n<b>x?a=1&b=2</b></a>", 2, "&amp;"},
                              {"<a>\n<b>&nbsp;</b></a>", 2, "&amp;"},
                              {"<a>\n<b>1 < 2</b></a>", 2, "&lt;"},
                              {"<a>\n\n<b>\x01</b></a>", 3, "control character 0x01"},
                              {"<a>&#1;</a>", 1, "no character that may stand in XML"},
                              {"<a>\n<b>\xe4</b></a>", 2, "UTF-8"},
                              {"<a>\n<b>x</a>", 2, "end tag"},
                              {"<a/>\n<b/>", 2, "put one element around"},
                              {"\n<?xml version=\"1.0\"?><a/>", 2, "very first thing"},
                              {"<a>\n<b c=1/></a>", 2, "attribute without quotes"},
                              {"", 1, "holds none"},
                              {"<a>\n", 2, "the file ends"},
                              {"<a><!-- x", 1, "the file ends"}}) {
        const auto fault = strict_xml_fault(refused.text);
        ASSERT_TRUE(fault) << refused.text;
        EXPECT_EQ(fault->line, refused.line) << refused.text;
        EXPECT_THAT(fault->what, HasSubstr(refused.what)) << refused.text;
    }
}

TEST(StrictXml, KnowsWhatCanStandInAFile) {
    for (const char* text : {"", "a", "<&>\"'", "--", "]]>", " \t", "\xc3\xa4", "\xf0\x9f\x98\x80", "\n"})
        EXPECT_TRUE(fits_into_xml(text)) << text;
    for (const char* text : {"\x01", "\x1f", "\r", "\xe4", "\xc3", "\xed\xa0\x80", "\xef\xbf\xbf"})
        EXPECT_FALSE(fits_into_xml(text)) << text;
}

}  // namespace
}  // namespace sluice
