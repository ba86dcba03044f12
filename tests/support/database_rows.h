// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The rows of a FakeDb in a real database, and back: a contract suite prepares a FakeDb, runs a verb on a copy of it
// and on MariaDB, and compares the rows that are there afterwards.
#include "sluice/db/database.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

/// Inserts every row of `rows`, with the ids that they have. Columns that the records do not hold get 0 or ''.
void store_rows(Database& db, const FakeDb& rows);
/// Everything that is in the database.
FakeDb load_rows(Database& db);

}  // namespace sluice::test
