#pragma once
// batch_shares in a run: it keeps the order of users' batches, after batch_upkeep has looked which of them are over.
#include <memory>

#include "config/project_config.h"
#include "db/memory/memory_db.h"
#include "sched/sim/scenario.h"
#include "sluice/base/clock.h"

namespace sluice::sim {

class ShareDaemon {
  public:
    /// Users of the scenario have its quotas from the day on which their first work comes. Throws ConfigError: the
    /// scenario wants batch_shares, and <share_rule> is off.
    ShareDaemon(const Scenario& scenario, const ProjectConfig& config, MemoryDb& db, const Clock& clock);
    ~ShareDaemon();
    /// To be called every few seconds; does what is due. True: the feeder is to be told, as the program does.
    bool run();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;  ///< null: the scenario has no batch_shares
};

}  // namespace sluice::sim
