#pragma once
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/gang_wait.h"

namespace sluice {

/// Rows of sluice_gang_wait for which `where` (and what follows it) holds; without the table there are none.
std::vector<GangWait> read_gang_waits(Database& db, const Sql& where);

}  // namespace sluice
