// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// `sluice_batch why BATCH`: where a batch stands in the order, what is planned of it, and which hosts came for it.
// Facts in, words out.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/batch/batch_commands.h"
#include "daemons/batch/batch_text.h"
#include "sluice/base/clock.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/share_store.h"
#include "sluice/model/batch_plan.h"
#include "sluice/model/eta.h"

namespace sluice {

/// What decides whether a batch has an ETA.
struct EtaFacts {
    bool plan_batches = false;  ///< <plan_batches>
    BatchPlan plan;
    std::optional<GangsOfBatch> gangs{};  ///< its jobs are gangs
    EtaFactors eta_factors{};
};
/// Why nobody says when the batch will be over; empty: somebody does, or it is over.
std::string why_no_eta(const BatchView& batch, const EtaFacts& facts);

struct OrderFacts {
    bool shares = false;  ///< <share_rule> is on
    double quota = 0;     ///< of its user; 0: none
    struct Place {
        std::size_t number = 0, of = 0;  ///< 1 is the first of so many batches and streams
        double end = 0;                  ///< LET
        double lag = 0;                  ///< s of the whole project behind the first
        Id first = 0;                    ///< that batch
    };
    std::optional<Place> place;
};
/// Among all batches that are not over, and streams that wait.
std::optional<OrderFacts::Place> place_of(const ShareBook& book, Id batch);

struct HostFactsOfBatch {
    std::int64_t asked = 0;  ///< hosts that made a request in the last day
    BatchInstances instances;
    /// What the scheduler would decide for the last `judged` of them.
    int judged = 0, would_get = 0, jobs_in_array = 0;
    struct Refusal {
        std::string reason, advice;
        int hosts = 0;
    };
    std::vector<Refusal> refusals;
    std::string note;  ///< why nobody was judged, or what stops all
};

struct BatchAnswer {
    BatchView view;
    OrderFacts order;
    EtaFacts plan;
    HostFactsOfBatch hosts;
};
/// It has jobs and takes more at any time.
bool is_stream(const BatchView& batch);
/// Jobs of it may still be sent.
bool is_open(const BatchView& batch);
std::string why_text(const BatchAnswer& why);
std::string why_json(const BatchAnswer& why);

// Reads what `sluice_batch why` and `show` say of a batch.

struct WhyStores {
    BatchOwnerStore& batches;
    ShareStore& shares;
    BatchPlanStore& plans;
    GangStore& gangs;
    GangLeaseStore& leases;
};

EtaFacts eta_facts(const WhyStores& stores, const ProjectConfig& config, Id batch);

/// What gang_planner would say of the batch's gangs for which there are too few hosts at the moment; "": of none.
std::string missing_hosts_now(const WhyStores& stores, const Clock& clock, const ProjectConfig& config, Id batch);

/// What the scheduler would decide for these hosts; fills the rest of the facts.
using JudgeHosts = std::function<void(Id batch, std::span<const Id> hosts, HostFactsOfBatch& facts)>;
BatchAnswer why_of(const BatchView& view, const WhyStores& stores, const ProjectConfig& config,
                   const JudgeHosts& judge);

}  // namespace sluice
