// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/golden/golden_rows.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace sluice::test {

namespace fs = std::filesystem;

std::string unpacked(const fs::path& path) {
    const gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) return "(no " + path.string() + ")";
    std::string text;
    char block[65536];
    for (int n = 0; (n = gzread(file, block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
    gzclose(file);
    return text;
}

DbSettings load_golden_rows(const std::string& database) {
    DbSettings settings = PrivateMariaDb::shared().create_project_database(database);
    std::vector<std::string> client = PrivateMariaDb::shared().client_command();
    client.insert(client.end(), {"--default-character-set=utf8mb4", database});
    // Of the web site.
    const std::string badges =
        "SET SESSION sql_mode=''; CREATE TABLE badge (id int, create_time double, type int, name text, title text, "
        "description text, image_url text, level text, tags text, sql_rule text); CREATE TABLE badge_user (badge_id int, "
        "user_id int, create_time double, reassign_time double); CREATE TABLE badge_team (badge_id int, team_id int, "
        "create_time double, reassign_time double);\n";
    const RunResult r =
        run(client, {.stdin_text = badges + unpacked(fs::path(source_dir()) / "tests/db/golden/rows.sql.gz")});
    EXPECT_EQ(r.status, 0) << r.err;
    return settings;
}

}  // namespace sluice::test
