// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A daemon as an object: what it does in one turn, and when it wants the next one. Two call it: run_daemon(), which is
// the loop of its program, and sluice_sim, on a virtual clock. So a decision about when has one place: the service.
#include <filesystem>
#include <functional>
#include <string_view>

#include "sluice/base/metrics.h"

namespace sluice {

/// What a turn leaves.
enum class TurnResult {
    kIdle,      ///< nothing to do until the wait is over
    kWorked,    ///< more to do: again at once
    kFinished,  ///< no further turn; exit status 0
    kFailed     ///< no further turn; exit status 1; why has been logged
};

struct Turn {
    TurnResult result = TurnResult::kIdle;
    double wait = 0;  ///< s until the next turn; counts with kIdle only
};

class Service {
  public:
    /// `interval`: s between two turns, unless a turn says otherwise.
    explicit Service(double interval) : interval_(interval) {}
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    virtual ~Service() = default;

    /// Does what is due, and returns when it wants the next turn. The first turn finds everything due. It never sleeps;
    /// if it takes long, it asks stop_requested() and returns early.
    /// What a turn that throws has not done stays due: the caller calls again, after a DbError of a database that is
    /// away with back-off, after anything else when interval() is over (run_daemon() says the details).
    virtual Turn turn() = 0;
    double interval() const { return interval_; }

  protected:
    Turn idle() const { return {TurnResult::kIdle, interval_}; }

  private:
    double interval_;
};

/// A service that needs something before its first turn, of which nobody knows at the start whether it can be asked
/// for: each turn asks until it was there once.
class PreparedService final : public Service {
  public:
    /// `inner` outlives it. `prepare` throws what the turn is to throw; a ConfigError ends the program.
    PreparedService(Service& inner, std::function<void()> prepare);
    Turn turn() override;

  private:
    Service& inner_;
    std::function<void()> prepare_;
    bool prepared_ = false;
};

/// For who watches the project: a turn of this service ended so at `now`, after so many seconds.
void count_turn(std::string_view service, TurnKind kind, double now, double seconds);
inline TurnKind kind_of(const Turn& turn) {
    return turn.result == TurnResult::kFailed   ? TurnKind::kFailed
           : turn.result == TurnResult::kWorked ? TurnKind::kWorked
                                                : TurnKind::kIdle;
}

/// What a daemon tells the project's other programs.
class Notices {
  public:
    virtual ~Notices() = default;
    /// The feeder is to read its tables again: apps, versions, shares, plans. Throws FileError.
    virtual void reread_tables() = 0;
};

/// By trigger files in the project's folder.
class TriggerNotices final : public Notices {
  public:
    explicit TriggerNotices(std::filesystem::path project);
    void reread_tables() override;

  private:
    std::filesystem::path project_;
};

}  // namespace sluice
