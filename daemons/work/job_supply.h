// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Keeps jobs of an app in stock: what make_work and sample_work_generator have in common.
#include <functional>

#include "sluice/daemon/service.h"
#include "sluice/db/work_store.h"

namespace sluice {

struct StockRule {
    Id appid = 0;
    std::int64_t low = 0;            ///< jobs are made when so many results are unsent, or fewer
    std::int64_t fill = 0;           ///< up to so many; at least one job is made
    std::int64_t max_workunits = 0;  ///< no more when the project has so many; 0: no limit
    bool dry_run = false;
    double interval = 10;  ///< s between two looks
};

/// `now`, or the next second of which no earlier start of the program has made `PREFIX SECOND _0`.
std::int64_t unused_start(SupplyStore& store, const std::string& prefix, std::int64_t now);

class JobSupply final : public Service {
  public:
    /// Makes jobs for so many results, at most so many workunits; returns the last workunit, 0: none.
    using Make = std::function<Id(std::int64_t results, std::int64_t most)>;
    static constexpr std::int64_t kMostAtOnce = 1000;  ///< workunits a turn

    JobSupply(StockRule rule, SupplyStore& store, Make make);
    /// What was made is not counted before the transitioner has made results of it: the next jobs wait for that.
    Turn turn() override;

  private:
    StockRule rule_;
    SupplyStore& store_;
    Make make_;
    Id last_ = 0;
};

}  // namespace sluice
