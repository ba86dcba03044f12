// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

using Words = std::vector<std::string>;

struct WordsCase {
    const char* command;
    Words expected;
};
class CommandWords : public testing::TestWithParam<WordsCase> {};
TEST_P(CommandWords, AreThoseOfAShell) { EXPECT_EQ(command_words(GetParam().command), GetParam().expected); }
INSTANTIATE_TEST_SUITE_P(
    Rules, CommandWords,
    testing::Values(WordsCase{"", {}}, WordsCase{"  \n\t ", {}}, WordsCase{"feeder -d 3", {"feeder", "-d", "3"}},
                    WordsCase{"script_validator --init_script \"my script files\" --app x",
                              {"script_validator", "--init_script", "my script files", "--app", "x"}},
                    WordsCase{"a 'b \"c\\' d", {"a", "b \"c\\", "d"}}, WordsCase{"a\\ b c", {"a b", "c"}},
                    WordsCase{"a \"x\\\"y\\\\z\\n\"", {"a", "x\"y\\z\\n"}}, WordsCase{"a '' b", {"a", "", "b"}},
                    WordsCase{"pre'mid'post", {"premidpost"}}, WordsCase{"a \\\n   b \\\n c", {"a", "b", "c"}},
                    WordsCase{"trailing\\", {"trailing\\"}}));

TEST(CommandWordsErrors, OpenQuotes) {
    EXPECT_THROW(command_words("a 'b"), ConfigError);
    EXPECT_THROW(command_words("a \"b"), ConfigError);
}

TEST(NeedsShell, PipesAndRedirections) {
    for (const char* command : {"a | b", "a > f", "a >> f", "a < f", "a 1>f", "a 2>&1", "a &>f"}) {
        EXPECT_TRUE(needs_shell(command_words(command))) << command;
    }
    for (const char* command : {"a", "a 'b|c'", "a b>c", "a \"x > y\"", "a --lt <b"}) {
        EXPECT_FALSE(needs_shell(command_words(command))) << command;
    }
}

TEST(ProgramName, IsTheBaseName) {
    EXPECT_EQ(program_name({"feeder", "-d", "3"}), "feeder");
    EXPECT_EQ(program_name({"/opt/bin/feeder"}), "feeder");
    EXPECT_EQ(program_name({"run_in_ops", "./update_uotd.php"}), "update_uotd.php");
    EXPECT_EQ(program_name({"run_in_ops"}), "run_in_ops");
    EXPECT_EQ(program_name({}), "");
}

TEST(ShellQuoted, OnlyWhatNeedsIt) {
    EXPECT_EQ(shell_quoted("--config-file=/a/b.xml"), "--config-file=/a/b.xml");
    EXPECT_EQ(shell_quoted("two words"), "'two words'");
    EXPECT_EQ(shell_quoted("it's; rm"), "'it'\\''s; rm'");
    EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace sluice
