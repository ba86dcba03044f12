// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/batch_store.h"

#include <algorithm>

namespace sluice {
namespace {

template <typename Sets>
const IdSet& members(const Sets& sets, Id key) {
    static const IdSet none;
    const auto at = sets.find(key);
    return at == sets.end() ? none : at->second;
}

bool waits(const Result& r) {
    return r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
}

ResultTimes times_of(const Result& r) {
    return {r.id,
            r.workunitid,
            r.batch,
            r.hostid,
            generalized_version_id(r.appid, r.app_version_id),
            r.server_state,
            r.outcome,
            r.validate_state,
            r.exit_status,
            r.sent_time,
            r.received_time,
            r.report_deadline};
}

/// id, name and n_size_classes.
std::vector<App> size_classes_of_apps(const MemoryDb& db) {
    std::vector<App> apps;
    for (const auto& [id, row] : db.apps.rows()) {
        App& app = apps.emplace_back();
        app.id = id;
        app.name = row.name;
        app.n_size_classes = row.n_size_classes;
    }
    return apps;
}

}  // namespace

// ---- progress

std::vector<Batch> MemoryBatchUpkeepStore::in_progress(std::int64_t) {
    db_.enter("batch_upkeep.in_progress");
    std::vector<Batch> open;
    for (const auto& [id, b] : db_.batches.rows())
        if (b.state == BatchState::kInProgress) open.push_back(b);
    return open;
}

std::optional<Batch> MemoryBatchUpkeepStore::batch(Id id) {
    db_.enter("batch_upkeep.batch");
    const Batch* b = db_.batches.get(id);
    return b == nullptr ? std::nullopt : std::optional(*b);
}

std::vector<BatchProgress> MemoryBatchUpkeepStore::progress(std::span<const Id> batches) {
    db_.enter("batch_upkeep.progress");
    std::vector<BatchProgress> all;
    for (const Id batch : batches) {
        BatchProgress& p = all.emplace_back();
        p.batch = batch;
        for (const Id id : members(db_.workunits.index().of_batch, batch)) {
            const Workunit& w = *db_.workunits.get(id);
            ++p.njobs;
            const bool success = w.canonical_resultid != 0;
            p.success += success;
            p.errors += !success && w.error_mask != 0;
            p.credit_canonical += success ? w.canonical_credit : 0;
        }
    }
    return all;
}

std::int64_t MemoryBatchUpkeepStore::write(std::span<const BatchChange> changes) {
    db_.enter("batch_upkeep.write");
    std::int64_t written = 0;
    for (const BatchChange& c : changes) {
        const Batch* there = db_.batches.get(c.id);
        if (there == nullptr || there->state != c.was_state) continue;
        db_.batches.change(c.id, [&](Batch& b) {
            b.state = c.state;
            b.njobs = c.njobs;
            b.nerror_jobs = c.nerror_jobs;
            b.fraction_done = c.fraction_done;
            b.completion_time = static_cast<std::int64_t>(c.completion_time);
            b.credit_canonical = c.credit_canonical;
        });
        ++written;
    }
    return written;
}

// ---- turnaround

std::vector<MeasuredBatch> MemoryBatchStatsStore::batches(Id from, std::int64_t created_after) {
    db_.enter("batch_stats.batches");
    std::vector<MeasuredBatch> all;
    for (const auto& [id, b] : db_.batches.rows())
        if (id >= from && b.create_time > created_after &&
            (b.state == BatchState::kInProgress || b.state == BatchState::kComplete))
            all.push_back({id, b.app_id, b.njobs, b.expire_time});
    return all;
}

void MemoryBatchStatsStore::results(const ResultSelection& selection,
                                    const std::function<void(const ResultTimes&)>& row) {
    db_.enter("batch_stats.results");
    std::vector<Id> batches(selection.batches.begin(), selection.batches.end()), ids;
    sort_out(batches);
    for (const Id batch : batches)
        for (const Id id : members(db_.results.index().of_batch, batch)) ids.push_back(id);
    for (const Id id : ids) row(times_of(*db_.results.get(id)));
    ids.assign(selection.ids.begin(), selection.ids.end());
    sort_out(ids);
    for (const Id id : ids)
        if (const Result* r = db_.results.get(id)) row(times_of(*r));
    if (selection.after < 0) return;
    const auto& rows = db_.results.rows();
    for (auto at = rows.upper_bound(selection.after); at != rows.end(); ++at)
        if (at->second.batch != 0) row(times_of(at->second));
}

void MemoryBatchStatsStore::open_results(std::span<const Id> apps, const std::function<void(Id, ServerState)>& row) {
    db_.enter("batch_stats.open_results");
    const ResultIndex& index = db_.results.index();
    const auto is_one = [&](Id app) { return std::find(apps.begin(), apps.end(), app) != apps.end(); };
    for (const auto& [key, ids] : index.inactive_of_app)
        for (const Id id : ids)
            if (is_one(key.first)) row(id, ServerState::kInactive);
    for (const auto& [app, ids] : index.unsent_of_app)
        for (const Id id : ids)
            if (is_one(app)) row(id, ServerState::kUnsent);
    for (const auto& [host, ids] : index.in_progress_on)
        for (const Id id : ids)
            if (is_one(db_.results.get(id)->appid)) row(id, ServerState::kInProgress);
}

Id MemoryBatchStatsStore::last_result_id() {
    db_.enter("batch_stats.last_result_id");
    return db_.results.next_key() - 1;
}

std::vector<App> MemoryBatchStatsStore::apps() {
    db_.enter("batch_stats.apps");
    return size_classes_of_apps(db_);
}

std::map<Id, double> MemoryBatchStatsStore::flagged_hosts(std::span<const Id> among) {
    db_.enter("batch_stats.flagged_hosts");
    std::map<Id, double> flags;
    for (const Id id : among)
        if (const Host* h = db_.hosts.get(id); h != nullptr && h->error_rate != 0) flags[id] = h->error_rate;
    if (among.empty())
        for (const auto& [id, h] : db_.hosts.rows())
            if (h.error_rate != 0) flags[id] = h.error_rate;
    return flags;
}

void MemoryBatchStatsStore::apply(const StatsWrite& write) {
    db_.enter("batch_stats.apply");
    for (const auto& [id, median] : write.medians)
        db_.batches.change(id, [value = median](Batch& b) { b.expire_time = value; });
    for (const auto& [id, ltt] : write.hosts)
        db_.hosts.change(id, [flag = ltt](Host& h) { h.error_rate = flag ? 1 : 0; });
    for (const auto& [id, accelerable] : write.accelerable)
        db_.apps.change(id, [flag = accelerable](App& app) {
            if (app.n_size_classes < 2) app.n_size_classes = flag ? 1 : 0;
        });
}

// ---- turnaround by version

std::vector<VersionTurnaround> MemoryHostLttStore::of_host(Id host) {
    db_.enter("host_ltt.of_host");
    std::vector<VersionTurnaround> found;
    const auto& rows = db_.low_turnaround.rows();
    for (auto at = rows.lower_bound({host, INT64_MIN}); at != rows.end() && at->first.first == host; ++at)
        found.push_back({host, at->first.second, at->second.low, at->second.ratio, at->second.jobs});
    return found;
}

void MemoryHostLttStore::all(const std::function<void(const VersionTurnaround&)>& row) {
    db_.enter("host_ltt.all");
    for (const auto& [key, t] : db_.low_turnaround.rows()) row({key.first, key.second, t.low, t.ratio, t.jobs});
}

void MemoryHostLttStore::write(std::span<const VersionTurnaround> rows, std::span<const std::pair<Id, Id>> gone) {
    db_.enter("host_ltt.write");
    for (const VersionTurnaround& v : rows) db_.low_turnaround.put({v.host_id, v.version}, {v.ltt, v.ratio, v.jobs});
    for (const auto& key : gone) db_.low_turnaround.remove(key);
}

// ---- acceleration

std::vector<App> MemoryBatchAccelStore::apps() {
    db_.enter("batch_accel.apps");
    return size_classes_of_apps(db_);
}

std::map<Id, int> MemoryBatchAccelStore::accelerated_batches() {
    db_.enter("batch_accel.accelerated_batches");
    std::map<Id, int> all;
    for (const auto& [id, job] : db_.accelerated_jobs.rows()) all[job.batch] += job.extra;
    return all;
}

std::vector<OpenJob> MemoryBatchAccelStore::open_jobs(Id batch, Id after, int limit) {
    db_.enter("batch_accel.open_jobs");
    std::vector<OpenJob> jobs;
    const IdSet& mine = members(db_.workunits.index().of_batch, batch);
    for (auto id = mine.upper_bound(after); id != mine.end() && static_cast<int>(jobs.size()) < limit; ++id) {
        const Workunit& w = *db_.workunits.get(*id);
        if (w.canonical_resultid != 0 || w.error_mask != 0) continue;
        OpenJob& job = jobs.emplace_back();
        job.wu.id = w.id;
        job.wu.name = w.name;
        job.wu.batch = batch;
        job.wu.priority = w.priority;
        job.wu.target_nresults = w.target_nresults;
        job.wu.max_total_results = w.max_total_results;
        job.wu.min_quorum = w.min_quorum;
        job.wu.transitioner_flags = w.transitioner_flags;
        job.wu.transition_time = w.transition_time;
        job.wu.size_class = w.size_class;
        for (const Id instance : db_.results.index().instances(w.id)) {
            const Result& r = *db_.results.get(instance);
            job.instances.push_back({r.id, r.server_state, r.outcome, r.validate_state, r.sent_time, r.priority});
        }
        if (const MemoryAcceleratedJob* kept = db_.accelerated_jobs.get(w.id))
            job.before = AcceleratedJob{w.id, kept->batch, kept->marked, kept->priority, kept->lent, kept->extra};
    }
    return jobs;
}

std::optional<double> MemoryBatchAccelStore::mean_turnaround(Id batch) {
    db_.enter("batch_accel.mean_turnaround");
    double sum = 0;
    std::int64_t n = 0;
    for (const Id id : members(db_.results.index().of_batch, batch)) {
        const Result& r = *db_.results.get(id);
        if (r.outcome != Outcome::kSuccess || r.validate_state == ValidateState::kInvalid || r.sent_time <= 0 ||
            r.received_time < r.sent_time)
            continue;
        sum += static_cast<double>(r.received_time - r.sent_time);
        ++n;
    }
    return n == 0 ? std::nullopt : std::optional(sum / static_cast<double>(n));
}

bool MemoryBatchAccelStore::is_open(Id workunit) const {
    const Workunit* w = db_.workunits.get(workunit);
    return w != nullptr && w->canonical_resultid == 0 && w->error_mask == 0;
}

void MemoryBatchAccelStore::apply(const AccelWrite& w) {
    db_.enter("batch_accel.apply");
    for (const Id id : w.restore) restore(id);
    for (const Id id : w.lower) lower(id);
    mark(w);
    mark_results(w);
    ask_for_more(w);
    for (const auto& [id, lent] : w.give_back) {
        const MemoryAcceleratedJob* kept = db_.accelerated_jobs.get(id);
        if (kept == nullptr || kept->lent != lent) continue;  // given back already
        if (is_open(id))
            db_.workunits.change(
                id, [n = lent](Workunit& wu) { wu.target_nresults = std::max(1, wu.target_nresults - n); });
        db_.accelerated_jobs.change(id, [](MemoryAcceleratedJob& job) { job.lent = 0; });
    }
}

/// Only what still has the value that it was given: a submitter's later change stays.
void MemoryBatchAccelStore::restore(Id id) {
    const MemoryAcceleratedJob* kept = db_.accelerated_jobs.get(id);
    const MemoryAcceleratedJob job = kept == nullptr ? MemoryAcceleratedJob{} : *kept;
    if (is_open(id))
        db_.workunits.change(id, [&](Workunit& wu) {
            wu.target_nresults = std::max(1, wu.target_nresults - job.lent);
            if (job.marked && wu.priority == 1) wu.priority = job.priority;
        });
    const std::vector<Id> instances = db_.results.index().instances(id);
    for (const Id instance : instances) {
        const Result& r = *db_.results.get(instance);
        const std::int64_t* before = db_.accelerated_results.get({id, instance});
        std::int64_t priority = r.priority;
        if (before != nullptr && priority == 1)
            priority = *before;
        else if (before == nullptr && job.marked && r.create_time >= job.since && priority >= 1)
            priority += job.priority - 1;  // made since: it inherited the raised priority
        if (waits(r) && priority != r.priority)
            db_.results.change(instance, [priority](Result& row) { row.priority = priority; });
    }
    for (const Id instance : instances) db_.accelerated_results.remove({id, instance});
    db_.accelerated_jobs.change(id, [](MemoryAcceleratedJob& row) { row.marked = false, row.lent = 0; });
}

void MemoryBatchAccelStore::lower(Id id) {
    if (is_open(id) && db_.workunits.get(id)->priority == 1)
        db_.workunits.change(id, [](Workunit& w) { w.priority = 0; });
    const std::vector<Id> instances = db_.results.index().instances(id);
    for (const Id instance : instances)
        if (const Result& r = *db_.results.get(instance); waits(r) && r.priority == 1)
            db_.results.change(instance, [](Result& row) { row.priority = 0; });
}

void MemoryBatchAccelStore::mark(const AccelWrite& w) {
    for (const Id id : w.mark) {
        const Workunit* wu = db_.workunits.get(id);
        if (!is_open(id) || (w.only_zero ? wu->priority != 0 : wu->priority > 0)) continue;
        const MemoryAcceleratedJob* kept = db_.accelerated_jobs.get(id);
        MemoryAcceleratedJob job = kept == nullptr ? MemoryAcceleratedJob{.batch = wu->batch} : *kept;
        job.marked = true;
        job.priority = wu->priority;
        job.since = w.now;
        db_.accelerated_jobs.put(id, job);
        db_.workunits.change(id, [](Workunit& row) { row.priority = 1; });
    }
}

void MemoryBatchAccelStore::mark_results(const AccelWrite& w) {
    for (const Id id : w.mark_results) {
        const Result* r = db_.results.get(id);
        if (r == nullptr || !waits(*r) || (w.only_zero ? r->priority != 0 : r->priority > 0)) continue;
        db_.accelerated_results.put({r->workunitid, id}, r->priority);
        db_.results.change(id, [](Result& row) { row.priority = 1; });
    }
}

void MemoryBatchAccelStore::ask_for_more(const AccelWrite& w) {
    for (const auto& [id, target] : w.more) {
        const Workunit* wu = db_.workunits.get(id);
        if (!is_open(id) || wu->target_nresults != target) continue;
        const MemoryAcceleratedJob* kept = db_.accelerated_jobs.get(id);
        MemoryAcceleratedJob job =
            kept == nullptr ? MemoryAcceleratedJob{.batch = wu->batch, .priority = wu->priority, .since = w.now}
                            : *kept;
        ++job.lent, ++job.extra;
        db_.accelerated_jobs.put(id, job);
        db_.workunits.change(id, [&](Workunit& row) {
            ++row.target_nresults;
            row.transition_time = std::min(row.transition_time, w.now);
        });
    }
}

void MemoryBatchAccelStore::forget(std::span<const Id> batches) {
    db_.enter("batch_accel.forget");
    std::vector<Id> jobs;
    for (const auto& [id, job] : db_.accelerated_jobs.rows())
        if (std::find(batches.begin(), batches.end(), job.batch) != batches.end()) jobs.push_back(id);
    for (const Id id : jobs) {
        std::vector<Id> results;
        const auto& rows = db_.accelerated_results.rows();
        for (auto at = rows.lower_bound({id, INT64_MIN}); at != rows.end() && at->first.first == id; ++at)
            results.push_back(at->first.second);
        for (const Id result : results) db_.accelerated_results.remove({id, result});
        db_.accelerated_jobs.remove(id);
    }
}

}  // namespace sluice
