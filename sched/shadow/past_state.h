// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project as it was when a recorded request was handled, as far as the database of now can tell. The other scheduler
// has written since: the jobs that it sent count as unsent again, as do those of later requests; jobs that came back
// later are in progress; the daily counts of the host lack what was sent since. Rows of hosts and accounts are those of
// now, without the request's own sequence number. Nothing is written.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sched/explain/dry_run.h"
#include "sched/explain/live_project.h"
#include "sched/shadow/rpc_files.h"

namespace sluice {

/// The moment of a request.
class RecordedClock final : public Clock {
  public:
    double now() const override { return at_; }
    void set(double at) { at_ = at; }

  private:
    double at_ = 0;
};

/// What other requests changed since the moment.
struct SinceThen {
    double at = 0;
    std::unordered_map<Id, KnownResult> unsent;  ///< results that were unsent then, as they are now
    std::unordered_set<std::string> reported;    ///< by the request itself: they count as the database has them
    std::map<std::pair<Id, Id>, int> jobs_sent;  ///< (host, generalized version): since then
};

class AccountsOfThen final : public AccountStore {
  public:
    AccountsOfThen(AccountStore& stored, const SinceThen& since) : stored_(stored), since_(since) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;
    std::optional<Account> account_by_key(std::string_view key) override { return stored_.account_by_key(key); }
    std::optional<Account> account_by_id(Id userid) override { return stored_.account_by_id(userid); }
    KnownMachines known_machines(const MachineQuery& query) override { return stored_.known_machines(query); }
    Id insert_host(const StoredHost&, const MachineQuery*) override;
    bool update_host(const StoredHost&, const StoredHost&, Id, const UserChange&) override;
    void update_user(Id, const UserChange&) override;
    bool written_by(Id hostid, std::int64_t attempt) override { return stored_.written_by(hostid, attempt); }

  private:
    AccountStore& stored_;
    const SinceThen& since_;
};

class StatesOfThen final : public HostStateStore {
  public:
    StatesOfThen(HostStateStore& stored, const SinceThen& since) : stored_(stored), since_(since) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    void change_versions(Id, bool, std::span<const VersionChange>) override;
    void insert_messages(Id, std::int64_t, std::span<const MessageFromHost>) override;
    std::int64_t trickle_bytes(const AccountDay&) override { return 0; }
    void add_trickle_bytes(const AccountDay&, std::int64_t) override;
    void mark_delivered(std::span<const Id>) override;

  private:
    HostStateStore& stored_;
    const SinceThen& since_;
};

class ResultsOfThen final : public RpcResultStore {
  public:
    ResultsOfThen(RpcResultStore& stored, const SinceThen& since) : stored_(stored), since_(since) {}
    std::vector<KnownResult> load(const ResultQuery& query) override;
    std::vector<LostJob> lost_jobs(std::span<const Id> results) override { return stored_.lost_jobs(results); }
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override { return stored_.jobs_of_groups(query); }
    void touch_workunits(std::span<const WorkunitTouch>) override;
    std::vector<Id> store_reports(const ReportBatch&) override;
    std::vector<Id> send(const SendBatch&) override;
    void detach(Id, std::int64_t, std::span<const Id>) override;

  private:
    RpcResultStore& stored_;
    const SinceThen& since_;
};

/// A job that a recorded reply sent.
struct JobSentThen {
    std::string name;
    std::size_t request = 0;  ///< its place among the recorded ones
};

class PastState {
  public:
    /// `sent`: by request. `project` outlives it.
    PastState(LiveProject& project, const std::vector<JobSentThen>& sent);
    /// For requests that are not known beforehand: what the reply to one sent. Before move_to().
    void add_sent(const std::vector<JobSentThen>& sent);
    /// Jobs that wait are those of now.
    void refill();
    /// To the moment of a request; later ones only.
    void move_to(std::size_t number, const RecordedRpc& rpc);

    DryJobPool& pool() { return pool_; }
    RpcStores stores();
    Clock& clock() { return clock_; }
    /// Where the jobs of the pool come from, and how many it holds; for the report.
    const std::string& origin() const { return origin_; }
    /// Jobs of replies that the database does not know (any more).
    std::size_t unknown_jobs() const { return unknown_; }

  private:
    struct SentLater {
        Id id = 0;
        std::size_t request = 0;
    };
    void goes_out(Id result);
    void find_sent(const std::vector<JobSentThen>& sent);
    void fill();
    void fill_from_array();
    void fill_from_database();
    void fill_window();
    void show_waiting();

    LiveProject& project_;
    DryJobPool pool_;
    std::size_t slots_ = 0;  ///< that the array has
    std::string origin_;
    std::deque<SentLater> later_;  ///< not reached yet, by request
    std::size_t loaded_ = 0;       ///< so many of its first are in the window
    std::unordered_map<Id, std::uint32_t> window_;
    std::vector<std::pair<std::uint32_t, std::int32_t>> waiting_;  ///< places of jobs that still wait, and when made
    std::size_t unknown_ = 0;
    SinceThen since_;
    RecordedClock clock_;
    RpcStores of_database_;
    AccountsOfThen accounts_;
    StatesOfThen states_;
    ResultsOfThen results_;
};

}  // namespace sluice
