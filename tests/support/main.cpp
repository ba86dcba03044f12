// main of every test program. Those that must change accounts are marked KEEPS_ROOT in CMake.
#include <gmock/gmock.h>

#include "tests/support/leave_root.h"

#ifdef SLUICE_KEEPS_ROOT
static constexpr bool kKeepsRoot = true;
#else
static constexpr bool kKeepsRoot = false;
#endif

int main(int argc, char** argv) {
    sluice::test::leave_root(argv, kKeepsRoot);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
