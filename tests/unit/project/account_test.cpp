// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/add_rows.h"

#include <crypt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/base/hash.h"

namespace sluice {
namespace {

TEST(Account, HasKeysOfItsOwn) {
    const User a = new_account("A@Example.org", "A", "", 5), b = new_account("b@example.org", "B", "", 5);
    EXPECT_THAT(a.authenticator, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_THAT(a.cross_project_id, testing::MatchesRegex("[0-9a-f]{32}"));
    EXPECT_NE(a.authenticator, b.authenticator);
    EXPECT_NE(a.authenticator, a.cross_project_id);
    EXPECT_EQ(a.email_addr, "A@Example.org");
    EXPECT_EQ(a.create_time, 5);
}

TEST(Account, PasswordIsStoredAsTheWebSiteDoes) {
    const std::string stored = stored_password("Me@Example.org", "secret");
    EXPECT_TRUE(stored.starts_with("$2y$10$"));
    crypt_data data{};
    EXPECT_EQ(std::string(crypt_r(md5_hex("secretme@example.org").c_str(), stored.c_str(), &data)), stored);
    EXPECT_NE(stored, stored_password("Me@Example.org", "secret"));  // salted
}

TEST(Account, ImpossibleOnesAreRefused) {
    for (const char* email : {"", "a", "@b", "a@", "a b@c", "a@b\n"}) {
        EXPECT_THROW(new_account(email, "n", "", 0), ConfigError) << email;
    }
    for (const char* name : {"", " n", "<b>", "a\nb"})
        EXPECT_THROW(new_account("a@b", name, "", 0), ConfigError) << name;
}

}  // namespace
}  // namespace sluice
