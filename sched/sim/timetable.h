// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whose turn it is in a simulation: the services of a project, each of which says itself when it wants its next turn.
#include <functional>
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"

namespace sluice::sim {

/// Services take turns in the order in which they were added. They outlive it.
class Timetable {
  public:
    explicit Timetable(const Clock& clock) : clock_(clock) {}
    void add_daemon(Service& service) { entries_.push_back({&service}); }
    /// Cron starts it every so many seconds, whatever its turns say.
    void add_task(Service& service, double every) { entries_.push_back({&service, every}); }
    /// A daemon that a project runs often enough for another one: it has a turn when `wanted`, just before that one.
    void add_helper(Service& service, std::function<bool()> wanted) {
        entries_.push_back({&service, 0, std::move(wanted)});
    }
    /// A look: a turn of each that is due. To be called every few seconds. Throws Error: a daemon gave up.
    void take_turns();

  private:
    struct Entry {
        Service* service;
        double every = 0;                   ///< of a task
        std::function<bool()> wanted = {};  ///< of a helper
        double next = 0;
    };
    double next_of(const Entry& entry, const Turn& turn) const;

    const Clock& clock_;
    std::vector<Entry> entries_;
};

}  // namespace sluice::sim
