// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/cleaning/antique_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemons/cleaning/file_tree.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr std::int64_t kDay = 86400, kKept = 32 * kDay;

std::string words_of(std::int64_t time) {
    return fmt::format("{:%F %T} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

std::int64_t antique_limit(std::int64_t now, std::int64_t oldest_workunit) {
    return std::min(now - kKept, oldest_workunit - kDay);
}

AntiqueFiles::AntiqueFiles(AntiqueOptions options, CleaningStore& store, const Clock& clock)
    : Service(0), options_(std::move(options)), store_(store), clock_(clock) {
    if (!options_.wait) options_.wait = [](int microseconds) { ::usleep(static_cast<useconds_t>(microseconds)); };
}

Turn AntiqueFiles::turn() {
    counts_ = {};
    const auto oldest = store_.oldest_workunit();
    if (!oldest) {
        // An empty table is as likely a wrong database as a project that has no jobs.
        log_normal("No workunits: nothing is deleted, since the age of the oldest one says which uploads are nobody's");
        return {TurnResult::kFinished};
    }
    const std::int64_t limit = antique_limit(clock_.now_sec(), *oldest);
    try {
        if (options_.fanout <= 0) clean(options_.upload_dir, limit);
        for (int i = 0; i < options_.fanout; ++i)
            clean(options_.upload_dir / fanout_folder(static_cast<unsigned>(i)), limit);
        log_normal("Done: {}{} files looked at, {} deleted", dry_run_words(options_.dry_run), counts_.looked_at,
                   counts_.deleted);
    } catch (const Stopped&) {
        log_normal("stopped; {} files are deleted, the next run goes on", counts_.deleted);
    }
    return {TurnResult::kFinished};
}

/// A folder that is not there was never needed: fan-out folders are made when their first file comes.
void AntiqueFiles::clean(const fs::path& path, std::int64_t limit) {
    const int fd = open_trusted_folder(AT_FDCWD, path.string());
    if (fd < 0 && errno == ENOENT) return;
    const std::unique_ptr<DIR, CloseFolder> folder(fd < 0 ? nullptr : ::fdopendir(fd));
    if (!folder) {
        log_critical("{} is left out: {}", path.string(), file_problem(errno, path));
        return;
    }
    // All names first: what readdir() returns while files go is not defined.
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(folder.get())) names.emplace_back(entry->d_name);
    for (const std::string& name : names) {
        if (stop_requested()) throw Stopped();
        look_at(::dirfd(folder.get()), path, name.c_str(), limit);
    }
}

void AntiqueFiles::look_at(int folder, const fs::path& path, const char* name, std::int64_t limit) {
    struct stat info {};
    const std::string file = (path / name).string();
    if (name[0] == '.' || ::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;
    ++counts_.looked_at;
    if (!S_ISREG(info.st_mode)) return log_debug("{}: not a regular plain file", file);
    if (info.st_mtime > limit) return log_debug("{}: too young", file);
    if (options_.owner && info.st_uid != *options_.owner) return log_debug("{}: wrong owner", file);
    // Workunits of that name are left alone by all programs that clean up, and don't count for the limit.
    if (std::string_view(name).find("nodelete") != std::string_view::npos) return log_debug("{}: nodelete", file);
    if (options_.dry_run) return log_normal("Would delete '{}' ({})", file, words_of(info.st_mtime));
    log_normal("Deleting file '{}' ({})", file, words_of(info.st_mtime));
    if (::unlinkat(folder, name, 0) == 0)
        ++counts_.deleted;
    else
        log_critical("{} could not be deleted: {}", file, file_problem(errno, file));
    if (options_.pause > 0) options_.wait(options_.pause);
}

}  // namespace sluice
