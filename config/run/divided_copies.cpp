// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/divided_copies.h"

#include "config/run/canary_settings.h"
#include "config/run/own_programs.h"
#include "sluice/base/files.h"

namespace sluice {

std::vector<DividedProgram> divided_programs() {
    return {{"cgi-bin/cgi", std::string(kCanaryFolder) + "/" + kCanaryOurs},
            {"bin/feeder", std::string("bin/") + kDividedFeeder},
            {"bin/scheduler", std::string("bin/") + kDividedScheduler}};
}

bool is_canary_front(const fs::path& file) {
    const auto text = read_file(file);
    return text && text->starts_with("\177ELF") && text->find(kFrontMark) != text->npos;
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
