// SPDX-License-Identifier: LGPL-3.0-or-later
// Arbitrary bytes in every word that a scheduler may write, while feeder and schedulers work: nobody reads or writes
// out of bounds (the build with sanitizers says so), nobody sees a job that was never published, and when it is over
// the array works as before.
#include <sys/mman.h>

#include <atomic>
#include <fstream>
#include <new>

#include "sluice/base/error.h"
#include "tests/shmem/array/array_fixture.h"
#include "tests/shmem/hostile/attacker.h"

namespace sluice::test {
namespace {

/// Counters that all processes see.
struct Shared {
    std::atomic<std::uint64_t> torn{0}, seen{0}, refused{0}, stop{0};
};

class Hostile : public ArrayTest {
  protected:
    Hostile() {
        void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        shared_ = new (at) Shared;
    }
    ~Hostile() override { ::munmap(shared_, sizeof(Shared)); }

    std::filesystem::path claims() const { return content_file(name_).string() + ".claims"; }

    /// Scans, peeks, claims, gives back and consumes until told to stop. What it throws is an error, not a crash.
    int scheduler(std::uint64_t seed) {
        const auto rng = make_seeded_rng(seed);
        std::unique_ptr<SchedulerArray> array;
        while (shared_->stop.load() == 0) {
            try {
                if (!array) array = SchedulerArray::attach(name_);
                use(*array, *rng);
            } catch (const ShmemError&) {
                ++shared_->refused;
                array.reset();
            }
        }
        return 0;
    }
    void use(SchedulerArray& array, Rng& rng) {
        (void)array.stats();
        (void)array.tables();
        for (std::uint32_t i = 0; i < array.size(); ++i) {
            JobSummary job;
            SlotRef ref;
            (void)array.owner_of_slot(i);
            if (array.read(i, job, ref) != SlotState::kPresent) continue;
            ++shared_->seen;
            if (job.result_id <= 0 || !is_whole(job)) ++shared_->torn;
            if (const auto doc = array.peek_doc(ref); doc && !is_whole(*doc, job.result_id)) ++shared_->torn;
            array.note_passed_over(ref);
            array.note_infeasible(ref);
            auto claim = array.claim(ref);
            if (!claim) continue;
            if (!is_whole(claim->doc(), job.result_id)) ++shared_->torn;
            if (rng.below(2) == 0) claim->consume();
        }
    }
    /// What a feeder does in a turn.
    void turn(FeederArray& feeder) {
        for (std::uint32_t i = 0; i < feeder.size(); ++i) {
            JobSummary job;
            SlotRef ref;
            if (feeder.read(i, job, ref) == SlotState::kPresent) {
                if (job.result_id % 5 == 0) feeder.withdraw(ref);
                continue;
            }
            if (feeder.publish(i, job_of(next_), doc_of(next_))) ++next_;
        }
        if (next_ % 7 == 0) {
            ProjectTables tables;
            tables.built_at = next_;
            tables.apps.resize(static_cast<std::size_t>(next_ % 40));
            feeder.publish_tables(tables);
        }
        feeder.reclaim_dead_claims();
        (void)feeder.stats();
        feeder.wait_for_consumption(0.0001);
    }
    /// Nobody else there any more: every slot can be filled, and each job be taken once.
    void expect_sound(FeederArray& feeder) {
        for (int i = 0; i < 2; ++i) feeder.reclaim_dead_claims();
        const auto scheduler = SchedulerArray::attach(name_);
        for (int round = 0; round < 3; ++round) {
            for (std::uint32_t i = 0; i < feeder.size(); ++i) {
                JobSummary job;
                SlotRef ref;
                if (feeder.read(i, job, ref) == SlotState::kPresent) continue;
                ASSERT_EQ(feeder.state(i), SlotState::kEmpty) << i;
                ASSERT_TRUE(feeder.publish(i, job_of(next_), doc_of(next_)));
                ++next_;
            }
            ASSERT_EQ(feeder.stats().present, feeder.size());
            for (std::uint32_t i = 0; i < feeder.size(); ++i) {
                JobSummary job;
                SlotRef ref;
                ASSERT_EQ(scheduler->read(i, job, ref), SlotState::kPresent);
                ASSERT_TRUE(is_whole(job));
                auto claim = scheduler->claim(ref);
                ASSERT_TRUE(claim);
                ASSERT_TRUE(is_whole(claim->doc(), job.result_id));
                claim->consume();
            }
        }
    }

    Shared* shared_ = nullptr;
    Id next_ = 1;
};

TEST_F(Hostile, ArbitraryWordsInTheClaimsHurtNobody) {
    constexpr int kRounds = 60;
    JobArraySettings settings;
    settings.slots = 40;
    settings.owners = 16;
    const auto feeder = FeederArray::create(name_, settings);
    turn(*feeder);
    std::vector<pid_t> schedulers;
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        schedulers.push_back(in_child([&, seed] { return scheduler(seed); }));
    const pid_t attacker = in_child([&] {
        Attacker a(claims(), 99);
        for (int round = 0; round < kRounds; ++round) {
            for (std::size_t word = 0; word < a.words(); ++word) a.write(word);
            for (int i = 0; i < 2000; ++i) a.write_anywhere();
        }
        return 0;
    });
    int status = 0;
    while (::waitpid(attacker, &status, WNOHANG) == 0) turn(*feeder);
    EXPECT_EQ(status, 0);
    const auto mended = feeder->stats().mended;
    shared_->stop = 1;
    for (const pid_t pid : schedulers) EXPECT_EQ(wait_for(pid), 0);
    EXPECT_EQ(shared_->torn, 0u) << "of " << shared_->seen;
    EXPECT_GT(shared_->seen, 0u);
    EXPECT_GT(mended, 0u);
    expect_sound(*feeder);
}

/// Each kind of wrong state word, one at a time: the feeder empties the slot and goes on.
TEST_F(Hostile, AnImpossibleStateWordBecomesEmpty) {
    using namespace shm;
    const auto feeder = create(3);
    const auto scheduler = SchedulerArray::attach(name_);
    const auto set = [&](std::uint32_t slot, std::uint64_t word) {
        const int fd = ::open(claims().c_str(), O_RDWR);
        const auto at = static_cast<off_t>(claims_offset(4096) + slot * sizeof(SlotClaim));
        EXPECT_EQ(::pwrite(fd, &word, sizeof word, at), 8);
        ::close(fd);
    };
    ASSERT_TRUE(feeder->publish(0, job_of(1), doc_of(1)));
    ASSERT_TRUE(feeder->publish(1, job_of(2), doc_of(2)));
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(scheduler->read(1, job, ref), SlotState::kPresent);
    scheduler->claim(ref)->consume();
    EXPECT_EQ(feeder->reclaim_dead_claims(), 0);
    EXPECT_EQ(feeder->stats().mended, 0u) << "nothing wrong so far";
    const struct {
        std::uint32_t slot;
        std::uint64_t word;
        const char* what;
    } cases[] = {
        {0, make_word(7, 0, WordState::kPresent), "another generation"},
        {0, make_word(1, 9, WordState::kPresent), "an owner without a claim"},
        {0, 0x0100 | 77, "no state"},
        {0, make_word(1, 5000, WordState::kClaimed), "an owner beyond the table"},
        {1, make_word(1, 0, WordState::kPresent), "a job that was taken"},
        {2, make_word(0, 0, WordState::kPresent), "a slot that was never filled"},
        {2, make_word(3, 0, WordState::kEmpty), "an EMPTY slot of no generation of ours"},
    };
    std::uint64_t mended = 0;
    for (const auto& c : cases) {
        if (c.slot == 0 && feeder->state(0) == SlotState::kEmpty) {
            ASSERT_TRUE(feeder->publish(0, job_of(5), doc_of(5)));
        }
        set(c.slot, c.word);
        feeder->reclaim_dead_claims();
        EXPECT_EQ(feeder->state(c.slot), SlotState::kEmpty) << c.what;
        EXPECT_EQ(feeder->stats().mended, ++mended) << c.what;
    }
    expect_sound(*feeder);
}

/// A forged PRESENT while the feeder writes: the copy that a scheduler takes is whole or none.
TEST_F(Hostile, AForgedStateWordMakesNoTornCopy) {
    const auto feeder = create(1, [&](const char* at) {
        if (std::string(at) != "publish.payload") return;
        // The new payload stands there, the generation does not: whatever word is forged, there is nothing to read.
        const auto scheduler = SchedulerArray::attach(name_);
        Attacker a(claims(), 1);
        for (int i = 0; i < 2000; ++i) {
            a.write(shm::claims_offset(4096) / 8);
            JobSummary job;
            SlotRef ref;
            EXPECT_NE(scheduler->read(0, job, ref), SlotState::kPresent);
        }
    });
    for (Id id = 1; id <= 3; ++id) {
        feeder->publish(0, job_of(id), doc_of(id));
        JobSummary job;
        SlotRef ref;
        ASSERT_EQ(feeder->read(0, job, ref), SlotState::kPresent);
        feeder->withdraw(ref);
    }
}

TEST_F(Hostile, ClaimsFileCutOrLengthenedKillsNobody) {
    for (const std::uint64_t bytes : {0ul, 64ul, 4096ul, 8192ul, 1ul << 20}) {
        const auto feeder = create(300);
        turn(*feeder);
        const auto scheduler = SchedulerArray::attach(name_);
        const auto full = std::filesystem::file_size(claims());
        Attacker(claims(), 1).resize(bytes);
        const auto rng = make_seeded_rng(1);
        for (int i = 0; i < 3; ++i) {
            turn(*feeder);
            try {
                use(*scheduler, *rng);
            } catch (const ShmemError&) {
            }
        }
        EXPECT_EQ(feeder->current(), bytes >= full) << bytes;
        EXPECT_EQ(scheduler->current(), bytes >= full) << bytes;
        EXPECT_NO_THROW(feeder->close_and_remove());
    }
    const auto feeder = create(30);
    expect_sound(*feeder);
    EXPECT_EQ(shared_->torn, 0u);
}

/// Sizes and places in the header: a wrong one is an error in the scheduler, not a crash.
TEST_F(Hostile, AnyWordOfTheHeaderMayBeWrong) {
    const auto feeder = create(5);
    turn(*feeder);
    feeder->publish_tables({});
    const auto content = content_file(name_);
    std::ifstream file(content, std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    const auto rng = make_seeded_rng(5);
    const std::uint64_t values[] = {0, 1, 4097, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0xfffffffffffff000};
    for (std::size_t at = 0; at + 8 <= 256; at += 8) {  // up to the first chunks; the others are not in use
        for (const std::uint64_t value : values) {
            const int fd = ::open(content.c_str(), O_RDWR);
            ASSERT_EQ(::pwrite(fd, &value, sizeof value, static_cast<off_t>(at)), 8);
            try {
                use(*SchedulerArray::attach(name_), *rng);
            } catch (const ShmemError&) {
            }
            ASSERT_EQ(::pwrite(fd, image.data() + at, 8, static_cast<off_t>(at)), 8);
            ::close(fd);
        }
    }
}

}  // namespace
}  // namespace sluice::test
