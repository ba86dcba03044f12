#include "tests/support/fake_rpc_stores.h"

namespace sluice::test {

std::vector<UnsentJob> FakeRpcResultStore::jobs_of_groups(const GroupQuery& query) {
    db_.enter("results.jobs_of_groups");
    std::vector<UnsentJob> jobs;
    std::set<Id> seen;
    for (const auto& [group, from] : query.parts) {
        std::vector<Id> before, behind;
        for (const auto& [of, workunit] : db_.group_workunits)
            if (of == group) (workunit < from ? before : behind).push_back(workunit);
        const auto most = static_cast<std::size_t>(query.look_at);
        before.resize(std::min(before.size(), most)), behind.resize(std::min(behind.size(), most));
        behind.insert(behind.end(), before.begin(), before.end());
        for (const Id workunit : behind) {
            if (!seen.insert(workunit).second) continue;
            const auto w = db_.workunits.find(workunit);
            if (w == db_.workunits.end() || w->second.error_mask != 0 || w->second.canonical_resultid != 0) continue;
            if (w->second.transitioner_flags != TransitionerFlags::kNormal) continue;
            for (const auto& [id, r] : db_.results)
                if (r.workunitid == workunit && r.server_state == ServerState::kUnsent && std::ssize(jobs) < query.jobs)
                    jobs.push_back({r, w->second});
        }
    }
    return jobs;
}

}  // namespace sluice::test
