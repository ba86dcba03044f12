// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <memory>

#include "sluice/db/database.h"
#include "sluice/db/rpc_stores.h"

namespace sluice {

/// The stores of a scheduler RPC over one connection, which must outlive them.
class MysqlRpcStores {
  public:
    explicit MysqlRpcStores(Database& db);
    ~MysqlRpcStores();
    RpcStores stores();

  private:
    std::unique_ptr<AccountStore> accounts_;
    std::unique_ptr<HostStateStore> host_states_;
    std::unique_ptr<RpcResultStore> results_;
    std::unique_ptr<AssignmentStore> assignments_;
    std::unique_ptr<UnitOfWork> unit_of_work_;
};

}  // namespace sluice
