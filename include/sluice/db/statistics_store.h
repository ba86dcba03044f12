// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What update_stats asks of the database: recent average credit that fades while nothing is granted, and the sizes of
// teams. Each statement reads and writes one page of rows, so that no grant of credit waits long for its row.
#include <memory>
#include <optional>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

/// The tables that have recent average credit. By app (<credit_by_app>): credit_user and credit_team, whose rows go by
/// the ids of users and teams; 0 is whoever has no team.
enum class CreditTable { kUser, kHost, kTeam, kAppVersion, kUserByApp, kTeamByApp };

struct TeamSize {
    Id team = 0;
    std::int64_t stored = 0;   ///< team.nusers
    std::int64_t counted = 0;  ///< users with this teamid
};

class StatisticsStore {
  public:
    virtual ~StatisticsStore() = default;
    /// The next `limit` ids above `after` of rows whose average counts (above 0.1; of app versions and by app above 0)
    /// and is older than `before` (UNIX s). Ascending.
    virtual std::vector<Id> aged(CreditTable table, Id after, double before, int limit) = 0;
    /// Halves their averages for each week between expavg_time and `now`, and sets expavg_time to `now`; six decimals,
    /// as upstream writes them. What was granted since aged() looked is kept: a row that is not older than `before` any
    /// more stays as it is. Returns the number of rows.
    virtual std::int64_t decay(CreditTable table, const std::vector<Id>& ids, double before, double now) = 0;
    /// The next `limit` teams above `after` whose average is above 0.1, in order.
    virtual std::vector<TeamSize> team_sizes(Id after, int limit) = 0;
    /// False: nusers is not `size.stored` any more; it stays.
    virtual bool correct_team_size(const TeamSize& size) = 0;
};

/// `db` outlives the store.
std::unique_ptr<StatisticsStore> make_statistics_store(Database& db);

}  // namespace sluice
