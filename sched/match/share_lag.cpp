#include "sched/match/share_lag.h"

#include <algorithm>
#include <limits>
#include <map>

namespace sluice::match {
namespace {

double value_of_lag(double end, double least) {
    if (!(end > least)) return 0;
    const double lag = (end - least) / kShareTau;
    return lag <= 1 ? kValueAtTau * lag : -1;
}

/// 0: none of them has a quota.
Id drawn_user(const std::vector<const BatchShare*>& candidates, double draw) {
    std::map<Id, double> quotas;
    for (const BatchShare* share : candidates)
        if (share && share->quota > 0) quotas[share->user_id] = share->quota;
    double sum = 0;
    for (const auto& [user, quota] : quotas) sum += quota;
    double at = draw * sum;
    for (const auto& [user, quota] : quotas)
        if ((at -= quota) < 0) return user;
    return quotas.empty() ? 0 : quotas.rbegin()->first;
}

}  // namespace

LagOrder::LagOrder(const std::vector<const BatchShare*>& candidates, double draw)
    : drawn_(draw < 0 ? 0 : drawn_user(candidates, draw)),
      least_(std::numeric_limits<double>::infinity()),
      least_of_drawn_(least_) {
    for (const BatchShare* share : candidates) {
        if (!share) continue;
        least_ = std::min(least_, share->end);
        if (share->user_id == drawn_) least_of_drawn_ = std::min(least_of_drawn_, share->end);
    }
}

double LagOrder::value(const BatchShare* share) const {
    if (!share) return 0;
    if (drawn_ != 0 && share->user_id == drawn_) return 1 + value_of_lag(share->end, least_of_drawn_);
    return value_of_lag(share->end, least_);
}

}  // namespace sluice::match
