// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/why_command.h"

#include "daemons/batches/gangs.h"
#include "daemons/batches/shares.h"
#include "db/share_rules.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr double kLookBack = 86400;
constexpr int kHostsJudged = 50;

OrderFacts order_facts(const BatchView& view, ShareStore& store, const ProjectConfig& config) {
    OrderFacts facts;
    const auto settings = share_settings(config);
    if (!settings) return facts;
    facts.shares = true;
    store.look(*settings, view.now, [&](ShareBook& book) {
        const auto quota = book.quotas.find(view.batch.row.user_id);
        if (quota != book.quotas.end()) facts.quota = quota->second;
        facts.place = place_of(book, view.batch.row.id);
    });
    return facts;
}

HostFactsOfBatch host_facts_of(const BatchAnswer& why, BatchOwnerStore& store, const JudgeHosts& judge) {
    const Id batch = why.view.batch.row.id;
    const HostsHeardOf heard = store.hosts_since(static_cast<std::int64_t>(why.view.now - kLookBack), kHostsJudged);
    HostFactsOfBatch facts;
    facts.asked = heard.count;
    facts.instances = store.instances(batch);
    if (!is_open(why.view)) return facts;
    if (why.plan.gangs) {
        facts.note =
            "jobs of gangs go only to hosts that gang_planner brings together: gang_planner --dry_run says which";
        return facts;
    }
    if (heard.count == 0) return facts;
    try {
        judge(batch, heard.newest, facts);
    } catch (const Error& e) {
        facts.note = std::string("why hosts get none can't be said: ") + e.what();
    }
    return facts;
}

}  // namespace

std::string missing_hosts_now(const WhyStores& stores, const Clock& clock, const ProjectConfig& config, Id batch) {
    GangPass pass(stores.leases, stores.plans, clock, {config.next_rpc_delay, config.daily_result_quota, true});
    auto gangs = stores.gangs.of_batch(batch);
    if (!gangs) return "";
    gangs->waits = pass.look();
    std::erase_if(gangs->waits, [&](const GangWait& w) { return w.gang.batch != batch || w.missing() == 0; });
    return gangs->waits.empty() && gangs->cut.empty() ? "" : gangs_text(*gangs);
}

PlanFacts plan_facts(const WhyStores& stores, const ProjectConfig& config, Id batch) {
    return {config.plan_batches, stores.plans.plan_for_schedulers(), stores.gangs.of_batch(batch),
            stores.plans.eta_factors()};
}

BatchAnswer why_of(const BatchView& view, const WhyStores& stores, const ProjectConfig& config,
                   const JudgeHosts& judge) {
    BatchAnswer why;
    why.view = view;
    why.order = order_facts(view, stores.shares, config);
    why.plan = plan_facts(stores, config, view.batch.row.id);
    why.view.eta_factors = why.plan.eta_factors;
    why.hosts = host_facts_of(why, stores.batches, judge);
    return why;
}

}  // namespace sluice
