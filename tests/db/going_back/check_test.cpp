// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice check on a project that may move: what it advises works as it stands, and it says what adopt will refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/going_back/adopted_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class CheckedProject : public AdoptedProject {
  protected:
    static std::string between(const std::string& text, const std::string& begin, const std::string& end) {
        const std::size_t at = text.find(begin), from = at + begin.size();
        return at == std::string::npos ? "" : text.substr(from, text.find(end, from) - from);
    }
};

TEST_F(CheckedProject, AnAdvisedTaskCanBeRun) {
    const std::string advice = between(sluice("check .").out, "rotate_logs is not among the <tasks>: ", "\n");
    const std::string command = between(advice, "to add it: ", ", then "), task = between(advice, ", then ", "\n");
    const RunResult added = shell("env PATH=/usr/bin:/bin " + command);
    ASSERT_EQ(added.status, 0) << advice << added.err;
    std::string text = config();
    text.insert(text.find("</boinc>"), "<tasks>" + task + "</tasks>\n");
    std::ofstream(project_.folder() / "config.xml") << text;
    const std::string again = sluice("check .").out;
    EXPECT_THAT(again, Not(HasSubstr("'rotate_logs' can't be started")));
    EXPECT_THAT(again, Not(HasSubstr("rotate_logs is not among")));
}

TEST_F(CheckedProject, WhatIsBeingTriedIsSaid) {
    fs::rename(project_.folder() / "cgi-bin/cgi", project_.folder() / "cgi-bin/cgi.behind_tee");
    fs::copy_file(fs::path(binary_dir()) / "bin/cgi_tee", project_.folder() / "cgi-bin/cgi");
    const std::string said = sluice("check .").out;
    EXPECT_THAT(said, HasSubstr("sluice shadow --tee looks at the requests"));
    const RunResult removed = shell("env PATH=/usr/bin:/bin " + between(said, "where it runs no longer: ", "\n"));
    EXPECT_EQ(removed.status, 0) << removed.err;
    EXPECT_FALSE(fs::exists(project_.folder() / "cgi-bin/cgi.behind_tee"));
    fs::create_directory(project_.folder() / "sluice-canary");
    EXPECT_THAT(sluice("check .").out, HasSubstr("a call of sluice canary was broken off"));
}

}  // namespace
}  // namespace sluice::test
