// SPDX-License-Identifier: LGPL-3.0-or-later
// Random and mutilated files: either read, or refused with a ConfigError; each complaint is one line that names the
// file and says what to do; never a crash, a hang or another kind of failure.
#include <gtest/gtest.h>

#include <random>

#include "config/load.h"
#include "config/option_table.h"
#include "sluice/base/error.h"
#include "tests/fuzz/files/config_lines.h"

namespace sluice {
namespace {

void expect_line(const std::string& line, const std::string& text) {
    EXPECT_EQ(fuzz::config_line_fault(line), "") << "of " << text;
}

template <class Read>
void expect_lines_of(Read read, const std::string& text) {
    try {
        const auto found = read();
        for (const auto& lines : {found.warnings, found.errors})
            for (const std::string& line : lines) expect_line(line, text);
    } catch (const ConfigError& error) {
        expect_line(error.what(), text);
    }
}

void expect_read_or_refused(const std::string& text) {
    expect_lines_of([&] { return parse_config(text, "config.xml", text); }, text);
    expect_lines_of([&] { return parse_daemons_and_tasks(text, "config.xml"); }, text);
}

std::string a_full_config(std::mt19937& random) {
    std::string text = "<boinc>\n<config>\n";
    for (const OptionSection& section : option_sections()) {
        for (const OptionRow& row : section.rows) {
            if (random() % 3 != 0) continue;
            text += "  <" + std::string(row.tag) + ">" + std::string(row.level1) + "</" + std::string(row.tag) + ">\n";
        }
    }
    return text +
           "  "
           "<score_weights><a>1</a></score_weights>\n</config>\n<daemons><daemon><cmd>f</cmd></daemon></"
           "daemons>\n"
           "<tasks><task><cmd>t</cmd><period>5 min</period></task></tasks>\n</boinc>\n";
}

TEST(RandomText, MutilatedConfigs) {
    std::mt19937 random(20240607);
    for (int round = 0; round < 3000; ++round) {
        std::string text = a_full_config(random);
        const int mutations = 1 + static_cast<int>(random() % 8);
        for (int i = 0; i < mutations && !text.empty(); ++i) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0: text.erase(at, 1 + random() % 30); break;
                case 1: text[at] = static_cast<char>(random()); break;
                case 2: text.insert(at, std::string_view("</><<!--]]>&#x;<config/>").substr(random() % 20)); break;
                default: text.resize(at);
            }
        }
        expect_read_or_refused(text);
    }
}

TEST(RandomText, SoupOfTags) {
    std::mt19937 random(7);
    constexpr std::string_view kParts[] = {"<",
                                           ">",
                                           "/",
                                           "config",
                                           "</config>",
                                           "<config>",
                                           "<daemons>",
                                           "<task>",
                                           "-->",
                                           "<!--",
                                           "<report_max>",
                                           "</report_max>",
                                           "<size_classes/>",
                                           "<![CDATA[",
                                           "]]>",
                                           "1",
                                           "&lt;",
                                           "<score_weights>",
                                           "<max_jobs_in_progress>",
                                           "\0",
                                           "\n",
                                           "<?",
                                           "?>"};
    for (int round = 0; round < 3000; ++round) {
        std::string text = "<config>";
        for (int i = 0; i < 60; ++i) text += kParts[random() % std::size(kParts)];
        expect_read_or_refused(text);
    }
}

TEST(RandomText, DeepNestingIsRefusedOrSkippedWithoutRecursion) {
    std::string known = "<boinc><config><score_weights>", unknown = "<boinc><config>";
    for (int i = 0; i < 200000; ++i) {
        known += "<a>";
        unknown += "<a>";
    }
    EXPECT_THROW(parse_config(known, "config.xml"), ConfigError);
    EXPECT_THROW(parse_config(unknown, "config.xml"), ConfigError);
}

}  // namespace
}  // namespace sluice
