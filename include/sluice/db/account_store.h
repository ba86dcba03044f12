// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Accounts and hosts as a scheduler RPC needs them: who is asking, and from which machine.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/host.h"
#include "sluice/model/platform_set.h"
#include "sluice/model/user.h"

namespace sluice {

class Database;

struct Account {
    User user;
    Team team;  ///< id 0: none
};
/// A host as it is stored.
struct StoredHost : Host {
    /// Which attempt of which scheduler RPC wrote the row last: a random number, kept in `sluice_host_rpc` (one row a
    /// host, made by its first RPC that Sluice handles). nullopt: there is none yet.
    std::optional<std::int64_t> attempt{};
    /// What was stored of its trickle messages on the day of rpc_time; kept beside the attempt.
    std::int64_t trickle_bytes = 0;
    /// UNIX s at which it is to come for a member of a gang, 0: never; kept there by gang_planner. The scheduler only
    /// reads it.
    std::int64_t gang_start = 0;
    /// What it can run, as a set of platform_bit(); kept there for gang_planner. The scheduler only writes it.
    std::int64_t platforms = kAnyPlatform;
    /// UNIX s since when its client runs; 0: it does not say. Kept there for gang_planner, too.
    std::int64_t on_since = 0;
};
struct HostAndAccount {
    StoredHost host;                 ///< userid 0: merged into the host with id `rpc_seqno`
    std::optional<Account> account;  ///< nullopt: the owner's row is gone
    /// The host's rows of host_app_version, if they were asked for and the store can read them along; nullopt:
    /// HostStateStore::load() has them.
    std::optional<std::vector<HostAppVersion>> versions{};
};

/// A machine that may already be known under another host id.
struct MachineQuery {
    Id userid = 0;
    std::string hashed_cpid;  ///< empty: not looked for
    /// Upstream's marks of one and the same machine; looked for only if all four texts are given.
    std::string domain_name, last_ip_addr, os_name, p_model;
    double m_nbytes = 0;
    bool by_description = true;
    /// How many hosts the account may have made since then; 0: any number.
    int most_new = 0;
    std::int64_t new_since = 0;
};
struct KnownMachines {
    std::optional<StoredHost> by_cpid, by_description;  ///< the newest of each
    bool too_many_new = false;
};

/// What of a user's row a client's request may change; nullopt: left alone.
struct UserChange {
    std::optional<std::string> cross_project_id, global_prefs;
    std::string global_prefs_before{};  ///< new ones are stored only if these are there still: two hosts may send some
    bool any() const { return cross_project_id || global_prefs; }
};

class AccountStore {
  public:
    virtual ~AccountStore() = default;
    /// One statement.
    virtual std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions = false) = 0;
    virtual std::optional<Account> account_by_key(std::string_view authenticator) = 0;
    virtual std::optional<Account> account_by_id(Id userid) = 0;
    virtual KnownMachines known_machines(const MachineQuery& query) = 0;
    /// Inserts `host` unless `same` (if not null) now finds a machine: two first contacts at a time make one host.
    /// In a transaction, before anything was read in it. Returns the new id; 0: a machine was found, roll back and look
    /// again.
    virtual Id insert_host(const StoredHost& host, const MachineQuery* same) = 0;
    /// Writes the columns that differ and that the scheduler owns (never credit, averages, max_results_day,
    /// error_rate), `after.attempt`, trickle_bytes and (in MySQL) platforms. `change` goes to the row of `userid` in
    /// the same statement. `outdated` is called if another RPC of this host was quicker (attempt, rpc_time or rpc_seqno
    /// are no longer those of `before`): at once, or at the latest before COMMIT. Within a transaction it throws.
    virtual void update_host(const StoredHost& before, const StoredHost& after, Id userid, const UserChange& change,
                             const std::function<void()>& outdated) = 0;
    /// For a host that was inserted.
    virtual void update_user(Id userid, const UserChange& change) = 0;
    /// Outside a transaction: was the host's row written by this attempt? Waits for one that is still open.
    virtual bool written_by(Id hostid, std::int64_t attempt) = 0;
};

/// Makes `sluice_host_rpc`, where StoredHost::attempt is kept, if it is missing, with a row for each host. The feeder
/// does it when it starts, so that it costs no request anything; the store makes the table where it is missing all the
/// same.
void prepare_host_attempts(Database& db);

}  // namespace sluice
