// SPDX-License-Identifier: LGPL-3.0-or-later
// What it costs a feeder that is alone to be ready for others: statements of its turns, with and without a lease.
#include <gtest/gtest.h>

#include "feeder/feeder.h"
#include "sluice/db/feeder_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/segment_files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr double kTurn = 0.5;  ///< s

class LoneFeeder : public testing::Test {
  protected:
    LoneFeeder() {
        config_.project_dir = dir_.path().string();
        config_.shmem_work_items = 10;
        FakeDb rows;
        rows.apps[1].id = 1, rows.apps[1].name = "app";
        for (Id id = 1; id <= 30; ++id) {
            Workunit& w = rows.workunits[id];
            w.id = id, w.appid = 1, w.name = "w" + std::to_string(id), w.target_nresults = 1;
            Result& r = rows.results[id];
            r.id = id, r.workunitid = id, r.appid = 1, r.name = w.name + "_0", r.server_state = ServerState::kUnsent;
        }
        store_rows(db_, rows);
    }
    ~LoneFeeder() override { remove_segment_files(name()); }
    JobArrayName name() const { return job_array_name(7, dir_.path()); }

    /// Of `turns` turns from the start on.
    std::uint64_t statements(FeederLeaseStore* leases, int turns) {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(config_.shmem_work_items);
        const auto array = FeederArray::create(name(), settings);
        FakeClock clock;
        FixedRng rng;
        Feeder feeder(config_, options_, FeederParts{*array, *store_, *catalogue_, leases, "here"}, Env{clock, rng});
        const std::uint64_t before = db_.statements();
        for (int i = 0; i < turns; ++i) {
            feeder.turn();
            clock.advance(kTurn);
        }
        EXPECT_EQ(feeder.trouble(), "");
        EXPECT_TRUE(feeder.ready());
        array->close_and_remove();
        return db_.statements() - before;
    }

    TempDir dir_;
    ProjectConfig config_;
    FeederOptions options_;
    Database db_{PrivateMariaDb::shared().create_project_database("lone_feeder")};
    std::unique_ptr<FeederStore> store_ = make_feeder_store(db_);
    std::unique_ptr<CatalogueStore> catalogue_ = make_catalogue_store(db_);
};

TEST_F(LoneFeeder, ALeaseCostsTwoStatementsARenewal) {
    constexpr int kTurns = 240, kRenewals = static_cast<int>(kTurns * kTurn / LiveFeeders::kRenewal);
    const auto leases = make_feeder_lease_store(db_);
    leases->renew("here", "a kind that nobody has");  // makes the table
    leases->give_back("here");
    const std::uint64_t without = statements(nullptr, kTurns);
    const std::uint64_t with = statements(leases.get(), kTurns);
    EXPECT_EQ(with - without, 2u * kRenewals);
    EXPECT_EQ(number_of(db_, Sql("SELECT beat FROM sluice_feeder")), kRenewals);
}

}  // namespace
}  // namespace sluice::test
