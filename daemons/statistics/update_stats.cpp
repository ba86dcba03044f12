// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/statistics/update_stats.h"

#include <limits>

#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

const char* words(CreditTable table) {
    switch (table) {
        case CreditTable::kUser: return "users";
        case CreditTable::kHost: return "hosts";
        case CreditTable::kTeam: return "teams";
        case CreditTable::kUserByApp: return "users by app";
        case CreditTable::kTeamByApp: return "teams by app";
        case CreditTable::kAppVersion: break;
    }
    return "app versions";
}

}  // namespace

std::int64_t UpdateStats::decay(CreditTable table, double before) {
    std::int64_t rows = 0;
    for (Id after = -1;;) {  // team 0 has credit by app
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

void UpdateStats::remove_gone_rows() {
    std::int64_t all = 0;
    for (int kind = 0; kind < options_.gone_rows->kinds(); ++kind) {
        std::int64_t rows = 0;
        GoneRowsStore::Page page{std::numeric_limits<Id>::min(), false, 0};
        while (!page.end) {
            if (stop_requested()) throw Stopped();
            page = options_.gone_rows->remove(kind, page.last, clock_.now(), options_.page);
            rows += page.rows;
        }
        if (rows > 0)
            log_debug("{}{}: {} rows", dry_run_words(options_.dry_run), options_.gone_rows->table(kind), rows);
        all += rows;
    }
    log_at(all > 0 ? LogLevel::kNormal : LogLevel::kDebug,
           "{}Removed {} rows of hosts, users, batches, jobs and days that are gone", dry_run_words(options_.dry_run),
           all);
}

Turn UpdateStats::turn() {
    const double before = clock_.now() - options_.min_age;
    try {
        for (const CreditTable table : options_.tables) {
            if (table == CreditTable::kTeam) correct_team_sizes();
            const std::int64_t rows = decay(table, before);
            log_normal("{}Updated {}: {} averages", dry_run_words(options_.dry_run), words(table), rows);
        }
        if (options_.gone_rows != nullptr) remove_gone_rows();
        log_normal("Finished");
    } catch (const Stopped&) {
        log_normal("stopped; the next run goes on with what is left");
    }
    return {TurnResult::kFinished};
}

}  // namespace sluice
