// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/shmem/other_feeder.h"

#include <fmt/core.h>

#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {

std::string feeder_with_another_key(const std::filesystem::path& own_lock) {
    constexpr std::string_view kPrefix = "job_array_", kSuffix = ".lock";
    std::error_code error;
    for (std::filesystem::directory_iterator it(own_lock.parent_path(), error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name == own_lock.filename() || !name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
        try {
            if (FileLock::try_lock(it->path())) continue;
        } catch (const FileError&) {
            continue;  // not for this account to know
        }
        const std::string key = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
        return fmt::format(
            "; but a feeder runs with shmem_key 0x{} (it holds {}): <shmem_key> was changed since it started; stop "
            "and start the project",
            key, it->path().string());
    }
    return "";
}

}  // namespace sluice
