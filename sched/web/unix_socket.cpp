// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/web/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

// One start of a server at a time, in the folder of its socket.

constexpr int kTries = 30;

constexpr useconds_t kBetweenTries = 100'000;

/// "process 123 of www-data". Some file systems give /proc/locks another device than stat(): then nobody is found.
std::string flock_holder(const struct stat& file) {
    const std::string wanted =
        fmt::format("{:02x}:{:02x}:{}", gnu_dev_major(file.st_dev), gnu_dev_minor(file.st_dev), file.st_ino);
    std::ifstream locks("/proc/locks");
    std::string number, kind, advisory, access, pid, inode, first, last;
    while (locks >> number >> kind) {
        if (kind == "->") locks >> kind;  // it waits for the one above
        locks >> advisory >> access >> pid >> inode >> first >> last;
        struct stat process {};
        if (kind != "FLOCK" || inode != wanted) continue;
        const bool known = ::stat(("/proc/" + pid).c_str(), &process) == 0;
        return "process " + pid + (known ? " of " + user_name(process.st_uid) : "");
    }
    return "another process";
}

/// The folder's flock, to be held while the socket is made. Any account that can read the folder can hold the lock for
/// ever. So after a few seconds a warning names the holder, and the start goes on without the lock.
OwnedFd take_start_turn(const std::filesystem::path& folder) {
    OwnedFd turn(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; turn.get() >= 0 && ::flock(turn.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
        if (errno != EWOULDBLOCK && errno != EINTR) break;  // NFS may have no locks
        if (i == kTries) {
            struct stat info {};
            std::error_code unknown;
            ::fstat(turn.get(), &info);
            log_warning("{} has locked {} (flock) for {} s: the start goes on without the lock", flock_holder(info),
                        std::filesystem::canonical(folder, unknown).string(), kTries * kBetweenTries / 1'000'000);
            break;
        }
        ::usleep(kBetweenTries);
    }
    return turn;
}

/// EAGAIN: its queue is full, which a server that was stopped (SIGSTOP) does not empty.
bool answers(const sockaddr_un& at, int type) {
    const OwnedFd fd(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno == EAGAIN;
}

}  // namespace

void cant_listen(const std::string& address, const std::string& why) {
    throw Error(fmt::format(
        "can't listen on {}: {}; --listen takes HOST:PORT with a numeric host, or the path of a Unix socket in a "
        "folder that this user may write to",
        address, why));
}

int listen_on_path(const std::string& path, int type) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path)
        cant_listen(path, fmt::format("the path has more than {} characters", sizeof at.sun_path - 1));
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    struct stat there {};
    // Two that start at the same time find out one after the other whether somebody listens.
    const std::string folder = std::filesystem::absolute(path).parent_path();
    const OwnedFd turn = take_start_turn(folder);
    if (::lstat(path.c_str(), &there) == 0) {  // what a killed server left behind is in the way
        if (!S_ISSOCK(there.st_mode)) cant_listen(path, "a file that is no socket is there");
        if (answers(at, type)) cant_listen(path, "another server listens there");
        ::unlink(path.c_str());
    }
    const int fd = ::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) cant_listen(path, std::strerror(errno));
    // The web server is another user: its group is that of the folder.
    if (::stat(folder.c_str(), &there) == 0 && ::chown(path.c_str(), static_cast<uid_t>(-1), there.st_gid) != 0)
        log_warning("{} can't be given to the group of its folder: {}", path, std::strerror(errno));
    if (::chmod(path.c_str(), 0660) != 0) cant_listen(path, std::strerror(errno));
    if (::listen(fd, kListenBacklog) != 0) cant_listen(path, std::strerror(errno));
    return fd;
}

std::string place_for_relays(const std::filesystem::path& project, const char* socket) {
    const auto folder = project / (kSocketFolder + short_host_name());
    std::error_code error;
    std::filesystem::create_directory(folder, project, error);  // with the project's mode
    if (error) cant_listen(folder / socket, error.message());
    std::filesystem::current_path(project / "cgi-bin", error);
    if (error) return folder / socket;
    return "../" + folder.filename().string() + "/" + socket;  // paths of sockets are short
}

bool is_peer_of_group(int fd, gid_t group) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    if (peer.uid == ::geteuid() || peer.uid == 0 || peer.gid == group) return true;
    std::vector<gid_t> groups(1024);
    size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0) return false;
    groups.resize(size / sizeof(gid_t));
    return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace sluice
