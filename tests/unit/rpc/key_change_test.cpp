// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "sched/rpc/key_change.h"

namespace sluice::test {
namespace {

const std::vector<OldKey> kOld{{"old0\n", "sig0\n", "stripped0\n"}, {"old1", "sig1", "stripped1"}, {"old2", "", ""}};

TEST(KeyChange, SameKeyNeedsNothing) {
    const KeyAnswer a = answer_key("1024\nkey\n.", " 1024\nkey\n.\n", kOld, 80206);
    EXPECT_TRUE(a.may_send_work);
    EXPECT_EQ(a.code_sign_key + a.signature, "");
}

TEST(KeyChange, NoKeyYetGetsTheCurrentOne) {
    const KeyAnswer a = answer_key("", "key\n", kOld, 80206);
    EXPECT_TRUE(a.may_send_work);
    EXPECT_EQ(a.code_sign_key, "key");
    EXPECT_EQ(a.signature, "");
}

TEST(KeyChange, AFormerKeyGetsTheCurrentOneSigned) {
    EXPECT_EQ(answer_key("old1", "key", kOld, 69999).signature, "sig1");
    EXPECT_EQ(answer_key("old1", "key", kOld, 70000).signature, "stripped1");
    const KeyAnswer a = answer_key(" old0", "key", kOld, 80206);
    EXPECT_TRUE(a.may_send_work);
    EXPECT_EQ(a.code_sign_key, "key");
    EXPECT_EQ(a.signature, "stripped0");
}

TEST(KeyChange, AnUnknownKeyGetsNoWork) {
    for (const char* held : {"other", "old2"}) {
        const KeyAnswer a = answer_key(held, "key", kOld, 80206);
        EXPECT_FALSE(a.may_send_work) << held;
        EXPECT_EQ(a.code_sign_key + a.signature, "") << held;
    }
}

}  // namespace
}  // namespace sluice::test
