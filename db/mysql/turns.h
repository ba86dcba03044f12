// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Transactions of which one at a time is to commit. A lock of a row holds on one node of a cluster; two that both write
// a row can't both commit, wherever they are. So each first counts its turn in a row of `sluice_marks`. On one server
// the next one waits there. On another node it learns of it at its commit at the latest, and does its work again.
#include <functional>
#include <string>

#include "sluice/db/database.h"

namespace sluice {

/// Database::transaction() for `work`, alone among those of that name (at most 40 characters). Makes the table if it is
/// not there. Not within a transaction.
void transaction_in_turn(Database& db, const std::string& name, const std::function<void()>& work);

/// Makes `sluice_marks`. Not within a transaction.
void make_marks(Database& db);
/// Its row `name` (at most 40 characters) has this value from now on. The table is there.
void set_mark(Database& db, const std::string& name, Id value);
/// 0: it has none.
Id read_mark(Database& db, const std::string& name);

/// No batch below it is new or in progress, but for those that were opened again long after they were over.
Id first_open_batch(Database& db);
inline constexpr const char* kFirstOpenBatch = "batch_floor";  ///< the mark, which batch_upkeep moves
/// Batches below the mark that are read nevertheless. So few rows cost nothing, and a batch that an admin opens again
/// soon after is seen.
inline constexpr Id kMarkSlack = 5000;

}  // namespace sluice
