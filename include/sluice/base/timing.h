// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is done again: every so often, or after a failure; and what is said of a failure that lasts. Times are UNIX
// seconds.
#include <algorithm>
#include <string>
#include <utility>

namespace sluice {

/// Due every `interval` seconds, the first time at once; also when the clock was set back.
class Periodic {
  public:
    explicit Periodic(double interval) : interval_(interval) {}
    double interval() const { return interval_; }
    bool due(double now) const { return now >= next_ || next_ > now + interval_; }
    /// due(); if so, the next time is an interval from now.
    bool take(double now) {
        const bool is_due = due(now);
        if (is_due) restart(now);
        return is_due;
    }
    void restart(double now) { next_ = now + interval_; }
    void make_due() { next_ = 0; }

  private:
    double interval_, next_ = 0;
};

/// How long to wait before the next attempt, s: `first`, then twice as long each time, at most `longest`.
class BackOff {
  public:
    BackOff(double first, double longest) : first_(first), longest_(longest), wait_(first) {}
    double next() { return std::exchange(wait_, std::min(2 * wait_, longest_)); }
    void reset() { wait_ = first_; }
    double longest() const { return longest_; }

  private:
    double first_, longest_, wait_;
};

struct Trouble {
    std::string what;       ///< went wrong
    std::string next;       ///< what is done about it
    bool database = false;  ///< it is away; its messages change meanwhile (can't connect, lost, timed out)
};

/// Logs a trouble once, reminds of it every ten minutes, and says when it is over.
class TroubleLog {
  public:
    void report(const Trouble& trouble, double now);
    void over();

  private:
    std::string state_;  ///< what lasts; empty: nothing
    double said_at_ = 0;
};

}  // namespace sluice
