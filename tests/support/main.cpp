// SPDX-License-Identifier: LGPL-3.0-or-later
// main of every test program. Those that must change accounts are marked KEEPS_ROOT in CMake, those whose servers have
// accounts of their own ACCOUNTS.
#include <gmock/gmock.h>

#include "tests/support/leave_root.h"

#if defined(SLUICE_KEEPS_ROOT)
static constexpr auto kGoesOnAs = sluice::test::GoesOnAs::kRoot;
#elif defined(SLUICE_HAS_ACCOUNTS)
static constexpr auto kGoesOnAs = sluice::test::GoesOnAs::kAccounts;
#else
static constexpr auto kGoesOnAs = sluice::test::GoesOnAs::kOneAccount;
#endif

int main(int argc, char** argv) {
    sluice::test::leave_root(argv, kGoesOnAs);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
