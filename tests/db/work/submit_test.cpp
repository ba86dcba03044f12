// SPDX-License-Identifier: LGPL-3.0-or-later
// submit_job and create_batch: what scripts of BOINC's cookbook call.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>
#include <utility>

#include "tests/db/work/work_chain.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class Submit : public WorkChain {
  protected:
    Submit() {
        FakeDb rows;
        User& user = rows.users[3];
        user.id = 3, user.name = "Ada", user.authenticator = "key3", user.email_addr = "ada@example.org";
        store_rows(db_, rows);
        project_.write("one", "first\n");
        project_.write("b_in",
                       "<file_info/><file_info/><workunit><file_ref><open_name>x</open_name></file_ref><file_ref>"
                       "<open_name>y</open_name></file_ref></workunit>");
    }
    std::string printed_name(const RunResult& r) {
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_THAT(r.out, testing::MatchesRegex("Job name: a_[0-9_]+\n"));
        return r.out.substr(10, r.out.size() - 11);
    }
    Table batches() {
        return rows_of(db_, Sql("SELECT user_id, app_id, name, state, njobs FROM batch ORDER BY id"), 5);
    }
};

TEST_F(Submit, JobIsMadeOfFiles) {
    const std::string name = printed_name(run_program({"submit_job", "--command_line", "-x 'y z'", "a", "one"}));
    EXPECT_TRUE(fs::exists(project_ / "one")) << "it is a copy";
    EXPECT_EQ(read_file(fanout_path(project_ / "download", "one", 1024)), "first\n");
    EXPECT_EQ(rows_of(db_, Sql("SELECT name, appid, transitioner_flags FROM workunit"), 3), (Table{{name, "1", "0"}}));
    EXPECT_THAT(rows_of(db_, Sql("SELECT xml_doc FROM workunit"), 1)[0][0], HasSubstr("-x 'y z'"));
    EXPECT_NE(printed_name(run_program({"submit_job", "a", "one"})), name) << "within the same second, too";
    EXPECT_EQ(count("1"), 2);
}

TEST_F(Submit, TemplatesAndTargetMayBeGiven) {
    project_.write("two", "second\n");
    printed_name(
        run_program({"submit_job", "--templates", "b_in", "templates/a_out", "--target_user", "3", "a", "one", "two"}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT target_id, target_type FROM assignment"), 2), (Table{{"3", "2"}}));
    EXPECT_THAT(rows_of(db_, Sql("SELECT xml_doc FROM workunit"), 1)[0][0], HasSubstr("<file_name>two</file_name>"));
}

TEST_F(Submit, WrongWordsPublishNothing) {
    project_.write("keys/private", "secret");
    for (const auto& words : std::vector<std::vector<std::string>>{{"submit_job"},
                                                                   {"submit_job", "none", "one"},
                                                                   {"submit_job", "a", "one", "gone"},
                                                                   {"submit_job", "a", "one", "config.xml"},
                                                                   {"submit_job", "a", "one", "keys/private"},
                                                                   {"submit_job", "--templates", "b_in"}}) {
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 1) << words.back();
        EXPECT_EQ(r.out, "");
        EXPECT_FALSE(fs::exists(fanout_path(project_ / "download", "one", 1024))) << words.back();
    }
    EXPECT_EQ(run_program({"submit_job", "a"}).status, 1) << "its template has a file";
    EXPECT_EQ(count("1"), 0);
}

TEST_F(Submit, BatchIsMadeFilledAndStarted) {
    const RunResult made =
        run_program({"create_batch", "--app_name", "a", "--user_id", "3", "--njobs", "2", "--name", "a__1800000000"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(batches(), (Table{{"3", "1", "a__1800000000", "0", "2"}})) << "as announced";
    const std::string id = made.out.substr(0, made.out.size() - 1);
    EXPECT_EQ(id, rows_of(db_, Sql("SELECT id FROM batch"), 1)[0][0]) << "a script reads the number";
    EXPECT_THAT(run_program({"sluice_batch", "show", id, "--json"}).out, HasSubstr("\"jobs\": 0"))
        << "none is there yet";
    stage("f1"), stage("f2"), stage("f3");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--batch", id, "--stdin"}, "f1\nf2\nf3\n").status, 0);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run_program({"create_batch", "--enable", id}).status, 0);
    EXPECT_EQ(batches(), (Table{{"3", "1", "a__1800000000", "1", "3"}})) << "as counted";
    db_.execute(Sql("UPDATE batch SET state=3"));
    EXPECT_THAT(run_program({"create_batch", "--enable", id}).err, HasSubstr("is over"));
}

// The calls of upstream's submit_batch (Python), in its order and from the project's folder: it needs no other program.
TEST_F(Submit, CallsOfSubmitBatchWorkUnchanged) {
    for (const char* name : {"create_batch", "stage_file", "create_work"})
        fs::create_symlink(fs::path(SLUICE_BIN) / name, project_ / "bin" / name);
    project_.write("in/f1", "one");
    project_.write("in/f2", "two");
    RunOptions options;
    options.cwd = project_.path();
    const RunResult r = run({"sh", "-ec",
                             "id=$(bin/create_batch --app_name a --user_id 3 --njobs 2 --name a__1800000000)\n"
                             "bin/stage_file --copy in\n"
                             "printf 'f2\\nf1' | bin/create_work --appname a --batch $id --stdin\n"
                             "bin/create_batch --enable $id"},
                            options);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_TRUE(fs::exists(project_ / "in/f1"));
    EXPECT_EQ(batches(), (Table{{"3", "1", "a__1800000000", "1", "2"}}));
    EXPECT_EQ(count("batch=1"), 2);
}

/// The block of commands below a heading of a page, for app a; of a dialogue what is typed.
std::string commands_below(const std::string& page, const std::string& heading) {
    const std::string text = read_file(fs::path(source_dir()) / "docs" / page).value_or("");
    const std::size_t section = text.find(heading + "\n"), fence = text.find("\n```", section);
    if (section == std::string::npos || fence == std::string::npos) return "false";
    const std::size_t begin = text.find('\n', fence + 1) + 1;
    std::string all = text.substr(begin, text.find("\n```", begin) + 1 - begin);
    for (const std::string app : {"tiles", "docking"})
        all = std::regex_replace(all, std::regex("\\b" + app + "\\b"), "a");
    if (!all.starts_with("$ ")) return all;
    std::istringstream lines(std::exchange(all, ""));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("$ ")) all += line.substr(2) + "\n";
    return all;
}

TEST_F(Submit, CommandsOfPagesRunAsTheyStand) {
    for (const char* name : {"create_batch", "stage_file", "create_work", "cancel_jobs", "sluice_batch"})
        fs::create_symlink(fs::path(SLUICE_BIN) / name, project_ / "bin" / name);
    project_.write("in/f1", "one");
    project_.write("in/f2", "two");
    RunOptions options;
    options.cwd = project_.path();
    const auto page = [&](const std::string& commands) { return run({"sh", "-ec", commands}, options); };
    // create_batch's number is the first, and the one that sluice_batch makes in batches.md is 12.
    const RunResult cookbook = page(commands_below("job_flow.md", "## Scripts of BOINC's cookbook"));
    ASSERT_EQ(cookbook.status, 0) << cookbook.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT state, njobs FROM batch"), 2), (Table{{"1", "2"}}));

    db_.execute(Sql("ALTER TABLE batch AUTO_INCREMENT=12"));
    db_.execute(Sql("ALTER TABLE workunit AUTO_INCREMENT=1200"));
    project_.write("jobs.txt", "f1\nf2\n");
    const RunResult batch = page(commands_below("batches.md", "## From its making to its end"));
    ASSERT_EQ(batch.status, 0) << batch.err;
    EXPECT_THAT(batch.out, HasSubstr("batch 12: 2 jobs submitted; it is in progress\n"));
    const RunResult shares = page(commands_below("batches.md", "## Whose batch goes first"));
    ASSERT_EQ(shares.status, 0) << shares.err;
    EXPECT_THAT(shares.out, HasSubstr("ada@example.org      2"));

    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "tile_2026_1", "f1"}).status, 0);
    const RunResult cancelled = page(commands_below("job_flow.md", "## Batches that do not end, and cancelled jobs"));
    ASSERT_EQ(cancelled.status, 0) << cancelled.err;
    EXPECT_EQ(count("id BETWEEN 1200 AND 1300 AND error_mask=16"), 3) << cancelled.out;
}

TEST_F(Submit, WrongWordsMakeNoBatch) {
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"create_batch"},
                                               {"create_batch", "--app_name", "a"},
                                               {"create_batch", "--app_name", "none", "--user_id", "3"},
                                               {"create_batch", "--app_name", "a", "--user_id", "99"},
                                               {"create_batch", "--app_name", "a", "--user_id", "x"},
                                               {"create_batch", "--app_name", "a", "--user_id", "3", "--enable", "1"},
                                               {"create_batch", "--enable", "99"}}) {
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 1) << words.back();
        EXPECT_EQ(r.out, "");
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
    EXPECT_TRUE(batches().empty());
}

}  // namespace
}  // namespace sluice::test
