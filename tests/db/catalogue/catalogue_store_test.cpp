// SPDX-License-Identifier: LGPL-3.0-or-later
// One suite for the store in memory and for MariaDB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/memory/catalogue_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

enum class Kind { kMemory, kMariaDb };

class Catalogue : public testing::TestWithParam<Kind> {
  protected:
    static void SetUpTestSuite() { PrivateMariaDb::shared().create_project_database("catalogue"); }
    void SetUp() override {
        if (GetParam() == Kind::kMariaDb) truncate_all_tables(db_);
    }

    CatalogueStore& store() {
        if (!store_) {
            if (GetParam() == Kind::kMemory) {
                store_ = std::make_unique<MemoryCatalogueStore>(rows.memory);
            } else {
                store_rows(db_, rows);
                store_ = make_catalogue_store(db_);
            }
        }
        return *store_;
    }
    FakeDb after() { return GetParam() == Kind::kMemory ? rows : load_rows(db_); }

    void app(Id id, int min_version = 0) {
        rows.apps[id] = {
            .id = id, .name = "app" + std::to_string(id), .user_friendly_name = "App", .min_version = min_version};
    }
    AppVersion& version(Id id, Id appid, Id platform, int num, const std::string& plan = "") {
        AppVersion& v = rows.versions[id];
        v.id = id, v.appid = appid, v.platformid = platform, v.version_num = num, v.plan_class = plan;
        return v;
    }
    void platform(Id id, bool deprecated = false) {
        rows.platforms[id] = {
            .id = id, .name = "p" + std::to_string(id), .user_friendly_name = "P", .deprecated = deprecated};
    }
    void host(Id id, double expavg_credit, double p_fpops) {
        Host& h = rows.hosts[id];
        h.id = id, h.expavg_credit = expavg_credit, h.p_fpops = p_fpops;
    }
    static std::vector<Id> ids_of(const auto& list) {
        std::vector<Id> ids;
        for (const auto& row : list) ids.push_back(row.id);
        return ids;
    }

    FakeDb rows;

  private:
    Database db_{PrivateMariaDb::shared().settings("catalogue")};
    std::unique_ptr<CatalogueStore> store_;
};

INSTANTIATE_TEST_SUITE_P(On, Catalogue, testing::Values(Kind::kMemory, Kind::kMariaDb),
                         [](const auto& which) { return which.param == Kind::kMemory ? "Memory" : "MariaDb"; });

/// What level 0 goes by.
ProcType by_name(const std::string& plan_class) { return proc_type_of_plan_class(plan_class.c_str()); }

TEST_P(Catalogue, EmptyProject) {
    const ProjectTables tables = store().load_tables();
    EXPECT_THAT(tables.platforms, IsEmpty());
    EXPECT_THAT(tables.apps, IsEmpty());
    EXPECT_THAT(tables.versions, IsEmpty());
    EXPECT_THAT(tables.broadcasts, IsEmpty());
    EXPECT_EQ(tables.perf.mean, 2.2e9);
    EXPECT_EQ(tables.perf.percentile95, 3.3e9);
    EXPECT_EQ(store().update_credit_scales(by_name), 0);
}

/// Of group 1 two workunits are not released, of 2 none is, 3 has been without work for long.
TEST_P(Catalogue, FileGroupsAreKept) {
    constexpr std::int64_t kDay = 86400, kNow = 100 * kDay;
    for (const Id id : {4, 5, 6, 7}) {
        Workunit& w = rows.workunits[id];
        w.id = id, w.name = "w" + std::to_string(id);
        w.assimilate_state = id == 5 ? AssimilateState::kInit : AssimilateState::kDone;  // 6: a host has a result
        w.file_delete_state = id == 7 ? FileDeleteState::kReady : FileDeleteState::kInit;
    }
    rows.file_groups[1] = {.name = "z\xff'", .id = 1};
    rows.file_groups[2] = {.name = "A", .id = 2};
    rows.file_groups[3] = {.name = "a", .id = 3, .idle_since = kNow - 90 * kDay - 1};
    rows.group_workunits = {{{1, 4}, true}, {{1, 6}, true}, {{1, 7}, true}, {{2, 8}, true}};  // 8 was purged
    const auto text = [](const std::vector<FileGroup>& groups) {
        std::string all;
        for (const FileGroup& g : groups)
            all += g.name + " " + std::to_string(g.id) + " " + std::to_string(g.first) + "-" + std::to_string(g.last) +
                   " " + std::to_string(g.idle_since) + "; ";
        return all;
    };
    const std::string before = "A 2 8-8 0; a 3 0-0 " + std::to_string(kNow - 90 * kDay - 1) + "; z\xff' 1 4-7 0; ";
    EXPECT_EQ(text(store().load_tables().file_groups), before);
    const std::string kept = "A 2 0-0 " + std::to_string(kNow) + "; z\xff' 1 4-6 0; ";
    EXPECT_EQ(text(store().keep_file_groups(kNow)), kept);
    EXPECT_EQ(text(store().keep_file_groups(kNow + 5)), kept) << "idle since then, not since now";
    EXPECT_FALSE(store().load_tables().file_group("A")->over(kNow + 3599));
    EXPECT_TRUE(store().load_tables().file_group("A")->over(kNow + 3600));
    EXPECT_EQ(store().load_tables().file_group("b"), nullptr);
}

/// Two nodes of a cluster: one noted that there is no work while jobs came on the other.
TEST_P(Catalogue, AFileGroupWithWorkIsNotIdle) {
    rows.workunits[4].id = 4;
    rows.file_groups[1] = {.name = "a", .id = 1, .idle_since = 1};
    rows.group_workunits = {{{1, 4}, true}};
    EXPECT_EQ(store().load_tables().file_groups.at(0).idle_since, 0);
    EXPECT_EQ(store().keep_file_groups(100 * 86400).at(0).idle_since, 0) << "and it is not forgotten";
}

TEST_P(Catalogue, EveryColumnOfAnAppAndAVersion) {
    platform(3);
    App& a = rows.apps[7];
    a = {.id = 7,
         .name = "tiles",
         .user_friendly_name = "Tiles",
         .min_version = 100,
         .homogeneous_redundancy = HrType::kCoarse,
         .weight = 2.5,
         .beta = true,
         .target_nresults = 2,
         .min_avg_pfc = 0.7,
         .host_scale_check = true,
         .homogeneous_app_version = true,
         .non_cpu_intensive = true,
         .locality_scheduling = 1,
         .n_size_classes = 3,
         .fraction_done_exact = true};
    AppVersion& v = version(9, 7, 3, 120, "cuda");
    v.xml_doc = std::string("<app_version>\0'\xff", 17);
    v.min_core_version = 716, v.max_core_version = 80200, v.beta = true;
    v.pfc_n = 150, v.pfc_avg = 0.25, v.pfc_scale = 1.5, v.expavg_credit = 12.5, v.expavg_time = 1.7e9;
    const ProjectTables tables = store().load_tables();
    ASSERT_EQ(tables.apps.size(), 1u);
    const App& b = tables.apps[0];
    EXPECT_EQ(std::tie(b.name, b.min_version, b.homogeneous_redundancy, b.weight, b.beta, b.target_nresults),
              std::tie(a.name, a.min_version, a.homogeneous_redundancy, a.weight, a.beta, a.target_nresults));
    EXPECT_EQ(std::tie(b.user_friendly_name, b.min_avg_pfc, b.host_scale_check, b.homogeneous_app_version,
                       b.non_cpu_intensive),
              std::tie(a.user_friendly_name, a.min_avg_pfc, a.host_scale_check, a.homogeneous_app_version,
                       a.non_cpu_intensive));
    EXPECT_EQ(std::tie(b.locality_scheduling, b.n_size_classes, b.fraction_done_exact),
              std::tie(a.locality_scheduling, a.n_size_classes, a.fraction_done_exact));
    ASSERT_EQ(tables.versions.size(), 1u);
    const AppVersion& w = tables.versions[0];
    EXPECT_EQ(w.xml_doc, rows.versions[9].xml_doc);
    EXPECT_EQ(w.min_core_version, 71600) << "the short form of an old row";
    EXPECT_EQ(w.max_core_version, 80200);
    EXPECT_EQ(
        std::tie(w.plan_class, w.version_num, w.pfc_n, w.pfc_avg, w.pfc_scale, w.expavg_credit, w.expavg_time, w.beta),
        std::tie(rows.versions[9].plan_class, rows.versions[9].version_num, rows.versions[9].pfc_n,
                 rows.versions[9].pfc_avg, rows.versions[9].pfc_scale, rows.versions[9].expavg_credit,
                 rows.versions[9].expavg_time, rows.versions[9].beta));
}

TEST_P(Catalogue, DeprecatedRowsAndTheirVersionsStayOut) {
    platform(1);
    platform(2, true);
    app(1);
    app(2);
    rows.apps[2].deprecated = true;
    version(1, 1, 1, 100);
    version(2, 1, 2, 100);
    version(3, 2, 1, 100);
    version(4, 1, 1, 300).deprecated = true;
    version(5, 99, 1, 100);
    const ProjectTables tables = store().load_tables();
    EXPECT_THAT(ids_of(tables.platforms), ElementsAre(1));
    EXPECT_THAT(ids_of(tables.apps), ElementsAre(1));
    EXPECT_THAT(ids_of(tables.versions), ElementsAre(1)) << "a deprecated newer version does not count as newest";
}

TEST_P(Catalogue, InactiveJobsOfAppsWithoutSizeClasses) {
    for (Id id = 1; id <= 3; ++id) app(id);
    rows.apps[2].n_size_classes = 3, rows.apps[3].deprecated = true;
    const auto result = [&](Id id, Id app_id, ServerState state, int size_class) {
        Result& r = rows.results[id];
        r.id = id, r.appid = app_id, r.server_state = state, r.size_class = size_class,
        r.name = "r" + std::to_string(id);
    };
    result(1, 1, ServerState::kInactive, -1), result(2, 1, ServerState::kInactive, 2);
    result(3, 1, ServerState::kInactive, 2), result(4, 1, ServerState::kUnsent, 1);
    result(5, 2, ServerState::kInactive, 7), result(6, 3, ServerState::kInactive, 0);
    std::vector<std::tuple<Id, int, std::int64_t>> found;
    for (const auto& i : store().inactive_for_ever()) found.emplace_back(i.appid, i.size_class, i.jobs);
    EXPECT_THAT(found, ElementsAre(std::tuple(1, -1, 1), std::tuple(1, 2, 2)));
}

TEST_P(Catalogue, InactiveJobsOfClassesWithoutUnsentOnes) {
    for (Id id = 1; id <= 4; ++id) app(id);
    rows.apps[1].n_size_classes = 3, rows.apps[2].n_size_classes = 2, rows.apps[3].n_size_classes = 2;
    rows.apps[3].deprecated = true;  // app 4 has no classes
    Id next = 0;
    const auto result = [&](Id app_id, ServerState state, int size_class) {
        Result& r = rows.results[++next];
        r.id = next, r.appid = app_id, r.server_state = state, r.size_class = size_class;
        r.name = "r" + std::to_string(next);
    };
    result(1, ServerState::kInactive, -1), result(1, ServerState::kInactive, 0), result(1, ServerState::kInactive, 0);
    result(1, ServerState::kInactive, 2), result(1, ServerState::kUnsent, 2), result(1, ServerState::kInProgress, 0);
    result(2, ServerState::kUnsent, 0), result(3, ServerState::kInactive, 0), result(4, ServerState::kInactive, 0);
    std::vector<std::tuple<Id, int, std::int64_t>> found;
    for (const auto& i : store().inactive_and_none_unsent()) found.emplace_back(i.appid, i.size_class, i.jobs);
    EXPECT_THAT(found, ElementsAre(std::tuple(1, -1, 1), std::tuple(1, 0, 2)));
}

TEST_P(Catalogue, WithoutMinVersionOnlyTheNewestPerClass) {
    platform(1);
    platform(2);
    app(1);
    version(1, 1, 1, 100);
    version(2, 1, 1, 200);
    version(3, 1, 1, 150, "mt");
    version(4, 1, 2, 100);
    version(5, 1, 1, 140, "mt");
    const ProjectTables tables = store().load_tables();
    EXPECT_THAT(ids_of(tables.versions), ElementsAre(2, 3, 4));
    for (const auto& v : tables.versions) EXPECT_FALSE(v.deprecated);
}

TEST_P(Catalogue, CutNewVersionLeavesOlderOnesTheirWork) {
    platform(1);
    app(1);
    version(1, 1, 1, 100).xml_doc = "<app_version>\n</app_version>\n";
    version(2, 1, 1, 101).xml_doc = "<app_version>\n<file_ref>";
    version(3, 1, 1, 99).xml_doc = "<app_version>\n</app_version>\n";
    const ProjectTables tables = store().load_tables();
    EXPECT_THAT(ids_of(tables.versions), ElementsAre(1, 2)) << "the cut one stays, so that the feeder can name it";
    for (const auto& v : tables.versions) EXPECT_FALSE(v.deprecated);
}

TEST_P(Catalogue, WithMinVersionOlderOnesServePinnedJobs) {
    platform(1);
    app(1, 120);
    version(1, 1, 1, 100);
    version(2, 1, 1, 120);
    version(3, 1, 1, 200);
    const ProjectTables tables = store().load_tables();
    ASSERT_THAT(ids_of(tables.versions), ElementsAre(2, 3));
    EXPECT_TRUE(tables.versions[0].deprecated);
    EXPECT_FALSE(tables.versions[1].deprecated);
}

TEST_P(Catalogue, AllVersionsOfHomogeneousAppsServeCommittedJobs) {
    platform(1);
    app(1, 150);
    rows.apps[1].homogeneous_app_version = true;
    version(1, 1, 1, 100);
    version(2, 1, 1, 200);
    version(3, 1, 1, 300).deprecated = true;
    const ProjectTables tables = store().load_tables();
    ASSERT_THAT(ids_of(tables.versions), ElementsAre(1, 2, 3));
    EXPECT_TRUE(tables.versions[0].deprecated) << "below min_version";
    EXPECT_FALSE(tables.versions[1].deprecated);
    EXPECT_TRUE(tables.versions[2].deprecated);
}

TEST_P(Catalogue, BroadcastsOnly) {
    rows.assignments[1] = {
        .id = 1, .target_id = 5, .target_type = AssignTarget::kHost, .multi = false, .workunitid = 4};
    rows.assignments[2] = {
        .id = 2, .target_id = 6, .target_type = AssignTarget::kTeam, .multi = true, .workunitid = 8, .resultid = 0};
    const ProjectTables tables = store().load_tables();
    ASSERT_THAT(ids_of(tables.broadcasts), ElementsAre(2));
    EXPECT_EQ(tables.broadcasts[0].target_id, 6);
    EXPECT_EQ(tables.broadcasts[0].target_type, AssignTarget::kTeam);
    EXPECT_EQ(tables.broadcasts[0].workunitid, 8);
}

TEST_P(Catalogue, AnyNumberOfRows) {
    for (Id i = 1; i <= 60; ++i) platform(i);
    for (Id i = 1; i <= 12; ++i) app(i);
    for (Id i = 0; i < 300; ++i) version(i + 1, 1 + i % 12, 1 + i % 60, 100, "class" + std::to_string(i));
    const ProjectTables tables = store().load_tables();
    EXPECT_EQ(tables.platforms.size(), 60u);
    EXPECT_EQ(tables.apps.size(), 12u);
    EXPECT_EQ(tables.versions.size(), 300u);
}

TEST_P(Catalogue, HostStatisticsCountRecentlyActiveHosts) {
    for (Id i = 1; i <= 20; ++i) host(i, 11, static_cast<double>(i) * 1e9);
    host(21, 10, 1e15);
    const HostPerfInfo perf = store().load_tables().perf;
    EXPECT_DOUBLE_EQ(perf.mean, 10.5e9);
    EXPECT_NEAR(perf.stddev, 5.766281297335398e9, 1);
    EXPECT_DOUBLE_EQ(perf.median, 11e9);
    EXPECT_DOUBLE_EQ(perf.percentile95, 20e9);
}

// The feeder reads its tables while slots wait to be filled: however many hosts a project has, few are looked at.
TEST_P(Catalogue, StatisticsOfManyHostsLookAtFew) {
    if (GetParam() != Kind::kMariaDb) return;  // in memory nothing is read from a disk
    constexpr int kHosts = 100000;
    host(1, 11, 1e6);
    store();
    Database db(PrivateMariaDb::shared().settings("catalogue"));
    Sql names;
    for (const auto& row : rows_of(db,
                                   Sql("SELECT column_name FROM information_schema.columns WHERE table_schema="
                                       "DATABASE() AND table_name='host' AND column_name NOT IN ('id','p_fpops')"),
                                   1)) {
        names << ", ";
        names.identifier(row[0]);
    }
    Sql many("INSERT INTO host (id, p_fpops");
    many << names << ") SELECT s.seq, s.seq*1e6" << names << " FROM host JOIN seq_2_to_" << kHosts << " s WHERE id=1";
    db.execute(many);
    const auto few = make_catalogue_store(db);
    db.execute(Sql("FLUSH STATUS"));
    const HostPerfInfo perf = few->load_tables().perf;
    EXPECT_LT(number_of(db, Sql("SELECT SUM(variable_value) FROM information_schema.session_status WHERE variable_name "
                                "LIKE 'Handler_read%'")),
              45000)
        << "20,000 of the table, and once more from what they are put together in; all of it would be 100,000";
    const double whole = kHosts * 1e6;
    EXPECT_NEAR(perf.mean, whole / 2, whole / 50);
    EXPECT_NEAR(perf.stddev, whole * 0.2887, whole / 50);
    EXPECT_NEAR(perf.median, whole / 2, whole / 50);
    EXPECT_NEAR(perf.percentile95, whole * 0.95, whole / 50);
}

TEST_P(Catalogue, NineHostsAreNoStatistics) {
    for (Id i = 1; i <= 9; ++i) host(i, 100, 5e9);
    EXPECT_EQ(store().load_tables().perf.mean, 2.2e9);
}

// update_av_scales: what the mean claim becomes, from the versions (CPU or GPU, samples, mean claim) of an app.
struct ScaleCase {
    std::string name;
    struct V {
        const char* plan;
        double n, avg;
    };
    std::vector<V> versions;
    double measure;  ///< 0: nothing changes
};
TEST_P(Catalogue, CreditScales) {
    const std::vector<ScaleCase> cases = {
        {"both kinds: the lower mean", {{"", 200, 2.0}, {"cuda", 300, 6.0}}, 2.0},
        {"both kinds, GPU lower", {{"", 200, 2.0}, {"cuda", 300, 0.5}}, 0.5},
        {"weighted by samples", {{"", 300, 1.0}, {"mt", 101, 5.0}}, (300 * 1.0 + 101 * 5.0) / 401},
        {"one CPU version alone is no measure", {{"", 200, 2.0}}, 0},
        {"GPU alone: a tenth", {{"cuda", 200, 4.0}}, 0.4},
        {"100 samples are not more than 100", {{"", 100, 2.0}, {"mt", 100, 3.0}}, 0},
        {"too few samples do not count", {{"", 200, 2.0}, {"mt", 200, 4.0}, {"vbox", 50, 100.0}}, 3.0},
        {"claims of zero", {{"", 200, 0}, {"mt", 200, 0}}, 0},
    };
    platform(1);
    Id vid = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        app(static_cast<Id>(i + 1));
        for (const auto& v : cases[i].versions) {
            ++vid;
            AppVersion& row = version(vid, static_cast<Id>(i + 1), 1, 100 + static_cast<int>(vid), v.plan);
            row.pfc_n = v.n, row.pfc_avg = v.avg, row.pfc_scale = 0;
        }
    }
    EXPECT_GT(store().update_credit_scales(by_name), 0);
    const FakeDb result = after();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const ScaleCase& c = cases[i];
        const Id appid = static_cast<Id>(i + 1);
        EXPECT_DOUBLE_EQ(result.apps.at(appid).min_avg_pfc, c.measure == 0 ? 1 : c.measure) << c.name;
        for (const auto& [id, v] : result.versions) {
            if (v.appid != appid) continue;
            const double scale = c.measure == 0 || v.pfc_n < 100 ? 0 : c.measure / v.pfc_avg;
            EXPECT_DOUBLE_EQ(v.pfc_scale, scale) << c.name;
        }
    }
    EXPECT_EQ(store().update_credit_scales(by_name), 0) << "nothing left to change";
}

// A class that is for a GPU may be called as one likes.
TEST_P(Catalogue, ANameDoesNotMakeAGpuVersion) {
    platform(1);
    for (const Id id : {1, 2}) {
        app(id);
        AppVersion& v = version(id, id, 1, 100, id == 1 ? "fast" : "cuda_on_cpu");
        v.pfc_n = 200, v.pfc_avg = 4, v.pfc_scale = 0;
    }
    const auto resource = [](const std::string& plan_class) {
        return plan_class == "fast" ? ProcType::kNvidia : ProcType::kCpu;
    };
    EXPECT_EQ(store().update_credit_scales(resource), 2);
    const FakeDb result = after();
    EXPECT_DOUBLE_EQ(result.apps.at(1).min_avg_pfc, 0.4) << "GPU alone: a tenth";
    EXPECT_DOUBLE_EQ(result.apps.at(2).min_avg_pfc, 1) << "one CPU version alone is no measure";
}

TEST_P(Catalogue, ARefreshOfScalesKeepsWhatLoadingDecided) {
    platform(1);
    app(1, 100);
    AppVersion& old = version(1, 1, 1, 100, "mt");
    old.pfc_n = 200, old.pfc_avg = 1, old.min_core_version = 716;
    AppVersion& young = version(2, 1, 1, 200, "mt");
    young.pfc_n = 200, young.pfc_avg = 3;
    EXPECT_EQ(store().update_credit_scales(by_name), 3);
    const ProjectTables tables = store().load_tables();
    ASSERT_EQ(tables.versions.size(), 2u);
    EXPECT_TRUE(tables.versions[0].deprecated);
    EXPECT_EQ(tables.versions[0].min_core_version, 71600);
    EXPECT_DOUBLE_EQ(tables.versions[0].pfc_scale, 2);
    EXPECT_EQ(after().versions.at(1).min_core_version, 716) << "the row itself keeps its form";
}

}  // namespace
}  // namespace sluice::test
