// The owner table, one step between two others: what may happen between the feeder's look at an entry and its proof
// that the owner is dead, and between the proof and the giving back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

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
TEST_F(ClaimTableTest, AnEntryThatChangedHandsBetweenLookAndProofIsLeftAlone) {
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

TEST_F(ClaimTableTest, WhoLeavesLateDoesNotPutOutWhoCameSince) {
    const auto entry = table_.enter(kFirst);
    EXPECT_EQ(table_.give_back([](const ProcessId&) { return true; }), 0);  // taken for dead
    EXPECT_EQ(table_.enter(kSecond), entry);
    table_.leave(*entry, kFirst);
    EXPECT_EQ(table_.owner(*entry), pack_owner(kSecond));
}

TEST_F(ClaimTableTest, ASlotThatAFreeEntryHoldsIsGivenBack) {
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
TEST_F(ClaimTableTest, AnEntryThatIsFreedByNobodyBecomesFree) {
    std::atomic<std::uint64_t>* entry =
        reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<char*>(&table_.counters()) + owners_offset());
    *entry = kBeingFreed;
    EXPECT_FALSE(table_.enter(kFirst));
    table_.give_back([](const ProcessId&) { return false; });
    EXPECT_TRUE(table_.enter(kFirst));
}

/// Processes come, claim, die with their claim or leave in order, and enter where others have been, while the feeder
/// gives back: a living one's claim is never taken, a dead one's always comes back.
TEST_F(ClaimTableTest, NoLivingOwnersClaimIsTakenWhateverTheOrder) {
    constexpr int kThreads = 3, kLives = 3000;
    make(2);
    std::vector<std::atomic<bool>> dead(kThreads * kLives + 1);
    std::atomic<int> running{kThreads}, stolen{0}, claims{0};
    const auto process = [&](int thread) {
        for (int life = 0; life < kLives; ++life) {
            const int pid = thread * kLives + life + 1;
            const ProcessId self{pid, 7};
            auto entry = table_.enter(self);
            for (; !entry; entry = table_.enter(self)) std::this_thread::yield();
            const auto slot = static_cast<std::uint32_t>(pid) % kSlots;
            const bool holds = claim(slot, *entry);
            if (holds) ++claims;
            if (life % 3 == 0) {
                dead[static_cast<std::size_t>(pid)] = true;  // killed: claim and entry stay
                continue;
            }
            if (holds && !release(slot, *entry)) ++stolen;
            table_.leave(*entry, self);
            dead[static_cast<std::size_t>(pid)] = true;
        }
        --running;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(process, t);
    const auto is_dead = [&](const ProcessId& p) { return dead[static_cast<std::size_t>(p.pid)].load(); };
    while (running > 0) table_.give_back(is_dead);
    for (auto& t : threads) t.join();
    table_.give_back(is_dead);
    EXPECT_EQ(stolen, 0);
    EXPECT_EQ(table_.claimed(), 0u);
    EXPECT_GT(claims, 100);
}

}  // namespace
}  // namespace sluice::test
