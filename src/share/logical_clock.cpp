// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/share/logical_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice::share {
namespace {

void require(bool condition, const std::string& what) {
    if (!condition) throw ShareError(what);
}

}  // namespace

LogicalClock::LogicalClock(ShareRule rule, double clamp) : rule_(rule), clamp_(clamp) {
    require(std::isfinite(clamp) && clamp >= 0, "the clamp must not be negative");
}

LogicalClock::LogicalClock(ShareRule rule, double clamp, ClockState state) : LogicalClock(rule, clamp) {
    virtual_time_ = state.virtual_time;
    started_ = state.started;
    users_ = std::move(state.users);
    batches_ = std::move(state.batches);
    for (std::size_t i = 0; i < batches_.size(); ++i) {
        index_[batches_[i].id] = i;
        batches_[i].waits = true;
    }
    for (const auto& [id, tags] : users_) quota_sum_ += tags.quota;
}

double LogicalClock::share(UserId user) const {
    const auto found = users_.find(user);
    return found == users_.end() || quota_sum_ <= 0 ? 0 : found->second.quota / quota_sum_;
}

/// Summed anew: differences would drift.
void LogicalClock::write_quota(UserId user, double quota) {
    users_[user].quota = quota;
    quota_sum_ = 0;
    for (const auto& [id, tags] : users_) quota_sum_ += tags.quota;
}

UserTags& LogicalClock::user_with_quota(UserId user) {
    const auto found = users_.find(user);
    require(found != users_.end() && found->second.quota > 0, "the user has no quota: set one first");
    return found->second;
}

BatchTags& LogicalClock::find(BatchId id) {
    const auto found = index_.find(id);
    require(found != index_.end(), "there is no such batch");
    return batches_[found->second];
}

const BatchTags& LogicalClock::batch(BatchId id) const { return const_cast<LogicalClock*>(this)->find(id); }

bool LogicalClock::has_unfinished(UserId user) const {
    const auto found = users_.find(user);
    if (found != users_.end() && found->second.streaming) return true;
    return std::any_of(batches_.begin(), batches_.end(),
                       [&](const BatchTags& b) { return b.user == user && !b.finished; });
}

/// V, as the user `but` finds it: from the work of all others that waits.
void LogicalClock::advance(double now, std::optional<UserId> but) {
    if (!started_) virtual_time_ = now;
    started_ = true;
    double least = std::numeric_limits<double>::infinity();
    for (const BatchTags& b : batches_)
        if (!b.finished && b.waits && b.user != but) least = std::min(least, b.start);
    for (const auto& [id, user] : users_)
        if (user.streaming && id != but) least = std::min(least, user.lst);
    if (std::isfinite(least)) virtual_time_ = std::max(virtual_time_, least);
}

void LogicalClock::enter(double now, UserId user) {
    UserTags& u = users_[user];
    if (rule_ == ShareRule::kSeed) {
        u.lst = u.known ? std::max(u.lst, now) : now;
    } else {
        advance(now, user);
        if (!u.known)
            u.lst = virtual_time_ - clamp_;
        else if (!has_unfinished(user))
            u.lst = std::max(u.lst, virtual_time_ - clamp_);
    }
    u.known = true;
}

void LogicalClock::set_quota(double now, UserId user, double quota) {
    require(std::isfinite(quota) && quota > 0, "a quota must be more than 0");
    quota = std::clamp(quota, kLeastQuota, kMostQuota);
    const double before = share(user);
    const bool is_new = !users_[user].known;
    write_quota(user, quota);
    if (is_new) {
        enter(now, user);
    } else if (rule_ == ShareRule::kSettled && before > 0) {
        advance(now, user);
        const double factor = before / share(user);
        const auto rescaled = [&](double tag) { return virtual_time_ + (tag - virtual_time_) * factor; };
        users_[user].lst = rescaled(users_[user].lst);
        for (BatchTags& b : batches_) {
            if (b.user != user || b.finished) continue;
            b.start = rescaled(b.start);
            b.end = b.start + b.seconds;
            b.share /= factor;
        }
    }
}

void LogicalClock::submit(double now, UserId user, BatchId batch, double seconds) {
    require(std::isfinite(seconds) && seconds > 0, "a batch's seconds must be more than 0");
    require(!index_.contains(batch), "there is such a batch already");
    UserTags& u = user_with_quota(user);
    enter(now, user);
    const double share_now = share(user);
    index_[batch] = batches_.size();
    batches_.push_back({batch, user, seconds, u.lst, u.lst + seconds, share_now, false});
    u.lst += seconds / share_now;
}

void LogicalClock::adopt(UserId user, BatchId batch, double seconds, double end) {
    require(std::isfinite(seconds) && seconds > 0 && std::isfinite(end), "a batch's seconds must be more than 0");
    require(!index_.contains(batch), "there is such a batch already");
    UserTags& u = user_with_quota(user);
    const double share_now = share(user), start = end - seconds / share_now;
    index_[batch] = batches_.size();
    batches_.push_back({batch, user, seconds, start, start + seconds, share_now, false});
    u.lst = u.known ? std::max(u.lst, end) : end;
    u.known = true;
}

void LogicalClock::move(UserId user, BatchId batch, BatchId before) {
    BatchTags &b = find(batch), &a = find(before);
    require(b.user == user && a.user == user, "both batches must be the user's own");
    require(&a != &b, "a batch can't be moved before itself");
    require(!b.finished && !a.finished, "the batch has ended");
    if (b.start <= a.start) return;
    const double share_then = rule_ == ShareRule::kSeed ? share(user) : b.share;
    const double from = a.start, to = b.start, by = b.seconds / share_then;
    for (BatchTags& between : batches_) {
        if (between.user != user || between.start < from || between.start >= to) continue;
        between.start += by;
        between.end += by;
    }
    b.start = from;
    b.end = from + b.seconds;
}

void LogicalClock::stream(double now, UserId user, bool waits) {
    UserTags& u = user_with_quota(user);
    if (waits && !u.streaming) enter(now, user);
    u.streaming = waits;
}

void LogicalClock::charge(double now, UserId user, double seconds) {
    require(std::isfinite(seconds), "measured seconds must be a number");
    UserTags& u = user_with_quota(user);
    if (rule_ == ShareRule::kSeed) u.lst = std::max(u.lst, now);
    u.lst += seconds / share(user);
}

void LogicalClock::settle(BatchId batch, double seconds) {
    require(std::isfinite(seconds) && seconds >= 0, "measured seconds must not be negative");
    BatchTags& b = find(batch);
    require(!b.finished, "the batch has ended");
    if (rule_ == ShareRule::kSeed) return;
    const double by = (seconds - b.seconds) / b.share;
    b.seconds = seconds;
    b.end = b.start + seconds;
    users_[b.user].lst += by;
    for (BatchTags& later : batches_) {
        if (later.user != b.user || later.finished || later.start <= b.start || &later == &b) continue;
        later.start += by;
        later.end += by;
    }
}

void LogicalClock::finish(BatchId batch, double seconds) {
    settle(batch, seconds);
    find(batch).finished = true;
}

void LogicalClock::rescale(double factor) {
    require(std::isfinite(factor) && factor > 0, "a speed must be more than 0");
    if (rule_ == ShareRule::kSeed || !started_) return;
    const auto rescaled = [&](double tag) { return virtual_time_ + (tag - virtual_time_) * factor; };
    for (auto& [id, user] : users_)
        if (user.known) user.lst = rescaled(user.lst);
    for (BatchTags& b : batches_) {
        if (b.finished) continue;
        b.seconds *= factor;
        b.start = rescaled(b.start);
        b.end = b.start + b.seconds;
    }
}

void LogicalClock::all_sent(double now, const std::set<BatchId>& batches) {
    for (BatchTags& b : batches_) b.waits = !batches.contains(b.id);
    advance(now);
}

void LogicalClock::leave(double now, UserId user) {
    user_with_quota(user);
    for (BatchTags& b : batches_) {
        if (b.user != user || b.finished) continue;
        b.finished = true;
    }
    users_[user].streaming = false;
    advance(now, user);
    write_quota(user, 0);
}

std::vector<BatchId> LogicalClock::order() const {
    std::vector<const BatchTags*> unfinished;
    for (const BatchTags& b : batches_)
        if (!b.finished) unfinished.push_back(&b);
    std::stable_sort(unfinished.begin(), unfinished.end(),
                     [](const BatchTags* a, const BatchTags* b) { return a->end < b->end; });
    std::vector<BatchId> ids;
    for (const BatchTags* b : unfinished) ids.push_back(b->id);
    return ids;
}

}  // namespace sluice::share
