// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/hash.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

TEST(Md5, ValuesOfRfc1321) {
    EXPECT_EQ(md5_hex(""), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(md5_hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    EXPECT_EQ(md5_hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
              "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, OfAFileIsThatOfItsText) {
    const test::TempDir dir;
    const std::string text(1'000'003, 'q');  // more than one block, and not a multiple of it
    EXPECT_EQ(md5_hex_of_file(dir.write("f", text)), md5_hex(text));
    EXPECT_EQ(md5_hex_of_file(dir.write("empty", "")), md5_hex(""));
    for (const std::size_t size : {1, 4095, 4096, 4097, (256 << 10) - 1, 256 << 10, (256 << 10) + 1}) {
        const std::string some(size, 'r');
        EXPECT_EQ(md5_hex_of_file(dir.write("f", some)), md5_hex(some)) << size;
    }
    EXPECT_THROW(md5_hex_of_file(dir / "none"), FileError);
    EXPECT_THROW(md5_hex_of_file(dir.path()), FileError);
}

TEST(RandomHex, HasTheLengthAskedForAndDiffers) {
    EXPECT_EQ(random_hex(16).size(), 32u);
    EXPECT_EQ(random_hex(16).find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_NE(random_hex(16), random_hex(16));
    EXPECT_EQ(random_hex(0), "");
    EXPECT_EQ(random_hex(1000).size(), 2000u);
}

}  // namespace
}  // namespace sluice
