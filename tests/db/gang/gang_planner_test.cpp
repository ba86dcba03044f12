// SPDX-License-Identifier: LGPL-3.0-or-later
// Members of a gang are sent to hosts that are there at the same time: the real scheduler and gang_planner on a real
// database. The ten minutes until hosts meet pass in the database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "sluice/db/batch_plan_store.h"
#include "tests/db/batch/killed_program.h"
#include "tests/support/paths.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using Table = std::vector<std::vector<std::string>>;

class GangHosts : public testing::Test {
  protected:
    static constexpr int kHosts = 6;

    GangHosts() : project(PrivateMariaDb::shared(), "gangs", "<gang_hub>127.0.0.1:8077</gang_hub>") {
        for (Id id = 1; id <= kHosts; ++id) {
            Host& h = project.rows().hosts[id];
            h.id = id;
            h.userid = 1;
            h.host_cpid = "h" + std::to_string(id) + "cpid";
            h.rpc_time = std::time(nullptr) - 1500;  // before it could know of anything
            h.on_frac = h.active_frac = 0.99;
            h.p_fpops = 1e9;
            h.p_ncpus = 1;
        }
        project.store();
        write("templates/up_in", "<workunit></workunit>");
        write("templates/up_out", "<result>\n</result>");
        write("jobs", "--command_line a\n--command_line b\n--command_line c\n--command_line d\n");
        project.start_feeder();
    }
    void write(const std::string& name, const std::string& text) { std::ofstream(project.folder() / name) << text; }
    std::string run_ok(const std::string& program, const std::vector<std::string>& words) {
        const RunResult r = project.run_program(program, words);
        EXPECT_EQ(r.status, 0) << program << ": " << r.out << r.err;
        return r.out + r.err;
    }
    void submit() {
        const std::string id =
            std::to_string(std::stoll(run_ok("sluice_batch", {"create", "--user", "1", "--app", "up"})));
        run_ok("sluice_batch", {"submit", id, (project.folder() / "jobs").string(), "--gang_size", "4"});
    }
    /// Four of the hosts compute the members of gang 1.0.
    void send_a_gang() {
        submit();
        plan();
        ten_minutes_pass();
        for (Id host = 1; host <= kHosts; ++host) contact(host);
        plan();
        for (Id host = 1; host <= kHosts; ++host) contact(host);
        plan();
        ASSERT_EQ(results(), 4);
        ASSERT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease")), 1) << "a spare stands by";
    }
    std::string plan() { return run_ok("gang_planner", {"--one_pass"}); }
    std::string contact(Id host, double seconds = 0) {
        return project.rpc(work_request(host, ++seqno, seconds, "", 4, "h" + std::to_string(host))).out;
    }
    /// All that are to come are to come now, and have known it for long.
    void ten_minutes_pass() {
        db().execute(Sql("UPDATE sluice_gang_lease SET since=since-700, start=UNIX_TIMESTAMP()"));
        db().execute(Sql("UPDATE sluice_host_rpc SET gang_start=UNIX_TIMESTAMP() WHERE gang_start<>0"));
        db().execute(
            Sql("UPDATE sluice_gang_lease l JOIN sluice_host_rpc g ON g.host_id=l.host_id SET l.start=g.gang_start"));
    }
    Database& db() { return project.db(); }
    std::int64_t count(const Sql& sql) { return project.count(sql); }
    std::int64_t results() { return count(Sql("SELECT COUNT(*) FROM result")); }
    std::int64_t given() { return count(Sql("SELECT COUNT(*) FROM sluice_gang_lease WHERE workunit_id<>0")); }
    /// Every host is told what its lease says; no member is given to two.
    void expect_whole(const std::string& when) {
        EXPECT_EQ(
            count(
                Sql("SELECT COUNT(*) FROM sluice_host_rpc g LEFT JOIN sluice_gang_lease l ON l.host_id=g.host_id WHERE "
                    "g.gang_start<>COALESCE(l.start,0)")),
            0)
            << when;
        EXPECT_EQ(count(Sql("SELECT COUNT(*)-COUNT(DISTINCT workunit_id) FROM sluice_gang_lease WHERE workunit_id<>0")),
                  0)
            << when;
    }
    TestProject project;
    std::int64_t seqno = 10;
};

TEST_F(GangHosts, AllMembersAreSentAtOnce) {
    submit();
    run_ok("transitioner", {"--one_pass"});
    EXPECT_EQ(results(), 0) << "nobody makes an instance that any host could get";
    EXPECT_EQ(contact(1, 1000).find("<next_rpc_delay>"), std::string::npos);
    EXPECT_THAT(plan(), HasSubstr("gang 1.0: 6 more hosts are to come in "));
    expect_whole("offered");
    const std::string told = contact(1, 1000);
    const auto delay = elements(told, "next_rpc_delay");
    ASSERT_EQ(delay.size(), 1u) << told;
    EXPECT_GT(std::stod(delay[0]), 500);
    EXPECT_LE(std::stod(delay[0]), 601);

    ten_minutes_pass();
    for (Id host = 1; host <= 3; ++host) EXPECT_THAT(contact(host), HasSubstr("<next_rpc_delay>20"));
    plan();
    EXPECT_EQ(given(), 0) << "three are not four";
    contact(4), contact(5);
    EXPECT_EQ(results(), 0);
    EXPECT_THAT(plan(), HasSubstr("gang 1.0: 5 hosts are there, 4 members are sent"));
    EXPECT_EQ(given(), 4);
    expect_whole("given");
    for (Id host = 1; host <= kHosts; ++host) contact(host, host % 2 == 0 ? 0 : 1000), contact(host);
    EXPECT_EQ(project.count(Sql("SELECT COUNT(DISTINCT workunitid) FROM result WHERE server_state=4")), 4);
    EXPECT_EQ(project.count(Sql("SELECT COUNT(DISTINCT hostid) FROM result")), 4);
    EXPECT_EQ(results(), 4);
    plan();
    expect_whole("sent");
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease WHERE workunit_id=0")), 1) << "a spare stands by";
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease")), 1);
    EXPECT_EQ(count(Sql("SELECT SUM(kept) FROM sluice_gang_host")), 4);
    EXPECT_EQ(count(Sql("SELECT SUM(lapsed) FROM sluice_gang_host")), 0);

    // One of them fails: its member alone goes to another host, one that has not tried.
    db().execute(Sql("UPDATE result SET server_state=5, outcome=3 WHERE workunitid=1"));
    db().execute(Sql("UPDATE workunit SET transition_time=UNIX_TIMESTAMP()-1 WHERE id=1"));
    run_ok("transitioner", {"--one_pass"});
    EXPECT_EQ(results(), 4);
    plan(), ten_minutes_pass();
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    plan();
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    EXPECT_EQ(results(), 5);
    EXPECT_EQ(count(Sql("SELECT COUNT(DISTINCT hostid) FROM result")), 5);
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM result WHERE workunitid=1 AND server_state=4")), 1);
}

TEST_F(GangHosts, DryRunSaysWhyAndWritesNothing) {
    contact(1);  // the scheduler knows hosts
    submit();
    db().execute(Sql("UPDATE host SET on_frac=0.01 WHERE id>2"));
    EXPECT_THAT(
        run_ok("gang_planner", {"--dry_run"}),
        HasSubstr(
            "dry run: gang 1.0: waits for hosts of its app's platforms that stay on with a probability of 0.62: 2 of 5 that are wanted"));
    run_ok("sluice_batch", {"abort", "1"});
    EXPECT_EQ(run_ok("gang_planner", {"--one_pass"}).find("gang 1.0"), std::string::npos);
}

// Of 25 hosts no gang of 21 began, and only a line of the log told it.
TEST_F(GangHosts, MissingHostsAreCountedAndKept) {
    contact(1);
    db().execute(Sql("UPDATE host SET on_frac=0.01 WHERE id>2"));
    run_ok("sluice_batch", {"create", "--user", "1", "--app", "up"});
    const RunResult submitted =
        project.run_program("sluice_batch", {"submit", "1", (project.folder() / "jobs").string(), "--gang_size", "4"});
    EXPECT_THAT(submitted.err,
                HasSubstr("warning: batch 1: gangs: 1 of 4 members: 0 ended, 1 wait for hosts; 2 hosts are "
                          "missing, since "));
    run_ok("gang_planner", {"--dry_run"});
    const auto tables = [&] {
        return count(
            Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN "
                "('sluice_gang_lease','sluice_gang_host','sluice_gang_version','sluice_gang_wait')"));
    };
    EXPECT_EQ(tables(), 0) << "who only asks makes none";
    plan();
    EXPECT_EQ(tables(), 4);
    EXPECT_EQ(count(Sql("SELECT members-hosts FROM sluice_gang_wait")), 2);
    db().execute(Sql("UPDATE sluice_gang_wait SET since=1793340000, short_since=1793344000"));
    plan();
    const auto missing = HasSubstr("2 hosts are missing since 2026-10-30 07:06 UTC");
    for (const std::string verb : {"show", "why"}) {
        EXPECT_THAT(run_ok("sluice_batch", {verb, "1"}), missing) << verb;
        EXPECT_THAT(run_ok("sluice_batch", {verb, "1"}), HasSubstr("not known: its jobs are gangs")) << verb;
        EXPECT_THAT(run_ok("sluice_batch", {verb, "1", "--json"}), HasSubstr("\"hosts_missing\": 2")) << verb;
    }
    EXPECT_THAT(run_ok("sched_explain", {"--host", "1"}), missing);
    const std::string name = rows_of(db(), Sql("SELECT name FROM workunit WHERE id=4"), 1).at(0).at(0);
    EXPECT_THAT(project.run_program("sched_explain", {"--job", name, "--host", "1"}).err, missing);
    db().execute(Sql("UPDATE host SET on_frac=0.99"));
    plan();
    EXPECT_THAT(run_ok("sluice_batch", {"show", "1"}), HasSubstr("6 hosts are asked to come at the same time"));
    run_ok("sluice_batch", {"abort", "1"});
    plan();
    EXPECT_THAT(run_ok("sluice_batch", {"show", "1"}), HasSubstr("0 wait for hosts"));
}

TEST_F(GangHosts, MembersHostIsNotAskedForAnotherGang) {
    send_a_gang();
    submit();
    EXPECT_THAT(plan(), HasSubstr("gang 2.0: 1 more hosts are to come in ")) << "of six";
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease l JOIN result r ON r.hostid=l.host_id AND "
                        "r.server_state=4")),
              0);
}

TEST_F(GangHosts, ABatchEndsWithoutAnImpossibleMember) {
    send_a_gang();
    db().execute(Sql("UPDATE result SET server_state=5, outcome=3 WHERE workunitid=2"));
    db().execute(Sql("UPDATE workunit SET error_mask=2 WHERE id=2"));
    EXPECT_THAT(run_ok("gang_planner", {"--dry_run"}), HasSubstr("can't go on"));
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask=16")), 0);
    EXPECT_THAT(plan(),
                HasSubstr("gang 1.0: can't go on: of 4 members 1 have failed, 0 are not there: it is cancelled"));
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask=16 AND transition_time<=UNIX_TIMESTAMP()")), 3);
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang WHERE ended<0")), 1);
    EXPECT_EQ(plan().find("can't go on"), std::string::npos) << "once";
}

TEST_F(GangHosts, LostResultAfterEndIsNotAwaited) {
    send_a_gang();
    db().execute(Sql("UPDATE sluice_gang SET ended=UNIX_TIMESTAMP()"));
    db().execute(Sql("UPDATE result SET server_state=5, outcome=1 WHERE workunitid<>3"));
    EXPECT_EQ(plan().find("lost"), std::string::npos) << "it computes still";
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask<>0")), 0);
    db().execute(Sql("UPDATE result SET server_state=5, outcome=4 WHERE workunitid=3"));
    EXPECT_THAT(plan(), HasSubstr("gang 1.0: has ended, and the results of 1 members are lost: they are cancelled"));
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask=16")), 1);
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask=16 AND id=3")), 1);
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang WHERE ended>0")), 1);
}

TEST_F(GangHosts, HostsOfPlatformWithoutVersionAreNotAsked) {
    db().execute(
        Sql("INSERT INTO platform (id, create_time, name, user_friendly_name, deprecated) VALUES "
            "(2, 0, 'windows_x86_64', 'Windows', 0)"));
    project.stop_daemons();
    project.start_feeder();
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_host_rpc WHERE platforms=2")), kHosts);
    std::string windows = work_request(4, ++seqno, 0, "", 4, "h4");
    windows.replace(windows.find("x86_64-pc-linux-gnu"), 19, "windows_x86_64");
    project.rpc(windows);
    EXPECT_EQ(count(Sql("SELECT platforms FROM sluice_host_rpc WHERE host_id=4")), 4);
    submit();
    EXPECT_THAT(plan(), HasSubstr("gang 1.0: 5 more hosts are to come in "));
    EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease WHERE host_id=4")), 0);
}

/// By the server's clock, whatever the client's says; a second more or less is not written.
TEST_F(GangHosts, SinceWhenAClientRunsIsKept) {
    const auto since = [&] { return count(Sql("SELECT on_since FROM sluice_host_rpc WHERE host_id=1")); };
    const auto says = [&](const std::string& start, const std::string& now) {
        std::string text = work_request(1, ++seqno, 0, "", 4, "h1");
        text.insert(text.find("</time_stats>"),
                    "<client_start_time>" + start + "</client_start_time><now>" + now + "</now>");
        project.rpc(text);
        return since();
    };
    contact(1);
    EXPECT_EQ(since(), 0) << "it does not say";
    const auto hour_ago = static_cast<double>(std::time(nullptr)) - 3600;
    const std::int64_t first = says("5000.5", "8600.5");
    EXPECT_NEAR(static_cast<double>(first), hour_ago, 5);
    EXPECT_EQ(says("5000.5", "8601.9"), first);
    EXPECT_EQ(says("5000.5", "8560.5"), first) << "within a minute";
    EXPECT_NEAR(static_cast<double>(says("5000.5", "5010.5")), hour_ago + 3590, 10) << "it was started anew";
    EXPECT_EQ(says("5000.5", "4000.5"), 0) << "before it began?";
    EXPECT_EQ(says("nonsense", "1e300"), 0);
    EXPECT_EQ(says("1", "1e300"), 0) << "nobody believes that";
    contact(1);
    EXPECT_EQ(since(), 0);
}

TEST_F(GangHosts, SchedExplainSaysWhatHostAndJobAwait) {
    const auto explained = [&](const std::vector<std::string>& words) {
        const RunResult r = project.run_program("sched_explain", words);
        return r.out + r.err;
    };
    contact(1);
    EXPECT_THAT(explained({"--host", "1"}), testing::Not(HasSubstr("gang")));
    submit();
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("note: jobs of gangs go only to hosts that gang_planner asks to "
                                                      "come, and this one is not asked"));
    plan();
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("note: this host is to come in "));
    contact(1);
    ten_minutes_pass();
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("for a member of gang 1.0; none is given to it yet"));
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    plan();
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("it is given WU#4"));
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("1 job would be sent."));
    const std::string name = rows_of(db(), Sql("SELECT name FROM workunit WHERE id=4"), 1).at(0).at(0);
    EXPECT_THAT(explained({"--job", name, "--host", "1"}), HasSubstr("that is a member of gang 1.0"));

    // It can't run it: every "no" has a name.
    db().execute(Sql("UPDATE workunit SET rsc_memory_bound=1e15 WHERE id=4"));
    EXPECT_THAT(explained({"--host", "1"}), HasSubstr("memory"));
    contact(1);
    EXPECT_THAT(project.scheduler_log(),
                HasSubstr("[HOST#1] [WU#4 " + name + "] the member of a gang that it was given is not sent: memory"));
    EXPECT_EQ(results(), 0);
}

TEST_F(GangHosts, OfTwoPlannersThatReadSameOneCounts) {
    submit();
    const auto a = make_gang_lease_store(db()), b = make_gang_lease_store(db());
    a->prepare();
    const std::int64_t seen_by_a = a->version(), seen_by_b = b->version();
    const auto lease = [](Id host, Id workunit) {
        GangLease l;
        l.host = host;
        l.gang = {1, 0};
        l.start = l.since = 1'700'000'000;
        l.workunit = workunit;
        return std::vector<GangLease>{l};
    };
    EXPECT_TRUE(a->write_leases(lease(1, 1), {}, seen_by_a));
    EXPECT_FALSE(b->write_leases(lease(2, 1), {}, seen_by_b)) << "a member is given to one host";
    EXPECT_FALSE(b->write_leases({}, lease(1, 1), seen_by_b));
    EXPECT_EQ(given(), 1);
    EXPECT_EQ(count(Sql("SELECT host_id FROM sluice_gang_lease")), 1);
    expect_whole("written once");
    EXPECT_TRUE(b->write_leases({}, lease(1, 1), b->version()));
    EXPECT_EQ(given(), 0);
}

TEST_F(GangHosts, KillAtAnyStatementLosesNorDoublesLease) {
    submit();
    const std::vector<std::string> words{binary_dir() + "/bin/gang_planner", "--one_pass"};
    const auto cwd = project.folder() / "bin";
    plan();
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    // From "all are there" to "four have a member".
    const auto all_there = [&] {
        db().execute(Sql("UPDATE sluice_gang_lease SET workunit_id=0"));
        ten_minutes_pass();
        db().execute(Sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP()"));
    };
    int killed = killed_at_each_statement(
        words, cwd, all_there, [&] { plan(); },
        [&](const std::string& when) {
            EXPECT_EQ(given(), 4) << when;
            EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease")), 6) << when;
            expect_whole(when);
        });
    EXPECT_GT(killed, 10);
    // From "four have fetched it" to one lease, a spare's; each counted once.
    all_there();
    plan();
    for (Id host = 1; host <= kHosts; ++host) contact(host);
    ASSERT_EQ(results(), 4);
    db().execute(Sql("CREATE TABLE kept_leases AS SELECT * FROM sluice_gang_lease"));
    const auto fetched = [&] {
        db().execute(Sql("DELETE FROM sluice_gang_host"));
        db().execute(Sql("REPLACE INTO sluice_gang_lease SELECT * FROM kept_leases"));
        db().execute(
            Sql("UPDATE sluice_host_rpc g JOIN sluice_gang_lease l ON l.host_id=g.host_id SET g.gang_start=l.start"));
    };
    killed = killed_at_each_statement(
        words, cwd, fetched, [&] { plan(); },
        [&](const std::string& when) {
            EXPECT_EQ(count(Sql("SELECT COUNT(*) FROM sluice_gang_lease")), 1) << when;
            EXPECT_EQ(count(Sql("SELECT SUM(kept) FROM sluice_gang_host")), 4) << when;
            expect_whole(when);
        });
    EXPECT_GT(killed, 10);
}

}  // namespace
}  // namespace sluice::test
