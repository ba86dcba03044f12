// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Where a job stands that somebody asks about: in the array, or why not.
#include <optional>
#include <string>

#include "sched/explain/dry_run.h"
#include "sluice/db/feeder_store.h"
#include "sluice/db/rpc_result_store.h"
#include "sluice/model/job.h"
#include "sluice/model/project_tables.h"

namespace sluice {

struct KnownApps;

struct JobStanding {
    KnownResult result;
    UnsentJob job;  ///< result and workunit
    JobState state;
    std::optional<std::uint32_t> slot;
    std::string text;  ///< one line: its state, and if it is not in the array, why not
};

/// `job`: a result's id or name. Throws Error if there is no such result, or its workunit is gone.
JobStanding stand_of_job(const std::string& job, RpcResultStore& results, FeederStore& store, const DryJobPool& pool,
                         const KnownApps& apps, const JobArrayStats& array);

}  // namespace sluice
