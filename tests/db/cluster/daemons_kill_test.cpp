// SPDX-License-Identifier: LGPL-3.0-or-later
// Nodes of the cluster are killed while the daemons behind the scheduler work, each on one machine: what is reported is
// judged, paid, assimilated and charged once, whatever dies; $SLUICE_CLUSTER_KILLS times (three: each node once).
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "sluice/base/files.h"
#include "tests/db/cluster/cluster_world.h"
#include "tests/support/database_rows.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr double kHostFlops = 2e9, kSeconds = 100;  ///< of each instance

class DaemonsKilled : public testing::Test {
  protected:
    DaemonsKilled() {
        db().execute(Sql("UPDATE host SET p_fpops=") << kHostFlops);
        db().execute(Sql(
            "INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, max_jobs_in_progress) "
            "VALUES (1,1,0,1,0,0)"));
        Batch batch;
        batch.id = batch.user_id = batch.app_id = 1;
        batch.create_time = std::time(nullptr);
        batch.njobs = kills * kWave;
        batch.state = BatchState::kInProgress;
        batch.name = "b";
        FakeDb rows;
        rows.batches[1] = batch;
        for (Id host = 1; host <= ClusterWorld::kHosts; ++host) {
            rows.host_app_versions[{host, 1}].host_id = host;
            rows.host_app_versions[{host, 1}].app_version_id = 1;
        }
        add_jobs(rows);
        store_rows(db(), rows);
        std::ofstream(world.machine(1).folder() / "bin/collect") << "#!/bin/sh\necho $1 >>../assimilated\n";
        fs::permissions(world.machine(1).folder() / "bin/collect", fs::perms::owner_all);
        const fs::path output = fanout_path(world.machine(0).folder() / "upload", "out", 1024);
        fs::create_directories(output.parent_path());
        std::ofstream(output) << "of all of them";
        for (int i = 0; i < ClusterWorld::kMachines; ++i) {  // else no result could be made that should not be
            fs::create_directories(world.machine(i).folder() / "templates");
            std::ofstream(world.machine(i).folder() / "templates/out") << kOutputTemplate;
        }
        start(0, "sample_bitwise_validator", {"--app", "up"});
        start(1, "script_assimilator", {"--app", "up", "--script", "collect wu_name"});
        start(2, "transitioner", {});
        start(0, "batch_shares", {});
        start(1, "batch_upkeep", {});
        start(2, "batch_planner", {});
        start(0, "batch_stats", {});
        start(1, "batch_accel", {});
    }
    void start(int machine, const std::string& program, std::vector<std::string> args) {
        args.insert(args.end(), {"--sleep_interval", "0.5"});
        daemons_.emplace_back(program, &world.machine(machine).start(program, args));
    }
    Database& db() { return world.machine(0).db(); }
    /// The batch's workunits, each with two instances that hosts have.
    void add_jobs(FakeDb& rows) const {
        const std::int64_t now = std::time(nullptr);
        for (Id id = 1; id <= kills * kWave; ++id) {
            Workunit w = a_workunit(id, now);
            w.batch = 1;
            w.min_quorum = w.target_nresults = 2;
            w.transition_time = kNever;
            w.rsc_fpops_est = 1e15;  // days: batch_planner gives up none of them meanwhile
            w.result_template_file = "templates/out";
            for (int k = 0; k < 2; ++k) {
                Result r = a_result(2 * id - 1 + k, w, k);
                r.batch = 1;
                r.server_state = ServerState::kInProgress;
                r.hostid = (id + k * (ClusterWorld::kUsers + 1)) % ClusterWorld::kHosts + 1;
                r.userid = ClusterWorld::user_of(r.hostid);
                r.app_version_id = 1;
                r.sent_time = now;
                r.report_deadline = now + 1000000;
                r.flops_estimate = kHostFlops;
                r.xml_doc_in =
                    "<result>\n<file_ref><file_name>out</file_name><open_name>out</open_name></file_ref>\n</result>\n";
                rows.results[r.id] = r;
            }
            rows.workunits[w.id] = w;
        }
    }
    /// The next `workunits` come back, to the scheduler of one machine.
    void report(int machine, Id workunits) {
        Database& there = world.machine(machine).db();
        const std::int64_t now = std::time(nullptr);
        there.transaction([&] {
            there.execute(Sql("UPDATE result SET server_state=5,outcome=1,client_state=5,received_time=")
                          << now << ",elapsed_time=" << kSeconds << ",cpu_time=" << kSeconds
                          << " WHERE server_state=4 AND workunitid>" << last_
                          << " AND workunitid<=" << last_ + workunits);
            there.execute(Sql("UPDATE workunit SET transition_time=")
                          << now << " WHERE id>" << last_ << " AND id<=" << last_ + workunits);
        });
        last_ += workunits;
    }
    bool assimilated(int machine, Id workunits, double within) {
        return eventually(
            [&] {
                return world.number(machine, Sql("SELECT COUNT(*) FROM workunit WHERE assimilate_state=2")) >=
                       workunits;
            },
            within);
    }
    /// The ends of the daemons' logs.
    std::string logs() const {
        std::string all;
        for (const auto& [name, daemon] : daemons_) {
            const std::string log = daemon->err();
            all += "--- " + name + "\n" + log.substr(log.size() - std::min<std::size_t>(log.size(), 600)) + "\n";
        }
        return all;
    }

    static constexpr int kWave = 400;
    const int kills = kills_wanted(ClusterWorld::kMachines);
    ClusterWorld world{"<share_rule>settled</share_rule><plan_batches>1</plan_batches>"};
    std::vector<std::pair<std::string, Subprocess*>> daemons_;
    Id last_ = 0;
};

TEST_F(DaemonsKilled, EachResultIsJudgedPaidAndChargedOnce) {
    for (int k = 0; k < kills; ++k) {
        const int dies = k % ClusterWorld::kMachines, stays = (k + 1) % ClusterWorld::kMachines;
        const Id before = last_;
        report(stays, kWave / 2);
        ASSERT_TRUE(assimilated(stays, before + 10, 60)) << logs();
        world.kill_node(dies);
        EXPECT_TRUE(assimilated(stays, last_, 120)) << "stuck while node " << dies << " is away\n" << logs();
        report(stays, kWave / 2);
        EXPECT_TRUE(assimilated(stays, before + kWave / 2 + 10, 60)) << logs();
        world.restart_node(dies);
    }
    EXPECT_TRUE(assimilated(1, last_, 120)) << logs();
    EXPECT_TRUE(eventually([&] { return world.number(1, Sql("SELECT state FROM batch")) == 2; }, 60)) << logs();
    for (const auto& [name, daemon] : daemons_) EXPECT_TRUE(daemon->running()) << name << daemon->err();
    for (const auto& [name, daemon] : daemons_) daemon->send_signal(SIGTERM);
    for (const auto& [name, daemon] : daemons_) EXPECT_EQ(daemon->wait()->status, 0) << name;
    EXPECT_EQ(world.machine(2).run_program("batch_shares", {"--one_pass"}).status, 0);

    const Id workunits = last_, results = 2 * last_;
    const auto is = [&](const char* what, const Sql& query, std::int64_t expected) {
        for (int i = 0; i < ClusterWorld::kMachines; ++i) EXPECT_EQ(world.number(i, query), expected) << what << i;
    };
    is("judged", Sql("SELECT COUNT(*) FROM workunit WHERE canonical_resultid>0 AND error_mask=0"), workunits);
    is("valid", Sql("SELECT COUNT(*) FROM result WHERE validate_state=1 AND granted_credit>0"), results);
    is("no instance more", Sql("SELECT COUNT(*) FROM result"), results);
    is("user",
       Sql("SELECT COUNT(*) FROM user u WHERE ABS(u.total_credit-(SELECT SUM(granted_credit) FROM result r WHERE "
           "r.userid=u.id))>1e-6"),
       0);
    is("host",
       Sql("SELECT COUNT(*) FROM host h WHERE ABS(h.total_credit-(SELECT SUM(granted_credit) FROM result r WHERE "
           "r.hostid=h.id))>1e-6"),
       0);
    is("samples", Sql("SELECT SUM(et_n) FROM host_app_version"), results);
    is("batch", Sql("SELECT fraction_done=1 AND nerror_jobs=0 AND njobs=") << workunits << " FROM batch", 1);
    const double operations = static_cast<double>(results) * kSeconds * kHostFlops;
    is("charged", Sql("SELECT ABS(SUM(operations)/") << operations << "-1)<1e-9 FROM sluice_share_measured", 1);
    is("a day's", Sql("SELECT ABS(SUM(operations)/") << operations << "-1)<1e-9 FROM sluice_share_day", 1);
    std::set<std::string> handled;
    int calls = 0;
    std::ifstream lines(world.machine(1).folder() / "assimilated");
    for (std::string name; std::getline(lines, name); ++calls) handled.insert(name);
    EXPECT_EQ(handled.size(), static_cast<std::size_t>(workunits));
    constexpr int kMarkedTogether = 32;  // Assimilator: workunits whose scripts have run
    EXPECT_LE(calls, workunits + 2 * kills * kMarkedTogether) << "only what was not marked at a kill is handled twice";
    for (int i = 0; i < ClusterWorld::kMachines; ++i) EXPECT_EQ(world.checksums(i), world.checksums(0)) << i;
}

}  // namespace
}  // namespace sluice::test
