// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <functional>

namespace sluice {

/// Named points of an RPC at which tests stop or kill the process. Empty in the program that is installed; the variant
/// for tests (tests/db/cgi) is built with SLUICE_TEST_POINTS and obeys
///   SLUICE_KILL_AT=point          SIGKILL there
///   SLUICE_PAUSE_AT=point:FILE    makes FILE and waits until it is gone
std::function<void(const char* point)> test_hook();

}  // namespace sluice
