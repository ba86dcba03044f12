// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/past_state.h"

#include <algorithm>

namespace sluice {
namespace {

void take_back_counts(std::vector<HostAppVersion>& versions, Id hostid, const SinceThen& since) {
    for (HostAppVersion& v : versions) {
        const auto sent = since.jobs_sent.find({hostid, v.app_version_id});
        if (sent != since.jobs_sent.end()) v.n_jobs_today = std::max(v.n_jobs_today - sent->second, 0);
    }
}

}  // namespace

std::optional<HostAndAccount> AccountsOfThen::host_and_account(Id hostid, bool with_versions) {
    auto found = ReadOnlyAccounts::host_and_account(hostid, with_versions);
    if (found && found->versions) take_back_counts(*found->versions, hostid, since_);
    return found;
}

HostState StatesOfThen::load(Id hostid, bool with_messages, bool with_turnaround) {
    HostState state = ReadOnlyHostStates::load(hostid, with_messages, with_turnaround);
    take_back_counts(state.versions, hostid, since_);
    return state;
}

std::vector<KnownResult> ResultsOfThen::load(const ResultQuery& query) {
    std::vector<KnownResult> rows = ReadOnlyResults::load(query);
    std::erase_if(rows, [&](const KnownResult& r) { return since_.unsent.contains(r.id); });
    for (KnownResult& r : rows) {
        const bool came_later = r.server_state == ServerState::kOver &&
                                static_cast<double>(r.received_time) > since_.at && !since_.reported.contains(r.name);
        if (!came_later) continue;
        r.server_state = ServerState::kInProgress;
        r.outcome = Outcome::kInit;
        r.received_time = 0;
    }
    return rows;
}

std::vector<WorkunitFacts> ResultsOfThen::facts(const FactsQuery& query) {
    std::vector<WorkunitFacts> all = ReadOnlyResults::facts(query);
    for (WorkunitFacts& f : all) {
        const auto then = since_.unsent.find(f.result_id);
        if (then == since_.unsent.end()) continue;
        f.server_state = ServerState::kUnsent;
        f.error_mask = 0;  // or it would not have been sent
        f.canonical_resultid = 0;
        // It does not stand in its own way where it was sent.
        const KnownResult& now = then->second;
        if (query.count_user && now.userid_of_host == query.userid)
            f.results_of_user = std::max(f.results_of_user - 1, 0);
        if (query.count_host && now.hostid == query.hostid) f.results_of_host = std::max(f.results_of_host - 1, 0);
    }
    return all;
}

}  // namespace sluice
