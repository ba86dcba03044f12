// SPDX-License-Identifier: LGPL-3.0-or-later
// Several processes, some of which are killed: no job twice, none lost, no slot stuck.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "sluice/base/error.h"
#include "sluice/base/rng.h"
#include "tests/shmem/array/array_fixture.h"

namespace sluice::test {
namespace {

/// Plays the database: what was committed, seen by all processes.
class Ledger {
  public:
    explicit Ledger(std::size_t jobs) : bytes_((jobs + 1 + kCounters * 8)) {
        void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        counters_ = static_cast<std::atomic<std::uint64_t>*>(at);
        committed_ = reinterpret_cast<std::atomic<std::uint8_t>*>(counters_ + kCounters);
    }
    ~Ledger() { ::munmap(counters_, bytes_); }
    /// UPDATE … WHERE server_state = 2: true for the first only.
    bool commit(Id id) {
        std::uint8_t unsent = 0;
        return committed_[id].compare_exchange_strong(unsent, 1);
    }
    bool is_committed(Id id) const { return committed_[id].load() != 0; }
    std::atomic<std::uint64_t>& torn() { return counters_[0]; }
    std::atomic<std::uint64_t>& doubled() { return counters_[1]; }
    std::atomic<std::uint64_t>& sent() { return counters_[2]; }
    std::atomic<std::uint64_t>& stop() { return counters_[3]; }

  private:
    static constexpr std::size_t kCounters = 8;
    std::size_t bytes_;
    std::atomic<std::uint64_t>* counters_;
    std::atomic<std::uint8_t>* committed_;
};

/// A scheduler's life: scans from a random place, claims, sometimes gives back, commits, consumes; dies with
/// SIGKILL at a random point if it may.
int scheduler(const JobArrayName& name, Ledger& ledger, std::uint64_t seed, bool may_die) {
    const auto rng = make_seeded_rng(seed);
    const auto array = SchedulerArray::attach(name);
    const auto maybe_die = [&] {
        if (may_die && rng->below(400) == 0) ::kill(::getpid(), SIGKILL);
    };
    array->set_test_hook([&](const char*) { maybe_die(); });
    while (ledger.stop().load() == 0) {
        const auto start = static_cast<std::uint32_t>(rng->below(array->size()));
        for (std::uint32_t i = 0; i < array->size() && ledger.stop().load() == 0; ++i) {
            JobSummary job;
            SlotRef ref;
            if (array->read((start + i) % array->size(), job, ref) != SlotState::kPresent) continue;
            if (!is_whole(job)) ++ledger.torn();
            auto claim = array->claim(ref);
            if (!claim) continue;
            if (!is_whole(claim->doc(), job.result_id)) ++ledger.torn();
            if (rng->below(4) == 0) continue;  // infeasible after all: the claim gives it back
            if (ledger.commit(job.result_id)) {
                ++ledger.sent();
            } else {
                ++ledger.doubled();
            }
            maybe_die();
            claim->consume();
        }
    }
    return 0;
}

struct Crowd {
    JobArrayName name;
    Ledger& ledger;
    bool may_die;
    std::vector<pid_t> pids;
    std::uint64_t seed = 1;
    int deaths = 0;

    void start_one() {
        const auto s = ++seed;
        pids.push_back(in_child([&] { return scheduler(name, ledger, s, may_die); }));
    }
    /// Replaces those that died.
    void tend() {
        for (auto& pid : pids) {
            int status = 0;
            if (::waitpid(pid, &status, WNOHANG) != pid) continue;
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
            ++deaths;
            const auto s = ++seed;
            pid = in_child([&] { return scheduler(name, ledger, s, may_die); });
        }
    }
    void end() {
        ledger.stop() = 1;
        for (const pid_t pid : pids) {
            const int status = wait_for(pid);
            EXPECT_TRUE(status == 0 || status == -SIGKILL) << status;
        }
    }
};

void feed_all(FeederArray& feeder, Crowd& crowd, Id jobs) {
    Id next = 1;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    for (;;) {
        for (std::uint32_t i = 0; i < feeder.size() && next <= jobs; ++i) {
            if (feeder.publish(i, job_of(next), doc_of(next))) ++next;
        }
        crowd.tend();
        feeder.reclaim_dead_claims();
        const auto s = feeder.stats();
        ASSERT_EQ(s.present + s.claimed + s.empty, s.slots);
        if (next > jobs && s.empty == s.slots) return;
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << s.present << " present, " << s.claimed << " claimed";
        feeder.wait_for_consumption(0.01);
    }
}

TEST_F(ArrayTest, TenSchedulersAndFeederSendEveryJobOnce) {
    constexpr Id kJobs = 30000;
    Ledger ledger(kJobs);
    const auto feeder = create(100);
    Crowd crowd{name_, ledger, false, {}};
    for (int i = 0; i < 10; ++i) crowd.start_one();
    feed_all(*feeder, crowd, kJobs);
    crowd.end();
    EXPECT_EQ(ledger.sent().load(), static_cast<std::uint64_t>(kJobs));
    EXPECT_EQ(ledger.doubled().load(), 0u) << "a job was claimed again after it was sent";
    EXPECT_EQ(ledger.torn().load(), 0u);
}

TEST_F(ArrayTest, KilledSchedulersLoseAndStickNothing) {
    constexpr Id kJobs = 20000;
    Ledger ledger(kJobs);
    const auto feeder = create(64);
    Crowd crowd{name_, ledger, true, {}};
    for (int i = 0; i < 8; ++i) crowd.start_one();
    feed_all(*feeder, crowd, kJobs);
    crowd.end();
    for (Id id = 1; id <= kJobs; ++id) ASSERT_TRUE(ledger.is_committed(id)) << id;
    EXPECT_EQ(ledger.sent().load(), static_cast<std::uint64_t>(kJobs));
    EXPECT_EQ(ledger.torn().load(), 0u);
    EXPECT_GT(crowd.deaths, 10) << "the test must have killed some";
    // Killed between commit and consume: the slot comes back, the database refuses the second sending.
    EXPECT_LE(ledger.doubled().load(), static_cast<std::uint64_t>(crowd.deaths));
}

/// One scheduler killed at exactly one named point.
class KilledAt : public ArrayTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledAt, TheSlotIsUsableAgain) {
    const std::string point = GetParam();
    const auto feeder = create(2);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    const pid_t pid = in_child([&] {
        const auto array = SchedulerArray::attach(name_);
        array->set_test_hook([&](const char* at) {
            if (point == at) ::kill(::getpid(), SIGKILL);
        });
        JobSummary job;
        SlotRef ref;
        array->read(0, job, ref);
        auto claim = array->claim(ref);
        if (point == "consumed") claim->consume();
        claim->release();
        return 0;
    });
    ASSERT_EQ(wait_for(pid), -SIGKILL);
    const auto before = feeder->stats();
    EXPECT_EQ(before.claimed, point == "claimed" ? 1u : 0u);
    EXPECT_EQ(feeder->reclaim_dead_claims(), point == "claimed" ? 1 : 0);
    const auto after = feeder->stats();
    EXPECT_EQ(after.claimed, 0u);
    EXPECT_EQ(after.present, point == "consumed" ? 0u : 1u);
    EXPECT_EQ(feeder->reclaim_dead_claims(), 0) << "once";
    JobSummary job;
    SlotRef ref;
    if (feeder->read(0, job, ref) == SlotState::kPresent) {
        EXPECT_TRUE(SchedulerArray::attach(name_)->claim(ref));
    }
}
INSTANTIATE_TEST_SUITE_P(Points, KilledAt, ::testing::Values("registered", "claimed", "consumed", "released"));

TEST_F(ArrayTest, ALivingOwnersClaimIsNeverTaken) {
    const auto feeder = create(1);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    int ready[2], go[2];
    ASSERT_EQ(::pipe(ready) + ::pipe(go), 0);
    const pid_t pid = in_child([&] {
        const auto array = SchedulerArray::attach(name_);
        JobSummary job;
        SlotRef ref;
        array->read(0, job, ref);
        auto claim = array->claim(ref);
        char c = 1;
        if (!claim || ::write(ready[1], &c, 1) != 1 || ::read(go[0], &c, 1) != 1) return 1;
        claim->consume();
        return 0;
    });
    char c = 0;
    ASSERT_EQ(::read(ready[0], &c, 1), 1);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(feeder->reclaim_dead_claims(), 0);
    EXPECT_EQ(feeder->owner_of_slot(0)->pid, pid);
    ASSERT_EQ(::write(go[1], &c, 1), 1);
    EXPECT_EQ(wait_for(pid), 0);
    EXPECT_EQ(feeder->stats().empty, 1u);
    for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
}

TEST_F(ArrayTest, OwnerEntriesAreUsedAgain) {
    JobArraySettings settings;
    settings.slots = 1;
    settings.owners = 3;
    const auto feeder = FeederArray::create(name_, settings);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    for (int i = 0; i < 20; ++i) {
        const bool dies = i % 2 == 0;
        const pid_t pid = in_child([&] {
            const auto array = SchedulerArray::attach(name_);
            JobSummary job;
            SlotRef ref;
            if (array->read(0, job, ref) != SlotState::kPresent) return 1;
            auto claim = array->claim(ref);
            if (dies) ::kill(::getpid(), SIGKILL);
            return claim ? 0 : 2;
        });
        ASSERT_EQ(wait_for(pid), dies ? -SIGKILL : 0) << i;
        feeder->reclaim_dead_claims();
    }
}

TEST_F(ArrayTest, ChildOfClaimantDoesNotEndClaim) {
    const auto feeder = create(1);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    const auto array = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(array->read(0, job, ref), SlotState::kPresent);
    auto claim = array->claim(ref);
    ASSERT_TRUE(claim);
    EXPECT_EQ(wait_for(in_child([&] {
                  claim->release();
                  return 0;
              })),
              0);
    EXPECT_EQ(feeder->stats().claimed, 1u);
}

TEST_F(ArrayTest, FeederKilledWhilePublishingLeavesEmptySlot) {
    for (const std::string point : {"created", "sized", "publish.payload", "published", "tables.written"}) {
        const pid_t pid = in_child([&] {
            const auto feeder = create(4, [&](const char* at) {
                if (point == at) ::kill(::getpid(), SIGKILL);
            });
            feeder->publish(0, job_of(1), doc_of(1));
            feeder->publish_tables({});
            return 0;
        });
        ASSERT_EQ(wait_for(pid), -SIGKILL) << point;
        EXPECT_EQ(leftovers().size(), 2u) << point;
        if (point == "created" || point == "sized") {
            EXPECT_THROW(SchedulerArray::attach(name_), ShmemError) << point;
        } else {
            const auto s = SchedulerArray::attach(name_)->stats();
            EXPECT_EQ(s.present, point == "publish.payload" ? 0u : 1u) << point;
            EXPECT_EQ(s.table_generation, 0u) << "not before it is whole: " << point;
        }
        const auto successor = create(2);
        EXPECT_EQ(successor->stats().empty, 2u);
        EXPECT_EQ(leftovers().size(), 2u) << "what the dead one left is gone";
        successor->close_and_remove();
        EXPECT_TRUE(leftovers().empty()) << point;
    }
}

/// A feeder dies while a scheduler holds a job; the new feeder publishes the same result (the database still says
/// unsent). Both may be claimed: only one is committed, because of the guard server_state = 2.
TEST_F(ArrayTest, AfterATakeoverTheDatabaseDecidesWhoSends) {
    Ledger ledger(1);
    ASSERT_EQ(wait_for(in_child([&] {
                  const auto feeder = create(1);
                  feeder->publish(0, job_of(1), doc_of(1));
                  ::kill(::getpid(), SIGKILL);
                  return 0;
              })),
              -SIGKILL);
    const auto old_array = SchedulerArray::attach(name_);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(old_array->read(0, job, ref), SlotState::kPresent);
    auto old_claim = old_array->claim(ref);
    ASSERT_TRUE(old_claim);
    const auto feeder = create(1);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    const auto new_array = SchedulerArray::attach(name_);
    ASSERT_EQ(new_array->read(0, job, ref), SlotState::kPresent);
    auto new_claim = new_array->claim(ref);
    ASSERT_TRUE(new_claim);
    EXPECT_TRUE(is_whole(old_claim->doc(), 1)) << "the old mapping lives on";
    EXPECT_TRUE(ledger.commit(1));
    EXPECT_FALSE(ledger.commit(1));
    old_claim->consume();
    new_claim->consume();
    EXPECT_EQ(feeder->stats().empty, 1u) << "a consume in the old array does not touch the new one";
}

TEST_F(ArrayTest, ReadersNeverSeeATornJobOrTable) {
    const auto feeder = create(4);
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0}, reads{0};
    const auto read_slots = [&](const JobArray& array) {
        for (std::uint32_t i = 0; i < 4; ++i) {
            JobSummary job;
            SlotRef ref;
            if (array.read(i, job, ref) != SlotState::kPresent) continue;
            ++reads;
            if (!is_whole(job)) ++torn;
            if (const auto doc = array.peek_doc(ref); doc && !is_whole(*doc, job.result_id)) ++torn;
        }
    };
    const auto reader = [&] {
        const auto array = SchedulerArray::attach(name_);
        while (!stop) {
            read_slots(*array);
            const auto tables = array->tables();
            for (const auto& app : tables->apps) torn += app.id != tables->built_at;
        }
    };
    for (std::uint32_t i = 0; i < 4; ++i) feeder->publish(i, job_of(i + 1), doc_of(i + 1));
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back(reader);
    // One reader in the feeder's own mapping: only there does thread sanitizer see that both mean the same bytes. (All
    // of the pool is mapped by now: the documents of this test fit its first chunk.)
    readers.emplace_back([&] {
        while (!stop) read_slots(*feeder);
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    for (Id id = 1; std::chrono::steady_clock::now() < end; ++id) {
        const auto i = static_cast<std::uint32_t>(id % 4);
        JobSummary job;
        SlotRef ref;
        if (feeder->read(i, job, ref) == SlotState::kPresent) feeder->withdraw(ref);
        feeder->publish(i, job_of(id), doc_of(id));
        if (id % 16 == 0) {
            ProjectTables tables;
            tables.apps.resize(static_cast<std::size_t>(id / 16 % 50));
            for (auto& app : tables.apps) app.id = id;
            tables.built_at = id;
            feeder->publish_tables(tables);
        }
    }
    stop = true;
    for (auto& t : readers) t.join();
    EXPECT_EQ(torn.load(), 0);
    EXPECT_GT(reads.load(), 1000);
}

TEST_F(ArrayTest, ConsumptionWakesTheFeeder) {
    const auto feeder = create(1);
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    const auto t0 = std::chrono::steady_clock::now();
    EXPECT_FALSE(feeder->wait_for_consumption(0.05));
    EXPECT_GE(std::chrono::steady_clock::now() - t0, std::chrono::milliseconds(50));
    const pid_t pid = in_child([&] {
        const auto array = SchedulerArray::attach(name_);
        JobSummary job;
        SlotRef ref;
        array->read(0, job, ref);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // let the feeder fall asleep first
        array->claim(ref)->consume();
        return 0;
    });
    const auto t1 = std::chrono::steady_clock::now();
    EXPECT_TRUE(feeder->wait_for_consumption(20));
    EXPECT_LT(std::chrono::steady_clock::now() - t1, std::chrono::seconds(5));
    EXPECT_EQ(wait_for(pid), 0);
    EXPECT_FALSE(feeder->wait_for_consumption(0)) << "told once";
}

}  // namespace
}  // namespace sluice::test
