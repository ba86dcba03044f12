// What schedulers write: owner table, claims, counts.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "sluice/base/error.h"
#include "src/shmem/impl.h"

namespace sluice {
using namespace shm;

void JobArray::Impl::register_owner() {
    if (owner_pid == ::getpid()) return;
    claims_held = 0;  // after a fork: claims of the parent are not ours
    const ProcessId self = this_process();
    const std::uint64_t packed = pack_owner(self);
    const std::uint32_t n = header->owners;
    for (std::uint32_t i = 0; i < n; ++i) {
        // Neighbouring pids start at different places, so that they seldom meet.
        const std::uint32_t index = (static_cast<std::uint32_t>(self.pid) * 31u + i) % n;
        std::uint64_t free_entry = 0;
        if (owners[index].load(std::memory_order_relaxed) != 0) continue;
        if (owners[index].compare_exchange_strong(free_entry, packed, std::memory_order_acq_rel)) {
            owner_index = index;
            owner_pid = self.pid;
            at("registered");
            return;
        }
    }
    throw ShmemError(fmt::format("All {} places for schedulers in the job array {} are taken; is the feeder running?",
                                 n, name.segment));
}

void JobArray::Impl::unregister_owner() {
    // With claims left (which is a defect of the caller) the entry stays: the feeder gives the slots back first.
    if (owner_pid == 0 || owner_pid != ::getpid() || claims_held != 0) return;
    owners[owner_index].store(0, std::memory_order_release);
    owner_pid = 0;
}

std::optional<Claim> JobArray::claim(const SlotRef& ref) {
    Impl& impl = *impl_;
    if (!impl.writable || ref.index >= size() || state_of(ref.word) != WordState::kPresent) return std::nullopt;
    impl.register_owner();
    std::uint64_t expected = ref.word;
    const std::uint64_t mine = with_state(ref.word, impl.owner_index, WordState::kClaimed);
    if (!impl.slots[ref.index].word.compare_exchange_strong(expected, mine, std::memory_order_acq_rel)) {
        impl.header->claims_lost.fetch_add(1, std::memory_order_relaxed);
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

void JobArray::note_infeasible(const SlotRef& ref) {
    if (impl_->writable && ref.index < size()) count_for(impl_->slots[ref.index].infeasible, ref.word);
}

void JobArray::note_passed_over(const SlotRef& ref) {
    if (!impl_->writable || ref.index >= size()) return;
    Slot& slot = impl_->slots[ref.index];
    if (!count_for(slot.passed_over, ref.word)) return;
    std::uint64_t never = 0;
    const auto now = static_cast<std::uint64_t>(impl_->header->heartbeat.load(std::memory_order_relaxed));
    slot.first_passed_over.compare_exchange_strong(never, now, std::memory_order_relaxed);
}

Claim::Claim(JobArray* array, std::uint32_t index, std::uint64_t word) : array_(array), index_(index), word_(word) {}
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
    if (array_ == nullptr) return;
    auto& impl = *std::exchange(array_, nullptr)->impl_;
    if (impl.owner_pid != ::getpid()) return;  // a child of the process that claimed it
    std::uint64_t mine = word_;
    impl.slots[index_].word.compare_exchange_strong(mine, with_state(word_, 0, WordState::kPresent),
                                                    std::memory_order_acq_rel);
    --impl.claims_held;
    impl.at("released");
}

void Claim::consume() {
    if (array_ == nullptr) return;
    auto& impl = *std::exchange(array_, nullptr)->impl_;
    if (impl.owner_pid != ::getpid()) return;
    std::uint64_t mine = word_;
    impl.slots[index_].word.compare_exchange_strong(mine, with_state(word_, 0, WordState::kEmpty),
                                                    std::memory_order_acq_rel);
    --impl.claims_held;
    impl.at("consumed");
    auto& counter = impl.header->consumed;
    counter.fetch_add(1, std::memory_order_seq_cst);
    if (impl.header->waiters.load(std::memory_order_seq_cst) != 0) {
        ::syscall(SYS_futex, &counter, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
}

SlotDoc Claim::doc() const {
    if (array_ == nullptr) throw Error("Cold data asked for after the claim ended");
    auto& impl = *array_->impl_;
    Payload payload;
    if (!impl.copy_payload(impl.slots[index_], word_, payload))
        throw ShmemError("A claimed slot changed; restart the feeder");
    const Word* at = impl.block(payload.doc);
    if (at == nullptr) throw ShmemError("The cold data of a claimed slot are damaged; restart the feeder");
    return decode_doc(load_bytes(at, payload.doc.bytes));
}

}  // namespace sluice
