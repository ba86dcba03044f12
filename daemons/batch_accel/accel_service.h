// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_accel does in a pass: batch_stats' computation first, if it is its turn, then its own.
#include <optional>

#include "config/project_config.h"
#include "daemons/batch_accel/accel_options.h"
#include "daemons/batch_accel/accel_pass.h"
#include "daemons/batch_stats/state_file.h"
#include "sluice/daemon/service.h"

namespace sluice {

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
