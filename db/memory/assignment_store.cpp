// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/rpc_stores.h"

#include <algorithm>
#include <set>

namespace sluice {

InstanceCounts MemoryAssignmentStore::counts(Id workunit, Id hostid) const {
    InstanceCounts n;
    n.workunitid = workunit;
    for (const Id id : db_.results.index().instances(workunit)) {
        const Result& r = *db_.results.get(id);
        n.unsent += r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
        n.in_progress += r.server_state == ServerState::kInProgress;
        n.successful += r.server_state == ServerState::kOver && r.outcome == Outcome::kSuccess &&
                        r.validate_state != ValidateState::kInvalid;
        n.on_this_host |= r.hostid == hostid;
    }
    return n;
}

std::vector<AssignedJob> MemoryAssignmentStore::load(const AssignmentQuery& q) {
    db_.enter("assignments.load");
    std::vector<AssignedJob> jobs;
    const auto add = [&](const Assignment& a) {
        AssignedJob job;
        job.assignment = a;
        job.instances = counts(a.workunitid, q.hostid);
        if (const Workunit* w = db_.workunits.get(a.workunitid)) {
            job.workunit_found = true;
            job.workunit = *w;
        }
        jobs.push_back(job);
    };
    const auto targets = [&](AssignTarget type, Id target) {
        for (const auto& [id, a] : db_.assignments.rows())
            if (target != 0 && !a.multi && a.target_type == type && a.target_id == target) add(a);
    };
    if (q.appointed) {
        const GangLease* lease = db_.gang_leases.get(q.hostid);
        if (lease != nullptr && lease->workunit != 0)
            add({0, q.hostid, AssignTarget::kHost, false, lease->workunit, 0});
        return jobs;
    }
    if (q.targeted) {
        targets(AssignTarget::kUser, q.userid);
        targets(AssignTarget::kHost, q.hostid);
        targets(AssignTarget::kTeam, q.teamid);
    }
    for (const auto& [id, a] : db_.assignments.rows())
        if (a.multi &&
            std::any_of(q.broadcasts.begin(), q.broadcasts.end(), [row = id](const auto& b) { return b.id == row; }))
            add(a);
    return jobs;
}
std::vector<InstanceCounts> MemoryAssignmentStore::instances_now(std::span<const Id> workunits, Id hostid) {
    db_.enter("assignments.instances_now");
    std::vector<InstanceCounts> now;
    for (const Id w : std::set<Id>(workunits.begin(), workunits.end()))
        if (!db_.results.index().instances(w).empty()) now.push_back(counts(w, hostid));
    return now;
}
void MemoryAssignmentStore::insert_results(std::span<const Result> results) {
    db_.enter("assignments.insert_results");
    for (Result r : results) {
        r.id = db_.results.next_key();
        db_.results.put(r.id, r);
    }
}
void MemoryAssignmentStore::remove(std::span<const Id> assignments) {
    db_.enter("assignments.remove");
    for (const Id id : assignments) db_.assignments.remove(id);
}

}  // namespace sluice
