// SPDX-License-Identifier: LGPL-3.0-or-later
// What census asks of the database: in memory and on MariaDB the same calls give the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "db/memory/hr_census_store.h"
#include "tests/db/memory/both_databases.h"

namespace sluice::test {
namespace {

std::string census(HrCensusStore& store) {
    std::string all;
    for (const bool with_platforms : {false, true})
        for (const double credit : {-1.0, 5.0, 30.0}) {
            std::vector<std::string> hosts;
            store.hosts(credit, with_platforms, [&](const Host& h, const std::string& platform) {
                hosts.push_back(
                    fmt::format("{} {} {} {} [{}]", h.os_name, h.p_vendor, h.p_model, h.expavg_credit, platform));
            });
            std::sort(hosts.begin(), hosts.end());
            all += fmt::format("above {}: {}\n", credit, fmt::join(hosts, ", "));
        }
    return all;
}

/// Host 1 has no version, 2 one of each platform, 3 a newer one whose platform is gone, 4 one of its own.
TEST_F(BothDatabases, CensusSeesHostsWithCreditAndNewestPlatform) {
    for (Id id = 1; id <= 4; ++id) {
        Host& h = rows.hosts[id];
        h.os_name = fmt::format("os{}'", id), h.p_vendor = "vendor", h.p_model = "model";
        h.expavg_credit = id == 1 ? 5 : 10.0 * static_cast<double>(id);
    }
    rows.platforms[1] = {1, "linux", "Linux", false};
    rows.platforms[2] = {2, "windows", "Windows", true};
    for (Id id = 1; id <= 3; ++id) rows.versions[id].appid = 1, rows.versions[id].platformid = id;
    for (const auto& [host, version] : {std::pair<Id, Id>{2, 1}, {2, 2}, {3, 1}, {3, 3}, {4, 1'000'002}}) {
        HostAppVersion& row = rows.host_app_versions[{host, version}];
        row.host_id = host, row.app_version_id = version;
    }
    std::string said;
    const auto in_memory = [&](MemoryDb& mine) {
        MemoryHrCensusStore store(mine);
        return said = census(store);
    };
    same_on_both(
        in_memory, [](Database& db) { return census(*make_hr_census_store(db)); },
        [](const FakeDb& db) { return std::to_string(db.hosts.size()); });
    EXPECT_NE(said.find("above 30: os4' vendor model 40 []\n"), std::string::npos) << said;
    EXPECT_NE(said.find("os2' vendor model 20 [windows], os3' vendor model 30 [linux]"), std::string::npos) << said;
}

}  // namespace
}  // namespace sluice::test
