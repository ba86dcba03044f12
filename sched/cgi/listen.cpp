#include "listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 1024;
/// A request takes seconds at most; who still works then is stuck.
constexpr std::chrono::seconds kPatience{60};
/// A worker that ends at once is not started again at once.
constexpr std::chrono::seconds kShortLife{1};
constexpr std::chrono::seconds kForkPause{5};

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

bool answers(const sockaddr_un& at) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    return connected;
}

int listen_on_path(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path)
        cant_listen(path, fmt::format("the path has more than {} characters", sizeof at.sun_path - 1));
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    struct stat there {};
    if (::lstat(path.c_str(), &there) == 0) {  // what a killed server left behind is in the way
        if (!S_ISSOCK(there.st_mode)) cant_listen(path, "a file that is no socket is there");
        if (answers(at)) cant_listen(path, "another server listens there");
        ::unlink(path.c_str());
    }
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) cant_listen(path, std::strerror(errno));
    // The web server is another user; who may come near is decided by the folder.
    if (::chmod(path.c_str(), 0666) != 0) cant_listen(path, std::strerror(errno));
    return with_listen(fd, path);
}

int listen_on_port(const std::string& address) {
    const auto colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.empty()) cant_listen(address, "no host is given (127.0.0.1 for this computer only)");
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found); error != 0)
        cant_listen(address, ::gai_strerror(error));
    const int fd = ::socket(found->ai_family, SOCK_STREAM, 0), on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = ::bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    ::freeaddrinfo(found);
    if (!bound) cant_listen(address, std::strerror(errno));
    return with_listen(fd, address);
}

class Workers {
  public:
    Workers(int socket, const std::function<int()>& worker, const sigset_t& outside)
        : socket_(socket), worker_(worker), outside_(outside) {}

    std::size_t running() const { return started_.size(); }
    /// False: the system has no room for another process.
    bool start() {
        const pid_t parent = ::getpid(), pid = ::fork();
        if (pid == 0) ::_exit(be_worker(parent));
        if (pid > 0) started_[pid] = Clock::now();
        note_fork(pid > 0 ? 0 : errno);
        return pid > 0;
    }
    void signal_all(int signal) const {
        for (const auto& [pid, when] : started_) ::kill(pid, signal);
    }
    /// Forgets those that ended; true if one of them had lived shortly.
    bool reap() {
        bool short_lived = false;
        for (int status = 0;;) {
            const pid_t pid = ::waitpid(-1, &status, WNOHANG);
            if (pid <= 0) return short_lived;
            const auto it = started_.find(pid);
            if (it == started_.end()) continue;
            short_lived |= Clock::now() - it->second < kShortLife;
            started_.erase(it);
            if (status != 0) log_warning("worker {} ended with status {:#x}", pid, status);
        }
    }

  private:
    /// Trouble is said when it begins and when it is over, not at every try.
    void note_fork(int error) {
        if (error != 0 && !cant_fork_)
            log_critical("can't start a worker: {}; serving with {}, trying again every {} s", std::strerror(error),
                         running(), kForkPause.count());
        if (error == 0 && cant_fork_) log_normal("workers can be started again");
        cant_fork_ = error != 0;
    }
    int be_worker(pid_t parent) const {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would start it anew, or end it
        if (::getppid() != parent) return 1;
        ::dup2(socket_, STDIN_FILENO);
        if (socket_ != STDIN_FILENO) ::close(socket_);
        ::sigprocmask(SIG_SETMASK, &outside_, nullptr);
        return worker_();
    }
    int socket_;
    const std::function<int()>& worker_;
    const sigset_t& outside_;
    std::map<pid_t, Clock::time_point> started_;
    bool cant_fork_ = false;
};

/// The next of `signals`, or 0 after a second.
int next_signal(const sigset_t& signals) {
    const timespec second{1, 0};
    const int signal = ::sigtimedwait(&signals, nullptr, &second);
    return signal > 0 ? signal : 0;
}

void end_workers(Workers& workers, const sigset_t& signals) {
    const auto until = Clock::now() + kPatience;
    workers.signal_all(SIGTERM);
    while (workers.running() > 0) {
        if (Clock::now() > until) workers.signal_all(SIGKILL);
        next_signal(signals);
        workers.reap();
    }
}

}  // namespace

int serve_workers(const ListenOptions& options, const std::function<int()>& worker) {
    const bool path = options.address.find('/') != std::string::npos;
    const int socket = path ? listen_on_path(options.address) : listen_on_port(options.address);
    sigset_t signals, outside;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &outside);
    log_normal("listening on {} with {} processes", options.address, options.processes);
    Workers workers(socket, worker, outside);
    for (auto not_before = Clock::now();;) {
        while (Clock::now() >= not_before && workers.running() < static_cast<std::size_t>(options.processes))
            if (!workers.start()) not_before = Clock::now() + kForkPause;
        const int signal = next_signal(signals);
        if (signal != 0 && signal != SIGCHLD) break;
        if (workers.reap()) not_before = Clock::now() + kShortLife;
    }
    end_workers(workers, signals);
    ::close(socket);
    if (path) ::unlink(options.address.c_str());
    log_normal("ended");
    return 0;
}

}  // namespace sluice
