// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/daemon/command_line.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>

#include "sluice/base/log.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A program with one option of each kind.
struct Program {
    Program() : line("feeder", "fills the job array", "First paragraph.\n\nSecond - with a minus.\n.odd line") {
        line.flag("--one_pass", one_pass, "Run once.");
        line.flag("-x,--extra", extra_flag, "A letter and a name.");
        line.option("--sleep_interval", sleep, "Seconds between passes.", "S");
        line.option("--count", count, "How many.");
        line.option("--big", big, "A large one.");
        line.option("--least", least, "A number without a default.");
        line.option("--part", part, "Another.");
        line.amount_option("--operations", operations, "May be very many.");
        line.id_option("--batch", batch, "A row.");
        line.option("--command_line", text, "Text.");
        line.option("--mod", mod, "Only ids with id mod N = I.");
        line.repeatable("--user", users, "May be repeated.", "ID");
        line.debug_level_option();
        line.positional("infile", files, "Input files.");
        line.section("EXIT STATUS", "0, or 1.");
    }
    std::optional<int> parse(std::vector<const char*> args) {
        args.insert(args.begin(), "bin/feeder");
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const auto status = line.parse(static_cast<int>(args.size()), args.data());
        out = testing::internal::GetCapturedStdout();
        err = testing::internal::GetCapturedStderr();
        return status;
    }

    CommandLine line;
    bool one_pass = false, extra_flag = false;
    double sleep = 5, operations = 0;
    int count = 0;
    std::int64_t big = 0;
    std::string text = "default";
    IdShare mod;
    std::optional<int> least;
    std::optional<double> part;
    std::optional<std::int64_t> batch;
    std::vector<std::string> users, files;
    std::string out, err;
};

/// debian/completions/sluice reads --help: it offers every option, also one with a digit or a hyphen.
TEST(CommandLine, BashCompletesEveryOption) {
    Program p;
    bool md5 = false, from_project = false;
    p.line.flag("--md5", md5, "With a digit.");
    p.line.flag("--from-project,--One_N", from_project, "With a hyphen.");
    p.parse({"--help"});
    const test::TempDir folder;
    const std::string help = folder.write("help", p.out).string();
    const test::RunResult offered = test::run(
        {"/bin/bash", "-c", "complete() { :; }; . \"$1\"; _sluice_options /bin/sh -c 'exec cat \"$0\"' \"$2\"", "bash",
         test::source_dir() + "/debian/completions/sluice", help});
    std::istringstream lines(offered.out);
    const std::set<std::string> words{std::istream_iterator<std::string>(lines), {}};
    for (const char* name : {"--md5", "--from-project", "--One_N", "--one_pass", "--extra", "--help"})
        EXPECT_TRUE(words.contains(name)) << name << offered.out << offered.err;
}

TEST(CommandLine, OneAndTwoDashesAreTheSame) {
    for (const auto& args : std::vector<std::vector<const char*>>{
             {"--one_pass", "--sleep_interval", "2.5", "--mod", "3", "1", "-d", "4", "-x"},
             {"-one_pass", "-sleep_interval", "2.5", "-mod", "3", "1", "-debug_level", "4", "-extra"},
             {"--d", "4", "--x", "--mod", "3", "1", "-sleep_interval", "2.5", "--one_pass"}}) {
        Program p;
        EXPECT_EQ(p.parse(args), std::nullopt) << p.err;
        EXPECT_TRUE(p.one_pass && p.extra_flag);
        EXPECT_EQ(p.sleep, 2.5);
        EXPECT_EQ(p.mod, (IdShare{3, 1}));
        EXPECT_EQ(log_level(), LogLevel::kDebug);
        EXPECT_EQ(p.out + p.err, "");
    }
    log_set_level(LogLevel::kNormal);
}

TEST(CommandLine, ValuesAreTakenAsTheyStand) {
    Program p;
    EXPECT_EQ(p.parse({"--count", "-7", "--command_line", "-one_pass --x", "--least", "-3", "--big", "5000000000",
                       "--sleep_interval", "-1e3"}),
              std::nullopt)
        << p.err;
    EXPECT_EQ(p.count, -7);
    EXPECT_EQ(p.text, "-one_pass --x");
    EXPECT_EQ(p.least, -3);
    EXPECT_EQ(p.part, std::nullopt);
    EXPECT_EQ(p.big, 5000000000);
    EXPECT_EQ(p.sleep, -1000);
    EXPECT_FALSE(p.one_pass);
}

TEST(CommandLine, AmountsMayBeOfAnySize) {
    Program p;
    EXPECT_EQ(p.parse({"--operations", "1e300", "--sleep_interval", "1e12"}), std::nullopt) << p.err;
    EXPECT_EQ(p.operations, 1e300);
}

TEST(CommandLine, OddTextsAreTakenAsTheyStand) {
    for (const char* text : {"", "--one_pass", "-d", "[a,b]", "{}", "a b", "--", "x=1", "%%", "\"quoted\""}) {
        Program p;
        EXPECT_EQ(p.parse({"--command_line", text, "--user", text, "--count", "1"}), std::nullopt) << text << p.err;
        EXPECT_EQ(p.text, text);
        EXPECT_EQ(p.users, (std::vector<std::string>{text})) << text;
        EXPECT_EQ(p.count, 1);
        EXPECT_FALSE(p.one_pass);
    }
}

TEST(CommandLine, TheLastOneWinsAndRepeatablesAddUp) {
    Program p;
    EXPECT_EQ(p.parse({"--count", "1", "--user", "4", "--mod", "2", "0", "f1", "--count", "2", "--user", "5", "--mod",
                       "3", "1", "f2", "--one_pass", "--one_pass"}),
              std::nullopt)
        << p.err;
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.mod, (IdShare{3, 1}));
    EXPECT_EQ(p.users, (std::vector<std::string>{"4", "5"}));
    EXPECT_EQ(p.files, (std::vector<std::string>{"f1", "f2"}));
}

TEST(CommandLine, OptionWithoutEffectIsRefused) {
    const std::pair<std::vector<const char*>, const char*> cases[] = {
        {{"--one_pass", "--count", "1"}, "--count has no effect with --one_pass: leave one out"},
        {{"-x"}, "--extra has no effect without --least: give both, or neither"},
        {{"--count", "1"}, ""},
        {{"--one_pass"}, ""},
        {{"--extra", "--least", "1"}, ""},
        {{"--least", "1"}, ""}};
    for (const auto& [args, wrong] : cases) {
        Program p;
        p.line.exclude("--count", "--one_pass");
        p.line.require("--extra", "--least");
        EXPECT_EQ(p.parse(args).has_value(), *wrong != '\0') << args[0];
        EXPECT_THAT(p.err, HasSubstr(wrong));
        std::string words;
        for (const char* word : args) words += std::string(word) + " ";
        Program checked;
        checked.line.exclude("--count", "--one_pass");
        checked.line.require("--extra", "--least");
        EXPECT_EQ(checked.line.take(words), wrong);
    }
}

TEST(CommandLine, GivenOptionsAreNamedOnce) {
    Program p;
    EXPECT_EQ(p.parse({"-x", "--count", "1", "--count", "2", "file"}), std::nullopt);
    EXPECT_EQ(p.line.given(), (std::vector<std::string>{"--extra", "--count"}));
}

TEST(CommandLine, WhatIsWrongIsNamedWithTheUsage) {
    const std::pair<std::vector<const char*>, const char*> cases[] = {
        {{"--nonsense"}, "--nonsense"},
        {{"-nonsense"}, "nonsense"},
        {{"--count"}, "--count"},
        {{"--mod", "3"}, "--mod"},
        {{"--count", "five"}, "'five' is not a whole number"},
        {{"--count", "5x"}, "'5x' is not a whole number"},
        {{"--count", ""}, "'' is not a whole number"},
        {{"--count", "9999999999"}, "'9999999999' is out of range: give -2147483648 to 2147483647"},
        {{"--big", "99999999999999999999"}, "out of range"},
        {{"--sleep_interval", "soon"}, "'soon' is not a number"},
        {{"--sleep_interval", "nan"}, "'nan' is not a number"},
        {{"--sleep_interval", "-inf"}, "'-inf' is not a number"},
        {{"--sleep_interval", "1e300"}, "'1e300' is out of range: give -1e12 to 1e12"},
        {{"--part", "-1.1e12"}, "'-1.1e12' is out of range: give -1e12 to 1e12"},
        {{"--operations", "1e999"}, "'1e999' is not a number"},
        {{"--mod", "3", "x"}, "--mod"},
        {{"--mod", "0", "0"}, "'0 0' is not N I with N > 0 and 0 <= I < N"},
        {{"--mod", "3", "3"}, "'3 3' is not N I"},
        {{"--mod", "3", "-1"}, "'3 -1' is not N I"},
        {{"--least", "x"}, "'x' is not a whole number"},
        {{"--part", "x"}, "'x' is not a number"},
        {{"--batch", "0"}, "'0' is not the id of a row"},
    };
    for (const auto& [args, expected] : cases) {
        Program p;
        EXPECT_EQ(p.parse(args), 1) << expected;
        EXPECT_THAT(p.err, HasSubstr(expected));
        EXPECT_THAT(p.err, testing::EndsWith(" (feeder --help tells more)\n"));
        EXPECT_EQ(std::count(p.err.begin(), p.err.end(), '\n'), 1) << p.err;
        EXPECT_EQ(p.out, "");
    }
}

TEST(CommandLine, LeadingZerosAreDecimal) {
    Program p;
    EXPECT_EQ(p.parse({"--count", "010", "--big", "+09"}), std::nullopt) << p.err;
    EXPECT_EQ(p.count, 10);
    EXPECT_EQ(p.big, 9);
}

TEST(CommandLine, HelpAndVersionGoToStdout) {
    for (const char* option : {"-h", "--help", "-help"}) {
        Program p;
        EXPECT_EQ(p.parse({"--one_pass", option}), 0);
        EXPECT_EQ(p.err, "");
        for (const char* text : {"usage: feeder", "--sleep_interval S", "-d, --debug_level N",
                                 "Seconds between passes.", "infile", "Second - with", "EXIT STATUS"}) {
            EXPECT_THAT(p.out, HasSubstr(text));
        }
    }
    for (const char* option : {"-v", "--version", "-version"}) {
        Program p;
        EXPECT_EQ(p.parse({option}), 0);
        EXPECT_THAT(p.out, HasSubstr("Sluice 0."));
        EXPECT_EQ(p.err, "");
    }
}

TEST(CommandLine, HelpIsShownDespiteOtherMistakes) {
    Program p;
    EXPECT_EQ(p.parse({"--help", "--nonsense"}), 0);
}

TEST(CommandLine, TheManPageIsRoff) {
    Program p;
    EXPECT_EQ(p.parse({"--man"}), 0);
    EXPECT_THAT(p.out, testing::StartsWith(".TH FEEDER 1"));
    EXPECT_THAT(p.out, HasSubstr("feeder \\- fills the job array"));
    EXPECT_THAT(p.out, HasSubstr(".B \\-\\-sleep_interval \\fIS\\fR\nSeconds between passes."));
    EXPECT_THAT(p.out, HasSubstr("First paragraph.\n.PP\nSecond \\- with"));
    EXPECT_THAT(p.out, HasSubstr("\n\\&.odd line"));
    EXPECT_THAT(p.out, HasSubstr(".SH EXIT STATUS\n0, or 1."));
}

TEST(CommandLine, DebugLevelIsForcedIntoItsRange) {
    Program low, high;
    low.parse({"-d", "-5"});
    EXPECT_EQ(log_level(), LogLevel::kCritical);
    EXPECT_THAT(low.err, HasSubstr("[warning] --debug_level -5 is taken as 1: the levels are 1 to 4\n"));
    log_set_level(LogLevel::kNormal);
    high.parse({"-d", "17"});
    EXPECT_EQ(log_level(), LogLevel::kDebug);
    EXPECT_THAT(high.err, HasSubstr("[warning] --debug_level 17 is taken as 4: the levels are 1 to 4\n"));
    Program highest;
    highest.parse({"-d", "4"});
    EXPECT_EQ(highest.err, "");
    log_set_level(LogLevel::kNormal);
}

TEST(CommandLine, FailIsOneLineThatPointsToHelp) {
    Program p;
    testing::internal::CaptureStderr();
    EXPECT_EQ(p.line.fail("--lo is above --hi"), 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::StrEq("feeder: --lo is above --hi (feeder --help tells more)\n"));
}

// What was typed is repeated: line breaks, what a terminal obeys, and no end of it.
TEST(CommandLine, FailIsOneLineWhateverWasTyped) {
    Program p;
    testing::internal::CaptureStderr();
    p.line.fail("two\nlines \x1b[2J " + std::string(5000, 'x'));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find('\n'), said.size() - 1);
    EXPECT_EQ(said.find('\x1b'), std::string::npos);
    EXPECT_LT(said.size(), 1200u);
    EXPECT_THAT(said, testing::EndsWith("(feeder --help tells more)\n"));
}

}  // namespace
}  // namespace sluice
