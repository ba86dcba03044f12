// SPDX-License-Identifier: LGPL-3.0-or-later
// What is broken -> what sluice health says of it. The same with real programs: tests/db/health.
#include "sched/health/judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

namespace sluice::test {
namespace {

constexpr double kNow = 1.8e9;

HealthFacts well() {
    HealthFacts facts;
    facts.now = kNow;
    facts.check = "/opt/bin/sluice check /p", facts.upgrade = "/opt/bin/sluice upgrade /p";
    facts.daemons = {{"feeder", false, 10, false, ""}, {"batches", false, 11, false, ""}};
    facts.life = {{"feeder", 10, 0, kNow - 3, kNow + 2, 0, ""},
                  {"batches", 11, 0, kNow - 20, kNow + 40, 0, ""},
                  {"batch_stats", 11, 0, kNow - 600, kNow + 40, 0, ""}};
    facts.tasks = {{"census", false, false, kNow - 3600, 86400}};
    facts.database.emplace();
    facts.database->apps.emplace_back().name = "up";
    facts.database->apps[0].unsent = 5;
    facts.database->apps[0].outcomes.last_hour.reported = 100;
    facts.database->apps[0].outcomes.last_hour.valid = 80;
    facts.database->apps[0].outcomes.day_before.reported = 900;
    facts.database->lock_waits.emplace();
    facts.disks.emplace_back().what = "uploads";
    facts.disks[0].path = "/p/upload";
    facts.disks[0].free = 50e9;
    facts.disks[0].total = facts.disks[0].total_inodes = 100e9;
    facts.disks[0].free_inodes = 90e9;
    facts.array = {"", 100, 90, kNow - 3};
    facts.replies.with_work = 30;
    facts.replies.without_work = 70;
    return facts;
}

struct Failure {
    const char* name;
    std::function<void(HealthFacts&)> plant;
    const char* id;
    Health health;
    const char* says;
};
void PrintTo(const Failure& failure, std::ostream* out) { *out << failure.name; }

AppHealth& app(HealthFacts& facts) { return facts.database->apps.at(0); }
Outcomes& hour(HealthFacts& facts) { return app(facts).outcomes.last_hour; }

const Failure kFailures[] = {
    {"Stopped", [](HealthFacts& f) { f.enabled = false; }, "project", Health::kBroken, "is stopped"},
    {"Reminder", [](HealthFacts& f) { f.reminders = {"log_levels is present"}; }, "project", Health::kDegraded,
     "log_levels"},
    {"Trigger", [](HealthFacts& f) { f.triggers = {"stop_sched is present"}; }, "project", Health::kBroken,
     "stop_sched"},
    {"Config", [](HealthFacts& f) { f.config_error = "config.xml: no </boinc>"; }, "project", Health::kBroken,
     "</boinc>"},
    {"RunState", [](HealthFacts& f) { f.run_state_error = "run_state.xml is empty"; }, "project", Health::kDegraded,
     "empty"},
    {"ForeignProgram", [](HealthFacts& f) { f.foreign_programs = "bin/feeder is BOINC's"; }, "project", Health::kBroken,
     "bin/feeder"},
    {"DaemonGone", [](HealthFacts& f) { f.daemons[0].pid = 0; }, "daemons", Health::kBroken, "'feeder' does not run"},
    {"DaemonStopped", [](HealthFacts& f) { f.daemons[0].stopped = true; }, "daemons", Health::kBroken, "hangs"},
    {"TurnLate", [](HealthFacts& f) { f.life[0].due = kNow - 40; }, "daemons", Health::kBroken, "40 s late"},
    {"LongTurn", [](HealthFacts& f) { f.life[0].began = kNow - 3600; }, "daemons", Health::kDegraded,
     "busy with one turn for 60 min"},
    {"TurnFails", [](HealthFacts& f) { f.life[0].failing = kNow - 600, f.life[0].error = "no table"; }, "daemons",
     Health::kBroken, "fails for 10 min: no table"},
    {"ServiceFails", [](HealthFacts& f) { f.life[2].failing = kNow - 60, f.life[2].error = "no plan"; }, "daemons",
     Health::kDegraded, "(batch_stats) fails for 60 s: no plan"},
    {"CantBeStarted", [](HealthFacts& f) { f.daemons[0].pid = 0, f.daemons[0].problem = "two share a lock"; },
     "daemons", Health::kBroken, "two share a lock"},
    {"NoDaemons", [](HealthFacts& f) { f.daemons.clear(); }, "daemons", Health::kDegraded, "no daemons"},
    {"TaskLate", [](HealthFacts& f) { f.tasks[0].last_run = kNow - 88000; }, "tasks", Health::kBroken, "'census'"},
    {"CronNeverRan", [](HealthFacts& f) { f.tasks[0].last_run = 0; }, "tasks", Health::kBroken, "no task ever ran"},
    {"NoAnswer", [](HealthFacts& f) { f.database.reset(); }, "database", Health::kBroken, "does not answer"},
    {"NoConnection", [](HealthFacts& f) { f.database->error = "Can't connect"; }, "database", Health::kBroken,
     "Can't connect"},
    {"ReadOnly", [](HealthFacts& f) { f.database->read_only = true; }, "database", Health::kBroken, "read-only"},
    {"Clock", [](HealthFacts& f) { f.database->clock_ahead = -300; }, "database", Health::kDegraded, "clocks"},
    {"LockHeld",
     [](HealthFacts& f) {
         f.database->lock_waits = {{40, 7, "web at www"}};
     },
     "database", Health::kDegraded, "connection 7 of web at www"},
    {"Schema", [](HealthFacts& f) { f.database->schema_errors = {"result.batch is missing"}; }, "database",
     Health::kBroken, "result.batch"},
    {"OneQuestionFails", [](HealthFacts& f) { f.database->errors = {"the apps: SELECT command denied"}; }, "database",
     Health::kBroken, "the apps: SELECT command denied"},
    {"NewerTables", [](HealthFacts& f) { f.database->tables = 99; }, "database", Health::kBroken,
     "tables sluice_* are of version 99"},
    {"SlowDatabase", [](HealthFacts& f) { f.database->unanswered = "results of up"; }, "database", Health::kDegraded,
     "results of up took too long"},
    {"NoArray", [](HealthFacts& f) { f.array.error = "there is no job array"; }, "supply", Health::kBroken,
     "no job array"},
    {"FeederSilent", [](HealthFacts& f) { f.array.heartbeat = kNow - 300; }, "supply", Health::kBroken, "5 min"},
    {"ArrayEmpty",
     [](HealthFacts& f) {
         f.array.present = 0, f.replies = {0, 10};
     },
     "supply", Health::kBroken, "is empty"},
    {"NoReply", [](HealthFacts& f) { f.scheduler_error = "nobody answers"; }, "scheduler", Health::kBroken,
     "nobody answers"},
    {"NoUploads", [](HealthFacts& f) { f.upload_error = "can't write"; }, "uploads", Health::kBroken, "can't write"},
    {"NoRoomForUploads", [](HealthFacts& f) { f.upload_error = "URL answers 'Server is out of disk space'"; },
     "uploads", Health::kBroken, "out of disk space"},
    {"NoRelay", [](HealthFacts& f) { f.relay_error = "www-data may not"; }, "scheduler", Health::kDegraded, "www-data"},
    {"Certificate", [](HealthFacts& f) { f.certificate_ends = kNow + 5 * 86400; }, "scheduler", Health::kDegraded,
     "ends in 5 days"},
    {"NobodyGetsWork", [](HealthFacts& f) { f.replies.with_work = 0; }, "scheduler", Health::kDegraded,
     "none of the last 70"},
    {"TransitionDue",
     [](HealthFacts& f) {
         f.database->to_transition = {3, kNow - 7200};
     },
     "flow", Health::kBroken, "due for 2 h"},
    {"ValidationLate",
     [](HealthFacts& f) {
         app(f).to_validate = {10, kNow - 7200};
     },
     "flow", Health::kDegraded, "10 workunits of up wait for a validator"},
    {"AssimilationLate",
     [](HealthFacts& f) {
         app(f).to_assimilate = {kMostCounted, kNow - 86400};
     },
     "flow", Health::kBroken, "10000 or more workunits of up wait for an assimilator"},
    {"DeletionLate",
     [](HealthFacts& f) {
         f.database->to_delete = {10, kNow - 7200};
     },
     "flow", Health::kDegraded, "file_deleter"},
    {"Unserved", [](HealthFacts& f) { f.database->unserved = {"app up has no validator"}; }, "flow", Health::kDegraded,
     "no validator"},
    {"DownloadErrors", [](HealthFacts& f) { hour(f).download_errors = 60; }, "results", Health::kBroken,
     "60 of 100 results of the last hour failed with a download error"},
    {"ComputeErrors", [](HealthFacts& f) { hour(f).compute_errors = 90; }, "results", Health::kBroken, "on the client"},
    {"ComputeErrorsOfTheFirstHour",
     [](HealthFacts& f) { hour(f).compute_errors = 90, app(f).outcomes.day_before = {}; }, "results", Health::kDegraded,
     "on the client"},
    {"Timeouts", [](HealthFacts& f) { hour(f).timeouts = 90; }, "results", Health::kDegraded, "too late"},
    {"AllInvalid", [](HealthFacts& f) { hour(f).valid = 0, hour(f).invalid = 50; }, "results", Health::kBroken,
     "none is valid"},
    {"DiskFull", [](HealthFacts& f) { f.disks[0].free = 1e8; }, "disks", Health::kBroken, "uploads (/p/upload)"},
    {"SmallDiskFull",
     [](HealthFacts& f) {
         f.disks[0].free = 150e6, f.disks[0].total = 1e9;  // 15 %
     },
     "disks", Health::kBroken, "uploads (/p/upload): 0.1 GB free"},
    {"DiskNearlyFull", [](HealthFacts& f) { f.disks[0].free = 5e9; }, "disks", Health::kDegraded, "5.0 GB free"},
    {"Inodes", [](HealthFacts& f) { f.disks[0].free_inodes = 1000; }, "disks", Health::kBroken, "1000 inodes"},
    {"FolderGone", [](HealthFacts& f) { f.disks[0].error = "No such file or directory"; }, "disks", Health::kBroken,
     "No such file"},
    {"DiskReadOnly", [](HealthFacts& f) { f.disks[0].read_only = true; }, "disks", Health::kBroken,
     "uploads (/p/upload): the file system is read-only"},
    {"NotMounted", [](HealthFacts& f) { f.disks[0].unmounted = "/p/upload"; }, "disks", Health::kBroken,
     "nothing is mounted"},
    {"Keys", [](HealthFacts& f) { f.key_errors = {"upload_public is another's"}; }, "keys", Health::kBroken,
     "another's"},
    {"CriticalLines",
     [](HealthFacts& f) {
         f.logs = {{"feeder.log", "no table", 3}};
     },
     "logs", Health::kDegraded, "feeder.log: 3 times in ten minutes: no table"},
};

class HealthJudgement : public testing::TestWithParam<Failure> {};

TEST_P(HealthJudgement, NamesTheFailureAndARemedy) {
    HealthFacts facts = well();
    GetParam().plant(facts);
    const auto checks = judge_health(facts);
    int not_well = 0;
    for (const HealthCheck& check : checks) {
        if (check.id != GetParam().id) {
            EXPECT_EQ(check.health, Health::kWell) << check.id << ": " << check.says;
            continue;
        }
        ++not_well;
        EXPECT_EQ(check.health, GetParam().health) << check.says;
        EXPECT_THAT(check.says, testing::HasSubstr(GetParam().says));
        EXPECT_NE(check.remedy, "");
    }
    EXPECT_EQ(not_well, 1);
    EXPECT_EQ(worst_of(checks), GetParam().health);
}

INSTANTIATE_TEST_SUITE_P(Each, HealthJudgement, testing::ValuesIn(kFailures),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(HealthyProject, RaisesNoAlarm) {
    for (const HealthCheck& check : judge_health(well())) {
        EXPECT_EQ(check.health, Health::kWell) << check.id << ": " << check.says;
        EXPECT_NE(check.says, "");
        EXPECT_EQ(check.remedy, "");
    }
}

TEST(HealthyProject, FewResultsAndRepliesProveNothing) {
    HealthFacts facts = well();
    hour(facts) = {};
    hour(facts).reported = hour(facts).compute_errors = 9;
    facts.replies = {0, 49};
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
}

TEST(HealthyProject, AnAppThatAlwaysFailsIsNoNews) {
    HealthFacts facts = well();
    hour(facts).compute_errors = 60;
    app(facts).outcomes.day_before.compute_errors = 500;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
}

TEST(HealthyProject, OthersWaitForTheServiceThatWorks) {
    HealthFacts facts = well();
    facts.life[1].began = kNow - 300;
    facts.life[2].due = kNow - 250;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
    facts.life[1].began = 0;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kBroken);
}

TEST(HealthyProject, JobsGoAsFastAsTheyCome) {
    HealthFacts facts = well();
    facts.array.present = 0;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
}

TEST(BrokenProject, WithoutADatabaseOneDaemonStandsForAll) {
    HealthFacts facts = well();
    for (LifeSign& sign : facts.life) sign.failing = kNow - 600, sign.error = "can't reach the database";
    const std::string each = judge_health(facts)[1].says;
    EXPECT_NE(each.find("reach", each.find("reach") + 1), each.npos) << each;
    facts.database->error = "can't reach the database";
    const HealthCheck daemons = judge_health(facts)[1];
    EXPECT_EQ(daemons.health, Health::kBroken);
    EXPECT_EQ(daemons.says.find("reach", daemons.says.find("reach") + 1), daemons.says.npos) << daemons.says;
    EXPECT_NE(daemons.says.find("more fail, too"), daemons.says.npos) << daemons.says;
    EXPECT_NE(daemons.remedy.find("the database first"), daemons.remedy.npos) << daemons.remedy;
}

TEST(HealthyProject, HasJobsTheFeederHasYetToSee) {
    HealthFacts facts = well();
    facts.array.present = 0, facts.replies = {0, 10};
    facts.database->apps[0].oldest_unsent = kNow - 60;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
    facts.database->apps[0].oldest_unsent = kNow - 300;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kBroken);
}

TEST(HealthyProject, IsNew) {
    HealthFacts facts = well();
    facts.tasks[0].last_run = 0;
    facts.born = kNow - 3600;
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
}

TEST(HealthyProject, RunsUpstreamsFeeder) {
    HealthFacts facts = well();
    facts.foreign_feeder = true;
    facts.array = {};
    EXPECT_EQ(worst_of(judge_health(facts)), Health::kWell);
}

TEST(HealthyProject, OthersWaitForTheServiceThatFails) {
    HealthFacts facts = well();
    facts.life[1].failing = kNow - 600;
    facts.life[1].error = "no connection";
    facts.life[2].due = kNow - 600;
    const auto checks = judge_health(facts);
    EXPECT_EQ(checks[1].says.find("late"), std::string::npos) << checks[1].says;
}

TEST(HealthRemedies, NameSystemdWhereItRunsTheDaemons) {
    HealthFacts facts = well();
    facts.daemons[0].pid = 0;
    facts.target = "sluice@tiles.target";
    for (const HealthCheck& check : judge_health(facts)) {
        if (check.id == "daemons") {
            EXPECT_EQ(check.remedy.find("as root: systemctl start sluice@tiles.target"), 0u);
        }
        EXPECT_EQ(check.remedy.find("bin/start --cron"), std::string::npos);
    }
}

}  // namespace
}  // namespace sluice::test
