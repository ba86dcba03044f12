// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hosts that no table holds, for made-up requests. They differ as volunteers' machines do: of all platforms that the
// project serves, with speeds on both sides of its size classes.
#include <map>

#include "sched/explain/read_only_stores.h"
#include "sluice/base/rng.h"
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
class AccountsWithMadeUp final : public ReadOnlyAccounts {
  public:
    AccountsWithMadeUp(AccountStore& stored, const MadeUpHosts& made_up)
        : ReadOnlyAccounts(stored), made_up_(made_up) {}
    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override;

  private:
    const MadeUpHosts& made_up_;
};

class StatesWithMadeUp final : public ReadOnlyHostStates {
  public:
    StatesWithMadeUp(HostStateStore& stored, const MadeUpHosts& made_up)
        : ReadOnlyHostStates(stored), made_up_(made_up) {}
    HostState load(Id hostid, bool with_messages, bool with_turnaround) override;

  private:
    const MadeUpHosts& made_up_;
};

}  // namespace sluice
