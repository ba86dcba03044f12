// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/gang_wait.h"

namespace sluice {

/// Of a workunit `w`, as is_whole() has it.
inline constexpr SqlLiteral kCutWorkunit{"w.xml_doc NOT LIKE '%<workunit>%</workunit>%'"};

/// Rows of sluice_gang_wait for which `where` (and what follows it) holds; without the table there are none.
std::vector<GangWait> read_gang_waits(Database& db, const Sql& where);

}  // namespace sluice
