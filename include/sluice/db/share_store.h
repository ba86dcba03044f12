// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Users' shares and the tags of their batches: the logical clock (sluice/share/logical_clock.h) in the database. LST is
// user_submit.logical_start_time, S and LET are batch.logical_start_time and logical_end_time, where upstream's pages
// look for them; what else the clock knows is in tables of our own, sluice_share_clock, _user, _batch and _stream; _day
// and _measured keep what users got. A batch in state INIT that has jobs is a stream: single jobs of its user, charged
// one by one.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/codes.h"
#include "sluice/model/project_tables.h"
#include "sluice/share/logical_clock.h"

namespace sluice {

struct ShareSettings {
    share::ShareRule rule = share::ShareRule::kSettled;
    double clamp = 86400;        ///< project-seconds
    Id owner_without_batch = 0;  ///< whose the jobs without a batch are; 0: nobody's
};

/// What is stored of a stream. Results are added to `kept` an hour after they are over, when everything about them is
/// known, and may be purged from then on; what is younger, and what runs, is looked at anew each time.
struct StreamCharge {
    Id user_id = 0;
    double kept = 0;     ///< operations of its results that were over by `until`
    double until = -1;   ///< Unix time
    double charged = 0;  ///< operations that its user was charged for: `kept`, and what came after it
    double head = 0;     ///< project-seconds of its next job: LET is that after its user's LST
    bool waits = false;  ///< it has jobs that are not sent yet
    friend bool operator==(const StreamCharge&, const StreamCharge&) = default;
};

/// The clock within a transaction, and what is stored beside it.
struct ShareBook {
    share::LogicalClock clock;
    /// Of batches that are finished by this change: the operations that they were charged for in all, but for those
    /// that `streams` knows of. What comes back (its user returns, somebody opens it again) is charged for the rest
    /// only.
    std::map<Id, double> charged;
    std::map<Id, double> quotas;              ///< of user_submit, by user
    std::map<Id, StreamCharge> streams = {};  ///< by batch
    std::map<Id, double> measured = {};       ///< by batch: operations that days have been given for
    std::map<Id, double> given = {};          ///< by user: operations that this change gives to the present day
    double flops = 0;  ///< operations a second that its project-seconds stand for; 0: none are charged yet
    /// Rule settled: users' LST without what adjust_user_priority has done to it since, which makes it the present at
    /// least: V, and who counts by it, may be months behind that or before it.
    std::map<Id, double> own_lst = {};
};

/// Of a stream, beside BatchWork: operations of instances that were over between `until` and `next_until`, since then,
/// and of those that run.
struct StreamWork {
    double until = -1, next_until = -1;
    /// Measured; estimates of what never came back, less those of what was counted so and has come back since.
    double settled = 0, settled_lost = 0;
    double recent = 0, recent_lost = 0;  ///< likewise
    double running = 0;                  ///< estimates; those whose deadlines are an hour ago are lost
    std::int64_t waiting = 0;            ///< instances not sent yet
    std::int64_t open_jobs = 0;          ///< unfinished workunits, of which BatchWork::open tells
};

/// What a batch has used and will use, in operations. Estimates are rsc_fpops_est; measured is the time of processors
/// (elapsed_time, or cpu_time where that is longer) times the host's benchmark: what a submitter says has no part in
/// it.
struct BatchWork {
    Id id = 0, user_id = 0;
    BatchState state = BatchState::kInProgress;
    double logical_end_time = 0;  ///< of the row; above 0 without `known`: upstream has charged it
    bool known = false;           ///< it is, or was, in the clock
    bool unfinished = false;      ///< it is in the clock: if it is not any more, it has ended since this was read
    double charged = 0;           ///< operations of an earlier stay in the clock
    double open = 0;              ///< estimates of the instances that its unfinished workunits want
    double measured = 0;          ///< of all instances that ended
    double measured_successes = 0, estimated_successes = 0;
    double lost = 0;  ///< estimates of instances that never came back
    std::int64_t successes = 0;
    bool waits = false;                  ///< jobs of it are not sent yet
    bool purged = false;                 ///< none of its workunits is left: nothing can be measured any more
    std::optional<StreamWork> stream{};  ///< state INIT
};

/// What the project computes in a second.
struct ProjectSpeed {
    double flops = 0;  ///< from the averages of credit of the last 30 days; 0: there is none yet
    double since = 0;  ///< Unix time of the oldest app version: no average is older
};

/// Operations that came back for a user on a day of UTC.
struct DailyWork {
    std::int64_t day = 0;  ///< since 1970
    Id user_id = 0;
    double operations = 0;
};
struct ShareUser {
    Id id = 0;
    std::string name;
    double quota = 0;
};

struct UserQuota {
    double quota = 0, total = 0;  ///< his, and all users'
};

class ShareStore {
  public:
    virtual ~ShareStore() = default;
    /// Makes the tables of our own if they are missing. Not within a transaction.
    virtual void prepare() = 0;
    virtual ProjectSpeed project_speed(double now) = 0;
    /// nullopt: the user may not submit (no row in user_submit).
    virtual std::optional<UserQuota> quota(Id user) = 0;
    /// LST(user) = max(LST, now) + delta, in one transaction; the new value. Without `write` it is not stored.
    virtual double advance(Id user, double now, double delta, bool write) = 0;
    /// Batches in progress, streams, and batches that the clock takes for unfinished, by id; or `only` one, whatever
    /// its state.
    virtual std::vector<BatchWork> works(double now, std::optional<Id> only = {}) = 0;
    /// The jobs without a batch as a stream of `owner` with the id kWithoutBatch. The first time it begins an hour ago:
    /// what came back before was nobody's.
    virtual BatchWork work_without_batch(double now, Id owner) = 0;
    /// Of the kMostLookedAt newest batches those in progress whose users have a quota and that the clock has no place
    /// for, by id. Cheap.
    virtual std::vector<Id> without_place() = 0;
    static constexpr Id kMostLookedAt = 10'000;
    /// By day, then user. None where batch_shares never ran.
    virtual std::vector<DailyWork> work_by_day(std::int64_t from_day) = 0;
    /// Those who may submit, by id.
    virtual std::vector<ShareUser> users() = 0;
    /// One transaction that nobody else's comes between: `work` gets the clock as it is stored, with quotas as
    /// user_submit has them now, and what it leaves there is stored. It may be called again (after a deadlock, or a
    /// lost connection whose COMMIT may have taken place): what is there already must do no harm then. It may write to
    /// the same database.
    virtual void change(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) = 0;
    /// What `work` would find and make of it: without a lock, and nothing is stored. This, works(), without_place() and
    /// what reads quotas need no prepare(): without the tables nobody has a place yet.
    virtual void look(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) = 0;
};
std::unique_ptr<ShareStore> make_share_store(Database& db);

// Who may use how much of the project, and who used what: accounts, quotas (user_submit) and results, for
// `sluice_batch quota` and `usage`.

struct NamedUser {
    Id id = 0;
    std::string name, email;
};

/// A row of user_submit with its account; or an account that owns a batch that is not over, without such a row.
struct QuotaRow {
    NamedUser user;
    bool has_row = false;
    double quota = 0;  ///< as it is stored
    bool submit_all = false, manage_all = false;
    int max_jobs_in_progress = 0;
};

/// What instances that came back used, of one user and one kind of app version.
struct UsageRow {
    Id user_id = 0;  ///< 0: jobs without a batch; kOfABatchThatIsGone
    static constexpr Id kOfABatchThatIsGone = -1;
    Id version = 0;  ///< below 0: anonymous platform; else only the plan class tells
    std::string plan_class;
    std::int64_t instances = 0;
    double processor_seconds = 0, device_seconds = 0;  ///< measured as for a processor, and as for a GPU
    double operations = 0;                             ///< as shares are charged (docs/batches.md)
    double credit = 0;
};

class QuotaStore {
  public:
    virtual ~QuotaStore() = default;
    virtual std::optional<NamedUser> user(Id id) = 0;
    /// Accounts of this e-mail address or name.
    virtual std::vector<NamedUser> users_called(const std::string& text) = 0;
    /// By user.
    virtual std::vector<QuotaRow> quotas() = 0;
    /// May be repeated. The other columns of a row that is there stay as they are.
    virtual void set_quota(Id user, double quota) = 0;
    /// Of instances that came back since then. Reads the whole table of results.
    virtual std::vector<UsageRow> usage(std::int64_t since) = 0;
};
std::unique_ptr<QuotaStore> make_quota_store(Database& db);

}  // namespace sluice
