// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/make_project/install.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "config/run/hash_folders.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

void set_mode(const fs::path& path, int mode) {
    if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0) {
        throw FileError(fmt::format("Can't set the mode of {}: {}", path.string(), std::strerror(errno)));
    }
}

/// True if the web server's group has the file now, or the web server runs as this user.
bool give_to_web_user(const fs::path& path, const std::string& web_user) {
    const auto account = find_user(web_user);
    if (!account) return false;
    return account->uid == ::geteuid() || ::lchown(path.c_str(), static_cast<uid_t>(-1), account->gid) == 0;
}

}  // namespace

void check_new_folder(const NewProject& project) {
    std::error_code ignored;
    if (fs::exists(project.root, ignored) && !fs::is_empty(project.root, ignored)) {
        throw ConfigError(fmt::format("{} exists already: choose another --root, or remove it (and its database) first",
                                      project.root.string()));
    }
}

ProjectOnDisk::~ProjectOnDisk() {
    if (!made_ || kept_) return;
    std::error_code ignored;
    fs::remove_all(project_.root, ignored);
}

void ProjectOnDisk::make() {
    made_ = true;
    make_folders();
    make_keys();
    make_files();
    put_programs(project_.root, source_, {});
}

void ProjectOnDisk::make_folders() {
    project_.web_user_in_group = true;
    for (const NewFolder& folder : folders_of(project_)) {
        const fs::path path = project_.root / folder.name;
        fs::create_directories(path);
        if (folder.for_web_user && !give_to_web_user(path, project_.web_user)) project_.web_user_in_group = false;
        set_mode(path, folder.mode);  // after the change of group, which clears setgid
    }
    make_hash_folders(project_.root / "upload", kFanout, EmptyFolder::kFill);
}

void ProjectOnDisk::make_keys() {
    for (const char* name : {"upload", "code_sign"}) {
        const KeyPairText keys = generate_key_pair();
        const fs::path base = project_.root / "keys" / name;
        // The scheduler signs upload certificates of targeted jobs, so the web server must read that key.
        const bool for_web = std::string_view(name) == "upload";
        write_file_atomically(base.string() + "_private", keys.private_key, for_web ? 0640 : 0600);
        write_file_atomically(base.string() + "_public", keys.public_key, 0644);
        if (for_web) give_to_web_user(base.string() + "_private", project_.web_user);
    }
}

void ProjectOnDisk::make_files() {
    for (const NewFile& file : files_of(project_)) {
        const fs::path path = project_.root / file.name;
        write_file_atomically(path, file.text, file.mode);
        if ((file.mode & 0007) == 0) give_to_web_user(path, project_.web_user);
    }
}

/// Up to here nobody else could write in it.
void ProjectOnDisk::give_to_owner() {
    const auto owner = find_user(project_.user);
    if (!owner || owner->uid == ::geteuid()) return;
    const auto give = [&](const fs::path& path) {
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0) throw FileError("Can't look at " + path.string());
        const gid_t group = info.st_gid == ::getegid() ? owner->gid : info.st_gid;  // the web server's stays
        if (::lchown(path.c_str(), owner->uid, group) != 0) {
            throw FileError(fmt::format("Can't give {} to {}: {}", path.string(), project_.user, std::strerror(errno)));
        }
        if (!S_ISLNK(info.st_mode)) set_mode(path, static_cast<int>(info.st_mode & 07777));  // chown clears setgid
    };
    for (const auto& entry : fs::recursive_directory_iterator(project_.root)) give(entry.path());
    give(project_.root);
}

}  // namespace sluice
