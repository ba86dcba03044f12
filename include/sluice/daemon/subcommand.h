// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A program of several commands: `sluice check PROJECT`. Each command has a command line, a --help and a manual page of
// its own; `sluice --help` lists them.
#include <string>
#include <vector>

namespace sluice {

/// Exit statuses of every command.
inline constexpr int kNothingToDo = 0, kDifferences = 1, kCouldNot = 2;

struct Subcommand {
    std::string name, summary;
    /// argv[0] is the command's name. Returns the exit status; what it throws is said on standard error (kCouldNot).
    /// Its CommandLine is called "PROGRAM NAME", and has failure_status(kCouldNot).
    int (*run)(int argc, const char* const* argv);
};

struct SubcommandProgram {
    std::string name, summary, description;  ///< as CommandLine's
    std::vector<Subcommand> commands;        ///< in the order of --help
};

/// Its main(): the exit status.
int subcommand_main(const SubcommandProgram& program, int argc, const char* const* argv);

}  // namespace sluice
