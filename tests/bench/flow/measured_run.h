// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A program run to its end, with what it cost: time, memory, and what it made the database do.
#include <sys/types.h>

#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice::test {

struct Cost {
    double seconds = 0, cpu = 0;
    long peak_mb = 0;
    std::int64_t rows_read = 0, statements = 0;
    int status = -1;
    std::string last_line;  ///< of its log
};

/// Rows that the server has looked at (all its Handler_read counters), and statements, since it started.
struct ServerCounters {
    std::int64_t rows = 0, statements = 0;
};
ServerCounters counters(Database& db);

/// `project` becomes $BOINC_PROJECT_DIR; stderr goes to `log`.
Cost measured_run(Database& db, const std::string& project, const std::vector<std::string>& args,
                  const std::string& log);
/// Peak memory of a process that still runs.
long peak_mb(pid_t pid);

}  // namespace sluice::test
