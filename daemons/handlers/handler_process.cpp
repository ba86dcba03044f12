// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/handler_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

extern char** environ;

namespace sluice {
namespace {

/// Not the wall clock, which may jump.
double steady_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::uint64_t memory_bytes(std::int64_t limit) {
    if (limit >= 0) return static_cast<std::uint64_t>(limit) << 20;
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) /
           2;
}

std::string end_of(int status) {
    if (WIFSIGNALED(status))
        return fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("ended with exit status {}", WEXITSTATUS(status));
}

}  // namespace

void HandlerProcess::start() {
    if (pid_ != 0 && writes_to_our_log()) return;
    end();
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        throw Error(fmt::format("Can't make a socket: {}", std::strerror(errno)));
    socket_ = OwnedFd(sockets[0]);
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    {
        const OwnedFd theirs(sockets[1]);  // closed at once: its end is to be seen
        spawn(theirs.get());
    }
    try {
        if (const std::string wrong = exchange(to_wire(hello_)); !wrong.empty()) {
            end();
            throw ConfigError(options_.program + ": " + wrong);
        }
    } catch (const HandlerFailed& e) {
        throw ConfigError(fmt::format("{} {} before it could begin", options_.program, e.what()));
    }
}

/// When rotate_logs has moved the log away, the daemon goes over to the new one. The program still has the old one
/// open: its lines would go there, and the old log could neither be compressed nor removed.
bool HandlerProcess::writes_to_our_log() const {
    struct stat log {};
    return ::fstat(STDERR_FILENO, &log) != 0 || (log.st_dev == log_device_ && log.st_ino == log_inode_);
}

void HandlerProcess::spawn(int socket) {
    struct stat log {};
    if (::fstat(STDERR_FILENO, &log) == 0) log_device_ = log.st_dev, log_inode_ = log.st_ino;
    std::vector<std::string> words{options_.program};
    words.insert(words.end(), options_.words.begin(), options_.words.end());
    std::vector<char*> argv, env;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    constexpr int kTheirs = 3;
    std::string number = fmt::format("{}={}", kWireSocket, kTheirs);
    for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
    env.insert(env.end(), {number.data(), nullptr});
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket, kTheirs);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    // Its own group, so that what it starts ends with it; and the signals as a program expects them.
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&pid_, argv[0], &actions, &attributes, argv.data(), env.data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        pid_ = 0;
        throw ConfigError(fmt::format("Can't start {}: {}", options_.program, std::strerror(error)));
    }
    if (const std::uint64_t bytes = memory_bytes(options_.memory_limit); bytes > 0) {
        const rlimit limit{bytes, bytes};
        ::prlimit(pid_, RLIMIT_DATA, &limit, nullptr);
    }
    const rlimit no_core{0, 0};  // what crashes is asked again and again: its files would fill the disk
    ::prlimit(pid_, RLIMIT_CORE, &no_core, nullptr);
}

std::string HandlerProcess::ask(std::string_view question) {
    start();
    return exchange(question);
}

std::string HandlerProcess::exchange(std::string_view frame) {
    if (frame.size() > kMaxFrame) throw HandlerFailed("is not asked: the workunit's documents are too large");
    const double until = options_.time_limit > 0 ? steady_now() + options_.time_limit : 1e18;
    auto n = static_cast<std::uint32_t>(frame.size());
    std::string head(reinterpret_cast<const char*>(&n), sizeof n);
    send(head.append(frame), until);
    receive(reinterpret_cast<char*>(&n), sizeof n, until);
    if (n > kMaxAnswer) fail("gave an answer that makes no sense");
    std::string answer(n, '\0');
    receive(answer.data(), n, until);
    return answer;
}

void HandlerProcess::send(std::string_view bytes, double until) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait_until_ready(POLLOUT, until);
        else if (errno != EINTR)
            fail("");
    }
}

void HandlerProcess::receive(char* to, std::size_t n, double until) {
    while (n > 0) {
        const ssize_t got = ::read(socket_.get(), to, n);
        if (got > 0) {
            to += got;
            n -= static_cast<std::size_t>(got);
        } else if (got < 0 && errno == EAGAIN) {
            wait_until_ready(POLLIN, until);
        } else if (got == 0 || errno != EINTR) {
            fail("");
        }
    }
}

void HandlerProcess::wait_until_ready(short events, double until) {
    for (;;) {
        const double left = until - steady_now();
        if (left <= 0) fail(fmt::format("took longer than {:g} s", options_.time_limit));
        pollfd fd{socket_.get(), events, 0};
        if (::poll(&fd, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1) > 0) return;
        if (stop_requested()) fail("was ended: a stop was asked for");
    }
}

void HandlerProcess::fail(const std::string& why) {
    const std::string ended = end();
    throw HandlerFailed(why.empty() ? ended : why);
}

std::string HandlerProcess::end() {
    if (pid_ == 0) return "";
    socket_ = OwnedFd();
    int status = 0;
    // Whose socket is closed has ended, or is about to; a moment later its own status says more than a SIGKILL.
    pid_t ended = 0;
    for (int i = 0; i < 100 && ended == 0; ++i) {
        ended = ::waitpid(pid_, &status, WNOHANG);
        if (ended == 0) ::usleep(1000);
    }
    ::kill(-pid_, SIGKILL);
    while (ended == 0 || (ended < 0 && errno == EINTR)) ended = ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return end_of(status);
}

}  // namespace sluice
