// SPDX-License-Identifier: LGPL-3.0-or-later
// Daemons that options and data need and config.xml lacks: sluice_options --check and sluice_batch submit name them.
#include "config/options/daemon_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

constexpr DataForDaemons kBatches{.batches = true}, kGangs{.batches = true, .gangs = true};

Lines told(const ProjectConfig& config, const DataForDaemons& data, const std::string& entries = "") {
    return missing_daemons(config, data,
                           parse_daemons_and_tasks("<boinc><config/>" + entries + "</boinc>", "config.xml"));
}
std::string daemons(const Lines& commands, const std::string& more = "") {
    std::string text;
    for (const std::string& cmd : commands) text += "<daemon><cmd>" + cmd + "</cmd>" + more + "</daemon>";
    return "<daemons>" + text + "</daemons>";
}
auto names(const std::string& program) {
    return AllOf(HasSubstr("but " + program + " is not among the <daemons>"),
                 HasSubstr("add <daemon><cmd>" + (program == "gang_hub" ? program : "batches") + "</cmd></daemon>"));
}

TEST(MissingDaemons, WithBatchesTheRulesNeedTheirs) {
    EXPECT_THAT(told(default_config(1), {}), IsEmpty()) << "a project without batches has nothing to lose";
    EXPECT_THAT(told(default_config(1), kBatches),
                ElementsAre(names("batch_upkeep"), names("batch_shares"), names("batch_planner")));
    EXPECT_THAT(told(default_config(1), kGangs),
                ElementsAre(names("batch_upkeep"), names("batch_shares"), names("batch_planner"),
                            HasSubstr("add <daemon><cmd>gang_planner</cmd></daemon>"), names("gang_hub")));
}

TEST(MissingDaemons, OnlyEffectiveValuesCount) {
    EXPECT_THAT(told(default_config(0), kBatches), IsEmpty()) << "upstream has no such daemons";
    ProjectConfig config = default_config(0);
    config.plan_batches = true;
    EXPECT_THAT(told(config, kBatches), ElementsAre(names("batch_upkeep"), names("batch_planner")));
    config = default_config(0);
    config.share_rule = ShareOrder::kSeed;
    EXPECT_THAT(told(config, kBatches), ElementsAre(names("batch_upkeep"), names("batch_shares")));
    config = default_config(0);
    config.batch_stop_failing = true;
    EXPECT_THAT(told(config, kBatches), ElementsAre(names("batch_watch")));
    config = default_config(0);
    config.gang_hub = "project.example.org:8077";
    EXPECT_THAT(told(config, {}), ElementsAre(names("gang_planner"), names("gang_hub")));
}

TEST(MissingDaemons, BatchesRunsAllThatAreEnabled) {
    ProjectConfig config = default_config(1);
    EXPECT_THAT(told(config, kBatches, daemons({"batches"})), IsEmpty());
    EXPECT_THAT(told(config, kBatches, daemons({"batches --dry_run"})), testing::SizeIs(3));
    EXPECT_THAT(told(config, kGangs, daemons({"batches", "gang_hub"})),
                ElementsAre(HasSubstr("add <daemon><cmd>gang_planner</cmd></daemon>")))
        << "without <gang_hub> it gathers no hosts";
    config.gang_hub = "project.example.org:8077";
    EXPECT_THAT(told(config, kGangs, daemons({"batches", "gang_hub"})), IsEmpty());
}

TEST(MissingDaemons, AnyWayOfRunningCounts) {
    const ProjectConfig config = default_config(1);
    EXPECT_THAT(told(config, kGangs,
                     daemons({"batch_upkeep", "../bin/batch_shares --page x.html", "nice -n 5 batch_planner",
                              "gang_planner -d 3", "gang_hub"})),
                IsEmpty());
    EXPECT_THAT(told(config, kBatches,
                     daemons({"batch_upkeep", "batch_shares"}) +
                         "<tasks><task><cmd>batch_planner --one_pass</cmd><period>1 min</period></task></tasks>"),
                IsEmpty());
    EXPECT_THAT(told(config, kBatches, daemons({"batch_upkeep", "batch_shares", "batch_planner --dry_run"})),
                ElementsAre(names("batch_planner")));
    EXPECT_THAT(
        told(config, kBatches, daemons({"batch_upkeep", "batch_shares", "batch_planner"}, "<disabled>1</disabled>")),
        testing::SizeIs(3));
}

TEST(MissingTasks, WhatANewProjectHasIsAdvised) {
    const test::TempDir project;
    std::filesystem::create_directory(project / "bin");
    const auto advice = [&](const std::string& entries) {
        return missing_tasks(parse_daemons_and_tasks("<boinc><config/>" + entries + "</boinc>", "config.xml"),
                             project.path());
    };
    EXPECT_THAT(advice(""), testing::Each(HasSubstr("make_project --renew_programs " + project.path().string())))
        << "nobody can run a task whose program is not there";
    for (const char* name : {"rotate_logs", "update_stats", "antique_file_deleter"})
        std::ofstream(project / "bin" / name);
    const auto names_task = [](const std::string& program, const std::string& period) {
        return AllOf(testing::StartsWith(program + " is not among the <tasks>: "),
                     HasSubstr("<task><cmd>" + program + "</cmd><period>" + period + "</period></task>"));
    };
    EXPECT_THAT(advice(""), ElementsAre(names_task("rotate_logs", "1 hour"), names_task("update_stats", "1 days"),
                                        names_task("antique_file_deleter", "24 hours")));
    EXPECT_THAT(advice("<tasks><task><cmd>update_stats --update_users</cmd></task><task><cmd>nice rotate_logs</cmd>"
                       "<disabled>1</disabled></task></tasks>" +
                       daemons({"../bin/antique_file_deleter -d 2"})),
                IsEmpty())
        << "who disabled one has decided";
}

}  // namespace
}  // namespace sluice
