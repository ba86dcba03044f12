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

Picker::Picker(const FeederOptions& options, const std::vector<Submitter>& submitters, Rng& rng)
    : order_(options.order), accel_share_(options.accel_share), turns_(submitters), rng_(rng) {}

std::optional<Id> Picker::choose_part(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                      const Backlog::Accepts& accepts) {
    if (order_ == FeederOrder::kByBatch) return backlog.next_part(app, user, last_batch_[app], accepts);
    if (order_ == FeederOrder::kShares && !batches_.empty()) return part_by_shares(backlog, app, user, shares, accepts);
    if (order_ != FeederOrder::kBatchAccel) return 0;
    if (!backlog.has({app, user, 1, 0}, accepts)) return 0;
    if (!backlog.has({app, user, 0, 0}, accepts)) return 1;
    const AccelTarget target = accel_target(shares.slots, accel_share_);
    const bool room_for_high = shares.high < target.high, room_for_low = shares.low < target.low;
    if (room_for_high != room_for_low) return room_for_high ? 1 : 0;
    return rng_.uniform() < accel_share_ ? 1 : 0;
}

// Which user's jobs go to a host is for the scheduler to say: it has to find some of each, and whatever is taken comes
// again. Jobs that are in no such batch count as one more user's.
std::optional<Id> Picker::part_by_shares(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                         const Backlog::Accepts& accepts) const {
    const BatchShare nobody{0, std::numeric_limits<double>::infinity(), 0};
    const auto share_of = [&](Id batch) -> const BatchShare& {
        const auto found = batches_.find(batch);
        return found == batches_.end() ? nobody : found->second;
    };
    std::unordered_map<Id, std::size_t> held;  // by owner
    for (const auto& [batch, n] : shares.by_batch) held[share_of(batch).user_id] += n;
    std::optional<std::tuple<std::size_t, double, Id>> best;
    std::optional<Id> last;
    for (auto part = backlog.next_part(app, user, std::numeric_limits<Id>::max(), accepts);
         part && (!last || *part > *last); part = backlog.next_part(app, user, *part, accepts)) {
        const BatchShare& share = share_of(*part);
        const std::tuple place{held[share.user_id], share.end, *part};
        if (!best || place < *best) best = place;
        last = part;
    }
    if (!best) return std::nullopt;
    return std::get<Id>(*best);
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
    turns_.charge(*user);
    return queued;
}

}  // namespace sluice
