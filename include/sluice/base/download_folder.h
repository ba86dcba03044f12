#pragma once
#include <filesystem>

namespace sluice {

/// Throws FileError if <download_dir> is not there. No program but make_project makes it: where its file system is not
/// mounted, files would lie below the mount point, and nobody could fetch them.
void require_download_folder(const std::filesystem::path& folder);

}  // namespace sluice
