// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "tests/support/fake_db.h"

namespace sluice::test {

/// Every row that a scheduler RPC may touch, one line each: for comparing a database in memory with a real one.
std::string rows_text(const FakeDb& db);

}  // namespace sluice::test
