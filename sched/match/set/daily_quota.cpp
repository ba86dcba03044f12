#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check(const MatchContext&, const Candidate& c, const Picked& p) {
    if (c.offer->quota < 0) return feasible();
    const Quota& q = p.quotas[static_cast<std::size_t>(c.offer->quota)];
    return q.allowed >= 0 && q.sent_today >= q.allowed ? refuse(Reason::kDailyQuota, q.sent_today, q.allowed)
                                                       : feasible();
}
}  // namespace
const SetRow kDailyQuotaRow{"daily_quota", check, "Jobs of this app version that the host may get in a day."};
}  // namespace sluice::match
