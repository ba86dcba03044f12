// SPDX-License-Identifier: LGPL-3.0-or-later
// Users' shares with real programs on MariaDB: what is stored where, and that a kill at any statement neither loses a
// charge nor doubles it. Expected values: seed 000, worked out by hand. The project does 1e12 operations a second;
// Ada's quota is 1, Bob's 3.
#include <fmt/core.h>

#include <utility>

#include "sluice/base/files.h"
#include "sluice/db/catalogue_store.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/db/batch/killed_program.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr double kFuture = 3e9;  ///< LST of both users: tags do not depend on when the test runs

/// What the tables held that charges are written to, to begin with again.
class Snapshot {
  public:
    explicit Snapshot(Database& db) : db_(db) {
        for (const char* table : kTables) {
            Sql keep("CREATE TABLE ");
            keep.identifier(std::string("kept_") + table) << " AS SELECT * FROM ";
            db_.execute(keep.identifier(table));
        }
    }
    Snapshot(const Snapshot&) = delete;
    ~Snapshot() {
        for (const char* table : kTables) {
            Sql drop("DROP TABLE ");
            db_.execute(drop.identifier(std::string("kept_") + table));
        }
    }
    void restore() {
        for (const char* table : kTables) {
            Sql empty("DELETE FROM ");
            db_.execute(empty.identifier(table));
            Sql fill("INSERT INTO ");
            fill.identifier(table) << " SELECT * FROM ";
            db_.execute(fill.identifier(std::string("kept_") + table));
        }
    }

  private:
    static constexpr const char* kTables[] = {"user_submit",
                                              "batch",
                                              "workunit",
                                              "sluice_share_clock",
                                              "sluice_share_user",
                                              "sluice_share_batch",
                                              "sluice_share_stream",
                                              "sluice_share_measured",
                                              "sluice_share_day",
                                              "sluice_share_speed",
                                              "sluice_share_lst"};
    Database& db_;
};

class Shares : public BatchFixture {
  protected:
    Shares() {
        config("<share_rule>seed</share_rule>");
        project.write("templates/app1_in", "<workunit></workunit>");
        project.write("templates/app1_out", "<result>\n</result>");
        for (const Id id : {Id{1}, Id{2}}) {
            User& u = world.users[id];
            u.id = id;
            u.name = id == 1 ? "Ada" : "Bob";
            u.authenticator = "key" + std::to_string(id);
            u.email_addr = u.authenticator + "@example.org";
        }
        AppVersion& v = world.versions[1];
        v.id = v.appid = 1;
        v.expavg_credit = 200e3;  // 200 a day are one GFLOPS
        v.expavg_time = static_cast<double>(now);
        host(5).p_fpops = 1e9;
        store();
        db.execute(Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                       "max_jobs_in_progress) VALUES (1,1,")
                   << kFuture << ",1,0,0), (2,3," << kFuture << ",1,0,0)");
        project.write("jobs", "--rsc_fpops_est 1e15\n--rsc_fpops_est 2e15\n");
    }
    /// Jobs of 1,000 and 2,000 s of the whole project.
    Id submitted(Id user = 1) {
        const std::string id = run_ok({"sluice_batch", "create", "--user", std::to_string(user), "--app", "app1"});
        run_ok({"sluice_batch", "submit", std::to_string(std::stoll(id)), (project / "jobs").string(),
                "--rsc_fpops_bound", "1e18"});
        return std::stoll(id);
    }
    double tag(SqlLiteral column, Id batch) {
        Sql sql("SELECT ");
        return std::stod(rows(sql << column << " FROM batch WHERE id=" << batch, 1).at(0).at(0));
    }
    double start(Id batch) { return tag("logical_start_time-3e9", batch); }
    double end(Id batch) { return tag("logical_end_time-3e9", batch); }
    double lst(Id user) {
        return std::stod(
            rows(Sql("SELECT logical_start_time-3e9 FROM user_submit WHERE user_id=") << user, 1).at(0).at(0));
    }
    /// A workunit's instance has come back after `seconds` on the host of 1e9 operations a second.
    void done(Id wu, double seconds, int outcome = 1) {
        Result r;
        r.id = 100 + number(Sql("SELECT COUNT(*) FROM result"));
        r.workunitid = wu;
        r.batch = number(Sql("SELECT batch FROM workunit WHERE id=") << wu);
        r.appid = 1;
        r.name = "r" + std::to_string(r.id);
        r.hostid = 5;
        r.server_state = ServerState::kOver;
        r.outcome = static_cast<Outcome>(outcome);
        r.elapsed_time = seconds;
        FakeDb one;
        one.results[r.id] = r;
        store_rows(db, one);
        if (outcome == 1) db.execute(Sql("UPDATE workunit SET canonical_resultid=") << r.id << " WHERE id=" << wu);
    }
    void waiting(Id wu) {
        done(wu, 0, 0);
        db.execute(Sql("UPDATE result SET server_state=2 WHERE workunitid=") << wu);
    }
    /// All that a charge may have changed.
    std::string content() {
        std::string all;
        for (const SqlLiteral query :
             {SqlLiteral("SELECT CONCAT_WS('|',user_id,quota,logical_start_time) FROM user_submit ORDER BY 1"),
              SqlLiteral("SELECT CONCAT_WS('|',id,state,logical_start_time,logical_end_time) FROM batch ORDER BY 1"),
              SqlLiteral("SELECT CONCAT_WS('|',id,error_mask) FROM workunit ORDER BY 1"),
              SqlLiteral(
                  "SELECT CONCAT_WS('|',user_id,SUM(operations)) FROM sluice_share_day GROUP BY user_id ORDER BY 1"),
              SqlLiteral("SELECT CONCAT_WS('|',batch_id,kept,charged,head,waits) FROM sluice_share_stream ORDER BY 1"),
              SqlLiteral("SELECT CONCAT_WS('|',batch_id,seconds,start_tag,end_tag,share,finished) FROM "
                         "sluice_share_batch ORDER BY 1")})
            for (const auto& row : rows(Sql(query), 1)) all += row[0] + "\n";
        return all;
    }
    std::string fails(const std::vector<std::string>& words) {
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 1) << r.out;
        return r.err;
    }
};

TEST_F(Shares, SubmissionStoresTheTagsOfTheSeed) {
    const Id one = submitted(), two = submitted(), bobs = submitted(2);
    EXPECT_EQ(start(one), 0);
    EXPECT_EQ(end(one), 3000) << "LET = LST + R";
    EXPECT_EQ(start(two), 3000 / 0.25) << "LST was incremented by R / share";
    EXPECT_EQ(lst(1), 2 * 3000 / 0.25);
    EXPECT_EQ(start(bobs), 0);
    EXPECT_EQ(lst(2), 3000 / 0.75);
    EXPECT_THAT(run_ok({"sluice_batch", "show", std::to_string(one)}), HasSubstr("logical end"));
    // Given again, nothing is charged again.
    run_ok({"sluice_batch", "submit", "1", (project / "jobs").string(), "--rsc_fpops_bound", "1e18"});
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(lst(1), 2 * 3000 / 0.25);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE priority<>0")), 0) << "never in a priority";
}

TEST_F(Shares, MovingInheritsTagAndWrongMovesAreRefused) {
    const Id one = submitted(), two = submitted(), bobs = submitted(2);
    run_ok({"sluice_batch", "move", std::to_string(two), "--before", std::to_string(one)});
    EXPECT_EQ(start(two), 0);
    EXPECT_EQ(end(two), 3000);
    EXPECT_EQ(start(one), 12000);
    EXPECT_EQ(end(one), 15000);
    EXPECT_EQ(lst(1), 24000);
    EXPECT_THAT(fails({"sluice_batch", "move", "1", "--before", "1"}),
                HasSubstr("batch 1: it can't be moved before itself"));
    EXPECT_THAT(fails({"sluice_batch", "move", "1", "--before", std::to_string(bobs)}),
                HasSubstr("batch 1: batch 3 is another user's (2)"));
    EXPECT_THAT(fails({"sluice_batch", "move", "1", "--before", "99"}), HasSubstr("batch 99: there is no such batch"));
    EXPECT_THAT(fails({"sluice_batch", "move", "1"}), HasSubstr("batch 1: move needs --before"));
    run_ok({"sluice_batch", "abort", "2"});
    EXPECT_THAT(fails({"sluice_batch", "move", "1", "--before", "2"}), HasSubstr("batch 2: it is aborted"));
    config("");
    EXPECT_THAT(fails({"sluice_batch", "move", "1", "--before", "2"}), HasSubstr("<share_rule> is off"));
}

TEST_F(Shares, WorkIsChargedAsMeasuredAndAtEnd) {
    config("<share_rule>settled</share_rule>");
    const Id one = submitted(), two = submitted();
    const double first = start(one);
    done(1, 2e6);     // twice the estimate of 1e15
    done(1, 5e5, 3);  // an error of half a job: its owner pays
    run_ok({"batch_shares", "--one_pass", "--page", "batches.html"});
    EXPECT_THAT(read_file(project / "batches.html").value_or(""), HasSubstr("50.0 %</progress>"))
        << "of two jobs one, though nothing keeps the row";
    // Measured 2e15 against 1e15, five jobs' weight for 1: the other job counts 7/6.
    const double expected = 2000 + 500 + 2000 * 7 / 6.0;
    EXPECT_NEAR(end(one) - first, expected, 1e-3);
    EXPECT_NEAR(start(two) - first, expected / 0.25, 1e-3);
    done(2, 2e6);
    run_ok({"batch_upkeep", "--one_pass"});
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_NEAR(end(one) - first, 2000 + 500 + 2000, 1e-3) << "of what is over only measured work counts";
    EXPECT_NEAR(lst(1) - first, (4500 + 3000) / 0.25, 1e-3);
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_NEAR(lst(1) - first, (4500 + 3000) / 0.25, 1e-3);
    // The page for owners, made in passing: what came back on this day, once.
    run_ok({"batch_shares", "--one_pass", "--page", "batches.html"});
    EXPECT_EQ(number(Sql("SELECT SUM(operations) FROM sluice_share_day WHERE user_id=1")), 4500000000000000);
    const std::string page = read_file(project / "batches.html").value_or("");
    EXPECT_THAT(page, HasSubstr("<td class=\"t\">Ada (1)</td>"));
    EXPECT_THAT(page, HasSubstr("100.0 %"));
    EXPECT_THAT(page, HasSubstr("<polyline"));
    run_ok({"sluice_batch", "abort", std::to_string(two)});
    EXPECT_NEAR(lst(1) - first, 4500 / 0.25, 1e-2) << "nothing of the aborted one was done";
}

TEST_F(Shares, BatchesOfOthersToolsAreServedLikeOurs) {
    // As upstream's pages make them: charged by adjust_user_priority, LET = LST afterwards. And one of create_work
    // --batch.
    run_ok({"adjust_user_priority", "--user", "1", "--flops", "3e15", "--app", "app1"});
    EXPECT_EQ(lst(1), 12000);
    db.execute(Sql(
        "INSERT INTO batch (id, user_id, create_time, logical_start_time, logical_end_time, est_completion_time, njobs, "
        "fraction_done, nerror_jobs, state, completion_time, credit_estimate, credit_canonical, credit_total, name, "
        "app_id, project_state, description, expire_time) VALUES (1,1,1,0,3e9+12000,0,1,0,0,1,0,0,0,0,'web',1,0,'',0), "
        "(2,2,1,0,0,0,1,0,0,1,0,0,0,0,'tool',1,0,'',0), (3,9,1,0,0,0,1,0,0,1,0,0,0,0,'no quota',1,0,'',0)"));
    for (const char* batch : {"1", "2", "3"})
        run_ok({"create_work", "--appname", "app1", "--batch", batch, "--rsc_fpops_est", "3e15", "--rsc_fpops_bound",
                "1e18"});
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(start(1), 0);
    EXPECT_EQ(end(1), 3000);
    EXPECT_EQ(lst(1), 12000) << "not charged twice";
    EXPECT_EQ(end(2), 3000);
    EXPECT_EQ(lst(2), 3000 / 0.75);
    EXPECT_TRUE(std::filesystem::exists(project / "reread_db")) << "level 0: the feeder is told";
    // What the feeder hands to schedulers: who has no quota comes after all others.
    const ProjectTables tables = make_catalogue_store(db)->load_tables();
    ASSERT_EQ(tables.batch_shares.size(), 3u);
    EXPECT_EQ(tables.batch_shares.at(1).end, kFuture + 3000);
    EXPECT_EQ(tables.batch_shares.at(2).user_id, 2);
    EXPECT_EQ(tables.batch_shares.at(2).quota, 3);
    EXPECT_TRUE(std::isinf(tables.batch_shares.at(3).end));
    EXPECT_EQ(tables.batch_shares.at(3).quota, 0);
}

/// adjust_user_priority makes a start time the present at least; by rule settled all others' may be far from it.
TEST_F(Shares, WebPageBatchesEnterByTheSettledRule) {
    config("<share_rule>settled</share_rule><share_clamp>50</share_clamp>");
    run_ok({"batch_shares", "--one_pass"});
    for (const double others : {kFuture, 1e9}) {
        SCOPED_TRACE(others);
        for (const char* table : {"batch", "workunit", "sluice_share_batch", "sluice_share_lst"}) {
            Sql empty("DELETE FROM ");
            db.execute(empty.identifier(table));
        }
        db.execute(Sql("UPDATE sluice_share_clock SET started=1, virtual_time=") << others);
        db.execute(Sql("UPDATE user_submit SET logical_start_time=IF(user_id=1,-100,0)+") << others);
        const Id bobs = submitted(2);
        run_ok({"batch_shares", "--one_pass"});
        for (const Id web : {bobs + 1, bobs + 2}) {
            run_ok({"adjust_user_priority", "--user", "1", "--flops", "3e15", "--app", "app1"});
            run_ok({"batch_shares", "--one_pass"});  // between the charge and the batch
            db.execute(Sql("INSERT INTO batch SELECT ")
                       << web
                       << ", 1, create_time, 0, (SELECT logical_start_time FROM user_submit WHERE user_id=1), 0, "
                       << "njobs, 0, 0, 1, 0, 0, 0, 0, 'web', app_id, 0, '', 0 FROM batch WHERE id=" << bobs);
            run_ok({"create_work", "--appname", "app1", "--batch", std::to_string(web), "--rsc_fpops_est", "3e15",
                    "--rsc_fpops_bound", "1e18"});
        }
        run_ok({"batch_shares", "--one_pass"});
        EXPECT_NEAR(start(bobs + 1), start(bobs) - 50, 1e-3) << "as a batch of sluice_batch";
        EXPECT_NEAR(end(bobs + 1), start(bobs) - 50 + 3000, 1e-3);
        EXPECT_NEAR(start(bobs + 2), start(bobs) - 50 + 12000, 1e-3) << "charged once";
        EXPECT_NEAR(lst(1), start(bobs) - 50 + 24000, 1e-3);
    }
}

TEST_F(Shares, FeederHearsOfNewBatchesLevel1Too) {
    config("<share_rule>settled</share_rule>", 1);
    const std::filesystem::path trigger = project / "reread_db";
    const Id one = submitted();
    EXPECT_TRUE(std::filesystem::remove(trigger)) << "sluice_batch submit";
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_FALSE(std::filesystem::exists(trigger)) << "nothing is new";
    db.execute(Sql("DELETE FROM sluice_share_batch WHERE batch_id=") << one);  // as if another program had made it
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_TRUE(std::filesystem::exists(trigger));
}

TEST_F(Shares, SingleJobsAreStreamOfBatchesOfOne) {
    // A batch that stays new, fed job by job.
    EXPECT_EQ(run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1", "--name", "single jobs"}), "1\n");
    for (int job = 0; job < 3; ++job)
        run_ok({"create_work", "--appname", "app1", "--batch", "1", "--rsc_fpops_est", "1e15", "--rsc_fpops_bound",
                "1e18"});
    done(1, 2e6);  // 2,000 s of the project
    waiting(2), waiting(3);
    const auto order = [&] { return make_catalogue_store(db)->load_tables().batch_shares.at(1); };
    for (int pass = 0; pass < 2; ++pass) {
        run_ok({"batch_shares", "--one_pass"});
        EXPECT_EQ(lst(1), 2000 / 0.25) << pass;
        // The next one counts (2 + 5) / (1 + 5) of its estimate.
        EXPECT_NEAR(order().end, kFuture + 8000 + 1000 * 7 / 6.0, 1e-3) << "at its user's start time";
        EXPECT_EQ(order().user_id, 1);
        EXPECT_EQ(order().quota, 1);
    }
    EXPECT_EQ(tag("logical_end_time", 1), 0) << "a row tells nothing of single jobs";
    db.execute(Sql("DELETE FROM result WHERE workunitid=1"));
    db.execute(Sql("DELETE FROM workunit WHERE id=1"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(lst(1), 2000 / 0.25) << "what is purged stays charged";
    db.execute(Sql("UPDATE user_submit SET quota=0 WHERE user_id=1"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_TRUE(std::isinf(order().end));
}

TEST_F(Shares, LateResultsAreChargedOnceEvenWithoutSpeed) {
    run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
    for (int job = 0; job < 2; ++job)
        run_ok({"create_work", "--appname", "app1", "--batch", "1", "--rsc_fpops_est", "1e15", "--rsc_fpops_bound",
                "1e18"});
    waiting(1);
    const auto set = [&](const Sql& what) {
        db.execute(Sql("UPDATE result SET ") << what << " WHERE workunitid=1");
        run_ok({"batch_shares", "--one_pass"});
    };
    // Sent, and its deadline was long ago: it counts as estimated, whether the transitioner has seen it or not.
    set(Sql("server_state=4, report_deadline=") << now - 10000);
    EXPECT_EQ(lst(1), 1000 / 0.25);
    set(Sql("server_state=5, outcome=4"));
    EXPECT_EQ(lst(1), 1000 / 0.25);
    // It comes back all the same, as an error of half a job.
    set(Sql("outcome=3, elapsed_time=5e5, received_time=") << now);
    EXPECT_EQ(lst(1), 500 / 0.25);
    set(Sql("mod_time=mod_time"));
    EXPECT_EQ(lst(1), 500 / 0.25);
    // A host that tells no speed counts as one of a GFLOPS.
    db.execute(Sql("UPDATE host SET p_fpops=0"));
    set(Sql("mod_time=mod_time"));
    EXPECT_EQ(lst(1), 500 / 0.25);
}

TEST_F(Shares, AdjustUserPriorityAsUpstream) {
    // Facts: R = flops * min_avg_pfc / project FLOPS; share = quota / all quotas; LST at least the present.
    const std::vector<std::string> command{"adjust_user_priority", "--user", "1", "--flops", "3e15", "--app", "app1"};
    std::vector<std::string> dry = command;
    dry.insert(dry.begin() + 1, "--no_update");
    EXPECT_EQ(run_ok(dry), "3000012000.000000\n");
    EXPECT_EQ(lst(1), 0);
    EXPECT_EQ(run_ok(command), "3000012000.000000\n");
    EXPECT_EQ(lst(1), 12000);
    db.execute(Sql("UPDATE app SET min_avg_pfc=2"));
    EXPECT_EQ(run_ok(command), "3000036000.000000\n");
    // Where shares are kept a submitter's estimate does not carry everybody to where differences are lost.
    EXPECT_EQ(run_ok({"adjust_user_priority", "--user", "2", "--flops", "1e300", "--app", "app1"}),
              fmt::format("{:.6f}\n", kFuture + 10 * 365 * 86400.0 / 0.75));
    db.execute(Sql("UPDATE user_submit SET logical_start_time=5"));
    EXPECT_GE(std::stod(run_ok(dry)), static_cast<double>(now) + 24000);
    db.execute(Sql("UPDATE app_version SET expavg_time=1000"));  // no credit in the last 30 days
    EXPECT_LE(std::stod(run_ok(dry)), static_cast<double>(now) + 600) << "no speed: nothing is charged";
    EXPECT_THAT(fails({"adjust_user_priority", "--user", "9", "--flops", "1", "--app", "app1"}),
                HasSubstr("no such user 9"));
    EXPECT_THAT(fails({"adjust_user_priority", "--user", "1", "--flops", "1", "--app", "x'y"}),
                HasSubstr("no such app 'x'y'"));
    EXPECT_THAT(fails({"adjust_user_priority", "--user", "1", "--app", "app1"}), HasSubstr("missing --flops"));
    EXPECT_THAT(fails({"adjust_user_priority", "--flops", "1", "--app", "app1"}), HasSubstr("missing --user"));
    EXPECT_THAT(fails({"adjust_user_priority", "--flops", "1", "--user", "1"}), HasSubstr("missing --app"));
    EXPECT_THAT(fails({"adjust_user_priority", "--flops", "inf", "--user", "1", "--app", "app1"}),
                HasSubstr("--flops"));
    db.execute(Sql("DELETE FROM user_submit WHERE user_id=1"));
    EXPECT_THAT(fails(command), HasSubstr("user 1 may not submit"));
}

TEST_F(Shares, AbsurdQuotasAndEstimatesLeaveNumbers) {
    config("<share_rule>settled</share_rule>");
    db.execute(Sql("UPDATE user_submit SET quota=IF(user_id=1,1e-300,1e300)"));
    const Id one = submitted(), bobs = submitted(2);
    project.write("jobs", "--rsc_fpops_est 0\n");
    run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
    EXPECT_THAT(fails({"sluice_batch", "submit", "3", (project / "jobs").string(), "--rsc_fpops_bound", "1e18"}),
                HasSubstr("rsc_fpops_est must be above 0"));
    // Of other tools, which look at nothing.
    db.execute(Sql("UPDATE workunit SET rsc_fpops_est=IF(id%2,0,1e308), target_nresults=100"));
    const RunResult nan = run_program({"create_work", "--appname", "app1", "--batch", "1", "--rsc_fpops_est", "nan"});
    EXPECT_NE(nan.status, 0);
    EXPECT_THAT(nan.err, HasSubstr("rsc_fpops_est"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(end(one) - start(one), 10 * 365 * 86400.0) << "R is ten years at most";
    EXPECT_GT(lst(1), 1e20) << "and he owes it";
    EXPECT_LT(lst(1), 1e30);
    EXPECT_NEAR(lst(2) - start(bobs), 10 * 365 * 86400.0, 1) << "all quotas are his";
    // A quota below 0 is none: his batches come after all others, and the others' go on.
    db.execute(Sql("UPDATE user_submit SET quota=-1 WHERE user_id=1"));
    const double bob = end(bobs);
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_TRUE(std::isinf(make_catalogue_store(db)->load_tables().batch_shares.at(one).end));
    EXPECT_EQ(end(bobs), bob);
}

TEST_F(Shares, ServersClockThatWasYearsAheadLosesNothing) {
    run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
    run_ok(
        {"create_work", "--appname", "app1", "--batch", "1", "--rsc_fpops_est", "1e15", "--rsc_fpops_bound", "1e18"});
    run_ok({"batch_shares", "--one_pass"});
    db.execute(Sql("UPDATE sluice_share_stream SET until_time=4e9"));
    done(1, 1e6);
    db.execute(Sql("UPDATE result SET received_time=") << now);
    for (int pass = 0; pass < 2; ++pass) {
        run_ok({"batch_shares", "--one_pass"});
        EXPECT_EQ(lst(1), 1000 / 0.25) << pass;
    }
}

TEST_F(Shares, EarlyChargesWeighNoMoreThanLaterOnes) {
    config("<share_rule>settled</share_rule>");
    db.execute(Sql("UPDATE app_version SET expavg_credit=2e3"));  // 1e10 operations a second
    const Id one = submitted(), two = submitted();
    EXPECT_NEAR(start(two) - start(one), 3e5 / 0.25, 1e-3);
    db.execute(Sql("UPDATE app_version SET expavg_credit=200e3"));  // 1e12
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_NEAR(end(one) - start(one), 3000, 1e-3);
    EXPECT_NEAR(start(two) - start(one), 3000 / 0.25, 1e-3);
    EXPECT_NEAR(lst(1) - start(two), 3000 / 0.25, 1e-3);
    // A little is not worth it.
    db.execute(Sql("UPDATE app_version SET expavg_credit=204e3"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_NEAR(end(one) - start(one), 3000, 1e-3);
}

TEST_F(Shares, AQuotaThatGoesAndComesBack) {
    config("<share_rule>settled</share_rule>");
    submitted();
    db.execute(Sql("UPDATE user_submit SET quota=0 WHERE user_id=1"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_batch WHERE finished=0")), 0);
    db.execute(Sql("UPDATE user_submit SET quota=1 WHERE user_id=1"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_NEAR(end(1) - start(1), 3000, 1e-6);
    db.execute(Sql("DELETE FROM user_submit WHERE user_id=1"));
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_batch WHERE finished=0")), 0);
}

TEST_F(Shares, OffThereAreNone) {
    config("");
    submitted();
    EXPECT_EQ(tag("logical_end_time", 1), 0);
    EXPECT_THAT(fails({"batch_shares", "--one_pass"}), HasSubstr("<share_rule> is off"));
    EXPECT_TRUE(make_catalogue_store(db)->load_tables().batch_shares.empty());
}

// A pass looks at millions of results before it locks the clock: what is done meanwhile is not done again.
TEST_F(Shares, WhatChangesDuringAPassIsChargedOnce) {
    const Id ends = submitted();
    const std::string stream = run_ok({"sluice_batch", "create", "--user", "2", "--app", "app1"});
    const Id begins = std::stoll(stream);
    run_ok({"create_work", "--appname", "app1", "--batch", std::to_string(begins), "--rsc_fpops_est", "3e15",
            "--rsc_fpops_bound", "1e18"});
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(lst(1), 3000 / 0.25);
    EXPECT_EQ(lst(2), 0) << "nothing of it is sent";
    done(3, 0, 0);
    db.execute(Sql("UPDATE result SET server_state=4, report_deadline=") << now + 86400 << " WHERE workunitid=3");
    bool done_meanwhile = false;
    Through pass({binary_dir() + "/bin/batch_shares", "--one_pass"}, project / "bin",
                 [&](const std::string& text, int) {
                     if (text.find("START TRANSACTION") != text.npos && !std::exchange(done_meanwhile, true)) {
                         run_ok({"sluice_batch", "abort", std::to_string(ends)});
                         run_ok({"sluice_batch", "submit", std::to_string(begins), (project / "jobs").string(),
                                 "--rsc_fpops_bound", "1e18"});
                     }
                     return SqlProxy::Action::kPass;
                 });
    EXPECT_EQ(pass.program.wait().value_or(RunResult{}).status, 0);
    ASSERT_TRUE(done_meanwhile);
    for (int later = 0; later < 2; ++later) {
        EXPECT_EQ(lst(1), 3000 / 0.25) << "the batch that ended";
        EXPECT_EQ(lst(2), 6000 / 0.75) << "the one that began";
        EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_batch WHERE finished=0")), 1);
        EXPECT_EQ(number(Sql("SELECT SUM(waits) FROM sluice_share_stream")), 0);
        run_ok({"batch_shares", "--one_pass"});
    }
}

TEST_F(Shares, KillAtAnyStatementLosesNorDoublesCharge) {
    const Id one = submitted(), two = submitted();
    ASSERT_EQ(two, 2);
    done(1, 2e6);
    run_ok({"sluice_batch", "create", "--user", "2", "--app", "app1"});  // a stream
    run_ok(
        {"create_work", "--appname", "app1", "--batch", "3", "--rsc_fpops_est", "1e15", "--rsc_fpops_bound", "1e18"});
    done(5, 2e6);
    Snapshot snapshot(db);
    const std::vector<std::vector<std::string>> commands{{"sluice_batch", "move", "2", "--before", std::to_string(one)},
                                                         {"sluice_batch", "abort", "1"},
                                                         {"batch_shares", "--one_pass"}};
    for (const char* rule : {"seed", "settled"}) {
        config(std::string("<share_rule>") + rule + "</share_rule>");
        for (const auto& command : commands) {
            std::string expected;
            auto words = command;
            words[0] = binary_dir() + "/bin/" + words[0];
            const int killed = killed_at_each_statement(
                words, project / "bin", [&] { snapshot.restore(); }, [&] { run_ok(command); },
                [&](const std::string& when) {
                    if (expected.empty()) expected = content();
                    EXPECT_EQ(content(), expected) << rule << " " << command[1] << " " << when;
                });
            EXPECT_GT(killed, 8);
        }
    }
}

}  // namespace
}  // namespace sluice::test
