// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/paths.h"

namespace sluice::test {

std::string source_dir() { return SLUICE_SOURCE_DIR; }
std::string binary_dir() { return SLUICE_BINARY_DIR; }

}  // namespace sluice::test
