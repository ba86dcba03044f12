// SPDX-License-Identifier: LGPL-3.0-or-later
#include "src/shmem/segment.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <cerrno>
#include <cstring>
#include <list>

#include "sluice/base/bus_guard.h"
#include "sluice/base/error.h"
#include "sluice/base/users.h"
#include "sluice/shmem/feeder_array.h"

namespace sluice::shm {
namespace ipc = boost::interprocess;
namespace {

constexpr double kMegabyte = 1e6;

/// The text for a failed allocation: what was asked for, what there is, what to do.
std::string out_of_memory(const std::string& name, std::uint64_t bytes, int error) {
    struct statvfs fs {};
    const bool known = ::statvfs("/dev/shm", &fs) == 0;
    const double free_bytes = known ? static_cast<double>(fs.f_bavail) * static_cast<double>(fs.f_frsize) : 0;
    return fmt::format(
        "No memory for the job array {}: it needs {:.1f} MB, /dev/shm has {:.1f} MB free ({}); enlarge /dev/shm "
        "(mount -o remount,size=… /dev/shm) or lower <shmem_work_items>",
        name, static_cast<double>(bytes) / kMegabyte, free_bytes / kMegabyte, std::strerror(error));
}

int allocate(int fd, std::uint64_t from, std::uint64_t to) {
    for (;;) {
        const int error = ::posix_fallocate(fd, static_cast<off_t>(from), static_cast<off_t>(to - from));
        if (error != EINTR) return error;
    }
}

[[noreturn]] void no_permission(const std::string& name, bool writable) {
    struct stat info {};
    const auto path = Segment::path_of(name);
    const bool known = ::stat(path.c_str(), &info) == 0;
    throw ShmemError(fmt::format(
        "No permission to {} the job array {} (it belongs to {}, this process runs as {}); set <httpd_user> in config.xml to "
        "the web server's account and restart the feeder",
        writable ? "use" : "read", path, known ? user_name(info.st_uid) : "?", user_name(::geteuid())));
}

}  // namespace

struct Segment::Impl {
    Impl(std::string n, ipc::shared_memory_object o, ipc::mode_t m)
        : name(std::move(n)), object(std::move(o)), mode(m) {}
    std::string name;
    ipc::shared_memory_object object;
    ipc::mode_t mode;
    struct Region {
        Region(ipc::mapped_region r) : region(std::move(r)), guard(region.get_address(), region.get_size()) {}
        ipc::mapped_region region;
        BusGuard guard;  // ends first
    };
    std::list<Region> regions;
    int fd() const { return object.get_mapping_handle().handle; }
};

Segment::Segment(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Segment::Segment(Segment&&) noexcept = default;
Segment& Segment::operator=(Segment&&) noexcept = default;
Segment::~Segment() = default;

std::string Segment::path_of(const std::string& name) { return "/dev/shm/" + name; }

Segment Segment::create(const std::string& name, std::uint64_t bytes) try {
    // 0600 until grant_access(): nobody else should open it before it is decided who may.
    ipc::shared_memory_object object(ipc::create_only, name.c_str(), ipc::read_write, ipc::permissions(0600));
    if (const int error = allocate(object.get_mapping_handle().handle, 0, bytes); error != 0) {
        remove(name);
        throw NoSharedMemory(out_of_memory(name, bytes, error));
    }
    return Segment(std::make_unique<Impl>(name, std::move(object), ipc::read_write));
} catch (const ipc::interprocess_exception& e) {
    if (e.get_error_code() == ipc::out_of_space_error) throw NoSharedMemory(out_of_memory(name, bytes, ENOSPC));
    throw ShmemError(fmt::format("Can't make the job array {}: {}", path_of(name), e.what()));
}

std::optional<Segment> Segment::open(const std::string& name, bool writable) try {
    const auto mode = writable ? ipc::read_write : ipc::read_only;
    ipc::shared_memory_object object(ipc::open_only, name.c_str(), mode);
    return Segment(std::make_unique<Impl>(name, std::move(object), mode));
} catch (const ipc::interprocess_exception& e) {
    if (e.get_error_code() == ipc::not_found_error) return std::nullopt;
    if (e.get_error_code() == ipc::security_error) no_permission(name, writable);
    throw ShmemError(fmt::format("Can't open the job array {}: {}", path_of(name), e.what()));
}

bool Segment::remove(const std::string& name) {
    return ipc::shared_memory_object::remove(name.c_str()) || errno == ENOENT;
}

std::optional<SegmentIdentity> Segment::identity_of(const std::string& name) {
    struct stat info {};
    if (::stat(path_of(name).c_str(), &info) != 0) return std::nullopt;
    return SegmentIdentity{info.st_dev, info.st_ino};
}

std::optional<std::string> Segment::grow(std::uint64_t have, std::uint64_t bytes) {
    const int error = allocate(impl_->fd(), have, bytes);
    if (error != 0) return out_of_memory(impl_->name, bytes, error);
    return std::nullopt;
}

void Segment::free_memory(std::uint64_t from, std::uint64_t bytes) {
    ::fallocate(impl_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                static_cast<off_t>(bytes));
}

void* Segment::map(std::uint64_t offset, std::uint64_t bytes) try {
    const std::uint64_t have = file_bytes();
    if (offset > have || bytes > have - offset) {
        throw ShmemError(
            fmt::format("The job array {} is damaged: {} bytes long, {} at {} expected; restart the feeder",
                        path_of(impl_->name), have, bytes, offset));
    }
    return impl_->regions
        .emplace_back(ipc::mapped_region(impl_->object, impl_->mode, static_cast<ipc::offset_t>(offset), bytes))
        .region.get_address();
} catch (const ipc::interprocess_exception& e) {
    throw ShmemError(fmt::format("Can't map the job array {}: {}", path_of(impl_->name), e.what()));
}

bool Segment::damaged() const {
    return std::any_of(impl_->regions.begin(), impl_->regions.end(),
                       [](const Impl::Region& r) { return r.guard.hit(); });
}

std::uint64_t Segment::file_bytes() const {
    struct stat info {};
    return ::fstat(impl_->fd(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

SegmentIdentity Segment::identity() const {
    struct stat info {};
    if (::fstat(impl_->fd(), &info) != 0) return {};
    return {info.st_dev, info.st_ino};
}

uid_t Segment::owner() const {
    struct stat info {};
    return ::fstat(impl_->fd(), &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
}

int Segment::descriptor() const { return impl_->fd(); }
const std::string& Segment::name() const { return impl_->name; }

}  // namespace sluice::shm
