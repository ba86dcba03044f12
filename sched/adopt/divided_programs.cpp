// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/divided_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/run/canary_settings.h"
#include "config/run/divided_copies.h"
#include "config/run/own_programs.h"
#include "sched/adopt/program_files.h"
#include "sluice/base/files.h"

namespace sluice {

static constexpr const char* kNewFront = "new_front";

void put_divided_programs(const fs::path& project, const fs::path& prefix) {
    for (const auto& [installed, name] : divided_programs())
        copy_over(fs::canonical(prefix / installed), project / name);
}

void put_canary_front(const fs::path& project, const fs::path& prefix) {
    const fs::path theirs = project / kCanaryFolder / kCanaryTheirs, half = project / kCanaryFolder / kNewFront;
    struct stat info {};
    require(::stat(theirs.c_str(), &info) == 0, "Can't look at", theirs);
    copy_over(fs::canonical(prefix / kInstalledFront), half);
    require(::chown(half.c_str(), static_cast<uid_t>(-1), info.st_gid) == 0, "Can't set the group of", half);
    require(::chmod(half.c_str(), info.st_mode & 0777) == 0, "Can't set the mode of", half);
    copy_access_list(theirs, half);
    move_over(half, project / kFrontsPlace);
}

}  // namespace sluice
