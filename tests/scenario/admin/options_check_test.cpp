// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_options --check: what any program refuses, the check refuses, and a healthy project passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/base/users.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A project with which every program can work.
class OptionsCheck : public testing::Test {
  protected:
    OptionsCheck() {
        const KeyPairText pair = generate_key_pair();
        for (const char* kind : {"upload", "code_sign"}) {
            dir_.write(std::string("keys/") + kind + "_public", pair.public_key);
            fs::permissions(dir_.write(std::string("keys/") + kind + "_private", pair.private_key), fs::perms(0600));
        }
        fs::create_directories(dir_ / "upload");
        fs::create_directories(dir_ / "download");
        fs::permissions(dir_.write("bin/feeder", "#!/bin/sh\n"), fs::perms::owner_all);
        config("");
    }
    void config(const std::string& options, const std::string& more = "") {
        const fs::path file = dir_.write(
            "config.xml",
            "<boinc>\n<config>\n<db_name>d</db_name>\n<db_host>127.0.0.1:1</db_host>\n"
            "<download_url>http://127.0.0.1/download</download_url>\n<httpd_user>" +
                user_name(::geteuid()) + "</httpd_user>\n" + options +
                "\n</config>\n<daemons><daemon><cmd>feeder -d 3</cmd></daemon></daemons>\n" + more + "</boinc>\n");
        fs::permissions(file, fs::perms(0640));
    }
    RunResult check(const fs::path& what, bool database = false) {
        RunOptions options;
        options.cwd = dir_.path();
        options.unset = {"BOINC_PROJECT_DIR"};
        std::vector<std::string> words{binary_dir() + "/bin/sluice_options", "--check", what.string()};
        if (!database) words.emplace_back("--no_database");
        return run(words, options);
    }
    void expect_error(const std::string& text, bool database = false) {
        const RunResult result = check(dir_.path(), database);
        EXPECT_EQ(result.status, 1) << result.out;
        EXPECT_THAT(result.out, AllOf(HasSubstr("error: "), HasSubstr(text), Not(HasSubstr("can be used"))));
    }
    TempDir dir_;
};

TEST_F(OptionsCheck, AHealthyProjectPasses) {
    for (const fs::path& what : {dir_.path(), dir_ / "config.xml", fs::path("."), fs::path("config.xml")}) {
        const RunResult result = check(what);
        EXPECT_EQ(result.status, 0) << result.out;
        EXPECT_THAT(result.out, HasSubstr("config.xml can be used (0 warnings)"));
        EXPECT_THAT(result.out, HasSubstr("note: the database was not looked at: --no_database"));
        EXPECT_THAT(result.out, HasSubstr("note: rotate_logs is not among the <tasks>: "));
    }
    config("<no_such_option>1</no_such_option>");
    EXPECT_THAT(check(dir_.path()).out, AllOf(HasSubstr("warning: "), HasSubstr("can be used (1 warnings)")));
    EXPECT_EQ(check(dir_.path()).status, 0);
}

TEST_F(OptionsCheck, WrongValuesAreErrors) {
    const std::map<std::string, std::string> wrong{
        {"<score_weights><hardnes>1</hardnes></score_weights>", "<hardnes>1</hardnes>"},
        {"<score_weights><hardness>x</hardness></score_weights>", "<hardness>x</hardness>"},
        {"<report_max>many</report_max>", "<report_max>many</report_max>"},
        {"<uldl_dir_fanout>many</uldl_dir_fanout>", "<uldl_dir_fanout>many</uldl_dir_fanout>"},
        {"<report_max>1", "</report_max>"},
        {"<db_name></db_name>", "<db_name> is missing"},
        {"<download_url></download_url>", "<download_url> is missing"},
        {"<project_user_name>no_such_user</project_user_name>", "start runs as user 'no_such_user' only"},
        {"<max_process_memory>1</max_process_memory>", "must be 0 or at least 16777216"},
        {"<ban_cpu>(((</ban_cpu>", "<ban_cpu>(((</ban_cpu> is not a regular expression"},
        {"<trusted_proxy>nowhere</trusted_proxy>", "<trusted_proxy>nowhere</trusted_proxy> is not an address"},
        {"<hr_allocate_slots/>", "hr_info.txt"},
        {"<download_dir>/nowhere/d</download_dir>", "/nowhere/d"},
        {"<upload_dir>/nowhere/u</upload_dir>", "/nowhere/u"}};
    for (const auto& [options, told] : wrong) {
        SCOPED_TRACE(options);
        config(options);
        expect_error(told);
    }
}

TEST_F(OptionsCheck, ServerThatCanNotBeReachedIsError) {
    config("<db_host>127.0.0.1:99999</db_host>");
    expect_error("the port in <db_host>127.0.0.1:99999</db_host>", true);
    config("<db_host>127.0.0.1:1</db_host>");
    expect_error("can't reach the database server at 127.0.0.1:1", true);
}

TEST_F(OptionsCheck, UnstartableDaemonsAndTasksAreErrors) {
    const std::map<std::string, std::string> wrong{
        {"<tasks><task><cmd>feeder</cmd></task></tasks>", "period"},
        {"<daemons><daemon><output>x</output></daemon></daemons>", "<cmd>"},
        {"<daemons><daemon><cmd>no_such_daemon</cmd></daemon></daemons>", "no_such_daemon"},
        {"<daemons><daemon><cmd>feeder --again</cmd></daemon></daemons>", "lock file"},
        {"<daemons><daemon><cmd>feeder 'x</cmd><output>o</output></daemon></daemons>", "quote"},
        {"<daemons><daemon><cmd>feeder | cat</cmd><output>o</output></daemon></daemons>", "use_shell"},
        {"<size_regulator><app><name>a</name></app></size_regulator>", "size_regulator"},
        {"<daemons><daemon><cmd>x</daemon></daemons>", "</daemon>"}};
    for (const auto& [more, told] : wrong) {
        SCOPED_TRACE(more);
        config("", more);
        expect_error(told);
    }
    config("", "<daemons><daemon><cmd>no_such_daemon</cmd><disabled>1</disabled></daemon></daemons>");
    EXPECT_EQ(check(dir_.path()).status, 0);
    dir_.write("run_state_" + short_host_name() + ".xml", "<boinc><enabled>perhaps</enabled></boinc>");
    expect_error("perhaps");
}

TEST_F(OptionsCheck, RefusedArgumentsNameTheirDaemon) {
    for (const char* program : {"transitioner", "size_regulator", "create_work"})
        fs::create_symlink(fs::path(binary_dir()) / "bin" / program, dir_ / "bin" / program);
    const auto daemon = [](const std::string& cmd) {
        return "<daemons><daemon><cmd>" + cmd + "</cmd><output>o</output></daemon></daemons>";
    };
    const std::map<std::string, std::string> wrong{
        {"transitioner --no_such_option", "no_such_option"},
        {"transitioner -d 3 --mod 3 5", "0 <= I < N"},
        {"transitioner --sleep_interval 'five s'", "'five s' is not a number"},
        {"transitioner --sleep_interval -2", "--sleep_interval can't be negative"},  // checked after the parsing
        {"create_work --no_such_option 3", "no_such_option"}};
    for (const auto& [cmd, told] : wrong) {
        SCOPED_TRACE(cmd);
        config("", daemon(cmd));
        expect_error("error: '" + cmd + "' ends at once: ");
        expect_error(told);
    }
    for (const char* cmd : {"transitioner -d 3 --mod 3 1 --sleep_interval 7", "size_regulator -debug_level 9"}) {
        config("", daemon(cmd));
        EXPECT_EQ(check(dir_.path()).status, 0) << check(dir_.path()).out;
    }
}

TEST_F(OptionsCheck, ShellCommandsAreJudgedAsFarAsKnown) {
    fs::create_symlink(fs::path(binary_dir()) / "bin" / "transitioner", dir_ / "bin" / "transitioner");
    const auto daemon = [this](const std::string& cmd) {
        config("",
               "<daemons><daemon><cmd>" + cmd + "</cmd><use_shell>1</use_shell><output>o</output></daemon></daemons>");
    };
    const std::map<std::string, std::string> wrong{
        {"transitioner --no_such_option &gt; x", "no_such_option"},
        {"exec transitioner -d 3 --mod 3 5 2&gt;&amp;1", "0 <= I < N"},
        {"transitioner --sleep_interval 'five s' | cat", "'five s' is not a number"},
        {"transitioner -d 3&gt;x", "--debug_level: 1 required"},  // of the shell's: its file 3
        {"no_such_program | cat", "there is no program 'no_such_program'"},
        {"sleep 1;", "the shell refuses it"},
        {"if true; then transitioner", "the shell refuses it"}};
    for (const auto& [cmd, told] : wrong) {
        SCOPED_TRACE(cmd);
        daemon(cmd);
        expect_error(told);
    }
    for (const char* cmd :
         {"transitioner -d 3 --mod 3 1 2&gt;&amp;1 | cat", "transitioner -d 3 &gt;x", "../bin/transitioner -d 3 | cat",
          "transitioner --mod 3 &gt; x 1", "transitioner 2&gt;&amp;1 -d 3 | cat",
          "transitioner -d 3 2&gt;x &gt;y | cat", "cd / &amp;&amp; ls", "X=1 no_such_program",
          "$HOME/no_such_program a", "echo 'a; b' &gt; x", "ls *.xml", "transitioner # in the evening"}) {
        daemon(cmd);
        EXPECT_EQ(check(dir_.path()).status, 0) << cmd << check(dir_.path()).out;
    }
    daemon("cd / &amp;&amp; no_such_program");
    EXPECT_THAT(check(dir_.path()).out, testing::HasSubstr("only the shell knows which they are"));
}

// Where the last option lacks its value, or behind "--", the question was taken for a value, and the program worked.
TEST_F(OptionsCheck, NoProgramTakesTheQuestionForAValue) {
    for (const char* program : {"create_work", "crypt_prog"})
        fs::create_symlink(fs::path(binary_dir()) / "bin" / program, dir_ / "bin" / program);
    const auto task = [](const std::string& cmd) {
        return "<tasks><task><cmd>" + cmd + "</cmd><period>1 day</period></task></tasks>";
    };
    config("", task("create_work --appname a --wu_name"));
    expect_error("'create_work --appname a --wu_name' ends at once: create_work: --wu_name: 1 required");
    for (const char* cmd : {"create_work --appname a --", "crypt_prog -genkey 1024 made"}) {
        config("", task(cmd));
        EXPECT_EQ(check(dir_.path()).status, 0) << check(dir_.path()).out;
    }
    EXPECT_FALSE(fs::exists(dir_ / "made"));
}

TEST_F(OptionsCheck, ACallerIgnoringSigchldHearsOfErrors) {
    fs::create_symlink(fs::path(binary_dir()) / "bin/transitioner", dir_ / "bin/transitioner");
    config("", "<daemons><daemon><cmd>transitioner --no_such_option</cmd><output>o</output></daemon></daemons>");
    const RunResult result = run({"/usr/bin/env", "--ignore-signal=CHLD", binary_dir() + "/bin/sluice_options",
                                  "--check", dir_.path().string(), "--no_database"});
    EXPECT_EQ(result.status, 1) << result.out;
    EXPECT_THAT(result.out, HasSubstr("no_such_option"));
}

TEST_F(OptionsCheck, ProgramsOfOthersAreNotRun) {
    const fs::path ran = dir_ / "ran";
    fs::permissions(dir_.write("bin/theirs", "#!/bin/sh\ntouch " + ran.string() + "\n"), fs::perms::owner_all);
    fs::create_symlink("/usr/bin/touch", dir_ / "bin/also_theirs");
    config("", "<daemons><daemon><cmd>theirs --no_such_option</cmd></daemon><daemon><cmd>also_theirs " + ran.string() +
                   "</cmd></daemon></daemons>");
    EXPECT_EQ(check(dir_.path()).status, 0) << check(dir_.path()).out;
    EXPECT_FALSE(fs::exists(ran));
}

TEST_F(OptionsCheck, KeysThatAProgramNeedsAreLookedFor) {
    for (const char* key : {"code_sign_public", "upload_public", "upload_private"}) {
        SCOPED_TRACE(key);
        fs::rename(dir_ / "keys" / key, dir_ / "away");
        expect_error(key);
        fs::rename(dir_ / "away", dir_ / "keys" / key);
    }
    fs::remove(dir_ / "keys/upload_public");
    fs::remove(dir_ / "keys/upload_private");
    config("<ignore_upload_certificates/><dont_generate_upload_certificates/>");
    EXPECT_EQ(check(dir_.path()).status, 0);
}

// To try a file before it takes the place of config.xml.
TEST_F(OptionsCheck, OfAnotherFileOnlyWhatStandsInIt) {
    const fs::path file = dir_.write("elsewhere/new.xml", "<boinc><config><db_name>d</db_name></config></boinc>");
    EXPECT_EQ(check(file).status, 0) << check(file).out;
    dir_.write("elsewhere/new.xml", "<boinc><config><db_name>d</db_name><report_max>x</report_max></config></boinc>");
    const RunResult wrong = check(file);
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.out, AllOf(HasSubstr("elsewhere/new.xml has errors (1 errors"), HasSubstr("report_max")));
    const RunResult none = check("nosuch.xml");
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.out, HasSubstr("nosuch.xml does not exist"));
}

TEST_F(OptionsCheck, UnknownWebAccountIsErrorIfNamed) {
    const std::string config = *read_file(dir_ / "config.xml"), own = "<httpd_user>" + user_name(::geteuid()) + "<";
    const auto with = [&](const std::string& element) {
        std::string changed = config;
        changed.replace(changed.find(own), own.size() + std::string("/httpd_user>").size(), element);
        fs::permissions(dir_.write("config.xml", changed), fs::perms(0640));
    };
    with("<httpd_user>no_such_account</httpd_user>");
    expect_error("<httpd_user>no_such_account</httpd_user>: this machine has no such account");
    with("");
    EXPECT_THAT(check(dir_.path()).out, Not(HasSubstr("httpd_user")));
}

TEST_F(OptionsCheck, OutputTemplatesUpstreamCannotSendAreNamed) {
    dir_.write(
        "templates/good_out",
        "<output_template>\n<file_info>\n</file_info>\n<result>\n<file_ref></file_ref></result>\n</output_template>\n");
    dir_.write("templates/good_in", "<input_template><workunit></workunit></input_template>");
    dir_.write("templates/comment_out",
               "<!-- <result> or <result/>: the files\nof a job -->\n<result>\n<!-- <result /> -->\n</result>\n");
    EXPECT_THAT(check(dir_.path()).out, Not(HasSubstr("templates/")));
    dir_.write("templates/bad_out", "<file_info>\n</file_info>\n<result><file_ref></file_ref></result>\n");
    const RunResult result = check(dir_.path());
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("warning: templates/bad_out:3: something stands behind <result> on its line"));
    for (const std::string tag : {"<result/>", "<result />"}) {
        dir_.write("templates/bad_out", "<output_template>\n" + tag + "\n</output_template>\n");
        EXPECT_THAT(check(dir_.path()).out, HasSubstr("warning: templates/bad_out: no result can be made of " + tag +
                                                      "; write <result> and, on the next line, </result>"));
    }
}

}  // namespace
}  // namespace sluice::test
