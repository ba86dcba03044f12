// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One run of batch_accel: batches brought up to date, judged, their open jobs decided on page by page, and written.
#include <vector>

#include "daemons/batch_accel/plan.h"
#include "daemons/batch_stats/measure.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "sluice/base/clock.h"

namespace sluice {

struct AccelSettings {
    int compat_level = 0;
    AccelRules rules;
    bool dry_run = false;
    std::vector<Scores::AppVerdict> verdicts;  ///< of batch_stats, for apps whose flag means size classes
};

class AccelPass {
  public:
    AccelPass(const AccelSettings& settings, BatchAccelStore& store, BatchUpkeepStore& upkeep, Clock& clock)
        : settings_(settings), store_(store), upkeep_(upkeep), clock_(clock) {}
    void run();
    /// Throws ConfigError if there is no such batch.
    void explain(Id batch);

  private:
    struct Totals {
        int accelerated = 0, restored = 0, marked = 0, results = 0, more = 0, given_back = 0, open = 0;
    };
    BatchFacts facts_of(const KeptBatch& kept) const;
    bool accelerable(const App& app) const;
    std::optional<double> turnaround(const Batch& batch);
    void count_late(BatchFacts& facts);
    void work_on(BatchFacts& facts, Totals& totals);
    void apply(AccelWrite write, Totals& totals);
    void load_shared();

    const AccelSettings& settings_;
    BatchAccelStore& store_;
    BatchUpkeepStore& upkeep_;
    Clock& clock_;
    std::map<Id, App> apps_;
    std::map<Id, int> accelerated_;  ///< batch -> extra instances
    int extra_total_ = 0;
    bool prepared_ = false;
};

}  // namespace sluice
