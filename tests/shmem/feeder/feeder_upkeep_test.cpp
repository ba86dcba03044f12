// SPDX-License-Identifier: LGPL-3.0-or-later
// What goes on beside the filling: changes in the database, outages, reports, dead schedulers, views.
#include <sys/wait.h>
#include <unistd.h>

#include "feeder/array_mirror.h"
#include "tests/shmem/feeder/feeder_turns.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(FeederTurns, JobsInTheArrayFollowTheDatabase) {
    for (Id id = 1; id <= 12; ++id) job(id);
    start();
    JobSummary j;
    SlotRef ref;
    db_.workunits[3].priority = 1;                     // batch_accel
    db_.workunits[4].hr_class = 258;                   // another instance was sent
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
        const auto scheduler = SchedulerArray::attach(name());
        ASSERT_EQ(scheduler->tables()->app(1)->n_size_classes, 0);
        db_.apps[1].n_size_classes = 1;  // batch_stats found it accelerable
        run(70);
        EXPECT_EQ(scheduler->tables()->app(1)->n_size_classes, level == 1 ? 1 : 0) << "within a minute at level 1";
        run(600);
        EXPECT_EQ(scheduler->tables()->app(1)->n_size_classes, 1) << "with the credit scales at level 0";
    }
}

TEST_F(FeederTurns, ADisplacedJobKeepsItsAge) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 30; ++id) job(id, 0);
    start();
    const auto first = static_cast<std::int64_t>(clock_.now());
    const auto offered_at = [&](Id result) {
        for (std::uint32_t i = 0; i < array_->size(); ++i) {
            JobSummary j;
            SlotRef ref;
            if (array_->read(i, j, ref) == SlotState::kPresent && j.result_id == result)
                return std::int64_t{j.time_added};
        }
        return std::int64_t{0};
    };
    EXPECT_EQ(offered_at(1), first);
    bool away = false, back = false;
    const auto in_vain = [](const JobSummary&) { return false; };
    for (int step = 0; step < 200 && !back; ++step) {
        visit(1, in_vain), run(10);
        away = away || offered_at(1) == 0;
        back = away && offered_at(1) != 0;
    }
    ASSERT_TRUE(back);
    EXPECT_EQ(offered_at(1), first) << "the reservation for low-turnaround hosts must end some day";
    db_.workunits[1].priority = 1;
    bool renewed = false;
    for (int step = 0; step < 200 && !renewed; ++step) {
        visit(1, in_vain), run(10);
        renewed = offered_at(1) > first;
    }
    EXPECT_TRUE(renewed) << "its wait as an accelerated job begins with the acceleration";
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
        const auto scheduler = SchedulerArray::attach(name());
        JobSummary j;
        SlotRef ref;
        if (scheduler->read(0, j, ref) == SlotState::kPresent) scheduler->note_passed_over(ref);
        run(60);
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("[RESULT#1] of app app1"));
    EXPECT_THAT(log,
                HasSubstr("None of the 3 hosts heard of in the last day could take it: 3 lack its 4.00 GB of memory, 0 "
                          "its 1.00 GB of disk"));
    EXPECT_EQ(log.find("RESULT#2"), std::string::npos) << "nobody passed it over: " << log;
}

TEST_F(FeederTurns, JobsThatNobodyWillReleaseAreNamed) {
    db_.apps[2].n_size_classes = 3;
    for (Id id = 1; id <= 6; ++id) job(id, 0, id <= 4 ? 1 : 2), db_.results[id].server_state = ServerState::kInactive;
    db_.results[1].size_class = 2;
    testing::internal::CaptureStderr();
    start();
    run(1300, 1);
    job(9), db_.results[9].server_state = ServerState::kInactive;
    run(700, 1);
    const std::string log = testing::internal::GetCapturedStderr();
    const auto first = log.find("(app app1 class -1: 3, app app1 class 2: 1): give");
    EXPECT_NE(first, std::string::npos) << log;
    EXPECT_EQ(first, log.rfind("(app app1 class -1: 3,")) << "once";
    EXPECT_NE(log.find("(app app1 class -1: 4, app app1 class 2: 1): give"), std::string::npos) << log;
    EXPECT_EQ(log.find("for their apps have no size classes (app app2"), std::string::npos);
}

TEST_F(FeederTurns, JobsThatRegulatorShouldHaveReleasedAreNamed) {
    db_.apps[1].n_size_classes = db_.apps[2].n_size_classes = 2;
    for (Id id = 1; id <= 7; ++id) {
        job(id, 0, id <= 4 ? 1 : 2);
        db_.results[id].server_state = id == 4 ? ServerState::kUnsent : ServerState::kInactive;
        db_.results[id].size_class = id % 2;  // app 1: classes 1 0 1 and, UNSENT, 0; app 2: 1 0 1
    }
    testing::internal::CaptureStderr();
    start();
    run(300, 1);
    db_.results[5].server_state = db_.results[6].server_state = ServerState::kUnsent;  // app 2's regulator is alive
    run(300, 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("does a size_regulator run"), std::string::npos)
        << "a look is not enough: it may release a moment later";
    testing::internal::CaptureStderr();
    run(1900, 1);
    const std::string log = testing::internal::GetCapturedStderr();
    const auto first = log.find("does a size_regulator run");
    ASSERT_NE(first, std::string::npos) << log;
    EXPECT_EQ(first, log.rfind("does a size_regulator run")) << "once";
    EXPECT_THAT(log, HasSubstr("(app app1 class 1: 2): does"));
}

TEST_F(FeederTurns, DeadSchedulersSlotsComeBack) {
    for (Id id = 1; id <= 3; ++id) job(id);
    start();
    const pid_t pid = ::fork();
    if (pid == 0) {
        const auto scheduler = SchedulerArray::attach(name());
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
    const auto view = look_at_array(*array_, static_cast<std::int64_t>(clock_.now()));
    EXPECT_THAT(dump_text(view), HasSubstr("4 of 10 present"));
    EXPECT_THAT(dump_text(view), HasSubstr("app1"));
    const std::string shape = shape_text(view);
    EXPECT_THAT(shape, testing::ContainsRegex("app1 +-1 +0 +3 +0 +3"));
    EXPECT_THAT(shape, testing::ContainsRegex("app1 +1 +0 +1"));
    const std::string json = array_json(view);
    EXPECT_THAT(json, HasSubstr("\"result_id\": 2"));
    EXPECT_THAT(json, HasSubstr("\"shape\""));
    auto damaged = view;
    damaged.stats.mended = 17;
    EXPECT_THAT(dump_text(damaged), HasSubstr("no scheduler of ours writes, mended: 17"));
    EXPECT_THAT(array_json(damaged), HasSubstr("\"mended\": 17"));
}

}  // namespace
}  // namespace sluice::test
