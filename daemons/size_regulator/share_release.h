// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whose INACTIVE jobs become sendable, where users have shares (seed 000). Pure.
#include <cstdint>
#include <map>
#include <vector>

#include "daemons/size_regulator/plan.h"
#include "sluice/db/size_store.h"

namespace sluice {

struct ReleaseRules {
    const ReleasePlaces& places;
    double share_floor = 0;  ///< [0,1]
};

/// As plan_release(), with one more rule. The first batch may have no UNSENT job of a class while a later batch has
/// some. Then it gets the room below the class's high mark, so that the next hosts find its jobs.
std::vector<Release> wanted_by_shares(int classes, const WaterMarks& marks, const std::vector<ClassQueue>& queues,
                                      const ReleasePlaces& places);

/// Of each class of `wanted` that many jobs at most, of the batches that come first: planned ones, then by logical end
/// time. A batch with infinitely late end comes last; jobs that have no place stand beside the least, as with the
/// scheduler, and alternate with it. Each job of a stream moves the next one of it by what it costs its user.
/// share_floor of the jobs go, by quota, to the users with the fewest UNSENT jobs of the class: hosts can only take
/// what is there. `reserve`: by class what is due of that, less than 1; kept from one release to the next.
std::vector<QueueRelease> plan_by_shares(const std::vector<Release>& wanted, const std::vector<ClassQueue>& queues,
                                         const ReleaseRules& rules, std::map<int, double>& reserve);

}  // namespace sluice
