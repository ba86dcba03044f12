// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which hosts are to come when for a gang, and who of those that came gets which member: facts in, decision out
// (docs/gangs.md). A lease is one host's: it is to come at its start, every ten minutes anew, until enough others are
// there at the same time.
#include <string>
#include <vector>

#include "sluice/db/batch_plan_store.h"

namespace sluice {

/// A gang that has not ended.
struct GangWork {
    GangId id;
    int size = 0;
    double fpops = 0;                       ///< of a member
    std::vector<Id> missing;                ///< workunits that need an instance
    std::vector<Id> hosts_tried{};          ///< have or had an instance of one of its members, or can't run one
    std::int64_t platforms = kAnyPlatform;  ///< for which its app has a version
    double slowest = 0;                     ///< flops/s, of the hosts that compute a member; 0: none does
};

/// P(the host, which is on now, stays on for `seconds`), in [0, 1]: its sessions are as long in the middle as the part
/// of the time says in which it is on, with twelve hours off between. Where it is known since when it is on, they are
/// Weibull of shape .7 (policy lab, section 0: hosts that are almost always on), so that who has been on for long stays
/// on; else exponential. Lowered by how often it did not come when it was to.
double stay_on(const GangHost& host, double seconds, double now);
/// What a host must reach for a gang of that size.
double least_stay_on(int size);

struct GangPlan {
    std::vector<GangLease> keep;      ///< as they are to be, new ones included
    std::vector<GangLease> end;       ///< with what became of them
    std::vector<std::string> said{};  ///< a line for each thing that changed, or that is waited for
    std::vector<GangWait> waits{};    ///< of each gang of which members have no host; without times
};

struct GangFactsNow {
    std::vector<GangWork> gangs;    ///< in order: who is first chooses first
    std::vector<GangLease> leases;  ///< of all gangs
    std::vector<GangHost> hosts;    ///< without a lease, heard of lately
};
GangPlan plan_gangs(const GangFactsNow& facts, double now);

}  // namespace sluice
