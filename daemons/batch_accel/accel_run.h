#pragma once
// What batch_accel does in a pass: batch_stats' computation first, if it is its turn, then its own.
#include <memory>
#include <optional>

#include "config/project_config.h"
#include "daemons/batch_accel/accel_options.h"
#include "daemons/batch_accel/accel_pass.h"
#include "daemons/batch_stats/state_file.h"
#include "sluice/db/database.h"

namespace sluice {

class AccelRun {
  public:
    /// All outlive it.
    AccelRun(const AccelOptions& options, const ProjectConfig& config, bool dry_run, Clock& clock);
    void pass();

  private:
    std::optional<StatsSummary> last_statistics() const;
    void run_statistics(const std::optional<StatsSummary>& old);
    bool flags_are_somebody_elses();

    const AccelOptions& options_;
    const ProjectConfig& config_;
    Database db_, replica_;
    std::unique_ptr<BatchAccelStore> accel_store_;
    std::unique_ptr<BatchUpkeepStore> upkeep_store_;
    Clock& clock_;
    AccelSettings settings_;
};

}  // namespace sluice
