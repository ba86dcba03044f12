// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/share_bands.h"

#include <algorithm>
#include <map>

namespace sluice::match {
namespace {

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

/// Of `ends`, in any order and with repetitions, those at which bands begin.
void keep_begins(std::vector<double>& ends) {
    std::sort(ends.begin(), ends.end());
    std::size_t kept = 0;
    for (const double end : ends)
        if (kept == 0 || end > ends[kept - 1] + kShareTau) ends[kept++] = end;
    ends.resize(kept);
}

ShareBands::Place place_among(const std::vector<double>& begins, double end) {
    const auto after = std::upper_bound(begins.begin(), begins.end(), end);
    if (after == begins.begin()) return {};
    const double begin = *(after - 1);
    return {static_cast<std::uint32_t>(after - begins.begin()) - 1, end > begin ? (end - begin) / kShareTau : 0};
}

}  // namespace

ShareBands::ShareBands(const std::vector<const BatchShare*>& candidates, double draw)
    : drawn_(draw < 0 ? 0 : drawn_user(candidates, draw)) {
    const BatchShare* last = nullptr;
    for (const BatchShare* share : candidates) {
        if (!share || share == last) continue;
        (drawn_ != 0 && share->user_id == drawn_ ? drawn_begins_ : begins_).push_back(share->end);
        last = share;
    }
    keep_begins(drawn_begins_);
    keep_begins(begins_);
}

ShareBands::Place ShareBands::place(const BatchShare* share) const {
    if (share && drawn_ != 0 && share->user_id == drawn_) return place_among(drawn_begins_, share->end);
    Place place = share ? place_among(begins_, share->end) : Place{};
    place.band += static_cast<std::uint32_t>(drawn_begins_.size());
    return place;
}

}  // namespace sluice::match
