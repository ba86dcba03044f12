// SPDX-License-Identifier: LGPL-3.0-or-later
// Filling: orders, shares, quotas, stale jobs. Rotation: rotation_test.cpp.
#include "tests/shmem/feeder/feeder_turns.h"
#include "sluice/base/log.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(FeederTurns, FillsThenIsReady) {
    for (Id id = 1; id <= 15; ++id) job(id);
    start();
    EXPECT_TRUE(array_->ready());
    EXPECT_THAT(jobs(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ(send(2), (std::vector<Id>{1, 2}));
    run(0);
    EXPECT_THAT(jobs(), UnorderedElementsAre(3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_F(FeederTurns, JobsThatAreNotNeededLeaveNoGaps) {
    for (Id id = 1; id <= 8; ++id) job(id);
    db_.workunits[2].error_mask = 16, db_.workunits[3].canonical_resultid = 99, db_.workunits[7].error_mask = 2;
    start();
    EXPECT_THAT(jobs(), testing::ElementsAre(1, 4, 5, 6, 8));
    for (std::uint32_t slot = 0; slot < 10; ++slot)
        EXPECT_EQ(array_->state(slot), slot < 5 ? SlotState::kPresent : SlotState::kEmpty) << slot;
}

TEST_F(FeederTurns, BatchAccelKeepsBothKindsOfEachApp) {
    config_.shmem_work_items = 20;
    options_.order = FeederOrder::kBatchAccel;
    options_.allapps = true;
    db_.apps[3].weight = 0;
    for (Id id = 1; id <= 100; ++id) job(id, 1, 1);
    for (Id id = 101; id <= 200; ++id) job(id, 0, 2);
    start();
    for (Id id = 201; id <= 300; ++id) job(id, 0, 1);  // now app 1 has both, app 2 still not
    run(15);
    int high = 0, low = 0;
    for (const Id id : jobs()) {
        if (db_.results[id].appid == 1) ++(id <= 100 ? high : low);
    }
    EXPECT_EQ(high, 5);
    EXPECT_EQ(low, 5);
    const auto before = jobs();
    run(5);
    EXPECT_EQ(jobs(), before) << "no job is moved to and fro";
}

TEST_F(FeederTurns, PurgeStaleFreesHrClassesAsUpstreamLevel0) {
    options_.purge_stale = 60;
    options_.rotate_after = 0;
    for (Id id = 1; id <= 4; ++id) job(id);
    db_.workunits[2].hr_class = 258;
    start();
    run(50);
    EXPECT_EQ(db_.workunits[2].hr_class, 258);
    run(20);
    EXPECT_EQ(db_.workunits[2].hr_class, 0);
    EXPECT_EQ(db_.workunits[2].target_nresults, 2);
    EXPECT_EQ(db_.workunits[1].target_nresults, 1);
    run(10);
    EXPECT_THAT(jobs(), UnorderedElementsAre(1, 2, 3, 4)) << "nobody else wanted the places";
}

TEST_F(FeederTurns, PurgeStaleAtLevel1MakesNoExtraInstance) {
    config_.compat_level = 1;
    options_.purge_stale = 60;
    job(1), job(2);
    db_.workunits[1].hr_class = db_.workunits[2].hr_class = 258;
    job(50);
    db_.results[50].workunitid = 2, db_.results[50].server_state = ServerState::kInProgress;
    start();
    run(70);
    EXPECT_EQ(db_.workunits[1].hr_class, 0);
    EXPECT_EQ(db_.workunits[1].target_nresults, 1);
    EXPECT_EQ(db_.workunits[2].hr_class, 258) << "an instance of it is running on that class";
}

TEST_F(FeederTurns, BatchAccelKeepsBothKindsWhateverIsTaken) {
    options_.order = FeederOrder::kBatchAccel;
    options_.accel_share = 0.4;
    for (Id id = 1; id <= 300; ++id) job(id, id <= 100 ? 1 : 0);
    start();
    for (int step = 0; step < 15; ++step) {
        const auto ids = jobs();
        EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](Id id) { return id <= 100; }), 4) << step;
        send(6, [](const JobSummary& j) { return j.priority == 0; });  // only slow hosts ask
        run(1);
    }
}

TEST_F(FeederTurns, BatchAccelMakesRoomForALateKind) {
    options_.order = FeederOrder::kBatchAccel;
    for (Id id = 1; id <= 50; ++id) job(id, 1);
    start();
    EXPECT_THAT(jobs(), SizeIs(10)) << "without low ones the slots are used";
    for (Id id = 100; id <= 150; ++id) job(id, 0);
    run(15);
    const auto ids = jobs();
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](Id id) { return id < 100; }), 5);
}

TEST_F(FeederTurns, AppsShareTheArrayByWeight) {
    config_.shmem_work_items = 100;
    options_.allapps = true;
    db_.apps[1].weight = 6, db_.apps[2].weight = 3, db_.apps[3].weight = 0;
    for (Id id = 1; id <= 600; ++id) job(id, id % 3 == 0 ? 50 : 0, 1 + id % 3);
    start();
    std::map<Id, int> by_app;
    for (const Id id : jobs()) ++by_app[db_.results[id].appid];
    EXPECT_NEAR(by_app[1], 67, 1);
    EXPECT_NEAR(by_app[2], 33, 1);
    EXPECT_EQ(by_app[3], 0) << "weight zero";
    EXPECT_EQ(by_app[1] + by_app[2], 100) << "no dead slot";
}

TEST_F(FeederTurns, AppsNotAskedForGetNoSlots) {
    options_.allapps = true;
    options_.appids = {1, 3, 99};
    for (Id id = 1; id <= 30; ++id) job(id, 0, 1 + id % 3);
    testing::internal::CaptureStderr();
    start();
    dir_.write("reread_db", "");
    run(5);
    const std::string log = testing::internal::GetCapturedStderr();
    const auto warning = log.find("--appids 99: there is no such app");
    EXPECT_NE(warning, std::string::npos) << log;
    EXPECT_EQ(log.find("there is no such app"), log.rfind("there is no such app")) << "said once, and of nobody else";
    EXPECT_THAT(jobs(), testing::SizeIs(10));
    for (const Id id : jobs()) EXPECT_NE(1 + id % 3, 2) << id;
}

TEST_F(FeederTurns, AllowsNewWeightsWithRereadDb) {
    config_.shmem_work_items = 20;
    options_.allapps = true;
    db_.apps[1].weight = 1, db_.apps[2].weight = 0, db_.apps[3].weight = 0;
    for (Id id = 1; id <= 90; ++id) job(id, 0, 1 + id % 3);
    start();
    for (const Id id : jobs()) EXPECT_EQ(db_.results[id].appid, 1);
    db_.apps[2].weight = 1;
    dir_.write("reread_db", "");
    run(5);
    std::map<Id, int> by_app;
    for (const Id id : jobs()) ++by_app[db_.results[id].appid];
    EXPECT_EQ(by_app[1], 10);
    EXPECT_EQ(by_app[2], 10);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "reread_db"));
}

TEST_F(FeederTurns, TriggerMadeWhileTablesAreReadIsSeen) {
    start();
    int loads = 0;
    db_.before = [&](const std::string& verb) {
        // Whoever makes it now has changed something that this reading may have missed.
        if (verb == "catalogue.load_tables" && ++loads == 1) {
            std::filesystem::remove(dir_ / "reread_db");
            dir_.write("reread_db", "");
        }
    };
    dir_.write("reread_db", "");
    run(10);
    EXPECT_EQ(loads, 2);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "reread_db"));
}

TEST_F(FeederTurns, TriggerTouchedWhileTablesAreReadIsSeen) {
    start();
    int loads = 0;
    db_.before = [&](const std::string& verb) {
        if (verb == "catalogue.load_tables" && ++loads <= 2) dir_.write("reread_db", "");  // the same file
    };
    dir_.write("reread_db", "");
    run(10);
    EXPECT_EQ(loads, 3);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "reread_db"));
}

TEST_F(FeederTurns, TheTriggerStaysUntilTheTablesWereRead) {
    start();
    bool there = false;
    db_.before = [&](const std::string& verb) {
        if (verb == "catalogue.load_tables") there = std::filesystem::exists(dir_ / "reread_db");
    };
    dir_.write("reread_db", "");
    run(2);
    EXPECT_TRUE(there) << "a script waits for it to go, and goes on with what was read";
    EXPECT_FALSE(std::filesystem::exists(dir_ / "reread_db"));
}

TEST_F(FeederTurns, WishToRereadOutlivesFailureOfDatabase) {
    start();
    int failures = 0, loads = 0;
    db_.before = [&](const std::string& verb) {
        if (verb != "catalogue.load_tables") return;
        if (++failures <= 2) throw DbError(DbError::Kind::kLost, 2013, "gone");
        ++loads;
    };
    dir_.write("reread_db", "");
    run(60);
    EXPECT_EQ(loads, 1);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "reread_db"));
}

/// At level 0, too, where other tables are read when somebody wants it.
TEST_F(FeederTurns, FileGroupsArePublishedEveryMinute) {
    job(1);
    start();
    EXPECT_TRUE(array_->tables()->file_groups.empty());
    db_.file_groups[5] = {.name = "big", .id = 5};
    db_.group_workunits = {{{5, 1}, true}};
    run(61);
    auto tables = array_->tables();
    const FileGroup* group = tables->file_group("big");
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->last, 1);
    EXPECT_EQ(group->idle_since, 0);
    db_.workunits[1].assimilate_state = AssimilateState::kDone;
    run(61);
    EXPECT_FALSE(db_.group_workunits.empty()) << "a host may still have it";
    db_.workunits[1].file_delete_state = FileDeleteState::kReady;
    run(61);
    tables = array_->tables();
    group = tables->file_group("big");
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->last, 0);
    EXPECT_GT(group->idle_since, 0);
    EXPECT_TRUE(db_.group_workunits.empty());
}

TEST_F(FeederTurns, NonCpuIntensiveProjectsMarkAllApps) {
    config_.non_cpu_intensive = true;
    start();
    for (const App& app : array_->tables()->apps) EXPECT_TRUE(app.non_cpu_intensive) << app.name;
}

TEST_F(FeederTurns, HrClassesKeepToTheirSlots) {
    config_.shmem_work_items = 40;
    config_.homogeneous_redundancy = 1;
    config_.hr_allocate_slots = true;
    dir_.write("hr_info.txt", hr_info());
    for (Id id = 1; id <= 200; ++id) {
        job(id, id <= 100 ? 9 : 0);
        db_.workunits[id].hr_class = id <= 100 ? 258 : id <= 150 ? 386 : 0;
    }
    start();
    std::map<int, int> by_class;
    for (const Id id : jobs()) ++by_class[db_.workunits[id].hr_class];
    EXPECT_EQ(by_class[258], 15) << "20 * 300/400";
    EXPECT_EQ(by_class[386], 5);
    EXPECT_EQ(by_class[0], 20);
    EXPECT_THAT(send(3, [](const JobSummary& j) { return j.hr_class == 386; }), SizeIs(3));
    run(2);
    by_class.clear();
    for (const Id id : jobs()) ++by_class[db_.workunits[id].hr_class];
    EXPECT_EQ(by_class[386], 5) << "refilled with its own";
}

TEST_F(FeederTurns, ANewCensusOfHrClassesTakesEffect) {
    config_.shmem_work_items = 40;
    config_.homogeneous_redundancy = 1;
    config_.hr_allocate_slots = true;
    dir_.write("hr_info.txt", hr_info());
    for (Id id = 1; id <= 200; ++id) job(id), db_.workunits[id].hr_class = 386;
    start();
    EXPECT_THAT(jobs(), SizeIs(5)) << "a quarter of 20";
    HrInfo all_to_386 = parse_hr_info(hr_info(), "");
    all_to_386[1][258] = 0;
    const auto file = dir_.write("hr_info.txt", hr_info_text(all_to_386));
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(5));
    log_start_copy();
    run(10);
    EXPECT_THAT(log_take_copy(), HasSubstr("HR classes share the slots by it"));
    EXPECT_THAT(jobs(), SizeIs(20));
    dir_.write("hr_info.txt", "nonsense");
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(9));
    send(3);
    log_start_copy();
    run(10);
    EXPECT_THAT(log_take_copy(), AllOf(HasSubstr("going on with the slots as they were"),
                                       Not(HasSubstr("HR classes share the slots by it"))));
    EXPECT_THAT(jobs(), SizeIs(20)) << "a file that is wrong changes nothing";
}

}  // namespace
}  // namespace sluice::test
