// SPDX-License-Identifier: LGPL-3.0-or-later
// What the acceptor does besides serving: who is let in, who has to go.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "sched/cgi/acceptor.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/log.h"

namespace sluice {

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
