#pragma once
#include "daemons/batch_shares/plan.h"
#include "sluice/base/clock.h"

namespace sluice {

/// One pass of batch_shares: what plan.h decides is written in one transaction and logged.
ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

}  // namespace sluice
