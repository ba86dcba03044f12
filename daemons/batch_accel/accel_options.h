// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The command line of batch_accel; what is not given is what compat_level says.
#include <optional>
#include <string>

#include "daemons/batch_accel/plan.h"
#include "sluice/daemon/command_line.h"

namespace sluice {

struct AccelOptions {
    std::optional<double> min_frac_done, max_extra_frac, late_after;
    std::optional<int> max_not_done, max_extra_per_batch, max_extra_total;
    std::optional<Id> explain;  ///< print every decision on this batch, write nothing
    double stats_age = 3000;    ///< s for which batch_stats' results are used
    bool no_stats = false;
    bool dry_run = false;
    double every = 3600;  ///< s between two runs, if it is no task

    void define(CommandLine& line);
    /// "" or what is wrong with the values.
    std::string check() const;
    AccelRules rules(int compat_level) const;
};

}  // namespace sluice
