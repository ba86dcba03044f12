// SPDX-License-Identifier: LGPL-3.0-or-later
// What config/project/entry/embed.cmake makes of a program of any length.
#include <gtest/gtest.h>

#include "config/project/entry/bytes.h"
#include "sluice/base/files.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

TEST(EmbeddedEntry, HasAllBytesOfItsFile) {
    const std::string text = read_file(source_dir() + "/tests/unit/project/embedded.txt").value();
    ASSERT_NE(text.size() % 8, 0u);
    EXPECT_EQ(entry_program(), text);
}

}  // namespace
}  // namespace sluice::test
