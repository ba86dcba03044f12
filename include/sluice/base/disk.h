// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A folder and its file system: is it there, mounted, writable, and how much room is left.
#include <string>

namespace sluice {

/// Sizes are bytes.
struct DiskFacts {
    std::string what = {}, path = {};
    double free = 0, total = 0, free_inodes = 0, total_inodes = 0;
    std::string error = {};      ///< it can't be looked at
    bool read_only = false;      ///< mounted so
    std::string unmounted = {};  ///< the place of /etc/fstab above it where nothing is mounted
};

/// The place of /etc/fstab above `path` where nothing is mounted, though the system mounts it when it starts; "" if
/// there is none. `path`: without symbolic links.
std::string unmounted_above(const std::string& path);
/// The same, by the texts of /etc/fstab and /proc/self/mounts; without the latter nothing is known.
std::string unmounted_above(const std::string& path, const std::string& fstab, const std::string& mounts);

/// The folder's file system; one of a network may not answer for minutes.
DiskFacts look_at_disk(const std::string& what, const std::string& path);

/// Why nobody can write there, in one line; "" if it is usable.
std::string why_unusable(const DiskFacts& disk);

}  // namespace sluice
