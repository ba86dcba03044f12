// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the main() of every daemon has in common: the shared options, the project, the loop, and what is said and
// returned in the end. A daemon brings its name, its own options, and what a pass needs and does (docs/ARCHITECTURE.md:
// A new daemon).
#include <functional>
#include <string>

#include "sluice/daemon/command_line.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

/// How long a daemon runs, and the options that say so. All have --one_pass.
enum class Lifetime {
    kUntilStopped,  ///< --sleep_interval X; the default is DaemonSettings'
    kOnce,          ///< one pass, unless --sleep_interval X is given
    kAlwaysOnce,    ///< --one_pass is accepted and changes nothing
    kAtOwnPace      ///< until stopped; what it waits for is its own affair
};

/// What is known when a daemon starts.
struct DaemonStart {
    DaemonSettings settings;  ///< what `check` and `run` change counts; project: not yet known to `check`
    IdShare share;            ///< --mod
    bool dry_run = false;     ///< --dry_run; one_pass is set then, and no lock is taken
    Env env;

    /// Turns of `service` until it is to end; the exit status.
    int run(Service& service) const { return run_daemon(settings, env, service); }
    /// The same with passes of a daemon that waits within them.
    int loop(const std::function<TurnResult()>& pass) const { return run_daemon(settings, env, pass); }
};

struct DaemonProgram {
    std::string summary, description;  ///< as CommandLine's
    DaemonSettings settings;           ///< name, lock_name, sleep_interval …; not the project
    Lifetime lifetime = Lifetime::kUntilStopped;
    bool has_mod = false, has_dry_run = false;
    /// Defines its own options and the sections of its manual page. May be empty.
    std::function<void(CommandLine&)> options = {};
    /// "" or what is wrong with the values of its options. May be empty.
    std::function<std::string(DaemonStart&)> check = {};
    /// Makes the service and what it needs (config, database, store), and returns start.run(service). What it throws is
    /// logged (1).
    std::function<int(DaemonStart&)> run = {};
};

/// The whole of a daemon's main(): returns its exit status.
int daemon_main(const DaemonProgram& program, int argc, const char* const* argv);

/// How a tool ends that can't do what it was asked to.
struct ToolFailure {
    std::string who = {};  ///< heads the line on standard error; may be empty
    int failed = 1;        ///< exit status
};
/// The end of a tool's main(): runs `work` and returns its exit status, or, if it throws or standard output did not
/// take all that it printed, says why on standard error (after what is on standard output).
int tool_main(const ToolFailure& end, const std::function<int()>& work);

/// A tool that makes one text of one file.
struct FileTool {
    std::string name, summary, description;  ///< as CommandLine's
    std::string file, file_help;             ///< its only argument
    /// What goes to standard output. `-` is standard input.
    std::function<std::string(const std::string& file)> text;
};
/// Its main(). Exit status 0; 1: wrong command line; 2: what `text` throws, on standard error.
int file_tool_main(const FileTool& tool, int argc, const char* const* argv);

}  // namespace sluice
