// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/db/database.h"

namespace sluice {

/// For readers: until drop_snapshot() every SELECT of the connection sees the database as it is now. It holds nobody
/// up. Not within a transaction. After a lost connection each statement sees the state of its own moment again. Throws
/// DbError.
void take_snapshot(Database& db);
void drop_snapshot(Database& db);

}  // namespace sluice
