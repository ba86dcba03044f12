// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string_view>

namespace sluice {

/// All of it to an open file, pipe or socket; false (and errno) if that fails.
bool write_all(int fd, std::string_view bytes) noexcept;

}  // namespace sluice
