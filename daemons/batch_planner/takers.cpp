// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/takers.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr int kRequests = 4;           ///< without a job
constexpr double kStuck = 1800;        ///< s for which no job of a batch is sent though some wait
constexpr double kRemembered = 21600;  ///< s
constexpr double kPublished = 60;      ///< s until schedulers know a plan

}  // namespace

std::vector<bool> Takers::take_none(Id app, const FleetCapacity& fleet, const Look& look) {
    App& a = apps_[app];
    std::vector<bool> none(fleet.size());
    for (std::size_t i = 0; i < fleet.size(); ++i) {
        const Id key = pool_key(fleet.ids[i], fleet.types[i]);
        const auto at = a.pools.find(key);
        if (at == a.pools.end()) continue;
        Pool& p = at->second;
        if (p.counted < a.look) p.since = 0;
        if (look.holders.contains(key)) p = {};
        if (p.since > 0 && static_cast<double>(look.heard_of[i]) > p.since + kPublished)
            ++p.missed, p.missed_at = look.now, p.since = 0;
        if (look.now - p.missed_at > kRemembered) p.missed = 0;
        none[i] = p.missed >= kRequests;
    }
    a.look = look.now;
    if (look.waited > kStuck) a.stuck = look.now;
    return look.now - a.stuck > kRemembered ? std::vector<bool>{} : none;
}

void Takers::count_on(Id app, Id pool, double now) {
    Pool& p = apps_[app].pools[pool];
    if (p.since <= 0) p.since = now;
    p.counted = now;
}

}  // namespace sluice
