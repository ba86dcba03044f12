// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/statistics/update_stats.h"

#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

const char* words(CreditTable table) {
    switch (table) {
        case CreditTable::kUser: return "users";
        case CreditTable::kHost: return "hosts";
        case CreditTable::kTeam: return "teams";
        case CreditTable::kAppVersion: break;
    }
    return "app versions";
}

}  // namespace

std::int64_t UpdateStats::decay(CreditTable table, double before) {
    std::int64_t rows = 0;
    for (Id after = 0;;) {
        if (stop_requested()) throw Stopped();
        const std::vector<Id> ids = store_.aged(table, after, before, options_.page);
        if (ids.empty()) return rows;
        rows +=
            options_.dry_run ? static_cast<std::int64_t>(ids.size()) : store_.decay(table, ids, before, clock_.now());
        after = ids.back();
    }
}

void UpdateStats::correct_team_sizes() {
    for (Id after = 0;;) {
        if (stop_requested()) throw Stopped();
        const std::vector<TeamSize> teams = store_.team_sizes(after, options_.page);
        if (teams.empty()) return;
        for (const TeamSize& team : teams) {
            if (team.stored == team.counted) continue;
            log_normal("{}updating member count for [TEAM#{}]: database has {} users, count shows {}",
                       dry_run_words(options_.dry_run), team.team, team.stored, team.counted);
            if (!options_.dry_run) store_.correct_team_size(team);
        }
        after = teams.back().team;
    }
}

Turn UpdateStats::turn() {
    const double before = clock_.now() - options_.min_age;
    try {
        for (const CreditTable table : options_.tables) {
            if (table == CreditTable::kTeam) correct_team_sizes();
            const std::int64_t rows = decay(table, before);
            log_normal("{}Updated {}: {} averages", dry_run_words(options_.dry_run), words(table), rows);
        }
        log_normal("Finished");
    } catch (const Stopped&) {
        log_normal("stopped; the next run goes on with the averages that are left");
    }
    return {PassResult::kFinished};
}

}  // namespace sluice
