// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which row of docs/compat.md explains that two schedulers decided otherwise.
#include <map>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "sched/explain/dry_run.h"
#include "sched/rpc/request.h"
#include "sluice/model/project_tables.h"

namespace sluice {

struct DifferencePair {
    std::string theirs, ours;  ///< reasons, or "sent", "sent_more", "sent_fewer", "sent_others"
    const ProjectConfig& config;
    const SchedulerRequest& request;
    const DryDecision& decision;
    const ProjectTables& tables;
    const std::map<std::string, int>& their_kinds;  ///< RpcOutcome::kinds
};

/// The first words of the row; "": none explains it.
std::string explaining_row(const DifferencePair& pair);
/// The name of a kind of jobs.
std::string kind_of_jobs(const std::string& app, const std::string& plan_class);
/// All that it can name.
std::vector<std::string> explaining_rows();

}  // namespace sluice
