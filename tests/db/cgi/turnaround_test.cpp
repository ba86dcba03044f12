// SPDX-License-Identifier: LGPL-3.0-or-later
// compat_level 1: verdicts of batch_stats on (host, app version) reach the choice of jobs, within the statements of an
// RPC.
#include <gtest/gtest.h>

#include <optional>

#include "sluice/db/batch_store.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

struct Case {
    const char* name;
    int flag;                     ///< host.error_rate
    std::optional<bool> verdict;  ///< on the version; none: batch_stats has not made the table
    std::size_t jobs;
};

class Turnaround : public ::testing::TestWithParam<Case> {
  protected:
    Turnaround()
        : world(
              "<batch_accel>1</batch_accel><compat_level>1</compat_level><ltt_reserve_timeout>0</ltt_reserve_timeout>") {
        world.db().execute(Sql("UPDATE app SET n_size_classes=1"));
        HostAppVersion history;
        history.host_id = host = world.add_host();
        history.app_version_id = 1;
        history.turnaround = {5, 1000, 0, 0};
        world.rows.host_app_versions[{host, 1}] = history;
        world.store();
        world.add_jobs(5, 1, [](Workunit& w) { w.priority = 1; });
    }
    ~Turnaround() override { world.db().execute(Sql("DROP TABLE IF EXISTS sluice_host_ltt")); }
    void verdict(bool low) {
        make_host_ltt_store(world.db())->write(std::vector<VersionTurnaround>{{host, 1, low, low ? 0.5 : 5, 10}}, {});
    }
    SchedulerWorld world;
    Id host = 0;
};

TEST_P(Turnaround, VerdictOnVersionCountsMoreThanFlag) {
    Sql sql("UPDATE host SET error_rate=");
    world.db().execute(sql << GetParam().flag);
    if (GetParam().verdict) verdict(*GetParam().verdict);
    world.start_feeder();
    RequestText r;
    r.hostid = host;
    r.seqno = 1;
    r.work_seconds = 1;
    const std::int64_t before = world.questions();
    const ReplyText reply = world.send(r);
    EXPECT_LE(world.questions() - before - 1, 12);
    EXPECT_EQ(reply.malformed(), "") << reply.text();
    EXPECT_EQ(reply.result_names().size(), GetParam().jobs) << reply.text();
}
INSTANTIATE_TEST_SUITE_P(Hosts, Turnaround,
                         ::testing::Values(Case{"Ordinary", 0, {}, 0}, Case{"Quick", 1, {}, 1},
                                           Case{"QuickWithThisVersion", 0, true, 1},
                                           Case{"SlowWithThisVersion", 1, false, 0}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace sluice::test
