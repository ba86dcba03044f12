// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hosts that are counted on, come, and take nothing: there is no version for them, their owners want another app, the
// jobs need more memory, they never ask. A plan that rests on such hosts is one that nobody else reaches. Learnt from
// one pass to the next; what is lost with the process costs accuracy only.
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemons/batch_planner/batches_plan.h"

namespace sluice {

class Takers {
  public:
    struct Look {
        double now = 0;                    ///< UNIX s
        double waited = 0;                 ///< s: the most that a batch of the app has waited for a job to be sent
        std::unordered_set<Id> holders{};  ///< pool_key() of those that have a job of it
        std::span<const std::int64_t> heard_of{};  ///< UNIX s: the last request of each pool's host
    };
    /// At each pass: pools of the fleet that took no job of the app, as FleetCapacity::takes_none has them. Empty while
    /// its jobs are taken: who is busy now may ask a minute later.
    std::vector<bool> take_none(Id app, const FleetCapacity& fleet, const Look& look);
    /// After it: jobs of the app wait, and these devices (pool_key()) could be done with one in time if they asked.
    void count_on(Id app, Id pool, double now);

  private:
    struct Pool {
        double since = 0;      ///< when it was counted on first, 0: it is not
        double counted = 0;    ///< the last time
        double missed_at = 0;  ///< the last request in which it took none
        int missed = 0;        ///< such requests
    };
    struct App {
        double look = 0, stuck = 0;  ///< the last time
        std::unordered_map<Id, Pool> pools;
    };
    std::unordered_map<Id, App> apps_;
};

}  // namespace sluice
