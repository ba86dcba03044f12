// SPDX-License-Identifier: LGPL-3.0-or-later
// Every test that docs/seeds_flow.md, docs/seeds_users.md and our sections of docs/compat.md name exists.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include "tests/support/paths.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = sluice::test::source_dir();

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> all_tests() {
    std::set<std::string> names;
    const std::regex test(R"(TEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
    for (const auto& entry : fs::recursive_directory_iterator(kSource / "tests")) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = text_of(entry.path());
        for (auto i = std::sregex_iterator(text.begin(), text.end(), test); i != std::sregex_iterator(); ++i)
            names.insert((*i)[1].str() + "." + (*i)[2].str());
    }
    return names;
}

void expect_tests_exist(const std::string& text, const std::regex& name, int at_least) {
    const auto tests = all_tests();
    int named = 0;
    for (auto i = std::sregex_iterator(text.begin(), text.end(), name); i != std::sregex_iterator(); ++i, ++named)
        EXPECT_TRUE(tests.contains((*i)[1])) << (*i)[1] << " is named but is no test";
    EXPECT_GE(named, at_least);
}

TEST(SeedsOfTheFlow, EveryTestThatThePageNamesExists) {
    expect_tests_exist(text_of(kSource / "docs/seeds_flow.md"), std::regex(R"(`(\w+\.\w+)`)"), 60);
}

TEST(SeedsOfUsers, EveryTestThatThePageNamesExists) {
    expect_tests_exist(text_of(kSource / "docs/seeds_users.md"), std::regex(R"(`(\w+\.\w+)`)"), 20);
}

TEST(SeedsOfTheFlow, EveryTestThatADifferenceNamesExists) {
    const std::string page = text_of(kSource / "docs/compat.md");
    for (const auto& [heading, at_least] : {std::pair("## Size daemons", 6), std::pair("## Batch daemons", 20)}) {
        const auto begin = page.find(heading);
        ASSERT_NE(begin, std::string::npos) << heading;
        const std::string section = page.substr(begin, page.find("\n## ", begin) - begin);
        expect_tests_exist(section, std::regex(R"(\b([A-Z]\w+\.[A-Z]\w+)\b)"), at_least);
    }
}

}  // namespace
}  // namespace sluice
