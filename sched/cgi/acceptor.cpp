// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/acceptor.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "sched/cgi/relay_protocol.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// Web servers allow headers of some KB; the variables are made of them.
constexpr std::size_t kMostParams = 64 * 1024;
/// What epoll says of a connection is its serial above this; below are file descriptors.
constexpr std::uint64_t kConnections = std::uint64_t{1} << 40;
/// Files of the server's own: log, epoll, workers.
constexpr rlim_t kOtherFiles = 1200;
constexpr std::uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP;

/// How many connections the system lets this process have. Some need a file for their bodies, too: half as many.
std::size_t room_for_connections(std::size_t wanted) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 100;
    const rlim_t enough = wanted + wanted / 2 + kOtherFiles;
    files.rlim_cur = std::max(files.rlim_cur, std::min(files.rlim_max, enough));
    ::setrlimit(RLIMIT_NOFILE, &files);
    const rlim_t spare = files.rlim_cur > 2 * kOtherFiles ? files.rlim_cur - kOtherFiles : files.rlim_cur / 2;
    return std::min<std::size_t>(wanted, spare / 3 * 2);
}

}  // namespace

struct Acceptor::Sink final : fastcgi::RecordSink {
    Sink(Acceptor& a, Connection& c) : acceptor(a), connection(c) {}
    bool on_content(fastcgi::RecordType type, std::uint16_t id, std::string_view piece) override {
        Connection& c = connection;
        if (type == fastcgi::kBeginRequest) return acceptor.begin(c, id, piece);
        if (type == fastcgi::kGetValues) return acceptor.on_question(c, piece);
        if (id == 0) return c.phase == Phase::kIdle;
        const bool reading = c.phase == Phase::kReading || c.phase == Phase::kAsking;
        if (!reading || id != c.id) return false;
        if (type == fastcgi::kParams) return acceptor.take_params(c, piece);
        if (type != fastcgi::kStdin || !c.params_ended) return false;
        if (!piece.empty()) return acceptor.take_body(c, piece);
        acceptor.body_ended(c);
        return true;
    }
    Acceptor& acceptor;
    Connection& connection;
};

Acceptor::Acceptor(int listener, WorkerPool& workers, AcceptorLimits limits, std::function<std::string()> sorry)
    : listener_(listener),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      workers_(workers),
      limits_(limits),
      sorry_(std::move(sorry)) {
    limits_.connections = room_for_connections(limits.connections);
    workers_.on_start = [this](int fd) { watch(fd); };
    watch(listener_);
}

Acceptor::~Acceptor() { workers_.on_start = nullptr; }

void Acceptor::watch(int fd) {
    epoll_event event{EPOLLIN, {}};
    event.data.u64 = static_cast<std::uint64_t>(fd);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Acceptor::want(Connection& c, std::uint32_t events) const {
    if (c.in_epoll && c.events == events) return;
    c.events = events;
    epoll_event event{events, {}};
    event.data.u64 = kConnections + static_cast<std::uint64_t>(c.serial);
    ::epoll_ctl(epoll_.get(), std::exchange(c.in_epoll, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c.fd.get(), &event);
}

bool Acceptor::turn() {
    constexpr int kPause = 1000, kShortPause = 100;  // ms; the latter while somebody waits for a worker
    epoll_event events[256];
    const int n = ::epoll_wait(epoll_.get(), events, 256, queue_.empty() ? kPause : kShortPause);
    now_ = Clock::now();
    other_ready_ = false;
    for (int i = 0; i < n; ++i) on_event(events[i].data.u64, events[i].events);
    workers_.adjust(now_);
    hand_out();
    watch_new();
    if (now_ - swept_ >= std::chrono::seconds(1)) close_late();
    return other_ready_;
}

void Acceptor::on_event(std::uint64_t what, std::uint32_t events) {
    if (what < kConnections) {
        const int fd = static_cast<int>(what);
        if (fd == listener_) return accept_some();
        if (WorkerPool::Worker* worker = workers_.by_socket(fd)) return on_worker(*worker);
        other_ready_ = true;
        return;
    }
    const auto it = connections_.find(static_cast<Serial>(what - kConnections));
    if (it == connections_.end()) return;
    Connection& c = *it->second;
    if ((events & EPOLLIN) != 0) {
        if (reads(c.phase)) return on_readable(c);
        want(c, c.events & ~static_cast<std::uint32_t>(EPOLLIN));  // a reply may wait for room
    }
    if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) return close(c);
    if ((events & EPOLLOUT) != 0) on_writable(c);
}

void Acceptor::accept_some() {
    constexpr int kAtOnce = 64;  // the others get their turn
    for (int i = 0; i < kAtOnce; ++i) {
        OwnedFd fd(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        const bool full = fd.get() < 0 && (errno == EMFILE || errno == ENFILE);
        if (fd.get() < 0 && !full) return;
        if (!full && may_connect && !may_connect(fd.get())) continue;
        if (full || connections_.size() >= limits_.connections) {
            complain("too many connections at a time: the slowest are closed");
            if (!close_slowest() || full) return;
        }
        const Serial serial = ++last_;
        auto& made = connections_[serial] = std::make_unique<Connection>(serial, fd.release(), now_);
        new_.push_back(serial);
        on_readable(*made);  // mostly its request is there
    }
}

/// Of connections that came in this turn. One whose request a worker has already is not waited for: of a client that
/// went away the reply will tell.
void Acceptor::watch_new() {
    for (const Serial serial : std::exchange(new_, {})) {
        const auto it = connections_.find(serial);
        if (it == connections_.end() || it->second->in_epoll || it->second->phase == Phase::kServing) continue;
        want(*it->second, kReadEvents);
    }
}

void Acceptor::on_readable(Connection& c) {
    char bytes[kRead];
    const ssize_t n = ::read(c.fd.get(), bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Sink sink(*this, c);
    if (n <= 0 || !c.reader.feed({bytes, static_cast<std::size_t>(n)}, sink)) return close(c);
    if (held_ > limits_.held_bytes) close_longest();
}

bool Acceptor::begin(Connection& c, std::uint16_t id, std::string_view content) {
    constexpr std::size_t kBeginContent = 8;
    if (c.phase != Phase::kIdle || id == 0 || content.size() < kBeginContent || content[1] != 1) return false;
    c.id = id;
    c.keep = (content[2] & 1) != 0;
    c.start = now_;
    set_phase(c, Phase::kReading);
    return true;
}

bool Acceptor::take_params(Connection& c, std::string_view piece) {
    if (c.params_ended || c.held.params_size() + piece.size() > kMostParams) return false;
    c.params_ended = piece.empty();
    if (!c.held.append_params(piece)) return false;
    held_ += piece.size();
    return true;
}

bool Acceptor::take_body(Connection& c, std::string_view piece) {
    c.received += piece.size();
    if (c.cut) return true;
    if (c.phase == Phase::kReading && c.received > c.allowed) {
        if (c.asked) {
            c.cut = true;
            held_ -= c.held.size();
            c.held.keep_beginning(kBeginning);
            held_ += c.held.size();
            return true;
        }
        c.asked = true;
        set_phase(c, Phase::kAsking);
    }
    if (!c.held.append_body(piece)) return false;
    held_ += piece.size();
    return true;
}

void Acceptor::body_ended(Connection& c) {
    c.ended = true;
    if (c.phase == Phase::kReading) set_phase(c, Phase::kWaiting);
}

/// Counts those without a reply.
void Acceptor::enter(Connection& c, Phase phase) {
    const auto unanswered = [](Phase p) {
        return p == Phase::kWaiting || p == Phase::kServing || p == Phase::kWriting;
    };
    if (unanswered(phase)) ++unanswered_;
    if (unanswered(c.phase)) --unanswered_;
    c.phase = phase;
    c.since = now_;
}

/// Keeps what depends on the phase in step: who wants a worker, what is waited for. A client that goes on sending is
/// not heard from its first untimely byte on: most send none, and epoll need not be told.
void Acceptor::set_phase(Connection& c, Phase phase) {
    enter(c, phase);
    if (phase == Phase::kAsking || phase == Phase::kWaiting) queue_.push_back(c.serial);
    if (reads(phase)) want(c, kReadEvents);
}

void Acceptor::hand_out() {
    while (!queue_.empty()) {
        const auto it = connections_.find(queue_.front());
        const bool wants =
            it != connections_.end() && (it->second->phase == Phase::kWaiting || it->second->phase == Phase::kAsking);
        if (wants) {
            WorkerPool::Worker* worker = workers_.take(now_);
            if (worker == nullptr) return;
            if (!give(*it->second, *worker)) continue;
        }
        queue_.pop_front();
    }
}

/// False: that worker is gone, another one has to do it.
bool Acceptor::give(Connection& c, WorkerPool::Worker& worker) {
    const bool question = c.phase == Phase::kAsking;
    Task task{HeldKind::kWhole, static_cast<std::uint32_t>(c.held.params_size()), c.held.body_size()};
    if (question) task.kind = HeldKind::kQuestion;
    if (c.cut) task.kind = HeldKind::kBeginning;
    if (!send_task(worker.socket.get(), task, c.held)) {
        workers_.drop(worker.socket.get());
        return false;
    }
    worker.serves = c.serial;
    if (question) return true;
    held_ -= c.held.size();
    c.held = HeldRequest();
    set_phase(c, Phase::kServing);
    return true;
}

void Acceptor::on_worker(WorkerPool::Worker& worker) {
    char bytes[kRead];
    const int fd = worker.socket.get();
    const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const Serial serial = worker.serves;
    if (n <= 0) {
        workers_.drop(fd);
        if (serial >= 0) on_reply(serial, sorry_());
        return;
    }
    worker.reply.append(bytes, static_cast<std::size_t>(n));
    ReplyLength length = 0;
    if (worker.reply.size() < sizeof length) return;
    worker.reply.copy(reinterpret_cast<char*>(&length), sizeof length);
    if (worker.reply.size() < sizeof length + length) return;
    const std::string reply = worker.reply.substr(sizeof length);
    worker.reply.clear();
    worker.serves = -1;
    worker.idle_since = now_;
    if (serial >= 0) on_reply(serial, reply);
}

void Acceptor::on_reply(Serial serial, std::string_view text) {
    const auto it = connections_.find(serial);
    if (it == connections_.end()) return;  // it did not wait for it
    Connection& c = *it->second;
    if (c.phase == Phase::kServing) return answer(c, text);
    if (c.phase != Phase::kAsking) return;
    const auto allowed = parse_int(text);  // of a worker that died instead there is none
    c.allowed = allowed && *allowed > 0 ? static_cast<std::size_t>(*allowed) : 0;
    if (c.received > c.allowed) {
        c.cut = true;
        held_ -= c.held.size();
        c.held.keep_beginning(kBeginning);
        held_ += c.held.size();
    }
    set_phase(c, c.ended ? Phase::kWaiting : Phase::kReading);
}

void Acceptor::answer(Connection& c, std::string_view text) {
    c.out = fastcgi::answer(c.id, text);
    c.written = 0;
    set_phase(c, Phase::kWriting);
    on_writable(c);
}

void Acceptor::on_writable(Connection& c) {
    while (c.written < c.out.size()) {
        const ssize_t n = ::send(c.fd.get(), c.out.data() + c.written, c.out.size() - c.written, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return want(c, EPOLLRDHUP | EPOLLOUT);
        if (n <= 0) return close(c);
        c.written += static_cast<std::size_t>(n);
        c.since = now_;
    }
    if (!c.keep) return close(c);
    held_ -= c.held.size();
    c.held = HeldRequest();
    c.out = std::string();
    c.received = 0;
    c.allowed = kAskAt;
    c.params_ended = c.ended = c.asked = c.cut = c.relay = false;
    set_phase(c, Phase::kIdle);
}

void Acceptor::close(Connection& c) {
    enter(c, Phase::kIdle);
    held_ -= c.held.size();
    connections_.erase(c.serial);
}

/// A relay asks whether its request will be served. Web servers ask, too, but for other things, and wait for no answer.
bool Acceptor::on_question(Connection& c, std::string_view piece) {
    constexpr std::size_t kMostAsked = 512;
    constexpr std::size_t kMostWaiting = 2000;
    if (c.phase != Phase::kIdle || c.question.size() + piece.size() > kMostAsked) return false;
    c.question += piece;
    const std::string version = fastcgi::variable(c.question, relay::kName);
    if (version.empty()) return true;
    c.question.clear();
    const bool room = !stopping_ && queue_.size() < kMostWaiting && held_ <= limits_.held_bytes;
    c.relay = room && version == relay::kVersion;
    const std::string said = fastcgi::pair(relay::kName, c.relay ? relay::kVersion : "0");
    const std::string record = fastcgi::record(fastcgi::kGetValuesResult, 0, said);
    return ::send(c.fd.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(record.size());
}

/// Closes a connection of whose request nothing was done, and says so to who may take it elsewhere.
void Acceptor::refuse(Connection& c) {
    constexpr std::uint16_t kIdOfRelays = 1;
    if (c.relay || c.phase != Phase::kIdle) {
        const char end[8] = {0, 0, 0, 0, relay::kOverloaded};
        const std::string record =
            fastcgi::record(fastcgi::kEndRequest, c.id == 0 ? kIdOfRelays : c.id, {end, sizeof end});
        if (c.phase != Phase::kWriting) ::send(c.fd.get(), record.data(), record.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    close(c);
}

/// False: none can be spared.
bool Acceptor::close_slowest() {
    Connection* slowest = nullptr;
    double least = 0;
    for (const auto& [serial, c] : connections_) {
        if (c->phase != Phase::kIdle && c->phase != Phase::kReading) continue;
        const double seconds = std::chrono::duration<double>(now_ - c->start).count();
        const double rate = static_cast<double>(c->received) / std::max(seconds, 1.0);
        if (slowest != nullptr && rate >= least) continue;
        slowest = c.get();
        least = rate;
    }
    if (slowest != nullptr) refuse(*slowest);
    return slowest != nullptr;
}

void Acceptor::close_longest() {
    Connection* longest = nullptr;
    for (const auto& [serial, c] : connections_)
        if ((c->phase == Phase::kReading || c->phase == Phase::kWaiting) &&
            (longest == nullptr || c->held.size() > longest->held.size()))
            longest = c.get();
    complain("too much is held of unfinished requests: the longest are closed");
    if (longest != nullptr) refuse(*longest);
}

void Acceptor::close_late() {
    swept_ = now_;
    log_follow_rotation();
    std::vector<Connection*> late, unanswered;
    for (const auto& [serial, c] : connections_) {
        switch (c->phase) {
            case Phase::kReading:
                if (now_ > limits_.pace.until(c->start, c->received)) late.push_back(c.get());
                break;
            case Phase::kIdle:
            case Phase::kWriting:
                if (now_ - c->since > limits_.keep_idle) late.push_back(c.get());
                break;
            case Phase::kAsking:
            case Phase::kWaiting:
                if (now_ - c->since > limits_.patience) unanswered.push_back(c.get());
                break;
            case Phase::kServing: break;  // it may have been committed: the client decides how long to wait
        }
    }
    if (!late.empty()) complain("connections that came too slowly or did nothing for long are closed");
    for (Connection* c : late) refuse(*c);
    for (Connection* c : unanswered) {
        c->keep = false;  // a worker may still answer what was asked of it; nobody else's request may get that
        answer(*c, sorry_());
    }
}

void Acceptor::complain(const char* what) {
    constexpr std::chrono::seconds kPause{60};
    if (complained_ != Clock::time_point() && now_ - complained_ < kPause) return;
    complained_ = now_;
    log_warning("{} (now {}, {} bytes held; said once a minute)", what, connections_.size(), held_);
}

void Acceptor::stop_listening() {
    stopping_ = true;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_, nullptr);
    std::vector<Connection*> unfinished;
    for (const auto& [serial, c] : connections_) {
        c->keep = false;
        if (c->phase == Phase::kIdle || c->phase == Phase::kReading || c->phase == Phase::kAsking)
            unfinished.push_back(c.get());
    }
    for (Connection* c : unfinished) refuse(*c);
}

}  // namespace sluice
