// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A gang of four and hosts, planned pass by pass.
#include <set>
#include <vector>

#include "daemons/batches/gang_plan.h"

namespace sluice::test {

inline constexpr double kNow = 1'700'000'000;

inline GangHost steady(Id id) { return {id, kNow - 10, 0.99, 0.99, 1e9, 0, 0}; }
inline GangWork four(Id batch = 12) { return {{batch, 0}, 4, 3.6e12, {101, 102, 103, 104}, {}}; }

struct GangWorld {
    GangFactsNow facts;
    double now = kNow;
    GangPlan plan;

    explicit GangWorld(int hosts = 10) {
        facts.gangs = {four()};
        for (Id id = 1; id <= hosts; ++id) facts.hosts.push_back(steady(id));
    }
    /// What is decided becomes so.
    void pass() {
        plan = plan_gangs(facts, now);
        std::set<Id> taken;
        for (const GangLease& l : plan.keep) taken.insert(l.host);
        std::erase_if(facts.hosts, [&](const GangHost& h) { return taken.contains(h.id); });
        facts.leases = plan.keep;
    }
    /// These make a request now.
    void contact(const std::set<Id>& hosts) {
        for (GangLease& l : facts.leases)
            if (hosts.contains(l.host)) l.heard = now;
    }
    std::set<Id> all() const {
        std::set<Id> ids;
        for (const GangLease& l : facts.leases) ids.insert(l.host);
        return ids;
    }
    std::vector<Id> given() const {
        std::vector<Id> workunits;
        for (const GangLease& l : facts.leases)
            if (l.workunit != 0) workunits.push_back(l.workunit);
        return workunits;
    }
    /// Those that were given a job have it.
    void fetch() {
        for (GangLease& l : facts.leases) {
            l.has_it = l.workunit != 0;
            std::erase(facts.gangs[0].missing, l.workunit);
        }
    }
};

inline GangHost of_speed(Id id, double speed) {
    GangHost h = steady(id);
    h.p_fpops = speed;
    return h;
}

}  // namespace sluice::test
