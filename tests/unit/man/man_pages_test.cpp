// SPDX-License-Identifier: LGPL-3.0-or-later
// Manual pages: made from the text of --help, and installed with the programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> programs() {
    std::istringstream in(text_of(fs::path(sluice::test::binary_dir()) / "tests/programs.txt"));
    std::vector<fs::path> all;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) all.emplace_back(line);
    return all;
}

/// Without line breaks and roff's escapes: the words.
std::string words(std::string text) {
    text = std::regex_replace(text, std::regex(R"(\\f[BIR])"), "");
    text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
    text = std::regex_replace(text, std::regex(R"(\\&)"), "");
    text = std::regex_replace(text, std::regex(R"(\\e)"), "\\");
    text = std::regex_replace(text, std::regex(R"((^|\n)\.(TH|SH|TP|PP|B|I)\b)"), "\n");
    return std::regex_replace(text, std::regex(R"(\s+)"), " ");
}

/// "--name" of every option that a text mentions at the beginning of a line.
std::set<std::string> options_of(const std::string& text, const std::regex& line) {
    std::set<std::string> found;
    const std::regex name(R"(--?[A-Za-z_]+)");
    for (auto i = std::sregex_iterator(text.begin(), text.end(), line); i != std::sregex_iterator(); ++i) {
        const std::string names = (*i)[1];
        for (auto j = std::sregex_iterator(names.begin(), names.end(), name); j != std::sregex_iterator(); ++j)
            found.insert(j->str());
    }
    return found;
}

/// A program, or a command of one ("…/bin/sluice check"), with one more argument.
std::vector<std::string> call(const std::string& program, const std::string& option) {
    const std::size_t end = program.find(' ');
    if (end == std::string::npos) return {program, option};
    return {program.substr(0, end), program.substr(end + 1), option};
}

/// Of the page: sluice-check.
std::string page_name(const fs::path& program) {
    std::string name = program.filename();
    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

TEST(ManPages, AreMadeFromTheTextOfHelp) {
    ASSERT_GE(programs().size(), 15u);
    for (const fs::path& program : programs()) {
        const std::string name = page_name(program);
        const std::string page = text_of(fs::path(sluice::test::binary_dir()) / "man" / (name + ".1"));
        EXPECT_EQ(page, test::run(call(program, "--man")).out) << name << ": the page is not this program's";
        for (const char* part : {".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n"})
            EXPECT_THAT(page, testing::HasSubstr(part)) << name;
        const test::RunResult help = test::run(call(program, "--help"));
        EXPECT_EQ(help.status, 0) << name;
        const auto in_help = options_of(help.out, std::regex(R"(\n  (-[^ ,]+(, -[^ ,]+)*))"));
        std::string plain = std::regex_replace(page, std::regex(R"(\\-)"), "-");
        const auto in_page = options_of(plain, std::regex(R"(\n\.B (-[^ ,\n]+(, -[^ ,\n]+)*))"));
        EXPECT_TRUE(in_help.contains("--help")) << name << " has no --help";
        EXPECT_EQ(in_page, in_help) << name;
        // Every sentence of the help stands in the page: compared by the last words of each option's text.
        const std::string page_words = words(page);
        std::istringstream lines(help.out);
        bool in_options = false;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("options")) in_options = true;
            if (in_options && line.empty()) break;
            if (!in_options || !line.starts_with(std::string(30, ' '))) continue;
            EXPECT_THAT(page_words, testing::HasSubstr(words(line.substr(30)))) << name;
        }
    }
}

TEST(ManPages, AreInstalled) {
    const test::TempDir prefix;
    const test::RunResult r = test::run(
        {"cmake", "--install", sluice::test::binary_dir(), "--prefix", prefix.path().string(), "--component", "man"});
    ASSERT_EQ(r.status, 0) << r.err;
    std::set<std::string> wanted, found;
    for (const fs::path& program : programs()) wanted.insert(page_name(program) + ".1");
    for (const auto& entry : fs::directory_iterator(prefix.path() / "share/man/man1"))
        found.insert(entry.path().filename());
    wanted.insert({"stop.1", "status.1"});  // start by other names
    EXPECT_EQ(found, wanted);
    for (const char* name : {"stop.1", "status.1"})
        EXPECT_EQ(text_of(prefix.path() / "share/man/man1" / name), ".so man1/start.1\n");
    for (const char* name :
         {"feeder", "transitioner", "size_regulator", "size_census", "census", "batch_stats", "batch_accel",
          "show_shmem", "crypt_prog", "sign_executable", "sluice_options", "sluice", "sluice-adopt"})
        EXPECT_TRUE(found.contains(std::string(name) + ".1")) << name;
}

}  // namespace
}  // namespace sluice
