// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/divided_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config/run/canary_settings.h"
#include "config/run/own_programs.h"
#include "sched/adopt/program_files.h"
#include "sluice/base/files.h"

namespace sluice {
namespace {

constexpr const char *kFrontsPlace = "cgi-bin/cgi", *kInstalledFront = "bin/canary_front", *kNewFront = "new_front";

struct DividedProgram {
    const char* installed;
    std::string name;
};
std::vector<DividedProgram> divided_programs() {
    return {{"cgi-bin/cgi", std::string(kCanaryFolder) + "/" + kCanaryOurs},
            {"bin/feeder", std::string("bin/") + kDividedFeeder},
            {"bin/scheduler", std::string("bin/") + kDividedScheduler}};
}

}  // namespace

bool is_canary_front(const fs::path& file) {
    const auto text = read_file(file);
    return text && text->starts_with("\177ELF") && text->find(kFrontMark) != text->npos;
}

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

std::vector<std::string> old_divided_programs(const fs::path& project, const fs::path& prefix) {
    std::vector<std::string> old;
    const auto state = read_file(project / kCanaryFolder / kCanaryState, 4096);
    if (!state || !state->starts_with(kDividingState)) return old;
    const auto look = [&](const char* installed, const std::string& name) {
        const auto wanted = read_file(prefix / installed);
        if (wanted && read_file(project / name) != wanted) old.push_back(name);
    };
    for (const auto& [installed, name] : divided_programs()) look(installed, name);
    if (is_canary_front(project / kFrontsPlace)) look(kInstalledFront, kFrontsPlace);
    return old;
}

}  // namespace sluice
