// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which queued job comes next: chooses the submitter (--user), then the batch (--by_batch, <share_rule>) or the
// priority class (--batch_accel), then the best of that line.
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "feeder/backlog.h"
#include "feeder/options.h"
#include "sluice/base/rng.h"
#include "sluice/db/feeder_store.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/user.h"

namespace sluice {

/// What the array holds now, as far as choosing needs it.
struct ArrayShares {
    std::size_t slots = 0;
    std::size_t high = 0, low = 0;                   ///< held jobs with priority > 0, and others
    std::unordered_map<Id, std::size_t> by_batch{};  ///< held jobs
};

/// Upstream's feeder_user: users take turns by usage, which grows by 1/quota with each job. An advantage lasts for at
/// most 500 jobs of the largest quota.
class SubmitterTurns {
  public:
    explicit SubmitterTurns(const std::vector<Submitter>& submitters);
    bool empty() const { return users_.empty(); }
    /// Among those for whom `has_work` is true, the one with the least usage; ties: the later one.
    std::optional<Id> next(const std::function<bool(Id)>& has_work) const;
    void charge(Id user);
    double usage(Id user) const;

  private:
    struct User {
        Id id;
        double step, usage;
    };
    std::vector<User> users_;
    double most_ = 0;
};

/// Whose batch comes next by shares. Of the batches with waiting jobs, it takes those of the user with the fewest
/// slots; of these, the one with the least logical end time. The scheduler decides which user's jobs go to a host. So
/// it has to find some of each, and the feeder replaces what it takes. Jobs that are in no such batch count as one more
/// user's.
class TurnsByShares {
  public:
    using Batches = std::unordered_map<Id, BatchShare>;
    TurnsByShares(const Batches& batches, const ArrayShares& shares, const std::vector<Id>& parts);
    /// Asks for each part that comes up whether it has work: one that has none now will have none again.
    std::optional<Id> next(const std::function<bool(Id)>& has_work);
    /// A job of this part was put into a slot.
    void charge(Id part) { ++held_[share_of(part).user_id]; }

  private:
    using Place = std::pair<double, Id>;                   ///< of a batch among its user's: the least first
    using Turn = std::tuple<std::size_t, double, Id, Id>;  ///< slots, place, user
    const BatchShare& share_of(Id batch) const;
    void queue(Id user);

    const Batches& batches_;
    std::unordered_map<Id, std::size_t> held_;            ///< slots, by user
    std::unordered_map<Id, std::vector<Place>> waiting_;  ///< by user, the first last
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

class Picker {
  public:
    Picker(const FeederOptions& options, const std::vector<Submitter>& submitters, Rng& rng);

    /// The order of batches by their users' shares, for FeederOrder::kShares.
    void set_batches(const std::unordered_map<Id, BatchShare>& batches) {
        batches_ = batches;
        by_shares_.clear();
    }
    /// Slots are to be filled at one go: until the next round jobs only leave the backlog, into slots.
    void begin_round() { by_shares_.clear(); }
    /// Takes the next queued job for a slot of `app` (0: any) out of the backlog.
    std::optional<QueuedJob> take(Backlog& backlog, Id app, const ArrayShares& shares, const Backlog::Accepts& accepts);

  private:
    std::optional<Id> choose_part(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                  const Backlog::Accepts& accepts);
    TurnsByShares& turns_by_shares(const Backlog& backlog, Id app, Id user, const ArrayShares& shares);

    FeederOrder order_;
    double accel_share_;
    SubmitterTurns turns_;
    Rng& rng_;
    std::unordered_map<Id, Id> last_batch_;  ///< by app
    TurnsByShares::Batches batches_;
    std::map<std::pair<Id, Id>, TurnsByShares> by_shares_;  ///< of this round, by app and user
};

/// How many slots of high and of low priority --batch_accel wants.
struct AccelTarget {
    std::size_t high = 0, low = 0;
};
AccelTarget accel_target(std::size_t slots, double share);

}  // namespace sluice
