#pragma once
// A small real database in memory: the rows that stores work on. Each store of include/sluice/db has one over these
// tables (db/memory/*_store.h); the contract suites of tests/db run on it and on MariaDB alike. For the simulator, and
// for tests. One thread.
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/memory/table.h"
#include "sluice/base/error.h"
#include "sluice/model/records.h"

namespace sluice {

struct MemoryMessage {
    Id id = 0, hostid = 0;
    std::int64_t create_time = 0;
    std::string variety, xml;
    bool handled = false;
};

/// user.authenticator
struct UserIndex {
    std::unordered_map<std::string, std::set<Id>> by_key;
    void add(const User& u) { by_key[u.authenticator].insert(u.id); }
    void remove(const User& u) {
        if (const auto at = by_key.find(u.authenticator); at != by_key.end()) at->second.erase(u.id);
    }
};

/// host.userid
struct HostIndex {
    std::unordered_map<Id, std::set<Id>> by_user;
    void add(const Host& h) { by_user[h.userid].insert(h.id); }
    void remove(const Host& h) { by_user[h.userid].erase(h.id); }
};

struct WorkunitIndex {
    std::set<std::pair<std::int64_t, Id>> due;  ///< (transition_time, id) of those that have one
    std::map<Id, std::set<Id>> to_validate;     ///< by app: need_validate
    std::map<Id, std::set<Id>> to_assimilate;   ///< by app: assimilate_state READY
    std::set<Id> to_delete;                     ///< file_delete_state READY
    std::map<Id, std::set<Id>> of_batch;        ///< without those of batch 0
    void add(const Workunit& w);
    void remove(const Workunit& w);
};

struct ResultIndex {
    std::unordered_map<Id, std::vector<Id>> of_workunit;         ///< ascending
    std::unordered_map<std::string, std::vector<Id>> by_name;    ///< names are unique in a database, not in a test
    std::unordered_map<Id, std::vector<Id>> in_progress_on;      ///< by host, ascending
    std::map<std::int64_t, std::set<Id>> unsent_by_priority;     ///< server_state UNSENT
    std::map<Id, std::set<Id>> unsent_of_app;                    ///< likewise
    std::map<std::pair<Id, int>, std::set<Id>> inactive_of_app;  ///< (app, size class): server_state INACTIVE
    void add(const Result& r);
    void remove(const Result& r);
    /// Ascending; empty if there are none.
    const std::vector<Id>& instances(Id workunit) const;
};

struct MemoryDb {
    Table<Id, Platform> platforms;
    Table<Id, App> apps;
    Table<Id, AppVersion> versions;
    Table<Id, User, UserIndex> users;
    Table<Id, Team> teams;
    Table<Id, Host, HostIndex> hosts;
    Table<Id, std::int64_t> host_attempts{};                     ///< sluice_host_rpc
    Table<std::pair<Id, Id>, HostAppVersion> host_app_versions;  ///< (host, generalized version)
    Table<Id, Workunit, WorkunitIndex> workunits;
    Table<Id, Result, ResultIndex> results;
    Table<Id, Assignment> assignments;
    Table<Id, Batch> batches;
    Table<std::pair<Id, Id>, bool> low_turnaround;  ///< sluice_host_ltt: (host, generalized version)
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

    template <typename Rows>
    static Id next_id(const Rows& rows) {
        return rows.next_key();
    }
};

}  // namespace sluice
