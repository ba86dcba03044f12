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
#include "sched/explain/read_only_stores.h"
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

class AccountsOfThen final : public ReadOnlyAccounts {
  public:
    AccountsOfThen(AccountStore& stored, const SinceThen& since) : ReadOnlyAccounts(stored), since_(since) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;

  private:
    const SinceThen& since_;
};

class StatesOfThen final : public ReadOnlyHostStates {
  public:
    StatesOfThen(HostStateStore& stored, const SinceThen& since) : ReadOnlyHostStates(stored), since_(since) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    std::int64_t trickle_bytes(const AccountDay&) override { return 0; }

  private:
    const SinceThen& since_;
};

class ResultsOfThen final : public ReadOnlyResults {
  public:
    ResultsOfThen(RpcResultStore& stored, const SinceThen& since) : ReadOnlyResults(stored), since_(since) {}
    std::vector<KnownResult> load(const ResultQuery& query) override;
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;

  private:
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
