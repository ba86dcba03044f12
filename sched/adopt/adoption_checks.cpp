// SPDX-License-Identifier: LGPL-3.0-or-later
// What sluice adopt tries before it changes anything: a project that cannot go all the way there and back stays as it
// is.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "config/db_settings.h"
#include "config/options/permissions.h"
#include "config/run/own_programs.h"
#include "sched/adopt/adoption.h"
#include "sched/adopt/statements.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/db/schema_survey.h"

namespace sluice {
namespace {

constexpr std::size_t kHead = 1 << 16;
constexpr double kHelpLimit = 20;  // s
/// What BOINC's script imports first.
constexpr std::string_view kOfBoinc = "boinc_path_config";
constexpr const char* kNotUnderstood[] = {"ModuleNotFoundError: ", "ImportError: ", "SyntaxError: "};

/// Why BOINC's own script start, stop or status can't run on this machine: there is no Python, or not its modules, as
/// in a container of another image. One line. Empty: it can, or it is somebody's own script, which is not asked. It is
/// asked for its help, which writes nothing.
std::string why_script_cannot_run(const fs::path& script) {
    std::string head(kHead, '\0');
    std::ifstream file(script, std::ios::binary);
    file.read(head.data(), kHead);
    head.resize(static_cast<std::size_t>(file.gcount()));
    if (!head.starts_with("#!") || head.find(kOfBoinc) == head.npos) return {};
    const std::string nothing;
    std::string said;
    ScriptRun run{.limit = kHelpLimit, .input = &nothing, .output = &said};
    run.environment = {"PYTHONDONTWRITEBYTECODE=1"};
    const int status = run_script({"/bin/sh", "-c", "exec \"$1\" --help 2>&1", "sh", fs::absolute(script)}, run);
    const std::string_view all = trim(said), last = all.substr(all.rfind('\n') + 1);
    const bool misses = std::ranges::any_of(kNotUnderstood, [&](const char* error) { return last.starts_with(error); });
    return status == 126 || status == 127 || misses ? in_one_line(last) : std::string();
}

}  // namespace

/// What leads back would cancel gangs and drop tables that such a project has worked with for long.
void Adoption::refuse_swapped() const {
    if (is_there(options_.project / kPrefixLink))
        throw ConfigError(fmt::format("{} has Sluice's programs already: its make_project has put them there",
                                      options_.project.string()));
    for (const char* name : kReplaced)
        if (is_there(kept_ / name))
            throw ConfigError(fmt::format(
                "{} was kept by hand: the project seems to have Sluice's programs already. If it has BOINC's, "
                "move {} away and repeat this command",
                (kept_ / name).string(), kept_.string()));
}

/// Daemons that run, also in another container, which may have another host name. Of those the kernel tells that each
/// holds its lock, and no pid.
static std::vector<std::string> running_anywhere(const fs::path& project, const MovedProject& site) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(project))
        if (entry.path().filename().string().starts_with("pid_")) folders.push_back(entry.path());
    std::vector<std::string> names;
    for (const ConfiguredProgram& job : site.programs(site.folders()).daemons) {
        const auto holds = [&](const fs::path& folder) { return is_locked(folder / job.lock_file.filename()); };
        if (job.problem.empty() && (is_locked(job.lock_file) || std::ranges::any_of(folders, holds)))
            names.push_back(job.name);
    }
    return names;
}

/// Where the old script can't stop the project, nothing of it may run.
void Adoption::look_at_scripts() {
    why_elsewhere_ = why_script_cannot_run(options_.project / "bin/stop");
    state_.elsewhere = !why_elsewhere_.empty();
    if (!state_.elsewhere) return;
    const std::vector<std::string> names = running_anywhere(options_.project, site_);
    if (names.empty()) return;
    throw ConfigError(fmt::format(
        "Nothing was changed: bin/stop of {} can't run here ({}), and {} run: stop the project where they were started",
        options_.project.string(), why_elsewhere_, fmt::join(names, ", ")));
}

void Adoption::require_room() const {
    const std::uintmax_t needed = room_for_move(options_.project, options_.prefix, programs()),
                         free = free_room(options_.project);
    if (free >= needed) return;
    throw Error(fmt::format("Nothing was changed: the disk of {} has {} MB free, and the move needs {} MB",
                            options_.project.string(), free >> 20, (needed >> 20) + 1));
}

/// A call that was killed behind that has found it sound, and left the project stopped: this one is to end that.
void Adoption::require_sound() const {
    if (const auto errors = find_errors_(options_.project); !errors.empty())
        throw ConfigError(
            fmt::format("Nothing was changed. Repair this first ({}), or call this with --despite_errors:\n{}",
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
