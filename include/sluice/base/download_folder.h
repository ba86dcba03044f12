#pragma once
#include <filesystem>

namespace sluice {

/// Throws FileError if <download_dir> is not there, with the command that makes it. No program but make_project makes
/// it: where its file system is not mounted, files would lie below the mount point, and nobody could fetch them. Where
/// the folder is itself the mount point, it is there all the same, and nothing tells it from a new project's.
void require_download_folder(const std::filesystem::path& folder);

}  // namespace sluice
