// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

BatchMeasure with_median(double v) {
    BatchMeasure m;
    m.median = v;
    return m;
}
App an_app(Id id, int n) {
    App a;
    a.id = id;
    a.n_size_classes = n;
    return a;
}

TEST(StatsPlan, MediansOnlyWhereTheyDiffer) {
    StatsFacts f;
    f.batches = {{{1, 1, 0, 500}, with_median(500)},
                 {{2, 1, 0, 500}, with_median(501)},
                 {{3, 1, 0, 500}, {}},
                 {{4, 1, 0, 0}, {}},
                 {{5, 1, 0, 1.7e9}, {}},
                 {{6, 1, 0, 1.7e9}, with_median(60)}};
    EXPECT_EQ(plan_stats(f).medians, (std::vector<std::pair<Id, double>>{{2, 501}, {3, 0}, {6, 60}}))
        << "a date (5) goes only for a median (6)";
}

TEST(StatsPlan, HostsOnlyWhereTheyDiffer) {
    StatsFacts f;
    f.ltt_hosts = {2, 4, 6};
    f.flagged = {{1, 1}, {2, 1}, {3, 0.3}, {4, 0.3}};
    EXPECT_EQ(plan_stats(f).hosts, (std::vector<std::pair<Id, bool>>{{4, true}, {6, true}, {1, false}, {3, false}}));
}

TEST(StatsPlan, SizeClassesAreNotOurs) {
    StatsFacts f;
    f.apps = {an_app(1, 0), an_app(2, 1), an_app(3, 2), an_app(4, 7), an_app(5, 1), an_app(6, 0)};
    f.verdicts = {{1, 200, 100, true}, {2, 200, 100, true}, {3, 200, 100, true}, {4, 5, 0, false}, {6, 5, 0, false}};
    EXPECT_EQ(plan_stats(f).accelerable, (std::vector<std::pair<Id, bool>>{{1, true}, {5, false}}));
    EXPECT_TRUE(plan_stats({}).empty());
}

TEST(VersionPlan, RowsThatChangedAndRowsThatWent) {
    const std::vector<VersionTurnaround> before{
        {1, 7, true, 0.5, 3}, {1, 8, true, 0.5, 3}, {2, 7, false, 2, 3}, {3, 7, true, 0.5, 3}};
    const std::vector<VersionTurnaround> now{
        {1, 7, true, 0.51, 3}, {1, 8, true, 0.6, 3}, {2, 9, true, 0.1, 5}, {3, 7, true, 0.5, 4}};
    const VersionChanges c = plan_versions(before, now);
    std::vector<std::pair<Id, Id>> changed;
    for (const auto& r : c.rows) changed.emplace_back(r.host_id, r.version);
    EXPECT_EQ(changed, (std::vector<std::pair<Id, Id>>{{1, 8}, {2, 9}, {3, 7}}));
    EXPECT_EQ(c.gone, (std::vector<std::pair<Id, Id>>{{2, 7}}));
    EXPECT_EQ(plan_versions(before, {}).gone.size(), 4u);
    EXPECT_TRUE(plan_versions(now, now).rows.empty());
}

}  // namespace
}  // namespace sluice
