// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Why a file could not be read or written, for messages.
#include <filesystem>
#include <string>

namespace sluice {

/// The words for an errno; for a denied permission also who this process is, whose the file is (or the folder that
/// keeps it out), and what to do.
std::string file_problem(int error, const std::filesystem::path& path);

}  // namespace sluice
