// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The programs of this folder: batch_upkeep, batch_watch, batch_shares, batch_planner, gang_planner, batch_accel
// and batch_stats.
// Each is a service with a command line; it runs alone, under its own name, or within `batches`.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/program.h"
#include "sluice/db/batch_store.h"

namespace sluice {

/// What a service is made of. All outlive it.
struct BatchSurroundings {
    const ProjectConfig& config;
    Database& db;
    BatchUpkeepStore& batches;
    Notices& notices;
    Clock& clock;
    double every = 0;  ///< s between two passes
    bool dry_run = false, one_pass = false;
};

class BatchProgram {
  public:
    virtual ~BatchProgram() = default;
    /// As of a program of its own: name, texts, settings. Its functions are empty.
    virtual DaemonProgram program() const = 0;
    /// Options that `batches` has, too.
    virtual void define(CommandLine&) {}
    /// Options and sections of the manual page of the program that runs alone.
    virtual void define_alone(CommandLine& line) = 0;
    /// "" or what is wrong with the values.
    virtual std::string check() const { return ""; }
    /// Whether `batches` runs it.
    virtual bool enabled(const ProjectConfig& config) const = 0;
    /// Alone: what its options say of the loop.
    virtual void settle(DaemonStart&) const {}
    /// Called once. Owned by this object. Throws ConfigError.
    virtual Service& service(const BatchSurroundings& here) = 0;
    /// Alone: an option asked for an answer instead of turns; it was printed.
    virtual bool answered() { return false; }
};

/// In the order in which `batches` calls them: counts first, then notes for owners, places, plans, gangs, and the last
/// jobs.
std::vector<std::unique_ptr<BatchProgram>> batch_programs();
/// batch_stats: `batches` has its computation within batch_accel.
std::unique_ptr<BatchProgram> batch_stats_program();

}  // namespace sluice
