// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The shell around plan.h: reads the speeds of each app's devices and writes its census file.
#include <filesystem>
#include <string>
#include <vector>

#include "daemons/size_census/advise.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/size_store.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/resource_of.h"

namespace sluice {

struct App;

// Effective speeds of the devices that run an app, and their quantiles (seed 003, job size matching, "Computing device
// quantiles"; upstream's size_census). Pure.

/// Fraction of the time that the device computes: on_frac * active_frac for CPU versions; for GPU versions on_frac *
/// gpu_active_frac, or active_frac where the client does not tell the GPU's. Bad values (negative, over 1, not a
/// number) count as 0 or 1.
double availability(const SpeedRecord& record, const ResourceOf& resource);

/// Flops per second of wall time: availability / et_avg. 0 if that is no usable number.
double effective_speed(const SpeedRecord& record, const ResourceOf& resource);

/// The classes - 1 points that cut the speeds into `classes` groups: point i is element floor(i * n / classes) of the
/// ascending speeds; with `between` half way to the next slower one, if there is one: upstream's borders are speeds of
/// devices, whose class then changes with every job that they return. Reorders `speeds`. Empty if there are no speeds.
std::vector<double> quantiles(std::vector<double>& speeds, int classes, bool between = false);

/// A line "%e" each, as upstream's PHP prints it: the exponent without leading zeros, 1.500000e+9.
std::string census_text(const std::vector<double>& quantiles);

struct CensusOptions {
    bool all_apps = false;  ///< also those without size classes
    bool dry_run = false;   ///< print, write nothing
    bool advise = false;    ///< say which classes would be good, write no census
    std::string svg;        ///< with advise: a file for the histogram; empty: none
    AdviceSettings wish;
};

class SizeCensus final : public Service {
  public:
    /// All but the folder's name outlive it.
    SizeCensus(const CensusOptions& options, std::filesystem::path project, int compat_level, SizeCensusStore& store,
               const PlanClasses& classes, const Clock& clock)
        : Service(0),
          options_(options),
          project_(std::move(project)),
          level_(compat_level),
          store_(store),
          classes_(classes),
          clock_(clock) {}

    /// All apps; false if some file could not be written (logged, the others are). Ends early on a stop.
    bool run();
    Turn turn() override { return {run() ? TurnResult::kFinished : TurnResult::kFailed}; }

  private:
    std::size_t census_or_complaint(const App& app);
    std::size_t census(const App& app);
    void write(const App& app, std::vector<double>& speeds);
    void advise_on(const App& app, std::vector<double>& speeds);
    std::filesystem::path picture_of(const App& app) const;

    const CensusOptions& options_;
    std::filesystem::path project_;
    int level_;
    SizeCensusStore& store_;
    const PlanClasses& classes_;
    const Clock& clock_;
    bool several_ = false, failed_ = false;
};

}  // namespace sluice
