// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/statistics/dump_folder.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

[[noreturn]] void fail(const fs::path& from, const fs::path& to, int error) {
    throw FileError(fmt::format("{} can't become {}: {}", from.string(), to.string(), file_problem(error, to)));
}

bool is_there(const fs::path& path) { return fs::symlink_status(path).type() != fs::file_type::not_found; }

void move(const fs::path& from, const fs::path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail(from, to, errno);
}

/// False: this file system has no such call.
bool exchange(const fs::path& made, const fs::path& place) {
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) fail(made, place, errno);
    return false;
}

void move_in_two_steps(const DumpFolders& f) {
    move(f.place, f.old);
    try {
        move(f.made, f.place);
    } catch (const FileError&) {
        move(f.old, f.place);
        throw;
    }
}

}  // namespace

void publish_folder(const DumpFolders& f) {
    if (!is_there(f.place)) return move(f.made, f.place);
    if (!exchange(f.made, f.place)) return move_in_two_steps(f);
    if (std::rename(f.made.c_str(), f.old.c_str()) != 0)
        log_critical("the files before these are in {}: they can't be moved to {}: {}", f.made.string(), f.old.string(),
                     file_problem(errno, f.old));
}

void publish_what_a_killed_run_made(const DumpFolders& f, const char* last) {
    if (is_there(f.place) || !is_there(f.made / last)) return;
    log_warning("{} is published now: the last run was killed before it could do that", f.made.string());
    move(f.made, f.place);
}

}  // namespace sluice
