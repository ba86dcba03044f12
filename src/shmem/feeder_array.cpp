// SPDX-License-Identifier: LGPL-3.0-or-later
// What the feeder writes: slots and tables. How a segment is made and ended stands in feeder_segment.cpp.
#include "sluice/shmem/feeder_array.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "sluice/base/error.h"
#include "src/shmem/feeder_array_impl.h"
#include "src/shmem/tables_codec.h"

namespace sluice {
using namespace shm;

FeederArray::FeederArray(std::unique_ptr<Impl> impl, std::unique_ptr<Own> own)
    : JobArray(std::move(impl)), own_(std::move(own)) {}
FeederArray::~FeederArray() = default;

bool FeederArray::Own::grow_pool(Segment& content, std::uint64_t at_least) {
    constexpr std::uint64_t kLeast = 256 << 10;
    const auto index = static_cast<std::uint32_t>(chunks.size());
    memory_lacks = index < kMaxChunks;
    if (!memory_lacks) {
        growth_error = fmt::format("The job array {} has {} chunks of cold data already; restart the feeder",
                                   content.name(), index);
        return false;
    }
    // An eighth more each time: few chunks however large the jobs are, and at most that much memory unused.
    const std::uint64_t bytes = round_up(std::max({at_least, kLeast, pool.total() / 8}), kPage);
    if (auto error = content.grow(content_bytes, content_bytes + bytes)) {
        growth_error = std::move(*error);
        return false;
    }
    chunks.push_back(static_cast<char*>(content.map(content_bytes, bytes)));
    header->chunks[index].file_offset.store(content_bytes, std::memory_order_release);
    header->chunks[index].bytes.store(bytes, std::memory_order_release);
    header->chunk_count.store(index + 1, std::memory_order_release);
    content_bytes += bytes;
    pool.add_chunk(index, bytes);
    return true;
}

void FeederArray::Own::throw_growth_error() const {
    if (memory_lacks) throw NoSharedMemory(growth_error);
    throw ShmemError(growth_error);
}

std::optional<BlockRef> FeederArray::Own::store(Segment& content, std::string_view bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    auto block = pool.allocate(size);
    if (!block && grow_pool(content, BlockAllocator::footprint(size))) block = pool.allocate(size);
    if (block) store_bytes(reinterpret_cast<Word*>(chunks[block->chunk] + block->offset), bytes);
    return block;
}

bool FeederArray::publish(std::uint32_t index, const JobSummary& job, const SlotDoc& doc) {
    Own& own = *own_;
    own.growth_error.clear();
    if (index >= size()) return false;
    SlotClaim& claim = impl_->table.slot(index);
    if (state_of(claim.word.load(std::memory_order_acquire)) != WordState::kEmpty) return false;
    Slot& slot = own.slots[index];
    Own::Published& mine = own.published[index];
    // No content before its memory is used again: who reads it still sees that by the generation.
    slot.generation.store(0, std::memory_order_release);
    mine.offered = false;
    own.pool.release(std::exchange(mine.doc, BlockRef{}));
    const auto block = own.store(impl_->content, encode_doc(doc));
    if (!block) return false;
    mine.doc = *block;
    const Payload payload{job, *block};
    store_bytes(slot.payload.data(), {reinterpret_cast<const char*>(&payload), sizeof payload});
    impl_->at("publish.payload");
    const std::uint64_t generation = ++mine.generation;
    slot.generation.store(generation, std::memory_order_release);
    claim.first_passed_over.store(0, std::memory_order_relaxed);
    const std::uint64_t counter = (generation & 0xffffffff) << 32;
    claim.passed_over.store(counter, std::memory_order_relaxed);
    claim.infeasible.store(counter | (job.hr_class > 0 ? 1 : 0), std::memory_order_relaxed);
    mine.offered = true;
    claim.word.store(make_word(generation, 0, WordState::kPresent), std::memory_order_release);
    own.header->doc_bytes_used.store(own.pool.used(), std::memory_order_relaxed);
    impl_->at("published");
    return true;
}

const std::string& FeederArray::growth_error() const { return own_->growth_error; }
const std::string& FeederArray::access_note() const { return own_->access_note; }

bool FeederArray::withdraw(const SlotRef& ref) {
    if (ref.index >= size() || state_of(ref.word) != WordState::kPresent) return false;
    std::uint64_t expected = ref.word;
    return impl_->table.slot(ref.index).word.compare_exchange_strong(
        expected, with_state(ref.word, 0, WordState::kEmpty), std::memory_order_acq_rel);
}

int FeederArray::reclaim_dead_claims() {
    Own& own = *own_;
    // The process that asks lives: one that is scheduler, too, need not read about itself.
    const ProcessId self = shm::unpack_owner(own.header->feeder);
    const auto is_dead = [&self](const ProcessId& owner) { return owner != self && !is_alive(owner); };
    const int given_back = impl_->table.give_back(is_dead);
    own.header->reclaimed.fetch_add(static_cast<std::uint64_t>(given_back), std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < size(); ++i) {
        if (own.mend(impl_->table, i)) own.header->mended.fetch_add(1, std::memory_order_relaxed);
    }
    return given_back;
}

bool FeederArray::Own::mend(const ClaimTable& table, std::uint32_t index) {
    Published& mine = published[index];
    std::uint64_t word = table.slot(index).word.load(std::memory_order_acquire);
    const std::uint64_t empty = make_word(mine.generation, 0, WordState::kEmpty);
    if (word == empty) {
        mine.offered = false;  // taken: what was sent once is not offered again, whichever process says so
        return false;
    }
    const bool present = word == make_word(mine.generation, 0, WordState::kPresent);
    const bool claimed = word == with_state(empty, owner_of(word), WordState::kClaimed) && owner_of(word) < owners;
    if (mine.offered && (present || claimed)) return false;
    if (!table.slot(index).word.compare_exchange_strong(word, empty, std::memory_order_acq_rel)) return false;
    mine.offered = false;
    return true;
}

void FeederArray::set_ready(bool ready) { own_->header->ready.store(ready ? 1 : 0, std::memory_order_release); }
void FeederArray::heartbeat(std::int64_t now) { own_->header->heartbeat.store(now, std::memory_order_relaxed); }

void FeederArray::publish_tables(const ProjectTables& tables) {
    Own& own = *own_;
    const auto block = own.store(impl_->content, encode_tables(tables));
    if (!block) own.throw_growth_error();
    const std::uint64_t next = own.header->table_generation.load(std::memory_order_relaxed) + 1;
    TablesEntry& entry = own.header->tables[next & 1];
    entry.chunk.store(block->chunk, std::memory_order_release);
    entry.offset.store(block->offset, std::memory_order_release);
    entry.bytes.store(block->bytes, std::memory_order_release);
    impl_->at("tables.written");
    own.header->table_generation.store(next, std::memory_order_release);
    // A reader that is still copying the old ones sees the new generation and starts again.
    own.pool.release(std::exchange(own.tables_block, *block));
    own.header->doc_bytes_used.store(own.pool.used(), std::memory_order_relaxed);
}

bool FeederArray::wait_for_consumption(double seconds) {
    ClaimCounters& h = impl_->table.counters();
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto consumed_meanwhile = [&] {
        const std::uint32_t now = h.consumed.load(std::memory_order_seq_cst);
        return std::exchange(own_->consumed_seen, now) != now;
    };
    bool woken = consumed_meanwhile();
    while (!woken) {
        const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
        if (left.count() <= 0) break;
        h.waiters.store(1, std::memory_order_seq_cst);
        timespec timeout{static_cast<time_t>(left.count()), 0};
        timeout.tv_nsec = static_cast<long>((left.count() - static_cast<double>(timeout.tv_sec)) * 1e9);
        const long rc = ::syscall(SYS_futex, &h.consumed, FUTEX_WAIT, own_->consumed_seen, &timeout, nullptr, 0);
        const bool interrupted = rc != 0 && errno == EINTR;
        woken = consumed_meanwhile();
        if (interrupted) break;  // a signal: the caller looks whether it means "stop"
    }
    h.waiters.store(0, std::memory_order_relaxed);
    return woken;
}

}  // namespace sluice
