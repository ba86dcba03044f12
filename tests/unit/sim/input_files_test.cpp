// SPDX-License-Identifier: LGPL-3.0-or-later
// Sticky files of simulated jobs and hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/sim/fleet.h"
#include "sched/sim/input_files.h"

namespace sluice::sim {
namespace {

using testing::ElementsAre;

std::string document(const std::string& file, int bytes) {
    return "<file_info><name>" + file + "</name><nbytes>" + std::to_string(bytes) + "</nbytes><sticky/></file_info>";
}

std::vector<std::string> names_on(const FilesOnHost& host) {
    std::vector<StickyFile> files;
    host.tell(files);
    std::vector<std::string> names;
    for (const StickyFile& f : files) names.push_back(f.name);
    return names;
}

TEST(FilesOnHost, AreDownloadedOnceAndEvictedForRoom) {
    FilesOnHost host(100);
    EXPECT_EQ(host.take(document("a", 40)).bytes, 40);
    EXPECT_EQ(host.take(document("b", 40)).there, 0);
    const Download again = host.take(document("a", 40));
    EXPECT_EQ(again.bytes, 0);
    EXPECT_EQ(again.there, 1);
    EXPECT_THAT(names_on(host), ElementsAre("b", "a"));
    host.take(document("c", 40));
    EXPECT_THAT(names_on(host), ElementsAre("a", "c")) << "b was needed least lately";
    host.take(document("huge", 1000));
    EXPECT_THAT(names_on(host), ElementsAre("huge")) << "what the job needs is there, whatever its size";
    host.remove({"huge", "unknown"});
    EXPECT_EQ(host.take(document("d", 90)).files, 1);
    EXPECT_THAT(names_on(host), ElementsAre("d"));
    EXPECT_EQ(host.take("<workunit></workunit>").files, 0);
}

TEST(FileSource, GivesOpenFilesInTurnThenNew) {
    MemoryDb db;
    FileSource source({.open = 2, .jobs = 2, .megabytes = 3}, 7);
    const AppSpec app{.locality = 1};
    std::vector<std::string> files;
    for (Id id = 1; id <= 6; ++id) {
        Workunit job;
        job.id = id;
        source.give(job, app, db);
        FilesOnHost host(1e9);
        EXPECT_EQ(host.take(job.xml_doc).bytes, 3e6);
        files.push_back(names_on(host).at(0));
    }
    EXPECT_THAT(files, ElementsAre("f7_0", "f7_1", "f7_0", "f7_1", "f7_2", "f7_3"));
    EXPECT_EQ(db.file_groups.rows().size(), 4u);
    EXPECT_NE(db.group_workunits.get({1, 3}), nullptr);
}

/// The whole run: an app for locality downloads less, and the same run again downloads the same.
TEST(SimulatedFiles, LocalitySparesDownloads) {
    Scenario scenario = parse_scenario(json::parse(
        R"({"days": 5, "config": {"shmem_work_items": 30}, "fleet": {"hosts": 8, "files_gb": 0.5, "bad_hosts": 0, "lifetime_days": 0},
            "apps": [{"name": "app", "locality": 1}],
            "work": [{"kind": "stream", "keep": 300, "files": {"open": 100, "jobs": 20, "megabytes": 100}}]})",
        "test"));
    const auto figures = [&] { return simulate_fleet(scenario, SimulationOptions{.seed = 1}).more; };
    const auto with = figures();
    EXPECT_EQ(figures(), with);
    EXPECT_GT(with.at("file_hits"), 0.5);
    EXPECT_NEAR(with.at("downloaded_mb_per_job"), 100 * (1 - with.at("file_hits")), 1e-6);
    scenario.apps[0].locality = 0;
    const auto without = figures();
    EXPECT_LT(with.at("downloaded_mb_per_job"), without.at("downloaded_mb_per_job") / 2);
}

}  // namespace
}  // namespace sluice::sim
