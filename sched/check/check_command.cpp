// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/check_command.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "sched/check/project_check.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
int check_command(int argc, const char* const* argv) {
    CommandLine line(
        "sluice check", "Says what would change if a project moved to Sluice, and what is wrong with it",
        "Looks at the project and changes nothing; an account of the database that may only SELECT is enough. It looks "
        "at config.xml and what that leads to, the database, web pages, crontabs, the web server's configuration and "
        "the disks. Each finding is a line, with the command that mends it.\n\n"
        "Findings come by importance: what would not work; what would differ at compat_level 0, as far as the "
        "project's data and options can meet it, with counts; what Sluice does not have; what is unsafe today; what "
        "was not looked at.\n\n"
        "Of large tables it counts the newest 100,000 rows, and no question takes longer than 10 seconds on MariaDB. "
        "It asks each daemon of Sluice about its arguments, unless root runs it.");
    line.failure_status(kCouldNot);
    std::vector<std::string> projects;
    bool json = false, no_database = false;
    line.positional("PROJECT", projects, "The project's folder.");
    line.flag("--json", json, "The findings as JSON.");
    line.flag("--no_database", no_database, "Do not look at the database.");
    line.section("EXIT STATUS",
                 "0: nothing to do. 1: errors, warnings or differences. 2: config.xml could not be "
                 "read.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (projects.size() != 1 || projects[0].empty()) return line.fail("give one project's folder");
    const ProjectFindings found = check_project(projects[0], {.database = !no_database, .move = true});
    fmt::print("{}", json ? findings_json(found) : findings_text(found));
    return found.readable ? found.status() : kCouldNot;
}

}  // namespace sluice
