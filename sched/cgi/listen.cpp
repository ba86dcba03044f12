// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/listen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "sched/cgi/acceptor.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/service_manager.h"
#include "sluice/base/text.h"
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

using Steady = std::chrono::steady_clock;

constexpr int kBacklog = 4096;
/// A request takes seconds at most; who still works then is stuck.
constexpr std::chrono::seconds kPatience{60};

[[noreturn]] void cant_listen(const std::string& address, const std::string& why) {
    throw Error(fmt::format(
        "can't listen on {}: {}; --listen takes HOST:PORT with a numeric host, or the path of a Unix socket in a "
        "folder that this user may write to",
        address, why));
}

int with_listen(int fd, const std::string& address) {
    if (::listen(fd, kBacklog) != 0) cant_listen(address, std::strerror(errno));
    return fd;
}

/// EAGAIN: its queue is full, which a server that was stopped (SIGSTOP) does not empty.
bool answers(const sockaddr_un& at) {
    const OwnedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno == EAGAIN;
}

int listen_on_path(const std::string& path) {
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
        if (answers(at)) cant_listen(path, "another server listens there");
        ::unlink(path.c_str());
    }
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) cant_listen(path, std::strerror(errno));
    // The web server is another user: its group is that of the folder.
    if (::stat(folder.c_str(), &there) == 0 && ::chown(path.c_str(), static_cast<uid_t>(-1), there.st_gid) != 0)
        log_warning("{} can't be given to the group of its folder: {}", path, std::strerror(errno));
    if (::chmod(path.c_str(), 0660) != 0) cant_listen(path, std::strerror(errno));
    return with_listen(fd, path);
}

int listen_on_port(const std::string& address) {
    const auto colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.empty()) cant_listen(address, "no host is given (127.0.0.1 for this computer only)");
    // getaddrinfo() keeps the lower 16 bits.
    const auto port = parse_int(address.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) cant_listen(address, "a port is a number from 1 to 65535");
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(*port).c_str(), &hints, &found); error != 0)
        cant_listen(address, ::gai_strerror(error));
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = ::bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (!bound) cant_listen(address, std::strerror(errno));
    return with_listen(fd, address);
}

/// SIGTERM and the like; SIGCHLD only wakes. False: go on.
bool told_to_end(int signals) {
    signalfd_siginfo info{};
    bool end = false;
    while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
        end |= info.ssi_signo != static_cast<std::uint32_t>(SIGCHLD);
    return end;
}

void end_all(Acceptor& acceptor, WorkerPool& workers, int signals) {
    const auto until = Steady::now() + kPatience;
    acceptor.stop_listening();
    for (; acceptor.busy() && Steady::now() < until; workers.reap()) {
        acceptor.turn();
        told_to_end(signals);  // read, so that they do not wake it again
    }
    workers.close_all();
    workers.signal_all(SIGTERM);
    for (bool killed = false; workers.any_process(); workers.reap()) {
        if (Steady::now() > until && !killed) {
            log_critical("workers had to be killed: they were at work for {} s", kPatience.count());
            workers.signal_all(SIGKILL);
            killed = true;
        }
        ::usleep(5000);
    }
}

/// The socket's mode says the same; it may have been changed.
bool is_of(int fd, gid_t group) {
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

}  // namespace

std::string place_for_relays(const std::filesystem::path& project) {
    const auto folder = project / (relay::kSocketFolder + short_host_name());
    std::error_code error;
    std::filesystem::create_directory(folder, project, error);  // with the project's mode
    if (error) cant_listen(folder / relay::kSocket, error.message());
    std::filesystem::current_path(project / "cgi-bin", error);
    if (error) return folder / relay::kSocket;
    return "../" + folder.filename().string() + "/" + relay::kSocket;  // paths of sockets are short
}

int serve_workers(const ListenOptions& options, const std::function<int()>& worker,
                  const std::function<std::string()>& sorry) {
    log_open({});  // stderr's file, of which workers know the name from here
    const bool path = options.address.find('/') != std::string::npos;
    const OwnedFd socket(path ? listen_on_path(options.address) : listen_on_port(options.address));
    sigset_t signals, outside;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &outside);
    const OwnedFd told(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    log_normal("listening on {} with {} to {} processes", options.address, options.workers.least, options.workers.most);
    WorkerPool workers(options.workers, worker, outside);
    Acceptor acceptor(socket.get(), workers, {}, sorry);
    acceptor.watch(told.get());
    struct stat at {
    }, now{};
    if (path && ::stat(options.address.c_str(), &at) == 0 && options.for_relays)
        acceptor.may_connect = [group = at.st_gid](int fd) { return is_of(fd, group); };
    ServiceManager& manager = service_manager();
    const std::string serves = fmt::format("Serves requests at {}", options.address);
    for (workers.adjust(Steady::now()); !told_to_end(told.get()); workers.reap()) {
        acceptor.turn();
        manager.ready(serves);
        manager.alive();
    }
    manager.stopping("Ends; requests that have come get their replies");
    const bool own =
        path && ::stat(options.address.c_str(), &now) == 0 && now.st_dev == at.st_dev && now.st_ino == at.st_ino;
    if (own) ::unlink(options.address.c_str());
    end_all(acceptor, workers, told.get());
    log_normal("ended");
    return 0;
}

}  // namespace sluice
