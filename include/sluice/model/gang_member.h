// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is special of a workunit that is a member of a gang (docs/gangs.md).
#include <algorithm>

#include "sluice/model/records.h"

namespace sluice {

/// No program makes an instance but the scheduler, for the host that gang_planner has chosen; and a host that is lost
/// is not the end of the gang.
inline void send_by_gang_planner_only(Workunit& w) {
    constexpr int kErrors = 5, kInstances = 10;
    w.transitioner_flags = TransitionerFlags::kNoNewResults;
    w.transition_time = kNever;
    w.max_error_results = std::max(w.max_error_results, kErrors);
    w.max_total_results = std::max(w.max_total_results, kInstances);
}

}  // namespace sluice
