// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Output files that an assimilator keeps. They stay in the upload folder, too, until file_deleter may take them:
// results that come late are compared with them. Upstream moves them away, and such results become errors.
#include <filesystem>
#include <string>

namespace sluice {

/// `to` becomes the same file (a hard link), or a copy where that can't be; what was there is replaced at once. Follows
/// no link in the place of `from`. False: `from` is not there. Throws FileError.
bool keep_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Makes the folder, open to the group (0771, as upstream). Throws FileError.
void make_result_folder(const std::filesystem::path& folder);

/// A logical name as part of a file's name: no folder is entered.
std::string flat_name(std::string name);

}  // namespace sluice
