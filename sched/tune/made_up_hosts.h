// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hosts that no table holds, for made-up requests. They differ as volunteers' machines do: of all platforms that the
// project serves, with speeds on both sides of its size classes.
#include <map>

#include "sluice/base/rng.h"
#include "sluice/db/account_store.h"
#include "sluice/db/host_state_store.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/resource_of.h"

namespace sluice {

struct MadeUpHost {
    HostAndAccount found;
    HostState state;
    std::string platform;
};
/// By id.
using MadeUpHosts = std::map<Id, MadeUpHost>;

/// The same hosts for the same seed and tables. Throws Error if the project has no app version.
MadeUpHosts make_up_hosts(int count, const ProjectTables& tables, const ResourceOf& resource, std::int64_t now,
                          Rng& rng);

/// The stores of a dry run, with the made-up hosts among the stored ones. Writes are refused.
class AccountsWithMadeUp final : public AccountStore {
  public:
    AccountsWithMadeUp(AccountStore& stored, const MadeUpHosts& made_up) : stored_(stored), made_up_(made_up) {}
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
    const MadeUpHosts& made_up_;
};

class StatesWithMadeUp final : public HostStateStore {
  public:
    StatesWithMadeUp(HostStateStore& stored, const MadeUpHosts& made_up) : stored_(stored), made_up_(made_up) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;
    void change_versions(Id, bool, std::span<const VersionChange>) override;
    void insert_messages(Id, std::int64_t, std::span<const MessageFromHost>) override;
    std::int64_t trickle_bytes(const AccountDay& account) override { return stored_.trickle_bytes(account); }
    void add_trickle_bytes(const AccountDay&, std::int64_t) override;
    void mark_delivered(std::span<const Id>) override;

  private:
    HostStateStore& stored_;
    const MadeUpHosts& made_up_;
};

}  // namespace sluice
