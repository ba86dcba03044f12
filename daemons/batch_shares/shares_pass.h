#pragma once
#include <string>
#include <vector>

#include "daemons/batch_shares/plan.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"

namespace sluice {

/// One pass of batch_shares: what plan.h decides is written in one transaction and logged.
ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// A line for each thing that shares_pass() would change now. Takes no lock, writes nothing and makes no table.
std::vector<std::string> shares_preview(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// Gives batches that came since the last pass their places; nothing else. There was a pass before.
ShareOutcome admission_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// What is due when: a pass looks at every job of every batch, and a short batch has no time to wait for it. Until it
/// has a place, its jobs are nobody's.
class SharesTurns {
  public:
    /// s between two looks for new batches.
    static constexpr double kLook = 10;
    /// `every`: s between two passes. All outlive it.
    SharesTurns(ShareStore& store, const ShareSettings& settings, const Clock& clock, double every)
        : store_(store), settings_(settings), clock_(clock), passes_(every) {}
    struct Turn {
        bool pass = false;  ///< all was settled, not only what is new admitted
        ShareOutcome done;
    };
    bool pass_is_due() const { return passes_.due(clock_.now()); }
    /// To be called every kLook s, or more often.
    Turn take();

  private:
    ShareStore& store_;
    const ShareSettings& settings_;
    const Clock& clock_;
    Periodic passes_, looks_{kLook};
};

}  // namespace sluice
