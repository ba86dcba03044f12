// SPDX-License-Identifier: LGPL-3.0-or-later
// What size_regulator does after a poll, by what its store released.
#include "daemons/size_regulator/regulator.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_clock.h"

namespace sluice {
namespace {

/// One app with one batch of which many jobs are INACTIVE.
class OneQueue final : public SizeRegulatorStore {
  public:
    /// What each call of `decide` finds UNSENT.
    std::vector<std::int64_t> unsent_found;
    std::int64_t released = 0;

    std::optional<App> app(const std::string& name) override {
        App a;
        a.id = 1, a.name = name, a.n_size_classes = 2;
        return a;
    }
    std::vector<std::int64_t> release(Id /*appid*/, ReleaseOrder /*order*/, const Decide& /*decide*/) override {
        ADD_FAILURE() << "there are shares";
        return {};
    }
    ReleasePlaces places(double /*now*/) override { return {{1, {{1, 100, 1}, 0, false}}}; }
    std::map<int, std::int64_t> release_queues(Id /*appid*/, std::int64_t /*most*/,
                                               const DecideQueues& decide) override {
        for (const std::int64_t unsent : unsent_found) decide({{0, 1, unsent, 1000}, {1, 1, 10, 1000}});
        return {{0, released}};
    }
    void look_everywhere(Id /*appid*/) override {}
    std::map<int, std::int64_t> unsent(Id /*appid*/) override { return {{0, 0}, {1, 10}}; }
    std::map<int, std::int64_t> orphans(Id /*appid*/, int /*classes*/) override { return {}; }
    std::int64_t reclassify(Id /*appid*/, int /*classes*/, int /*new_class*/, int /*limit*/) override { return 0; }
};

struct RegulatorRun : testing::Test {
    RegulatorSettings settings{.apps = {{"a", {.low = 5, .high = 10}, 60, ReleaseOrder::kNone}}, .by_shares = true};
    OneQueue store;
    test::FakeClock clock;
    TurnResult pass() { return Regulator(settings, store, clock).pass(); }
};

TEST_F(RegulatorRun, FullReleaseIsLookedAtAgainAtOnce) {
    store.unsent_found = {0, 0};
    store.released = 10;
    EXPECT_EQ(pass(), TurnResult::kWorked);
    store.released = 9;
    EXPECT_EQ(pass(), TurnResult::kIdle) << "no more are INACTIVE";
}
TEST_F(RegulatorRun, EachAppIsPolledAtItsOwnPace) {
    settings.apps = {{"a", {5, 10}, 60, ReleaseOrder::kNone}, {"b", {5, 10}, 25, ReleaseOrder::kNone}};
    store.unsent_found = {10};
    Regulator regulator(settings, store, clock);
    std::vector<double> waits;
    for (int turn = 0; turn < 5; ++turn) {
        waits.push_back(regulator.turn().wait);
        clock.advance(waits.back());
    }
    EXPECT_EQ(waits, (std::vector<double>{25, 25, 10, 15, 25}));
}
TEST_F(RegulatorRun, AnExcessOfOnePartIsCut) {
    store.unsent_found = {0, 0, 4};  // six were released, and two of them sent before the second part
    store.released = 12;
    EXPECT_EQ(pass(), TurnResult::kWorked);
}

}  // namespace
}  // namespace sluice
