// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The feeder's turns as passes of a daemon: makes the job array, waits between turns until jobs are taken, dumps the
// state on SIGUSR1, and removes the array in the end.
#include <memory>

#include "feeder/feeder.h"
#include "sluice/daemon/daemon.h"
#include "sluice/db/database.h"

namespace sluice {

class FeederLoop {
  public:
    /// Both outlive it. From here on SIGUSR1 is a wish for the state on stderr.
    FeederLoop(const ProjectConfig& config, const FeederOptions& options, Env env);
    /// One turn and the wait behind it.
    TurnResult pass();
    /// The array goes, unless `keep`.
    void end(bool keep);

  private:
    TurnResult turn();
    void abandon_array();
    void prepare_for_schedulers();
    TurnResult end_of_one_pass() const;
    void leave_alone(double seconds);

    const ProjectConfig& config_;
    const FeederOptions& options_;
    Env env_;
    Database db_;
    std::unique_ptr<FeederStore> store_;
    std::unique_ptr<CatalogueStore> catalogue_;
    std::unique_ptr<FeederLeaseStore> leases_;
    std::string lease_name_;
    std::unique_ptr<FeederArray> array_;
    std::unique_ptr<Feeder> feeder_;
};

}  // namespace sluice
