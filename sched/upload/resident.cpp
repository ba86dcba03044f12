// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/resident.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "sched/upload/relay_protocol.h"
#include "sched/web/unix_socket.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/service_manager.h"

namespace sluice::upload {
namespace {

using Steady = std::chrono::steady_clock;

/// So many wait, unless kMost are busy. Each is small: a slow client has one to himself.
constexpr int kWaiting = 3, kMost = 100;
/// A relay sends its request at once.
constexpr int kForARequest = 2000;  // ms
/// Of one accept(). Then it is seen whether to go on.
constexpr timeval kForARelay{5, 0};
/// Of a stop: uploads that are at work end at once, and keep what has come.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kPause{1};  ///< after a process that could not be started, or died young

/// The other end is closed: nobody waits for the answer.
bool hung_up(const pollfd& connection) { return (connection.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0; }

int milliseconds_to(Deadline until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600000));
}

/// All that came with it, also with a message that is refused, or empty: there is room for two.
std::vector<OwnedFd> descriptors_of(msghdr& message) {
    std::vector<OwnedFd> fds;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, reinterpret_cast<const char*>(part) + at, sizeof fd);
            fds.emplace_back(fd);
        }
    }
    return fds;
}

/// What a process does, in memory that all share: whoever is killed at any moment leaves a slot that the parent clears.
enum class Does : int { kNothing, kWaits, kServes };
using Slots = std::array<std::atomic<Does>, kMost>;
static_assert(std::atomic<Does>::is_always_lock_free);

class Workers {
  public:
    using Run = std::function<void(const RelayPlace&)>;
    Workers(RelayPlace place, const Run& run, const sigset_t& outside)
        : place_(std::move(place)),
          run_(run),
          outside_(outside),
          slots_(static_cast<Slots*>(
              ::mmap(nullptr, sizeof(Slots), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
          wanted_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        if (slots_ == MAP_FAILED || wanted_.get() < 0)
            throw Error(fmt::format("can't prepare for processes: {}", std::strerror(errno)));
    }
    /// Readable: another one is wanted.
    int wanted() const { return wanted_.get(); }
    bool any() const {
        return std::ranges::any_of(pids_, [](pid_t pid) { return pid != 0; });
    }
    bool full() const { return count(Does::kNothing) == 0 && count(Does::kWaits) == 0; }
    /// Starts what is missing.
    void adjust() {
        std::uint64_t asked = 0;
        if (::read(wanted_.get(), &asked, sizeof asked) < 0) asked = 0;  // nobody asked
        for (std::size_t i = 0; i < slots_->size() && count(Does::kWaits) < kWaiting; ++i)
            if (pids_[i] == 0 && !start(i)) return;
    }
    void reap() {
        int status = 0;
        for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            const auto at = std::ranges::find(pids_, pid);
            if (at == pids_.end()) continue;
            const auto i = static_cast<std::size_t>(at - pids_.begin());
            if (status != 0) log_warning("process {} ended with status {:#x}", pid, status);
            if (status != 0 && Steady::now() - born_[i] < kPause) not_before_ = Steady::now() + kPause;
            pids_[i] = 0;
            (*slots_)[i] = Does::kNothing;
        }
    }
    void signal_all(int signal) const {
        for (const pid_t pid : pids_)
            if (pid != 0) ::kill(pid, signal);
    }

  private:
    int count(Does what) const {
        return static_cast<int>(std::ranges::count_if(*slots_, [&](const auto& slot) { return slot == what; }));
    }
    bool start(std::size_t i) {
        if (Steady::now() < not_before_) return false;
        (*slots_)[i] = Does::kWaits;
        const pid_t parent = ::getpid(), pid = ::fork();
        if (pid == 0) ::_exit(be_worker(i, parent));
        if (pid < 0) {
            log_critical("can't start a process: {}; trying again", std::strerror(errno));
            (*slots_)[i] = Does::kNothing;
            not_before_ = Steady::now() + kPause;
            return false;
        }
        pids_[i] = pid;
        born_[i] = Steady::now();
        return true;
    }
    int be_worker(std::size_t i, pid_t parent) const {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would start it anew, or end it
        if (::getppid() != parent) return 1;
        ::sigprocmask(SIG_SETMASK, &outside_, nullptr);
        RelayPlace place = place_;
        place.at_work = [&, i](bool serves) {
            (*slots_)[i] = serves ? Does::kServes : Does::kWaits;
            constexpr std::uint64_t kOne = 1;
            // A full counter wakes the parent as well.
            if (serves && count(Does::kWaits) < kWaiting) (void)!::write(wanted_.get(), &kOne, sizeof kOne);
        };
        place.needless = [&] { return count(Does::kWaits) > kWaiting; };
        run_(place);
        return 0;
    }

    RelayPlace place_;
    const Run& run_;
    const sigset_t& outside_;
    Slots* slots_;
    OwnedFd wanted_;
    std::array<pid_t, kMost> pids_{};
    std::array<Steady::time_point, kMost> born_{};
    Steady::time_point not_before_{};
};

/// SIGTERM and the like; SIGCHLD only wakes.
bool is_told_to_end(int signals) {
    signalfd_siginfo info{};
    bool end = false;
    while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
        end |= info.ssi_signo != static_cast<std::uint32_t>(SIGCHLD);
    return end;
}

void end_workers(Workers& workers) {
    const auto until = Steady::now() + kPatience;
    workers.signal_all(SIGTERM);
    for (bool killed = false; workers.any(); workers.reap()) {
        if (!killed && Steady::now() > until) {
            workers.signal_all(SIGKILL);
            killed = true;
        }
        ::usleep(5000);
    }
}

/// While every process is busy, those who come are sent away: they do it themselves.
void turn(int listener, int signals, Workers& workers) {
    workers.adjust();
    const bool full = workers.full();
    std::array<pollfd, 3> ready{
        {{signals, POLLIN, 0}, {workers.wanted(), POLLIN, 0}, {full ? listener : -1, POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), 1000);
    if (full && ready[2].revents != 0) const OwnedFd refused(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    workers.reap();
    log_follow_rotation();
}

}  // namespace

RelayGateway::RelayGateway(RelayPlace place, std::function<bool()> ended)
    : Gateway(ended), place_(std::move(place)), ended_(std::move(ended)) {}

/// Waits in accept(), which wakes one process for each relay; poll() would wake all.
bool RelayGateway::accept() {
    while (!ended_()) {
        relay_ = OwnedFd(::accept4(place_.listener, nullptr, nullptr, SOCK_CLOEXEC));
        if (relay_.get() < 0) {
            if (errno == EAGAIN && place_.needless()) return false;
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) ::usleep(100'000);
            continue;
        }
        place_.at_work(true);
        if (is_peer_of_group(relay_.get(), place_.group) && take_request()) return true;
        for (OwnedFd* fd : {&relay_, &body_}) *fd = OwnedFd();
        place_.at_work(false);
    }
    return false;
}

/// What the relay sent stays where it is until kTaken is on its way: it may have given up.
bool RelayGateway::take_request() {
    UploadRequest request{};
    iovec part{&request, sizeof request};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const auto receive = [&] { return ::recvmsg(relay_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); };
    ssize_t n = receive();
    pollfd ready{relay_.get(), POLLIN, 0};
    if (n < 0 && errno == EAGAIN && ::poll(&ready, 1, kForARequest) == 1) n = receive();
    if (n < 0) return false;
    std::vector<OwnedFd> fds = descriptors_of(message);
    if (fds.size() != 1 || n != static_cast<ssize_t>(sizeof request) || (message.msg_flags & MSG_TRUNC) != 0 ||
        std::memcmp(request.version, kTaken, sizeof kTaken) != 0 ||
        ::send(relay_.get(), kTaken, sizeof kTaken, MSG_NOSIGNAL) != sizeof kTaken)
        return false;
    body_ = std::move(fds[0]);
    address_.assign(request.address, ::strnlen(request.address, sizeof request.address));
    length_.assign(request.length, ::strnlen(request.length, sizeof request.length));
    return true;
}

std::string RelayGateway::variable(const char* name) const {
    if (std::strcmp(name, "REMOTE_ADDR") == 0) return address_;
    return std::strcmp(name, "CONTENT_LENGTH") == 0 ? length_ : "";
}

ReadResult RelayGateway::read(char* buffer, std::size_t size, Deadline until) {
    for (;;) {
        std::array<pollfd, 2> ready{{{body_.get(), POLLIN, 0}, {relay_.get(), POLLRDHUP, 0}}};
        const int polled = ::poll(ready.data(), ready.size(), milliseconds_to(until));
        if (polled < 0 && errno == EINTR) continue;
        if (polled <= 0) return {0, true};
        if (ready[0].revents == 0 && hung_up(ready[1])) return {};
        const ssize_t n = ::read(body_.get(), buffer, size);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        return {static_cast<std::size_t>(std::max<ssize_t>(n, 0)), false};
    }
}

void RelayGateway::finish() {
    body_ = OwnedFd();
    answer_.resize(std::min<std::size_t>(answer_.size(), kMostAnswer));
    // A relay that has gone wants no answer. One that is there wakes when the connection is closed.
    (void)!::send(relay_.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
    relay_ = OwnedFd();
    answer_.clear();
    place_.at_work(false);
}

int serve_relays(const std::filesystem::path& project, const std::function<void(const RelayPlace&)>& worker,
                 const std::function<bool()>& ended) {
    const std::string place = place_for_relays(project, kUploadSocket);
    sigset_t signals, outside;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGCHLD}) sigaddset(&signals, signal);
    const OwnedFd listener(listen_on_path(place, SOCK_SEQPACKET));
    ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) & ~O_NONBLOCK);
    ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVTIMEO, &kForARelay, sizeof kForARelay);
    struct stat at {
    }, now{};
    ::stat(place.c_str(), &at);
    ::sigprocmask(SIG_BLOCK, &signals, &outside);
    const OwnedFd told(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
    Workers workers({.listener = listener.get(), .group = at.st_gid, .at_work = {}, .needless = {}}, worker, outside);
    log_normal("listening on {}", place);
    ServiceManager& manager = service_manager();
    const std::string serves = fmt::format("Takes uploads at {}", place);
    // A signal that came before they were blocked counts as well.
    while (!ended() && !is_told_to_end(told.get())) {
        manager.ready(serves);
        manager.alive();
        turn(listener.get(), told.get(), workers);
    }
    manager.stopping("Ends; what has come of uploads stays");
    if (::stat(place.c_str(), &now) == 0 && now.st_dev == at.st_dev && now.st_ino == at.st_ino) ::unlink(place.c_str());
    end_workers(workers);
    log_normal("ended");
    return 0;
}

}  // namespace sluice::upload
