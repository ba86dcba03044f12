// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/why_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "daemons/batches/gangs.h"
#include "daemons/batches/shares.h"
#include "db/store_rules.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

using WhyJson = nlohmann::ordered_json;

std::string owner_of(const BatchView& v) {
    const std::string id = std::to_string(v.batch.row.user_id);
    return v.batch.user_name.empty() ? id : in_one_line(v.batch.user_name, 40) + " (" + id + ")";
}

std::string place_text(const BatchAnswer& why) {
    const BatchView& v = why.view;
    const OrderFacts& o = why.order;
    if (!o.shares) return "none: <share_rule> is off in config.xml, so batches have no order";
    if (!is_open(v)) return "none: it is " + state_name(v.batch.row.state);
    if (!(o.quota > 0))
        return fmt::format("after all others: user {0} has no quota; sluice_batch quota --user {0} --set 1 gives one",
                           v.batch.row.user_id);
    if (v.progress.njobs == 0) return "none yet: it has no jobs";
    if (!o.place)
        return is_stream(v) ? "none: none of its jobs waits, or batch_shares has not seen it yet"
                            : "none yet: batch_shares gives it one with its next pass";
    std::string text = fmt::format("{} of {}", o.place->number, o.place->of);
    if (o.place->first == v.batch.row.id || o.place->lag <= 0) return text + ", behind nobody";
    return text + fmt::format(", {} of the whole project behind {}", time_span_text(o.place->lag),
                              o.place->first == kWithoutBatch ? "the jobs without a batch"
                                                              : fmt::format("batch {}", o.place->first));
}

std::string plan_text(const BatchAnswer& why) {
    const PlannedBatch* p = why.plan.plan.find_batch(why.view.batch.row.id);
    if (p == nullptr || !is_open(why.view)) {
        const std::string reason = why_no_eta(why.view, why.plan);
        return "none: " + (reason.empty() ? "it is " + state_name(why.view.batch.row.state) : reason);
    }
    const double left = p->finish - why.view.now;
    return fmt::format("T is {} ({}); {} jobs were to be sent, {} hosts can be done with one by then",
                       utc_text(p->finish), left > 0 ? "in " + time_span_text(left) : time_span_text(-left) + " ago",
                       p->jobs, p->hosts);
}

std::string eta_line(const BatchAnswer& why) {
    const auto eta = why.view.eta();
    const std::string reason = why_no_eta(why.view, why.plan);
    if (eta)
        return utc_text(*eta) + " (" +
               (*eta > why.view.now ? expected_text(why.view.now, *eta, why.view.eta_factors) : "overdue") + ")";
    return reason.empty() ? "-" : "not known: " + reason;
}

std::string jobs_text(const BatchAnswer& why) {
    const BatchProgress& p = why.view.progress;
    return fmt::format("{}: {} done, {} failed; {} instances at work, {} not sent", p.njobs, p.success, p.errors,
                       why.hosts.instances.in_progress, why.hosts.instances.unsent);
}

std::string hosts_text(const HostFactsOfBatch& h) {
    return fmt::format("{} made a request in the last 24 h; {} got jobs of this batch so far, {} have some now",
                       h.asked, h.instances.hosts, h.instances.hosts_at_work);
}

std::string judged_text(const HostFactsOfBatch& h) {
    if (h.judged == 0) return "";
    return fmt::format("of the last {} hosts {} would get one of its {} jobs in the job array now", h.judged,
                       h.would_get, h.jobs_in_array);
}

}  // namespace

bool is_stream(const BatchView& v) { return v.batch.row.state == BatchState::kInit && v.progress.njobs > 0; }

bool is_open(const BatchView& v) {
    return v.batch.row.state == BatchState::kInit || v.batch.row.state == BatchState::kInProgress;
}

std::string why_no_eta(const BatchView& v, const EtaFacts& facts) {
    if (v.eta() || !is_open(v)) return "";
    const BatchPlan& plan = facts.plan;
    if (facts.gangs)
        return "its jobs are gangs: they begin when enough hosts are there at the same time, which batch_planner does not "
               "plan";
    if (is_stream(v)) return "it is a stream: its jobs go out one by one, and it takes more at any time";
    if (v.progress.njobs == 0) return "it has no jobs yet";
    if (v.progress.done() >= v.progress.njobs) return "all of its jobs are done: batch_upkeep ends it";
    const Id id = v.batch.row.id;
    if (plan.version == 0)
        return facts.plan_batches ? "batch_planner has not made a plan yet: see that it runs"
                                  : "<plan_batches> is off in config.xml, and batch_planner has made no plan";
    if (v.now - plan.made_at > kPlanIsAwaited)
        return fmt::format("batch_planner's last plan is {} old: see that it runs",
                           time_span_text(v.now - plan.made_at));
    if (plan.newest_batch < id || std::binary_search(plan.awaited.begin(), plan.awaited.end(), id))
        return "batch_planner has not seen its jobs yet: its next plan has them";
    return fmt::format(
        "it takes longer than batch_planner plans for (--horizon), or no host was heard of lately: its jobs go to any "
        "host; batch_planner --explain {} says which",
        id);
}

std::optional<OrderFacts::Place> place_of(const ShareBook& book, Id batch) {
    struct Entry {
        double end;
        Id id;
    };
    std::vector<Entry> all;
    for (const Id id : book.clock.order()) all.push_back({book.clock.batch(id).end, id});
    const auto& users = book.clock.users();
    for (const auto& [id, stream] : book.streams) {
        const auto user = users.find(stream.user_id);
        if (stream.waits && user != users.end() && user->second.quota > 0)
            all.push_back({user->second.lst + stream.head, id});
    }
    std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.end < b.end; });
    const auto at = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.id == batch; });
    if (at == all.end()) return std::nullopt;
    return OrderFacts::Place{static_cast<std::size_t>(at - all.begin()) + 1, all.size(), at->end,
                             at->end - all.front().end, all.front().id};
}

std::string why_text(const BatchAnswer& why) {
    const Batch& b = why.view.batch.row;
    std::vector<std::vector<std::string>> rows{{"batch", fmt::format("{} {}", b.id, in_one_line(b.name))},
                                               {"owner", owner_of(why.view)},
                                               {"state", is_stream(why.view) ? "new (a stream)" : state_name(b.state)},
                                               {"jobs", jobs_text(why)},
                                               {"place", place_text(why)},
                                               {"plan", plan_text(why)},
                                               {"ETA", eta_line(why)},
                                               {"hosts", hosts_text(why.hosts)}};
    if (why.plan.gangs) rows.push_back({"gangs", gangs_text(*why.plan.gangs)});
    if (const std::string text = judged_text(why.hosts); !text.empty()) rows.push_back({"", text});
    for (const auto& r : why.hosts.refusals)
        rows.push_back({"", fmt::format("{} of {} hosts: {}. {}", r.hosts, why.hosts.judged, r.reason, r.advice)});
    if (!why.hosts.note.empty()) rows.push_back({"", why.hosts.note});
    return text_table(rows, {false, false});
}

std::string why_json(const BatchAnswer& why) {
    const BatchView& v = why.view;
    const auto& place = why.order.place;
    const bool has_place = place.has_value() && is_open(v);
    const PlannedBatch* p = is_open(v) ? why.plan.plan.find_batch(v.batch.row.id) : nullptr;
    const auto eta = v.eta();
    const std::string no_eta = why_no_eta(v, why.plan);
    const EtaBand band = eta ? eta_band(v.now, *eta, v.eta_factors) : EtaBand{};
    WhyJson refusals = WhyJson::array();
    for (const auto& r : why.hosts.refusals)
        refusals.push_back({{"reason", r.reason}, {"hosts", r.hosts}, {"advice", r.advice}});
    const WhyJson json{
        {"id", v.batch.row.id},
        {"name", v.batch.row.name},
        {"user_id", v.batch.row.user_id},
        {"user", v.batch.user_name},
        {"state", state_name(v.batch.row.state)},
        {"stream", is_stream(v)},
        {"gangs", why.plan.gangs ? WhyJson::parse(gangs_json(*why.plan.gangs)) : WhyJson()},
        {"jobs", v.progress.njobs},
        {"done", v.progress.done()},
        {"errors", v.progress.errors},
        {"in_progress", why.hosts.instances.in_progress},
        {"unsent", why.hosts.instances.unsent},
        {"quota", why.order.quota},
        {"place", has_place ? WhyJson{{"number", place->number},
                                      {"of", place->of},
                                      {"logical_end_time", place->end},
                                      {"lag", place->lag},
                                      {"first", place->first}}
                            : WhyJson()},
        {"place_text", place_text(why)},
        {"plan", p != nullptr ? WhyJson{{"T", p->finish}, {"jobs", p->jobs}, {"hosts", p->hosts}, {"place", p->place}}
                              : WhyJson()},
        {"plan_text", plan_text(why)},
        {"eta", eta ? WhyJson(*eta) : WhyJson()},
        {"eta_band", eta ? WhyJson{band.from, band.until} : WhyJson()},
        {"why_no_eta", no_eta.empty() ? WhyJson() : WhyJson(no_eta)},
        {"hosts",
         {{"asked_in_24_hours", why.hosts.asked},
          {"got_jobs", why.hosts.instances.hosts},
          {"at_work", why.hosts.instances.hosts_at_work},
          {"jobs_in_array", why.hosts.jobs_in_array},
          {"judged", why.hosts.judged},
          {"would_get", why.hosts.would_get},
          {"refusals", std::move(refusals)},
          {"note", why.hosts.note.empty() ? WhyJson() : WhyJson(why.hosts.note)}}}};
    return json.dump(2, ' ', false, WhyJson::error_handler_t::replace) + "\n";
}

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
    GangService service(stores.leases, stores.plans, clock, {config.next_rpc_delay, config.daily_result_quota, true});
    auto gangs = stores.gangs.of_batch(batch);
    if (!gangs) return "";
    gangs->waits = service.look();
    std::erase_if(gangs->waits, [&](const GangWait& w) { return w.gang.batch != batch || w.missing() == 0; });
    return gangs->waits.empty() && gangs->cut.empty() ? "" : gangs_text(*gangs);
}

EtaFacts eta_facts(const WhyStores& stores, const ProjectConfig& config, Id batch) {
    return {config.plan_batches, stores.plans.plan_for_schedulers(), stores.gangs.of_batch(batch),
            stores.plans.eta_factors()};
}

BatchAnswer why_of(const BatchView& view, const WhyStores& stores, const ProjectConfig& config,
                   const JudgeHosts& judge) {
    BatchAnswer why;
    why.view = view;
    why.order = order_facts(view, stores.shares, config);
    why.plan = eta_facts(stores, config, view.batch.row.id);
    why.view.eta_factors = why.plan.eta_factors;
    why.hosts = host_facts_of(why, stores.batches, judge);
    return why;
}

}  // namespace sluice
