// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_batch quota and usage: who may use how much of a project, and who used what, without SQL.
#include "sluice/json/input.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class QuotaTool : public BatchFixture {
  protected:
    QuotaTool() {
        project.write("templates/app1_in", "<workunit></workunit>");
        project.write("templates/app1_out", "<result>\n</result>");
        app(1);
        const char* const names[] = {"Ada", "Bob", "Cy", "4711"};
        for (Id id = 1; id <= 4; ++id) {
            User& u = world.users[id];
            u.id = id;
            u.name = names[id - 1];
            u.authenticator = "key" + std::to_string(id);
            u.email_addr = u.authenticator + "@example.org";
        }
    }
    std::string refused(const std::vector<std::string>& words) {
        std::vector<std::string> command{"sluice_batch"};
        command.insert(command.end(), words.begin(), words.end());
        const RunResult r = run_program(command);
        EXPECT_EQ(r.status, 1) << r.out;
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
        return r.err;
    }
    std::vector<json::Object> list(const std::string& text) {
        return json::parse("{\"all\": " + text + "}", "quotas").objects("all");
    }
    Table quotas() { return rows(Sql("SELECT user_id, quota FROM user_submit ORDER BY user_id"), 2); }
    double end_of(Id id) {
        return std::stod(rows(Sql("SELECT logical_end_time FROM batch WHERE id=") << id, 1).at(0).at(0));
    }
};

TEST_F(QuotaTool, UserIsFoundByNumberAddressAndName) {
    store();
    config("<share_rule>settled</share_rule>");
    run_ok({"sluice_batch", "quota", "--user", "1", "--set", "2"});
    run_ok({"sluice_batch", "quota", "--user", "key2@example.org", "--set", "1"});
    run_ok({"sluice_batch", "quota", "--user", "Cy", "--set", "0.5"});
    EXPECT_EQ(quotas(), (Table{{"1", "2"}, {"2", "1"}, {"3", "0.5"}}));
    run_ok({"sluice_batch", "quota", "--user", "4711", "--set", "1"});
    EXPECT_EQ(quotas().at(3).at(0), "4") << "there is no user 4711 but one of that name";
    EXPECT_EQ(run_ok({"sluice_batch", "create", "--user", "key2@example.org", "--app", "app1"}), "1\n");
    EXPECT_EQ(number(Sql("SELECT user_id FROM batch")), 2);
    EXPECT_THAT(run_ok({"sluice_batch", "list", "--user", "Bob"}), HasSubstr("Bob (2)"));
    EXPECT_THAT(run_ok({"sluice_batch", "list", "--user", "Ada"}), HasSubstr("no batches"));
    EXPECT_THAT(refused({"quota", "--user", "Dan"}), HasSubstr("there is no user Dan: --user takes the number"));
    EXPECT_THAT(refused({"quota", "--user", "99", "--set", "1"}), HasSubstr("there is no user 99"));
    EXPECT_THAT(refused({"quota", "--user", "-1"}), HasSubstr("there is no user -1"));
    EXPECT_THAT(refused({"quota", "--user", "x' OR '1'='1"}), HasSubstr("there is no user x' OR '1'='1"));
    EXPECT_EQ(quotas().size(), 4u);
}

TEST_F(QuotaTool, SetIsIdempotentAndRefusesBadQuotas) {
    store();
    config("<share_rule>settled</share_rule>");
    db.execute(
        Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
            "max_jobs_in_progress) VALUES (1,1,12,1,1,7)"));
    for (int i = 0; i < 2; ++i)
        EXPECT_THAT(run_ok({"sluice_batch", "quota", "--user", "1", "--set", "3"}), HasSubstr("3  100.0 %"));
    EXPECT_EQ(rows(Sql("SELECT quota, submit_all, manage_all, max_jobs_in_progress FROM user_submit"), 4),
              (Table{{"3", "1", "1", "7"}}));
    for (const char* wrong : {"nan", "inf", "x"})
        EXPECT_THAT(refused({"quota", "--user", "1", "--set", wrong}), HasSubstr("is not a number")) << wrong;
    for (const char* wrong : {"-1", "1e300", "1e-300"})
        EXPECT_THAT(refused({"quota", "--user", "1", "--set", wrong}), HasSubstr("a quota is a number from 1e-06 to"))
            << wrong;
    EXPECT_THAT(refused({"quota", "--set", "1"}), HasSubstr("quota --set needs --user"));
    EXPECT_EQ(quotas(), (Table{{"1", "3"}}));
    run_ok({"sluice_batch", "quota", "--user", "2", "--set", "1"});
    const auto all = list(run_ok({"sluice_batch", "quota", "--json"}));
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].number("share"), 0.75);
    EXPECT_EQ(all[1].text("email"), "key2@example.org");
    EXPECT_EQ(list(run_ok({"sluice_batch", "quota", "--json", "--user", "Ada"})).size(), 1u);
    EXPECT_THAT(run_ok({"sluice_batch", "quota", "--user", "Cy"}), HasSubstr("none"));
    EXPECT_EQ(quotas().size(), 2u) << "who only asks changes nothing";
}

// A batch that was submitted before its user had a quota had no place until batch_shares ran.
TEST_F(QuotaTool, QuotaHoldsAtOnceAndNamesMissingRule) {
    config("<share_rule>settled</share_rule>");
    batch(1).user_id = 1;
    unsent(1);
    world.workunits.last().second.rsc_fpops_est = 1e12;
    store();
    EXPECT_EQ(end_of(1), 0);
    run_ok({"sluice_batch", "quota", "--user", "1", "--set", "1"});
    EXPECT_GT(end_of(1), 0);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_batch WHERE finished=0")), 1);
    run_ok({"sluice_batch", "quota", "--user", "1", "--set", "0"});
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_share_batch WHERE finished=0")), 0);
    config("<share_rule>off</share_rule>");
    const RunResult r = run_program({"sluice_batch", "quota", "--user", "1", "--set", "1"});
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("<share_rule> is off in config.xml: quotas decide nothing"));
}

TEST_F(QuotaTool, WithoutQuotaBatchSaysWhatToDo) {
    config("<share_rule>settled</share_rule><dont_generate_upload_certificates>1</dont_generate_upload_certificates>");
    store();
    run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
    project.write("jobs", "--rsc_fpops_est 1e12\n");
    const RunResult r = run_program({"sluice_batch", "submit", "1", (project / "jobs").string()});
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("sluice_batch quota --user 1 --set 1"));
    EXPECT_THAT(run_ok({"sluice_batch", "quota"}), HasSubstr("none")) << "who owns a batch is named";
}

TEST_F(QuotaTool, UsageIsByUserAndResource) {
    config("<share_rule>settled</share_rule>");
    batch(1).user_id = 1, batch(2).user_id = 2;
    host(7).p_fpops = 1e9;
    for (const Id id : {Id{1}, Id{2}}) {
        AppVersion& v = world.versions[id];
        v.id = id, v.appid = 1;
        v.plan_class = id == 2 ? "cuda" : "";
    }
    const auto used = [&](Id in_batch, Id version, double seconds, std::int64_t ago = 1000) {
        Result& r = success(in_batch, 7, 100000, ago);
        r.app_version_id = version;
        r.elapsed_time = seconds, r.cpu_time = seconds / 2, r.granted_credit = 5;
        r.flops_estimate = version == 2 || version == -3 ? 1e12 : 1e9;
    };
    used(1, 1, 7200), used(1, 1, 3600), used(1, 2, 36), used(2, -3, 36), used(2, -2, 3600);
    used(2, 1, 3600, 40 * 86400);
    used(3, 1, 1800);  // there is no such batch
    store();
    db.execute(
        Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
            "max_jobs_in_progress) VALUES (1,1,0,0,0,0), (3,1,0,0,0,0)"));
    const json::Object all = json::parse(run_ok({"sluice_batch", "usage", "--json"}), "usage");
    const auto users = all.objects("users");
    ASSERT_EQ(users.size(), 4u);
    EXPECT_EQ(users[0].number("user_id"), 1);
    EXPECT_EQ(users[0].number("share"), 0.5);
    const auto adas = users[0].objects("resources");
    ASSERT_EQ(adas.size(), 2u);
    EXPECT_EQ(adas[0].text("resource"), "CPU");
    EXPECT_EQ(adas[0].number("jobs"), 2);
    EXPECT_NEAR(adas[0].number("hours"), 3, 1e-9);
    EXPECT_NEAR(adas[0].number("operations"), 1.08e13, 1);
    EXPECT_EQ(adas[0].number("credit"), 10);
    EXPECT_EQ(adas[1].text("resource"), "NVIDIA");
    EXPECT_NEAR(adas[1].number("operations"), 3.6e13, 1);
    const auto bobs = users[1].objects("resources");
    ASSERT_EQ(bobs.size(), 2u) << "versions of anonymous platforms have their resource in their number";
    EXPECT_EQ(bobs[0].number("jobs"), 1) << "not what came back forty days ago";
    EXPECT_EQ(bobs[1].text("resource"), "NVIDIA");
    EXPECT_EQ(users[2].number("user_id"), 3) << "who has a quota and used nothing";
    EXPECT_EQ(users[2].number("used"), 0);
    EXPECT_NEAR(users[3].objects("resources").at(0).number("hours"), 0.5, 1e-9) << "nobody's";
    EXPECT_NEAR(users[0].number("used"), 4.68e13 / (4.68e13 + 3.96e13 + 0.18e13), 1e-9);
    const std::string text = run_ok({"sluice_batch", "usage", "--days", "60"});
    EXPECT_THAT(text, HasSubstr("Work that came back in the last 60 days"));
    EXPECT_THAT(text, testing::ContainsRegex("Bob \\(2\\) +- +[0-9.]+ % +CPU +2 +2.0"));
    EXPECT_THAT(text, HasSubstr("(no batch)"));
    const auto one = json::parse(run_ok({"sluice_batch", "usage", "--user", "Cy", "--json"}), "usage");
    EXPECT_EQ(one.objects("users").size(), 1u);
    EXPECT_THAT(refused({"usage", "--days", "0"}), HasSubstr("--days: a number from 1 to 3660"));
    EXPECT_THAT(refused({"usage", "--user", "nobody"}), HasSubstr("there is no user nobody"));
    // <gpu_type> names the resource at level 1, the class's name at level 0.
    project.write("plan_class_spec.xml",
                  "<plan_classes><plan_class><name>fast</name><gpu_type>amd</gpu_type></plan_class></plan_classes>");
    db.execute(Sql("UPDATE app_version SET plan_class='fast' WHERE id=2"));
    EXPECT_THAT(run_ok({"sluice_batch", "usage", "--user", "1"}), testing::Not(HasSubstr("GPU")));
    config("<share_rule>settled</share_rule>", 1);
    EXPECT_THAT(run_ok({"sluice_batch", "usage", "--user", "1"}), HasSubstr("AMD/ATI GPU"));
}

// There was none, and three pages recommend to try a daemon with it.
TEST_F(QuotaTool, DryRunOfSharesSaysAllWritesNothing) {
    config("<share_rule>settled</share_rule>");
    batch(1).user_id = 1, batch(2).user_id = 2;
    unsent(1), unsent(2);
    store();
    for (const SqlLiteral table :
         {SqlLiteral("sluice_share_lst"), SqlLiteral("sluice_share_stream"), SqlLiteral("sluice_share_measured"),
          SqlLiteral("sluice_share_day"), SqlLiteral("sluice_share_speed")}) {
        Sql drop("DROP TABLE IF EXISTS ");
        db.execute(drop << table);
    }
    db.execute(
        Sql("INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
            "max_jobs_in_progress) VALUES (1,1,0,0,0,0)"));
    const auto own_tables = [&] {
        return number(
            Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME "
                "LIKE 'sluice_share%'"));
    };
    const auto would =
        testing::AllOf(HasSubstr("batch 1 of user 1: gets a place for "), HasSubstr("batch 2: its user has no quota"));
    EXPECT_THAT(run_ok({"batch_shares", "--dry_run"}), would);
    EXPECT_EQ(own_tables(), 0) << "it makes no table";
    run_ok({"batch_shares", "--one_pass"});
    EXPECT_EQ(run_ok({"batch_shares", "--dry_run"}),
              "batch 2: its user has no quota: its jobs come after all others\n");
    // The daemon runs, and somebody has made the clock's row his.
    db.execute(Sql("UPDATE result SET server_state=5, outcome=1, elapsed_time=86400, hostid=7 WHERE batch=1"));
    db.execute(Sql("UPDATE workunit SET canonical_resultid=id WHERE batch=1"));
    const double end = end_of(1);
    Subprocess daemon = start_program({"batch_shares", "--sleep_interval", "3600"});
    ASSERT_TRUE(eventually([&] { return end_of(1) != end; }));
    db.execute(Sql("UPDATE result SET elapsed_time=2*86400 WHERE batch=1"));
    const double settled = end_of(1);
    db.transaction([&] {
        rows(Sql("SELECT virtual_time FROM sluice_share_clock WHERE id=1 FOR UPDATE"), 1);
        EXPECT_THAT(run_ok({"batch_shares", "--dry_run"}),
                    testing::ContainsRegex("batch 1 of user 1: [0-9.e+]+ s of the whole project, [0-9.e+]+ s before"));
    });
    EXPECT_EQ(end_of(1), settled);
}

}  // namespace
}  // namespace sluice::test
