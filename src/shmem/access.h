// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// All rules of access to the segment: who may use it (its owner, and the accounts that the web server may run under),
// and whose segment is believed. See docs/shared_memory.md, "Who may attach" and "Whose segment is believed".
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::shm {

enum class Access {
    kOwnerOnly,  ///< nobody else needed it, or none of the accounts exists here
    kAcl,        ///< an access control list names the accounts; others have no access
    kGroup,      ///< by group
    kEverybody   ///< neither a list nor a shared group was possible
};

/// Opens the files of a segment to `users` (account names; unknown ones and the owner are skipped): the content to
/// read, the claims to read and write.
Access grant_access(int content_fd, int claims_fd, const std::vector<std::string>& users);

/// What the file in the project's folder says that the segment's name is, and who says so.
struct Publication {
    std::string segment;
    uid_t owner;
};
/// Throws ShmemError if the folder can't be written.
void write_publication(const std::filesystem::path& path, const std::string& segment);
/// nullopt: there is none, or it is no name that begins with `prefix`. Throws ShmemError if somebody wrote it whom the
/// project does not trust: neither root nor this account nor the owner of the project's folder, or who can't tell.
std::optional<Publication> read_publication(const std::filesystem::path& path, const std::string& prefix);

/// Throws ShmemError unless the file is a plain one of `owner`, and `others_write` or nobody else may write it.
void check_file(int fd, const std::string& path, uid_t owner, bool others_write);

}  // namespace sluice::shm
