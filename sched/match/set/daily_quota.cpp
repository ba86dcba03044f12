// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_daily_quota(const MatchContext&, const Candidate& c, const Picked& p) {
    return c.offer->quota < 0 ? feasible() : p.quotas[static_cast<std::size_t>(c.offer->quota)].verdict();
}
}  // namespace
const SetRow kDailyQuotaRow{.name = "daily_quota",
                            .check = check_daily_quota,
                            .doc = "The host gets its quota of this app version's jobs in a day."};
}  // namespace sluice::match
