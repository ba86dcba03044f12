// The pages of docs/man are what the programs print: a changed option without `ninja man_pages` is found here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/subprocess.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
const fs::path kPages = fs::path(SLUICE_SOURCE_DIR) / "docs/man";

/// They take their arguments as upstream's programs of that name do, or are tools of the build.
const std::set<std::string> kWithoutPage{"crypt_prog", "sign_executable", "sluice_options"};

std::vector<fs::path> programs() {
    std::ifstream in(fs::path(SLUICE_BINARY_DIR) / "tests/programs.txt");
    std::vector<fs::path> all;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) all.emplace_back(line);
    return all;
}

std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

TEST(ManPages, AreWhatTheProgramsPrint) {
    ASSERT_GE(programs().size(), 15u);
    for (const fs::path& program : programs()) {
        const std::string name = program.filename();
        if (kWithoutPage.contains(name)) continue;
        const test::RunResult r = test::run({program.string(), "--man"});
        EXPECT_EQ(r.status, 0) << name << ": " << r.err;
        std::ifstream in(kPages / (name + ".1"));
        ASSERT_TRUE(in) << "docs/man/" << name << ".1 is missing: run `ninja man_pages`";
        const std::string page{std::istreambuf_iterator<char>(in), {}};
        EXPECT_EQ(trimmed(page), trimmed(r.out)) << "docs/man/" << name << ".1 is stale: run `ninja man_pages`";
    }
}

TEST(ManPages, BelongToPrograms) {
    std::set<std::string> names;
    for (const fs::path& program : programs()) names.insert(program.filename());
    for (const auto& entry : fs::directory_iterator(kPages)) {
        if (entry.path().extension() != ".1") continue;
        EXPECT_TRUE(names.contains(entry.path().stem())) << entry.path() << " is of no program: run `ninja man_pages`";
    }
}

TEST(ManPages, SaySynopsisOptionsAndWhatTheProgramIsFor) {
    for (const auto& entry : fs::directory_iterator(kPages)) {
        if (entry.path().extension() != ".1") continue;
        std::ifstream in(entry.path());
        const std::string page{std::istreambuf_iterator<char>(in), {}};
        for (const char* part : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n"})
            EXPECT_THAT(page, testing::HasSubstr(part)) << entry.path();
    }
}

}  // namespace
}  // namespace sluice
