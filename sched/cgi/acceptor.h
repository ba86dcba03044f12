// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Accepts the resident scheduler's FastCGI connections, any number at a time. It reads each request whole before it
// takes a worker for it, and gives the reply back. A slow client costs a file descriptor and what it has sent, never a
// worker. Web servers connect here, and so may any other program that speaks FastCGI.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/cgi/fastcgi_records.h"
#include "sched/cgi/held_request.h"
#include "sched/cgi/pace.h"
#include "sched/cgi/request_body.h"
#include "sched/cgi/worker_pool.h"

namespace sluice {

struct AcceptorLimits {
    Pace pace;
    std::size_t connections = 60000;  ///< beyond it, or what the system allows, the slowest is closed for each new one
    std::size_t held_bytes = std::size_t{512} << 20;  ///< of all unfinished requests; beyond it the longest is closed
    std::chrono::seconds keep_idle{300};              ///< a connection without a request
    std::chrono::seconds patience{120};               ///< of a whole request, until its reply
};

class Acceptor {
  public:
    using Clock = std::chrono::steady_clock;
    /// `listener`: non-blocking. `sorry` makes the reply where no worker gave one: each client is told
    /// another time to come back.
    Acceptor(int listener, WorkerPool& workers, AcceptorLimits limits, std::function<std::string()> sorry);
    ~Acceptor();
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// Waits for what happens next, at most for a second, and does it. True: a descriptor of watch() is ready.
    bool turn();
    /// No new requests; what is whole gets its reply, what is not is closed.
    void stop_listening();
    /// Requests that still want a reply.
    bool busy() const { return unanswered_ > 0; }
    /// Also wakes turn().
    void watch(int fd);
    /// Asked of each new connection; empty: all may.
    std::function<bool(int fd)> may_connect;

  private:
    enum class Phase {
        kIdle,     ///< no request
        kReading,  ///< parameters or body
        kAsking,   ///< a worker is asked how much may come
        kWaiting,  ///< whole
        kServing,
        kWriting
    };
    struct Connection;
    struct Sink;
    using Serial = std::int64_t;  ///< of a connection; never used twice

    void accept_some();
    void on_event(std::uint64_t what, std::uint32_t events);
    void on_readable(Connection& c);
    void on_writable(Connection& c);
    bool on_question(Connection& c, std::string_view piece);
    bool begin(Connection& c, std::uint16_t id, std::string_view content);
    bool take_params(Connection& c, std::string_view piece);
    bool take_body(Connection& c, std::string_view piece);
    void body_ended(Connection& c);
    static bool reads(Phase phase) { return phase == Phase::kIdle || phase == Phase::kReading; }
    void enter(Connection& c, Phase phase);
    void set_phase(Connection& c, Phase phase);
    void hand_out();
    bool give(Connection& c, WorkerPool::Worker& worker);
    void on_worker(WorkerPool::Worker& worker);
    void on_reply(Serial serial, std::string_view text);
    void answer(Connection& c, std::string_view text);
    void close(Connection& c);
    void refuse(Connection& c);
    bool close_slowest();
    void close_longest();
    void close_late();
    void complain(const char* what);
    void want(Connection& c, std::uint32_t events) const;
    void watch_new();

    int listener_;
    OwnedFd epoll_;
    WorkerPool& workers_;
    AcceptorLimits limits_;
    std::function<std::string()> sorry_;
    std::unordered_map<Serial, std::unique_ptr<Connection>> connections_;
    Serial last_ = 0;
    std::deque<Serial> queue_;  ///< who wants a worker (some may be gone)
    std::vector<Serial> new_;   ///< came in this turn: epoll does not know them yet
    bool other_ready_ = false;
    std::size_t held_ = 0;  ///< bytes of requests that no worker has
    std::size_t unanswered_ = 0;
    bool stopping_ = false;
    Clock::time_point now_ = Clock::now(), swept_ = now_, complained_{};
};

// What the acceptor knows of one connection; between its own files only.

constexpr std::size_t kRead = 64 * 1024;
/// What is read while a question is under way comes on top: together at most kBeginning.
constexpr std::size_t kAskAt = kBeginning - kRead;

struct Acceptor::Connection {
    Connection(Serial s, int f, Clock::time_point now) : serial(s), fd(f), since(now), start(now) {}
    Serial serial;
    OwnedFd fd;
    fastcgi::RecordReader reader;
    Phase phase = Phase::kIdle;
    Clock::time_point since;   ///< of this phase
    std::uint32_t events = 0;  ///< that epoll tells of
    bool in_epoll = false;

    // The request.
    Clock::time_point start;
    std::uint16_t id = 0;
    bool keep = false, params_ended = false, ended = false;
    HeldRequest held;
    std::size_t received = 0, allowed = kAskAt;
    std::string question;             ///< what came of GET_VALUES
    bool relay = false;               ///< it knows that its request will be served
    bool asked = false, cut = false;  ///< cut: of its body only the beginning is held
    std::string out;
    std::size_t written = 0;
};

}  // namespace sluice
