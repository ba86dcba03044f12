// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <memory>

#include "sluice/db/database.h"
#include "sluice/db/rpc_stores.h"

namespace sluice {

std::unique_ptr<AccountStore> make_account_store(Database& db);
std::unique_ptr<HostStateStore> make_host_state_store(Database& db);
std::unique_ptr<RpcResultStore> make_rpc_result_store(Database& db);
std::unique_ptr<AssignmentStore> make_assignment_store(Database& db);

}  // namespace sluice
