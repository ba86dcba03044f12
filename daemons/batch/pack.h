// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// sluice_batch pack: what assimilators have kept of a batch, as one archive for its owner.
#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct Packed {
    std::uint64_t files = 0, bytes = 0;  ///< in the archive
    std::uint64_t archive_bytes = 0;     ///< its size
    std::uint64_t no_files = 0;          ///< left out: links and whatever else is neither file nor folder
};

/// Writes all files of `folder` and its folders into `archive` (tar, gzip), in the order of their names, each as
/// TOP/PATH. `archive` appears whole, in place of an older one, or not at all. Follows no link. Throws FileError: a
/// file can't be read, changes meanwhile, or there may be no room; ConfigError: another program is writing the same
/// archive.
Packed pack_folder(const std::filesystem::path& folder, const std::string& top, const std::filesystem::path& archive);

}  // namespace sluice
