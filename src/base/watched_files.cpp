// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/watched_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace sluice {

void WatchedFiles::watch(std::vector<std::filesystem::path> files) {
    files_ = std::move(files);
    seen_ = fingerprints();
}

bool WatchedFiles::changed() {
    auto now = fingerprints();
    return std::exchange(seen_, now) != now;
}

std::vector<std::string> WatchedFiles::fingerprints() const {
    std::vector<std::string> all;
    for (const auto& file : files_) {
        struct stat s {};
        all.push_back(::stat(file.c_str(), &s) != 0
                          ? "absent"
                          : fmt::format("{} {} {}.{} {}.{}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
                                        s.st_ctim.tv_sec,
                                        s.st_ctim.tv_nsec));  // a new mode or owner moves only the latter
    }
    return all;
}

}  // namespace sluice
