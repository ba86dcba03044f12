// SPDX-License-Identifier: LGPL-3.0-or-later
// What schedulers write: owner table, claims, counts.
#include "sluice/shmem/scheduler_array.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <utility>

#include "sluice/base/error.h"
#include "src/shmem/job_array_impl.h"

namespace sluice {
using namespace shm;

std::unique_ptr<SchedulerArray> SchedulerArray::attach(const JobArrayName& name) {
    return std::unique_ptr<SchedulerArray>(new SchedulerArray(open(name, true)));
}

SchedulerArray::~SchedulerArray() {
    const Impl& impl = *impl_;
    // With claims left (which is a defect of the caller) the entry stays: the feeder gives the slots back first.
    if (impl.owner.pid == ::getpid() && impl.claims_held == 0) impl_->table.leave(impl.owner_entry, impl.owner);
}

void SchedulerArray::set_test_hook(std::function<void(const char*)> hook) { impl_->hook = std::move(hook); }

void SchedulerArray::register_owner() {
    Impl& impl = *impl_;
    if (impl.owner.pid == ::getpid()) return;
    impl.claims_held = 0;  // after a fork: claims of the parent are not ours
    const ProcessId self = this_process();
    const auto entry = impl.table.enter(self);
    if (!entry) {
        throw ShmemError(
            fmt::format("All {} places for schedulers in the job array {} are taken; is the feeder running?",
                        impl.owners, segment()));
    }
    impl.owner_entry = *entry;
    impl.owner = self;
    impl.at("registered");
}

std::optional<Claim> SchedulerArray::claim(const SlotRef& ref) {
    Impl& impl = *impl_;
    if (ref.index >= size() || state_of(ref.word) != WordState::kPresent) return std::nullopt;
    register_owner();
    std::uint64_t expected = ref.word;
    const std::uint64_t mine = with_state(ref.word, impl.owner_entry, WordState::kClaimed);
    if (!impl.table.slot(ref.index).word.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) {
        impl.table.counters().claims_lost.fetch_add(1, std::memory_order_relaxed);
        return std::nullopt;
    }
    ++impl.claims_held;
    impl.at("claimed");
    return Claim(this, ref.index, mine);
}

namespace {

/// Adds one to a counter that belongs to the content which `word` named; false if that content is gone.
bool count_for(Word& counter, std::uint64_t word) {
    const std::uint64_t generation = generation_of(word) & 0xffffffff;
    std::uint64_t seen = counter.load(std::memory_order_relaxed);
    while (seen >> 32 == generation && (seen & 0xffffffff) != 0xffffffff) {
        if (counter.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) return true;
    }
    return false;
}

}  // namespace

void SchedulerArray::note_infeasible(const SlotRef& ref) {
    if (ref.index < size()) count_for(impl_->table.slot(ref.index).infeasible, ref.word);
}

void SchedulerArray::note_passed_over(const SlotRef& ref) {
    if (ref.index >= size()) return;
    SlotClaim& slot = impl_->table.slot(ref.index);
    if (!count_for(slot.passed_over, ref.word)) return;
    std::uint64_t never = 0;
    const auto now = static_cast<std::uint64_t>(impl_->header->heartbeat.load(std::memory_order_relaxed));
    slot.first_passed_over.compare_exchange_strong(never, now, std::memory_order_relaxed);
}

void SchedulerArray::end_claim(const Claim& claim, bool consumed) {
    Impl& impl = *impl_;
    if (impl.owner.pid != ::getpid()) return;  // a child of the process that claimed it
    std::uint64_t mine = claim.word_;
    const std::uint64_t next = with_state(mine, 0, consumed ? WordState::kEmpty : WordState::kPresent);
    impl.table.slot(claim.index_).word.compare_exchange_strong(mine, next, std::memory_order_acq_rel);
    --impl.claims_held;
    impl.at(consumed ? "consumed" : "released");
    if (!consumed) return;
    ClaimCounters& counters = impl.table.counters();
    counters.consumed.fetch_add(1, std::memory_order_seq_cst);
    if (counters.waiters.load(std::memory_order_seq_cst) != 0)
        ::syscall(SYS_futex, &counters.consumed, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

Claim::Claim(SchedulerArray* array, std::uint32_t index, std::uint64_t word)
    : array_(array), index_(index), word_(word) {}
Claim::Claim(Claim&& other) noexcept
    : array_(std::exchange(other.array_, nullptr)), index_(other.index_), word_(other.word_) {}
Claim& Claim::operator=(Claim&& other) noexcept {
    if (this == &other) return *this;
    release();
    array_ = std::exchange(other.array_, nullptr);
    index_ = other.index_;
    word_ = other.word_;
    return *this;
}
Claim::~Claim() { release(); }

void Claim::release() {
    if (array_ != nullptr) std::exchange(array_, nullptr)->end_claim(*this, false);
}

void Claim::consume() {
    if (array_ != nullptr) std::exchange(array_, nullptr)->end_claim(*this, true);
}

SlotDoc Claim::doc() const {
    if (array_ == nullptr) throw Error("Cold data asked for after the claim ended");
    auto doc = array_->impl_->doc(index_, generation_of(word_));
    if (!doc) throw ShmemError("A claimed slot changed; was the feeder restarted?");
    return std::move(*doc);
}

}  // namespace sluice
