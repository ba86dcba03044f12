// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When a client did what, by its own log; how much of such a time the machine could not give; how long projects' tasks
// ran.
#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {

/// A line of a client's log: "23-Nov-2026 10:00:00 [Project] what it says".
struct SaidLine {
    std::time_t at = 0;
    std::string what;
};
std::vector<SaidLine> said_lines(const std::string& log);
/// The place of the first line from `from` on that ends so; lines.size() if there is none.
std::size_t said_place(const std::vector<SaidLine>& lines, const std::string& end, std::size_t from = 0);

/// Seconds in which nobody used the processors, from its making on. What takes longer because other programs take the
/// processors is not what a promise of seconds is about; what waits while they are idle is.
class SpareTime {
  public:
    SpareTime();
    ~SpareTime();
    SpareTime(const SpareTime&) = delete;
    /// Of the time between these (a second more, as a client's log has whole seconds): wall time x idle part.
    double between(std::time_t begin, std::time_t end) const;
    double idle_part() const;  ///< since its making

  private:
    double idle_by(double at) const;
    mutable std::mutex lock_;
    std::map<double, double> idle_;  ///< UNIX s -> s of idling, mean of the processors
    std::atomic<bool> end_{false};
    std::thread sampler_;
};

/// s for which a client ran tasks until `now`, by project: from its lines about starting, giving way and finishing.
std::map<std::string, double> run_times(const std::vector<SaidLine>& lines, std::time_t now);

}  // namespace sluice::test
