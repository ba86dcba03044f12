// SPDX-License-Identifier: LGPL-3.0-or-later
// docs/validators.md, its part on Python, word by word; and what befalls workunits whose script fails.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/db/work/work_chain.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

class ValidatorsPage : public WorkChain {
  protected:
    void SetUp() override {
        db_.execute(Sql("UPDATE app SET name='sum'"));
        const std::string page = read_file(fs::path(source_dir()) / "docs/validators.md").value_or("");
        const auto begin = page.find("## In Python\n");
        ASSERT_NE(begin, std::string::npos);
        text_ = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    }
    /// Writes each script where the text says, runs each shell block, and returns the daemons' commands.
    std::vector<std::string> follow() {
        std::vector<std::string> commands;
        const std::regex block("(?:Write `PROJECT/([^`]+)`:\n\n)?```(python|sh|xml)\n([^`]*)```");
        for (std::sregex_iterator it(text_.begin(), text_.end(), block), end; it != end; ++it) {
            const std::string kind = (*it)[2], body = (*it)[3];
            if (kind == "python") project_.write((*it)[1].str(), body);
            if (kind == "sh") {
                EXPECT_EQ(shell(body).status, 0) << body;
            }
            std::smatch command;
            if (kind == "xml" && std::regex_search(body, command, std::regex("<cmd>(.*)</cmd>")))
                commands.push_back(command[1]);
        }
        return commands;
    }
    RunResult shell(const std::string& command) {
        RunOptions options;
        options.env["PROJECT"] = options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        options.cwd = project_.path();
        return run({"/bin/sh", "-ec", "PATH=" SLUICE_BIN ":$PATH\n" + command}, options);
    }
    void make_sum(int quorum) {
        stage("in");
        const auto q = std::to_string(quorum);
        ASSERT_EQ(
            run_program({"create_work", "--appname", "sum", "--wu_name", "w" + std::to_string(++made_), "--wu_template",
                         "templates/a_in", "--result_template", "templates/a_out", "--min_quorum", q,
                         "--target_nresults", q, "--max_success_results", "5", "--max_total_results", "9", "in"})
                .status,
            0);
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    }
    std::string states() {
        std::string all;
        for (const auto& row : rows_of(db_, Sql("SELECT outcome, validate_state FROM result ORDER BY id"), 2))
            all += row[0] + row[1] + " ";
        return all;
    }

    std::string text_;
    int made_ = 0;
};

TEST_F(ValidatorsPage, PythonFromNothingToAssimilated) {
    const auto commands = follow();
    ASSERT_EQ(commands.size(), 2U);
    make_sum(2);
    returned(10, 1, 1, "1.5");
    returned(11, 1, 2, "1.5000000001");
    returned(12, 1, 3, "2.5");
    make_sum(1);
    returned(13, 2, 1, "nothing");
    const RunResult r = shell(commands[0] + " --one_pass");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(states(), "11 11 12 62 ") << r.err;
    EXPECT_NE(r.err.find("Validate error: no number in it ["), std::string::npos) << r.err;
    db_.execute(Sql("UPDATE workunit SET error_mask=2, assimilate_state=1, batch=5 WHERE id=2"));
    const RunResult stored = shell(commands[1] + " --one_pass");
    EXPECT_EQ(stored.status, 0) << stored.err;
    EXPECT_EQ(read_file(project_ / "results/0/w1.txt"), "1.5") << stored.err;
    EXPECT_EQ(read_file(project_ / "results/5/w2.txt"), "failed: 2");
    EXPECT_EQ(count("assimilate_state=2"), 2);
}

TEST_F(ValidatorsPage, WithoutCanonicalFileLateResultsAreTooLate) {
    const auto commands = follow();
    make_sum(1);
    returned(10, 1, 1, "1.5");
    shell(commands[0] + " --one_pass");
    fs::remove(fanout_path(project_ / "upload", "w_10_r1_0", 1024));
    returned(11, 1, 2, "1.5");
    db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    db_.execute(Sql("UPDATE result SET received_time=UNIX_TIMESTAMP()+1"));
    const RunResult r = shell(commands[0] + " --one_pass");
    EXPECT_EQ(states(), "11 15 ") << r.err;
}

TEST_F(ValidatorsPage, ExceptionIsNoVerdict) {
    project_.write("bin/v",
                   "#!/usr/bin/env python3\nimport sluice\ndef check(r):\n    print('to the log')\n    return 1 // "
                   "int(r.read())\nsluice.validator(check)\n");
    project_.write("bin/a",
                   "#!/usr/bin/env python3\nimport sluice\ndef store(job):\n    if job.name == 'w1':\n        raise "
                   "OSError('disk full')\nsluice.assimilator(store)\n");
    shell("chmod +x bin/v bin/a");
    for (const int wu : {1, 2}) {
        make_sum(1);
        returned(9 + wu, wu, wu, wu == 1 ? "0" : "1");
    }
    const RunResult r = shell("script_validator --app sum --one_pass --json_script v");
    EXPECT_EQ(states(), "10 11 ") << r.err;
    for (const char* said : {"to the log", "Traceback", "not judged: v failed: ZeroDivisionError: "})
        EXPECT_NE(r.err.find(said), std::string::npos) << said << r.err;
    EXPECT_EQ(count("target_nresults=1"), 2) << "no job is added";
    db_.execute(Sql("UPDATE workunit SET error_mask=2, assimilate_state=1"));
    const RunResult stored = shell("script_assimilator --app sum --one_pass --json_script a || echo status $?");
    EXPECT_NE(stored.err.find("w1] a failed: OSError: disk full; called again in "), std::string::npos) << stored.err;
    EXPECT_EQ(stored.out, "status 1\n");
    EXPECT_EQ(count("assimilate_state=2"), 1);
}

TEST_F(ValidatorsPage, WorkunitThatAlwaysFailsIsGivenUp) {
    project_.write("bin/v",
                   "#!/usr/bin/env python3\nimport sluice\ndef check(r):\n    return 1 // int(r.read())\n"
                   "sluice.validator(check)\n");
    project_.write("bin/check", "#!/bin/sh\nread n < $1\n[ $n != 0 ] || kill -SEGV $$\n");
    shell("chmod +x bin/v bin/check");
    for (const std::string daemon : {"--json_script v", "--init_script check"}) {
        for (const int wu : {1, 2, 3}) {
            make_sum(1);
            returned(3 * made_, made_, wu, wu == 2 ? "0" : "1");
        }
        const std::string bad = std::to_string(made_ - 1);
        std::string said;
        for (int i = 0; i < 10; ++i) said = shell("script_validator --app sum --one_pass " + daemon).err;
        EXPECT_EQ(count("need_validate=1"), 1) << "not within an hour" << said;
        const std::string file = read_file(project_ / "validator_sum.state").value_or("none");
        EXPECT_THAT(file, testing::ContainsRegex("\n" + bad + " 2 10 ")) << "others were judged between two of them";
        project_.write("validator_sum.state", "90\n" + bad + " 9 20 5 6 10 80\n");
        const RunResult r = shell("script_validator --app sum --one_pass " + daemon);
        EXPECT_EQ(states().substr(states().size() - 9), "11 62 11 ") << r.err;
        EXPECT_THAT(r.err,
                    testing::HasSubstr("[WU#" + bad + " w" + bad +
                                       "] the project's code has failed 21 times, and not on others: the result is "
                                       "a validate error. To see it fail, run the same command with --wu_id " +
                                       bad + " --dry_run"));
    }
}

TEST_F(ValidatorsPage, CodeOfSetsIsAskedAboutEach) {
    project_.write("bin/v",
                   "#!/usr/bin/env python3\nimport json, sys\nfor line in sys.stdin:\n    q = json.loads(line)\n"
                   "    rs, wu = q['results'], q['workunit']\n    text = lambda r: open(r['files'][0]['path']).read()\n"
                   "    if len(rs) >= wu['quorum'] and any(text(r) == '0' for r in rs):\n        sys.exit(1)\n"
                   "    print(json.dumps({'workunit': wu['id'], 'results': [{'id': r['id'], 'verdict': 'good', 'key': "
                   "text(r)} for r in rs]}), flush=True)\n");
    shell("chmod +x bin/v");
    make_sum(2);
    for (const int host : {1, 2, 3}) returned(9 + host, 1, host, host == 2 ? "0" : "1");
    project_.write("validator_sum.state", "90\n1 10 20 5 6 10 80\n");
    const std::string command = "script_validator --app sum --one_pass --no_sandbox --json_script v";
    const RunResult r = shell(command);
    EXPECT_EQ(states(), "10 62 10 ") << "who returned the others loses nothing" << r.err;
    EXPECT_THAT(r.err, testing::HasSubstr("the result is a validate error"));
    const RunResult again = shell(command);
    EXPECT_EQ(states(), "11 62 11 ") << again.err;
    EXPECT_EQ(count("target_nresults=2"), 1) << "no job is added";
}

TEST_F(ValidatorsPage, RetrySetsOneWorkunitAside) {
    project_.write("bin/v",
                   "#!/usr/bin/env python3\nimport sluice\ndef check(r):\n    if r.read() == 'later':\n"
                   "        raise sluice.Retry('no table yet')\n    return 1\nsluice.validator(check)\n");
    shell("chmod +x bin/v");
    for (const int wu : {1, 2}) {
        make_sum(1);
        returned(9 + wu, wu, wu, wu == 1 ? "later" : "1");
    }
    project_.write("validator_sum.state", "90\n1 9 20 5 6 10 80\n");
    const RunResult r = shell("script_validator --app sum --one_pass --json_script v");
    EXPECT_EQ(states(), "10 11 ") << r.err;
    EXPECT_THAT(r.err, testing::HasSubstr("not judged: no table yet; looked at again in 10 s"));
}

TEST_F(ValidatorsPage, StopWaitsForNoHangingScript) {
    project_.write("bin/hangs", "#!/bin/sh\necho x >> " + (project_ / "calls").string() + "\nexec sleep 1000\n");
    shell("chmod +x bin/hangs");
    make_sum(2);
    returned(10, 1, 1, "1");
    returned(11, 1, 2, "1");
    for (const std::string daemon : {"script_validator --init_script", "script_assimilator --script"}) {
        fs::remove(project_ / "calls");
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess running({"/bin/sh", "-c", "exec " SLUICE_BIN "/" + daemon + " hangs --app sum"}, options);
        ASSERT_TRUE(eventually([&] { return read_file(project_ / "calls") == "x\n"; })) << running.err();
        running.send_signal(SIGTERM);
        const auto ended = running.wait();
        ASSERT_TRUE(ended) << daemon;
        EXPECT_EQ(ended->status, 0) << ended->err;
        EXPECT_EQ(read_file(project_ / "calls"), "x\n") << "no other script is started";
        EXPECT_FALSE(fs::exists(project_ / "validator_sum.state")) << "nobody's fault";
        EXPECT_THAT(ended->err, testing::Not(testing::HasSubstr("called again")));
        db_.execute(Sql("UPDATE workunit SET assimilate_state=1, canonical_resultid=10"));  // for the second daemon
    }
}

TEST_F(ValidatorsPage, KilledDaemonLeavesNoScript) {
    project_.write("bin/hangs", "#!/bin/sh\necho $$ > " + (project_ / "pid").string() + "\nexec sleep 1000\n");
    shell("chmod +x bin/hangs");
    make_sum(1);
    returned(10, 1, 1, "1");
    for (const std::string daemon : {"script_validator --init_script", "script_assimilator --script"}) {
        fs::remove(project_ / "pid");
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess running({"/bin/sh", "-c", "exec " SLUICE_BIN "/" + daemon + " hangs --app sum"}, options);
        std::string pid;
        ASSERT_TRUE(eventually([&] {
            pid = read_file(project_ / "pid").value_or("");
            return pid.ends_with('\n');
        })) << running.err();
        pid.pop_back();
        running.send_signal(SIGKILL);
        // Of a process that has ended, and that nobody has looked for, it is empty.
        EXPECT_TRUE(eventually([&] {
            std::ifstream words("/proc/" + pid + "/cmdline");
            return words.peek() == EOF;
        })) << daemon;
        db_.execute(Sql("UPDATE workunit SET assimilate_state=1, canonical_resultid=10"));  // for the second daemon
    }
}

TEST_F(ValidatorsPage, CreditIsWhatTheScriptSays) {
    project_.write("bin/v",
                   "#!/usr/bin/env python3\nimport sluice\ndef check(r):\n    r.credit = float(r.read())\n"
                   "sluice.validator(check)\n");
    shell("chmod +x bin/v");
    make_sum(1);
    returned(10, 1, 1, "12.5");
    const RunResult r = shell("script_validator --app sum --one_pass --json_script v --post_assigned_credit");
    EXPECT_EQ(rows_of(db_, Sql("SELECT granted_credit FROM result"), 1), (Table{{"12.5"}})) << r.err;
}

TEST_F(ValidatorsPage, FilesThatDoNotCountAreNotCompared) {
    project_.write("bin/v", "#!/usr/bin/env python3\nimport sluice\nsluice.validator()\n");
    shell("chmod +x bin/v");
    for (const int wu : {1, 2}) {
        make_sum(2);
        returned(8 + 2 * wu, wu, 1, "x");
        returned(9 + 2 * wu, wu, 2, "y");
    }
    db_.execute(
        Sql("UPDATE result SET xml_doc_in=REPLACE(xml_doc_in, '</open_name>', '</open_name><no_validate/>') WHERE "
            "workunitid=1"));
    const RunResult r = shell("script_validator --app sum --one_pass --json_script v");
    EXPECT_EQ(states(), "11 11 14 14 ") << r.err;
}

TEST_F(ValidatorsPage, CreditOfNoJudgeIsRefused) {
    for (const char* validator : {"sample_bitwise_validator --app sum", "script_validator --app sum --init_script v"}) {
        const RunResult r = shell(std::string(validator) + " --one_pass --post_assigned_credit");
        EXPECT_EQ(r.status, 1);
        EXPECT_NE(r.err.find("would grant nothing"), std::string::npos) << r.err;
    }
}

TEST_F(ValidatorsPage, OptionsThatAreNotThereComeWithAdvice) {
    for (const char* option : {"--check_punitive", "--update_credited_job"}) {
        const RunResult r = shell(std::string("script_validator --app sum --init_script v ") + option);
        EXPECT_EQ(r.status, 1);
        EXPECT_NE(r.err.find("is not in Sluice: leave it out"), std::string::npos) << r.err;
    }
}

}  // namespace
}  // namespace sluice::test
