// SPDX-License-Identifier: LGPL-3.0-or-later
// make_work and sample_work_generator on a real MariaDB: what they make, when, and what copies are.
#include <gmock/gmock.h>

#include "daemons/work/clone.h"
#include "daemons/work/job_supply.h"
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class JobSupplies : public WorkChain {
  protected:
    JobSupplies() {
        project_.write("templates/a_in",
                       "<file_info/><workunit><file_ref><open_name>in</open_name></file_ref></workunit>");
        stage("in");
    }
    /// A job of app a; the transitioner has not seen it.
    void create(const std::string& name, std::vector<std::string> more = {}) {
        std::vector<std::string> words{"create_work", "--appname", "a", "--wu_name", name};
        words.insert(words.end(), more.begin(), more.end());
        words.push_back("in");
        const RunResult r = run_program(words);
        ASSERT_EQ(r.status, 0) << r.err;
    }
    std::vector<std::string> names() {
        std::vector<std::string> all;
        for (const auto& row : rows_of(db_, Sql("SELECT name FROM workunit ORDER BY id"), 1)) all.push_back(row[0]);
        return all;
    }
    /// As the transitioner: an unsent result for each workunit without one.
    void make_results() {
        const auto ids = rows_of(
            db_, Sql("SELECT id FROM workunit w WHERE NOT EXISTS (SELECT 1 FROM result WHERE workunitid=w.id)"), 1);
        for (const auto& row : ids) insert_result(std::stoll(row[0]) + 1000, std::stoll(row[0]), 0, 2, 0, "");
    }
    RunResult once(std::vector<std::string> words) {
        words.push_back("--one_pass");
        return run_program(words);
    }
};

TEST_F(JobSupplies, WorkunitsAreCopiedInTurn) {
    create("p1", {"--target_nresults", "3", "--max_success_results", "5", "--max_total_results", "9", "--priority", "4",
                  "--command_line", "--name 'x y'"});
    create("p2");
    db_.execute(
        Sql("UPDATE workunit SET hr_class=3, app_version_id=9, canonical_credit=7, opaque=5.5, error_mask=16, "
            "assimilate_state=2, file_delete_state=2, need_validate=1, canonical_resultid=8, batch=6"));
    const RunResult r = once({"make_work", "--wu_name", "p1", "-wu_name", "p2", "--cushion", "7"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(names(), ElementsAre("p1", "p2", MatchesRegex("wu_[0-9]+_0"), MatchesRegex("wu_[0-9]+_1"),
                                     MatchesRegex("wu_[0-9]+_2")))
        << "3 + 1 + 3 results";
    const auto columns = [&](SqlLiteral where) {
        Sql sql(
            "SELECT appid, batch, target_nresults, max_total_results, priority, opaque, rsc_fpops_est, "
            "result_template_file, hr_class+app_version_id+canonical_credit+error_mask+assimilate_state+"
            "file_delete_state+need_validate+canonical_resultid, transition_time=create_time FROM workunit WHERE ");
        return rows_of(db_, sql << where, 10);
    };
    EXPECT_EQ(columns("name LIKE 'wu%_0'"),
              (Table{{"1", "6", "3", "9", "4", "5.5", "3600000000000", "templates/a_out", "0", "1"}}));
    EXPECT_EQ(columns("name LIKE 'wu%_1'")[0][2], "1");
    const std::string xml = rows_of(db_, Sql("SELECT xml_doc FROM workunit WHERE name LIKE 'wu%_2'"), 1)[0][0];
    const std::string mark = names()[4].substr(3);
    EXPECT_THAT(xml, HasSubstr("<name>in__" + mark + "</name>"));
    EXPECT_THAT(xml, HasSubstr("<file_name>in__" + mark + "</file_name>"));
    EXPECT_THAT(xml, HasSubstr("/in</url>")) << "from where it is";
    EXPECT_THAT(xml, HasSubstr("--name 'x y'"));
}

TEST_F(JobSupplies, NothingIsCopiedAboveTheCushion) {
    create("p1", {"--target_nresults", "1"});
    make_results();
    ASSERT_EQ(once({"make_work", "--wu_name", "p1", "--cushion", "0"}).status, 0);
    EXPECT_EQ(names().size(), 1U);
    const RunResult dry = run_program({"make_work", "--wu_name", "p1", "--cushion", "5", "--dry_run"});
    EXPECT_THAT(dry.out, HasSubstr("1 results are unsent; jobs for 4 more would be made"));
    EXPECT_EQ(names().size(), 1U);
    ASSERT_EQ(once({"make_work", "--wu_name", "p1", "--cushion", "1"}).status, 0);
    EXPECT_EQ(names().size(), 2U) << "at least one";
}

TEST_F(JobSupplies, MostWorkunitsAreNeverExceeded) {
    create("p1");
    ASSERT_EQ(once({"make_work", "--wu_name", "p1", "--cushion", "100", "--max_wus", "4"}).status, 0);
    EXPECT_EQ(names().size(), 4U);
    const RunResult r = run_program({"make_work", "--wu_name", "p1", "--max_wus", "4"});
    EXPECT_EQ(r.status, 0) << "it ends by itself";
    EXPECT_THAT(r.err, HasSubstr("as many as --max_wus allows"));
}

TEST_F(JobSupplies, CreditIsKeptIfWanted) {
    create("p1");
    db_.execute(Sql("UPDATE workunit SET canonical_credit=7.5"));
    ASSERT_EQ(once({"make_work", "--wu_name", "p1", "--cushion", "1", "--credit_from_wu"}).status, 0);
    EXPECT_EQ(count("canonical_credit=7.5"), 2);
}

TEST_F(JobSupplies, WrongWordsMakeNothing) {
    create("p1");
    create("for_one", {"--target_host", "7"});
    for (const auto& words : std::vector<std::vector<std::string>>{{"make_work"},
                                                                   {"make_work", "--wu_name", "none"},
                                                                   {"make_work", "--wu_name", "for_one"},
                                                                   {"make_work", "--wu_name", "p1", "--cushion", "-1"},
                                                                   {"make_work", "--wu_name", "p1", "--max_wus", "-1"},
                                                                   {"sample_work_generator"},
                                                                   {"sample_work_generator", "--app", "../a"}})
        EXPECT_EQ(once(words).status, 1) << words.back();
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(JobSupplies, TheNextJobsWaitForTheTransitioner) {
    create("p1");
    const auto store = make_supply_store(db_);
    std::vector<std::int64_t> made;
    JobSupply supply({.appid = 1, .low = 3, .fill = 3}, *store, [&](std::int64_t results, std::int64_t) {
        made.push_back(results);
        create("made" + std::to_string(made.size()));
        return number_of(db_, Sql("SELECT MAX(id) FROM workunit"));
    });
    EXPECT_EQ(supply.turn().result, TurnResult::kIdle);
    supply.turn();
    EXPECT_THAT(made, ElementsAre(3)) << "the job has no results yet";
    make_results();
    supply.turn();
    EXPECT_THAT(made, ElementsAre(3, 1));
    db_.execute(Sql("UPDATE workunit SET error_mask=16"));
    supply.turn();
    EXPECT_THAT(made, ElementsAre(3, 1, 1)) << "of a cancelled job there is nothing to wait for";
}

TEST_F(JobSupplies, SampleJobsKeepTenInStock) {
    const std::vector<std::string> words{"sample_work_generator", "--app", "a", "--in_template_file", "a_in",
                                         "--out_template_file",   "a_out"};
    const RunResult r = once(words);
    ASSERT_EQ(r.status, 0) << r.err;
    ASSERT_EQ(names().size(), 10U);
    const std::string first = names()[0];
    EXPECT_THAT(first, MatchesRegex("a_[0-9]+_0"));
    EXPECT_EQ(read_file(fanout_path(project_ / "download", first, 1024)), "This is the input file for job " + first);
    EXPECT_EQ(
        rows_of(db_,
                Sql("SELECT rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, delay_bound, "
                    "min_quorum, target_nresults, max_error_results, max_total_results, max_success_results "
                    "FROM workunit LIMIT 1"),
                10),
        (Table{{"1000000000000", "100000000000000", "100000000", "100000000", "86400", "1", "1", "4", "8", "4"}}));
    make_results();
    ASSERT_EQ(once(words).status, 0);
    EXPECT_EQ(names().size(), 10U) << "ten are unsent";
    db_.execute(Sql("UPDATE result SET server_state=4 ORDER BY id LIMIT 3"));
    ASSERT_EQ(once(words).status, 0);
    EXPECT_EQ(names().size(), 13U);
}

TEST(Clone, FilesToKeepKeepTheirNames) {
    Workunit pattern;
    const auto file = [](const std::string& name, const std::string& more) {
        return "<file_info>\n    <name>" + name + "</name>\n" + more + "</file_info>\n";
    };
    const auto doc = [&](const std::string& a, const std::string& b, const std::string& c) {
        std::string text = file(a, "<no_delete/>\n") + file(b, "") + file(c, "<no_delete/>\n") + "<workunit>\n";
        for (const auto& name : {a, b, c}) text += "<file_ref>\n<file_name>" + name + "</file_name>\n</file_ref>\n";
        return text + "<command_line>\n<name>other</name> x\n</command_line>\n</workunit>";
    };
    pattern.xml_doc = doc("f1", "f2", "f3");
    EXPECT_EQ(clone_of(pattern, {"n", "__5_0", false, 9}).xml_doc, doc("f1__5_0", "f2__5_0", "f3"));
    pattern.xml_doc = "<file_info><name>cut";
    EXPECT_EQ(clone_of(pattern, {"n", "__5_0", false, 9}).xml_doc, pattern.xml_doc);
}

}  // namespace
}  // namespace sluice::test
