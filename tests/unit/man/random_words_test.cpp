// SPDX-License-Identifier: LGPL-3.0-or-later
// Command lines made at random, of each program's own options and of text that nobody means: whatever a program
// refuses, it says so in one line that a terminal can show, and the line says what to do. No program hangs or crashes.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Those that read a command line; the others are run by a web server.
std::vector<fs::path> programs() {
    std::ifstream in(fs::path(sluice::test::binary_dir()) / "tests/programs.txt");
    // Those of the web server read a request; make_project would talk to whatever database server the machine has.
    const std::set<std::string> others{"cgi", "scheduler", "file_upload_handler", "make_project"};
    std::vector<fs::path> all;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && !others.contains(fs::path(line).filename())) all.emplace_back(line);
    return all;
}

/// A program's path, and the command behind it if it is one of several: "…/bin/sluice check".
std::vector<std::string> words_of(const std::string& program) {
    const std::size_t end = program.find(' ');
    if (end == std::string::npos) return {program};
    return {program.substr(0, end), program.substr(end + 1)};
}

/// Every option that --help mentions, but those that are answered on standard output.
std::vector<std::string> options_of(const fs::path& program) {
    std::vector<std::string> words = words_of(program);
    words.emplace_back("--help");
    const std::string help = test::run(words).out;
    const std::regex name(R"((?:^|[\s,])(--[a-z_0-9]+))");
    std::set<std::string> found;
    for (auto i = std::sregex_iterator(help.begin(), help.end(), name); i != std::sregex_iterator(); ++i)
        found.insert((*i)[1]);
    for (const char* answered : {"--help", "--version", "--man", "--check", "--check_arguments"}) found.erase(answered);
    return {found.begin(), found.end()};
}

const std::vector<std::string>& texts() {
    static const std::vector<std::string> all{"",
                                              "-",
                                              "--",
                                              "--no_such_option",
                                              "-d",
                                              "0",
                                              "-1",
                                              "2",
                                              "99999999999999999999",
                                              "1e400",
                                              "nan",
                                              "0x",
                                              "two\nlines",
                                              "\x1b[2J\x1b]0;title\x07",
                                              "'; DROP TABLE result; -- ",
                                              "%s%n{}{0}",
                                              "\xff\xfe",
                                              "no/such/file",
                                              "a b",
                                              "*",
                                              "<config>",
                                              std::string(5000, 'x')};
    return all;
}

/// What is wrong with it as something to read; empty: nothing.
std::string fault_of(const std::string& said) {
    if (said.empty()) return "nothing is said";
    if (said.size() > 2000) return "it is longer than 2000 characters";
    if (said.back() != '\n' || said.find('\n') != said.size() - 1) return "it is not one line";
    if (std::any_of(said.begin(), said.end() - 1,
                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
        return "it holds control characters";
    static const std::regex says_what_to_do(
        "--help|must|missing|is needed|give |use |run |start |expected|allowed|known|without|at least|one of|"
        "BOINC_PROJECT_DIR|name the|not found|no such|No such",
        std::regex::icase);
    return std::regex_search(said, says_what_to_do) ? "" : "it does not say what to do";
}

class RandomWords : public testing::TestWithParam<fs::path> {};

TEST_P(RandomWords, AreAnsweredInOneLine) {
    std::mt19937 random(static_cast<unsigned>(GetParam().filename().string().size()));
    const auto any = [&](const auto& of) { return of[random() % of.size()]; };
    std::vector<std::string> options = options_of(GetParam());
    options.emplace_back("--no_such_option");
    int refused = 0;
    for (int round = 0; round < 25; ++round) {
        const test::TempDir folder;
        test::RunOptions settings;
        settings.cwd = folder.path();
        settings.unset = {"BOINC_PROJECT_DIR", "PROJECT_DIR"};
        std::vector<std::string> words = words_of(GetParam());
        for (std::size_t n = 1 + random() % 4; n > 0; --n) {
            words.push_back(any(options));
            if (random() % 3 != 0) words.push_back(any(texts()));
        }
        test::Subprocess program(words, settings);
        const auto ended = program.wait();
        ASSERT_TRUE(ended) << "it goes on: " << testing::PrintToString(words);
        ASSERT_GE(ended->status, 0) << testing::PrintToString(words);
        // Of a project that can't be read these say so in their report.
        const std::string name = GetParam().filename();
        const bool reports = name == "sluice check" || name == "sluice health";
        if (ended->status == 0 || (reports && !ended->out.empty() && ended->err.empty())) continue;
        ++refused;
        EXPECT_LT(ended->status, 128) << "ended by a signal: " << testing::PrintToString(words);
        // A level that does not exist is a warning of its own, before what ends the program.
        std::string said = ended->err;
        if (const auto end = said.find('\n'); said.substr(0, end).find("[warning] --debug_level") != said.npos)
            said.erase(0, end + 1);
        EXPECT_EQ(fault_of(said), "") << testing::PrintToString(words) << "\nsaid: " << ended->err;
    }
    EXPECT_GT(refused, 5);
}

INSTANTIATE_TEST_SUITE_P(Each, RandomWords, testing::ValuesIn(programs()), [](const auto& tested) {
    std::string name = tested.param.filename();
    for (char& c : name)
        if (c == ' ' || c == '-') c = '_';
    return name;
});

}  // namespace
}  // namespace sluice
