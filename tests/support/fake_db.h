#pragma once
// A small real database in memory: the rows that stores work on. Each store has a fake over these maps
// (tests/support/fake_*_store.h); the contract suites of tests/db run on the fake and on a real MariaDB alike.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/records.h"

namespace sluice::test {

struct FakeMessage {
    Id id = 0, hostid = 0;
    std::int64_t create_time = 0;
    std::string variety, xml;
    bool handled = false;
};

struct FakeDb {
    std::map<Id, Platform> platforms;
    std::map<Id, App> apps;
    std::map<Id, AppVersion> versions;
    std::map<Id, User> users;
    std::map<Id, Team> teams;
    std::map<Id, Host> hosts;
    std::map<Id, std::int64_t> host_attempts{}, host_trickle_bytes{}, host_gang_starts{};  ///< sluice_host_rpc
    std::map<Id, Id> gang_leases{};  ///< sluice_gang_lease: the workunit that a host is given
    std::map<std::pair<Id, Id>, HostAppVersion> host_app_versions;  ///< (host, generalized version)
    std::map<Id, Workunit> workunits;
    std::map<Id, Result> results;
    std::map<Id, Assignment> assignments;
    std::map<Id, Batch> batches;
    std::map<std::pair<Id, Id>, bool>
        low_turnaround;                     ///< sluice_host_ltt: (host, generalized version); not in store_rows()
    std::map<Id, FileGroup> file_groups{};  ///< sluice_file_group, without first and last
    std::set<std::pair<Id, Id>> group_workunits{};  ///< sluice_file_group_wu: (group, workunit)
    std::map<Id, FakeMessage> from_host, to_host;
    std::map<Id, std::pair<std::int64_t, std::int64_t>> account_trickles{};  ///< user: day, bytes

    /// Called at the start of every store verb with "store.verb"; may throw a DbError to inject a fault, or change
    /// rows to play another process that got in between.
    std::function<void(const std::string& verb)> before;
    std::uint64_t verbs = 0;
    void enter(const std::string& verb) {
        ++verbs;
        if (before) before(verb);
    }

    template <typename Map>
    static Id next_id(const Map& rows) {
        return rows.empty() ? 1 : rows.rbegin()->first + 1;
    }
};

}  // namespace sluice::test
