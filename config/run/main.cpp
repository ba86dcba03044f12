// SPDX-License-Identifier: LGPL-3.0-or-later
// start, stop and status: one program reached by three names. Stands for upstream's bin/start.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "config/db_settings.h"
#include "config/resolve.h"
#include "config/run/commands.h"
#include "config/run/foreground.h"
#include "config/run/hash_folders.h"
#include "config/run/own_programs.h"
#include "config/run/process_lock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/mail.h"
#include "sluice/base/own_host.h"
#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct RemoteCall {
    std::string name;                    ///< start, stop or status
    std::vector<std::string> arguments;  ///< as given here
    RemoteCall(std::string program, const char* const* begin, const char* const* end)
        : name(std::move(program)), arguments(begin, end) {}
};

/// Exit status; 127 if it can't be run.
int run_and_wait(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may leave it, the child's exit status would be lost
    const pid_t child = ::fork();
    if (child == 0) {
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    if (child < 0) throw Error(std::string("Can't start a process: ") + std::strerror(errno));
    return wait_for_child(child);
}

/// ssh HOST cd PROJECT/bin && ./NAME ARGUMENTS, for each other host that has daemons or tasks, one after the
/// other. False if one of them failed (it has been told).
bool run_on_other_hosts(const CommandContext& context, const std::string& ssh, const RemoteCall& call) {
    bool all_fine = true;
    for (const std::string& host : context.programs.other_hosts) {
        std::string command = "cd " + shell_quoted((context.folders.project / "bin").string()) + " && ./" + call.name;
        for (const std::string& argument : call.arguments) command += " " + shell_quoted(argument);
        if (context.options.verbose) {
            command += " -v";
            fmt::print("On {}: {}\n", host, command);
            std::fflush(stdout);
        }
        // A host that began with a dash would be an option of ssh.
        const int status = host.starts_with('-') ? 255 : run_and_wait({ssh, host, command});
        if (status == 0) continue;
        all_fine = false;
        fmt::print(stderr, "'{} {} {}' failed with status {}\n", ssh, host, command, status);
    }
    return all_fine;
}

enum class Command { kNone, kEnable, kCron, kCronTasks, kDisable, kStatus, kHealth, kDaemon, kTask };

struct StartArguments {
    Command command = Command::kNone;
    std::string config_file, run_state_file;
    std::string daemon, task;  ///< the id of what this process becomes
    bool journal = false;
    CommandOptions options;
};

Command command_of_name(const std::string& name) {
    if (name == "start") return Command::kEnable;
    if (name == "stop") return Command::kDisable;
    return name == "status" ? Command::kStatus : Command::kNone;
}

/// What units of systemd ask for.
void define_for_units(CommandLine& line, StartArguments& arguments) {
    line.option(
        "--daemon", arguments.daemon,
        "Become the daemon whose lock file is pid_HOST/ID.lock, for a unit of systemd (sluice units). Wait until "
        "the project is enabled.",
        "ID");
    line.option("--task", arguments.task, "The same of a task, if it is due.", "ID");
    line.flag("--journal", arguments.journal,
              "With these two: the output goes where this program's goes, not to log_HOST.");
}

/// nullopt: go on.
std::optional<int> parse_arguments(int argc, const char* const* argv, const std::string& name,
                                   StartArguments& arguments) {
    CommandLine line(
        name, "Starts, stops and watches a project's daemons and periodic tasks",
        "Reads <daemons> and <tasks> of config.xml. As start, it enables the project and starts its "
        "daemons. As stop, it disables the project and waits for them to end. As status, it shows them. "
        "Run it with --cron every five minutes: it restarts daemons that are dead or hang, and runs the tasks that are due.");
    bool enable = false, disable = false, cron = false, tasks = false, status = false, health = false;
    line.flag("-e,--enable,--start", enable, "Enable the project and start its daemons.");
    line.flag("-d,--disable,--stop,-k,--kill", disable, "Disable the project and stop its daemons.");
    line.flag("-c,--cron", cron,
              "If enabled: start daemons that do not run, end and start those that hang, and run tasks that are due.");
    line.flag("--cron-tasks", tasks, "Run tasks that are due, start no daemons.");
    line.flag("-s,--status", status, "Show daemons and tasks.");
    line.flag(
        "--health", health,
        "Say whether the project is well, and what to do first: sluice health. With --quiet: sluice health --changes.");
    define_for_units(line, arguments);
    bool verbose = false;
    line.flag("-q,--quiet", arguments.options.quiet, "Say only what went wrong.");
    line.flag("-v,--verbose", verbose, "Say what is done (the default on a terminal).");
    line.option("--config-file", arguments.config_file, "Instead of PROJECT/config.xml.", "FILE");
    line.option("--run-state-file", arguments.run_state_file, "Instead of PROJECT/run_state_HOST.xml.", "FILE");
    line.option("--fork-delay", arguments.options.fork_delay, "Seconds between the starts of two daemons (0.1).", "S");
    line.option("--wait", arguments.options.stop_wait, "Seconds that stop waits for daemons to end (300).", "S");
    line.flag("--ignore-timestamps", arguments.options.ignore_timestamps, "Run all tasks now.");
    line.flag("--prune-run-state", arguments.options.prune_run_state, "Forget tasks that are no longer in config.xml.");
    line.section(
        "FILES",
        "pid_HOST/NAME.pid and NAME.lock, run_lock_HOST (what runs, should pid_HOST be lost), log_HOST/NAME.log, "
        "run_state_HOST.xml, stop_daemons, stop_sched.");
    line.section("EXIT STATUS",
                 "0: done. 1: something could not be started, ended within a second, or still runs after --wait.\n"
                 "Of status, for monitoring: 0: enabled, and every daemon that is not disabled runs. 1: that could not "
                 "be found out, of this host or another. 2: enabled, but a daemon does not run. 3: disabled.\n"
                 "Of --health: 0: well. 1: degraded. 2: broken.");
    if (const auto status_code = line.parse(argc, argv)) return status_code;
    const bool daemon = !arguments.daemon.empty(), task = !arguments.task.empty();
    if (enable + disable + cron + tasks + (status || health) + daemon + task > 1)
        return line.fail("more than one command given");
    arguments.command = enable    ? Command::kEnable
                        : disable ? Command::kDisable
                        : cron    ? Command::kCron
                        : tasks   ? Command::kCronTasks
                        : daemon  ? Command::kDaemon
                        : task    ? Command::kTask
                        : health  ? Command::kHealth
                        : status  ? Command::kStatus
                                  : command_of_name(name);
    if (arguments.journal && !daemon && !task) return line.fail("--journal needs --daemon or --task");
    if (arguments.command == Command::kNone) {
        return line.fail("no command given, and the program's name is not start, stop or status");
    }
    arguments.options.verbose = !arguments.options.quiet && (verbose || ::isatty(STDOUT_FILENO) == 1);
    return std::nullopt;
}

bool holds_config(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "config.xml", ignored);
}

/// For stop and status: a config.xml that was lost is no reason to leave daemons alone.
bool has_run(const fs::path& folder) {
    std::error_code ignored;
    const std::string host = short_host_name();
    return fs::exists(folder / ("run_lock_" + host), ignored) || fs::exists(folder / ("pid_" + host), ignored);
}

/// Where cron lines and admins call it from: the project, a folder below, or anywhere with the program's
/// path.
fs::path project_of(const char* program, bool starts) {
    const char* given = std::getenv("BOINC_PROJECT_DIR");
    const bool named = given != nullptr && *given != '\0';
    std::vector<fs::path> folders{".", "..", "../.."};
    if (fs::path(program).has_parent_path()) folders.push_back(fs::path(program).parent_path() / "..");
    if (named) folders.assign(1, given);
    for (const auto is_project : {holds_config, has_run}) {
        if (starts && is_project == has_run) continue;
        for (const fs::path& folder : folders)
            if (is_project(folder)) return fs::canonical(folder);
    }
    return find_project_dir();
}

void check_user(const ProjectConfig& config) {
    if (config.project_user_name.empty()) return;
    const std::string name = user_name(::geteuid());
    if (name != config.project_user_name) {
        throw Error(fmt::format("config.xml wants this run by user '{}' (<project_user_name>), not by '{}'",
                                config.project_user_name, name));
    }
}

/// What config.xml says, as far as a command needs it.
struct ReadConfig {
    ProjectConfig config;
    DaemonsAndTasks entries;
    bool whole = true;  ///< false: it could not be read
};

/// `tell_errors`: values that are not allowed, a line each on stderr.
ReadConfig read_all(const fs::path& file, const fs::path& project, bool tell_errors) {
    LoadedConfig loaded = load_config_file(file, project);
    ReadConfig read{std::move(loaded.config), parse_daemons_and_tasks(read_file(file).value_or(""), file.string())};
    if (!tell_errors) loaded.errors.clear();
    for (const auto* lines : {&loaded.errors, &read.entries.warnings})
        for (const std::string& line : *lines) fmt::print(stderr, "{}\n", line);
    return read;
}

/// stop and status must work whatever config.xml holds. They need only the folders and what runs. They name what they
/// can't read, and go on.
ReadConfig read_what_can_be(const fs::path& file, const fs::path& project) {
    try {
        return read_all(file, project, true);
    } catch (const Error& error) {
        fmt::print(stderr, "{}\nGoing on without: the folders are {}'s, the daemons those that run\n", error.what(),
                   project.string());
    }
    LoadedConfig nothing;
    resolve_config(project, nothing);
    return {std::move(nothing.config), {}, false};
}

CommandContext make_context(const StartArguments& arguments, const ProjectConfig& config,
                            const DaemonsAndTasks& entries) {
    CommandContext context;
    context.folders = host_folders(config, short_host_name());
    context.programs = configured_programs(entries, config, context.folders);
    context.options = arguments.options;
    context.options.run_state_file = arguments.run_state_file.empty()
                                         ? context.folders.project / ("run_state_" + context.folders.host + ".xml")
                                         : fs::absolute(arguments.run_state_file);
    return context;
}

/// What daemons and tasks inherit.
void prepare_environment(const CommandContext& context) {
    const char* path = std::getenv("PATH");
    const std::string bin = context.folders.bin.string();
    ::setenv("PATH", (path == nullptr ? bin : bin + ":" + path).c_str(), 1);
    ::setenv("BOINC_PROJECT_DIR", context.folders.project.c_str(), 1);
}

/// As make_project makes it: logs hold volunteers' addresses, and the web server appends to two of them.
void for_web_server_to_read(const fs::path& folder, gid_t web_group) {
    // Not every account may give files to that group; it is then the admin's to do (sluice_options --check says so).
    if (::chown(folder.c_str(), static_cast<uid_t>(-1), web_group) != 0) errno = 0;
    // A unit of systemd may keep it from setting that bit.
    if (::chmod(folder.c_str(), 02750) != 0 && ::chmod(folder.c_str(), 0750) != 0) errno = 0;
}

/// root may stop a project: what it makes then must not keep the project's user out.
void give_to_owner_of(const fs::path& project, const fs::path& folder) {
    struct stat info {};
    if (::geteuid() != 0 || ::stat(project.c_str(), &info) != 0) return;
    if (::lchown(folder.c_str(), info.st_uid, static_cast<gid_t>(-1)) != 0) errno = 0;
}

/// Only what starts or stops something may make one: who asks for the status (root, a monitor) is not its owner.
void make_folders(const CommandContext& context, const fs::path& upload_dir) {
    struct stat upload {};
    constexpr auto kUnchanged = static_cast<gid_t>(-1);
    const gid_t web_group = ::stat(upload_dir.c_str(), &upload) == 0 ? upload.st_gid : kUnchanged;
    for (const fs::path& folder : {context.folders.tmp, context.folders.log, context.folders.pid}) {
        std::error_code error;
        const bool made = fs::create_directories(folder, error);
        if (error) throw FileError(fmt::format("Can't make the folder {}: {}", folder.string(), error.message()));
        if (!made) continue;
        give_to_owner_of(context.folders.project, folder);
        if (folder != context.folders.tmp) for_web_server_to_read(folder, web_group);
    }
    const OwnedFd logs(::open(context.folders.log.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    make_web_server_logs(logs.get());
}

bool owns(const fs::path& folder) {
    struct stat info {};
    return ::stat(folder.c_str(), &info) == 0 && (info.st_uid == ::geteuid() || ::geteuid() == 0);
}

int run_locally(Command command, const CommandContext& context, const ProjectConfig& config) {
    if (command == Command::kStatus) return command_status(context);
    make_folders(context, config.upload_dir);
    std::optional<RunLock> lock;
    try {
        lock = RunLock::try_take(context.folders.pid / ("start.lock." + context.folders.host));
    } catch (const FileError& error) {
        // On a file system that became read-only daemons are to be stopped all the more.
        if (command != Command::kDisable || !owns(context.folders.pid)) throw;
        fmt::print(stderr, "{}\nGoing on without it: nobody else can take it either\n", error.what());
        return command_disable(context);
    }
    const bool cron = command == Command::kCron || command == Command::kCronTasks;
    if (!lock) {
        // For cron that is no news: a stop that waits, or the previous cron's start.
        if (cron && !context.options.verbose) return 0;
        throw Error(fmt::format("start or stop is running already (it holds {}): try again when it has ended",
                                (context.folders.pid / ("start.lock." + context.folders.host)).string()));
    }
    if (command != Command::kDisable) make_hash_folders(config.upload_dir, config.uldl_dir_fanout, EmptyFolder::kLeave);
    if (cron) return command_cron(context, command == Command::kCron);
    return command == Command::kEnable ? command_enable(context) : command_disable(context);
}

/// Asks sluice health what has changed, and tells it as <health_mail> says. A mail that can't be sent is printed: cron
/// mails that. It never fails: what it has to say is no failure of start.
void tell_health(const fs::path& project, const ProjectConfig& config) {
    constexpr double kLimit = 60;  ///< s; it takes one at most
    const std::vector<std::string> words{own_prefix() / "bin/sluice", "health", project, "--changes"};
    std::string text;
    const int status = run_script(words, ScriptRun{.limit = kLimit, .output = &text});
    if (status > 2) text += fmt::format("{} ended with status {}\n", fmt::join(words, " "), status);
    if (text.empty()) return;
    if (config.health_mail != "cron") {
        std::string problem;
        try {
            const auto to = mail_addresses(config.health_mail, "health_mail");
            // Its last line is the worst state.
            const std::string state(split(trim(text), '\n').back());
            const std::string name = config.long_name.empty() ? project.filename().string() : config.long_name;
            problem = send_mail(config.sendmail, {to, fmt::format("{}: {}", name, state), text});
        } catch (const Error& error) {
            problem = error.what();
        }
        if (problem.empty()) return;
        fmt::print(stderr, "The mail about the project's health was not sent: {}\n", problem);
    }
    fmt::print("{}", text);
    std::fflush(stdout);
}

int run(int argc, const char* const* argv) {
    const std::string name = fs::path(argv[0]).filename().string();
    StartArguments arguments;
    if (const auto status = parse_arguments(argc, argv, name, arguments)) return *status;
    ::umask(022);
    const bool own_file = !arguments.config_file.empty();
    const bool starts = arguments.command != Command::kDisable && arguments.command != Command::kStatus &&
                        arguments.command != Command::kHealth;
    const fs::path project = own_file ? fs::absolute(arguments.config_file).parent_path() : project_of(argv[0], starts);
    if (arguments.command == Command::kHealth) {
        std::vector<std::string> words{own_prefix() / "bin/sluice", "health", project};
        if (arguments.options.quiet) words.emplace_back("--changes");
        return run_and_wait(words);
    }
    const fs::path file = own_file ? fs::absolute(arguments.config_file) : project / "config.xml";
    if (std::error_code ignored; !fs::exists(file, ignored) && (starts || own_file || !has_run(project)))
        throw ConfigError(file.string() + " does not exist");
    const bool here = arguments.command == Command::kDaemon || arguments.command == Command::kTask;
    const bool often = arguments.command == Command::kCron || arguments.command == Command::kCronTasks || here;
    // Every five minutes a mail from cron about an option would be too much: the daemons' logs say it, too.
    const ReadConfig read = starts ? read_all(file, project, !often) : read_what_can_be(file, project);
    if (starts) require_database(read.config);
    check_user(read.config);
    if (starts) refuse_root("bin/start", project);
    const CommandContext context = make_context(arguments, read.config, read.entries);
    if (arguments.command != Command::kStatus) prepare_environment(context);
    if (here) {
        make_folders(context, read.config.upload_dir);
        return arguments.command == Command::kDaemon ? run_daemon_here(context, arguments.daemon, arguments.journal)
                                                     : run_task_here(context, arguments.task, arguments.journal);
    }
    int status = run_locally(arguments.command, context, read.config);
    if (arguments.command == Command::kStatus && !read.whole) status = 1;
    if (arguments.command == Command::kCron && !read.config.health_mail.empty()) tell_health(project, read.config);
    if (!is_this_host(read.config.host, context.folders)) return status;
    if (is_loopback_name(read.config.host) && !context.programs.other_hosts.empty()) {
        fmt::print(
            stderr,
            "<host>{}</host> of config.xml is no name that other machines know, so nothing is started or stopped "
            "on {}: put this machine's name ({}) there\n",
            read.config.host, fmt::join(context.programs.other_hosts, ", "), context.folders.host);
        return 1;
    }
    const bool remote_fine = run_on_other_hosts(context, read.config.ssh_exec, {name, argv + 1, argv + argc});
    return status == 0 && !remote_fine ? 1 : status;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
