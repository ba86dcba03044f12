// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/app_assimilators.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/load.h"
#include "config/options/assimilated_apps.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {

AppAssimilators app_assimilators(const std::filesystem::path& project, std::span<const App> apps) {
    const auto file = project / "config.xml";
    AppAssimilators found;
    try {
        const auto entries = parse_daemons_and_tasks(read_file(file).value_or("<daemons>"), file.string());
        for (const App& app : apps) {
            if (!may_have_assimilator(app.name, entries)) found.none.push_back(app.id);
            if (assimilator_is_off(app.name, entries)) found.idle.push_back(app.name);
        }
    } catch (const ConfigError&) {
    }
    return found;
}

std::string assimilator_warning(const AppAssimilators& assimilators, Id batch, const std::string& app) {
    if (std::ranges::find(assimilators.idle, app) == assimilators.idle.end()) return "";
    return fmt::format(
        "batch {0}: the assimilator of app {1} is disabled in config.xml: jobs of the batch wait for it, and their files "
        "stay; enable it, or take it out of config.xml and give this command again",
        batch, app);
}

}  // namespace sluice
