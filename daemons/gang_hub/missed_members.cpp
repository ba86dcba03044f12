// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/gang_hub/missed_members.h"

#include <algorithm>

#include "sluice/base/log.h"
#include "sluice/model/gang.h"

namespace sluice {

std::vector<SeatInstance> seat_instances(GangStore& store, const GangSeat& seat) {
    std::vector<SeatInstance> all;
    for (const GangMemberInstance& i : store.instances(seat.gang, {&seat.member, 1}))
        all.push_back({gang_tag(i.name), i.result.state == ServerState::kInProgress});
    return all;
}

void give_up_missed(GangStore& store, BatchPlanStore& plans, const GangId& gang, std::span<const MissedMember> members,
                    bool long_since, std::int64_t now) {
    std::vector<int> numbers;
    for (const MissedMember& m : members) numbers.push_back(m.member);
    std::vector<OpenBatchResult> results;
    for (const GangMemberInstance& i : store.instances(gang, numbers)) {
        if (i.result.state != ServerState::kInProgress) continue;
        const auto missed =
            std::find_if(members.begin(), members.end(), [&](const MissedMember& m) { return m.member == i.member; });
        const bool was_there = missed->last_there == gang_tag(i.name);
        // Since it was made, which is when it was sent first: one that its client lost is sent again and again.
        if (!was_there && !(long_since && i.result.create_time + kGangDownload <= now)) continue;
        log_normal("[gang#{}] member {}: the others wait for [RESULT#{} {}] of [HOST#{}]", gang_name(gang), i.member,
                   i.result.id, i.name, i.result.host);
        results.push_back(i.result);
    }
    if (results.empty()) return;
    // Of the last instance, too: without it the gang can't go on, and the others need not wait for that.
    log_normal("[gang#{}] {} of {} instances are given up", gang_name(gang), plans.give_up(results, now, true),
               results.size());
}

}  // namespace sluice
