// SPDX-License-Identifier: LGPL-3.0-or-later
// The commands that pages of docs/ show: each option that stands behind a program of ours is one of its --help.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string page_text(const fs::path& file) {
    std::ifstream in(file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

/// {name: program}; stop and status are start by other names, "sluice check" is a command of sluice.
std::map<std::string, std::string> programs_by_name() {
    std::map<std::string, std::string> all;
    std::istringstream lines(page_text(fs::path(test::binary_dir()) / "tests/programs.txt"));
    for (std::string line; std::getline(lines, line);) all[fs::path(line).filename()] = line;
    all["stop"] = all["status"] = all["start"];
    return all;
}

/// What stands in a page as code: lines of blocks, joined where they go on, and text between backquotes.
std::vector<std::string> code_of(const std::string& page) {
    std::vector<std::string> code;
    std::istringstream lines(page);
    bool block = false;
    std::string begun;
    for (std::string line; std::getline(lines, line);) {
        if (const std::size_t mark = line.find_first_not_of(' ');
            line.compare(mark == std::string::npos ? 0 : mark, 3, "```") == 0) {
            block = !block;
        } else if (block || line.starts_with("    ")) {
            begun += line;
            if (begun.ends_with('\\')) {
                begun.back() = ' ';
                continue;
            }
            code.push_back(std::exchange(begun, ""));
        } else {
            const std::regex span("`([^`]+)`");
            for (auto i = std::sregex_iterator(line.begin(), line.end(), span); i != std::sregex_iterator(); ++i)
                code.push_back((*i)[1]);
        }
    }
    return code;
}

/// Its commands: what stands between the signs that end one, without a comment and tags of config.xml.
std::vector<std::string> commands_of(const std::string& code) {
    const std::string bare =
        std::regex_replace(std::regex_replace(code, std::regex("<[^>]*>"), ""), std::regex("(^|\\s)#\\s.*"), "");
    const std::regex end(R"([;|()]|&&)");
    return {std::sregex_token_iterator(bare.begin(), bare.end(), end, -1), {}};
}

/// Of a program, or of a command of one.
std::string help_of(const std::string& program) {
    const std::size_t end = program.find(' ');
    if (end == std::string::npos) return test::run({program, "--help"}).out;
    return test::run({program.substr(0, end), program.substr(end + 1), "--help"}).out;
}

struct Called {
    std::string program;
    std::vector<std::string> options;
};

Called called_by(const std::string& command, const std::map<std::string, std::string>& programs) {
    Called called;
    std::istringstream words(command);
    for (std::string word; words >> word;) {
        if (word == "cmake" || word == "ctest") return {};  // names of programs are their targets and folders
        const std::string name = fs::path(word).filename();
        if (programs.contains(called.program + " " + word)) called.program += " " + word;
        std::smatch option;
        if (called.program.empty() && programs.contains(name))
            called.program = name;
        else if (!called.program.empty() && std::regex_search(word, option, std::regex("^--[A-Za-z_]+")))
            called.options.push_back(option[0]);
    }
    return called;
}

TEST(CommandsOfDocs, NameOptionsThatProgramsHave) {
    const auto programs = programs_by_name();
    std::map<std::string, std::set<std::string>> options;
    const auto options_of = [&](const std::string& program) -> const std::set<std::string>& {
        std::set<std::string>& known = options[program];
        if (known.empty()) {
            const std::string help = help_of(programs.at(program));
            const std::regex name("--[A-Za-z_]+");
            for (auto i = std::sregex_iterator(help.begin(), help.end(), name); i != std::sregex_iterator(); ++i)
                known.insert(i->str());
        }
        return known;
    };
    std::vector<fs::path> pages{fs::path(test::source_dir()) / "README.md"};
    for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "docs"))
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
    int named = 0;
    for (const fs::path& page : pages)
        for (const std::string& code : code_of(page_text(page)))
            for (const std::string& command : commands_of(code)) {
                const Called called = called_by(command, programs);
                for (const std::string& option : called.options) {
                    ++named;
                    EXPECT_TRUE(options_of(called.program).contains(option))
                        << page.filename() << ": " << called.program << " has no " << option << ": " << command;
                }
            }
    EXPECT_GE(named, 150);
}

TEST(CommandsOfDocs, AreFoundInBlocksAndText) {
    const std::map<std::string, std::string> programs{{"feeder", ""}, {"start", ""}};
    const auto code = code_of(
        "Use `bin/feeder --mod 2 1`.\n\n    cd PROJECT; bin/start \\\n        --cron  # --no\n```sh\nctest feeder --x\n```\n");
    ASSERT_EQ(code.size(), 3u);
    EXPECT_EQ(called_by(commands_of(code[0]).at(0), programs).options, std::vector<std::string>{"--mod"});
    const Called second = called_by(commands_of(code[1]).at(1), programs);
    EXPECT_EQ(second.program, "start");
    EXPECT_EQ(second.options, std::vector<std::string>{"--cron"});
    EXPECT_EQ(called_by(code[2], programs).program, "");
}

}  // namespace
}  // namespace sluice
