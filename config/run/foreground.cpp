// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/foreground.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "config/run/spawn.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/service_manager.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::seconds(1)); }

/// nullptr, and a line on standard error: there is none, or it can't be started.
const ConfiguredProgram* find_program(const std::vector<ConfiguredProgram>& programs, const std::string& id,
                                      const fs::path& project) {
    const auto found = std::ranges::find(programs, id, &ConfiguredProgram::id);
    if (found == programs.end() || found->disabled) {
        fmt::print(stderr,
                   "config.xml has no {} '{}' on this host: after a change of <daemons> or <tasks>, run this "
                   "again, as root: {}\n",
                   found == programs.end() ? "daemon or task" : "enabled daemon or task", in_one_line(id),
                   sluice_command("units --install", project));
        return nullptr;
    }
    if (!found->problem.empty()) fmt::print(stderr, "'{}': {}\n", found->cmd, found->problem);
    return found->problem.empty() ? &*found : nullptr;
}

/// Why the daemon has to wait; empty: it may run.
std::string obstacle(const CommandContext& context, const ConfiguredProgram& program) {
    const auto state = readable_run_state(context.options.run_state_file);
    if (!state || !state->enabled) return "Waits: the project is stopped; bin/start lets it run";
    std::error_code ignored;
    if (fs::exists(context.folders.project / "stop_daemons", ignored))
        return "Waits: the file stop_daemons is present; bin/start removes it";
    if (is_running(program, context.folders)) return "Waits: another process is this daemon; bin/stop ends that one";
    return "";
}

/// The file that the shell would run in that folder; empty: none.
fs::path program_file(const std::string& word, const fs::path& folder_of_run) {
    if (word.find('/') != std::string::npos) return folder_of_run / word;
    const char* path = std::getenv("PATH");
    for (const std::string_view folder : split(path == nullptr ? "" : path, ':'))
        if (const fs::path file = fs::path(folder) / word; ::access(file.c_str(), X_OK) == 0) return file;
    return "";
}

/// Programs of Sluice tell the service manager of their turns. A shell between the two would hide them.
bool speaks(const ConfiguredProgram& program, const HostFolders& folders) {
    const fs::path file = program.use_shell ? "" : program_file(program.words.front(), folders.tmp);
    return !file.empty() && is_own_program(installed_program(file));
}

/// True: noted that the task runs now; nobody else notes at the same time.
bool note_run(const CommandContext& context, const ConfiguredProgram& task) {
    const fs::path file = context.folders.pid / ("start.lock." + context.folders.host);
    std::optional<RunLock> lock;
    while (!(lock = RunLock::try_take(file))) pause();
    RunState state = read_run_state(context.options.run_state_file);
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    if (!(state.enabled || task.always_run)) return false;
    const double last_run = state.last_run[task.cmd], early = task_look_interval(task.period) / 2;
    if (now < last_run + task.period - early && last_run <= now) return false;
    state.last_run[task.cmd] = now;
    write_run_state(context.options.run_state_file, state);
    return true;
}

}  // namespace

std::filesystem::path units_mark_file(const fs::path& project) { return project / ("systemd_" + short_host_name()); }

std::optional<UnitsMark> units_mark(const fs::path& project) {
    const auto text = read_file(units_mark_file(project), 4096);
    if (!text) return std::nullopt;
    UnitsMark mark;
    for (const std::string_view line : split(*text, '\n')) {
        if (line.starts_with("target ")) mark.target = in_one_line(line.substr(7));
        if (line.starts_with("folder ")) mark.folder = in_one_line(line.substr(7));
        if (line.starts_with("options ")) mark.options = in_one_line(line.substr(8), 2000);
    }
    return mark;
}

std::string units_mark_text(const UnitsMark& mark, const fs::path& project) {
    return fmt::format(
        "systemd runs the daemons and tasks of this host; bin/start leaves them to it. This ends that: {}\n"
        "target {}\nfolder {}\noptions {}\n",
        sluice_command("units --remove", project), mark.target, mark.folder, mark.options);
}

int run_daemon_here(const CommandContext& context, const std::string& id, bool to_journal) {
    const ConfiguredProgram* const program = find_program(context.programs.daemons, id, context.folders.project);
    if (program == nullptr) return 1;
    ServiceManager& manager = service_manager();
    std::string said;
    for (std::string why; !(why = obstacle(context, *program)).empty(); pause()) {
        manager.status(why);
        manager.alive();
        if (why != said) fmt::print(stderr, "{}: {}\n", id, why);
        said = why;
    }
    manager.leave_to_the_next(speaks(*program, context.folders));
    become(*program, context.folders, to_journal);
}

int run_task_here(const CommandContext& context, const std::string& id, bool to_journal) {
    const ConfiguredProgram* const task = find_program(context.programs.tasks, id, context.folders.project);
    if (task == nullptr) return 1;
    if (is_running(*task, context.folders) || !note_run(context, *task)) return 0;
    become(*task, context.folders, to_journal);
}

double task_look_interval(double period) { return std::min(period, std::clamp(period / 10, 300.0, 900.0)); }

}  // namespace sluice
