// SPDX-License-Identifier: LGPL-3.0-or-later
// Where the sources and the build are. Functions, not definitions on the command line of each test: the compiler's
// command is the same in every checkout, so that a compiler cache serves all of them.
#pragma once

#include <string>

namespace sluice::test {

std::string source_dir();
std::string binary_dir();

}  // namespace sluice::test
