// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What sluice health finds out about a project before it judges. Times are UNIX s, 0: never; sizes are bytes.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/disk.h"
#include "sluice/base/life_sign.h"
#include "sluice/db/health_store.h"

namespace sluice {

struct DaemonFacts {
    std::string command;
    bool disabled = false;
    pid_t pid = 0;         ///< 0: it does not run
    bool stopped = false;  ///< by SIGSTOP or a debugger
    std::string problem;   ///< not empty: start does not start it, for this reason
};

struct TaskFacts {
    std::string command;
    bool disabled = false, running = false;
    double last_run = 0, period = 0;
};

struct AppHealth {
    std::string name;
    std::int64_t unsent = 0;                            ///< counted to kMostCounted
    double oldest_unsent = 0;                           ///< of these
    std::vector<std::pair<int, std::int64_t>> by_size;  ///< unsent by size class, if the app has classes
    WaitingRows to_validate, to_assimilate;
    LastOutcomes outcomes;
};

inline constexpr std::size_t kMostApps = 50;

struct DatabaseFacts {
    std::string error;                ///< not empty: it could not be asked, for this reason
    std::string unanswered;           ///< not empty: what it was asked when the time was over; the rest was not asked
    std::vector<std::string> errors;  ///< of single questions; what they ask for is not known
    bool read_only = false;
    double clock_ahead = 0;  ///< s that the server's clock is ahead of this machine's
    WaitingRows to_transition, to_delete;
    std::vector<AppHealth> apps;                      ///< that are not deprecated, kMostApps at most
    std::vector<std::string> unserved;                ///< a line for each app without a validator or an assimilator
    std::optional<std::vector<LockWait>> lock_waits;  ///< nullopt: the account may not look
    std::vector<std::string> schema_errors;
    int tables = 0;  ///< the version of the tables sluice_*; 0: there are none, or it is not known
};

/// Of the last lines of the scheduler's log.
struct ReplyFacts {
    std::int64_t with_work = 0, without_work = 0;
};

struct ArrayFacts {
    std::string error;
    std::int64_t slots = 0, present = 0;
    double heartbeat = 0;
};

/// Logs whose last minutes hold [CRITICAL] lines.
struct LogFacts {
    std::string file, last;
    std::int64_t lines = 0;
};

struct HealthFacts {
    double now = 0;
    std::string check, upgrade;  ///< commands of the program sluice for this project
    bool enabled = true;
    std::string run_state_error;
    std::string target;                  ///< of systemd, if that runs daemons and tasks
    std::vector<std::string> triggers;   ///< files that stop something, with what they stop
    std::vector<std::string> reminders;  ///< files that change what programs do, for longer than is normal
    std::vector<DaemonFacts> daemons;
    std::vector<LifeSign> life;
    std::vector<TaskFacts> tasks;
    double born = 0;                        ///< when the project was made, as far as its keys tell
    std::optional<DatabaseFacts> database;  ///< nullopt: it did not answer in time
    std::vector<DiskFacts> disks;
    ArrayFacts array;
    ReplyFacts replies;
    std::vector<LogFacts> logs;
    std::string relay_error;  ///< the web server's account does not reach the resident scheduler: why, and the remedy
    std::string scheduler_error;             ///< of a request to the scheduler's URL
    std::string upload_error;                ///< of a request to <upload_url>
    std::optional<double> certificate_ends;  ///< of the web server at that URL
    std::vector<std::string> key_errors;
    std::string foreign_programs;  ///< as foreign_programs() says it
    bool foreign_feeder = false;   ///< bin/feeder is not ours: its array can't be read
    std::string config_error;
};

}  // namespace sluice
