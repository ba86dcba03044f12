// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/batch_plan_store.h"

#include <algorithm>
#include <set>

#include "db/store_rules.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

constexpr double kCreditOfLateMonths = 0.1;

NewestIds newest_ids(const MemoryDb& db) { return {db.batches.next_key() - 1, db.results.next_key() - 1}; }

const IdSet* members_of_batch(const std::unordered_map<Id, IdSet>& sets, Id batch) {
    const auto at = sets.find(batch);
    return at == sets.end() ? nullptr : &at->second;
}

/// Says something of the host: not what it could not start in time, nor what somebody aborted.
bool says_something(const Result& r) {
    return r.exit_status != kExitUnstartedLate && r.exit_status != kExitAbortedByProject &&
           r.exit_status != kExitAbortedViaGui;
}

}  // namespace

std::vector<Id> MemoryBatchPlanFactsStore::gang_batches(std::span<const Id> batches) {
    db_.enter("plan.gang_batches");
    std::vector<Id> all;
    for (const auto& [key, gang] : db_.gangs.rows())
        if ((all.empty() || all.back() != key.first) &&
            std::find(batches.begin(), batches.end(), key.first) != batches.end())
            all.push_back(key.first);
    return all;
}

NewestIds MemoryBatchPlanFactsStore::newest() {
    db_.enter("plan.newest");
    return newest_ids(db_);
}

void MemoryBatchPlanFactsStore::hosts(const HostSelection& selection,
                                      const std::function<void(const HostSpeedRow&)>& row) {
    db_.enter("plan.hosts");
    std::vector<const Host*> credited, fresh;
    for (const auto& [id, h] : db_.hosts.rows())
        if (h.rpc_time > selection.heard_since)
            (h.expavg_credit > kCreditOfLateMonths ? credited : fresh).push_back(&h);
    std::stable_sort(credited.begin(), credited.end(),
                     [](const Host* a, const Host* b) { return a->expavg_credit > b->expavg_credit; });
    const auto& versions = db_.host_app_versions.rows();
    for (const auto* list : {&credited, &fresh}) {
        int rows = 0;
        for (const Host* h : *list) {
            HostSpeedRow r{h->id, h->p_ncpus, h->p_fpops, h->on_frac, h->active_frac, h->rpc_time};
            r.gpus = h->p_ngpus, r.gpu_fpops = h->p_gpu_fpops, r.gpu_active_frac = h->gpu_active_frac;
            if (h->p_ngpus > 0 && h->rpc_time >= selection.misc_since) r.misc = h->misc;
            bool any = false;
            for (auto v = versions.lower_bound({h->id, 0}); v != versions.end() && v->first.first == h->id; ++v) {
                if (v->second.et.n <= 10 || v->second.et.avg <= 0 || rows >= selection.most) continue;
                const Id version = v->first.second;
                const AppVersion* of = db_.versions.get(version);
                const auto own = anonymous_version(version);
                r.app = own ? own->appid : of != nullptr ? of->appid : 0;
                r.seconds_per_op = v->second.et.avg;
                r.version = version;
                row(r);
                ++rows;
                any = true;
            }
            if (!any && rows++ < selection.most) row(r);
        }
    }
}

std::vector<AppVersionUse> MemoryBatchPlanFactsStore::versions() {
    db_.enter("plan.versions");
    std::vector<AppVersionUse> all;
    for (const auto& [id, v] : db_.versions.rows()) {
        const App* app = db_.apps.get(v.appid);
        const bool sent = !v.deprecated && v.version_num >= (app == nullptr ? 0 : app->min_version);
        all.push_back({id, v.appid, v.plan_class, sent, v.pfc_n, v.pfc_avg});
    }
    return all;
}

std::vector<BatchDemandRow> MemoryBatchPlanFactsStore::demands(std::span<const Id> batches) {
    db_.enter("plan.demands");
    std::vector<BatchDemandRow> all;
    for (const Id batch : std::set<Id>(batches.begin(), batches.end())) {
        BatchDemandRow d{batch, 0, 0, 0};
        std::map<Id, std::int64_t> by_app;
        double fpops = 0;
        if (const IdSet* ids = members_of_batch(db_.workunits.index().of_batch, batch))
            for (const Id id : *ids) {
                const Workunit& w = *db_.workunits.get(id);
                if (w.canonical_resultid != 0 || w.error_mask != 0) continue;
                ++d.open;
                ++by_app[w.appid];
                fpops += std::max(w.rsc_fpops_est, 0.0);
            }
        if (d.open == 0) continue;
        std::int64_t most = 0;
        for (const auto& [app, n] : by_app)
            if (n > most) most = n, d.app = app;
        d.mean_fpops = fpops / static_cast<double>(d.open);
        all.push_back(d);
    }
    return all;
}

void MemoryBatchPlanFactsStore::open_results(std::span<const Id> batches,
                                             const std::function<void(const OpenBatchResult&)>& row) {
    db_.enter("plan.open_results");
    for (const Id batch : batches)
        if (const IdSet* ids = members_of_batch(db_.results.index().of_batch, batch))
            for (const Id id : *ids) {
                const Result& r = *db_.results.get(id);
                if (r.server_state == ServerState::kOver) continue;
                row({id, r.workunitid, batch, r.hostid, r.server_state, r.create_time, r.sent_time, r.app_version_id});
            }
}

std::vector<ReturnedBatchResult> MemoryBatchPlanFactsStore::returned(std::span<const Id> results) {
    db_.enter("plan.returned");
    std::vector<ReturnedBatchResult> all;
    for (const Id id : results) {
        const Result* r = db_.results.get(id);
        if (r == nullptr || r->server_state != ServerState::kOver || r->received_time <= 0) continue;
        const Workunit* w = db_.workunits.get(r->workunitid);
        if (w == nullptr) continue;
        all.push_back({id, r->outcome == Outcome::kSuccess ? r->elapsed_time : 0, w->rsc_fpops_est});
    }
    return all;
}

std::vector<LeftOutHost> MemoryBatchPlanFactsStore::failing_hosts(std::span<const Id> batches) {
    db_.enter("plan.failing_hosts");
    std::map<Id, LeftOutHost> by_host;
    for (const Id batch : batches)
        if (const IdSet* ids = members_of_batch(db_.results.index().of_batch, batch))
            for (const Id id : *ids) {
                const Result& r = *db_.results.get(id);
                const bool error = r.outcome == Outcome::kClientError;
                if (r.server_state != ServerState::kOver || r.hostid == 0) continue;
                if ((error && !says_something(r)) || (!error && r.outcome != Outcome::kSuccess)) continue;
                LeftOutHost& h = by_host[r.hostid];
                h.host = r.hostid;
                h.errors += error ? 1 : 0;
                ++h.returned;
            }
    std::vector<LeftOutHost> all;
    for (const auto& [id, h] : by_host)
        if (h.errors > 0) all.push_back(h);
    return all;
}

BatchPlan MemoryBatchPlanStore::plan() {
    db_.enter("plan.plan");
    const BatchPlan* plan = db_.plans.get(1);
    return plan == nullptr ? BatchPlan{} : *plan;
}

BatchPlan MemoryBatchPlanStore::plan_for_schedulers() {
    db_.enter("plan.plan_for_schedulers");
    const BatchPlan* last = db_.plans.get(1);
    if (last == nullptr || last->newest_batch == BatchPlan::kUnknown) return last == nullptr ? BatchPlan{} : *last;
    UnplannedBatches unplanned{newest_ids(db_), {}, {}};
    std::vector<Id> begun;
    for (const auto& [id, b] : db_.batches.rows()) {
        const IdSet* jobs = members_of_batch(db_.workunits.index().of_batch, id);
        const bool is_new = id > unplanned.newest.batch - kMostDrafts;
        if (b.state == BatchState::kInit && is_new)
            unplanned.drafts.push_back(
                {id, jobs == nullptr || jobs->empty() ? 0 : db_.workunits.get(*jobs->begin())->create_time});
        if (b.state == BatchState::kInProgress && id > begun_after(*last)) begun.push_back(id);
    }
    for (const auto& [batch, heard_at] : submissions_) unplanned.submissions.push_back({batch, heard_at});
    return awaiting(*last, unplanned, begun);
}

void MemoryBatchPlanStore::forget_submissions(std::span<const Id> batches, double now) {
    db_.enter("plan.forget_submissions");
    std::erase_if(submissions_, [&](const auto& s) { return is_to_be_forgotten({s.first, s.second}, batches, now); });
}

std::int64_t MemoryBatchPlanStore::publish(const BatchPlan& plan, std::span<const std::pair<Id, double>> completions) {
    db_.enter("plan.publish");
    const BatchPlan* before = db_.plans.get(1);
    BatchPlan next = plan;
    next.version = (before == nullptr ? 0 : before->version) + 1;
    for (const auto& [batch, time] : completions)
        db_.batches.change(batch, [at = time](Batch& b) {
            if (b.state == BatchState::kInProgress) b.est_completion_time = at;
        });
    const std::int64_t version = next.version;
    db_.plans.put(1, std::move(next));
    return version;
}

std::vector<ReissueTimer> MemoryBatchPlanStore::timers() {
    db_.enter("plan.timers");
    std::vector<ReissueTimer> all;
    for (const auto& [result, timer] : db_.reissue_timers.rows()) all.push_back({result, timer.first, timer.second});
    return all;
}

void MemoryBatchPlanStore::set_timers(std::span<const ReissueTimer> add, std::span<const Id> remove) {
    db_.enter("plan.set_timers");
    for (const ReissueTimer& t : add)
        if (db_.reissue_timers.get(t.result) == nullptr) db_.reissue_timers.put(t.result, {t.batch, t.at});
    for (const Id id : remove) db_.reissue_timers.remove(id);
}

std::int64_t MemoryBatchPlanStore::give_up(std::span<const OpenBatchResult> results, std::int64_t now,
                                           bool also_the_last) {
    db_.enter("plan.give_up");
    std::int64_t written = 0;
    std::set<Id> open;
    for (const OpenBatchResult& r : results) {
        const Workunit* w = db_.workunits.get(r.workunit);
        if (w == nullptr || w->canonical_resultid != 0 || w->error_mask != 0) continue;
        const auto instances = static_cast<std::int64_t>(db_.results.index().instances(w->id).size());
        if (!also_the_last && instances >= w->max_total_results) continue;
        if (open.insert(w->id).second)
            db_.workunits.change(w->id, [&](Workunit& x) { x.transition_time = std::min(x.transition_time, now); });
    }
    for (const OpenBatchResult& r : results) {
        const Result* there = db_.results.get(r.id);
        if (there == nullptr || there->server_state != ServerState::kInProgress || !open.contains(there->workunitid))
            continue;
        db_.results.change(r.id, [](Result& x) {
            x.server_state = ServerState::kOver;
            x.outcome = Outcome::kNoReply;
        });
        ++written;
    }
    return written;
}

std::int64_t MemoryBatchPlanStore::copy(std::span<const OpenBatchResult> results, std::int64_t now) {
    std::int64_t written = 0;
    std::vector<OpenBatchResult> in_order(results.begin(), results.end());
    std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    for (const OpenBatchResult& r : in_order) {
        if (copies_.contains(r.workunit) || give_up(std::span(&r, 1), now, false) == 0) continue;
        copies_[r.workunit] = r.batch;
        ++written;
    }
    return written;
}

std::vector<CopiedJob> MemoryBatchPlanStore::copied(std::span<const Id> batches) {
    db_.enter("plan.copied");
    std::vector<CopiedJob> all;
    for (const auto& [workunit, batch] : copies_)
        if (std::find(batches.begin(), batches.end(), batch) != batches.end()) all.push_back({workunit, batch});
    return all;
}

}  // namespace sluice
