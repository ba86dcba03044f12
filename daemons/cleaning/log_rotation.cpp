// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/log_rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>

#include "daemons/cleaning/file_tree.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

using Bytes = std::array<char, 64 << 10>;
constexpr std::int64_t kBlock = 512;  // of st_blocks
constexpr std::int64_t kPage = 4096;  // holes begin and end at multiples of it

struct CloseListing {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

[[noreturn]] void throw_problem(const fs::path& path) {
    throw FileError(path.string() + ": " + file_problem(errno, path));
}

/// Of a regular file with one name; else nullopt. A link could lead to what is no log.
std::optional<struct stat> plain_file(int folder, const std::string& name) {
    struct stat info {};
    if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    if (!S_ISREG(info.st_mode) || info.st_nlink != 1) return std::nullopt;
    return info;
}

/// UNIX s; where the file system does not know when a file was made, when it was last written to.
double made_at(int folder, const std::string& name) {
    struct statx info {};
    if (::statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_MTIME, &info) != 0) return 0;
    return static_cast<double>((info.stx_mask & STATX_BTIME) != 0 ? info.stx_btime.tv_sec : info.stx_mtime.tv_sec);
}

enum class Writers { kNone, kSome, kUnknown };

/// Whether a process has the file open for writing, `fd` being open for reading: the kernel gives a lease only then.
/// Unknown where the file is another account's, or the file system has no leases.
Writers writers_of(int fd) {
    ::fcntl(fd, F_SETSIG, SIGURG);  // its default is to be ignored
    if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
        ::fcntl(fd, F_SETLEASE, F_UNLCK);
        return Writers::kNone;
    }
    return errno == EAGAIN ? Writers::kSome : Writers::kUnknown;
}

/// Where nobody can know, a program that follows its log has done so after a day.
bool still_written(int fd, const struct stat& info, double now) {
    constexpr double kNobodyFor = 86400;
    const Writers writers = writers_of(fd);
    return writers == Writers::kSome ||
           (writers == Writers::kUnknown && now - static_cast<double>(info.st_mtime) < kNobodyFor);
}

std::int64_t size_of(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 ? info.st_size : -1;
}

OwnedFd open_old(int folder, const std::string& name) {
    return OwnedFd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

/// An empty log as the old one: same group and mode. The owner of an old one may be the web server's account; then its
/// group writes.
void make_like(int folder, const std::string& name, const struct stat& old) {
    const OwnedFd fd(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat made {
    }, parent{};
    if (fd.get() < 0 || ::fstat(fd.get(), &made) != 0 || ::fstat(folder, &parent) != 0) throw_problem(name);
    const bool others = old.st_uid != made.st_uid;
    const gid_t group = others ? parent.st_gid : old.st_gid;
    const mode_t mode = (old.st_mode & 0777) | (others ? 0660 : 0);
    // A group that this account is not in: the folder's has to do, unless another account has to write.
    const bool grouped = group == made.st_gid || ::fchown(fd.get(), static_cast<uid_t>(-1), group) == 0 || !others;
    if (grouped && ::fchmod(fd.get(), mode) == 0) return;
    const int why = errno;
    ::unlinkat(folder, name.c_str(), 0);
    errno = why;
    throw_problem(name);
}

/// Renames unless `to` is there. False with errno. On file systems that can't promise it (NFS) it looks before.
bool rename_to_new(int folder, const std::string& from, const std::string& to) {
    if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    if (::faccessat(folder, to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return errno = EEXIST, false;
    return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

std::string half_name(const std::string& log) { return "." + log + ".new"; }
std::string half_packed(const OldLog& old) { return "." + old.name + ".gz.new"; }

/// Whether a .gz has exactly what stands in a plain file.
bool holds_the_same(int packed, int plain) {
    gzFile in = ::gzdopen(::fcntl(packed, F_DUPFD_CLOEXEC, 0), "rb");
    if (in == nullptr) return false;
    Bytes of_packed, of_plain;
    std::int64_t at = 0;
    int got = 0;
    bool same = true;
    while (same && (got = ::gzread(in, of_packed.data(), static_cast<unsigned>(of_packed.size()))) > 0) {
        const auto bytes = static_cast<std::size_t>(got);
        same = ::pread(plain, of_plain.data(), bytes, at) == got &&
               std::equal(of_packed.begin(), of_packed.begin() + got, of_plain.begin());
        at += got;
    }
    ::gzclose(in);
    return same && got == 0 && ::pread(plain, of_plain.data(), 1, at) == 0;
}

/// `from` at the end of `to`.
bool copy_bytes(int from, int to) {
    Bytes page;
    std::int64_t at = 0;
    ssize_t got = 0;
    while ((got = ::pread(from, page.data(), page.size(), at)) > 0) {
        if (!write_all(to, {page.data(), static_cast<std::size_t>(got)})) return false;
        at += got;
    }
    return got == 0;
}

/// `from` compressed at the end of `to`, on disk. False: somebody writes to it still, or a stop was asked for.
bool gzip_file(int from, int to, const fs::path& path) {
    gzFile out = ::gzdopen(::fcntl(to, F_DUPFD_CLOEXEC, 0), "wb");
    if (out == nullptr) throw_problem(path);
    Bytes page;
    std::int64_t bytes = 0;
    ssize_t got = 0;
    bool ok = true, stopped = false;
    while (ok && !stopped && (got = ::pread(from, page.data(), page.size(), bytes)) > 0) {
        ok = ::gzwrite(out, page.data(), static_cast<unsigned>(got)) == got;
        bytes += got;
        stopped = stop_requested();
    }
    const int read_error = got < 0 ? errno : 0;
    ok = ::gzclose(out) == Z_OK && ok && read_error == 0;
    if (read_error != 0) errno = read_error;
    if (stopped) return false;
    if (!ok || ::fsync(to) != 0) throw_problem(path);
    return size_of(from) == bytes;
}

}  // namespace

Turn LogRotation::turn() {
    failed_ = false, rotated_ = 0, packed_ = 0, removed_ = 0;
    try {
        for (const fs::path& logs : options_.logs) in_folder(logs, [&](Folder& folder) { rotate_in(folder); });
        std::set<fs::path> elsewhere;
        for (const fs::path& output : options_.outputs)
            if (!options_.logs.contains(output.parent_path())) elsewhere.insert(output.parent_path());
        for (const fs::path& logs : elsewhere)
            in_folder(logs, [&](Folder& folder) { folder.only_outputs = true, rotate_in(folder); });
        in_folder(options_.decisions, [&](const Folder& folder) { thin_out(folder); });
        in_folder(options_.requests, [&](const Folder& folder) { thin_out_requests(folder); });
        log_at(rotated_ + packed_ + removed_ > 0 ? LogLevel::kNormal : LogLevel::kDebug,
               "{}{} logs rotated, {} compressed, {} removed", dry_run_words(options_.dry_run), rotated_, packed_,
               removed_);
    } catch (const Stopped&) {
        log_normal("stopped; the next run goes on");
    }
    return {failed_ ? TurnResult::kFailed : TurnResult::kFinished};
}

void LogRotation::failed(const std::string& what) {
    failed_ = true;
    log_critical("{}", what);
}

template <typename Work>
void LogRotation::in_folder(const fs::path& path, Work work) {
    if (path.empty()) return;
    Folder folder{open_trusted_folder(AT_FDCWD, path.string()), path, {}, {}, false};
    const OwnedFd fd(folder.fd);
    if (folder.fd < 0 && errno == ENOENT) return;
    // Where an admin or the web server's account has the folder, and only the file is ours: nothing is wrong with it.
    const bool may_be_others = !options_.logs.contains(path) && path != options_.decisions;
    if (may_be_others && (folder.fd >= 0 || errno == EACCES) && ::access(path.c_str(), W_OK | X_OK) != 0)
        return log_once_a_day(LogLevel::kWarning,
                              path.string() + ": this account can't write in it: what it holds is not bounded");
    if (folder.fd < 0) return failed(path.string() + ": " + file_problem(errno, path));
    try {
        // The program's own lock is this machine's; machines may have one folder of decision logs.
        std::optional<FileLock> lock;
        if (!options_.dry_run && !(lock = FileLock::try_lock(path / ".rotate_logs.lock")))
            return log_normal("{}: another rotate_logs works there", path.string());
        read_names(folder);
        work(folder);
    } catch (const FileError& e) {
        failed(e.what());
    }
}

void LogRotation::read_names(Folder& folder) {
    folder.names.clear(), folder.olds.clear();
    const int fd = ::openat(folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseListing> entries(fd < 0 ? nullptr : ::fdopendir(fd));
    if (!entries) throw_problem(folder.path);
    std::map<std::string, OldLog> olds;  // by name: after a kill one may be there twice
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string& name = folder.names.emplace_back(entry->d_name);
        auto old = old_log(name);
        const auto info = old ? plain_file(folder.fd, name) : std::nullopt;
        if (!info) continue;
        OldLog& known = olds.try_emplace(old->name, *old).first->second;
        known.plain |= old->plain, known.packed |= old->packed;
        known.bytes += info->st_blocks * kBlock;  // what it takes: it may have holes
    }
    std::ranges::sort(folder.names);
    for (auto& [name, old] : olds) folder.olds[old.log].push_back(old);
}

void LogRotation::rotate_in(Folder& folder) {
    for (const std::string& name : folder.names)
        if (const std::string log = half_rotated(name); !log.empty() && is_log(folder, log)) finish(folder, log);
    for (const std::string& name : folder.names)
        if (is_log(folder, name)) rotate_if_due(folder, name);
    read_names(folder);
    if (folder.only_outputs) std::erase_if(folder.olds, [&](const auto& old) { return !is_log(folder, old.first); });
    thin_out(folder);
}

bool LogRotation::is_log(const Folder& folder, const std::string& name) const {
    if (name.front() == '.' || old_log(name)) return false;
    const bool by_its_end = !folder.only_outputs && (name.ends_with(".log") || name.ends_with(".out"));
    return by_its_end || options_.outputs.contains(folder.path / name);
}

/// A run was killed, or failed, while it rotated `log`.
void LogRotation::finish(Folder& folder, const std::string& log) {
    if (options_.dry_run) return;
    try {
        keep_half_rotated(folder, log);
    } catch (const FileError& e) {
        failed(e.what());
    }
}

void LogRotation::rotate_if_due(Folder& folder, const std::string& log) {
    if (stop_requested()) throw Stopped();
    const auto info = plain_file(folder.fd, log);
    if (!info) {
        struct stat other {};
        if (::fstatat(folder.fd, log.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(other.st_mode))
            log_once_a_day(LogLevel::kWarning, (folder.path / log).string() +
                                                   " is a link or no regular file: it is left alone, and may grow");
        return;
    }
    if (!rotation_due(options_.bounds, info->st_size, made_at(folder.fd, log), clock_.now())) return;
    ++rotated_;
    log_normal("{}{}: {} bytes, rotated", dry_run_words(options_.dry_run), log, info->st_size);
    if (options_.dry_run) return;
    try {
        rotate(folder, log);
    } catch (const FileError& e) {
        failed(e.what());
    }
}

void LogRotation::rotate(Folder& folder, const std::string& log) {
    const std::string half = half_name(log);
    const auto info = plain_file(folder.fd, log);
    if (!info) return;
    make_like(folder.fd, half, *info);
    if (::renameat2(folder.fd, log.c_str(), folder.fd, half.c_str(), RENAME_EXCHANGE) == 0)
        return keep_half_rotated(folder, log);
    const int why = errno;
    // A file system without exchange (NFS): for an instant there is no log of that name.
    const bool moved =
        (why == EINVAL || why == ENOSYS) && rename_to_new(folder.fd, log, old_log_name(log, clock_.now_sec()));
    keep_half_rotated(folder, log);
    errno = why;
    if (!moved && why != ENOENT) throw_problem(folder.path / log);  // ENOENT: somebody has taken it away
}

/// ".LOG.new" becomes an old log; the empty one that was to be exchanged becomes the log, if there is none, or goes.
void LogRotation::keep_half_rotated(Folder& folder, const std::string& log) {
    const std::string half = half_name(log);
    const auto info = plain_file(folder.fd, half);
    if (!info) return;
    const OwnedFd fd(open_old(folder.fd, half));
    if (info->st_size == 0 && fd.get() >= 0 && writers_of(fd.get()) == Writers::kNone) {
        if (!rename_to_new(folder.fd, half, log) && ::unlinkat(folder.fd, half.c_str(), 0) != 0)
            throw_problem(folder.path / half);
        return;
    }
    constexpr int kTries = 100;  // a name of each second
    for (int i = 0; i < kTries; ++i) {
        const std::string old = old_log_name(log, clock_.now_sec() + i);
        if (::faccessat(folder.fd, (old + ".gz").c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
        if (rename_to_new(folder.fd, half, old)) return;
        if (errno != EEXIST) throw_problem(folder.path / half);
    }
    errno = EEXIST;
    throw_problem(folder.path / half);
}

/// Removes first: that makes room for what is compressed.
void LogRotation::thin_out(const Folder& folder) {
    for (const std::string& name : folder.names)  // of a run that was killed
        if (name.front() == '.' && name.ends_with(".gz.new") &&
            old_log(name.substr(1, name.size() - std::string(".new").size() - 1)) && !options_.dry_run)
            ::unlinkat(folder.fd, name.c_str(), 0);
    for (const auto& [log, olds] : folder.olds) {
        std::set<std::string> gone;
        for (const OldLog& old : surplus(olds, options_.bounds, clock_.now())) {
            if (stop_requested()) throw Stopped();
            gone.insert(old.name);
            remove(folder, old);
        }
        for (const OldLog& old : olds) {
            if (gone.contains(old.name) || !old.plain) continue;
            if (old.log == "decisions" && clock_.now_sec() < old.time) continue;  // the scheduler writes to it
            try {
                pack(folder, old);
            } catch (const FileError& e) {
                failed(e.what());
            }
        }
    }
}

/// Those of a request belong together, but each is worth having alone: the oldest go, whatever they are.
void LogRotation::thin_out_requests(const Folder& folder) {
    std::vector<std::pair<std::int64_t, std::string>> files;
    std::map<std::string, std::int64_t> bytes;
    for (const std::string& name : folder.names) {
        const auto info = is_of_a_request(name) ? plain_file(folder.fd, name) : std::nullopt;
        if (!info) continue;
        files.emplace_back(info->st_mtime, name);
        bytes[name] = info->st_blocks * kBlock;
    }
    std::ranges::sort(files, std::greater<>());
    const double oldest = clock_.now() - options_.bounds.keep_for;
    const std::int64_t most = options_.bounds.max_bytes * options_.bounds.keep;
    std::int64_t kept = 0;
    for (const auto& [time, name] : files) {
        kept += bytes[name];
        if (static_cast<double>(time) >= oldest && kept <= most) continue;
        if (stop_requested()) throw Stopped();
        ++removed_;
        if (options_.dry_run || ::unlinkat(folder.fd, name.c_str(), 0) == 0 || errno == ENOENT) continue;
        return failed((folder.path / name).string() + ": " + file_problem(errno, folder.path / name));
    }
}

void LogRotation::remove(const Folder& folder, const OldLog& old) {
    const OwnedFd fd(old.plain ? open_old(folder.fd, old.name) : OwnedFd());
    if (fd.get() >= 0 && writers_of(fd.get()) == Writers::kSome) return empty_front(folder, old, 0);
    log_normal("{}{}: removed", dry_run_words(options_.dry_run), old.name);
    ++removed_;
    if (options_.dry_run) return;
    for (const std::string& name : {old.name, old.name + ".gz"})
        if (::unlinkat(folder.fd, name.c_str(), 0) != 0 && errno != ENOENT)
            failed((folder.path / name).string() + ": " + file_problem(errno, folder.path / name));
}

void LogRotation::pack(const Folder& folder, const OldLog& old) {
    const fs::path path = folder.path / old.name;
    const OwnedFd fd(open_old(folder.fd, old.name));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) throw_problem(path);
    if (!S_ISREG(info.st_mode) || info.st_nlink != 1) return;
    if (still_written(fd.get(), info, clock_.now())) {
        return empty_front(folder, old, options_.bounds.max_bytes * options_.bounds.keep);
    }
    if (!options_.gzip) return;
    if (!options_.dry_run && !pack_into(folder, old, fd.get(), info)) {
        if (stop_requested()) throw Stopped();
        return;
    }
    ++packed_;
    log_debug("{}{}: compressed", dry_run_words(options_.dry_run), old.name);
}

/// False: not now; the old log stays as it is.
bool LogRotation::pack_into(const Folder& folder, const OldLog& old, int from, const struct stat& info) {
    const fs::path path = folder.path / old.name;
    const std::string half = half_packed(old), packed = old.name + ".gz";
    const OwnedFd before(open_old(folder.fd, packed));
    const std::int64_t bytes = size_of(from);
    // A run was killed before it removed the plain one; or a scheduler whose clock is wrong has begun the day anew.
    const bool done = before.get() >= 0 && holds_the_same(before.get(), from);
    if (!done) {
        ::unlinkat(folder.fd, half.c_str(), 0);
        const OwnedFd to(::openat(folder.fd, half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                                  static_cast<mode_t>(info.st_mode & 0666)));
        if (to.get() < 0) throw_problem(path);
        bool whole = false;
        try {
            if (before.get() >= 0 && !copy_bytes(before.get(), to.get())) throw_problem(folder.path / packed);
            whole = gzip_file(from, to.get(), path);
        } catch (const FileError& e) {
            ::unlinkat(folder.fd, half.c_str(), 0);
            throw FileError(std::string(e.what()) + "; it stays as it is");
        }
        if (!whole) return ::unlinkat(folder.fd, half.c_str(), 0), false;
        if (::renameat(folder.fd, half.c_str(), folder.fd, packed.c_str()) != 0 || ::fsync(folder.fd) != 0)
            throw_problem(path);
    }
    if (size_of(from) != bytes) return false;
    if (::unlinkat(folder.fd, old.name.c_str(), 0) != 0) throw_problem(path);
    return true;
}

/// A log that a program still writes keeps its last `keep` bytes. The disk gets back the others, and the program's next
/// line goes behind them. Upstream's programs write on so until they are started anew.
void LogRotation::empty_front(const Folder& folder, const OldLog& old, std::int64_t keep) {
    constexpr std::int64_t kPatience = 600;  // s; who follows its log has done so, or has nothing to say
    struct stat info {};
    const OwnedFd fd(::openat(folder.fd, old.name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || clock_.now_sec() < old.time + kPatience) return;
    if (info.st_mtime > old.time + kPatience)
        log_once_a_day(LogLevel::kWarning,
                       (folder.path / old.name).string() +
                           ": a program still writes to it and does not see that its log was rotated; start it anew");
    const std::int64_t front = (info.st_size - keep) / kPage * kPage;
    if (info.st_blocks * kBlock <= keep + kPage || front <= 0 || options_.dry_run) return;
    if (::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, front) != 0)
        throw_problem(folder.path / old.name);
}

}  // namespace sluice
