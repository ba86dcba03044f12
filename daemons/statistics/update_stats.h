// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Recent average credit halves each week in which nothing is granted, and teams know how many members they have. The
// scheduler, size_census, census and batch_planner tell hosts at work by these averages.
#include <vector>

#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/gone_rows_store.h"
#include "sluice/db/statistics_store.h"

namespace sluice {

struct UpdateStatsOptions {
    /// In this order.
    std::vector<CreditTable> tables = {CreditTable::kUser, CreditTable::kHost, CreditTable::kTeam,
                                       CreditTable::kAppVersion};
    int min_age = 86400;  ///< s: an average that was written since then is left alone
    bool dry_run = false;
    int page = 500;  ///< rows a statement
    /// Rows of hosts, users, batches, jobs and days that are gone go, too. It outlives the task; null: they stay.
    GoneRowsStore* gone_rows = nullptr;
};

/// update_stats: once over the tables.
class UpdateStats final : public Service {
  public:
    /// Both outlive it.
    UpdateStats(StatisticsStore& store, UpdateStatsOptions options, const Clock& clock)
        : Service(0), store_(store), options_(std::move(options)), clock_(clock) {}
    Turn turn() override;

  private:
    std::int64_t decay(CreditTable table, double before);
    void correct_team_sizes();
    void remove_gone_rows();

    StatisticsStore& store_;
    UpdateStatsOptions options_;
    const Clock& clock_;
};

}  // namespace sluice
