// SPDX-License-Identifier: LGPL-3.0-or-later
// The owner table, one step between two others: what may happen between the feeder's look at an entry and its proof
// that the owner is dead, and between the proof and the giving back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "sluice/base/rng.h"
#include "src/shmem/claim_table.h"

namespace sluice::test {
namespace {

using namespace shm;

constexpr std::uint32_t kSlots = 8;

class ClaimTableTest : public ::testing::Test {
  protected:
    ClaimTableTest() { make(1); }
    void make(std::uint32_t owners) {
        memory_ = std::vector<std::array<std::uint64_t, 8>>(claims_bytes(kSlots, owners) / 64 + 1);
        void* at = memory_.data();
        std::size_t space = memory_.size() * 64;
        table_ = ClaimTable(std::align(64, claims_bytes(kSlots, owners), at, space), kSlots, owners);
        for (std::uint32_t i = 0; i < kSlots; ++i) table_.slot(i).word = present(i);
    }
    static std::uint64_t present(std::uint32_t slot) { return make_word(100 + slot, 0, WordState::kPresent); }
    static std::uint64_t claimed(std::uint32_t slot, std::uint32_t entry) {
        return with_state(present(slot), entry, WordState::kClaimed);
    }
    bool claim(std::uint32_t slot, std::uint32_t entry) {
        std::uint64_t seen = present(slot);
        return table_.slot(slot).word.compare_exchange_strong(seen, claimed(slot, entry));
    }
    bool release(std::uint32_t slot, std::uint32_t entry) {
        std::uint64_t mine = claimed(slot, entry);
        return table_.slot(slot).word.compare_exchange_strong(mine, present(slot));
    }

    std::vector<std::array<std::uint64_t, 8>> memory_;
    ClaimTable table_;
};

const ProcessId kFirst{10, 1}, kSecond{20, 2};

/// Proved dead, but it had left before, and a living process has entered since: its claims are not the dead one's.
TEST_F(ClaimTableTest, AnEntryThatChangedHandsIsLeftAlone) {
    const auto first = table_.enter(kFirst);
    ASSERT_TRUE(first);
    const int given_back = table_.give_back([&](const ProcessId& owner) {
        EXPECT_EQ(owner, kFirst);
        table_.leave(*first, kFirst);
        EXPECT_EQ(table_.enter(kSecond), first) << "the only entry there is";
        EXPECT_TRUE(claim(3, *first));
        return true;
    });
    EXPECT_EQ(given_back, 0);
    EXPECT_EQ(table_.slot(3).word.load(), claimed(3, *first));
    EXPECT_EQ(table_.owner(*first), pack_owner(kSecond));
    EXPECT_TRUE(release(3, *first));
}

TEST_F(ClaimTableTest, LeavingLateEvictsNoSuccessor) {
    const auto entry = table_.enter(kFirst);
    EXPECT_EQ(table_.give_back([](const ProcessId&) { return true; }), 0);  // taken for dead
    EXPECT_EQ(table_.enter(kSecond), entry);
    table_.leave(*entry, kFirst);
    EXPECT_EQ(table_.owner(*entry), pack_owner(kSecond));
}

TEST_F(ClaimTableTest, SlotThatFreeEntryHoldsIsGivenBack) {
    table_.slot(5).word = claimed(5, 0);
    ASSERT_EQ(table_.owner(0), 0u);
    EXPECT_EQ(table_.give_back([](const ProcessId&) { return false; }), 1);
    EXPECT_EQ(table_.slot(5).word.load(), present(5));
    EXPECT_TRUE(table_.enter(kFirst)) << "and the entry is free";
}

TEST_F(ClaimTableTest, OnlyTheDeadOnesClaimsAreGivenBack) {
    make(2);
    const auto one = table_.enter(kFirst), two = table_.enter(kSecond);
    ASSERT_TRUE(one && two && claim(1, *one) && claim(2, *two));
    EXPECT_EQ(table_.give_back([](const ProcessId& owner) { return owner == kFirst; }), 1);
    EXPECT_EQ(table_.slot(1).word.load(), present(1));
    EXPECT_EQ(table_.slot(2).word.load(), claimed(2, *two));
    EXPECT_EQ(table_.owner(*one), 0u);
}

/// An entry that says "being freed" though no feeder frees it: nobody could ever enter.
TEST_F(ClaimTableTest, EntryThatIsFreedByNobodyBecomesFree) {
    std::atomic<std::uint64_t>* entry =
        reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<char*>(&table_.counters()) + owners_offset());
    *entry = kBeingFreed;
    EXPECT_FALSE(table_.enter(kFirst));
    table_.give_back([](const ProcessId&) { return false; });
    EXPECT_TRUE(table_.enter(kFirst));
}

/// Processes come, claim, die with their claim or leave in order, and enter where others have been; all that happens
/// between the feeder's look at an entry and its proof as well. A living one's claim is never taken, a dead one's
/// always comes back.
class Crowd {
  public:
    Crowd(ClaimTable& table, std::uint64_t seed) : table_(table), rng_(make_seeded_rng(seed)) {}

    bool is_dead(const ProcessId& p) {
        for (std::uint64_t n = rng_->below(4); n > 0; --n) step();
        return std::none_of(living_.begin(), living_.end(), [&](const Process& l) { return l.id == p; });
    }
    void step() {
        if (living_.size() < 4 && rng_->below(2) == 0) {
            const ProcessId id{++last_pid_, 7};
            if (const auto entry = table_.enter(id)) living_.push_back({id, *entry, {}});
        } else if (!living_.empty()) {
            act(rng_->below(living_.size()));
        }
    }
    /// Every claim that a living process made is there still.
    bool all_hold() const {
        return std::all_of(living_.begin(), living_.end(), [&](const Process& p) {
            return !p.slot || table_.slot(*p.slot).word == with_state(word_of(*p.slot), p.entry, WordState::kClaimed);
        });
    }
    void end_all() { living_.clear(); }
    int claims() const { return claims_; }

    static std::uint64_t word_of(std::uint32_t slot) { return make_word(100 + slot, 0, WordState::kPresent); }

  private:
    struct Process {
        ProcessId id;
        std::uint32_t entry;
        std::optional<std::uint32_t> slot;
    };
    void act(std::size_t which) {
        Process& p = living_[which];
        const auto gone = living_.begin() + static_cast<std::ptrdiff_t>(which);
        if (rng_->below(4) == 0) {
            living_.erase(gone);  // killed: entry and claim stay
        } else if (!p.slot) {
            const auto slot = static_cast<std::uint32_t>(rng_->below(kSlots));
            std::uint64_t seen = word_of(slot);
            const std::uint64_t mine = with_state(seen, p.entry, WordState::kClaimed);
            if (table_.slot(slot).word.compare_exchange_strong(seen, mine)) p.slot = slot, ++claims_;
        } else {
            table_.slot(*p.slot).word = word_of(*p.slot);
            table_.leave(p.entry, p.id);
            living_.erase(gone);
        }
    }

    ClaimTable& table_;
    std::unique_ptr<Rng> rng_;
    std::vector<Process> living_;
    std::int32_t last_pid_ = 0;
    int claims_ = 0;
};

TEST_F(ClaimTableTest, NoLivingOwnersClaimIsTakenWhateverOrder) {
    make(2);
    Crowd crowd(table_, 11);
    for (int turn = 0; turn < 20000; ++turn) {
        crowd.step();
        table_.give_back([&](const ProcessId& p) { return crowd.is_dead(p); });
        ASSERT_TRUE(crowd.all_hold()) << turn;
    }
    EXPECT_GT(crowd.claims(), 1000);
    crowd.end_all();
    table_.give_back([](const ProcessId&) { return true; });
    EXPECT_EQ(table_.claimed(), 0u);
}

}  // namespace
}  // namespace sluice::test
