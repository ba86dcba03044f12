// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/log_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sluice/base/owned_fd.h"
#include "sluice/base/project.h"

namespace sluice {

void make_log_folder(const std::filesystem::path& project, uid_t user) {
    const std::filesystem::path folder = log_dir(project);
    struct stat root {
    }, upload{};
    if (::stat(project.c_str(), &root) != 0 || ::mkdir(folder.c_str(), 0750) != 0) return;
    const bool own = root.st_uid == user;
    const bool known = own && ::stat((project / "upload").c_str(), &upload) == 0;
    const OwnedFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // Not every account may give files to every group.
    [[maybe_unused]] const int given = ::fchown(fd.get(), static_cast<uid_t>(-1), known ? upload.st_gid : root.st_gid);
    // Sticky: what one account puts there the other can't take away.
    [[maybe_unused]] const int set = ::fchmod(fd.get(), own ? 02750 : 01770);
    if (own) make_web_server_logs(fd.get());
}

void make_web_server_logs(int folder) {
    for (const char* name : kWebLogs) {
        const OwnedFd log(::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660));
        if (log.get() < 0) continue;
        struct stat owner {};
        // root may make them for the folder's owner.
        if (::geteuid() == 0 && ::fstat(folder, &owner) == 0 && ::fchown(log.get(), owner.st_uid, owner.st_gid) != 0)
            errno = 0;
        ::fchmod(log.get(), 0660);  // whatever the umask
    }
}

}  // namespace sluice
