// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/run_ratios.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr std::size_t kPriorJobs = 5;    ///< weight of what was known before
constexpr std::size_t kMostJobs = 50;    ///< the last ones: what is expected of a host changes, too
constexpr double kLeastRun = 1;          ///< s
constexpr double kMostTimes = 100;       ///< what a client tells is bounded
constexpr std::size_t kMostGone = 5000;  ///< that are waited for, the newest

void add(std::vector<float>& ratios, double times) {
    if (ratios.size() >= kMostJobs) ratios.erase(ratios.begin());
    ratios.push_back(static_cast<float>(times));
}

}  // namespace

std::vector<Id> RunRatios::gone(std::vector<Id> in_progress) {
    std::sort(in_progress.begin(), in_progress.end());
    std::vector<Id> ids;
    for (const auto& [result, w] : watched_)
        if (!std::binary_search(in_progress.begin(), in_progress.end(), result)) ids.push_back(result);
    // Some never come back.
    const std::size_t old = ids.size() - std::min(ids.size(), kMostGone);
    for (std::size_t i = 0; i < old; ++i) watched_.erase(ids[i]);
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(old));
    return ids;
}

void RunRatios::returned(const ReturnedPlanResult& result, const std::map<Id, Id>& users) {
    const auto known = watched_.find(result.id);
    if (known == watched_.end()) return;
    const auto [batch, per_op] = known->second;
    watched_.erase(known);
    const auto user = users.find(batch);
    // By its own estimate: of a batch of short and long jobs the short ones come back first.
    const double expected = std::max(per_op * result.fpops, kLeastRun);
    if (!(result.elapsed > 0) || !std::isfinite(expected) || user == users.end()) return;
    const double times = std::clamp(result.elapsed / expected, 1 / kMostTimes, kMostTimes);
    for (Ratios* ratios : {&of_batch_[batch], &of_user_[user->second]}) add(*ratios, times);
}

void RunRatios::start(Id batch, Id user, double ratio) {
    if (!(ratio >= 1 / kMostTimes && ratio <= kMostTimes)) return;
    for (Ratios* ratios : {&of_batch_[batch], &of_user_[user]})
        for (std::size_t i = 0; i <= 2 * kPriorJobs; ++i) add(*ratios, ratio);
}

void RunRatios::keep(const std::set<Id>& batches) {
    std::erase_if(watched_, [&](const auto& w) { return !batches.contains(w.second.batch); });
    std::erase_if(of_batch_, [&](const auto& b) { return !batches.contains(b.first); });
}

double RunRatios::ratio(const Ratios& ratios, double before) {
    Ratios all(kPriorJobs, static_cast<float>(before));
    all.insert(all.end(), ratios.begin(), ratios.end());
    const auto middle = all.begin() + std::ssize(all) / 2;
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

double RunRatios::of(Id batch, Id user) const {
    const auto owner = of_user_.find(user);
    const double owners = owner == of_user_.end() ? 1 : ratio(owner->second, 1);
    const auto own = of_batch_.find(batch);
    return own == of_batch_.end() ? owners : ratio(own->second, owners);
}

}  // namespace sluice
