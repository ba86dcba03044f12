// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// Runs `program` with these arguments, as this process's user: "" or, if it fails, the first line that it says.
std::string refusal_of(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace sluice
