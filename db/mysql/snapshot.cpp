// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/snapshot.h"

#include <stdexcept>

namespace sluice {

/// The server's default may be READ COMMITTED, which has no snapshot.
void take_snapshot(Database& db) {
    if (db.in_transaction()) throw std::logic_error("a snapshot within a transaction");
    db.execute(Sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"));
    db.execute(Sql("START TRANSACTION WITH CONSISTENT SNAPSHOT"));
}

void drop_snapshot(Database& db) { db.execute(Sql("ROLLBACK")); }

}  // namespace sluice
