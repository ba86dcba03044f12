// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice upgrade: between two releases of Sluice. It changes the tables sluice_*; what is in BOINC's tables stays.
// The job array needs nothing: the feeder ends one of an older layout, and makes it anew.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/run/configured_programs.h"
#include "config/run/divided_copies.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sched/adopt/adopt_commands.h"
#include "sched/adopt/divided_programs.h"
#include "sched/adopt/moved_project.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

constexpr const char* kUpgradeDescription =
    "Run it after you installed another release of Sluice, while the project is stopped. Programs of a project are "
    "entries of the installed ones, so they are of the new release already. The tables sluice_* are not: this brings "
    "them to the version that the new programs know. Where sluice canary divides the hosts, it renews the copies of "
    "programs, too. To install an older release again, first call this with --back "
    "or --to.\n\n"
    "After a kill, repeat the same command: it does what is left. It changes no tables that are newer than this program. "
    "It sees the daemons of this machine only: stop those of other machines, too. Run it as the project's account.";

struct TablesUpgrade {
    TablesVersion found{};
    int wanted = kCurrentTables;
    std::vector<std::string> statements{};
    std::string programs{};              ///< which programs are not ours, and the command that puts them back
    std::vector<std::string> divided{};  ///< copies of `sluice canary` that were of another release
};

struct UpgradeOptions {
    std::filesystem::path project;
    std::optional<int> to;
    bool back = false, dry_run = false, json = false;
};

/// Throws ConfigError if the tables are of a version that this program does not know.
void read_version(Database& db, const UpgradeOptions& options, TablesUpgrade& upgrade) {
    upgrade.found = tables_version(db);
    if (upgrade.found.number > kCurrentTables)
        throw ConfigError(fmt::format(
            "The tables sluice_* are of version {}, and this program knows versions up to {}: call the sluice of "
            "the release that wrote them, with --to {}",
            upgrade.found.number, kCurrentTables, kCurrentTables));
    upgrade.wanted = options.to     ? *options.to
                     : options.back ? std::max(kOldestTables, upgrade.found.number - 1)
                                    : kCurrentTables;
}

bool changes(const TablesUpgrade& upgrade) { return upgrade.found.any && upgrade.found.number != upgrade.wanted; }

/// For the life of what it returns nobody can start the project, cron included.
RunLock keep_stopped(const HostFolders& where, const ConfiguredPrograms& programs) {
    std::filesystem::create_directories(where.pid);
    auto lock = RunLock::try_take(where.pid / ("start.lock." + where.host));
    if (!lock)
        throw ConfigError("Nothing was changed: bin/start or bin/stop runs: repeat this command when it has ended");
    std::vector<std::string> names;
    for (const RunningDaemon& daemon : find_running(where, programs).running) names.push_back(daemon.name);
    if (!names.empty())
        throw ConfigError(fmt::format("Nothing was changed: {} run; call bin/stop first, and bin/start afterwards",
                                      fmt::join(names, ", ")));
    return std::move(*lock);
}

void say_upgrade(const TablesUpgrade& upgrade, const UpgradeOptions& options) {
    if (options.json) {
        const nlohmann::ordered_json all = {
            {"tables", upgrade.found.any},      {"version", upgrade.found.number},
            {"wanted", upgrade.wanted},         {"changed", changes(upgrade) && !options.dry_run},
            {"statements", upgrade.statements}, {"programs", upgrade.programs},
            {"divided", upgrade.divided}};
        fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        return;
    }
    if (!upgrade.found.any)
        fmt::print("There are no tables sluice_* yet: the programs that need them make them\n");
    else if (!changes(upgrade))
        fmt::print("The tables sluice_* are of version {} already: nothing to do\n", upgrade.wanted);
    else
        fmt::print("The tables sluice_* {} version {} to version {}\n", options.dry_run ? "would go from" : "went from",
                   upgrade.found.number, upgrade.wanted);
    if (!upgrade.programs.empty()) fmt::print("{}\n", upgrade.programs);
    if (!upgrade.divided.empty())
        fmt::print("Programs of sluice canary {} of this release: {}{}\n", options.dry_run ? "would be" : "are",
                   fmt::join(upgrade.divided, " "),
                   options.dry_run ? "" : "; where they run already, call bin/stop and bin/start");
}

/// Of a project whose hosts are divided: those are copies.
void renew_divided(const std::filesystem::path& project, TablesUpgrade& upgrade, bool dry_run) {
    upgrade.divided = old_divided_programs(project, own_prefix());
    if (upgrade.divided.empty() || dry_run) return;
    const FileLock lock = MovedProject(project).lock_programs();  // nobody ends the division meanwhile
    put_divided_programs(project, own_prefix());
    if (is_canary_front(project / "cgi-bin/cgi")) put_canary_front(project, own_prefix());
}

int upgrade_tables(const UpgradeOptions& options) {
    refuse_root("sluice upgrade", options.project);
    const auto file = options.project / "config.xml";
    const ProjectConfig config = load_config_file(file, options.project).config;
    Database db(db_settings(config));
    TablesUpgrade upgrade;
    upgrade.programs = foreign_programs(options.project).line;
    read_version(db, options, upgrade);
    std::optional<RunLock> stopped;
    if (changes(upgrade) && !options.dry_run) {
        const HostFolders where = host_folders(config, short_host_name());
        const auto text = read_file(file);
        stopped = keep_stopped(
            where, configured_programs(parse_daemons_and_tasks(text.value_or(""), file.string()), config, where));
        read_version(db, options, upgrade);  // another call may have ended meanwhile
    }
    if (changes(upgrade))
        change_tables(db, upgrade.found.number, upgrade.wanted, [&](const std::string& statement) {
            upgrade.statements.push_back(statement);
            if (!options.json) fmt::print("{}\n", statement);
            std::fflush(stdout);
            return !options.dry_run;
        });
    if (!options.back && !options.to) renew_divided(options.project, upgrade, options.dry_run);
    say_upgrade(upgrade, options);
    return (changes(upgrade) || !upgrade.divided.empty()) && options.dry_run ? kDifferences : kNothingToDo;
}

}  // namespace

int upgrade_command(int argc, const char* const* argv) {
    CommandLine line("sluice upgrade", "Brings a project's tables to the version of these programs, and back",
                     kUpgradeDescription);
    line.failure_status(kCouldNot);
    std::vector<std::string> projects;
    UpgradeOptions options;
    line.positional("PROJECT", projects, "The project's folder.");
    line.flag("--dry_run", options.dry_run, "Print the statements, and send none.");
    line.flag("--json", options.json, "As JSON.");
    line.flag("--back", options.back, "To the version before.");
    line.option("--to", options.to, "To this version: 1 is that of release 0.2.0.", "VERSION");
    line.exclude("--back", "--to");
    line.section("EXIT STATUS",
                 "0: done, or nothing to do. 1: a dry run that has something to do. 2: it could not be done.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (projects.size() != 1 || projects[0].empty()) return line.fail("give one project's folder");
    if (options.to && (*options.to < kOldestTables || *options.to > kCurrentTables))
        return line.fail(fmt::format("--to: versions {} to {} are known", kOldestTables, kCurrentTables));
    options.project = std::filesystem::absolute(projects[0]).lexically_normal();
    return upgrade_tables(options);
}

}  // namespace sluice
