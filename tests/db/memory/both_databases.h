// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One set of rows in memory and in a real MariaDB: what the same verbs say on both, and the rows that they leave.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {

class BothDatabases : public testing::Test {
  protected:
    static Database& database() {
        static Database db(PrivateMariaDb::shared().create_project_database("both"));
        return db;
    }
    /// `text` makes the rows comparable.
    void same_on_both(const std::function<std::string(MemoryDb&)>& in_memory,
                      const std::function<std::string(Database&)>& on_mariadb,
                      const std::function<std::string(const FakeDb&)>& text) {
        FakeDb mine = rows;
        truncate_all_tables(database());
        store_rows(database(), rows);
        const std::string said = in_memory(mine.memory);
        EXPECT_EQ(said, on_mariadb(database()));
        EXPECT_EQ(text(mine), text(load_rows(database())));
        EXPECT_FALSE(said.empty());
    }

    FakeDb rows;
};

}  // namespace sluice::test
