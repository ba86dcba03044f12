// SPDX-License-Identifier: LGPL-3.0-or-later
// The stores of size_regulator and size_census: in memory and on MariaDB the same calls give the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "db/memory/size_store.h"
#include "tests/db/memory/both_databases.h"

namespace sluice::test {
namespace {

struct SizeStores {
    SizeRegulatorStore& regulator;
    SizeCensusStore& census;
};

class SizeStoresContract : public BothDatabases {
  protected:
    SizeStoresContract() {
        for (Id id = 1; id <= 3; ++id) {
            App& app = rows.apps[id];
            app.id = id;
            app.name = fmt::format("app{}", id);
            app.n_size_classes = id == 1 ? 3 : 0;
            app.deprecated = id == 3;
        }
    }
    void job(Id app, ServerState state, int size_class, std::int64_t priority, int random) {
        const Id id = rows.workunits.next_key();
        Workunit& w = rows.workunits[id];
        w.id = id, w.appid = app, w.size_class = size_class, w.name = fmt::format("w{}", id);
        Result& r = rows.results[10 * id];
        r.id = 10 * id, r.workunitid = id, r.appid = app, r.name = w.name + "_0";
        r.server_state = state, r.size_class = size_class, r.priority = priority, r.random = random;
    }
    void same_on_both(const std::function<std::string(const SizeStores&)>& verbs) {
        BothDatabases::same_on_both(
            [&](MemoryDb& mine) {
                MemorySizeRegulatorStore regulator(mine);
                MemorySizeCensusStore census(mine);
                return verbs({regulator, census});
            },
            [&](Database& db) {
                const auto regulator = make_size_regulator_store(db);
                const auto census = make_size_census_store(db);
                return verbs({*regulator, *census});
            },
            [](const FakeDb& db) {
                std::string all;
                for (const auto& [id, r] : db.results)
                    all += fmt::format("result {} state {} class {}\n", id, static_cast<int>(r.server_state),
                                       r.size_class);
                for (const auto& [id, w] : db.workunits) all += fmt::format("workunit {} class {}\n", id, w.size_class);
                return all;
            });
    }
};

std::string text(const std::map<int, std::int64_t>& by_class) {
    std::string all;
    for (const auto& [c, n] : by_class) all += fmt::format("{}: {}, ", c, n);
    return all;
}

TEST_F(SizeStoresContract, AppsByName) {
    same_on_both([](const SizeStores& s) {
        std::string all;
        for (const char* name : {"app1", "app2", "app3", "none", ""}) {
            const auto app = s.regulator.app(name);
            all +=
                app ? fmt::format("{} {} {} {}\n", app->id, app->name, app->n_size_classes, app->deprecated) : "none\n";
        }
        for (const bool every : {false, true})
            for (const App& app : s.census.apps(every)) all += fmt::format("census {} {}\n", every, app.name);
        return all;
    });
}

TEST_F(SizeStoresContract, ReleasesInEachOrderWhatIsThere) {
    for (int i = 0; i < 24; ++i)
        job(i % 8 == 7 ? 2 : 1, i % 5 == 0 ? ServerState::kUnsent : ServerState::kInactive, i % 3, 100 - 7 * i % 30,
            i * 37 % 101);
    for (const ReleaseOrder order : {ReleaseOrder::kNone, ReleaseOrder::kPriorityAscending,
                                     ReleaseOrder::kPriorityDescending, ReleaseOrder::kPriorityThenWorkunit})
        same_on_both([order](const SizeStores& s) {
            std::string all = text(s.regulator.unsent(1));
            const auto decide = [&](const std::map<int, std::int64_t>& unsent) {
                all += text(unsent);
                return std::vector<std::pair<int, std::int64_t>>{{0, 2}, {2, 100}, {1, 0}, {7, 1}};
            };
            for (const std::int64_t n : s.regulator.release(1, order, decide)) all += fmt::format("released {}\n", n);
            return all + text(s.regulator.unsent(1)) + text(s.regulator.unsent(2));
        });
}

TEST_F(SizeStoresContract, ReleasesOfEachBatchTheLeastIds) {
    for (int i = 0; i < 40; ++i) {
        job(i % 8 == 7 ? 2 : 1, i % 5 == 0 ? ServerState::kUnsent : ServerState::kInactive, i % 3 - 1, 0, 0);
        rows.results.last().second.batch = i % 4;
    }
    same_on_both([](const SizeStores& s) {
        std::string all = fmt::format("{} places\n", s.regulator.places(1e9).size());
        for (int time = 0; time < 3; ++time) {
            std::string seen;  // by the last look
            const auto decide = [&](const std::vector<ClassQueue>& queues) {
                std::vector<QueueRelease> wanted;
                seen.clear();
                for (const ClassQueue& q : queues) {
                    seen += fmt::format("class {} batch {}: {} {}\n", q.size_class, q.batch, q.unsent, q.inactive);
                    wanted.push_back({q.size_class, q.batch, q.batch == 2 ? 100 : q.batch == 3 ? 0 : 2});
                }
                wanted.push_back({9, 9, 9});
                return wanted;
            };
            for (const auto& [c, n] : s.regulator.release_queues(1, 100, decide)) all += fmt::format("{}: {}, ", c, n);
            all += seen;
        }
        return all;
    });
}

TEST_F(SizeStoresContract, OrphansFindTheirClass) {
    for (int i = 0; i < 12; ++i) job(1, i % 2 == 0 ? ServerState::kUnsent : ServerState::kInactive, i % 6 - 1, 0, i);
    for (const int new_class : {1, -1})
        same_on_both([new_class](const SizeStores& s) {
            std::string all = text(s.regulator.orphans(1, 2));
            all += fmt::format("moved {}\n", s.regulator.reclassify(1, 2, new_class, 3));
            all += fmt::format("moved {}\n", s.regulator.reclassify(1, 2, new_class, 100));
            return all + text(s.regulator.orphans(1, 2));
        });
}

TEST_F(SizeStoresContract, SpeedsOfMeasuredVersionsOnHostsThatCount) {
    for (Id v = 1; v <= 3; ++v) {
        AppVersion& version = rows.versions[v];
        version.id = v, version.appid = v == 3 ? 2 : 1, version.plan_class = v == 2 ? "cuda" : "";
    }
    for (Id id = 1; id <= 6; ++id) {
        Host& h = rows.hosts[id];
        h.id = id, h.expavg_credit = 3.0 * static_cast<double>(id), h.on_frac = 0.5, h.active_frac = 0.25;
        h.gpu_active_frac = 0.125;
        for (const Id version : {Id{1}, Id{2}, Id{3}, Id{1000002}, Id{1000003}, Id{2000002}}) {
            HostAppVersion& v = rows.host_app_versions[{id, version}];
            v.host_id = id, v.app_version_id = version;
            v.et = {static_cast<double>(id % 3), 1e-9 * static_cast<double>(id), 0, 0};
        }
    }
    same_on_both([](const SizeStores& s) {
        std::multiset<std::string> lines;  // they may come in any order
        for (const double credit : {-1.0, 10.0})
            for (const bool anonymous : {false, true})
                s.census.speeds(1, credit, anonymous, [&](const SpeedRecord& r) {
                    lines.insert(fmt::format("{} {}: {} {} {} {} [{}] {}\n", credit, anonymous, r.et_avg, r.on_frac,
                                             r.active_frac, r.gpu_active_frac, r.plan_class, r.anonymous_type));
                });
        return fmt::format("{}", fmt::join(lines, ""));
    });
}

}  // namespace
}  // namespace sluice::test
