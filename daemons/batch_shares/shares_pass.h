// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "daemons/batch_shares/plan.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/service.h"

namespace sluice {

/// One pass of batch_shares: what plan.h decides is written in one transaction and logged.
ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// A line for each thing that shares_pass() would change now. Takes no lock, writes nothing and makes no table.
std::vector<std::string> shares_preview(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// Gives batches that came since the last pass their places; nothing else. There was a pass before.
ShareOutcome admission_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

struct SharesOptions {
    double every = 300;  ///< s between two passes
    ShareSettings rules = {};
    int compat_level = 0;
    bool dry_run = false;                             ///< a turn prints what a pass would change, and writes nothing
    std::function<void(double now)> after_pass = {};  ///< may be empty
};

/// batch_shares. A pass looks at every job of every batch, and a short batch has no time to wait for it: until it has a
/// place, its jobs are nobody's. So new batches are looked for between two passes.
class SharesService final : public Service {
  public:
    /// s between two looks for new batches.
    static constexpr double kLook = 10;
    /// All outlive it.
    SharesService(const SharesOptions& options, ShareStore& store, const Clock& clock, Notices& notices);
    bool pass_is_due() const { return passes_.due(clock_.now()); }
    Turn turn() override;

  private:
    const SharesOptions& options_;
    ShareStore& store_;
    const Clock& clock_;
    Notices& notices_;
    Periodic passes_;
    bool is_to_tell_ = false;  ///< what was written; the feeder has not been told yet
};

}  // namespace sluice
