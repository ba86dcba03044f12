// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Output templates of a project of which no result can be made, or whose jobs BOINC's own scheduler can't send.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// One line for each such file of PROJECT/templates, with file and line; by name.
std::vector<std::string> joined_templates(const std::filesystem::path& project);

}  // namespace sluice
