// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/download_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// A link that leads nowhere stays, and its target is made.
std::pair<fs::path, std::string> what_to_make(const fs::path& folder, int error) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(folder, no_link);
    if (error != ENOENT || no_link) return {folder, file_problem(error, folder)};
    return {(folder.parent_path() / target).lexically_normal(),
            "it is a symbolic link to " + target.string() + ", which is not there"};
}

/// The project's user must be able to write to it: root, who may be the one to be told, runs no daemon.
std::string owner_of_new() {
    struct stat project {};
    try {
        if (::geteuid() == 0 && ::stat(find_project_dir().c_str(), &project) == 0) return user_name(project.st_uid);
    } catch (const Error&) {  // there is none: nobody else's folder
    }
    return user_name(::geteuid());
}

template <typename Is>
bool any_entry(const fs::path& folder, Is is) {
    std::error_code failed;
    for (auto at = fs::directory_iterator(folder, failed); !failed && at != fs::directory_iterator();
         at.increment(failed))
        if (is(*at)) return true;
    return false;
}

bool is_file(const fs::directory_entry& entry) {
    std::error_code unknown;
    return entry.is_regular_file(unknown) && !entry.path().filename().string().starts_with('.');
}

}  // namespace

bool has_files(const fs::path& folder) {
    return any_entry(folder, is_file) || any_entry(folder, [](const fs::directory_entry& entry) {
               std::error_code unknown;
               return entry.is_directory(unknown) && any_entry(entry.path(), is_file);
           });
}

void require_download_folder(const std::filesystem::path& folder) {
    struct stat info {};
    const int error = ::stat(folder.c_str(), &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (error == 0) return;
    const auto [made, problem] = what_to_make(folder, error);
    throw FileError("the download folder can't be used: " + folder.string() + ": " + problem +
                    "; is a file system not mounted, or <download_dir> wrong? A new one is made by: mkdir -m 755 " +
                    shell_quoted(made.string()) + " && chown " + owner_of_new() + " " + shell_quoted(made.string()));
}

}  // namespace sluice
