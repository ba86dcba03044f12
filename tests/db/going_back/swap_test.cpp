// SPDX-License-Identifier: LGPL-3.0-or-later
// The swap of docs/install.md, and back, with the commands that stand there: a client works through all of it, and no
// job is lost, doubled or stuck. The old programs are upstream's, where they are given, and in any case copies of ours:
// then only the commands are tested.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <utility>

#include "tests/db/going_back/swapped_project.h"

namespace sluice::test {
namespace {

/// The commands of all steps below a heading: they are indented deeper than a step's text.
std::vector<std::string> steps_below(const std::string& heading) {
    const std::string page = text_of(source_dir() + "/docs/install.md");
    const std::size_t section = page.find("\n## " + heading + "\n");
    std::istringstream lines(page.substr(section, page.find("\n## ", section + 1) - section));
    std::vector<std::string> commands;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("       ")) commands.push_back(line);
    return commands;
}

class Swap : public SwappedProject {
  protected:
    void there_and_back();
};

void Swap::there_and_back() {
    ASSERT_EQ(shell("bin/start").status, 0);
    work(3);
    const std::string old_cgi = text_of(project_.folder() / "cgi-bin/cgi");

    const RunResult swapped = shell(commands_below("Swap"));
    EXPECT_EQ(swapped.status, 0) << swapped.err;
    EXPECT_EQ(swapped.err, "");
    EXPECT_EQ(shell(commands_below("Swap")).err, "") << "who repeats them loses nothing";
    for (const char* name : {"bin/feeder", "cgi-bin/cgi", "cgi-bin/fcgi"}) {
        EXPECT_FALSE(fs::is_symlink(project_.folder() / name)) << "tools/upgrade writes through it";
        const std::string installed = std::string(name).ends_with("fcgi") ? "cgi-bin/cgi" : name;
        EXPECT_TRUE(text_of(project_.folder() / name) == text_of(installed_ / installed)) << name;
    }
    work(3);
    expect_rows_in_order();

    std::string back;
    for (const std::string& command : steps_below("Go back")) {
        if (command.find("mariadb ") != std::string::npos) {  // the page's USER and DATABASE are an admin's
            EXPECT_EQ(shell(std::exchange(back, "cd PROJECT\n")).err, "");
            server_.load("swap", installed_ / "share/sluice/going_back.sql");
        } else if (command.find("bin/start") == std::string::npos) {
            back += command + "\n";
        }
    }
    ASSERT_TRUE(back.find("mv before-sluice/bin/") != std::string::npos) << back;
    EXPECT_EQ(shell(back).err, "");
    EXPECT_TRUE(text_of(project_.folder() / "cgi-bin/cgi") == old_cgi);
    for (const char* name : {"bin/sched_explain", "cgi-bin/cgi.old", "sluice"})
        EXPECT_FALSE(fs::exists(project_.folder() / name)) << name;
    ASSERT_EQ(shell("bin/start").status, 0);
    work(3);
    expect_rows_in_order();
}

TEST_F(Swap, TheCommandsWork) {
    install_old(binary_dir());
    there_and_back();
}

TEST_F(Swap, UpstreamsProgramsAndBack) {
    const char* prefix = std::getenv("SLUICE_UPSTREAM_PREFIX");
    if (prefix == nullptr || *prefix == '\0')
        GTEST_SKIP() << "SLUICE_UPSTREAM_PREFIX is not set (tests/allowed_skips.txt)";
    install_old(prefix);
    there_and_back();
}

}  // namespace
}  // namespace sluice::test
