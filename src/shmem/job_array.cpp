// Both sides of the job array: attaching, reading, statistics.
#include "sluice/shmem/job_array.h"

#include <fmt/core.h>

#include <cstring>

#include "sluice/base/error.h"
#include "sluice/base/project.h"
#include "src/shmem/impl.h"
#include "src/shmem/tables_codec.h"

namespace sluice {
using namespace shm;

JobArrayName job_array_name(std::int64_t shmem_key, const std::filesystem::path& project) {
    // Canonical: the feeder may have come through a symbolic link and the cgi not.
    const std::string root = std::filesystem::weakly_canonical(project).string();
    const auto path_hash = file_name_hash(root.data(), root.size());
    const auto key = static_cast<std::uint32_t>(shmem_key);
    // The lock is per machine, as the segment is: with --mod, feeders on several machines may share the folder.
    return {fmt::format("sluice_{:08x}_{:08x}", key, path_hash),
            project / ("pid_" + short_host_name()) / fmt::format("job_array_{:08x}.lock", key)};
}

JobArray::JobArray(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

JobArray::~JobArray() {
    if (impl_->writable && !impl_->feeder_lock) impl_->unregister_owner();
}

void JobArray::set_test_hook(std::function<void(const char*)> hook) { impl_->hook = std::move(hook); }

std::unique_ptr<JobArray> JobArray::attach(const JobArrayName& name) { return open(name, true); }
std::unique_ptr<JobArray> JobArray::attach_read_only(const JobArrayName& name) { return open(name, false); }

std::unique_ptr<JobArray> JobArray::open(const JobArrayName& name, bool writable) {
    auto segment = Segment::open(name.segment, writable);
    if (!segment) {
        throw FeederNotRunning(fmt::format("The feeder is not running: there is no job array {}; start the feeder",
                                           Segment::path_of(name.segment)));
    }
    auto impl = std::make_unique<Impl>(name, std::move(*segment), writable);
    impl->check_and_map();
    return std::unique_ptr<JobArray>(new JobArray(std::move(impl)));
}

void JobArray::Impl::map_first_part(std::uint32_t slot_count, std::uint32_t owner_count) {
    char* base = static_cast<char*>(segment.map(0, first_part_bytes(slot_count, owner_count)));
    header = reinterpret_cast<Header*>(base);
    owners = reinterpret_cast<Word*>(base + owners_offset());
    slots = reinterpret_cast<Slot*>(base + slots_offset(owner_count));
    chunks.assign(kMaxChunks, nullptr);
    identity = segment.identity();
}

namespace {

constexpr std::uint64_t kDescribedBytes = 40;  ///< the part of the header that every layout shares

std::string describe(std::uint32_t layout, std::uint32_t header, std::uint32_t slot, std::uint32_t job) {
    return fmt::format("layout {} (header {}, slot {}, job {} bytes)", layout, header, slot, job);
}

void check_layout(const Header& h, const std::string& path) {
    if (h.layout_version == kLayoutVersion && h.header_bytes == sizeof(Header) && h.slot_bytes == sizeof(Slot) &&
        h.job_bytes == sizeof(JobSummary)) {
        return;
    }
    throw ShmemError(fmt::format(
        "The job array {} has {}, this program has {}: feeder and scheduler are of different versions; install both anew "
        "and restart the feeder",
        path, describe(h.layout_version, h.header_bytes, h.slot_bytes, h.job_bytes),
        describe(kLayoutVersion, sizeof(Header), sizeof(Slot), sizeof(JobSummary))));
}

}  // namespace

void JobArray::Impl::check_and_map() {
    const std::string path = Segment::path_of(name.segment);
    const auto starting = [&] {
        return FeederNotRunning(fmt::format("The feeder is starting: the job array {} is being made; try again", path));
    };
    const std::uint64_t bytes = segment.file_bytes();
    if (bytes == 0) throw starting();
    if (bytes < kDescribedBytes) {
        throw ShmemError(
            fmt::format("The job array {} is damaged: only {} bytes long; restart the feeder", path, bytes));
    }
    const auto* h = static_cast<const Header*>(segment.map(0, kDescribedBytes));
    const std::uint64_t magic = h->magic.load(std::memory_order_acquire);
    if (magic == 0) throw starting();
    if (magic != kMagic) {
        throw ShmemError(
            fmt::format("{} is not a job array (begins with {:016x}); remove it and restart the feeder", path, magic));
    }
    check_layout(*h, path);
    const std::uint32_t n_slots = h->slots, n_owners = h->owners;
    if (n_slots == 0 || n_owners == 0 || n_owners > 0xffff || h->first_bytes != first_part_bytes(n_slots, n_owners)) {
        throw ShmemError(fmt::format("The job array {} is damaged: {} slots, {} owners; restart the feeder", path,
                                     n_slots, n_owners));
    }
    map_first_part(n_slots, n_owners);
}

bool JobArray::Impl::name_leads_here() const { return Segment::identity_of(name.segment) == identity; }

bool JobArray::ready() const {
    const Header& h = *impl_->header;
    return h.ready.load(std::memory_order_acquire) != 0 && current();
}

bool JobArray::current() const {
    return impl_->header->closed.load(std::memory_order_acquire) == 0 && impl_->name_leads_here();
}

std::uint32_t JobArray::size() const { return impl_->header->slots; }

bool JobArray::Impl::copy_payload(const Slot& slot, std::uint64_t word, Payload& to) const {
    std::array<std::uint64_t, kPayloadWords> words;
    for (std::size_t i = 0; i < kPayloadWords; ++i) words[i] = slot.payload[i].load(std::memory_order_acquire);
    if (slot.word.load(std::memory_order_acquire) != word) return false;
    std::memcpy(static_cast<void*>(&to), words.data(), sizeof to);
    return true;
}

SlotState JobArray::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    if (index >= size()) return SlotState::kEmpty;
    const Slot& slot = impl_->slots[index];
    // Another turn means that somebody else got on with this slot; in practice there is never a third.
    for (int turn = 0; turn < 16; ++turn) {
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);
        if (state_of(word) == WordState::kEmpty) return SlotState::kEmpty;
        if (state_of(word) != WordState::kPresent) return SlotState::kClaimed;
        Payload payload;
        if (!impl_->copy_payload(slot, word, payload)) continue;
        job = payload.job;
        ref = {index, word};
        return SlotState::kPresent;
    }
    return SlotState::kClaimed;
}

SlotState JobArray::state(std::uint32_t index) const {
    if (index >= size()) return SlotState::kEmpty;
    switch (state_of(impl_->slots[index].word.load(std::memory_order_acquire))) {
        case WordState::kEmpty: return SlotState::kEmpty;
        case WordState::kPresent: return SlotState::kPresent;
        case WordState::kClaimed: break;
    }
    return SlotState::kClaimed;
}

Word* JobArray::Impl::block(const BlockRef& b) {
    if (b.chunk >= header->chunk_count.load(std::memory_order_acquire)) return nullptr;
    const ChunkEntry& entry = header->chunks[b.chunk];
    const std::uint64_t bytes = entry.bytes.load(std::memory_order_acquire);
    if (b.offset % kBlockUnit != 0 || b.offset > bytes || b.bytes > bytes - b.offset) return nullptr;
    if (chunks[b.chunk] == nullptr) {
        chunks[b.chunk] = static_cast<char*>(segment.map(entry.file_offset.load(std::memory_order_acquire), bytes));
    }
    return reinterpret_cast<Word*>(chunks[b.chunk] + b.offset);
}

std::optional<SlotDoc> JobArray::peek_doc(const SlotRef& ref) const {
    if (ref.index >= size()) return std::nullopt;
    const Slot& slot = impl_->slots[ref.index];
    Payload payload;
    if (state_of(ref.word) != WordState::kPresent || !impl_->copy_payload(slot, ref.word, payload)) return std::nullopt;
    const Word* at = impl_->block(payload.doc);
    if (at == nullptr) return std::nullopt;
    const std::string bytes = load_bytes(at, payload.doc.bytes);
    if (slot.word.load(std::memory_order_acquire) != ref.word) return std::nullopt;
    return decode_doc(bytes);
}

std::shared_ptr<const ProjectTables> JobArray::tables() const {
    Impl& impl = *impl_;
    const Header& h = *impl.header;
    for (int turn = 0; turn < 1000; ++turn) {
        const std::uint64_t generation = h.table_generation.load(std::memory_order_acquire);
        if (impl.tables && impl.tables_generation == generation) return impl.tables;
        if (generation == 0) return std::make_shared<const ProjectTables>();
        const TablesEntry& entry = h.tables[generation & 1];
        const BlockRef ref{static_cast<std::uint32_t>(entry.chunk.load(std::memory_order_acquire)),
                           static_cast<std::uint32_t>(entry.bytes.load(std::memory_order_acquire)),
                           entry.offset.load(std::memory_order_acquire)};
        const Word* at = impl.block(ref);
        if (at == nullptr) continue;
        const std::string bytes = load_bytes(at, ref.bytes);
        if (h.table_generation.load(std::memory_order_acquire) != generation) continue;
        impl.tables = std::make_shared<const ProjectTables>(decode_tables(bytes));
        impl.tables_generation = generation;
        return impl.tables;
    }
    throw ShmemError(fmt::format("The tables of the job array {} can't be read; restart the feeder",
                                 Segment::path_of(impl.name.segment)));
}

std::uint32_t JobArray::infeasible_count(std::uint32_t index) const {
    return index < size() ? static_cast<std::uint32_t>(impl_->slots[index].infeasible.load(std::memory_order_relaxed))
                          : 0;
}

std::uint32_t JobArray::passed_over_count(std::uint32_t index) const {
    return index < size() ? static_cast<std::uint32_t>(impl_->slots[index].passed_over.load(std::memory_order_relaxed))
                          : 0;
}

std::int64_t JobArray::first_passed_over(std::uint32_t index) const {
    return index < size()
               ? static_cast<std::int64_t>(impl_->slots[index].first_passed_over.load(std::memory_order_relaxed))
               : 0;
}

JobArrayStats JobArray::stats() const {
    const Header& h = *impl_->header;
    JobArrayStats s;
    s.slots = size();
    for (std::uint32_t i = 0; i < s.slots; ++i) {
        switch (state_of(impl_->slots[i].word.load(std::memory_order_relaxed))) {
            case WordState::kEmpty: ++s.empty; break;
            case WordState::kPresent: ++s.present; break;
            case WordState::kClaimed: ++s.claimed; break;
        }
    }
    s.segment_bytes = impl_->segment.file_bytes();
    s.doc_bytes_used = h.doc_bytes_used.load(std::memory_order_relaxed);
    s.doc_bytes_total = s.segment_bytes - std::min(s.segment_bytes, h.first_bytes);
    s.claims_lost = h.claims_lost.load(std::memory_order_relaxed);
    s.reclaimed = h.reclaimed.load(std::memory_order_relaxed);
    s.feeder_heartbeat = h.heartbeat.load(std::memory_order_relaxed);
    s.feeder = unpack_owner(h.feeder);
    s.table_generation = h.table_generation.load(std::memory_order_relaxed);
    s.ready = ready();
    return s;
}

std::optional<ProcessId> JobArray::owner_of_slot(std::uint32_t index) const {
    if (index >= size()) return std::nullopt;
    const std::uint64_t word = impl_->slots[index].word.load(std::memory_order_acquire);
    if (state_of(word) != WordState::kClaimed || owner_of(word) >= impl_->header->owners) return std::nullopt;
    return unpack_owner(impl_->owners[owner_of(word)].load(std::memory_order_acquire));
}

namespace shm {

std::string encode_doc(const SlotDoc& doc) {
    std::string bytes;
    for (const std::string* field : {&doc.wu_name, &doc.wu_xml, &doc.keywords, &doc.result_name}) {
        const auto n = static_cast<std::uint32_t>(field->size());
        bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
        bytes += *field;
    }
    return bytes;
}

SlotDoc decode_doc(std::string_view bytes) {
    SlotDoc doc;
    for (std::string* field : {&doc.wu_name, &doc.wu_xml, &doc.keywords, &doc.result_name}) {
        std::uint32_t n = 0;
        if (bytes.size() < sizeof n) return {};
        std::memcpy(&n, bytes.data(), sizeof n);
        bytes.remove_prefix(sizeof n);
        if (bytes.size() < n) return {};
        field->assign(bytes.data(), n);
        bytes.remove_prefix(n);
    }
    return doc;
}

}  // namespace shm
}  // namespace sluice
