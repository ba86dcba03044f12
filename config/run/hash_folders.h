// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The folders upload/0, upload/1 ... among which uploads are divided (fanout_path()). They belong to the project's
// account, which so can delete what the web server's account writes in them, whatever groups the two are in:
// docs/security.md.
#include <filesystem>

namespace sluice {

/// Which upload folders get theirs.
enum class EmptyFolder {
    kFill,
    kLeave  ///< an empty one may be the place of a disk that is not mounted
};

/// Makes those that are missing, with the permissions and the group of `upload_dir`; how many. Nothing is made where
/// that folder is another account's (the upload handler then makes them), or where its group can't be given.
int make_hash_folders(const std::filesystem::path& upload_dir, int fanout, EmptyFolder empty);

}  // namespace sluice
