// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs by the sticky files that they share.
#include <limits>
#include <set>

#include "db/memory/rpc_stores.h"

namespace sluice {

std::vector<UnsentJob> MemoryRpcResultStore::jobs_of_groups(const GroupQuery& query) {
    db_.enter("results.jobs_of_groups");
    std::vector<UnsentJob> jobs;
    const auto& members = db_.group_workunits.rows();
    std::set<Id> seen;
    const auto look = [&](Id workunit) {
        if (!seen.insert(workunit).second) return;
        const Workunit* w = db_.workunits.get(workunit);
        if (w == nullptr || w->error_mask != 0 || w->canonical_resultid != 0) return;
        if (w->transitioner_flags != TransitionerFlags::kNormal) return;
        for (const Id id : db_.results.index().instances(workunit)) {
            const Result& r = *db_.results.get(id);
            if (r.server_state == ServerState::kUnsent && std::ssize(jobs) < query.jobs) jobs.push_back({r, *w});
        }
    };
    for (const GroupQuery::Part& part : query.parts) {
        const auto from = members.lower_bound({part.group, part.from});
        const auto end = members.upper_bound({part.group, std::numeric_limits<Id>::max()});
        int left = query.look_at;
        for (auto at = from; at != end && left > 0; ++at, --left) look(at->first.second);
        left = query.look_at;
        for (auto at = members.lower_bound({part.group, 0}); at != from && left > 0; ++at, --left)
            look(at->first.second);
    }
    return jobs;
}

}  // namespace sluice
