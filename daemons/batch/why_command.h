// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Reads what `sluice_batch why` and `show` say of a batch.
#include <functional>
#include <optional>
#include <span>

#include "config/project_config.h"
#include "daemons/batch/batch_commands.h"
#include "daemons/batch/batch_why.h"
#include "sluice/base/clock.h"
#include "sluice/db/gang_store.h"
#include "sluice/db/plan_store.h"

namespace sluice {

struct WhyStores {
    BatchOwnerStore& batches;
    ShareStore& shares;
    PlanStore& plans;
    GangStore& gangs;
    GangLeaseStore& leases;
};

PlanFacts plan_facts(const WhyStores& stores, const ProjectConfig& config, Id batch);

/// What gang_planner would say of the batch's gangs for which there are too few hosts at the moment; "": of none.
std::string missing_hosts_now(const WhyStores& stores, const Clock& clock, const ProjectConfig& config, Id batch);

/// What the scheduler would decide for these hosts; fills the rest of the facts.
using JudgeHosts = std::function<void(Id batch, std::span<const Id> hosts, HostFactsOfBatch& facts)>;
BatchAnswer why_of(const BatchView& view, const WhyStores& stores, const ProjectConfig& config,
                   const JudgeHosts& judge);

}  // namespace sluice
