// SPDX-License-Identifier: LGPL-3.0-or-later
// A folder that is opened once: what takes its place by name gets nothing.
#include "config/project/make_project/open_folder.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "tests/support/named_files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

unsigned mode_of(const fs::path& file) { return static_cast<unsigned>(fs::status(file).permissions()); }

TEST(OpenFolder, WhatIsPutInItsPlaceGetsNothing) {
    const TempDir dir;
    fs::create_directories(dir / "project/bin");
    fs::create_directories(dir / "elsewhere");
    const OpenFolder bin = OpenFolder(dir / "project").folder("bin");
    fs::rename(dir / "project/bin", dir / "project/moved");
    fs::create_directory_symlink(dir / "elsewhere", dir / "project/bin");
    bin.put_file("feeder", "program", 0555);
    bin.put_link("stop", "start");
    bin.make_folder("cgi.old");
    EXPECT_TRUE(fs::is_empty(dir / "elsewhere"));
    EXPECT_EQ(read_file(dir / "project/moved/feeder"), "program");
    EXPECT_EQ(mode_of(dir / "project/moved/feeder"), 0555u);
    EXPECT_EQ(bin.names(), (std::vector<std::string>{"cgi.old", "feeder", "stop"}));
}

/// A web server may start it at any moment.
TEST(OpenFolder, AProgramIsClosedBeforeItIsNamed) {
    const TempDir dir;
    NamedFiles files({dir.path()});
    const OpenFolder bin(dir.path());
    bin.put_file("cgi", "program", 0555);
    bin.put_file("cgi", "another", 0555);
    EXPECT_TRUE(files.named().contains(dir / "cgi"));
    EXPECT_TRUE(files.open_in_place().empty());
}

TEST(OpenFolder, ReplacesFilesAndLinksButNoFolder) {
    const TempDir dir;
    const fs::path other = dir.write("other", "installed");
    fs::create_directories(dir / "bin/folder");
    fs::create_symlink(other, dir / "bin/link");
    fs::create_symlink(other, dir / "bin/.link.new");  // an earlier call was ended, or somebody means harm
    const OpenFolder bin(dir / "bin");
    EXPECT_EQ(bin.text_of("link", 100), "") << "a link is none";
    bin.put_file("link", "entry", 0555);
    EXPECT_EQ(read_file(other), "installed");
    EXPECT_EQ(bin.text_of("link", 100), "entry");
    EXPECT_EQ(bin.text_of("link", 4), "") << "longer";
    bin.put_file("link", "again", 0555);
    EXPECT_EQ(bin.text_of("link", 100), "again");
    EXPECT_THROW(bin.put_file("folder", "x", 0555), FileError);
    bin.make_folder("folder");
    EXPECT_FALSE(bin.look_at("nothing").has_value());
    EXPECT_THROW(OpenFolder(dir / "nothing"), FileError);
    EXPECT_THROW(OpenFolder(dir.path()).folder("other"), FileError);
}

}  // namespace
}  // namespace sluice::test
