// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Shares of users in a project's computing power, and the order of their batches (seed 000): a logical start time LST
// for each user, a logical end time LET for each batch; the batch with the least LET goes first.
//
// All tags are project-seconds (seconds of the whole project's computing power) on the scale of Unix time. share(U) is
// U's quota over the sum of the quotas of all users who have one. R is a batch's run time on the whole project.
//
// ShareRule::kSeed, as the seed has it: at submission LST(U) = max(LST(U), now), S(B) = LST(U), LET(B) = S(B) + R(B),
// then LST(U) += R(B)/share(U). Measured work changes nothing.
//
// ShareRule::kSettled: the seed's rule lets a newcomer starve the others for weeks, and rewards wrong estimates. Here
//  - entry clamp: V is the least start tag among other users' batches of which jobs wait to be sent (while there are
//    none, the greatest V seen) and never falls: what is all sent and waits for its last hosts is no measure of how far
//    the others are. A user without unfinished work enters at LST(U) = max(LST(U), V - clamp), so
//    that nothing is forgiven and at most `clamp` of credit is kept;
//  - settlement: measured work replaces the estimate. With d = R' - R(B): LET(B) = S(B) + R', and LST(U) and the tags
//  of
//    U's later unfinished batches move by d/share, at the share at which B was charged: who reserved much while he was
//    alone gets back what he paid, not what it would cost now;
//  - a change of a quota rescales the user's debt: LST(U) = V + (LST(U) - V) * old share / new share, likewise S of his
//    unfinished batches.
// Either rule: to move a batch before another of its user's gives it that one's start tag, and moves back everything
// between by R/share; LST stays, it holds that already.
//
// Single jobs are batches of one (seed 000) without a tag each: the next one stands at its user's LST, which grows by
// what each costs when it is sent, and is put right when it has come back.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sluice/base/error.h"

namespace sluice::share {

enum class ShareRule { kSeed, kSettled };

/// A request that makes no sense (an unknown batch, a quota that is not positive …); what() is one line, nothing
/// changed.
class ShareError : public Error {
  public:
    using Error::Error;
};

/// Quotas beyond are taken for these: shares and tags stay numbers.
inline constexpr double kLeastQuota = 1e-6, kMostQuota = 1e9;

using UserId = std::int64_t;
using BatchId = std::int64_t;

struct UserTags {
    double quota = 0;  ///< 0: has left, or never had one
    double lst = 0;
    bool known = false;      ///< lst means something: the user has submitted or been given a quota
    bool streaming = false;  ///< single jobs of his wait: unfinished work whose start tag is lst
};

struct BatchTags {
    BatchId id = 0;
    UserId user = 0;
    double seconds = 0;  ///< R: estimated at first, then measured
    double start = 0;    ///< S, the batch's start tag
    double end = 0;      ///< LET
    double share = 0;    ///< at which it is charged
    bool finished = false;
    bool waits = true;  ///< jobs of it are to be sent, as far as is known; not stored
};

/// All that a clock knows, to be stored, but for `waits`. Finished batches may be left out: nothing depends on them.
struct ClockState {
    double virtual_time = 0;  ///< V
    bool started = false;     ///< V means something
    std::map<UserId, UserTags> users;
    std::vector<BatchTags> batches;  ///< in order of submission
};

class LogicalClock {
  public:
    /// `clamp`: project-seconds of credit that a returning user may have; kSettled only.
    explicit LogicalClock(ShareRule rule, double clamp = 0);
    /// Goes on from what state() gave.
    LogicalClock(ShareRule rule, double clamp, ClockState state);
    ClockState state() const { return {virtual_time_, started_, users_, batches_}; }

    /// A user's quota, more than 0; one who left returns with it. Users without a quota can't submit.
    void set_quota(double now, UserId user, double quota);
    /// `seconds` is R, more than 0. Ids of batches are never used twice.
    void submit(double now, UserId user, BatchId batch, double seconds);
    /// A batch that its user's LST holds already: upstream's submission adds R/share to it and keeps the result, `end`,
    /// with the batch. It gets the tags that it would have had here, S = end - R/share.
    void adopt(UserId user, BatchId batch, double seconds, double end);
    /// `batch` goes before `before`, both unfinished and of the same user. Nothing to do where it does already.
    void move(UserId user, BatchId batch, BatchId before);
    /// Single jobs of the user wait, or do not any more. Who has none waiting and no batch has no unfinished work.
    void stream(double now, UserId user, bool waits);
    /// His single jobs have used, or are about to use, `seconds` more than he was charged for; below 0: less.
    void charge(double now, UserId user, double seconds);
    /// R as it is known now, 0 or more; the batch goes on. Changes nothing by the seed's rule.
    void settle(BatchId batch, double seconds);
    /// The batch ended, completed or aborted, after `seconds` of work.
    void finish(BatchId batch, double seconds);
    /// Project-seconds are `factor` times what they were, since the project is known to be so much slower: what users
    /// have had before and behind each other stays the same work. Changes nothing by the seed's rule.
    void rescale(double factor);
    /// Of these batches all jobs are sent: V skips them. Of any other that is unfinished, jobs wait.
    void all_sent(double now, const std::set<BatchId>& batches);
    /// The user's quota no longer counts and his unfinished batches end; his LST is kept for the day he returns.
    void leave(double now, UserId user);

    double share(UserId user) const;
    const std::map<UserId, UserTags>& users() const { return users_; }
    /// In order of submission.
    const std::vector<BatchTags>& batches() const { return batches_; }
    const BatchTags& batch(BatchId id) const;
    bool has(BatchId id) const { return index_.contains(id); }
    /// Unfinished batches, least LET first, the earlier submitted first among equals.
    std::vector<BatchId> order() const;

  private:
    BatchTags& find(BatchId id);
    UserTags& user_with_quota(UserId user);
    void write_quota(UserId user, double quota);
    void enter(double now, UserId user);
    void advance(double now, std::optional<UserId> but = {});
    bool has_unfinished(UserId user) const;

    ShareRule rule_;
    double clamp_;
    double quota_sum_ = 0;     ///< of all users
    double virtual_time_ = 0;  ///< V
    bool started_ = false;     ///< V means something
    std::map<UserId, UserTags> users_;
    std::vector<BatchTags> batches_;
    std::map<BatchId, std::size_t> index_;
};

}  // namespace sluice::share
