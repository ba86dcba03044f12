#include "sluice/base/download_folder.h"

#include <sys/stat.h>

#include <cerrno>

#include "sluice/base/error.h"
#include "sluice/base/file_problem.h"
#include "sluice/base/shell_text.h"

namespace sluice {

void require_download_folder(const std::filesystem::path& folder) {
    struct stat info {};
    const int error = ::stat(folder.c_str(), &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (error == 0) return;
    throw FileError("the download folder can't be used: " + folder.string() + ": " + file_problem(error, folder) +
                    "; is a file system not mounted, or <download_dir> wrong? A new one is made by: mkdir -m 755 " +
                    shell_quoted(folder.string()));
}

}  // namespace sluice
