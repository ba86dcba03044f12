// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/project.h"

#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "sluice/base/error.h"

namespace sluice {
namespace fs = std::filesystem;

std::filesystem::path find_project_dir() {
    std::error_code ignored;
    const auto holds_config = [&](const fs::path& dir) { return fs::exists(dir / "config.xml", ignored); };
    const char* given = std::getenv("BOINC_PROJECT_DIR");
    if (given != nullptr && *given != '\0') {
        if (holds_config(given)) return fs::canonical(given);
        throw ConfigError("BOINC_PROJECT_DIR is " + std::string(given) +
                          ", but there is no config.xml in it; set it to the project's root or unset it");
    }
    for (const char* dir : {".", ".."}) {
        if (holds_config(dir)) return fs::canonical(dir);
    }
    throw ConfigError("Not in a project directory: no config.xml in " + fs::current_path(ignored).string() +
                      " or its parent; go to the project's root or set BOINC_PROJECT_DIR");
}

std::string short_host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    const std::string full(name);
    return full.substr(0, full.find('.'));
}

std::filesystem::path log_dir(const std::filesystem::path& project) { return project / ("log_" + short_host_name()); }

}  // namespace sluice
