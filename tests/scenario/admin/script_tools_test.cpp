// SPDX-License-Identifier: LGPL-3.0-or-later
// parse_config, run_in_ops and grep_logs: what scripts of admins and tasks of config.xml call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class ScriptTools : public testing::Test {
  protected:
    RunResult call(std::vector<std::string> words, const std::filesystem::path& from = {}) const {
        words[0] = binary_dir() + "/bin/" + words[0];
        RunOptions options;
        options.cwd = from.empty() ? project_.path() : from;
        options.unset = {"BOINC_PROJECT_DIR"};
        return run(words, options);
    }
    void config(const std::string& elements, const std::string& name = "config.xml") const {
        project_.write(name, "<boinc>\n<config>\n" + elements +
                                 "</config>\n<daemons><daemon><cmd>feeder</cmd></daemon>"
                                 "</daemons>\n</boinc>\n");
    }
    void script(const std::string& name, const std::string& text) const {
        const auto file = project_.write("html/ops/" + name, "#!/bin/sh\n" + text);
        std::filesystem::permissions(file, std::filesystem::perms(0755));
    }
    TempDir project_;
};

TEST_F(ScriptTools, ValueOfConfigIsPrinted) {
    config("<master_url> http://h/a?b&amp;c </master_url>\n<db_host/>\n<one>1</one><one>2</one>\n<empty></empty>");
    EXPECT_EQ(call({"parse_config", "master_url"}).out, "http://h/a?b&c\n");
    EXPECT_EQ(call({"parse_config", "db_host"}).out, "1\n");
    EXPECT_EQ(call({"parse_config", "one"}).out, "2\n") << "the later one counts";
    EXPECT_EQ(call({"parse_config", "empty"}).out, "\n");
    for (const char* name : {"none", "cmd", "daemons"}) {
        const RunResult r = call({"parse_config", name});
        EXPECT_EQ(r.status, 1) << name;
        EXPECT_THAT(r.err, HasSubstr(std::string("has no <") + name));
    }
    config("<one>3</one>\n", "config_aux.xml");
    EXPECT_EQ(call({"parse_config", "one"}).out, "3\n");
    EXPECT_EQ(call({"parse_config"}).status, 1);
    project_.write("config.xml", "<boinc><config><one>1</two></config></boinc>");
    EXPECT_EQ(call({"parse_config", "one"}).status, 1);
}

TEST_F(ScriptTools, ScriptRunsInItsFolder) {
    config("");
    script("show.sh", "pwd -P\nfor word in \"$@\"; do echo \"[$word]\"; done\nexit 7\n");
    std::filesystem::create_directories(project_ / "tmp_h");
    const std::string here = std::filesystem::canonical(project_ / "html/ops").string() + "\n";
    for (const char* name : {"show.sh", "./show.sh"}) {
        const RunResult r = call({"run_in_ops", name, "--help", "a  b", "$HOME;x"}, project_ / "tmp_h");
        EXPECT_EQ(r.status, 7);
        EXPECT_EQ(r.out, here + "[--help]\n[a  b]\n[$HOME;x]\n");
    }
    EXPECT_EQ(call({"run_in_ops", "./show.sh  one two"}).out, here + "[one]\n[two]\n");
}

TEST_F(ScriptTools, ScriptThatIsNotThereIsNamed) {
    config("");
    EXPECT_THAT(call({"run_in_ops", "x.php"}).err, HasSubstr("html/ops"));
    script("there.sh", "");
    const RunResult r = call({"run_in_ops", "gone.php"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("html/ops/gone.php"));
    EXPECT_EQ(call({"run_in_ops"}).status, 1);
    EXPECT_EQ(call({"run_in_ops", " "}).status, 1);
    EXPECT_THAT(call({"run_in_ops", "--help"}).out, HasSubstr("run a script in html/ops"));
}

class GrepLogs : public ScriptTools {
  protected:
    GrepLogs() {
        project_.write("g1", "a wu_12 x\nb wu_125\nERROR wu_12\n");
        project_.write("g2", "nothing\nwu_12 last\n");
    }
};

TEST_F(GrepLogs, LinesAreFoundWithTheirNumbers) {
    EXPECT_EQ(call({"grep_logs", "wu_12", "g1", "g2"}).out,
              "\n\ng1:\n  00001: a wu_12 x\n  00003: ERROR wu_12\n\n\ng2:\n  00002: wu_12 last\n");
    EXPECT_EQ(call({"grep_logs", "noth|wu_1+2", "g1", "g2"}).out,
              "\n\ng1:\n  00001: a wu_12 x\n  00003: ERROR wu_12\n\n\ng2:\n  00001: nothing\n  00002: wu_12 last\n");
    EXPECT_EQ(call({"grep_logs", "-l", "1", "wu", "g1", "g2"}).out,
              "\n\ng1:\n  00001: a wu_12 x\n\n\ng2:\n  00002: wu_12 last\n");
    EXPECT_EQ(call({"grep_logs", "-l", "-1", "wu", "g1", "g2"}).out,
              "\n\ng1:\n  00003: ERROR wu_12\n\n\ng2:\n  00002: wu_12 last\n");
    EXPECT_EQ(call({"grep_logs", "none", "g1"}).out, "");
}

// A power cut leaves them before what the next start writes.
TEST_F(GrepLogs, BytesOfZeroHideNothing) {
    using namespace std::string_literals;
    project_.write("g3", "\0\0\0wu_12 a wu_12\nwu_12\0\n"s);
    EXPECT_EQ(call({"grep_logs", "wu_12", "g3"}).out, "\n\ng3:\n  00001: \0\0\0wu_12 a wu_12\n  00002: wu_12\0\n"s);
    EXPECT_THAT(call({"grep_logs", "-html", "wu_12", "g3"}).out, HasSubstr("<b>wu_12</b> a <b>wu_12</b>"));
}

// <log_format>json</log_format>
TEST_F(GrepLogs, RecordsAreFoundAndPrintedAsText) {
    project_.write("g3",
                   "{\"time\":\"2026-11-28T11:57:52.012Z\",\"level\":\"critical\",\"program\":\"feeder\",\"pid\":42,"
                   "\"message\":\"no \\\"wu_12\\\"\"}\n");
    EXPECT_EQ(call({"grep_logs", "CRITICAL. no \"wu_12\"", "g1", "g3"}).out,
              "\n\ng3:\n  00001: 2026-11-28 11:57:52.0120 UTC [PID=42   ] [CRITICAL] no \"wu_12\"\n");
    EXPECT_EQ(call({"grep_logs", "wu_1$", "g3"}).out, "");
}

TEST_F(GrepLogs, PageIsEscapedAndMarked) {
    project_.write("g3", "<script> wu_7 & wu_7\n");
    EXPECT_EQ(call({"grep_logs", "-html", "wu_12", "g1"}).out,
              "<pre></pre><h2>g1</h2><pre><font size=-1><a name=1 href=\"show_log.php?f=g1#1\">00001</a></font>  a "
              "<b>wu_12</b> x\n<font size=-1><a name=3 href=\"show_log.php?f=g1#3\">00003</a></font>  <font "
              "color=red>ERROR <b>wu_12</b></font>\n</pre>");
    EXPECT_THAT(call({"grep_logs", "-html", "wu_7", "g3"}).out,
                HasSubstr("&lt;script&gt; <b>wu_7</b> &amp; <b>wu_7</b>\n"));
    EXPECT_THAT(call({"grep_logs", "-html", "x*", "g1"}).out, HasSubstr("</pre>")) << "an empty match ends";
}

TEST_F(GrepLogs, WhatCannotBeReadIsNamed) {
    const RunResult r = call({"grep_logs", "wu", "gone", ".", "g2"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("grep_logs: gone: "));
    EXPECT_THAT(r.out, HasSubstr("wu_12 last")) << "the others are read";
    EXPECT_THAT(call({"grep_logs", "wu(", "g1"}).err, HasSubstr("is no regular expression"));
    EXPECT_EQ(call({"grep_logs", "wu"}).status, 1);
}

}  // namespace
}  // namespace sluice::test
