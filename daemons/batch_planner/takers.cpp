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
        const auto at = a.hosts.find(fleet.ids[i]);
        if (at == a.hosts.end()) continue;
        Host& h = at->second;
        if (h.counted < a.look) h.since = 0;
        if (look.holders.contains(fleet.ids[i])) h = {};
        if (h.since > 0 && static_cast<double>(look.heard_of[i]) > h.since + kPublished)
            ++h.missed, h.missed_at = look.now, h.since = 0;
        if (look.now - h.missed_at > kRemembered) h.missed = 0;
        none[i] = h.missed >= kRequests;
    }
    a.look = look.now;
    if (look.waited > kStuck) a.stuck = look.now;
    return look.now - a.stuck > kRemembered ? std::vector<bool>{} : none;
}

void Takers::count_on(Id app, Id host, double now) {
    Host& h = apps_[app].hosts[host];
    if (h.since <= 0) h.since = now;
    h.counted = now;
}

}  // namespace sluice
