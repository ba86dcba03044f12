// SPDX-License-Identifier: LGPL-3.0-or-later
// A gang of four on real clients, with all daemons of a project: hosts are asked to come, get their members together,
// the members meet at gang_hub; one computer dies, and they go on from the checkpoint when it is back. The ten minutes
// until hosts meet pass in the database; everything else is waited for as an event.
#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <fstream>

#include "tests/client/real/real_client.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Applications that work in a folder or below: a client that is killed leaves its own behind for half a minute.
std::vector<pid_t> working_below(const fs::path& folder) {
    const RightsToAllFiles rights;
    std::vector<pid_t> found;
    for (const auto& process : fs::directory_iterator("/proc")) {
        std::error_code none;
        const auto cwd = fs::read_symlink(process.path() / "cwd", none).string();
        if (cwd.starts_with(folder.string() + "/")) found.push_back(std::stoi(process.path().filename()));
    }
    return found;
}

class Gang : public RealClient {
  protected:
    static constexpr int kMembers = 4, kSteps = 1200, kEvery = 40, kStepTime = 15;  // ms: 18 s in all

    Gang() {
        for (const char* name : {"gang_sum_in", "gang_sum_out"})
            fs::copy_file(fs::path(source_dir()) / "config/samples/gang_sum/templates" / name,
                          world_.root() / "templates" / name);
        world_.add_app("gang_sum", binary_dir() + "/samples/gang_sum");
        world_.option("gang_hub", fmt::format("127.0.0.1:{}", free_port()));
        hub_ = std::make_unique<Subprocess>(world_.daemon({"gang_hub"}));
        planner_ = std::make_unique<Subprocess>(world_.daemon({"gang_planner", "--sleep_interval", "1"}));
    }
    Id submit() {
        const Id batch = std::stoll(world_.in_project(
            {"sluice_batch", "create", "--user", std::to_string(world_.user_id(name_)), "--app", "gang_sum"}));
        std::ofstream jobs(world_.root() / "jobs.txt");
        for (int i = 0; i < kMembers; ++i)
            jobs << "--command_line '--steps " << kSteps << " --checkpoint_every " << kEvery << " --step_ms "
                 << kStepTime << "'\n";
        jobs.close();
        world_.in_project({"sluice_batch", "submit", std::to_string(batch), "jobs.txt", "--gang_size",
                           std::to_string(kMembers), "--rsc_fpops_est", "2e10", "--rsc_fpops_bound", "1e16",
                           "--rsc_memory_bound", "1e7", "--rsc_disk_bound", "1e7"});
        return batch;
    }
    std::int64_t leases(SqlLiteral condition) {
        Sql sql("SELECT COUNT(*) FROM sluice_gang_lease l JOIN host h ON h.id=l.host_id WHERE ");
        return world_.number(sql << condition);
    }
    bool knows(Id host) {
        Sql sql(
            "SELECT COUNT(*) FROM sluice_gang_lease l JOIN host h ON h.id=l.host_id WHERE h.rpc_time>=l.since AND ");
        return world_.number(sql << "h.id=" << host) == 1;
    }
    /// Hosts that know when to come are to come now. What gang_planner has read before does not count any more.
    void ten_minutes_pass() {
        world_.db().transaction([&] {
            world_.db().execute(Sql("UPDATE sluice_gang_version SET version=version+1"));
            world_.db().execute(Sql("UPDATE sluice_gang_lease SET start=UNIX_TIMESTAMP()"));
            world_.db().execute(Sql("UPDATE sluice_host_rpc SET gang_start=UNIX_TIMESTAMP() WHERE gang_start<>0"));
        });
    }
    std::int64_t in_state(Id batch, int state) {
        Sql query("SELECT COUNT(*) FROM result WHERE batch=");
        return world_.number(query << batch << " AND server_state=" << state);
    }
    /// The step of the newest checkpoint; 0: there is none.
    static int checkpoint(const Volunteer& v) {
        const RightsToAllFiles rights;
        int newest = 0;
        std::error_code none;
        for (const auto& file : fs::directory_iterator(v.folder() / "slots/0", none)) {
            const std::string name = file.path().filename();
            if (name.starts_with("checkpoint_")) newest = std::max(newest, std::stoi(name.substr(11)));
        }
        return newest;
    }
    /// What four numbers become when each is made anew of all of them; nothing of the application is used here.
    static std::string right_result(Id batch) {
        std::int64_t v[kMembers] = {1, 2, 3, 4};
        for (int step = 1; step <= kSteps; ++step) {
            const std::int64_t weighted = 1 * v[0] + 2 * v[1] + 3 * v[2] + 4 * v[3];
            for (int i = 0; i < kMembers; ++i) v[i] = (3 * v[i] + (weighted - (i + 1) * v[i]) + step) % 1'000'003;
        }
        return fmt::format("gang {}.0 steps {} sum {}\n", batch, kSteps, v[0] + v[1] + v[2] + v[3]);
    }
    std::vector<std::string> uploaded() const {
        std::vector<std::string> texts;
        for (const auto& file : fs::recursive_directory_iterator(world_.root() / "upload")) {
            if (!file.is_regular_file() || !file.path().filename().string().starts_with("batch_")) continue;
            std::ifstream in(file.path());
            texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        }
        return texts;
    }
    void expect_all_to_come(std::deque<Volunteer>& volunteers) {
        for (Volunteer& v : volunteers) v.client().attach(world_.url(), key_);
        ASSERT_TRUE(wait_until([&] { return leases("1") == kMembers; })) << planner_->err();
        for (Volunteer& v : volunteers) ASSERT_TRUE(v.update_until([&] { return knows(v.host_id()); })) << v.log();
        ten_minutes_pass();
    }

    std::unique_ptr<Subprocess> hub_, planner_;
};

TEST_F(Gang, FourClientsGoOnAfterOneIsLost) {
    ASSERT_TRUE(hub_->wait_for_output("listening on port")) << hub_->err();
    const Id batch = submit();
    std::deque<Volunteer> volunteers;
    for (int i = 0; i < kMembers; ++i) volunteers.emplace_back(world_, key_);
    expect_all_to_come(volunteers);
    ASSERT_FALSE(HasFatalFailure());
    for (Volunteer& v : volunteers) v.client().update(world_.url());
    ASSERT_TRUE(planner_->wait_for_output("4 hosts are there, 4 members are sent")) << planner_->err();
    for (Volunteer& v : volunteers)
        ASSERT_TRUE(v.update_until([&] { return v.count("<result>") == 1; })) << v.log() << world_.scheduler_log();
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(DISTINCT hostid) FROM result WHERE server_state=4 AND batch=") << batch),
              kMembers);
    ASSERT_TRUE(hub_->wait_for_output("all 4 members are here: they go on from checkpoint 0\n"))
        << hub_->err() << volunteers[0].log();

    // A computer dies, the client and what it computes.
    Volunteer& lost = volunteers[2];
    ASSERT_TRUE(wait_until([&] { return checkpoint(lost) >= 2 * kEvery; })) << lost.log();
    lost.client().kill();
    for (const pid_t pid : working_below(lost.folder())) ::kill(pid, SIGKILL);
    ASSERT_TRUE(hub_->wait_for_output("breaks off at checkpoint")) << hub_->err();
    EXPECT_EQ(in_state(batch, 5), 0);
    lost.start();
    const std::string again = "members are here: they go on from checkpoint ";
    ASSERT_TRUE(wait_until([&] { return hub_->err().rfind(again) != hub_->err().find(again); }))
        << hub_->err() << lost.log();
    const std::string said = hub_->err();
    EXPECT_GE(std::stoi(said.substr(said.rfind(again) + again.size())), kEvery) << "it is not done anew";

    for (Volunteer& v : volunteers) {
        Sql mine("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=1 AND batch=");
        mine << batch << " AND hostid=" << v.host_id();
        ASSERT_TRUE(v.update_until([&] { return world_.number(mine) == 1; })) << v.log() << hub_->err();
        EXPECT_EQ(v.complaints(), "");
    }
    EXPECT_EQ(uploaded(), std::vector<std::string>(kMembers, right_result(batch)));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM sluice_gang WHERE ended>0 AND batch_id=") << batch), 1);
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM result WHERE batch=") << batch), kMembers);
}

}  // namespace
}  // namespace sluice::test
