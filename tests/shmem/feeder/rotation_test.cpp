// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs that nobody takes give way, and only they: clogged arrays recover, and with slow traffic the highest priorities
// go first, over days.
#include "tests/shmem/feeder/feeder_turns.h"

namespace sluice::test {
namespace {

using testing::Each;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const auto kNone = [](const JobSummary&) { return false; };
const auto kLow = [](const JobSummary& j) { return j.priority == 0; };

TEST_F(FeederTurns, UntakenJobsGiveWayInBounds) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 10; ++id) job(id, 5);  // nobody can take these
    for (Id id = 11; id <= 30; ++id) job(id, 0);
    start();
    EXPECT_THAT(jobs(), Each(testing::Le(10)));
    for (int step = 0; step < 9; ++step) visit(1, kNone), run(11);
    EXPECT_THAT(jobs(), Each(testing::Le(10))) << "not before their time";
    std::set<Id> seen;
    std::size_t most_new_in_10_s = 0;
    auto before = jobs();
    for (int step = 0; step < 200; ++step) {
        visit(1, kNone), run(10);
        const auto now = jobs();
        EXPECT_THAT(now, SizeIs(10)) << "the array stays full";
        std::size_t fresh = 0;
        for (const Id id : now) fresh += std::count(before.begin(), before.end(), id) == 0;
        most_new_in_10_s = std::max(most_new_in_10_s, fresh);
        seen.insert(now.begin(), now.end());
        before = now;
    }
    EXPECT_EQ(seen.size(), 30u) << "2,000 s: everybody was there";
    EXPECT_LE(most_new_in_10_s, 2u) << "a tenth of the array each tenth of the time";
}

TEST_F(FeederTurns, JobsThatNobodyLookedAtStay) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 10; ++id) job(id, 5);
    for (Id id = 11; id <= 30; ++id) job(id, 0);
    start();
    run(86400, 10);
    EXPECT_THAT(jobs(), Each(testing::Le(10))) << "a project without hosts keeps its order";
    for (int hosts = 0; hosts < 2; ++hosts) visit(1, kNone), run(600, 10);
    EXPECT_THAT(jobs(), Each(testing::Le(10))) << "two looks prove nothing";
}

TEST_F(FeederTurns, JobsThatAreTakenStopTheRotation) {
    options_.rotate_after = 100;
    for (Id id = 1; id <= 10; ++id) job(id, 5);
    for (Id id = 11; id <= 400; ++id) job(id, 0);
    start();
    // Low-priority jobs are taken as they come, the ten others by nobody: as the array has no room but theirs, they
    // give way one by one, until the others have half of it and flow.
    std::size_t sent = 0;
    for (int step = 0; step < 330; ++step) {
        sent += visit(10, kLow).size();
        run(1);
    }
    EXPECT_EQ(sent, 390u) << "the clogged array blocks nobody";
}

TEST_F(FeederTurns, HalfOfCloggedArrayStaysWithHighestPriorities) {
    config_.shmem_work_items = 100;
    for (Id id = 1; id <= 100; ++id) job(id, 1000 - id);
    for (Id id = 1001; id <= 2000; ++id) job(id, 0);
    start();
    for (int minute = 0; minute < 18; ++minute) visit(20, kLow), run(60, 10);
    const auto ids = jobs();
    for (Id id = 1; id <= 50; ++id) EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](Id id) { return id > 1000; }), 50);
}

TEST_F(FeederTurns, AnAppWithoutJobsSkipsItsTurn) {
    options_.allapps = true;
    options_.rotate_after = 100;
    db_.apps[3].weight = 0;                     // apps 1 and 2 have five slots each, and app 2 has no jobs
    for (Id id = 1; id <= 5; ++id) job(id, 5);  // nobody can take these
    for (Id id = 11; id <= 200; ++id) job(id, 0);
    start();
    EXPECT_THAT(jobs(), UnorderedElementsAre(1, 2, 3, 4, 5));
    std::size_t sent = 0;
    for (int step = 0; step < 300; ++step) {
        sent += visit(5, kLow).size();
        run(1);
    }
    EXPECT_EQ(sent, 190u) << "those that gave way do not come back before the others";
    run(5);
    EXPECT_THAT(jobs(), SizeIs(5)) << "but then, for nobody else wants the slots";
}

TEST_F(FeederTurns, HrClassJobsGiveWayToTheirOthers) {
    config_.shmem_work_items = 40;
    config_.homogeneous_redundancy = 1;
    config_.hr_allocate_slots = true;
    options_.rotate_after = 100;
    dir_.write("hr_info.txt", hr_info());
    for (Id id = 1; id <= 60; ++id) {  // nothing for class 386: five slots stay empty
        job(id, id <= 15 ? 9 : 0);
        db_.workunits[id].hr_class = id <= 50 ? 258 : 0;
    }
    start();
    const auto is_high = [](Id id) { return id <= 15; };
    auto ids = jobs();
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), is_high), 15);
    for (int step = 0; step < 200; ++step) visit(1, kNone), run(1);
    ids = jobs();
    EXPECT_LE(std::count_if(ids.begin(), ids.end(), is_high), 7) << "nobody took them: more than half of them rest";
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](Id id) { return id <= 50; }), 15) << "the class keeps its slots";
}

// Slow traffic ------------------------------------------------------------------------------------------------------

/// A project with 100 slots where a host asks every five minutes and gets a job, and the highest priorities are to go
/// first.
class SlowTraffic : public FeederTurns, public testing::WithParamInterface<int> {
  protected:
    SlowTraffic() {
        config_.compat_level = GetParam();
        config_.shmem_work_items = 100;
    }
    /// What a host of a kind may have: kind 0 and 1 are two platforms; every third job is for both.
    static auto of_kind(Id kind) {
        return [kind](const JobSummary& j) { return j.result_id % 3 == 2 || j.result_id % 3 == kind; };
    }
    /// Of the jobs for this kind of host that were there when a slot became free last, the highest priority.
    std::int64_t best_for(Id kind, Id newest) const {
        std::int64_t best = -1;
        for (const auto& [id, r] : db_.results) {
            JobSummary j;
            j.result_id = id;
            const bool there = id <= newest && r.server_state == ServerState::kUnsent;
            if (there && of_kind(kind)(j)) best = std::max(best, r.priority);
        }
        return best;
    }
};

TEST_P(SlowTraffic, HighestPrioritiesGoFirstForDays) {
    Id newest = 0;
    while (newest < 1000) job(++newest, static_cast<std::int64_t>(rng_.below(1000)));
    start();
    const auto traffic = make_seeded_rng(11);
    for (int visits = 0; visits < 3 * 288; ++visits) {
        run(300, 60);
        const auto kind = static_cast<Id>(traffic->below(2));
        const std::int64_t best = best_for(kind, newest);
        newest = db_.results.next_key() - 1;
        const auto got = visit(1, of_kind(kind));
        ASSERT_THAT(got, SizeIs(1)) << visits;
        ASSERT_GE(std::as_const(db_).results.at(got.front()).priority, best) << visits;
        if (traffic->below(10) == 0) visit(1, kNone);  // one that can have nothing
        if (visits % 3 == 0) job(newest + 1, static_cast<std::int64_t>(traffic->below(2000)));
    }
}

TEST_P(SlowTraffic, JobsForRareHostsDoNotClog) {
    // 60 jobs of the highest priority are for a kind of host that asks once in a hundred minutes.
    for (Id id = 1; id <= 60; ++id) job(id, 100);
    for (Id id = 101; id <= 1500; ++id) job(id, id % 7);
    start();
    std::size_t rare_sent = 0, sent = 0;
    for (int visits = 1; visits <= 2 * 288; ++visits) {
        run(300, 60);
        const bool rare = visits % 20 == 0;
        const auto got = visit(1, [&](const JobSummary& j) { return rare || j.priority < 100; });
        ASSERT_THAT(got, SizeIs(1)) << visits;
        ++sent, rare_sent += got.front() <= 60;
        ASSERT_TRUE(!rare || got.front() <= 60) << "the rare host finds its jobs at visit " << visits;
    }
    EXPECT_EQ(rare_sent, 28u);
    const auto ids = jobs();
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](Id id) { return id <= 60; }), 60 - 28) << "none gave way";
}

TEST_P(SlowTraffic, ACloggedArrayRecovers) {
    for (Id id = 1; id <= 300; ++id) job(id, 100);  // three times the array, and nobody can have them
    for (Id id = 1001; id <= 2000; ++id) job(id, 0);
    start();
    int first = 0, on_the_second_day = 0;
    for (int visits = 1; visits <= 2 * 288; ++visits) {
        run(300, 60);
        const auto got = visit(1, kLow);
        if (!got.empty() && first == 0) first = visits;
        if (visits > 288) on_the_second_day += static_cast<int>(got.size());
    }
    EXPECT_GT(first, 0);
    EXPECT_LE(first, 4 * 12) << "within four hours of a host every five minutes";
    EXPECT_GE(on_the_second_day, 288 * 9 / 10) << "nearly every host gets its job";
}

TEST_P(SlowTraffic, LargeRequestFindsRoomInCloggedArray) {
    for (Id id = 1; id <= 149; ++id) job(id, 100);  // nobody can have these; the array has room for 100
    for (Id id = 1001; id <= 3000; ++id) job(id, 0);
    start();
    std::size_t on_the_second_day = 0;
    for (int visits = 1; visits <= 2 * 48; ++visits) {
        run(1800, 60);
        const std::size_t got = visit(10, kLow).size();
        if (visits > 48) on_the_second_day += got;
    }
    EXPECT_GE(on_the_second_day, 10u * 48 * 2 / 3) << "one slot that flows keeps the others from giving way";
}

INSTANTIATE_TEST_SUITE_P(CompatLevel, SlowTraffic, testing::Values(0, 1));

}  // namespace
}  // namespace sluice::test
