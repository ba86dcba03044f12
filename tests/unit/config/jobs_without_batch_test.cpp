// SPDX-License-Identifier: LGPL-3.0-or-later
// Whose jobs without a batch are: what config.xml may say of it, and when that counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/config/parsed_config.h"

namespace sluice {
namespace {

TEST(JobsWithoutBatch, NeedAnOwnerWhereSharesAreOn) {
    const auto given = [](const std::string& value, const std::string& rule) {
        return parse("<jobs_without_batch>" + value + "</jobs_without_batch><share_rule>" + rule + "</share_rule>");
    };
    for (const char* value : {"free", "refuse", "3", "ada@example.org"}) {
        const LoadedConfig on = given(value, "settled");
        EXPECT_EQ(on.config.jobs_without_batch, value);
        EXPECT_THAT(on.warnings, testing::IsEmpty());
        EXPECT_THAT(on.errors, testing::IsEmpty());
    }
    EXPECT_TRUE(given("refuse", "seed").config.refuses_jobs_without_batch());
    EXPECT_FALSE(given("refuse", "seed").config.gives_an_owner_to_jobs_without_batch());
    EXPECT_TRUE(given("3", "seed").config.gives_an_owner_to_jobs_without_batch());
    EXPECT_FALSE(given("free", "seed").config.gives_an_owner_to_jobs_without_batch());
    const LoadedConfig off = given("refuse", "off");
    EXPECT_FALSE(off.config.refuses_jobs_without_batch());
    EXPECT_THAT(off.warnings, testing::ElementsAre(testing::HasSubstr("<share_rule> is off")));
    for (const char* wrong : {"refused", "0", "-1", "9999999999", "Ada", ""}) {
        const LoadedConfig loaded = given(wrong, "settled");
        EXPECT_EQ(loaded.config.jobs_without_batch, "free") << wrong;
        EXPECT_THAT(loaded.errors,
                    testing::ElementsAre(testing::HasSubstr("must be free, refuse, or the number or e-mail address")))
            << wrong;
    }
}

}  // namespace
}  // namespace sluice
