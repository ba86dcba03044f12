// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The version of the tables sluice_*: a row of sluice_marks, that is written when the first of them is made. Those of
// release 0.2.0 have none, and that is version 1.
#include <functional>
#include <optional>
#include <string>

#include "sluice/db/database.h"

namespace sluice {

inline constexpr int kOldestTables = 1, kCurrentTables = 2;

struct TablesVersion {
    bool any = false;             ///< one of the tables is there
    int number = kCurrentTables;  ///< without any: that of the tables that programs will make
};

/// Reads only. Throws DbError.
TablesVersion tables_version(Database& db);
/// For people: of an account that may not read it, nothing is known.
std::optional<TablesVersion> readable_tables_version(Database& db);

/// Throws ConfigError, with what to do, if these programs do not know tables of that version; DbError if the database
/// is away, or cannot answer now: who works with the tables asks again first. Of older ones that they work with it says
/// so in the log. An account that may not read the version is not kept from its work.
void require_known_tables(Database& db);

/// Is told each statement before it is sent. False: it is not sent.
using TellStatement = std::function<bool(const std::string&)>;

/// Brings the tables from `from` to `to`, a version at a time, both from kOldestTables to kCurrentTables. Each
/// statement may be repeated, and the version is written last: after a kill, the same call does what is left.
void change_tables(Database& db, int from, int to, const TellStatement& tell);

}  // namespace sluice
