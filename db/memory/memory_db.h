// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A small real database in memory: the rows that stores work on. Each store of include/sluice/db has one over these
// tables (db/memory/*_store.h); the contract suites of tests/db run on it and on MariaDB alike. For the simulator, and
// for tests. One thread.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/memory/id_set.h"
#include "db/memory/row_map.h"
#include "sluice/base/error.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/model/batch.h"
#include "sluice/model/batch_plan.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/user.h"

namespace sluice {

// A table in memory: rows by key, an index that is kept as rows change, and the undoing of a transaction.

/// Of a table whose rows are found by their keys alone.
struct NoIndex {
    struct Place {
        bool operator==(const Place&) const = default;
    };
    static Place place(const auto&) { return {}; }
    static bool same_names(const auto&, const auto&) { return true; }
    void move(const auto&, const Place&, const Place&) {}
    void add(const auto&) {}
    void remove(const auto&) {}
};

/// An `Index` has add(row) and remove(row). What it finds rows by is of two kinds: the row's place(), numbers and
/// states, which change() may change (then move(row, before, after) is called), and its names, which only put() may;
/// same_names(row, row) compares those.
template <typename Key, typename Row, typename Index = NoIndex>
class Table {
  public:
    using Map = std::conditional_t<std::is_same_v<Key, Id>, RowMap<Row>, std::map<Key, Row>>;

    const Map& rows() const { return rows_; }
    const Row* get(const Key& key) const {
        if constexpr (std::is_same_v<Key, Id>) {
            return rows_.get(key);
        } else {
            const auto at = rows_.find(key);
            return at == rows_.end() ? nullptr : &at->second;
        }
    }
    const Index& index() const { return index_; }
    /// Higher than every key that there was.
    Key next_key() const { return last_ + 1; }

    // ---- writing, of stores
    void put(const Key& key, Row row) {
        Row* there = own(key);
        if (recording_) undo_.emplace_back(key, there == nullptr ? std::nullopt : std::optional(*there));
        if (there == nullptr) {
            rows_.try_emplace(key, std::move(row));
            index_.add(*get(key));
            if constexpr (requires { key + 1; }) last_ = std::max(last_, key);
        } else if (Index::same_names(*there, row)) {
            const auto before = Index::place(*there);
            *there = std::move(row);
            const auto after = Index::place(*there);
            if (!(before == after)) index_.move(*there, before, after);
        } else {
            index_.remove(*there);
            *there = std::move(row);
            index_.add(*there);
        }
    }
    /// False if there is no such row. `how` gets a Row&; it leaves the row's names alone.
    template <typename How>
    bool change(const Key& key, How&& how) {
        Row* there = own(key);
        if (there == nullptr) return false;
        if (recording_) undo_.emplace_back(key, *there);
        const auto before = Index::place(*there);
        how(*there);
        const auto after = Index::place(*there);
        if (!(before == after)) index_.move(*there, before, after);
        return true;
    }
    void remove(const Key& key) {
        const Row* there = own(key);
        if (there == nullptr) return;
        if (recording_) undo_.emplace_back(key, *there);
        index_.remove(*there);
        rows_.erase(key);
    }
    void begin_transaction() { recording_ = true; }
    void end_transaction(bool keep) {
        recording_ = false;
        if (!keep)
            for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
                if (undo->second)
                    put(undo->first, std::move(*undo->second));
                else
                    remove(undo->first);
            }
        undo_.clear();
    }

  private:
    Row* own(const Key& key) { return const_cast<Row*>(std::as_const(*this).get(key)); }
    Map rows_;
    Index index_;
    bool recording_ = false;
    Key last_{};
    std::vector<std::pair<Key, std::optional<Row>>> undo_;
};

struct MemoryMessage {
    Id id = 0, hostid = 0;
    std::int64_t create_time = 0;
    std::string variety, xml;
    bool handled = false;
};

/// A row of sluice_host_ltt. Tests that only care for the verdict take it for a bool.
struct MemoryTurnaround {
    bool low = false;
    double ratio = 0;
    int jobs = 0;
    MemoryTurnaround(bool is_low = false, double r = 0, int n = 0) : low(is_low), ratio(r), jobs(n) {}
    operator bool() const { return low; }
};

/// A row of sluice_accel_job: see AcceleratedJob.
struct MemoryAcceleratedJob {
    Id batch = 0;
    bool marked = false;
    std::int64_t priority = 0;
    int lent = 0, extra = 0;
    std::int64_t since = 0;
};

/// A row of sluice_gang, with those of sluice_gang_job.
struct MemoryGang {
    int size = 0;
    std::int64_t ended = 0;
    std::map<int, std::string> jobs{};  ///< by member: its workunit's name
};

/// user.authenticator
struct UserIndex : NoIndex {
    std::unordered_map<std::string, IdSet> by_key;
    static bool same_names(const User& a, const User& b) { return a.authenticator == b.authenticator; }
    void add(const User& u) { by_key[u.authenticator].insert(u.id); }
    void remove(const User& u);
};

/// host.userid; of a user's hosts those of one name or CPID; host.expavg_credit
struct HostIndex {
    struct Place {
        std::optional<double> active_speed;  ///< p_fpops; nullopt: its recent credit is too low
        bool operator==(const Place&) const = default;
    };
    using Key = std::pair<Id, std::string>;
    std::vector<double> active_speeds;  ///< ascending: p_fpops of the hosts with expavg_credit > 10
    std::map<Id, IdSet> by_user;
    std::map<Key, IdSet> by_domain_name, by_cpid;  ///< without those that have none
    static Place place(const Host& h) { return {h.expavg_credit > 10 ? std::optional(h.p_fpops) : std::nullopt}; }
    void move(const Host& h, const Place& before, const Place& after);
    static bool same_names(const Host& a, const Host& b) {
        return a.userid == b.userid && a.domain_name == b.domain_name && a.host_cpid == b.host_cpid;
    }
    void add(const Host& h);
    void remove(const Host& h);
};

struct WorkunitIndex {
    struct Place {
        std::int64_t transition_time = kNever;  ///< kNever: it has none
        bool to_validate = false, to_assimilate = false, to_delete = false;
        Id app = 0, batch = 0;
        bool operator==(const Place&) const = default;
    };
    std::set<std::pair<std::int64_t, Id>> due;  ///< (transition_time, id) of those that have one
    std::map<Id, IdSet> to_validate;            ///< by app: need_validate
    std::map<Id, IdSet> to_assimilate;          ///< by app: assimilate_state READY
    IdSet to_delete;                            ///< file_delete_state READY
    std::unordered_map<Id, IdSet> of_batch;     ///< without those of batch 0
    static Place place(const Workunit& w);
    static bool same_names(const Workunit&, const Workunit&) { return true; }
    void enter(Id id, const Place& place);
    void leave(Id id, const Place& place);
    void move(const Workunit& w, const Place& before, const Place& after);
    void add(const Workunit& w) { enter(w.id, place(w)); }
    void remove(const Workunit& w) { leave(w.id, place(w)); }
};

struct ResultIndex {
    struct Place {
        ServerState state = ServerState::kOver;
        Id host = 0, app = 0;
        std::int64_t priority = 0;
        int size_class = 0;
        bool operator==(const Place&) const = default;
    };
    std::unordered_map<Id, std::vector<Id>> of_workunit;       ///< ascending
    std::unordered_map<Id, IdSet> of_batch;                    ///< without those of batch 0
    std::unordered_map<std::string, std::vector<Id>> by_name;  ///< names are unique in a database, not in a test
    std::unordered_map<Id, std::vector<Id>> in_progress_on;    ///< by host, ascending
    std::map<std::int64_t, IdSet> unsent_by_priority;          ///< server_state UNSENT
    std::map<Id, IdSet> unsent_of_app;                         ///< likewise
    std::map<std::pair<Id, int>, IdSet> inactive_of_app;       ///< (app, size class): server_state INACTIVE
    static Place place(const Result& r) { return {r.server_state, r.hostid, r.appid, r.priority, r.size_class}; }
    static bool same_names(const Result& a, const Result& b) {
        return a.workunitid == b.workunitid && a.batch == b.batch && a.name == b.name;
    }
    void enter(Id id, const Place& place);
    void leave(Id id, const Place& place);
    void move(const Result& r, const Place& before, const Place& after);
    void add(const Result& r);
    void remove(const Result& r);
    /// Ascending; empty if there are none.
    const std::vector<Id>& instances(Id workunit) const;
};

/// Ascending, each once.
void sort_out(std::vector<Id>& ids);

struct MemoryDb {
    Table<Id, Platform> platforms;
    Table<Id, App> apps;
    Table<Id, AppVersion> versions;
    Table<Id, User, UserIndex> users;
    Table<Id, Team> teams;
    Table<Id, Host, HostIndex> hosts;
    Table<Id, std::int64_t> host_attempts{}, host_trickle_bytes{}, host_gang_starts{}, host_platforms{},
        host_on_since{};                                         ///< sluice_host_rpc
    Table<std::pair<Id, Id>, HostAppVersion> host_app_versions;  ///< (host, generalized version)
    Table<Id, Workunit, WorkunitIndex> workunits;
    Table<Id, Result, ResultIndex> results;
    Table<Id, Assignment> assignments;
    Table<Id, Batch> batches;
    Table<std::pair<Id, Id>, MemoryTurnaround> low_turnaround;   ///< sluice_host_ltt: (host, generalized version)
    Table<Id, MemoryAcceleratedJob> accelerated_jobs;            ///< sluice_accel_job: by workunit
    Table<std::pair<Id, Id>, std::int64_t> accelerated_results;  ///< sluice_accel_result: (workunit, result)
    Table<Id, BatchPlan> plans{};                                ///< sluice_plan with its rows: 1
    Table<Id, std::pair<Id, double>> reissue_timers{};           ///< sluice_plan_job: result -> batch, time
    Table<Id, FileGroup> file_groups{};                          ///< sluice_file_group, without first and last
    Table<std::pair<Id, Id>, bool> group_workunits{};            ///< sluice_file_group_wu: (group, workunit)
    Table<std::pair<Id, std::int64_t>, MemoryGang> gangs{};      ///< sluice_gang, sluice_gang_job: (batch, number)
    Table<Id, GangLease> gang_leases{};                          ///< sluice_gang_lease: by host, as far as it is stored
    Table<std::pair<Id, std::int64_t>, GangWait> gang_waits{};   ///< sluice_gang_wait
    Table<Id, std::pair<int, int>> gang_hosts{};                 ///< sluice_gang_host: leases kept, and not kept
    std::int64_t gang_version = 1;                               ///< sluice_gang_version
    std::unordered_map<Id, BatchShare> batch_shares;  ///< sluice_share_batch and _stream, as the feeder hands them out
    std::unordered_map<Id, double> stream_heads;      ///< sluice_share_stream.head
    Table<Id, MemoryMessage> from_host, to_host;
    Table<Id, std::pair<std::int64_t, std::int64_t>> account_trickles{};  ///< user: day, bytes

    /// Called at the start of every store verb with "store.verb"; may throw a DbError to inject a fault, or change
    /// rows to play another process that got in between.
    std::function<void(const std::string& verb)> before;
    std::uint64_t verbs = 0;  ///< called up to now
    void enter(const char* verb) {
        ++verbs;
        if (before) before(verb);
    }

    void begin_transaction();
    /// `keep` false: everything that stores wrote since begin_transaction() is undone.
    void end_transaction(bool keep);
};

}  // namespace sluice
