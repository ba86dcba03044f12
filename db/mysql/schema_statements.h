// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The statements of db/schema.sql as literals of the program: schema_to_cpp writes the .cpp at build time.
#include <cstddef>

#include "sluice/db/sql.h"

namespace sluice {

extern const std::size_t kSchemaStatementCount;
Sql schema_statement(std::size_t index);

}  // namespace sluice
