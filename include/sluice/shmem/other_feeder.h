// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Why no job array is found although a feeder runs.
#include <filesystem>
#include <string>

namespace sluice {

/// `own_lock`: JobArrayName::lock_file of the key that config.xml names. If a feeder of this project on this machine
/// works with another key: which, and what to do, as a phrase to append; else empty.
std::string feeder_with_another_key(const std::filesystem::path& own_lock);

}  // namespace sluice
