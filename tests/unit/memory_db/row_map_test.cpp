// SPDX-License-Identifier: LGPL-3.0-or-later
// The simulator's rows and sets of ids against the standard library's.
#include "db/memory/row_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "db/memory/id_set.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

/// Ids as databases give them out, and some that are far away.
Id some_id(std::mt19937& random) {
    const Id near = static_cast<Id>(random() % 9000);
    switch (random() % 8) {
        case 0: return -near;
        case 1: return 5'000'000'000 + near;
        default: return near;
    }
}

TEST(RowMap, DoesWhatAStdMapDoes) {
    std::mt19937 random(7);
    std::map<Id, std::string> right;
    RowMap<std::string> rows;
    for (int i = 0; i < 20000; ++i) {
        const Id id = some_id(random);
        const std::string text = std::to_string(i) + " is longer than a short string";
        switch (random() % 4) {
            case 0: EXPECT_EQ(rows.erase(id), right.erase(id)); break;
            case 1: EXPECT_EQ(rows.try_emplace(id, text), right.try_emplace(id, text).first->second); break;
            case 2: rows.try_emplace(id) = text, right[id] = text; break;
            default: EXPECT_EQ(rows.get(id) == nullptr, !right.contains(id));
        }
        ASSERT_EQ(rows.size(), right.size());
    }
    const auto both = [&](const RowMap<std::string>& map) {
        EXPECT_THAT(std::vector(map.begin(), map.end()), ElementsAreArray(right.begin(), right.end()));
    };
    both(rows);
    for (const Id id : {-9000, -70, 0, 63, 64, 4000, 8999, 20000}) {
        const auto at = rows.upper_bound(id);
        const auto expected = right.upper_bound(id);
        ASSERT_EQ(at == rows.end(), expected == right.end()) << id;
        if (expected == right.end()) continue;
        EXPECT_EQ(at->first, expected->first) << id;
    }
    RowMap<std::string> moved = std::move(rows);
    both(moved);
    for (const auto& [id, text] : right) moved.erase(id);
    EXPECT_TRUE(moved.empty());
    EXPECT_TRUE(moved.begin() == moved.end());
}

TEST(RowMap, RowsStayWhereTheyAre) {
    RowMap<std::string> rows;
    const std::string* first = &rows.try_emplace(1000, "first");
    for (Id id = 0; id < 5000; ++id) rows.try_emplace(id, "another");
    for (Id id = 0; id < 5000; id += 2)
        if (id != 1000) rows.erase(id);
    EXPECT_EQ(rows.get(1000), first);
    EXPECT_EQ(*first, "first");
    EXPECT_TRUE(rows.find(2) == rows.end());
}

TEST(IdSet, DoesWhatAStdSetDoes) {
    std::mt19937 random(8);
    std::set<Id> right;
    IdSet ids;
    for (int i = 0; i < 20000; ++i) {
        const Id id = some_id(random);
        if (random() % 2 == 0)
            EXPECT_EQ(ids.insert(id), right.insert(id).second);
        else
            ids.erase(id), right.erase(id);
        ASSERT_EQ(ids.size(), right.size());
    }
    EXPECT_THAT(std::vector<Id>(ids.begin(), ids.end()), ElementsAreArray(right));
    for (const Id id : {-9000, -1, 0, 62, 63, 64, 4095, 4096, 8999, 20000}) {
        const auto at = ids.upper_bound(id);
        const auto expected = right.upper_bound(id);
        ASSERT_EQ(at == ids.end(), expected == right.end()) << id;
        if (expected == right.end()) continue;
        EXPECT_EQ(*at, *expected) << id;
    }
    for (const Id id : right) ids.erase(id);
    EXPECT_TRUE(ids.empty());
    EXPECT_TRUE(ids.begin() == ids.end());
    ids.insert(4095), ids.insert(4096);
    EXPECT_THAT(std::vector<Id>(ids.begin(), ids.end()), ElementsAre(4095, 4096));
}

}  // namespace
}  // namespace sluice
