// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>

namespace sluice {

/// Throws FileError if <download_dir> is not there, with the command that makes it. No program but make_project makes
/// it: where its file system is not mounted, files would lie below the mount point, and nobody could fetch them. Where
/// the folder is itself the mount point, it is there all the same: has_files() tells it from one that was used.
void require_download_folder(const std::filesystem::path& folder);

/// A file lies in it, or in a folder of it. Folders say nothing: below a file system that is not mounted there are
/// some, too; nor do files whose name begins with a dot.
bool has_files(const std::filesystem::path& folder);

}  // namespace sluice
