// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When the jobs begin that hosts hold: one after the other, where a host has more of them than processors (or GPUs, for
// jobs that run there). Learnt from one pass to the next, for rows don't tell; what is lost with the process costs
// accuracy only.
#include <unordered_map>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

class HostQueues {
  public:
    struct Held {
        Id result = 0;
        Id pool = 0;  ///< pool_key() of its host and device
        double sent = 0;
        double run_time = 0;  ///< wall time
        int at_once = 1;      ///< jobs like this one that run there at a time
    };
    /// All that is in progress, at each pass.
    void note(std::vector<Held> held, double now);
    /// When it began, or is expected to.
    double start(Id result) const { return jobs_.at(result).start; }
    /// It is, or may be, computed now. Which of its jobs a host that has a queue does first is its client's affair.
    bool runs(Id result) const { return jobs_.at(result).runs; }
    /// Its host had more jobs than devices since it last had none: where one does not come back, none of them will.
    bool is_queued(Id result) const { return pools_.at(jobs_.at(result).pool).queue; }

  private:
    struct Job {
        Id pool = 0;
        double start = 0;
        bool runs = false;
    };
    struct Pool {
        std::vector<Id> jobs;  ///< in order
        bool queue = false;
        double progress = 0;  ///< when the last one of a queue was done
    };
    std::unordered_map<Id, Job> jobs_;
    std::unordered_map<Id, Pool> pools_;
    bool first_pass_ = true;
};

}  // namespace sluice
