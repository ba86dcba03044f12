// SPDX-License-Identifier: LGPL-3.0-or-later
// The validators on the same rows and files as upstream's, and its verdicts: app upper_case, 15 workunits to validate.
// Where ours differ on purpose, a comment says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "tests/db/golden/golden_rows.h"
#include "tests/support/database_rows.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr int kFanout = 64;

class GoldenValidators : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        Database db(settings() = load_golden_rows("golden_validators"));
        db.execute(Sql("CREATE TABLE workunit_was SELECT * FROM workunit"));
        db.execute(Sql("CREATE TABLE result_was SELECT * FROM result"));
    }
    static DbSettings& settings() {
        static DbSettings made;
        return made;
    }
    GoldenValidators() : db_(settings()) {
        db_.execute(Sql("REPLACE INTO workunit SELECT * FROM workunit_was"));
        db_.execute(Sql("REPLACE INTO result SELECT * FROM result_was"));
        project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("golden_validators") +
                                         "<upload_dir>" + (project_ / "upload").string() +
                                         "</upload_dir><uldl_dir_fanout>" + std::to_string(kFanout) +
                                         "</uldl_dir_fanout></config></boinc>");
        const Sql documents(
            "SELECT r.xml_doc_in, r.workunitid FROM result r JOIN workunit w ON w.id=r.workunitid WHERE "
            "w.appid=1 AND w.need_validate>0 ORDER BY r.id");
        for (const auto& row : rows_of(db_, documents, 2)) write_output(row[0], row[1]);
        write_file("upper_case_32_1_r1064_0", "other\n");
        write_file("upper_case_192_0_r1384_0", "other\n");
        fs::remove(fanout_path(project_ / "upload", "upper_case_212_1_r1424_0", kFanout));
        db_.execute(Sql("UPDATE result SET received_time=UNIX_TIMESTAMP()+1"));  // after the files came
    }
    void write_output(const std::string& document, const std::string& wu) {
        const auto at = document.find("<file_name>");
        if (at == std::string::npos) return;
        const auto begin = at + 11;
        write_file(document.substr(begin, document.find('<', begin) - begin),
                   "output of workunit " + wu + ", file 0\n");
    }
    void write_file(const std::string& name, const std::string& text) {
        const fs::path path = fanout_path(project_ / "upload", name, kFanout);
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    /// bin/NAME, which writes its arguments, without folders, into `calls`.
    void script(const std::string& name, const std::string& body) {
        project_.write("bin/" + name, "#!/bin/sh\n{ printf '" + name +
                                          "'; for a in \"$@\"; do printf ' %s' \"${a##*/}\"; done; echo; } >> " +
                                          (project_ / "calls").string() + "\n" + body);
        fs::permissions(project_ / ("bin/" + name), fs::perms::owner_all);
    }
    void usual_scripts() {
        script("init", "case $1 in *_52_*) exit 3;; *_92_*) exit 7;; *_132_0_*) kill -9 $$;; esac\nexit 0\n");
        script("cmp", "case $1 in *_72_*) exit 1;; *_152_*) exit 3;; esac\nexec cmp -s \"$1\" \"$2\"\n");
    }
    RunResult validate(std::vector<std::string> args) {
        args[0] = std::string(SLUICE_BIN) + "/" + args[0];
        args.insert(args.end(), {"--app", "upper_case", "--one_pass", "--no_credit"});
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        options.cwd = project_.path();
        return run(args, options);
    }
    /// "12: V" a workunit: a letter a result, * behind the canonical one, and +1 where target_nresults was raised.
    std::string verdicts() {
        const Sql sql(
            "SELECT w.id, r.id=w.canonical_resultid, r.outcome, r.validate_state, "
            "w.target_nresults-(w.id DIV 20 MOD 3*2 MOD 3+1) FROM workunit w JOIN result r ON r.workunitid=w.id WHERE w.appid=1 AND "
            "w.id MOD 20=12 ORDER BY r.id");
        std::ostringstream out;
        std::string last;
        for (const auto& row : rows_of(db_, sql, 5)) {
            if (row[0] != last)
                out << (last.empty() ? "" : " ") << row[0] << (row[4] == "0" ? ":" : "+" + row[4] + ":");
            last = row[0];
            const std::string state = row[3];
            out << (row[2] == "6"   ? "E"
                    : row[2] != "1" ? "-"
                    : state == "1"  ? "V"
                    : state == "2"  ? "I"
                    : state == "4"  ? "C"
                                    : "?");
            if (row[1] == "1") out << "*";
        }
        return out.str();
    }
    std::vector<std::string> calls() {
        std::vector<std::string> lines;
        std::istringstream in(read_file(project_ / "calls").value_or(""));
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        return lines;
    }

    TempDir project_;
    Database db_;
};

TEST_F(GoldenValidators, BitwiseIsUpstreams) {
    EXPECT_EQ(validate({"sample_bitwise_validator"}).status, 0);
    EXPECT_EQ(
        verdicts(),
        "12:V* 32:V*IV 52:V*V 72:V* 92:V*VV 112:E- 132:V* 152:V*VV 172:V*V 192:V* 212:V*EV 232:V*V 252:- 272:V*VV "
        "292:V*V");
}

TEST_F(GoldenValidators, TrivialIsUpstreams) {
    EXPECT_EQ(validate({"sample_trivial_validator"}).status, 0);
    EXPECT_EQ(
        verdicts(),
        "12:V* 32:V*VV 52:V*V 72:V* 92:V*VV 112:E- 132:V* 152:V*VV 172:V*V 192:V* 212:V*VV 232:V*V 252:- 272:V*VV "
        "292:V*V");
}

TEST_F(GoldenValidators, SubstrIsUpstreams) {
    EXPECT_EQ(validate({"sample_substr_validator", "--stderr_string", "out"}).status, 0);
    EXPECT_EQ(verdicts(),
              "12:E 32:EEE 52:EE 72:E 92:EEE 112:E- 132:E 152:EEE 172:EE 192:E 212:EEE 232:EE 252:- 272:EEE 292:EE");
}

// Upstream calls the good ones below the quorum inconclusive; ours stay as they are. Both are judged again.
TEST_F(GoldenValidators, SubstrThatRejectsIsUpstreams) {
    const RunResult r = validate(
        {"sample_substr_validator", "--stderr_string", "out", "--stderr_string", "exited", "--reject_if_present"});
    EXPECT_EQ(
        verdicts(),
        "12:V* 32:?EE 52:?E 72:V* 92:?EE 112:E- 132:V* 152:?EE 172:?E 192:V* 212:?EE 232:?E 252:- 272:?EE 292:?E");
    EXPECT_NE(r.err.find("] Validate error: 'exited' is in stderr_out ["), std::string::npos) << r.err;
}

// Upstream: 52 and 152 (exit status 3) are inconclusive with one more instance each, 132 (a killed script) is an error.
TEST_F(GoldenValidators, ScriptsAreUpstreamsButForWhatPasses) {
    usual_scripts();
    const RunResult r = validate({"script_validator", "--init_script", "init", "--compare_script", "cmp"});
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(verdicts(),
              "12:V* 32:V*IV 52:?? 72:V* 92:EEE 112:E- 132:? 152:??? 172:V*V 192:V* 212:V*IV 232:V*V 252:- 272:V*VV "
              "292:V*V");
    for (const char* said : {"not judged: init returned 3; looked at again in ", "Validate error: init returned 7 [",
                             "not judged: init was killed by signal 9; looked at again in ",
                             "RESULT#303 is not compared with RESULT#304: cmp returned 3"})
        EXPECT_NE(r.err.find(said), std::string::npos) << said << "\n" << r.err;
    const auto called = calls();
    for (const char* line : {"init upper_case_92_2_r1185_0", "cmp upper_case_32_0_r1063_0 upper_case_32_1_r1064_0"})
        EXPECT_EQ(std::ranges::count(called, line), 1) << line;
    EXPECT_EQ(std::ranges::count_if(called, [](const auto& c) { return c.starts_with("init"); }), 27);
}

// Since 2025 upstream calls these without arguments.
TEST_F(GoldenValidators, EveryArgumentIsHandedOver) {
    usual_scripts();
    validate({"script_validator", "--init_script", "init files result_id runtime", "--compare_script",
              "cmp files files2 result_id result_id2 runtime runtime2", "--wu_id", "32"});
    const auto called = calls();
    ASSERT_EQ(called.size(), 5U);
    EXPECT_EQ(called[0], "init upper_case_32_0_r1063_0 63 35216.000000");
    EXPECT_TRUE(called[3].starts_with("cmp upper_case_32_0_r1063_0 upper_case_32_1_r1064_0 63 64 35216.000000 "))
        << called[3];
}

TEST_F(GoldenValidators, InitScriptAloneComparesNothing) {
    usual_scripts();
    validate({"script_validator", "--init_script", "init"});
    EXPECT_EQ(verdicts(),
              "12:V* 32:V*VV 52:?? 72:V* 92:EEE 112:E- 132:? 152:V*VV 172:V*V 192:V* 212:V*VV 232:V*V 252:- 272:V*VV "
              "292:V*V");
}

TEST_F(GoldenValidators, ScriptThatIsNotThereJudgesNobody) {
    const RunResult r = validate({"script_validator", "--compare_script", "nowhere", "--wu_id", "32"});
    EXPECT_NE(verdicts().find("32:??? "), std::string::npos) << verdicts();
    EXPECT_NE(r.err.find("nowhere returned 127 (is "), std::string::npos) << r.err;
}

TEST_F(GoldenValidators, CallWithoutScriptOrTextIsRefused) {
    EXPECT_EQ(validate({"script_validator"}).status, 1);
    EXPECT_EQ(validate({"script_validator", "--init_script", "init fils"}).status, 1);
    EXPECT_EQ(validate({"sample_substr_validator"}).status, 1);
}

}  // namespace
}  // namespace sluice::test
