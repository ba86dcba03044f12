#pragma once
// Accounts and hosts as a scheduler RPC needs them: who is asking, and from which machine.
#include <optional>
#include <string>
#include <string_view>

#include "sluice/model/records.h"

namespace sluice {

struct Account {
    User user;
    Team team;  ///< id 0: none
};
struct HostAndAccount {
    Host host;                       ///< userid 0: merged into the host with id `rpc_seqno`
    std::optional<Account> account;  ///< nullopt: the owner's row is gone
};

/// A machine that may already be known under another host id.
struct MachineQuery {
    Id userid = 0;
    std::string hashed_cpid;  ///< empty: not looked for
    /// Upstream's marks of one and the same machine; looked for only if all four texts are given.
    std::string domain_name, last_ip_addr, os_name, p_model;
    double m_nbytes = 0;
    bool by_description = true;
};
struct KnownMachines {
    std::optional<Host> by_cpid, by_description;  ///< the newest of each
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
    virtual std::optional<HostAndAccount> host_and_account(Id hostid) = 0;
    virtual std::optional<Account> account_by_key(std::string_view authenticator) = 0;
    virtual std::optional<Account> account_by_id(Id userid) = 0;
    virtual KnownMachines known_machines(const MachineQuery& query) = 0;
    /// Inserts `host` unless `same` (if not null) now finds a machine: two first contacts at a time make one host.
    /// Returns the new id; 0: a machine was found, look again.
    virtual Id insert_host(const Host& host, const MachineQuery* same) = 0;
    /// Writes the columns that differ and that the scheduler owns (never credit, averages, max_results_day,
    /// error_rate). `change` goes to the row of `userid` in the same statement. False: another RPC of this host was
    /// quicker (its rpc_time or rpc_seqno is no longer that of `before`), nothing was written.
    virtual bool update_host(const Host& before, const Host& after, Id userid, const UserChange& change) = 0;
    /// For a host that was inserted.
    virtual void update_user(Id userid, const UserChange& change) = 0;
};

}  // namespace sluice
