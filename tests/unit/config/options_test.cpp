// SPDX-License-Identifier: LGPL-3.0-or-later
// The option table itself: every row round-trips, agrees with the struct's own defaults, and is documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "config/load.h"
#include "config/option_table.h"
#include "config/options_doc.h"
#include "sluice/base/text.h"
#include "tests/support/paths.h"

namespace sluice {
namespace {

std::vector<const OptionRow*> all_rows() {
    std::vector<const OptionRow*> rows;
    for (const OptionSection& section : option_sections()) {
        for (const OptionRow& row : section.rows) rows.push_back(&row);
    }
    return rows;
}
bool is_weights(const OptionRow& row) {
    return std::holds_alternative<std::map<std::string, double> ProjectConfig::*>(row.member);
}
bool is_interpreted(const OptionRow& row) { return !std::holds_alternative<std::monostate>(row.member); }

/// A value that is allowed and not the default.
std::string other_value(const OptionRow& row) {
    if (std::holds_alternative<bool ProjectConfig::*>(row.member)) return row.level0 == "1" ? "0" : "1";
    if (std::holds_alternative<LogFormat ProjectConfig::*>(row.member)) return "json";
    if (std::holds_alternative<ShareOrder ProjectConfig::*>(row.member)) return "seed";
    if (std::holds_alternative<DecisionLog ProjectConfig::*>(row.member)) return "nowork";
    const bool is_text = std::holds_alternative<std::string ProjectConfig::*>(row.member) ||
                         std::holds_alternative<std::vector<std::string> ProjectConfig::*>(row.member);
    if (row.tag == "trusted_proxy") return "2001:db8::/32";
    if (is_text) return "some & <text>";
    if (row.tag == "compat_level") return "1";
    if (row.tag == "max_process_memory") return "123456789";  // a small one is refused
    for (const char* number : {"7", "1", "2", "0", "9000"}) {
        ProjectConfig scratch;
        if (number != row.level0 && set_option(row, number, scratch)) return number;
    }
    return "";
}

std::string config_with(std::string_view tag, const std::string& value, int level = 0) {
    return "<boinc><config><compat_level>" + std::to_string(level) + "</compat_level><" + std::string(tag) + ">" +
           xml_escape(value) + "</" + std::string(tag) + "></config></boinc>";
}

TEST(OptionTable, EveryOptionRoundTrips) {
    int tried = 0;
    for (const OptionRow* row : all_rows()) {
        if (!is_interpreted(*row) || is_weights(*row)) continue;
        if (row->tag == "jobs_without_batch") continue;  // share_rule has a say in it: a test of its own
        SCOPED_TRACE(row->tag);
        const std::string value = other_value(*row);
        ASSERT_NE(value, "");
        std::vector<std::string> expected{value};
        if (row->tag == "min_core_client_version" || row->tag == "min_core_client_version_announced") {
            expected = {value + "00"};  // Mmm becomes MMmmrr
        } else if (row->tag == "sched_debug_level" || row->tag == "fuh_debug_level") {
            expected = {"4"};  // there is no level above
        }
        for (const int level : {0, 1}) {  // what is given counts at both
            const LoadedConfig loaded = parse_config(config_with(row->tag, value, level), "config.xml");
            EXPECT_THAT(loaded.warnings, testing::IsEmpty());
            EXPECT_EQ(option_values(*row, loaded.config), expected) << "level " << level;
        }
        ++tried;
    }
    EXPECT_GT(tried, 120);
}

TEST(OptionTable, UnusableMemorySizesAreRefused) {
    const LoadedConfig loaded = parse_config(config_with("max_process_memory", "16777215"), "config.xml");
    EXPECT_EQ(loaded.config.max_process_memory,
              parse_config(config_with("ended", "0"), "config.xml").config.max_process_memory)
        << "nobody could be served";
    EXPECT_THAT(loaded.errors, testing::ElementsAre(testing::HasSubstr("must be 0 or at least 16777216")));
}

TEST(OptionTable, StructsOwnDefaultsAreThoseOfLevelZero) {
    const ProjectConfig from_struct, from_table = default_config(0);
    for (const OptionRow* row : all_rows()) {
        EXPECT_EQ(option_values(*row, from_struct), option_values(*row, from_table)) << row->tag;
    }
}

TEST(OptionTable, DefaultsOfBothLevelsAreAllowedValues) {
    for (const int level : {0, 1}) EXPECT_EQ(default_config(level).compat_level, level);
}

TEST(OptionTable, RowsAreCompleteAndUnique) {
    std::set<std::string_view> tags;
    for (const OptionRow* row : all_rows()) {
        EXPECT_TRUE(tags.insert(row->tag).second) << row->tag << " stands twice";
        EXPECT_FALSE(row->doc.empty()) << row->tag;
        EXPECT_EQ(row->doc.find('\n'), std::string_view::npos) << row->tag;
        EXPECT_FALSE(row->readers.empty()) << row->tag;
        EXPECT_LE(row->range.min, row->range.max) << row->tag;
        EXPECT_EQ(find_option(row->tag), row);
    }
    EXPECT_EQ(find_option("no_such_option"), nullptr);
}

TEST(OptionTable, NumbersOutOfRangeAreRefused) {
    int tried = 0;
    for (const OptionRow* row : all_rows()) {
        const bool number = std::holds_alternative<int ProjectConfig::*>(row->member) ||
                            std::holds_alternative<double ProjectConfig::*>(row->member);
        if (!number) continue;
        ProjectConfig config;
        const auto before = option_values(*row, config);
        for (const char* text : {"1e30", "-1e30", "99999999999999", "-99999999999999", "x", "1 2", "1;"}) {
            EXPECT_FALSE(set_option(*row, text, config)) << row->tag << " " << text;
        }
        EXPECT_EQ(option_values(*row, config), before);
        ++tried;
    }
    EXPECT_GT(tried, 30);
}

TEST(OptionsPage, IsUpToDate) {
    std::ifstream file(sluice::test::source_dir() + "/docs/options.md");
    ASSERT_TRUE(file) << "docs/options.md is missing";
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(page, options_markdown()) << "run: BUILD/bin/sluice_options --markdown > docs/options.md";
}

}  // namespace
}  // namespace sluice
