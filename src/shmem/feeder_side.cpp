// What the feeder writes: the segment itself, slots, tables.
#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>

#include "sluice/base/error.h"
#include "src/shmem/access.h"
#include "src/shmem/impl.h"
#include "src/shmem/tables_codec.h"

namespace sluice {
using namespace shm;
namespace {

/// Tells who attached to the old segment that it is over, if it can be read at all, and takes its name away.
void retire_old_segment(const JobArrayName& name) {
    try {
        if (const auto old = JobArray::attach(name)) old->mark_closed();
    } catch (const ShmemError&) {
        // Damaged, of another layout or of another account: its users see by its name that it was replaced.
    }
    if (!Segment::remove(name.segment)) {
        throw ShmemError(fmt::format("Can't remove the old job array {}: {}; remove it as its owner or as root",
                                     Segment::path_of(name.segment), std::strerror(errno)));
    }
}

[[noreturn]] void another_feeder(const JobArrayName& name) {
    std::string who = "another feeder";
    try {
        who = fmt::format("the feeder with PID {}", JobArray::attach_read_only(name)->stats().feeder.pid);
    } catch (const ShmemError&) {
    }
    throw ShmemError(fmt::format("The job array {} is in use by {} (lock {}); stop it first", name.segment, who,
                                 name.lock_file.string()));
}

const char* access_note_for(Access access) {
    switch (access) {
        case Access::kOwnerOnly: return "by this account and its group";
        case Access::kAcl: return "by this account, its group and the web server's (access control list)";
        case Access::kGroup: return "by this account and the web server's group";
        case Access::kEverybody:
            return "by EVERY account of this machine: no access control list is possible on /dev/shm and this account "
                   "shares no group with the web server's";
    }
    return "";
}

}  // namespace

std::unique_ptr<JobArray> JobArray::create(const JobArrayName& name, const JobArraySettings& settings) {
    if (settings.slots == 0 || settings.owners == 0 || settings.owners > 0xffff) {
        throw ShmemError(
            fmt::format("A job array of {} slots and {} schedulers can't be made", settings.slots, settings.owners));
    }
    std::error_code ignored;
    std::filesystem::create_directories(name.lock_file.parent_path(), ignored);
    auto lock = FileLock::try_lock(name.lock_file);
    if (!lock) another_feeder(name);
    retire_old_segment(name);

    const std::uint64_t first = first_part_bytes(settings.slots, settings.owners);
    auto impl = std::make_unique<Impl>(name, Segment::create(name.segment, first), true);
    impl->feeder_lock = std::move(lock);
    impl->hook = settings.test_hook;
    impl->at("created");
    try {
        impl->map_first_part(settings.slots, settings.owners);
        impl->access_note = access_note_for(grant_access(impl->segment.descriptor(), settings.mode, settings.users));
        impl->doc_of_slot.resize(settings.slots);
        Header* h = new (impl->header) Header{};  // the file is zeroes: owners and slots are free and empty already
        h->layout_version = kLayoutVersion;
        h->header_bytes = sizeof(Header);
        h->slot_bytes = sizeof(Slot);
        h->job_bytes = sizeof(JobSummary);
        h->slots = settings.slots;
        h->owners = settings.owners;
        h->first_bytes = first;
        h->feeder = pack_owner(this_process());
        if (!impl->grow_pool(settings.first_doc_bytes)) throw ShmemError(impl->growth_error);
        impl->at("sized");
        h->magic.store(kMagic, std::memory_order_release);
    } catch (...) {
        Segment::remove(name.segment);
        throw;
    }
    return std::unique_ptr<JobArray>(new JobArray(std::move(impl)));
}

bool JobArray::Impl::grow_pool(std::uint64_t at_least) {
    constexpr std::uint64_t kLeast = 256 << 10;
    const std::uint32_t index = header->chunk_count.load(std::memory_order_relaxed);
    if (index >= kMaxChunks) {
        growth_error =
            fmt::format("The job array {} has {} chunks of cold data already; restart the feeder", name.segment, index);
        return false;
    }
    // An eighth more each time: few chunks however large the jobs are, and at most that much memory unused.
    const std::uint64_t bytes = round_up(std::max({at_least, kLeast, pool.total() / 8}), 4096);
    const std::uint64_t offset = round_up(segment.file_bytes(), 4096);
    if (auto error = segment.grow_to(offset + bytes)) {
        growth_error = std::move(*error);
        return false;
    }
    header->chunks[index].file_offset.store(offset, std::memory_order_release);
    header->chunks[index].bytes.store(bytes, std::memory_order_release);
    header->chunk_count.store(index + 1, std::memory_order_release);
    pool.add_chunk(index, bytes);
    return true;
}

std::optional<BlockRef> JobArray::Impl::allocate(std::uint32_t bytes) {
    auto found = pool.allocate(bytes);
    if (!found && grow_pool(BlockAllocator::footprint(bytes))) found = pool.allocate(bytes);
    return found;
}

bool JobArray::publish(std::uint32_t index, const JobSummary& job, const SlotDoc& doc) {
    Impl& impl = *impl_;
    impl.growth_error.clear();
    if (index >= size()) return false;
    Slot& slot = impl.slots[index];
    const std::uint64_t word = slot.word.load(std::memory_order_acquire);
    if (state_of(word) != WordState::kEmpty) return false;
    impl.pool.release(std::exchange(impl.doc_of_slot[index], BlockRef{}));
    const std::string bytes = encode_doc(doc);
    const auto block = impl.allocate(static_cast<std::uint32_t>(bytes.size()));
    if (!block) return false;
    impl.doc_of_slot[index] = *block;
    store_bytes(impl.block(*block), bytes);
    const Payload payload{job, *block};
    store_bytes(slot.payload.data(), {reinterpret_cast<const char*>(&payload), sizeof payload});
    impl.at("publish.payload");
    const std::uint64_t generation = generation_of(word) + 1;
    slot.first_passed_over.store(0, std::memory_order_relaxed);
    const std::uint64_t counter = (generation & 0xffffffff) << 32;
    slot.passed_over.store(counter, std::memory_order_relaxed);
    slot.infeasible.store(counter | (job.hr_class > 0 ? 1 : 0), std::memory_order_relaxed);
    slot.word.store(make_word(generation, 0, WordState::kPresent), std::memory_order_release);
    impl.header->doc_bytes_used.store(impl.pool.used(), std::memory_order_relaxed);
    impl.at("published");
    return true;
}

const std::string& JobArray::growth_error() const { return impl_->growth_error; }
const std::string& JobArray::access_note() const { return impl_->access_note; }

bool JobArray::withdraw(const SlotRef& ref) {
    if (ref.index >= size() || state_of(ref.word) != WordState::kPresent) return false;
    std::uint64_t expected = ref.word;
    return impl_->slots[ref.index].word.compare_exchange_strong(expected, with_state(ref.word, 0, WordState::kEmpty),
                                                                std::memory_order_acq_rel);
}

int JobArray::reclaim_dead_claims() {
    Impl& impl = *impl_;
    int given_back = 0;
    for (std::uint32_t owner = 0; owner < impl.header->owners; ++owner) {
        const std::uint64_t packed = impl.owners[owner].load(std::memory_order_acquire);
        if (packed == 0 || is_alive(unpack_owner(packed))) continue;
        for (std::uint32_t i = 0; i < size(); ++i) {
            std::uint64_t word = impl.slots[i].word.load(std::memory_order_acquire);
            if (state_of(word) != WordState::kClaimed || owner_of(word) != owner) continue;
            const std::uint64_t present = with_state(word, 0, WordState::kPresent);
            if (impl.slots[i].word.compare_exchange_strong(word, present, std::memory_order_acq_rel)) ++given_back;
        }
        // Only now, and only if nobody else did: the entry's next owner must not inherit slots.
        std::uint64_t expected = packed;
        impl.owners[owner].compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
    }
    impl.header->reclaimed.fetch_add(static_cast<std::uint64_t>(given_back), std::memory_order_relaxed);
    return given_back;
}

void JobArray::set_ready(bool ready) { impl_->header->ready.store(ready ? 1 : 0, std::memory_order_release); }
void JobArray::heartbeat(std::int64_t now) { impl_->header->heartbeat.store(now, std::memory_order_relaxed); }

void JobArray::publish_tables(const ProjectTables& tables) {
    Impl& impl = *impl_;
    const std::string bytes = encode_tables(tables);
    const auto block = impl.allocate(static_cast<std::uint32_t>(bytes.size()));
    if (!block) throw ShmemError(impl.growth_error);
    store_bytes(impl.block(*block), bytes);
    const std::uint64_t next = impl.header->table_generation.load(std::memory_order_relaxed) + 1;
    TablesEntry& entry = impl.header->tables[next & 1];
    entry.chunk.store(block->chunk, std::memory_order_release);
    entry.offset.store(block->offset, std::memory_order_release);
    entry.bytes.store(block->bytes, std::memory_order_release);
    impl.at("tables.written");
    impl.header->table_generation.store(next, std::memory_order_release);
    // A reader that is still copying the old ones sees the new generation and starts again.
    impl.pool.release(std::exchange(impl.tables_block, *block));
    impl.header->doc_bytes_used.store(impl.pool.used(), std::memory_order_relaxed);
}

void JobArray::mark_closed() {
    impl_->header->ready.store(0, std::memory_order_release);
    impl_->header->closed.store(1, std::memory_order_release);
}

void JobArray::close_and_remove() {
    mark_closed();
    if (impl_->name_leads_here()) Segment::remove(impl_->name.segment);
}

bool JobArray::wait_for_consumption(double seconds) {
    Impl& impl = *impl_;
    Header& h = *impl.header;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto consumed_meanwhile = [&] {
        const std::uint32_t now = h.consumed.load(std::memory_order_seq_cst);
        return std::exchange(impl.consumed_seen, now) != now;
    };
    bool woken = consumed_meanwhile();
    while (!woken) {
        const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
        if (left.count() <= 0) break;
        h.waiters.store(1, std::memory_order_seq_cst);
        timespec timeout{static_cast<time_t>(left.count()), 0};
        timeout.tv_nsec = static_cast<long>((left.count() - static_cast<double>(timeout.tv_sec)) * 1e9);
        const long rc = ::syscall(SYS_futex, &h.consumed, FUTEX_WAIT, impl.consumed_seen, &timeout, nullptr, 0);
        const bool interrupted = rc != 0 && errno == EINTR;
        woken = consumed_meanwhile();
        if (interrupted) break;  // a signal: the caller looks whether it means "stop"
    }
    h.waiters.store(0, std::memory_order_relaxed);
    return woken;
}

}  // namespace sluice
