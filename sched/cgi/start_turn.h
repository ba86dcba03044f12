// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One start of a server at a time, in the folder of its socket.
#include <filesystem>

#include "sluice/base/owned_fd.h"

namespace sluice {

/// The folder's flock, to be held while the socket is made. Whoever can read the folder can hold the lock for ever:
/// after a few seconds a warning names the holder, and the start goes on without it.
OwnedFd take_start_turn(const std::filesystem::path& folder);

}  // namespace sluice
