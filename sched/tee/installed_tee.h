// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Puts the tee in front of a project's cgi, and takes it away. At every moment cgi-bin/cgi is a whole program that
// serves clients: a kill in between leaves the scheduler itself, or the tee in front of it.
#include <filesystem>

namespace sluice::tee {

/// Is that file the tee, of whatever version?
bool is_tee(const std::filesystem::path& file);

/// `program`: the tee as it was built. Keeps owner's group and mode of PROJECT/cgi-bin/cgi. May be repeated; a cgi that
/// somebody put over the tee counts as the scheduler. Throws Error, FileError: what is in the way.
void install(const std::filesystem::path& project, const std::filesystem::path& program);

/// False: there was none. May be repeated. Throws FileError.
bool remove(const std::filesystem::path& project);

}  // namespace sluice::tee
