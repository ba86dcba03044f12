// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What becomes of members of whom the others of their gang wait at the hub.
#include "daemons/gang_hub/hub.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {

/// As GangDirectory says it.
std::vector<SeatInstance> seat_instances(GangStore& store, const GangSeat& seat);
/// Their instances in progress that met the others last are given up; `long_since`: others that were sent some time
/// ago, too. `now`: UNIX s.
void give_up_missed(GangStore& store, BatchPlanStore& plans, const GangId& gang, std::span<const MissedMember> members,
                    bool long_since, std::int64_t now);

}  // namespace sluice
