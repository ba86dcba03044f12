// SPDX-License-Identifier: LGPL-3.0-or-later
// A census file that can't be read: what was read before holds, and it is read as soon as that is possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "feeder/census_reader.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using test::TempDir;
using testing::ElementsAre;
using testing::HasSubstr;

/// Rights leave no trace in a file's time; a folder in its place can't be read by root either.
TEST(CensusReader, WhatWasReadHoldsWhileUnreadable) {
    TempDir dir;
    ProjectTables tables;
    tables.apps.resize(1);
    tables.apps[0].id = 1, tables.apps[0].name = "a", tables.apps[0].n_size_classes = 3;
    const auto file = dir.write("size_census_a", "1\n2\n");
    CensusReader reader(dir.path());
    reader.read(tables);
    std::filesystem::rename(file, dir / "away");
    std::filesystem::create_directory(file);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
        reader.read(tables);
        EXPECT_THAT(tables.size_quantiles.at(1), ElementsAre(1, 2));
        EXPECT_FALSE(reader.changed(tables.apps)) << "nothing is loaded anew meanwhile";
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("what was read of it before is used"));
    std::filesystem::remove(file);
    std::filesystem::rename(dir / "away", file);
    EXPECT_TRUE(reader.changed(tables.apps));
    // Everybody may write it: not read; a change of its mode alone mends that.
    CensusReader later(dir.path());
    std::filesystem::permissions(file, std::filesystem::perms(0666));
    later.read(tables);
    EXPECT_EQ(tables.size_quantiles.count(1), 0u);
    EXPECT_FALSE(later.changed(tables.apps));
    std::filesystem::permissions(file, std::filesystem::perms(0644));
    EXPECT_TRUE(later.changed(tables.apps));
    later.read(tables);
    EXPECT_THAT(tables.size_quantiles.at(1), ElementsAre(1, 2));
}

}  // namespace
}  // namespace sluice
