// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A made-up project's rows, rows.sql.gz: 200 users, 25 teams, 250 hosts, 300 workunits. Its clock stood at 1800000000.
#include <filesystem>
#include <string>

#include "tests/support/private_mariadb.h"

namespace sluice::test {

/// The content of a file in gzip's format; "(no PATH)" if it isn't there.
std::string unpacked(const std::filesystem::path& path);
/// Makes the database anew.
DbSettings load_golden_rows(const std::string& database);

}  // namespace sluice::test
