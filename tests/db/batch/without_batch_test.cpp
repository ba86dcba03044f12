// SPDX-License-Identifier: LGPL-3.0-or-later
// <jobs_without_batch> with real programs on MariaDB: an owner is charged for jobs without a batch, and they wait for
// his turn; where they are refused, nobody makes or gets one. The project does 1e12 operations a second; Ada's quota is
// 1, Bob's 3.
#include <cmath>
#include <filesystem>

#include "sluice/db/catalogue_store.h"
#include "sluice/json/input.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class WithoutBatch : public BatchFixture {
  protected:
    WithoutBatch() {
        project.write("templates/app1_in", "<workunit></workunit>");
        project.write("templates/app1_out", "<file_info><name><OUTFILE_0/></name></file_info>\n<result>\n</result>");
        for (const Id id : {Id{1}, Id{2}}) {
            User& u = world.users[id];
            u.id = id;
            u.name = id == 1 ? "Ada" : "Bob";
            u.authenticator = "key" + std::to_string(id);
            u.email_addr = u.name + "@example.org";
        }
        AppVersion& v = world.versions[1];
        v.id = v.appid = 1;
        v.expavg_credit = 200e3;  // 200 a day are one GFLOPS
        v.expavg_time = static_cast<double>(now);
        host(5).p_fpops = 1e9;
        batch(1, 1, BatchState::kInit).user_id = 2;  // Bob's stream
        store();
        for (const SqlLiteral table : {SqlLiteral("sluice_share_stream"), SqlLiteral("sluice_share_measured"),
                                       SqlLiteral("sluice_share_day"), SqlLiteral("sluice_share_lst")}) {
            Sql drop("DROP TABLE IF EXISTS ");
            db.execute(drop << table);
        }
        db.execute(
            Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                "max_jobs_in_progress) VALUES (1,1,3e9,1,0,0), (2,3,3e9,1,0,0)"));
    }
    void jobs_without_batch(const std::string& whose, const std::string& rule = "settled") {
        config(
            "<upload_url>http://x/fuh</upload_url><dont_generate_upload_certificates>1</dont_generate_upload_certificates>"
            "<share_rule>" +
            rule + "</share_rule><jobs_without_batch>" + whose + "</jobs_without_batch>");
    }
    /// Jobs of 1,000 s of the whole project, unsent, into a batch or none.
    void make_jobs(int n, Id into) {
        std::vector<std::string> command{"create_work", "--appname",         "app1", "--rsc_fpops_est",
                                         "1e15",        "--rsc_fpops_bound", "1e18"};
        if (into != 0) command.insert(command.end(), {"--batch", std::to_string(into)});
        for (int i = 0; i < n; ++i) run_ok(command);
        db.execute(Sql("UPDATE workunit SET transition_time=1"));
        run_ok({"transitioner", "--one_pass"});
    }
    void pass() { run_ok({"batch_shares", "--one_pass"}); }
    double lst(Id user) {
        return std::stod(
            rows(Sql("SELECT logical_start_time-3e9 FROM user_submit WHERE user_id=") << user, 1).at(0).at(0));
    }
    std::unordered_map<Id, BatchShare> order() { return make_catalogue_store(db)->load_tables().batch_shares; }
    /// The batch's next job is sent, and its instance comes back after 1e6 s on the host of 1e9 operations a second.
    void compute_one(Id of) {
        const Id id = number(Sql("SELECT MIN(id) FROM result WHERE server_state=2 AND batch=") << of);
        Sql sql("UPDATE result SET server_state=5, outcome=1, hostid=5, elapsed_time=1e6, sent_time=");
        db.execute(sql << now - 60 << ", received_time=" << now << ", report_deadline=" << now + 86400
                       << " WHERE id=" << id);
        db.execute(Sql("UPDATE workunit SET canonical_resultid=")
                   << id << " WHERE id=(SELECT workunitid FROM result WHERE id=" << id << ")");
    }
    std::string fails(const std::vector<std::string>& words) {
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 1) << r.out;
        return r.err;
    }
};

/// Who is next is computed: of forty jobs Ada, with a quarter of the quotas, gets ten.
TEST_F(WithoutBatch, OwnersJobsGetHisShareAndNoMore) {
    for (const char* rule : {"settled", "seed"}) {
        SCOPED_TRACE(rule);
        jobs_without_batch("Ada@example.org", rule);
        make_jobs(40, 0), make_jobs(40, 1);
        std::map<Id, int> done;
        for (int i = 0; i < 40; ++i) {
            pass();
            const auto places = order();
            ASSERT_TRUE(places.contains(0) && places.contains(1));
            const Id next = places.at(0).end < places.at(1).end ? 0 : 1;
            EXPECT_EQ(places.at(next).user_id, next == 0 ? 1 : 2);
            compute_one(next);
            ++done[next];
        }
        EXPECT_NEAR(done[0], 10, 1);
        EXPECT_NEAR(done[1], 30, 1);
        db.execute(Sql("DELETE FROM result")), db.execute(Sql("DELETE FROM workunit"));
    }
    // What they used is Ada's, too; by the second rule it is not more than what was known of rows that are gone.
    EXPECT_NEAR(
        static_cast<double>(number(Sql("SELECT ROUND(SUM(operations)/1e15) FROM sluice_share_day WHERE user_id=1"))),
        10, 1);
}

/// Jobs without a batch are a stream that never ends: its results are all that the project ever made. Another stream
/// may live for long, too.
TEST_F(WithoutBatch, StreamIsReadFromItsFirstOpenResult) {
    jobs_without_batch("1");
    for (const SqlLiteral batch : {SqlLiteral("0"), SqlLiteral("1")}) {
        Sql jobs(
            "SET STATEMENT sql_mode='' FOR INSERT INTO workunit (create_time, appid, name, batch, rsc_fpops_est, canonical_resultid, "
            "transition_time, keywords) SELECT 1, 1, CONCAT('old ',");
        jobs << batch << ",' ',seq), " << batch << ", 1e15, 1, 2147483647, '' FROM seq_1_to_3000";
        db.execute(jobs);
    }
    db.execute(Sql(
        "SET STATEMENT sql_mode='' FOR INSERT INTO result (create_time, workunitid, name, batch, appid, server_state, outcome, hostid, sent_time, "
        "received_time, report_deadline, elapsed_time) SELECT 1, id, name, batch, 1, 5, 1, 5, 1000, 2000, 3000, 1e6 "
        "FROM workunit"));
    make_jobs(4, 0), make_jobs(4, 1);
    compute_one(0), compute_one(1);
    pass(), pass();  // of a new stream the first one settles all
    const auto stored = [&] {
        return rows(Sql("SELECT batch_id, ROUND(charged/1e15), waits FROM sluice_share_stream ORDER BY batch_id"), 3);
    };
    const auto before = stored();
    EXPECT_EQ(before.size(), 2u);
    const auto reads = [&] {
        return number(
            Sql("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name LIKE "
                "'Handler_read%' OR variable_name='Handler_icp_attempts'"));
    };
    const std::int64_t reads_before = reads();
    pass();
    EXPECT_LE(reads() - reads_before, 2000);
    EXPECT_EQ(stored(), before) << "and comes to the same";
    compute_one(0), compute_one(1);
    pass();
    EXPECT_NE(stored(), before);
    EXPECT_EQ(stored().at(0).at(1), "2");
    // Rows of a backup, whose ids are lower than what was noted.
    db.execute(Sql("UPDATE sluice_marks SET value=value+100000 WHERE name LIKE 'stream %'"));
    compute_one(0);
    pass();
    EXPECT_EQ(stored().at(0).at(1), "3");
}

TEST_F(WithoutBatch, FreeJobsAreChargedToNobody) {
    jobs_without_batch("free");
    make_jobs(2, 0), make_jobs(1, 1);
    compute_one(0);
    pass();
    EXPECT_EQ(lst(1), 0);
    EXPECT_FALSE(order().contains(0));
    EXPECT_TRUE(order().contains(1));
}

TEST_F(WithoutBatch, AnOwnerPaysWhileNamed) {
    jobs_without_batch("free");
    make_jobs(9, 0);
    compute_one(0);
    db.execute(Sql("UPDATE result SET received_time=") << now - 7200 << " WHERE server_state=5");
    jobs_without_batch("1", "seed");
    pass();
    EXPECT_EQ(lst(1), 0) << "that came back when they were nobody's";
    EXPECT_EQ(order().at(0).user_id, 1);
    compute_one(0);
    for (int again = 0; again < 2; ++again) {
        pass();
        EXPECT_EQ(lst(1), 1000 / 0.25);
    }
    jobs_without_batch("bob@EXAMPLE.org", "seed");
    compute_one(0);
    pass();
    EXPECT_EQ(lst(1), 1000 / 0.25) << "what he was charged stays";
    EXPECT_NEAR(lst(2), 1000 / 0.75, 1e-3);
    EXPECT_EQ(order().at(0).user_id, 2);
    // Nobody's, and Ada's again: what was done meanwhile and before is not hers.
    jobs_without_batch("free", "seed");
    pass();
    EXPECT_FALSE(order().contains(0));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_stream WHERE batch_id=0")), 0);
    compute_one(0);
    db.execute(Sql("UPDATE result SET received_time=") << now - 7200 << " WHERE server_state=5");
    jobs_without_batch("1", "seed");
    pass();
    EXPECT_EQ(lst(1), 1000 / 0.25);
    EXPECT_NEAR(lst(2), 1000 / 0.75, 1e-3);
    EXPECT_EQ(number(Sql("SELECT ROUND(SUM(operations)/1e15) FROM sluice_share_day")), 2);
}

TEST_F(WithoutBatch, MissingOwnerIsNamedNoQuotaComesLast) {
    jobs_without_batch("nobody@example.org");
    make_jobs(2, 0);
    EXPECT_THAT(run_ok({"batch_shares", "--one_pass"}), HasSubstr("there is no such user"));
    EXPECT_FALSE(order().contains(0));
    jobs_without_batch("1");
    run_ok({"sluice_batch", "quota", "--user", "1", "--set", "0"});
    pass();
    EXPECT_TRUE(std::isinf(order().at(0).end));
    run_ok({"sluice_batch", "quota", "--user", "1", "--set", "2"});
    EXPECT_FALSE(std::isinf(order().at(0).end)) << "at once";
}

TEST_F(WithoutBatch, UsageNamesThemWithTheirOwner) {
    jobs_without_batch("1");
    make_jobs(3, 0), make_jobs(1, 1);
    compute_one(0), compute_one(0), compute_one(1);
    const std::string text = run_ok({"sluice_batch", "usage"});
    EXPECT_THAT(text,
                HasSubstr("Jobs without a batch are those of Ada (1) (<jobs_without_batch>): 2 of the user's jobs "
                          "had none"));
    EXPECT_THAT(text, testing::ContainsRegex("Ada \\(1\\) +25.0 % +66.7 % +CPU +2 "));
    EXPECT_THAT(text, Not(HasSubstr("(no batch)")));
    EXPECT_THAT(run_ok({"sluice_batch", "usage", "--user", "2"}), Not(HasSubstr("Jobs without a batch")));
    EXPECT_EQ(json::parse(run_ok({"sluice_batch", "usage", "--json"}), "usage").number("owner_without_batch"), 1);
    jobs_without_batch("free");
    EXPECT_THAT(run_ok({"sluice_batch", "usage"}), testing::ContainsRegex("\\(no batch\\) +- +66.7 % +CPU +2 "));
}

TEST_F(WithoutBatch, CreateWorkRefusesWhatTheProjectRefuses) {
    jobs_without_batch("refuse");
    const std::vector<std::string> job{"create_work", "--appname",         "app1", "--rsc_fpops_est",
                                       "1e15",        "--rsc_fpops_bound", "1e18"};
    EXPECT_THAT(fails(job), HasSubstr("the job has no batch, and <jobs_without_batch> of config.xml refuses jobs "
                                      "without one: give --batch; sluice_batch create"));
    auto of_none = job;
    of_none.insert(of_none.end(), {"--batch", "77"});
    EXPECT_THAT(fails(of_none), HasSubstr("there is no batch 77, and <jobs_without_batch>"));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit")), 0);
    of_none.back() = "1";
    run_ok(of_none);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE batch=1")), 1);
}

}  // namespace
}  // namespace sluice::test
