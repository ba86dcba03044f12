// SPDX-License-Identifier: LGPL-3.0-or-later
// How a segment is made, replaced and ended.
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "sluice/base/error.h"
#include "src/shmem/access.h"
#include "src/shmem/feeder_array_impl.h"

namespace sluice {
using namespace shm;
namespace {

[[noreturn]] void in_use(const JobArrayName& name, const std::string& by) {
    throw ShmemError(fmt::format("The job array for <shmem_key> 0x{:x} is in use by {} (lock {}); stop it first",
                                 static_cast<std::uint32_t>(name.shmem_key), by, name.lock_file.string()));
}

[[noreturn]] void another_feeder(const JobArrayName& name) {
    std::string who = "another feeder";
    try {
        who = fmt::format("the feeder with PID {}", JobArray::attach_read_only(name)->stats().feeder.pid);
    } catch (const ShmemError&) {
    }
    in_use(name, who);
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

/// 128 bits that nobody can guess: nobody makes a segment of that name before the feeder does.
std::string new_segment_name(const JobArrayName& name) {
    std::uint64_t random[2] = {};
    if (::getrandom(random, sizeof random, 0) != sizeof random)
        throw ShmemError(fmt::format("No random numbers for the name of the job array: {}", std::strerror(errno)));
    return fmt::format("{}_{:016x}{:016x}", name.prefix, random[0], random[1]);
}

void remove_names(const std::string& segment) {
    if (Segment::remove(segment) && Segment::remove(claims_name(segment))) return;
    throw ShmemError(fmt::format("Can't remove the old job array {}: {}; remove it as its owner or as root",
                                 Segment::path_of(segment), std::strerror(errno)));
}

/// Gives the memory of a closed segment back, all but the header, in which schedulers read that it is closed: a process
/// that sleeps between two requests would otherwise keep it. Who holds a claim reads cold data still, and gets a moment
/// to end; if it does not, the memory goes when the last process lets go of it.
void free_content(Segment& content, ClaimTable& table) {
    using namespace std::chrono_literals;
    for (int turn = 0; turn < 100; ++turn) {
        table.give_back([](const ProcessId& owner) { return !is_alive(owner); });
        if (table.claimed() == 0) {
            content.free_memory(slots_offset(), content.file_bytes() - slots_offset());
            return;
        }
        std::this_thread::sleep_for(10ms);
    }
}

/// Segments of this name in /dev/shm that this account may end.
std::vector<std::string> left_over(const JobArrayName& name) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
        std::string file = entry.path().filename().string();
        const bool ours = file == name.prefix || file.starts_with(name.prefix + "_");
        struct stat info {};
        if (!ours || ::lstat(entry.path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
        if (info.st_uid == ::geteuid() || ::geteuid() == 0) found.push_back(std::move(file));
    }
    return found;
}

}  // namespace

void FeederArray::end_left_over(const JobArrayName& name, const std::string& segment) {
    auto content = Segment::open(segment, true);
    auto claims = Segment::open(claims_name(segment), true);
    // Root removes those of others, but does not look into them.
    if (!content || !claims || content->owner() != ::geteuid()) return remove_names(segment);
    Impl old(name, std::move(*content), std::move(*claims));
    Header* header = nullptr;
    try {
        header = static_cast<Header*>(old.check_and_map());
    } catch (const ShmemError&) {
        return remove_names(segment);  // unfinished, damaged or of another layout: its users miss its name
    }
    const ProcessId feeder = unpack_owner(header->feeder);
    const bool runs = header->closed.load() == 0 && feeder != this_process() && is_alive(feeder);
    if (runs) in_use(name, fmt::format("the feeder with PID {}", feeder.pid));
    header->ready.store(0, std::memory_order_release);
    header->closed.store(1, std::memory_order_release);
    remove_names(segment);
    free_content(old.content, old.table);
}

void FeederArray::remove_left_over(const JobArrayName& name) {
    const std::string suffix = claims_name("");
    for (const std::string& file : left_over(name))
        end_left_over(name, file.ends_with(suffix) ? file.substr(0, file.size() - suffix.size()) : file);
    std::error_code ignored;
    std::filesystem::remove(name.publication, ignored);
}

void FeederArray::make(const JobArraySettings& settings) {
    Impl& impl = *impl_;
    Own& own = *own_;
    own.header = new (impl.map(settings.slots, settings.owners)) Header{};  // all else is zero: free and empty already
    own.slots = reinterpret_cast<Slot*>(reinterpret_cast<char*>(own.header) + slots_offset());
    own.owners = settings.owners;
    own.content_bytes = first_part_bytes(settings.slots);
    own.published.resize(settings.slots);
    own.access_note =
        access_note_for(grant_access(impl.content.descriptor(), impl.claims.descriptor(), settings.users));
    Header& h = *own.header;
    h.layout_version = kLayoutVersion;
    h.header_bytes = sizeof(Header);
    h.slot_bytes = sizeof(Slot);
    h.job_bytes = sizeof(JobSummary);
    h.slots = settings.slots;
    h.owners = settings.owners;
    h.first_bytes = first_part_bytes(settings.slots);
    h.claims_inode = impl.claims.identity().inode;
    h.feeder = pack_owner(this_process());
    if (!own.grow_pool(impl.content, settings.first_doc_bytes)) own.throw_growth_error();
    impl.at("sized");
    h.magic.store(kMagic, std::memory_order_release);
    write_publication(impl.name.publication, segment());
    impl.publication = identity_of(impl.name.publication).value_or(PublicationIdentity{});
}

std::unique_ptr<FeederArray> FeederArray::create(const JobArrayName& name, const JobArraySettings& settings) {
    if (settings.slots == 0 || settings.owners == 0 || settings.owners > 0xffff) {
        throw ShmemError(
            fmt::format("A job array of {} slots and {} schedulers can't be made", settings.slots, settings.owners));
    }
    std::error_code ignored;
    std::filesystem::create_directories(name.lock_file.parent_path(), ignored);
    auto lock = FileLock::try_lock(name.lock_file);
    if (!lock) another_feeder(name);
    remove_left_over(name);
    const std::string segment = new_segment_name(name);
    try {
        auto impl = std::make_unique<Impl>(
            name, Segment::create(segment, first_part_bytes(settings.slots)),
            Segment::create(claims_name(segment), claims_bytes(settings.slots, settings.owners)));
        impl->hook = settings.test_hook;
        impl->at("created");
        std::unique_ptr<FeederArray> array(new FeederArray(std::move(impl), std::make_unique<Own>(std::move(*lock))));
        array->make(settings);
        return array;
    } catch (...) {
        remove_names(segment);
        throw;
    }
}

void FeederArray::close_and_remove() {
    Impl& impl = *impl_;
    own_->header->ready.store(0, std::memory_order_release);
    own_->header->closed.store(1, std::memory_order_release);
    remove_names(segment());
    std::error_code ignored;
    if (identity_of(impl.name.publication) == impl.publication) std::filesystem::remove(impl.name.publication, ignored);
    free_content(impl.content, impl.table);
}

}  // namespace sluice
