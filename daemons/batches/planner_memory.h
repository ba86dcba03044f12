// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the planner learns from one pass to the next: when held jobs begin, how long jobs take, how reliable its
// expectations are, and which hosts take nothing. What is lost with the process costs accuracy only.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemons/batches/planner_plan.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/codes.h"
#include "sluice/model/eta.h"

namespace sluice {

/// When the jobs begin that hosts hold. A host with more jobs than processors (or GPUs) runs them one after the other.
/// Learnt, for rows don't tell.
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

/// How long jobs of a batch take, by what the plan expected of them. Estimates may be wildly wrong, perhaps
/// intentionally (seed 000): a plan that believes them gives up instances that are well on their way. A new process
/// begins with what the plan before holds.
class RunTimeRatios {
  public:
    /// An instance in progress; `per_op`: s of computing on its host for each operation that is estimated. At each
    /// pass.
    void watch(Id result, Id batch, double per_op) { watched_[result] = {batch, per_op}; }
    /// Those that were watched and are none of these: they came back, or were given up and may still come.
    std::vector<Id> gone(std::vector<Id> in_progress);
    /// It came back. `users`: owners of batches.
    void returned(const ReturnedBatchResult& result, const std::map<Id, Id>& users);
    /// Forgets all of batches that are none of these.
    void keep(const std::set<Id>& batches);
    /// The factor for estimates of the batch's jobs: the median of the last ones that came back. A few clients can't
    /// bend a median. Until some are back, that of its owner's batches.
    double of(Id batch, Id user) const;
    /// What an earlier process multiplied them by.
    void start(Id batch, Id user, double ratio);

  private:
    struct Watched {
        Id batch = 0;
        double per_op = 0;
    };
    using Ratios = std::vector<float>;  ///< measured by expected, of the last jobs; the newest last
    static double ratio(const Ratios& ratios, double before);
    std::map<Id, Watched> watched_;
    std::map<Id, Ratios> of_batch_, of_user_;
};

/// What was expected of batches, and what became of it: from that follows how sure the next expectation is. Only the
/// factors are stored.
class EtaRecord {
  public:
    /// `stored`: what an earlier process has learnt. It counts like five batches.
    void start(const EtaFactors& stored) { stored_ = stored; }
    /// At each pass: the batch is expected to end then, UNIX s. What is expected within a minute teaches nothing: it
    /// may wait for its validator.
    void expect(Id batch, double now, double end);
    /// The batches of which something is expected, in order.
    std::vector<Id> open() const;
    /// The batch has ended, UNIX s.
    void ended(Id batch, double at);
    /// Nothing is learnt from it: it was aborted.
    void forget(Id batch) { open_.erase(batch); }
    /// A moment of a batch's life, drawn at random, is within them with a probability of 80 % or a little more.
    EtaFactors factors() const;

  private:
    struct Said {
        double at = 0, end = 0;
    };
    struct Open {
        std::vector<Said> said;  ///< evenly over its life
        int every = 1;           ///< passes from one to the next
        int passes = 0;
    };
    struct Ratio {
        double times = 0;   ///< what it took by what was expected
        double weight = 0;  ///< passes that it stands for
    };
    std::map<Id, Open> open_;
    std::deque<std::vector<Ratio>> done_;  ///< the last batches
    EtaFactors stored_;
};

/// Hosts that the plan counts on, and that take nothing. Perhaps there is no version for them, their owners want
/// another app, or the jobs need more memory. A plan that rests on such hosts is one that nobody else reaches.
class UnresponsiveHosts {
  public:
    struct AppFacts {
        double now = 0;                    ///< UNIX s
        double waited = 0;                 ///< s: the most that a batch of the app has waited for a job to be sent
        std::unordered_set<Id> holders{};  ///< pool_key() of those that have a job of it
        std::span<const std::int64_t> heard_of{};  ///< UNIX s: the last request of each pool's host
    };
    /// At each pass: pools of the fleet that took no job of the app, as FleetCapacity::takes_none has them. Empty while
    /// its jobs are taken: who is busy now may ask a minute later.
    std::vector<bool> take_none(Id app, const FleetCapacity& fleet, const AppFacts& facts);
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
