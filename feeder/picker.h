#pragma once
// Which queued job comes next: chooses the submitter (--user), then the batch (--by_batch, <share_rule>) or the
// priority class (--batch_accel), then the best of that line.
#include <optional>
#include <unordered_map>
#include <vector>

#include "feeder/backlog.h"
#include "feeder/options.h"
#include "sluice/base/rng.h"
#include "sluice/db/feeder_store.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// What the array holds now, as far as choosing needs it.
struct ArrayShares {
    std::size_t slots = 0;
    std::size_t high = 0, low = 0;                   ///< held jobs with priority > 0, and others
    std::unordered_map<Id, std::size_t> by_batch{};  ///< held jobs
};

/// Upstream's feeder_user: users take turns by usage, which grows by 1/quota with each job; an advantage is banked up
/// to 500 jobs of the largest quota.
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

class Picker {
  public:
    Picker(const FeederOptions& options, const std::vector<Submitter>& submitters, Rng& rng);

    /// The order of batches by their users' shares, for FeederOrder::kShares.
    void set_batches(const std::unordered_map<Id, BatchShare>& batches) { batches_ = batches; }
    /// Takes the next queued job for a slot of `app` (0: any) out of the backlog.
    std::optional<QueuedJob> take(Backlog& backlog, Id app, const ArrayShares& shares, const Backlog::Accepts& accepts);

  private:
    std::optional<Id> choose_part(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                  const Backlog::Accepts& accepts);
    std::optional<Id> part_by_shares(const Backlog& backlog, Id app, Id user, const ArrayShares& shares,
                                     const Backlog::Accepts& accepts) const;

    FeederOrder order_;
    double accel_share_;
    SubmitterTurns turns_;
    Rng& rng_;
    std::unordered_map<Id, Id> last_batch_;  ///< by app
    std::unordered_map<Id, BatchShare> batches_;
};

/// How many slots of high and of low priority --batch_accel wants.
struct AccelTarget {
    std::size_t high = 0, low = 0;
};
AccelTarget accel_target(std::size_t slots, double share);

}  // namespace sluice
