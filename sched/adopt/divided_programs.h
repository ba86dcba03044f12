// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Puts the copies of Sluice's programs into a project whose hosts `sluice canary` divides
// (config/run/divided_copies.h).
#include <filesystem>

namespace sluice {

/// All but the front. Throws FileError.
void put_divided_programs(const std::filesystem::path& project, const std::filesystem::path& prefix);
/// In one step, with the group, mode and access list that the project's own scheduler has. Throws FileError.
void put_canary_front(const std::filesystem::path& project, const std::filesystem::path& prefix);

}  // namespace sluice
