// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/statistics/dump_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

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

void put_in_place(const DumpFolders& f) {
    if (!is_there(f.place)) return move(f.made, f.place);
    if (!exchange(f.made, f.place)) return move_in_two_steps(f);
    if (std::rename(f.made.c_str(), f.old.c_str()) != 0)
        log_critical("the files before these are in {}: they can't be moved to {}: {}", f.made.string(), f.old.string(),
                     file_problem(errno, f.old));
}

using Stamp = std::array<int, 6>;  ///< year, month, day, hour, minute, second

/// What stands behind `base` and '_' in the name of an old folder.
std::optional<Stamp> stamp_of(const std::string& name, const std::string& base) {
    if (!name.starts_with(base + "_")) return std::nullopt;
    Stamp stamp{};
    char more = 0;
    const std::string rest = name.substr(base.size() + 1);
    const bool is_number = rest.find_first_not_of("0123456789_") == std::string::npos;
    const int found = std::sscanf(rest.c_str(), "%4d_%2d_%2d_%2d_%2d_%2d%c", &stamp[0], &stamp[1], &stamp[2], &stamp[3],
                                  &stamp[4], &stamp[5], &more);
    return is_number && found == 6 ? std::optional(stamp) : std::nullopt;
}

/// `last` goes last: a run that is killed before leaves a folder that the next one removes.
bool remove_folder(const fs::path& folder, const char* last) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
        if (std::error_code ignored; entry.path().filename() != last) fs::remove_all(entry.path(), ignored);
    return !failed && fs::remove(folder / last, failed) && fs::remove(folder, failed);
}

}  // namespace

void publish_folder(const DumpFolders& f) {
    sync_folder(f.made);
    put_in_place(f);
    sync_folder(f.place.has_parent_path() ? f.place.parent_path() : ".");
}

fs::path old_folder_name(const fs::path& base, std::int64_t now) {
    const std::tm t = fmt::localtime(static_cast<std::time_t>(now));
    return fmt::format("{}_{}_{}_{}_{}_{}_{}", base.string(), t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                       t.tm_min, t.tm_sec);
}

void remove_old_folders(const fs::path& base, int keep, const char* last) {
    const fs::path parent = base.has_parent_path() ? base.parent_path() : ".";
    std::vector<std::pair<Stamp, fs::path>> olds;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(parent, failed)) {
        const auto stamp = stamp_of(entry.path().filename().string(), base.filename().string());
        if (stamp && entry.symlink_status().type() == fs::file_type::directory && is_there(entry.path() / last))
            olds.emplace_back(*stamp, entry.path());
    }
    std::ranges::sort(olds, std::greater<>());
    for (std::size_t i = static_cast<std::size_t>(keep); i < olds.size(); ++i) {
        const std::string folder = olds[i].second.string();
        if (remove_folder(folder, last))
            log_normal("{}: removed", folder);
        else
            log_warning("{} can't be removed: remove it by hand, as the user who owns it", folder);
    }
}

void publish_what_a_killed_run_made(const DumpFolders& f, const char* last) {
    if (is_there(f.place) || !is_there(f.made / last)) return;
    log_warning("{} is published now: the last run was killed before it could do that", f.made.string());
    move(f.made, f.place);
}

}  // namespace sluice
