// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/units/units_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/run/configured_programs.h"
#include "config/run/foreground.h"
#include "config/run/own_programs.h"
#include "sched/units/units.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestUnit = std::size_t{1} << 20;

struct UnitsArguments {
    fs::path project;
    std::string folder = "/etc/systemd/system", name;
    std::vector<std::string> environment;
    bool journal = false, install = false, remove = false;
};

/// What a later call must give again.
std::string options_text(const UnitsArguments& given) {
    std::string text = given.name.empty() ? "" : " --name " + shell_quoted(given.name);
    for (const std::string& variable : given.environment) text += " --environment " + shell_quoted(variable);
    if (given.journal) text += " --journal";
    return in_one_line(text, 2000);
}

std::string owner_of(const fs::path& project) {
    struct stat info {};
    if (::stat(project.c_str(), &info) != 0)
        throw FileError("Can't look at " + project.string() + ": " + file_problem(errno, project));
    if (info.st_uid == 0)
        throw Error(project.string() +
                    " belongs to root: daemons must not run as root; give the project to an account of its own");
    return user_name(info.st_uid);
}

/// Files of that folder that an earlier call wrote for this project.
std::vector<std::string> written_before(const UnitsArguments& given) {
    std::vector<std::string> names;
    std::error_code none;
    for (fs::directory_iterator entry(given.folder, none), end; !none && entry != end; entry.increment(none)) {
        const fs::path& file = entry->path();
        if (!file.filename().string().starts_with("sluice") || !fs::is_regular_file(entry->symlink_status(none)))
            continue;
        if (is_unit_of(read_file(file, kLongestUnit).value_or(""), given.project)) names.push_back(file.filename());
    }
    std::ranges::sort(names);
    return names;
}

UnitsOf units_of(const UnitsArguments& given, const ProjectConfig& config, const HostFolders& folders) {
    UnitsOf of;
    of.name = given.name.empty() ? given.project.filename().string() : given.name;
    of.account = config.project_user_name.empty() ? owner_of(given.project) : config.project_user_name;
    of.start = own_prefix() / "bin/start";
    of.folders = folders;
    of.writable = {config.upload_dir, config.download_dir};
    of.private_key = (fs::path(config.key_dir) / "code_sign_private").string();
    of.environment = given.environment;
    of.journal = given.journal;
    return of;
}

int install(const UnitsArguments& given, const std::vector<UnitFile>& files) {
    const fs::path folder = given.folder;
    const UnitsMark mark{files[0].name, given.folder, options_text(given)};
    if (const auto before = units_mark(given.project); before && before->options != mark.options)
        throw Error(
            fmt::format("the units of this project were installed with the options '{}': give them again, or call "
                        "first: {}",
                        trim(before->options), sluice_command("units --remove", given.project)));
    for (const UnitFile& file : files) {
        const auto there = read_file(folder / file.name, kLongestUnit);
        if (there && !is_unit_of(*there, given.project))
            throw Error(fmt::format("{} is there, and is not this project's: give another --name, or remove it",
                                    (folder / file.name).string()));
    }
    for (const std::string& name : written_before(given)) {
        if (std::ranges::find(files, name, &UnitFile::name) != files.end()) continue;
        fs::remove(folder / name);
        fmt::print("removed {}\n", (folder / name).string());
    }
    for (const UnitFile& file : files) {
        if (read_file(folder / file.name, kLongestUnit) == file.text) continue;
        write_file_atomically(folder / file.name, file.text);
        fmt::print("wrote {}\n", (folder / file.name).string());
    }
    write_file_atomically(units_mark_file(given.project), units_mark_text(mark, given.project));
    fmt::print(
        "Now, as root: systemctl daemon-reload && systemctl enable --now {0}\n"
        "Then, as the project's account: bin/stop && bin/start. From now on bin/start leaves daemons and tasks to systemd\n"
        "To see them: systemctl list-dependencies {0}\n",
        shell_quoted(mark.target));
    return kNothingToDo;
}

int remove(const UnitsArguments& given) {
    const auto names = written_before(given);
    std::error_code unknown;
    const std::string target = units_mark(given.project).value_or(UnitsMark{}).target;
    if (fs::exists(fs::path("/run/systemd/system"), unknown) && given.folder == "/etc/systemd/system" &&
        !target.empty())
        fmt::print("First, if it was not done: systemctl disable --now {}\n", shell_quoted(target));
    for (const std::string& name : names) {
        fs::remove(fs::path(given.folder) / name);
        fmt::print("removed {}\n", (fs::path(given.folder) / name).string());
    }
    fs::remove(units_mark_file(given.project), unknown);
    fmt::print(
        "Now, as root: systemctl daemon-reload. As the project's account: bin/start; cron needs its line with bin/start --cron\n");
    return kNothingToDo;
}

int run(const UnitsArguments& given) {
    const ProjectConfig config = load_config(given.project).config;
    const fs::path file = given.project / "config.xml";
    const HostFolders folders = host_folders(config, short_host_name());
    if (given.remove) return remove(given);
    const ConfiguredPrograms programs =
        configured_programs(parse_daemons_and_tasks(read_file(file).value_or(""), file.string()), config, folders);
    for (const auto* list : {&programs.daemons, &programs.tasks})
        for (const ConfiguredProgram& program : *list)
            if (!program.problem.empty()) fmt::print(stderr, "No unit for '{}': {}\n", program.cmd, program.problem);
    const auto files = unit_files(units_of(given, config, folders), programs);
    if (given.install) return install(given, files);
    for (const UnitFile& unit : files)
        fmt::print("# {}\n{}\n", (fs::path(given.folder) / unit.name).string(), unit.text);
    return kNothingToDo;
}

}  // namespace

int units_command(int argc, const char* const* argv) {
    CommandLine line(
        "sluice units", "Writes units for systemd, which then runs a project's daemons and tasks",
        "Prints a target, a service for each daemon of config.xml on this host, and a service and a timer for "
        "each task. With --install it writes them. Run it again after each change of <daemons> or <tasks>. "
        "bin/start, bin/stop and bin/status go on to work. docs/systemd.md explains it.");
    line.failure_status(kCouldNot);
    std::vector<std::string> projects;
    UnitsArguments given;
    line.positional("PROJECT", projects, "The project's folder.");
    line.flag("--install", given.install, "Write the units, and remove those of daemons that are no longer there.");
    line.flag("--remove", given.remove, "Remove all units of this project. bin/start and cron then run it as before.");
    line.option("--folder", given.folder, "Where units lie; default /etc/systemd/system.", "DIR");
    line.option("--name", given.name, "What the units call the project; default: its folder's name.", "NAME");
    line.repeatable("--environment", given.environment,
                    "Of all daemons and tasks, MYSQL_UNIX_PORT=/a/socket, say; may be given many times.", "NAME=VALUE");
    line.flag("--journal", given.journal, "Daemons write to the journal instead of log_HOST.");
    line.exclude("--install", "--remove");
    line.section("FILES", "PROJECT/systemd_HOST: while it is there, bin/start leaves daemons and tasks to systemd.");
    line.section("EXIT STATUS", "0: done. 2: it could not.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (projects.size() != 1 || projects[0].empty()) return line.fail("give one project's folder");
    for (const std::string& variable : given.environment)
        if (variable.find('=') == std::string::npos || in_one_line(variable, variable.size()) != variable)
            return line.fail("--environment takes NAME=VALUE, in one line");
    given.project = fs::canonical(projects[0]);
    return run(given);
}

}  // namespace sluice
