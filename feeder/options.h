// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a feeder was asked to do, as plain values.
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/model/codes.h"
#include "sluice/model/id_share.h"

namespace sluice {

/// The order in which unsent results come into the array. Where an app, user or batch is chosen first, the order
/// holds within it.
enum class FeederOrder {
    kDefault,       ///< priority, highest first, then workunit id; also --priority_order_create_time
    kPriority,      ///< priority, highest first
    kPriorityAsc,   ///< priority, lowest first
    kRandomColumn,  ///< result.random
    kRandom,        ///< drawn anew
    kByBatch,       ///< batches take turns
    kBatchAccel,    ///< jobs of high and of low priority both, in a given share, mixed at random
    kShares         ///< no option: <share_rule> is on and none is given. Each user has as many slots as any other, his
                    ///< batch with the least logical end time first
};

struct FeederOptions {
    FeederOrder order = FeederOrder::kDefault;
    bool allapps = false;
    std::vector<Id> appids, users;
    IdShare share, workunit_share;         ///< --mod, --wmod
    double purge_stale = 0;                ///< s; 0 = off
    std::optional<double> sleep_interval;  ///< s; not given: refill as jobs are taken
    double accel_share = 0.5;              ///< of the slots for jobs with priority > 0, with kBatchAccel
    double rotate_after = 600;             ///< s; 0 = off
    double starvation_after = 3600;        ///< s; 0 = no report
    bool leave_reread_db = false;          ///< another feeder removes that file
    bool one_pass = false, dry_run = false;

    /// Others share this project's results with this one: it does what must be done once.
    bool is_main_feeder() const { return share.i == 0 && workunit_share.i == 0; }
};

}  // namespace sluice
