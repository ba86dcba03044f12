// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Copies of a batch's last jobs: none unless batch_planner is told otherwise, and never more than a part of the batch.
// Pure.
#include <vector>

#include "sluice/db/plan_store.h"

namespace sluice {

/// An instance in progress of a batch of which no job waits for a host.
struct LastInstance {
    OpenPlanResult result;
    double end = 0;  ///< UNIX s: expected; HUGE_VAL if that is past
};

/// Copies that a batch may still have: at most `part` of its jobs in all.
std::int64_t copies_left(double part, int jobs, std::int64_t made);

/// Of which instances copies are made: those that end later than `another`, T, by when hosts of H would have done the
/// job if they got it now. The latest first, at most `most`, one of a workunit.
std::vector<OpenPlanResult> instances_to_copy(std::vector<LastInstance> last, double another, std::int64_t most);

}  // namespace sluice
