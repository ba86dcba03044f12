// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How a new folder of files replaces the published one. After a kill at any instruction a whole one is there, or the
// next run puts it there.
#include <cstdint>
#include <filesystem>

namespace sluice {

struct DumpFolders {
    std::filesystem::path made;   ///< where files are written
    std::filesystem::path place;  ///< where readers find them
    std::filesystem::path old;    ///< where those before them go
};

/// In one step; where the file system can't exchange folders (NFS, overlayfs of old kernels), in two, between which
/// there is nothing in the place. Throws FileError; the place is as it was then.
void publish_folder(const DumpFolders& folders);

/// A run that was killed between the two steps: nothing is in the place, and `made` is whole, since the file `last`,
/// which is written last, is in it.
void publish_what_a_killed_run_made(const DumpFolders& folders, const char* last);

/// `base` with a local time behind it: "stats_2026_11_27_6_40_0", as upstream names old folders.
std::filesystem::path old_folder_name(const std::filesystem::path& base, std::int64_t now);
/// Of the folders with such names, the newest `keep` stay. Others go if the file `last` is in them. What can't be
/// removed is logged.
void remove_old_folders(const std::filesystem::path& base, int keep, const char* last);

}  // namespace sluice
