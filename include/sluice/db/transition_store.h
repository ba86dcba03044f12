// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The transitioner's rows: facts in, decisions out. A page of workunits is read, decided on and written in one
// transaction that holds the workunits' rows, so that two transitioners never decide on the same one, and every
// result is written only if it is still in the state that the decision saw.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/id_share.h"
#include "sluice/model/job.h"

namespace sluice {

struct HostAppVersion;

/// What the transitioner wants to know of a result.
struct ResultFacts {
    Id id = 0;
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ValidateState validate_state = ValidateState::kInit;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    int exit_status = 0;
    std::int64_t report_deadline = 0, received_time = 0;
    Id hostid = 0, app_version_id = 0;
    std::int64_t suffix = -1;  ///< number behind the last '_' of its name; -1: none
};

/// A workunit (xml_doc, keywords and bounds but rsc_fpops_est are not loaded) and all its results in order of id.
struct TransitionFacts {
    Workunit wu;
    std::vector<ResultFacts> results;
};

/// New states of one result.
struct ResultChange {
    ResultFacts was;
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ValidateState validate_state = ValidateState::kInit;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    /// A deadline that passed: not written if the deadline was moved meanwhile to this time or later.
    std::optional<std::int64_t> if_deadline_before{};
};

/// New values of a workunit's columns; the others keep theirs.
struct WorkunitChange {
    Id id = 0;
    bool need_validate = false;
    int error_mask = 0;
    AssimilateState assimilate_state = AssimilateState::kInit;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    int hr_class = 0;
    Id app_version_id = 0;
    std::int64_t transition_time = 0;
    int size_class = -1;
};

/// A job that a host did not return in time: its version's turnaround, quota and record suffer.
struct TimedOut {
    Id hostid = 0;
    Id generalized_version = 0;  ///< generalized_version_id()
    double turnaround = 0;       ///< sample: the delay bound
    int daily_quota = 0;         ///< daily_result_quota
};

/// Everything to write for a page.
struct TransitionWrites {
    std::vector<ResultChange> results{};
    std::vector<Result> created{};  ///< ids are given by the database
    std::vector<WorkunitChange> workunits{};
    std::vector<TimedOut> timed_out{};
};

/// Which workunits a transitioner looks after.
struct TransitionScope {
    IdShare share = {};
    std::optional<Id> only{};  ///< this one, due or not
};

/// A place in the queue of due workunits.
struct DueWorkunit {
    std::int64_t transition_time = 0;
    Id id = 0;
};

class TransitionStore {
  public:
    virtual ~TransitionStore() = default;

    /// Apps with size classes (n_size_classes of 2 and more): size_regulator releases their jobs.
    virtual std::set<Id> apps_with_size_classes() = 0;
    /// As WorkStore's.
    virtual std::map<int, double> typical_sizes(Id appid) = 0;

    /// Workunits whose transition_time is before `now` (transitioner_flags 1 never), the longest due first, behind
    /// `after`; at most `limit`. With scope.only: that one.
    virtual std::vector<DueWorkunit> due(std::int64_t now, const TransitionScope& scope, DueWorkunit after,
                                         int limit) = 0;

    /// The facts of these workunits, without locks.
    virtual std::vector<TransitionFacts> facts(std::span<const Id> ids) = 0;

    /// Locks those of `ids` that are still due (`now` absent: due or not), hands their facts to `decide` and writes its
    /// answer, all in one transaction. If a result changed meanwhile, or on a deadlock, everything is repeated from the
    /// reading on, `decide` included. Returns the number of workunits handed over.
    virtual int transition(std::span<const Id> ids, std::optional<std::int64_t> now,
                           const std::function<TransitionWrites(const std::vector<TransitionFacts>&)>& decide) = 0;

    /// Looks at them again at `until`, if they are due before. For workunits that can't be handled now.
    virtual void postpone(std::span<const Id> ids, std::int64_t until) = 0;
};

/// `db` outlives the store.
std::unique_ptr<TransitionStore> make_transition_store(Database& db);

/// The number behind the last '_', -1 if there is none (or no sensible one).
std::int64_t result_name_suffix(std::string_view name);
/// What a time-out does to the statistics of the version on that host. Upstream: the delay bound counts as turnaround,
/// the quota goes down by one (to at least one), the row of valid results ends.
void penalize(HostAppVersion& version, const TimedOut& timed_out);

}  // namespace sluice
