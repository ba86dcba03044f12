// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice: the admin's program. A command is a row here and a function of its own folder.
#include "sched/adopt/adopt_commands.h"
#include "sched/canary/canary_command.h"
#include "sched/check/check_command.h"
#include "sched/health/health_command.h"
#include "sched/shadow/shadow_commands.h"
#include "sched/units/units_command.h"
#include "sluice/daemon/subcommand.h"

int main(int argc, char** argv) {
    return sluice::subcommand_main(
        {.name = "sluice",
         .summary = "Looks at a BOINC project, watches it, and moves it to Sluice's programs and back",
         .description = "Every command takes the project's folder: sluice check /home/boincadm/projects/test",
         .commands = {{"check", "what is wrong with a project, and the remedy; changes nothing", sluice::check_command},
                      {"health", "says whether a project is well, and what to do first", sluice::health_command},
                      {"adopt", "moves a project to Sluice's programs, and watches it", sluice::adopt_command},
                      {"revert", "moves it back", sluice::revert_command},
                      {"upgrade", "brings its tables to the version of these programs, and back",
                       sluice::upgrade_command},
                      {"units", "writes units for systemd, which then runs daemons and tasks", sluice::units_command},
                      {"shadow", "what Sluice would have answered; changes nothing", sluice::shadow_command},
                      {"what-if", "what another configuration would have answered", sluice::what_if_command},
                      {"canary", "gives a part of the hosts to Sluice's scheduler", sluice::canary_command}}},
        argc, argv);
}
