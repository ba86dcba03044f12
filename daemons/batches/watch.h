// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Looks after batches for their owners: warns of those that are slow or late, stops those whose jobs all fail, and
// tells what happened to them. What is decided: watch_plan.h.
#include <filesystem>
#include <map>

#include "daemons/batches/ending.h"
#include "daemons/batches/telling.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_watch_store.h"

namespace sluice {

struct WatchSettings {
    std::filesystem::path project;
    bool stop_failing = false;
    bool dry_run = false;   ///< says what it would do, and does nothing
    bool one_pass = false;  ///< a pass that notes nothing says so, too
    double every = 60;      ///< s between two passes
};
struct WatchStores {
    BatchWatchStore& watch;
    BatchPlanStore& plans;
    BatchOwnerStore& batches;
};

/// batch_watch.
class WatchService final : public Service {
  public:
    /// All outlive it.
    WatchService(const WatchSettings& settings, const WatchStores& stores, BatchEnding& ending, BatchTelling& telling,
                 const Clock& clock)
        : Service(settings.every),
          settings_(settings),
          stores_(stores),
          ending_(ending),
          telling_(telling),
          clock_(clock) {}
    Turn turn() override;

  private:
    /// s between two looks at the instances of a batch that can't be stopped any more; s of a pass for such looks.
    static constexpr double kLookAgain = 600, kLongestLook = 10;

    void look_after(WatchedBatch& batch, const EtaFactors& factors);
    void look_at_end(WatchedBatch& batch, const EtaFactors& factors);
    void look_at_outcomes(WatchedBatch& batch);
    void note(const WatchedBatch& batch, BatchEventKind kind, const std::string& says);
    void stop(const WatchedBatch& batch);
    void end(const WatchedBatch& batch);

    WatchSettings settings_;
    WatchStores stores_;
    BatchEnding& ending_;
    BatchTelling& telling_;
    const Clock& clock_;
    bool prepared_ = false;
    double look_until_ = 0;         ///< of this pass
    std::map<Id, double> look_at_;  ///< when the instances of a batch are looked at again
    int noted_ = 0;                 ///< in this pass
};

}  // namespace sluice
