// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Tables that upstream's schema does not have: made by the program that fills them.
#include <initializer_list>

#include "sluice/db/database.h"

namespace sluice {

struct OwnTable {
    SqlLiteral name, columns;  ///< "sluice_…", what stands between the brackets of CREATE TABLE
};

/// Makes those that are not there, and sends no statement that could make a table for the others: on a cluster each
/// such one stops all nodes, and a node that dies within it needs a copy of the whole database before it is back. Not
/// within a transaction, which that would commit.
void make_tables(Database& db, std::initializer_list<OwnTable> tables);

}  // namespace sluice
