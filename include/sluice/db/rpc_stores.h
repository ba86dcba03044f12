// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <functional>

#include "sluice/db/account_store.h"
#include "sluice/db/assignment_store.h"
#include "sluice/db/host_state_store.h"
#include "sluice/db/rpc_result_store.h"

namespace sluice {

/// One database transaction. Writes of stores that are made inside `work` are kept all or none.
class UnitOfWork {
  public:
    virtual ~UnitOfWork() = default;
    /// Commits when `work` returns. Any exception of `work` rolls back and goes on up; a deadlock repeats `work`.
    /// `took_place` is asked if the answer to the COMMIT was lost: did it take place? See Database::transaction().
    virtual void run(const std::function<void()>& work, const std::function<bool()>& took_place) = 0;
    /// The same for `work` that writes with one statement, which is a transaction by itself: saves BEGIN and COMMIT
    /// where a database can.
    virtual void run_one(const std::function<void()>& work, const std::function<bool()>& took_place) {
        run(work, took_place);
    }
};

/// All that one scheduler RPC asks of the database.
struct RpcStores {
    AccountStore& accounts;
    HostStateStore& host_states;
    RpcResultStore& results;
    AssignmentStore& assignments;
    UnitOfWork& unit_of_work;
};

}  // namespace sluice
