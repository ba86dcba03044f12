// SPDX-License-Identifier: LGPL-3.0-or-later
// Backlog, picker and enumerator on a database in memory: orders, and that no job is ever forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

#include "db/memory/feeder_store.h"
#include "feeder/enumerator.h"
#include "feeder/picker.h"
#include "tests/support/fake_db.h"
#include "tests/support/fixed_rng.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class EnumeratorTest : public testing::Test {
  protected:
    void job(Id id, std::int64_t priority = 0, Id app = 1, Id batch = 0, Id workunit = 0) {
        Result& r = db_.results[id];
        r.id = id, r.workunitid = workunit == 0 ? id : workunit, r.appid = app, r.batch = batch, r.priority = priority;
        r.server_state = ServerState::kUnsent;
        r.random = id * 7919 % 10007;
        Workunit& w = db_.workunits[r.workunitid];
        w.id = r.workunitid, w.appid = app, w.batch = batch;
    }
    Enumerator& start(FeederOptions options = {}, std::vector<Id> apps = {1, 2, 3}) {
        settings_.options = options;
        enumerator_ =
            std::make_unique<Enumerator>(settings_, store_, rng_, [this](Id id) { return held_.count(id) != 0; });
        enumerator_->set_apps(apps);
        std::vector<Submitter> submitters;
        for (const Id user : options.users) submitters.push_back({user, 1});
        picker_ = std::make_unique<Picker>(options, submitters, rng_);
        run(0);
        return *enumerator_;
    }
    /// Turns, a tenth of a second apart.
    void run(double seconds, bool hungry = false) {
        const double until = now_ + seconds;
        do {
            enumerator_->turn(now_, hungry);
            now_ += 0.1;
        } while (now_ < until);
    }
    std::vector<Id> take(std::size_t n, Id app = 0, ArrayShares shares = {}) {
        std::vector<Id> ids;
        while (ids.size() < n) {
            const auto c = picker_->take(enumerator_->backlog(), app, shares, {});
            if (!c) break;
            ids.push_back(c->row.id);
            held_.insert(c->row.id);
        }
        return ids;
    }
    void sent(Id id) {
        held_.erase(id);
        db_.results.at(id).server_state = ServerState::kInProgress;
    }

    FakeDb db_;
    MemoryFeederStore store_{db_.memory};
    FixedRng rng_ = FixedRng(5);
    EnumeratorSettings settings_;
    std::unordered_set<Id> held_;
    std::unique_ptr<Enumerator> enumerator_;
    std::unique_ptr<Picker> picker_;
    double now_ = 1000;
};

FeederOptions ordered(FeederOrder order) {
    FeederOptions o;
    o.order = order;
    return o;
}

TEST_F(EnumeratorTest, EmptySlotsOfAnAppRereadNoOthers) {
    for (Id id = 1; id <= 1000; ++id) job(id, 0, 1);
    FeederOptions o;
    o.allapps = true;
    Enumerator& e = start(o, {1, 2});
    e.set_lack({[](Id app) { return app == 2; }, [](const UnsentRow& row) { return row.app_id == 2; }});
    EXPECT_EQ(e.rows_read(), 1000u);
    run(60, true);
    EXPECT_LE(e.rows_read(), 1000u * 14) << "a full cycle every 5 s";
    job(2000, 0, 2);
    run(1, true);
    EXPECT_THAT(take(1, 2), ElementsAre(2000)) << "found within a second all the same";
    // A job that gave way returns early for its own app's slots only.
    e.rest(1, now_ + 1000, true), e.rest(2000, now_ + 1000, true);
    e.backlog().clear();
    held_.clear();
    run(10, true);
    EXPECT_EQ(e.backlog().find(1), nullptr);
    EXPECT_NE(e.backlog().find(2000), nullptr);
}

TEST_F(EnumeratorTest, OtherPartsFillSlotsAfterWaiting) {
    for (Id id = 1; id <= 40; ++id) {
        job(id);
        db_.results[id].create_time = id <= 20 ? 0 : 100000;
    }
    Enumerator& e = start();
    const FeederPart part{2, 1};
    e.set_part(part);
    run(1);
    std::vector<Id> own, old_ones;
    for (Id id = 1; id <= 40; ++id)
        if (part.has(id))
            own.push_back(id);
        else if (id <= 20)
            old_ones.push_back(id);
    EXPECT_NEAR(own.size(), 20, 2);
    EXPECT_THAT(take(100), testing::UnorderedElementsAreArray(own));
    run(5, true);
    EXPECT_THAT(take(100), testing::UnorderedElementsAreArray(old_ones));
}

TEST_F(EnumeratorTest, Orders) {
    job(1, 0, 1, 0, 50), job(2, 5, 1, 0, 60), job(3, 0, 1, 0, 40), job(4, -2, 1, 0, 1), job(5, 5, 1, 0, 55);
    start();
    EXPECT_THAT(take(9), ElementsAre(5, 2, 3, 1, 4)) << "priority, then workunit";
    held_.clear();
    start(ordered(FeederOrder::kPriority));
    EXPECT_THAT(take(9), ElementsAre(2, 5, 1, 3, 4)) << "priority alone";
    held_.clear();
    start(ordered(FeederOrder::kPriorityAsc));
    EXPECT_THAT(take(9), ElementsAre(4, 1, 3, 2, 5));
    held_.clear();
    start(ordered(FeederOrder::kRandomColumn));
    EXPECT_THAT(take(9), ElementsAre(4, 3, 2, 1, 5)) << "7919 n mod 10007";
}

TEST_F(EnumeratorTest, RandomOrderIsRandom) {
    for (Id id = 1; id <= 100; ++id) job(id);
    start(ordered(FeederOrder::kRandom));
    const auto first = take(100);
    ASSERT_THAT(first, SizeIs(100));
    held_.clear();
    start(ordered(FeederOrder::kRandom));
    const auto second = take(100);
    EXPECT_NE(first, second);
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
    double mean_of_first_half = 0;
    for (int i = 0; i < 50; ++i) mean_of_first_half += static_cast<double>(first[static_cast<std::size_t>(i)]) / 50;
    EXPECT_NEAR(mean_of_first_half, 50, 15);
}

TEST_F(EnumeratorTest, BatchesTakeTurns) {
    for (Id id = 1; id <= 10; ++id) job(id, 0, 1, 7);
    job(11, 9, 1, 8), job(12, 0, 1, 8), job(13, 0, 1, 0);
    start(ordered(FeederOrder::kByBatch));
    EXPECT_THAT(take(8), ElementsAre(1, 11, 13, 2, 12, 3, 4, 5));
}

TEST_F(EnumeratorTest, BatchAccelMixesBothKinds) {
    for (Id id = 1; id <= 1000; ++id) job(id, id <= 500 ? 1 : 0);
    FeederOptions o = ordered(FeederOrder::kBatchAccel);
    o.accel_share = 0.3;
    start(o);
    const auto ids = take(400, 0, {1000, 0, 0});
    const auto high = std::count_if(ids.begin(), ids.end(), [](Id id) { return id <= 500; });
    EXPECT_NEAR(static_cast<double>(high), 120, 35) << "drawn with the share as probability";
    EXPECT_FALSE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_THAT(take(1, 0, {10, 3, 2}), ElementsAre(testing::Gt(500))) << "the high ones have their share: a low one";
    EXPECT_THAT(take(1, 0, {10, 2, 7}), ElementsAre(testing::Le(500)));
}

TEST_F(EnumeratorTest, BatchAccelFillsWithWhatThereIs) {
    for (Id id = 1; id <= 20; ++id) job(id, 1);
    start(ordered(FeederOrder::kBatchAccel));
    EXPECT_THAT(take(20, 0, {20, 20, 0}), SizeIs(20)) << "no low ones: the slots are not wasted";
}

TEST_F(EnumeratorTest, AppsAreWalkedApart) {
    for (Id id = 1; id <= 30; ++id) job(id, id % 3 == 1 ? 100 : 0, 1 + id % 3);
    FeederOptions o;
    o.allapps = true;
    start(o);
    EXPECT_THAT(take(3, 1), ElementsAre(3, 6, 9));
    EXPECT_THAT(take(2, 2), ElementsAre(1, 4));
    o.appids = {3};
    o.allapps = false;
    held_.clear();
    start(o);
    EXPECT_THAT(take(100), SizeIs(10)) << "--appids";
}

TEST_F(EnumeratorTest, ModAndWmodDivideTheWork) {
    for (Id id = 1; id <= 60; ++id) job(id, 0, 1, 0, 100 + id / 2);
    std::set<Id> all;
    std::size_t taken = 0;
    for (Id i = 0; i < 3; ++i) {
        for (Id k = 0; k < 2; ++k) {
            FeederOptions o;
            o.share = {3, i}, o.workunit_share = {2, k};
            held_.clear();
            start(o);
            for (const Id id : take(100)) {
                EXPECT_EQ(id % 3, i);
                EXPECT_EQ(db_.results.at(id).workunitid % 2, k);
                all.insert(id), ++taken;
            }
        }
    }
    EXPECT_EQ(all.size(), 60u);
    EXPECT_EQ(taken, 60u) << "none twice";
}

TEST_F(EnumeratorTest, OnlyTheSubmittersAskedFor) {
    for (Id batch = 1; batch <= 3; ++batch) db_.batches[batch].id = batch, db_.batches[batch].user_id = 10 * batch;
    for (Id id = 1; id <= 30; ++id) job(id, 0, 1, id % 5);  // batch 0: nobody's; batch 4 does not exist
    FeederOptions o;
    o.users = {10, 20};
    start(o);
    const auto ids = take(100);
    EXPECT_THAT(ids, SizeIs(12));
    for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(ids[i] % 5, i % 2 == 0 ? 2 : 1) << "in turns, the later user first";
}

TEST_F(EnumeratorTest, UnknownAppsAndRestingJobsStayOut) {
    job(1), job(2, 0, 99), job(3);
    start();
    EXPECT_THAT(take(9), ElementsAre(1, 3));
    held_.clear();
    enumerator_->rest(1, now_ + 100);
    enumerator_->rest(3, now_ + 100, true);
    run(10);
    EXPECT_THAT(take(9), IsEmpty());
    run(5, true);
    EXPECT_THAT(take(9), ElementsAre(3)) << "slots would stay empty: those that gave way may return";
    held_.clear();
    run(110);
    EXPECT_THAT(take(9), UnorderedElementsAre(1, 3));
}

TEST_F(EnumeratorTest, ANewPriorityJobComesWithinASecond) {
    for (Id id = 1; id <= 500; ++id) job(id);
    start();
    run(0.5);
    job(1000, 9);
    run(1.2);
    EXPECT_THAT(take(2), ElementsAre(1000, 1));
    db_.results.at(77).priority = 5;  // batch_accel raised it while it waits here
    run(1.2);
    EXPECT_THAT(take(1), ElementsAre(77));
}

TEST_F(EnumeratorTest, TheHeadIsNotReadAgainAndAgain) {
    for (Id id = 1; id <= 3000; ++id) job(id);
    start();
    store_.rows_read = 0;
    run(60);
    // 60 looks at the head of 200 rows, and 12 whole walks.
    EXPECT_LT(store_.rows_read, 60 * 200 + 13 * 3000u + 1);
}

/// Schedulers empty the array while the feeder reads: no turn may read so much that refilling waits for it.
TEST_F(EnumeratorTest, OnceJobsAreThereATurnReadsLittle) {
    settings_.head = 20000;  // 10,000 slots at level 1
    for (Id id = 1; id <= 6000; ++id) job(id);
    start();
    std::size_t most = 0;
    for (int turn = 0; turn < 300; ++turn) {
        store_.rows_read = 0;
        run(0);
        most = std::max<std::size_t>(most, store_.rows_read);
    }
    EXPECT_LE(most, 400u);
    EXPECT_GT(most, 100u) << "whole walks are among these turns";
    while (enumerator_->cycle_running()) run(0);
    for (Id id = 50001; id <= 51000; ++id) job(id, 2);
    run(1.1);
    const std::vector<Id> urgent = take(1000);
    ASSERT_EQ(urgent.size(), 1000u);
    EXPECT_THAT(urgent, testing::Each(testing::Gt(50000))) << "what is new in front is seen, all of it";
}

/// An app without any job leaves its slots empty for ever. Looking for it must not make the others' refills wait.
TEST_F(EnumeratorTest, NorDoesAppWithoutJobsMakeTurnsLong) {
    for (Id id = 1; id <= 6000; ++id) job(id, 0, 1);
    FeederOptions o;
    o.allapps = true;
    Enumerator& e = start(o, {1, 2});
    e.set_lack({[](Id app) { return app == 2; }, [](const UnsentRow& row) { return row.app_id == 2; }});
    run(10, true);  // found out that there is nothing
    std::size_t most = 0;
    for (int turn = 0; turn < 300; ++turn) {
        store_.rows_read = 0;
        run(0, true);
        most = std::max<std::size_t>(most, store_.rows_read);
    }
    EXPECT_LE(most, 400u);
    for (Id id = 50001; id <= 60000; ++id) job(id, 0, 2);
    run(20, true);  // a cycle of small turns; at work these are milliseconds apart
    EXPECT_EQ(take(10000, 2).size(), 10000u) << "once there is something, all that is wanted is read at once";
}

// With millions of jobs waiting, each row before the first fill is a look at another page of a table.
TEST_F(EnumeratorTest, ManyNewJobsAreFoundInOneTurn) {
    Enumerator& e = start();
    run(3, true);  // there was nothing for the empty slots, so pages are small
    for (Id id = 1; id <= 1000; ++id) job(id);
    now_ += 10;
    const double due = now_;
    for (; e.backlog().size() == 0 && now_ < due + 10; now_ += 0.1) e.turn(now_, true);
    EXPECT_EQ(e.backlog().size(), 1000u) << "with --sleep_interval the next turn may be far";
}

TEST_F(EnumeratorTest, TheFirstFillWaitsForFewRows) {
    settings_.slots = 100;
    settings_.page = 50;
    settings_.small_page = 50;
    settings_.rows_before_first_fill = 1000;
    for (Id id = 1; id <= 2000; ++id) job(id, id % 10);
    FeederOptions all_apps;
    all_apps.allapps = true;
    for (const FeederOptions& o : {ordered(FeederOrder::kByBatch), ordered(FeederOrder::kRandom), all_apps}) {
        start(o);
        EXPECT_TRUE(enumerator_->has_surveyed());
        EXPECT_GE(enumerator_->rows_read(), 1000u) << "an order that the index does not have";
    }
    start();
    EXPECT_TRUE(enumerator_->has_surveyed());
    EXPECT_LE(enumerator_->rows_read(), 150u);
    std::vector<Id> best;
    for (Id id = 9; id < 1000; id += 10) best.push_back(id);
    EXPECT_EQ(take(100), best);
    run(5);
    EXPECT_EQ(enumerator_->backlog().size(), 1900u) << "all the others were found then";
}

/// More jobs than the backlog keeps: the cycles see the head only, the slow walk the rest.
TEST_F(EnumeratorTest, ARetryIsFoundBehindALongQueue) {
    settings_.slots = 10;
    settings_.page = 50;
    settings_.backlog = 100;
    settings_.rows_before_first_fill = 200;
    settings_.rows_a_turn = 100;
    for (Id id = 1; id <= 3000; ++id) job(id, 0, 1, 0, 10000 + id);
    job(9999, 0, 1, 0, 5);  // highest id, oldest workunit
    start();
    EXPECT_THAT(take(1), ElementsAre(1));
    run(120);
    EXPECT_THAT(take(1), ElementsAre(9999));
    EXPECT_LE(enumerator_->backlog().size(), 100u) << "memory stays bounded";
}

/// Whatever happens to jobs, each one that is unsent and may be sent is offered in the end.
TEST_F(EnumeratorTest, NothingIsForgottenWhateverHappens) {
    const auto random = make_seeded_rng(11);
    for (const FeederOrder order : {FeederOrder::kDefault, FeederOrder::kPriorityAsc, FeederOrder::kByBatch,
                                    FeederOrder::kBatchAccel, FeederOrder::kRandomColumn}) {
        db_.results.clear();
        db_.workunits.clear();
        held_.clear();
        settings_.slots = 5;
        settings_.page = 7;
        settings_.head = 3;
        settings_.backlog = 30;
        settings_.rows_a_turn = 20;
        settings_.rows_before_first_fill = 40;
        for (Id id = 1; id <= 150; ++id)
            job(id, static_cast<std::int64_t>(random->below(4)) - 1, 1, static_cast<Id>(random->below(3)));
        start(ordered(order));
        Id next = 200;
        for (int step = 0; step < 400; ++step) {
            const Id id = 1 + static_cast<Id>(random->below(150));
            Result& r = db_.results.at(id);
            switch (random->below(6)) {
                case 0: take(1); break;
                case 1:
                    job(next++, static_cast<std::int64_t>(random->below(5)) - 2, 1, static_cast<Id>(random->below(4)));
                    break;
                case 2: r.server_state = ServerState::kInactive; break;  // and released again later
                case 3: r.server_state = ServerState::kUnsent; break;
                case 4: r.priority = static_cast<std::int64_t>(random->below(5)) - 2; break;
                case 5:
                    if (!held_.empty()) held_.erase(held_.begin());
                    break;  // given back
            }
            run(0.3, step % 3 == 0);
        }
        std::set<Id> unsent;
        for (const auto& [id, r] : db_.results) {
            if (r.server_state == ServerState::kUnsent) unsent.insert(id);
        }
        // Now everything is sent as soon as it is offered.
        for (const Id id : held_) unsent.erase(id);
        for (int step = 0; step < 3000 && !unsent.empty(); ++step) {
            for (const Id id : take(5)) {
                unsent.erase(id);
                sent(id);
            }
            run(0.3, true);
        }
        EXPECT_THAT(unsent, IsEmpty()) << static_cast<int>(order);
    }
}

TEST_F(EnumeratorTest, ALostConnectionInAWalkLosesNothing) {
    settings_.page = 10;
    for (Id id = 1; id <= 100; ++id) job(id);
    int calls = 0;
    db_.before = [&](const std::string&) {
        if (++calls % 3 == 0) throw DbError(DbError::Kind::kLost, 2013, "lost");
    };
    settings_.options = {};
    enumerator_ = std::make_unique<Enumerator>(settings_, store_, rng_, [this](Id id) { return held_.count(id) != 0; });
    enumerator_->set_apps({1});
    picker_ = std::make_unique<Picker>(FeederOptions{}, std::vector<Submitter>{}, rng_);
    for (int turn = 0; turn < 50; ++turn, now_ += 0.5) {
        try {
            enumerator_->turn(now_, true);
        } catch (const DbError&) {
        }
    }
    EXPECT_THAT(take(1000), SizeIs(100));
}

TEST(Backlog, TrimsTheWorstOfTheLongestLine) {
    Backlog backlog;
    for (Id id = 1; id <= 100; ++id) {
        QueuedJob c;
        c.row.id = id;
        c.major = static_cast<double>(id);
        c.stream.part = id <= 90 ? 1 : 2;
        EXPECT_TRUE(backlog.insert(c));
        EXPECT_FALSE(backlog.insert(c));
    }
    EXPECT_EQ(backlog.trim(30), 70u);
    EXPECT_EQ(backlog.size(), 30u);
    EXPECT_NE(backlog.find(1), nullptr) << "the best stay";
    EXPECT_EQ(backlog.find(90), nullptr);
    EXPECT_NE(backlog.find(95), nullptr) << "and short lines";
    EXPECT_TRUE(backlog.remove(1));
    EXPECT_FALSE(backlog.remove(1));
    EXPECT_EQ(backlog.take({0, 0, 1, 0}, {})->row.id, 2);
}

TEST(Backlog, HrClassesWithoutRoomAreStepped0ver) {
    Backlog backlog;
    for (Id id = 1; id <= 4; ++id) {
        QueuedJob c;
        c.row.id = id;
        c.major = static_cast<double>(id);
        c.stream.hr_class = id % 2 == 0 ? 258 : 0;
        backlog.insert(c);
    }
    const auto only_258 = [](const StreamKey& s) { return s.hr_class == 258; };
    EXPECT_EQ(backlog.take({}, only_258)->row.id, 2);
    EXPECT_EQ(backlog.take({}, {})->row.id, 1) << "the best of all classes";
    EXPECT_FALSE(backlog.has({}, [](const StreamKey& s) { return s.hr_class == 7; }));
}

}  // namespace
}  // namespace sluice::test
