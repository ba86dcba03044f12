// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/job_supply.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

std::int64_t unused_start(SupplyStore& store, const std::string& prefix, std::int64_t now) {
    while (store.workunit_by_name(prefix + std::to_string(now) + "_0")) ++now;
    return now;
}

JobSupply::JobSupply(StockRule rule, SupplyStore& store, Make make)
    : Service(rule.interval), rule_(rule), store_(store), make_(std::move(make)) {}

Turn JobSupply::turn() {
    if (last_ != 0 && store_.is_new(last_)) return idle();
    last_ = 0;
    std::int64_t most = kMostAtOnce;
    if (rule_.max_workunits > 0) {
        const std::int64_t there = store_.workunits(rule_.max_workunits);
        if (there >= rule_.max_workunits) {
            log_normal("There are {} workunits, as many as --max_wus allows", there);
            return {TurnResult::kFinished};
        }
        most = std::min(most, rule_.max_workunits - there);
    }
    const std::int64_t unsent = store_.unsent_results(rule_.appid, rule_.low + 1);
    if (unsent > rule_.low) return idle();
    const std::int64_t missing = std::max<std::int64_t>(rule_.fill - unsent, 1);
    if (rule_.dry_run) {
        fmt::print("{}{} results are unsent; jobs for {} more would be made\n", dry_run_words(true), unsent, missing);
        return idle();
    }
    last_ = make_(missing, most);
    return idle();
}

}  // namespace sluice
