// SPDX-License-Identifier: LGPL-3.0-or-later
// What sluice adopt tries before it changes anything: a project that cannot go all the way there and back stays as it
// is.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/db_settings.h"
#include "config/options/permissions.h"
#include "config/run/own_programs.h"
#include "sched/adopt/adoption.h"
#include "sched/adopt/program_files.h"
#include "sched/adopt/statements.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/db/schema_survey.h"

namespace sluice {

/// What leads back would cancel gangs and drop tables that such a project has worked with for long.
void Adoption::refuse_swapped() const {
    if (is_there(options_.project / kPrefixLink))
        throw ConfigError(fmt::format("{} has Sluice's programs already: its make_project has put them there",
                                      options_.project.string()));
    for (const char* name : kReplaced)
        if (is_there(kept_ / name))
            throw ConfigError(fmt::format(
                "{} was kept by hand: the project seems to have Sluice's programs already. If it has BOINC's, "
                "move {} away and call this again",
                (kept_ / name).string(), kept_.string()));
}

void Adoption::require_room() const {
    const std::uintmax_t needed = room_for_move(options_.project, options_.prefix), free = free_room(options_.project);
    if (free >= needed) return;
    throw Error(fmt::format("Nothing was changed: the disk of {} has {} MB free, and the move needs {} MB",
                            options_.project.string(), free >> 20, (needed >> 20) + 1));
}

/// A call that was killed behind that has found it sound, and left the project stopped: this one is to end that.
void Adoption::require_sound() const {
    if (const auto errors = find_errors_(options_.project); !errors.empty())
        throw ConfigError(
            fmt::format("Nothing was changed. Mend this first ({}), or call this with --despite_errors:\n{}",
                        sluice_command("check", options_.project), fmt::join(errors, "\n")));
    require_room();
    require_statements();
    require_rights();
    if (!options_.dry_run) return;  // it is tried
    for (const PermissionFinding& group : groups_not_to_give(options_.project, site_.folders().log))
        if (group.refused) throw ConfigError("Nothing was changed: " + group.what);
}

void Adoption::require_rights() const {
    Database db(db_settings(site_.config()));
    if (const std::string missing = rights_missing_for_way_back(db); !missing.empty())
        throw ConfigError("Nothing was changed: " + missing);
}

/// What a failure needs to lead back: better missed before anything is stopped.
void Adoption::require_way_back() const {
    fs::create_directories(kept_);
    if (try_statements(site_.config(), kept_)) return;
    std::error_code not_empty;
    fs::remove(kept_, not_empty);
    throw Error("Nothing was changed: without the database there is no way back; what the client said is above");
}

void Adoption::require_statements() const {
    if (!is_there(statements_file()))
        throw ConfigError(fmt::format("{} is missing: say with --install_from where Sluice is installed",
                                      statements_file().string()));
}

}  // namespace sluice
