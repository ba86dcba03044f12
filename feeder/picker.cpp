// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/picker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace sluice {

SubmitterTurns::SubmitterTurns(const std::vector<Submitter>& submitters) {
    double least_step = 0;
    for (const Submitter& s : submitters) {
        const double step = 1 / (s.quota > 0 ? s.quota : 1);
        users_.push_back({s.user_id, step, 0});
        least_step = users_.size() == 1 ? step : std::min(least_step, step);
    }
    most_ = 500 * least_step;
}

std::optional<Id> SubmitterTurns::next(const std::function<bool(Id)>& has_work) const {
    const User* best = nullptr;
    for (const User& u : users_) {
        if (best != nullptr && u.usage > best->usage) continue;
        if (has_work(u.id)) best = &u;
    }
    if (best == nullptr) return std::nullopt;
    return best->id;
}

void SubmitterTurns::charge(Id user) {
    const auto u = std::find_if(users_.begin(), users_.end(), [&](const User& x) { return x.id == user; });
    if (u == users_.end()) return;
    u->usage += u->step;
    const double excess = u->usage - most_;
    if (excess <= 0) return;
    for (User& x : users_) {
        if (x.usage > excess) x.usage -= excess;
    }
}

double SubmitterTurns::usage(Id user) const {
    for (const User& u : users_) {
        if (u.id == user) return u.usage;
    }
    return 0;
}

AccelTarget accel_target(std::size_t slots, double share) {
    auto high = static_cast<std::size_t>(std::lround(share * static_cast<double>(slots)));
    // Both kinds are to be there, however small the array: a share of 0 or 1 means it, anything between does not.
    if (slots >= 2 && share > 0 && share < 1) high = std::clamp<std::size_t>(high, 1, slots - 1);
    high = std::min(high, slots);
    return {high, slots - high};
}

TurnsByShares::TurnsByShares(const Batches& batches, const ArrayShares& shares, const std::vector<Id>& parts)
    : batches_(batches) {
    for (const auto& [batch, n] : shares.by_batch) held_[share_of(batch).user_id] += n;
    for (const Id part : parts) waiting_[share_of(part).user_id].emplace_back(share_of(part).end, part);
    for (auto& [user, places] : waiting_) {
        std::sort(places.begin(), places.end(), std::greater<>());
        queue(user);
    }
}

const BatchShare& TurnsByShares::share_of(Id batch) const {
    static const BatchShare nobody{0, std::numeric_limits<double>::infinity(), 0};
    const auto found = batches_.find(batch);
    return found == batches_.end() ? nobody : found->second;
}

void TurnsByShares::queue(Id user) {
    const std::vector<Place>& places = waiting_[user];
    if (!places.empty()) turns_.emplace(held_[user], places.back().first, places.back().second, user);
}

std::optional<Id> TurnsByShares::next(const std::function<bool(Id)>& has_work) {
    while (!turns_.empty()) {
        const auto [held, end, part, user] = turns_.top();
        if (held == held_[user]) {
            if (has_work(part)) return part;
            waiting_[user].pop_back();
        }
        turns_.pop();
        queue(user);
    }
    return std::nullopt;
}

Picker::Picker(const FeederOptions& options, const std::vector<Submitter>& submitters, Rng& rng)
    : order_(options.order), accel_share_(options.accel_share), turns_(submitters), rng_(rng) {}

std::optional<Id> Picker::choose_part(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                      const Backlog::Accepts& accepts) {
    if (order_ == FeederOrder::kByBatch) return backlog.next_part(app, user, last_batch_[app], accepts);
    if (order_ == FeederOrder::kShares && !batches_.empty())
        return turns_by_shares(backlog, app, user, shares).next([&](Id part) {
            return backlog.has({app, user, part, 0}, accepts);
        });
    if (order_ != FeederOrder::kBatchAccel) return 0;
    if (!backlog.has({app, user, 1, 0}, accepts)) return 0;
    if (!backlog.has({app, user, 0, 0}, accepts)) return 1;
    const AccelTarget target = accel_target(shares.slots, accel_share_);
    const bool room_for_high = shares.high < target.high, room_for_low = shares.low < target.low;
    if (room_for_high != room_for_low) return room_for_high ? 1 : 0;
    return rng_.uniform() < accel_share_ ? 1 : 0;
}

TurnsByShares& Picker::turns_by_shares(const Backlog& backlog, Id app, Id user, const ArrayShares& shares) {
    const auto known = by_shares_.find({app, user});
    if (known != by_shares_.end()) return known->second;
    return by_shares_.try_emplace({app, user}, batches_, shares, backlog.parts(app, user)).first->second;
}

std::optional<QueuedJob> Picker::take(Backlog& backlog, Id app, const ArrayShares& shares,
                                      const Backlog::Accepts& accepts) {
    std::optional<Id> user = 0;
    if (!turns_.empty()) {
        user = turns_.next([&](Id id) { return backlog.next_part(app, id, 0, accepts).has_value(); });
    }
    if (!user) return std::nullopt;
    const auto part = choose_part(backlog, app, *user, shares, accepts);
    if (!part) return std::nullopt;
    auto queued = backlog.take({app, *user, *part, 0}, accepts);
    if (!queued) return std::nullopt;
    if (order_ == FeederOrder::kByBatch) last_batch_[app] = *part;
    for (auto turns = by_shares_.lower_bound({app, std::numeric_limits<Id>::min()});
         turns != by_shares_.end() && turns->first.first == app; ++turns)
        turns->second.charge(*part);
    turns_.charge(*user);
    return queued;
}

}  // namespace sluice
