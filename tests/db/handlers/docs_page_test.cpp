// SPDX-License-Identifier: LGPL-3.0-or-later
// docs/validators.md, word by word: its files are written as they stand there, its commands run, and what comes out
// validates results of a real database.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/db/handlers/outside_project.h"

namespace sluice::test {
namespace {

struct PageBlock {
    std::string before, language, text;  ///< before: the line of prose above it
};

/// The fenced blocks of a section.
std::vector<PageBlock> blocks_of(const std::string& section) {
    std::istringstream page(read_file(fs::path(source_dir()) / "docs/validators.md").value());
    std::vector<PageBlock> blocks;
    std::string line, prose;
    bool here = false, inside = false;
    while (std::getline(page, line)) {
        if (line.starts_with("## ")) here = line == "## " + section;
        if (!here) continue;
        if (line.starts_with("```")) {
            if (!inside) blocks.push_back({prose, line.substr(3), ""});
            inside = !inside;
        } else if (inside) {
            blocks.back().text += line + "\n";
        } else if (!line.empty()) {
            prose = line;
        }
    }
    return blocks;
}

/// The name between the first two backquotes.
std::string quoted(const std::string& prose) {
    const auto from = prose.find('`') + 1;
    return prose.substr(from, prose.find('`', from) - from);
}

class DocsPage : public OutsideProject {
  protected:
    /// Writes files, runs commands; returns what the commands have said on standard error.
    std::string follow(const std::string& section) {
        std::string said;
        for (const PageBlock& block : blocks_of(section)) {
            if (block.language == "sh") {
                const RunResult r = type(block.text, source_.path());
                EXPECT_EQ(r.status, 0) << block.text << r.out << r.err;
                said += r.err;
            } else if (block.language != "xml") {
                source_.write(quoted(block.before), block.text);
            }
        }
        return said;
    }
};

TEST_F(DocsPage, ValidatorInCppIsBuiltAndJudges) {
    make_workunit(2);
    returned(1, 1, 1, "3.14159265\n");
    returned(2, 1, 2, "3.14159266\n");
    returned(3, 1, 3, "2.7\n");
    const std::string said = follow("A validator in C++");
    EXPECT_THAT(said, testing::HasSubstr("[WU#1 w] canonical result is 1"));
    EXPECT_EQ(results()[0][3], "0") << "a dry run writes nothing";
    const RunResult r = run_own({"sum_validator", "--app", "a", "--one_pass", "--tolerance", "1e-6"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(results(), (Table{{"1", "5", "1", "1"}, {"2", "5", "1", "1"}, {"3", "5", "1", "2"}})) << r.err;
}

TEST_F(DocsPage, AssimilatorInCppIsBuiltAndStores) {
    make_workunit(1);
    returned(1, 1, 1, "3.14\n");
    db_.execute(Sql("UPDATE workunit SET assimilate_state=1, canonical_resultid=1, need_validate=0"));
    follow("An assimilator in C++");
    std::string list;
    for (const PageBlock& block : blocks_of("A validator in C++"))
        if (block.language == "cmake") list = block.text;
    for (const auto& [from, to] :
         {std::pair("sum_validator", "line_assimilator"), std::pair("Validator", "Assimilator")})
        for (std::size_t at = 0; (at = list.find(from, at)) != std::string::npos; at += std::string(to).size())
            list.replace(at, std::string(from).size(), to);
    source_.write("CMakeLists.txt", list);
    const RunResult built = type(
        "cmake -S . -B build -DCMAKE_PREFIX_PATH=$SLUICE\ncmake --build build\ncp build/line_assimilator $PROJECT/bin/",
        source_.path());
    ASSERT_EQ(built.status, 0) << built.out << built.err;
    const RunResult r = run_own({"line_assimilator", "--app", "a", "--one_pass"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(read_file(project_ / "results.txt").value_or("none"), "w 3.14\n") << r.err;
    EXPECT_EQ(count("assimilate_state=2"), 1);
}

}  // namespace
}  // namespace sluice::test
