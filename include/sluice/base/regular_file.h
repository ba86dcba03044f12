// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice {

/// As read_file() (sluice/base/files.h), of a file that anybody may have put there: a FIFO, a socket or a device is
/// refused (FileError), and never waited for.
std::optional<std::string> read_regular_file(const std::filesystem::path& path,
                                             std::size_t limit = std::size_t{64} << 20);

}  // namespace sluice
