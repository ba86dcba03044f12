// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "sched/sim/recording.h"

namespace sluice::sim {

/// A monotonic clock, in seconds.
double seconds_now();

/// A bar on the terminal, with the time that is left; nothing where standard error is none. Gone when it is destroyed.
class ProgressBar {
  public:
    ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ~ProgressBar();
    /// `part` of the work is done, above 0 to 1.
    void operator()(double part);

  private:
    bool shown_;
    double start_;
};

// sluice_sim run and compare: what is asked for, and doing it.

struct RunCommand {
    std::string scenario;  ///< name or file
    std::int64_t seed = 1;
    std::string out;      ///< folder for result.json; empty: no files
    std::string jobs;     ///< file for a CSV of every job; empty: none
    std::string config;   ///< config.xml to be used; empty: the scenario's own
    std::string project;  ///< folder of a project whose hosts and apps to take; empty: the scenario's own
    std::string replay;   ///< folder of recorded requests instead of the scenario's hosts; empty: none
};
/// Prints a summary on standard output. Throws Error.
void run_scenario(const RunCommand& command);

/// nullopt: none is named. What is left out is said on standard error. Throws Error.
std::optional<Recording> recording_of(const std::string& folder);

/// A signal asked the program to end (heeded from run_scenario() and compare_configs() on).
void heed_signals();
bool stop_wanted();

/// Names and what they are, a line each.
std::string scenario_list();

struct CompareCommand {
    std::string a, b;  ///< files: config.xml, or JSON with fields of the scenario
    std::string scenario;
    std::int64_t first_seed = 1, seeds = 5;
    std::string out;      ///< folder for compare.json; empty: none
    std::string project;  ///< as above
    std::string replay;   ///< as above
};
/// The scenario under two configurations on the same seeds: prints each figure with the difference and its interval,
/// and what changed most. Throws Error.
void compare_configs(const CompareCommand& command);

}  // namespace sluice::sim
