#include "daemons/gang_hub/missed_members.h"

#include <algorithm>

#include "sluice/base/log.h"
#include "sluice/model/gang_instance.h"

namespace sluice {
namespace {

constexpr std::int64_t kToDownload = 600;  ///< s that a host has from being sent a member until it must be at the hub

}  // namespace

std::vector<SeatInstance> seat_instances(GangStore& store, const GangSeat& seat) {
    std::vector<SeatInstance> all;
    for (const GangMemberInstance& i : store.instances(seat.gang, {&seat.member, 1}))
        all.push_back({gang_tag(i.name), i.result.state == ServerState::kInProgress});
    return all;
}

void give_up_missed(GangStore& store, PlanStore& plans, const GangId& gang, std::span<const MissedMember> members,
                    bool long_since, std::int64_t now) {
    std::vector<int> numbers;
    for (const MissedMember& m : members) numbers.push_back(m.member);
    std::vector<OpenPlanResult> results;
    for (const GangMemberInstance& i : store.instances(gang, numbers)) {
        if (i.result.state != ServerState::kInProgress) continue;
        const auto missed =
            std::find_if(members.begin(), members.end(), [&](const MissedMember& m) { return m.member == i.member; });
        const bool was_there = missed->last_there == gang_tag(i.name);
        if (!was_there && !(long_since && i.result.sent_time + kToDownload <= now)) continue;
        log_normal("[gang#{}] member {}: the others wait for [RESULT#{} {}] of [HOST#{}]", gang_name(gang), i.member,
                   i.result.id, i.name, i.result.host);
        results.push_back(i.result);
    }
    if (results.empty()) return;
    log_normal("[gang#{}] {} of {} instances are given up", gang_name(gang), plans.give_up(results, now),
               results.size());
}

}  // namespace sluice
