// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What validators and assimilators of projects have in common.
#include <functional>
#include <string>
#include <vector>

#include "daemons/handlers/wire.h"

namespace sluice {

/// Replaces this process by `daemon`, which gets the same words, and is told to start this program. It returns the exit
/// status of --help, or 1, with a line on standard error.
int become_daemon(const std::string& daemon, int argc, char** argv, const std::function<std::string()>& usage);

struct Served {
    /// "" or why it can't begin.
    std::function<std::string(const WireHello&, const std::vector<std::string>& words)> start;
    std::function<std::string(const std::string& question)> answer;
};

using StartHandler = decltype(Served::start);

/// Answers until the daemon is gone. The exit status.
int serve(int argc, char** argv, const Served& served);
int serve_validator(int argc, char** argv, ValidatorCode& code, const StartHandler& start);
int serve_assimilator(int argc, char** argv, AssimilatorCode& code, const StartHandler& start);

/// What the code's own statements are bound to; set before they begin.
struct DatabaseRules {
    double time_limit = 0;  ///< s for a statement; 0: none
    bool dry_run = false;   ///< what they write is undone
};
inline DatabaseRules database_rules;

/// After each workunit: commits what the code left open in the database, or rolls it back. False: that was not
/// possible. Is there only in programs whose code uses the database.
__attribute__((weak)) bool end_transaction(bool good);

}  // namespace sluice
