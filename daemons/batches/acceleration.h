// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_accel does in a pass. First comes batch_stats' computation, if it is due. Then it brings batches up to
// date, judges them, and decides on their open jobs page by page.
#include <optional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/batches/acceleration_plan.h"
#include "daemons/batches/turnaround_scores.h"
#include "daemons/batches/turnaround_state.h"
#include "daemons/batches/upkeep.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/service.h"
#include "sluice/model/catalogue.h"

namespace sluice {

struct Batch;

/// Its command line; what is not given is what compat_level says.
struct AccelOptions {
    std::optional<double> min_frac_done, max_extra_frac, late_after;
    std::optional<int> max_not_done, max_extra_per_batch, max_extra_total;
    std::optional<Id> explain;  ///< print every decision on this batch, write nothing
    double stats_age = 3000;    ///< s for which batch_stats' results are used
    bool no_stats = false;
    bool dry_run = false;
    double every = 3600;  ///< s between two runs, if it is no task

    void define(CommandLine& line);
    /// "" or what is wrong with the values.
    std::string check() const;
    AccelRules rules(int compat_level) const;
};

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

struct AccelStores {
    BatchAccelStore& accel;
    BatchUpkeepStore& upkeep;
    BatchStatsStore& stats;
    HostLttStore& versions;
};

class AccelService final : public Service {
  public:
    /// All outlive it.
    AccelService(const AccelOptions& options, const ProjectConfig& config, const AccelStores& stores, Clock& clock);
    Turn turn() override;

  private:
    std::optional<StatsSummary> last_statistics() const;
    void run_statistics(const std::optional<StatsSummary>& old);
    bool flags_are_somebody_elses();

    const AccelOptions& options_;
    const ProjectConfig& config_;
    AccelStores stores_;
    Clock& clock_;
    AccelSettings settings_;
};

}  // namespace sluice
