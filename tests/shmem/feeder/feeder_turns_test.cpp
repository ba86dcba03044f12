// The feeder's turns on a real segment, a database in memory and a clock of the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>
#include <set>

#include "feeder/array_view.h"
#include "feeder/feeder.h"
#include "src/shmem/segment.h"
#include "tests/support/fake_catalogue_store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_feeder_store.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class FeederTurns : public testing::Test {
  protected:
    FeederTurns() {
        config_.project_dir = dir_.path().string();
        config_.shmem_work_items = 10;
        for (Id id = 1; id <= 3; ++id) {
            App& app = db_.apps[id];
            app.id = id, app.name = "app" + std::to_string(id);
        }
    }
    ~FeederTurns() override {
        feeder_.reset();
        array_.reset();
        shm::Segment::remove(name().segment);
    }
    JobArrayName name() const { return job_array_name(7, dir_.path()); }
    void job(Id id, std::int64_t priority = 0, Id app = 1) {
        Result& r = db_.results[id];
        r.id = id, r.workunitid = id, r.appid = app, r.priority = priority, r.server_state = ServerState::kUnsent;
        Workunit& w = db_.workunits[id];
        w.id = id, w.appid = app, w.priority = priority, w.target_nresults = 1, w.rsc_memory_bound = 4e9, w.rsc_disk_bound = 1e9;
        w.name = "wu_" + std::to_string(id);
    }
    Feeder& start() {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(config_.shmem_work_items);
        array_ = JobArray::create(name(), settings);
        feeder_ = std::make_unique<Feeder>(config_, options_, FeederParts{*array_, store_, catalogue_}, Env{clock_, rng_});
        run(0);
        return *feeder_;
    }
    /// A turn every half second of the clock's.
    void run(double seconds) {
        const double until = clock_.now() + seconds;
        do {
            feeder_->turn();
            clock_.advance(0.5);
        } while (clock_.now() < until);
    }
    std::vector<Id> jobs() const {
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < array_->size(); ++i) {
            JobSummary j;
            SlotRef ref;
            if (array_->read(i, j, ref) == SlotState::kPresent) ids.push_back(j.result_id);
        }
        return ids;
    }
    /// Sends up to n jobs for which `wanted` holds.
    std::vector<Id> send(std::size_t n, const std::function<bool(const JobSummary&)>& wanted = {}) {
        const auto scheduler = JobArray::attach(name());
        std::vector<Id> ids;
        for (std::uint32_t i = 0; i < scheduler->size() && ids.size() < n; ++i) {
            JobSummary j;
            SlotRef ref;
            if (scheduler->read(i, j, ref) != SlotState::kPresent || (wanted && !wanted(j))) continue;
            auto claim = scheduler->claim(ref);
            db_.results.at(j.result_id).server_state = ServerState::kInProgress;
            claim->consume();
            ids.push_back(j.result_id);
        }
        return ids;
    }

    TempDir dir_;
    ProjectConfig config_;
    FeederOptions options_;
    FakeDb db_;
    FakeFeederStore store_{db_};
    FakeCatalogueStore catalogue_{db_};
    FakeClock clock_;
    FixedRng rng_ = FixedRng(3);
    std::unique_ptr<JobArray> array_;
    std::unique_ptr<Feeder> feeder_;
};

TEST_F(FeederTurns, FillsThenIsReady) {
    for (Id id = 1; id <= 15; ++id) job(id);
    start();
    EXPECT_TRUE(array_->ready());
    EXPECT_THAT(jobs(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
    EXPECT_EQ(send(2), (std::vector<Id>{1, 2}));
    run(0);
    EXPECT_THAT(jobs(), UnorderedElementsAre(3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
}

TEST_F(FeederTurns, FullOfJobsThatNobodyTakesTheyGiveWayBounded) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 10; ++id) job(id, 5);   // nobody can take these
    for (Id id = 11; id <= 30; ++id) job(id, 0);
    start();
    EXPECT_THAT(jobs(), Each(testing::Le(10)));
    run(99);
    EXPECT_THAT(jobs(), Each(testing::Le(10))) << "not before their time";
    std::set<Id> seen;
    std::size_t most_new_in_10_s = 0;
    auto before = jobs();
    for (int step = 0; step < 30; ++step) {
        run(10);
        const auto now = jobs();
        EXPECT_THAT(now, SizeIs(10)) << "the array stays full";
        std::size_t fresh = 0;
        for (const Id id : now) fresh += std::count(before.begin(), before.end(), id) == 0;
        most_new_in_10_s = std::max(most_new_in_10_s, fresh);
        seen.insert(now.begin(), now.end());
        before = now;
    }
    EXPECT_GE(seen.size(), 29u) << "300 s: everybody was there, 1 slot every 10 s";
    EXPECT_LE(most_new_in_10_s, 2u) << "a tenth of the array each tenth of the time";
}

TEST_F(FeederTurns, JobsThatAreTakenStopTheRotation) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 10; ++id) job(id, 5);
    for (Id id = 11; id <= 400; ++id) job(id, 0);
    start();
    // Low-priority jobs are taken as they come, the ten others by nobody: as the array has no room but theirs,
    // they give way one by one, and then the others flow.
    run(130);
    std::size_t sent = 0;
    for (int step = 0; step < 200; ++step) {
        sent += send(10, [](const JobSummary& j) { return j.priority == 0; }).size();
        run(1);
    }
    EXPECT_EQ(sent, 390u) << "the clogged array blocks nobody";
}

TEST_F(FeederTurns, PurgeStaleFreesHrClassesAsUpstreamAtLevel0) {
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

TEST_F(FeederTurns, BatchAccelMakesRoomWhenTheOtherKindArrivesLate) {
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

std::string hr_info() {
    std::string text;
    for (const char* type : {"fine", "coarse"}) {
        text += std::string("--------- ") + type + " ----------\n";
        for (int c = 0; c < 896; ++c) text += std::to_string(c) + (c == 258 ? " 300.000000\n" : c == 386 ? " 100.000000\n" : " 0.000000\n");
    }
    return text;
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

TEST_F(FeederTurns, JobsInTheArrayFollowTheDatabase) {
    for (Id id = 1; id <= 12; ++id) job(id);
    start();
    JobSummary j;
    SlotRef ref;
    db_.workunits[3].priority = 1;  // batch_accel
    db_.workunits[4].hr_class = 258;  // another instance was sent
    db_.results[5].server_state = ServerState::kOver;  // cancelled
    db_.workunits[6].error_mask = 16;
    run(3);
    std::map<Id, JobSummary> held;
    for (std::uint32_t i = 0; i < array_->size(); ++i) {
        if (array_->read(i, j, ref) == SlotState::kPresent) held[j.result_id] = j;
    }
    EXPECT_EQ(held.at(3).wu_priority, 1);
    EXPECT_EQ(held.at(4).hr_class, 258);
    EXPECT_EQ(held.count(5), 0u);
    EXPECT_EQ(held.count(6), 0u);
    EXPECT_EQ(db_.results[6].outcome, Outcome::kDidntNeed);
    EXPECT_EQ(held.size(), 10u);
}

TEST_F(FeederTurns, ADatabaseThatIsAwayStopsNothingElse) {
    for (Id id = 1; id <= 40; ++id) job(id);
    start();
    bool away = true;
    db_.before = [&](const std::string&) {
        if (away) throw DbError(DbError::Kind::kCantConnect, 2002, "the database is away");
    };
    const auto verbs_before = db_.verbs;
    send(5);
    run(60);
    EXPECT_EQ(feeder_->trouble(), "the database is away");
    EXPECT_LT(db_.verbs - verbs_before, 15u) << "it backs off";
    EXPECT_THAT(jobs(), SizeIs(5));
    EXPECT_TRUE(array_->ready());
    EXPECT_GT(array_->stats().feeder_heartbeat, static_cast<std::int64_t>(clock_.now()) - 2);
    away = false;
    run(12);
    EXPECT_THAT(jobs(), SizeIs(10));
    EXPECT_EQ(feeder_->trouble(), "");
}

TEST_F(FeederTurns, LostConnectionsAtAnyVerbLoseNoJob) {
    for (Id id = 1; id <= 60; ++id) job(id);
    for (std::uint64_t nth = 2; nth < 30; ++nth) {
        const auto chance = make_seeded_rng(nth);
        db_.before = [&](const std::string&) {
            if (chance->below(nth) == 0) throw DbError(DbError::Kind::kLost, 2013, "lost");
        };
        for (auto& [id, r] : db_.results) r.server_state = ServerState::kUnsent;
        feeder_.reset();
        array_.reset();
        start();
        std::set<Id> sent;
        for (int step = 0; step < 400 && sent.size() < 60; ++step) {
            for (const Id id : send(7)) EXPECT_TRUE(sent.insert(id).second) << id << " twice";
            run(1);
        }
        ASSERT_EQ(sent.size(), 60u) << "one verb in " << nth << " fails";
    }
}

TEST_F(FeederTurns, ChangesOfAppsTakeEffectByThemselves) {
    for (const int level : {0, 1}) {
        config_.compat_level = level;
        db_.apps[1].n_size_classes = 0;
        feeder_.reset();
        array_.reset();
        start();
        const auto scheduler = JobArray::attach(name());
        ASSERT_EQ(scheduler->tables()->app(1)->n_size_classes, 0);
        db_.apps[1].n_size_classes = 1;  // batch_stats found it accelerable
        run(70);
        EXPECT_EQ(scheduler->tables()->app(1)->n_size_classes, level == 1 ? 1 : 0) << "within a minute at level 1";
        run(600);
        EXPECT_EQ(scheduler->tables()->app(1)->n_size_classes, 1) << "with the credit scales at level 0";
    }
}

TEST_F(FeederTurns, StarvationIsReportedWithWhatHostsLack) {
    options_.starvation_after = 1800;
    options_.rotate_after = 300;
    job(1), job(2);
    for (Id id = 1; id <= 3; ++id) {
        Host& h = db_.hosts[id];
        h.id = id, h.m_nbytes = 2e9, h.d_free = 50e9, h.rpc_time = static_cast<std::int64_t>(clock_.now()) + 3000;
    }
    start();
    testing::internal::CaptureStderr();
    for (int step = 0; step < 60; ++step) {
        const auto scheduler = JobArray::attach(name());
        JobSummary j;
        SlotRef ref;
        if (scheduler->read(0, j, ref) == SlotState::kPresent) scheduler->note_passed_over(ref);
        run(60);
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("[RESULT#1] of app app1"));
    EXPECT_THAT(log, HasSubstr("Of 3 hosts heard of in the last day 0 have its 4.00 GB of memory, 3 its 1.00 GB of disk, 0 both"));
    EXPECT_EQ(log.find("RESULT#2"), std::string::npos) << "nobody passed it over: " << log;
}

TEST_F(FeederTurns, DeadSchedulersSlotsComeBack) {
    for (Id id = 1; id <= 3; ++id) job(id);
    start();
    const pid_t pid = ::fork();
    if (pid == 0) {
        const auto scheduler = JobArray::attach(name());
        JobSummary j;
        SlotRef ref;
        scheduler->read(0, j, ref);
        auto claim = scheduler->claim(ref);
        ::_exit(claim ? 0 : 1);  // without unwinding: as if killed
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(array_->stats().claimed, 1u);
    run(2);
    EXPECT_EQ(array_->stats().claimed, 0u);
    EXPECT_THAT(jobs(), ElementsAre(1, 2, 3));
}

TEST_F(FeederTurns, ViewsShowTheArray) {
    for (Id id = 1; id <= 4; ++id) job(id, id);
    db_.workunits[2].size_class = 1;
    start();
    clock_.advance(100);
    const auto view = look_at_array(*array_, name(), static_cast<std::int64_t>(clock_.now()));
    EXPECT_THAT(dump_text(view), HasSubstr("4 of 10 present"));
    EXPECT_THAT(dump_text(view), HasSubstr("app1"));
    const std::string shape = shape_text(view);
    EXPECT_THAT(shape, testing::ContainsRegex("app1 +-1 +0 +3 +0 +3"));
    EXPECT_THAT(shape, testing::ContainsRegex("app1 +1 +0 +1"));
    const std::string json = array_json(view);
    EXPECT_THAT(json, HasSubstr("\"result_id\": 2"));
    EXPECT_THAT(json, HasSubstr("\"shape\""));
}

}  // namespace
}  // namespace sluice::test
