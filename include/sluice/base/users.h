// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Users of this machine.
#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

struct SystemUser {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;  ///< its first group
};
/// nullopt: nobody is called so.
std::optional<SystemUser> find_user(const std::string& name);
/// The number, if it has no name.
std::string user_name(uid_t uid);
std::string group_name(gid_t gid);
/// That user's first group; `otherwise` of a user without a name.
std::string first_group(const std::string& user, gid_t otherwise);
/// The groups that a process of that user's is in, the first one included.
std::vector<gid_t> groups_of(const SystemUser& user);
/// What the web server's account is usually called.
const std::vector<std::string>& usual_web_users();

// Who runs a program, and whose files it opens: docs/security.md.

/// Throws Error if this process is root's: who can write into one of the project's folders would be root, too. The
/// text names the command to use instead. SLUICE_ALLOW_ROOT=1 in the environment permits it.
void refuse_root(const std::string& command, const std::filesystem::path& project);

/// The same for a tool that makes files in a project, if that belongs to another account: they would keep it out.
void refuse_root_in_project_of_another(const std::string& command, const std::filesystem::path& project);

/// open(2) of a file of the project's own in a folder where others may write. -1 and errno (file_problem() has words
/// for it): ELOOP a symbolic link, EINVAL no regular file, EMLINK a file with a second name, EPERM it belongs to
/// neither this user nor root. Nothing is truncated before that is known.
int open_own_file(const char* path, int flags, mode_t mode);

/// read_file() of a file that programs act by: throws FileError, too, if it is no regular file, if everybody may
/// write it, or if it belongs to neither this process's user, nor root, nor the owner of the folder.
std::optional<std::string> read_trusted_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace sluice
