// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The loop that every daemon shares: signals, trigger files, sleeping, back-off when the database is away,
// one summary line a pass. A daemon is a Service whose turn is: facts -> plan (pure) -> apply.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sluice/base/env.h"
#include "sluice/base/files.h"
#include "sluice/daemon/service.h"

namespace sluice {

struct DaemonSettings {
    std::string name;                    ///< "transitioner"
    std::filesystem::path project = {};  ///< project root
    double sleep_interval = 5;           ///< s between idle passes, as main() hands it to the service
    /// Run until a turn does not leave kWorked, then exit (0; 1 if it failed).
    bool one_pass = false;
    /// With one_pass: stop_daemons is not looked at. For a dry run, which writes nothing, and for what stands for
    /// programs of upstream that don't look either.
    bool one_pass_while_stopped = false;
    /// Non-empty: an exclusive lock PROJECT/pid_HOST/<lock_name>.run is held; a second copy says who holds it
    /// and exits 1. Empty: several copies may run.
    std::string lock_name = {};
    /// What keeps a turn that threw nothing from being a good one, for signs of life; "" or empty: nothing does.
    std::function<std::string()> trouble = {};
    /// Sleeps up to so many seconds and returns stop_requested(); empty: interruptible_sleep. For tests.
    std::function<bool(double)> sleep = {};
};

/// The lock that says "one of these is enough": PROJECT/pid_HOST/<name>.run, with our pid in it for the next one.
/// nullopt: another process holds it.
std::optional<FileLock> try_program_lock(const std::filesystem::path& project, const std::string& name);

/// What the summary line of a pass begins with.
inline const char* dry_run_words(bool dry_run) { return dry_run ? "dry run, nothing was written: " : ""; }

/// A stop was asked for: SIGTERM, SIGINT or SIGHUP came, or PROJECT/stop_daemons exists (looked at once a
/// second; a log that was moved away is noticed then, too). Long passes ask between batches and return early.
bool stop_requested();
/// What a pass throws out of a walk over many rows when a stop was asked for, and catches itself.
struct Stopped {};

/// Sleeps up to `seconds`, wakes at once on a stop; returns stop_requested(). `also_wake` (may be empty) is
/// polled every `poll` seconds: true ends the sleep.
bool interruptible_sleep(double seconds, const std::function<bool()>& also_wake = {}, double poll = 1.0);

/// Installs the signal handlers (and puts back the old ones at the end), gives `service` its turns until stopped,
/// returns the exit status (0 on any stop). SIGUSR1 and SIGPIPE do not end the program; a program that uses SIGUSR1
/// installs its handler before. DbError kCantConnect/kLost/kRetry from a turn: logged once per state change,
/// retried with back-off 1 s … 60 s, never fatal; in one_pass kLost and kRetry are retried three times,
/// a server that went away during a pass is waited for, for a minute, then 1. Any other exception: logged; fatal (1) in
/// one_pass, retried after the service's interval (at least 1 s) otherwise. An error that stays is logged again every
/// ten minutes.
int run_daemon(const DaemonSettings& settings, Env env, Service& service);
/// The same for a daemon that waits within its pass: `pass` every `sleep_interval`.
int run_daemon(const DaemonSettings& settings, Env env, const std::function<TurnResult()>& pass);

}  // namespace sluice
