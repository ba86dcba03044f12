// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/db/account_store.h"
#include "sluice/db/assignment_store.h"
#include "sluice/db/host_state_store.h"
#include "sluice/db/rpc_result_store.h"
#include "sluice/db/unit_of_work.h"

namespace sluice {

/// All that one scheduler RPC asks of the database.
struct RpcStores {
    AccountStore& accounts;
    HostStateStore& host_states;
    RpcResultStore& results;
    AssignmentStore& assignments;
    UnitOfWork& unit_of_work;
};

}  // namespace sluice
