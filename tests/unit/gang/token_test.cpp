// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/gang_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/model/gang.h"
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
    EXPECT_EQ(gang_arguments(well_known_secret(), {{12, 0}, 3}, 4, "h.org:8077"),
              "--gang 12.0 --gang_member 3 --gang_size 4 --gang_token " + token + " --gang_hub h.org:8077");
}

// md5("w_1")[:16] and hmac.new(token of the place, that, "sha256") of Python.
const std::string kPlace = "8833daaf198c0d36ab74472efb80eac49cbd150bd4113a49d1f2fab48cb9de70";
const std::string kInstance =
    "db007d6a923c2909"
    "c79ffdcc10a50601c42b02a2606f31187790941a34cd143f1e75230f2225904c";

TEST(GangToken, OfInstanceProvesPlaceAndInstance) {
    EXPECT_EQ(gang_instance_token(kPlace, gang_tag("w_1")), kInstance);
    const auto proven = [](const GangSeat& seat, const std::string& token) {
        return proven_gang_tag(well_known_secret(), seat, token);
    };
    EXPECT_EQ(proven({{12, 0}, 3}, kInstance), gang_tag("w_1"));
    EXPECT_FALSE(proven({{12, 0}, 2}, kInstance)) << "another member's";
    EXPECT_FALSE(proven({{12, 1}, 3}, kInstance)) << "another gang's";
    EXPECT_FALSE(proven_gang_tag("another secret", {{12, 0}, 3}, kInstance));
    EXPECT_FALSE(proven({{12, 0}, 3}, gang_tag("w_2") + kInstance.substr(16))) << "another instance's";
    for (const std::string& wrong :
         {std::string(), kPlace, kInstance.substr(1), kInstance + "0", kInstance.substr(0, 16)})
        EXPECT_FALSE(proven({{12, 0}, 3}, wrong)) << wrong;
}

TEST(GangToken, TheTokenIsThatOfTheInstance) {
    const auto document = [](const std::string& token) {
        return "<workunit>\n<command_line>--x 1 --gang 12.0 --gang_member 3 --gang_size 4 --gang_token " + token +
               " --gang_hub h.org:8077</command_line>\n</workunit>\n";
    };
    EXPECT_EQ(with_gang_instance(document(kPlace), "w_1"), document(kInstance));
    EXPECT_NE(with_gang_instance(document(kPlace), "w_2"), document(kInstance));
    const std::string at_the_end = "<command_line>a --gang_token " + kPlace;
    EXPECT_EQ(with_gang_instance(at_the_end, "w_1"), "<command_line>a --gang_token " + kInstance);
    // What is no place's token stays: another application may have an option of that name.
    for (const std::string& other : {std::string("x"), kPlace.substr(1), kPlace + "0", kInstance, std::string(64, 'g')})
        EXPECT_EQ(with_gang_instance(document(other), "w_1"), document(other));
    for (const char* other : {"", " --gang_token ", " --gang_token 88"})
        EXPECT_EQ(with_gang_instance(other, "w_1"), other);
}

TEST(GangToken, TheSecretIsMadeOnceForItsOwner) {
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
