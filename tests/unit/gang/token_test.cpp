#include "daemons/gang_hub/gang_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

std::string well_known_secret() {
    std::string secret;
    for (int i = 0; i < 4; ++i) secret += "0123456789abcdef";
    return secret;
}

TEST(GangToken, IsTheKeyedHashOfThePlace) {
    // hmac.new(b"0123456789abcdef" * 4, b"gang 12.0 member 3", "sha256") of Python.
    const std::string token = "8833daaf198c0d36ab74472efb80eac49cbd150bd4113a49d1f2fab48cb9de70";
    EXPECT_EQ(gang_token(well_known_secret(), {{12, 0}, 3}), token);
    EXPECT_TRUE(is_gang_token(well_known_secret(), {{12, 0}, 3}, token));
    EXPECT_FALSE(is_gang_token(well_known_secret(), {{12, 0}, 2}, token)) << "another member's";
    EXPECT_FALSE(is_gang_token(well_known_secret(), {{12, 1}, 3}, token)) << "another gang's";
    EXPECT_FALSE(is_gang_token("another secret", {{12, 0}, 3}, token));
    EXPECT_FALSE(is_gang_token(well_known_secret(), {{12, 0}, 3}, token.substr(1)));
    EXPECT_FALSE(is_gang_token(well_known_secret(), {{12, 0}, 3}, ""));
    EXPECT_EQ(gang_arguments(well_known_secret(), {{12, 0}, 3}, 4, "h.org:8077"),
              "--gang 12.0 --gang_member 3 --gang_size 4 --gang_token " + token + " --gang_hub h.org:8077");
}

TEST(GangToken, TheSecretIsMadeOnceAndForItsOwnerOnly) {
    const TempDir keys;
    const std::string secret = gang_secret(keys.path());
    EXPECT_EQ(secret.size(), 64u);
    EXPECT_EQ(gang_secret(keys.path()), secret);
    EXPECT_EQ(fs::status(keys / "gang_secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(std::distance(fs::directory_iterator(keys.path()), {}), 1) << "nothing else is left";
    const TempDir others;
    EXPECT_NE(gang_secret(others.path()), secret);
    keys.write("gang_secret", "short\n");
    EXPECT_THROW(gang_secret(keys.path()), FileError) << "a secret that anybody guesses";
    EXPECT_THROW(gang_secret(keys / "nowhere"), FileError);
}

TEST(GangToken, NamesAndAddressesAreWrittenInOneWay) {
    EXPECT_EQ(gang_name({12, 3}), "12.3");
    EXPECT_EQ(parse_gang_name("12.3"), (GangId{12, 3}));
    for (const char* wrong :
         {"", "12", "12.", ".3", "12.3.4", "-1.3", "0.3", "12.-3", "12.3 ", "x.y", "99999999999999999999.1"})
        EXPECT_FALSE(parse_gang_name(wrong)) << wrong;
    EXPECT_EQ(parse_hub_address("hub.example.org:8077").host, "hub.example.org");
    EXPECT_EQ(parse_hub_address("hub.example.org:8077").port, 8077);
    EXPECT_EQ(parse_hub_address("[::1]:8077").host, "::1");
    for (const char* wrong :
         {"", "hub", "hub:", ":8077", "hub:0", "hub:65536", "hub:80x", "a b:80", "::1:80", "a'b:80"})
        EXPECT_THROW(parse_hub_address(wrong), ConfigError) << wrong;
}

}  // namespace
}  // namespace sluice::test
