// SPDX-License-Identifier: LGPL-3.0-or-later
// What all sides of the job array share: attaching, reading, statistics.
#include "sluice/shmem/job_array.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cstring>

#include "sluice/base/error.h"
#include "sluice/base/project.h"
#include "src/shmem/access.h"
#include "src/shmem/job_array_impl.h"
#include "src/shmem/tables_codec.h"

namespace sluice {
using namespace shm;

JobArrayName job_array_name(std::int64_t shmem_key, const std::filesystem::path& project) {
    // Canonical: the feeder may have come through a symbolic link and the cgi not.
    const std::string root = std::filesystem::weakly_canonical(project).string();
    const auto path_hash = file_name_hash(root.data(), root.size());
    const auto key = static_cast<std::uint32_t>(shmem_key);
    const std::string host = short_host_name();  // a segment is per machine; machines may share the folder
    return {shmem_key, fmt::format("sluice_{:08x}_{:08x}", key, path_hash),
            project / fmt::format("job_array_{}_{:08x}", host, key),
            project / ("pid_" + host) / fmt::format("job_array_{:08x}.lock", key)};
}

std::string claims_name(const std::string& segment) { return segment + ".claims"; }

std::optional<PublicationIdentity> identity_of(const std::filesystem::path& publication) {
    struct stat info {};
    if (::lstat(publication.c_str(), &info) != 0) return std::nullopt;
    return PublicationIdentity{{info.st_dev, info.st_ino}, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

JobArray::JobArray(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobArray::~JobArray() = default;

namespace {

FeederNotRunning no_segment(const JobArrayName& name) {
    return FeederNotRunning(
        fmt::format("There is no job array for <shmem_key> 0x{:x} ({}): no feeder works with that key; start the "
                    "feeder, or, if <shmem_key> was changed, stop and start the project",
                    static_cast<std::uint32_t>(name.shmem_key), name.publication.string()));
}

}  // namespace

std::unique_ptr<JobArray::Impl> JobArray::open(const JobArrayName& name, bool claims_writable) {
    // Its identity first: if a feeder replaces it meanwhile, current() says so.
    const auto identity = identity_of(name.publication);
    const auto publication = read_publication(name.publication, name.prefix);
    if (!identity || !publication) throw no_segment(name);
    const std::string claims = claims_name(publication->segment);
    auto content_file = Segment::open(publication->segment, false);
    auto claims_file = Segment::open(claims, claims_writable);
    if (!content_file || !claims_file) throw no_segment(name);
    check_file(content_file->descriptor(), Segment::path_of(publication->segment), publication->owner, false);
    check_file(claims_file->descriptor(), Segment::path_of(claims), publication->owner, true);
    auto impl = std::make_unique<Impl>(name, std::move(*content_file), std::move(*claims_file));
    impl->publication = *identity;
    impl->check_and_map();
    return impl;
}

std::unique_ptr<JobArray> JobArray::attach_read_only(const JobArrayName& name) {
    return std::unique_ptr<JobArray>(new JobArray(open(name, false)));
}

void* JobArray::Impl::map(std::uint32_t slot_count, std::uint32_t owner_count) {
    char* base = static_cast<char*>(content.map(0, first_part_bytes(slot_count)));
    header = reinterpret_cast<const Header*>(base);
    content_of = reinterpret_cast<const Slot*>(base + slots_offset());
    table = ClaimTable(claims.map(0, claims_bytes(slot_count, owner_count)), slot_count, owner_count);
    slots = slot_count;
    owners = owner_count;
    chunks.resize(kMaxChunks);
    identity = content.identity();
    claims_identity = claims.identity();
    return base;
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

void* JobArray::Impl::check_and_map() {
    const std::string path = Segment::path_of(content.name());
    const auto starting = [&] {
        return FeederNotRunning(fmt::format("The feeder is starting: the job array {} is being made; try again", path));
    };
    const std::uint64_t bytes = content.file_bytes();
    if (bytes == 0) throw starting();
    if (bytes < kDescribedBytes) {
        throw ShmemError(
            fmt::format("The job array {} is damaged: only {} bytes long; restart the feeder", path, bytes));
    }
    const auto* h = static_cast<const Header*>(content.map(0, kDescribedBytes));
    const std::uint64_t magic = h->magic.load(std::memory_order_acquire);
    if (magic == 0) throw starting();
    if (magic != kMagic) {
        throw ShmemError(
            fmt::format("{} is not a job array (begins with {:016x}); remove it and restart the feeder", path, magic));
    }
    check_layout(*h, path);
    const std::uint32_t n_slots = h->slots, n_owners = h->owners;
    if (n_slots == 0 || n_owners == 0 || n_owners > 0xffff || h->first_bytes != first_part_bytes(n_slots)) {
        throw ShmemError(fmt::format("The job array {} is damaged: {} slots, {} owners; restart the feeder", path,
                                     n_slots, n_owners));
    }
    void* const base = map(n_slots, n_owners);
    if (header->claims_inode != claims.identity().inode) {
        throw ShmemError(
            fmt::format("{} does not belong to the job array {}; restart the feeder", claims.name(), path));
    }
    return base;
}

// Without one of the two names nobody can attach any more.
bool JobArray::Impl::names_lead_here() const {
    return Segment::identity_of(content.name()) == identity && Segment::identity_of(claims.name()) == claims_identity;
}

bool JobArray::Impl::intact() const {
    return !content.damaged() && !claims.damaged() && claims.file_bytes() >= claims_bytes(slots, owners);
}

bool JobArray::ready() const { return open_and_filled() && current(); }

bool JobArray::open_and_filled() const {
    const Header& h = *impl_->header;
    return h.ready.load(std::memory_order_acquire) != 0 && h.closed.load(std::memory_order_acquire) == 0 &&
           !impl_->content.damaged() && !impl_->claims.damaged();
}

std::vector<std::filesystem::path> JobArray::files() const {
    const Impl& impl = *impl_;
    return {impl.name.publication, Segment::path_of(impl.content.name()), Segment::path_of(impl.claims.name())};
}

bool JobArray::current() const {
    const Impl& impl = *impl_;
    return impl.header->closed.load(std::memory_order_acquire) == 0 && impl.intact() && impl.names_lead_here() &&
           identity_of(impl.name.publication) == impl.publication;
}

std::uint32_t JobArray::size() const { return impl_->slots; }
const std::string& JobArray::segment() const { return impl_->content.name(); }

template <typename T>
bool JobArray::Impl::copy_payload(std::uint32_t index, std::uint64_t generation, T& to) const {
    static_assert(sizeof to % sizeof(std::uint64_t) == 0 && sizeof to <= sizeof(Payload));
    const Slot& slot = content_of[index];
    // 0 is no content yet: a forged state word of generation 0 names nothing.
    if (generation == 0 || slot.generation.load(std::memory_order_acquire) != generation) return false;
    for (std::size_t i = 0; i < sizeof to / sizeof(std::uint64_t); ++i) {
        const std::uint64_t word = slot.payload[i].load(std::memory_order_acquire);
        std::memcpy(reinterpret_cast<char*>(&to) + i * sizeof word, &word, sizeof word);
    }
    return slot.generation.load(std::memory_order_acquire) == generation;
}

SlotState JobArray::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    if (index >= size()) return SlotState::kEmpty;
    const std::uint64_t word = impl_->table.slot(index).word.load(std::memory_order_acquire);
    if (state_of(word) == WordState::kEmpty) return SlotState::kEmpty;
    if (state_of(word) != WordState::kPresent) return SlotState::kClaimed;
    if (!impl_->copy_payload(index, generation_of(word), job)) {
        job = {};  // torn
        return SlotState::kClaimed;
    }
    ref = {index, infeasible_count(index), word};
    return SlotState::kPresent;
}

SlotState JobArray::state(std::uint32_t index) const {
    if (index >= size()) return SlotState::kEmpty;
    switch (state_of(impl_->table.slot(index).word.load(std::memory_order_acquire))) {
        case WordState::kEmpty: return SlotState::kEmpty;
        case WordState::kPresent: return SlotState::kPresent;
        case WordState::kClaimed: break;
    }
    return SlotState::kClaimed;
}

bool JobArray::any_present() const {
    Payload payload;
    for (std::uint32_t i = 0; i < impl_->slots; ++i) {
        const std::uint64_t word = impl_->table.slot(i).word.load(std::memory_order_acquire);
        // The word alone can be anybody's.
        if (state_of(word) == WordState::kPresent && impl_->copy_payload(i, generation_of(word), payload)) return true;
    }
    return false;
}

const Word* JobArray::Impl::block(const BlockRef& b) {
    if (b.chunk >= kMaxChunks || b.chunk >= header->chunk_count.load(std::memory_order_acquire)) return nullptr;
    Chunk& chunk = chunks[b.chunk];
    if (chunk.at == nullptr) {
        const std::uint64_t offset = header->chunks[b.chunk].file_offset.load(std::memory_order_acquire);
        const std::uint64_t bytes = header->chunks[b.chunk].bytes.load(std::memory_order_acquire);
        if (bytes == 0 || bytes % kPage != 0 || offset % kPage != 0) return nullptr;
        chunk.at = static_cast<const char*>(content.map(offset, bytes));
        chunk.bytes = bytes;
    }
    if (b.offset % kBlockUnit != 0 || b.offset > chunk.bytes || b.bytes > chunk.bytes - b.offset) return nullptr;
    return reinterpret_cast<const Word*>(chunk.at + b.offset);
}

std::optional<SlotDoc> JobArray::Impl::doc(std::uint32_t index, std::uint64_t generation) {
    Payload payload;
    if (!copy_payload(index, generation, payload)) return std::nullopt;
    const Word* at = block(payload.doc);
    if (at == nullptr) throw ShmemError("The cold data of a slot are damaged; restart the feeder");
    const std::string bytes = load_bytes(at, payload.doc.bytes);
    if (content_of[index].generation.load(std::memory_order_acquire) != generation) return std::nullopt;
    return decode_doc(bytes);
}

std::optional<SlotDoc> JobArray::peek_doc(const SlotRef& ref) const {
    if (ref.index >= size() || state_of(ref.word) != WordState::kPresent) return std::nullopt;
    auto doc = impl_->doc(ref.index, generation_of(ref.word));
    if (impl_->table.slot(ref.index).word.load(std::memory_order_acquire) != ref.word) return std::nullopt;
    return doc;
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
                                 Segment::path_of(impl.content.name())));
}

std::uint32_t JobArray::infeasible_count(std::uint32_t index) const {
    if (index >= size()) return 0;
    return static_cast<std::uint32_t>(impl_->table.slot(index).infeasible.load(std::memory_order_relaxed));
}

std::uint32_t JobArray::passed_over_count(std::uint32_t index) const {
    if (index >= size()) return 0;
    return static_cast<std::uint32_t>(impl_->table.slot(index).passed_over.load(std::memory_order_relaxed));
}

std::int64_t JobArray::first_passed_over(std::uint32_t index) const {
    if (index >= size()) return 0;
    return static_cast<std::int64_t>(impl_->table.slot(index).first_passed_over.load(std::memory_order_relaxed));
}

JobArrayStats JobArray::stats() const {
    const Impl& impl = *impl_;
    const Header& h = *impl.header;
    JobArrayStats s;
    s.slots = size();
    for (std::uint32_t i = 0; i < s.slots; ++i) {
        switch (state(i)) {
            case SlotState::kEmpty: ++s.empty; break;
            case SlotState::kPresent: ++s.present; break;
            case SlotState::kClaimed: ++s.claimed; break;
        }
    }
    const std::uint64_t content_bytes = impl.content.file_bytes(), first_bytes = first_part_bytes(impl.slots);
    s.segment_bytes = content_bytes + claims_bytes(impl.slots, impl.owners);
    s.doc_bytes_used = h.doc_bytes_used.load(std::memory_order_relaxed);
    s.doc_bytes_total = content_bytes - std::min(content_bytes, first_bytes);
    s.claims_lost = impl.table.counters().claims_lost.load(std::memory_order_relaxed);
    s.reclaimed = h.reclaimed.load(std::memory_order_relaxed);
    s.mended = h.mended.load(std::memory_order_relaxed);
    s.feeder_heartbeat = h.heartbeat.load(std::memory_order_relaxed);
    s.feeder = unpack_owner(h.feeder);
    s.table_generation = h.table_generation.load(std::memory_order_relaxed);
    s.ready = ready();
    return s;
}

std::optional<ProcessId> JobArray::owner_of_slot(std::uint32_t index) const {
    if (index >= size()) return std::nullopt;
    const std::uint64_t word = impl_->table.slot(index).word.load(std::memory_order_acquire);
    if (state_of(word) != WordState::kClaimed) return std::nullopt;
    const std::uint64_t packed = impl_->table.owner(owner_of(word));
    if (packed == 0 || packed == kBeingFreed) return std::nullopt;
    return unpack_owner(packed);
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
