// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string_view>

namespace sluice {

/// The program of entry.cpp, to be written into a project under the names of the installed programs.
std::string_view entry_program();

}  // namespace sluice
