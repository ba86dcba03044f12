// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Requests that the tee (sched/tee) shows while another scheduler answers them. They come from the web server's
// account, or from anybody on this machine: sizes are bounded, files are read at offsets, and nobody is waited for.
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/files.h"

namespace sluice {

using LiveClock = std::chrono::steady_clock;

/// A request that is being answered.
struct TeedRequest {
    std::int64_t number = 0;           ///< 1 for the first one
    double at = 0;                     ///< UNIX s, when it came
    LiveClock::time_point began{};     ///< the connection
    LiveClock::time_point shown_at{};  ///< as the tee says it, just before the scheduler starts
    std::optional<double> their_ms;    ///< from then to the scheduler's end; nullopt: nobody looked when it ended
    std::string request;
    OwnedFd link, reply;
    bool shown = false;     ///< `request` and `reply` are there
    bool given_up = false;  ///< it came to no end that can be judged
    int lane = -1;          ///< whose snapshot was taken when it came; -1: none was free
    bool at_once = false;   ///< and before the scheduler can have read

    /// What the other scheduler has written; "": nothing, or more than anybody writes.
    std::string reply_text() const;
};

/// The end where they come in.
class TeedRequests {
  public:
    /// Makes the socket in the project's cgi-bin. Throws Error: another shadow listens there; FileError.
    explicit TeedRequests(const std::filesystem::path& project);
    TeedRequests(const TeedRequests&) = delete;
    ~TeedRequests();  ///< the socket's file is gone

    /// Waits until something happens, at most so long; `also` is a file to be woken by. Returns those requests that are
    /// new; pointers are good until the request is taken.
    std::vector<TeedRequest*> wait(std::chrono::milliseconds most, int also);
    /// One that was new and has ended, or was given up; the oldest first. False: there is none.
    bool take_ended(TeedRequest& to);
    /// No further ones are taken in.
    void close();
    std::size_t open() const { return being_answered_.size() + ended_.size(); }
    /// What was no request: a wrong greeting, or a file that is none.
    std::int64_t refused() const { return refused_; }
    /// Schedulers that were still at work after kLongest, and connections that said nothing.
    std::int64_t given_up() const { return given_up_; }
    /// s: it held kMost requests and took no further one.
    double full_for() const { return full_for_; }

    static constexpr std::size_t kMost = 200;
    static constexpr std::chrono::seconds kLongest{120};

  private:
    void take_in();
    /// Whether it goes on being answered.
    bool look_at(TeedRequest& request, std::vector<TeedRequest*>& fresh);
    bool end(TeedRequest& request, bool given_up);

    std::filesystem::path file_;
    OwnedFd socket_;
    std::list<TeedRequest> being_answered_;
    std::deque<TeedRequest> ended_;
    std::int64_t numbers_ = 0, refused_ = 0, given_up_ = 0;
    double full_for_ = 0;
    LiveClock::time_point looked_{};  ///< last
    bool was_away_ = false;           ///< what is found now may have happened a while ago
};

}  // namespace sluice
