// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_stats/collect.h"

#include <algorithm>
#include <set>

namespace sluice {
namespace {

/// Results with ids up to so many below the highest one are read again: their transactions may have been open when the
/// last pass looked.
constexpr Id kIdOverlap = 20000;
/// A result that is over can still change: a late report, a validator that finds its files missing. One in so many of
/// those where that is likely is read again at each pass; a full pass sees all of it.
constexpr Id kRotation = 12;
constexpr std::int64_t kFresh = 2 * 86400;  ///< s after its report
constexpr std::size_t kSamples = 64;

bool is_open(JobKind kind) { return kind == JobKind::kWaiting || kind == JobKind::kInProgress; }

}  // namespace

/// What the last pass knew, as far as it matters for finding what changed.
struct Collector::Known {
    struct Open {
        Id result;
        JobKind kind;
        bool same = false;
    };
    std::vector<Open> open;
    std::vector<Id> again;
    std::map<Id, Observation> samples;  ///< results that were over: they can't have become others
    std::size_t results = 0;
    std::set<Id> batches;
};

Collector::Collector(BatchStatsStore& store, const std::vector<MeasuredBatch>& batches) : store_(store) {
    for (const MeasuredBatch& b : batches) batches_[b.id] = &b;
}

void Collector::note(const ResultTimes& r) {
    ++rows_read_;
    last_result_ = std::max(last_result_, r.id);
}

void Collector::whole_batches(const std::vector<Id>& batches, const Sink& sink) {
    std::size_t next = 0;
    BatchSection section;
    // Batches without results get their (empty) section too.
    const auto finish_up_to = [&](Id batch) {
        while (next < batches.size() && batches[next] < batch) {
            section.batch = batches[next++];
            sink(section);
            section.observations.clear();
        }
    };
    store_.results({.batches = batches}, [&](const ResultTimes& r) {
        note(r);
        finish_up_to(r.batch);
        section.observations.push_back(observe(r));
    });
    finish_up_to(INT64_MAX);
}

void Collector::everything(const Sink& sink) {
    last_result_ = store_.last_result_id();
    std::vector<Id> all;
    for (const auto& [id, batch] : batches_) all.push_back(id);
    whole_batches(all, sink);
}

void Collector::find_changes(StateReader& old, std::int64_t now, Known& known) {
    BatchSection section;
    const std::uint32_t turn = old.summary().pass % kRotation;
    old.rewind();
    while (old.next(section)) {
        if (!wanted(section.batch)) continue;
        known.batches.insert(section.batch);
        for (const Observation& o : section.observations) {
            const std::size_t n = known.results++;
            if (is_open(o.kind)) {
                known.open.push_back({o.result, o.kind});
            } else if ((o.kind == JobKind::kTimedOut || o.ended > now - kFresh) && o.result % kRotation == turn) {
                known.again.push_back(o.result);
            } else if ((n & (n - 1)) == 0 && known.samples.size() < kSamples) {
                known.samples[o.result] = o;  // at 1, 2, 4, 8 …: from everywhere, without knowing how many there are
                known.again.push_back(o.result);
            }
        }
    }
    std::sort(known.open.begin(), known.open.end(), [](const auto& a, const auto& b) { return a.result < b.result; });
    std::set<Id> app_set;
    for (const auto& [id, batch] : batches_) app_set.insert(batch->app_id);
    const std::vector<Id> apps(app_set.begin(), app_set.end());
    if (!known.open.empty())
        store_.open_results(apps, [&](Id id, ServerState state) {
            const auto it = std::lower_bound(known.open.begin(), known.open.end(), id,
                                             [](const Known::Open& o, Id wanted_id) { return o.result < wanted_id; });
            if (it == known.open.end() || it->result != id) return;
            it->same = (state == ServerState::kInProgress) == (it->kind == JobKind::kInProgress);
        });
    for (const auto& o : known.open)
        if (!o.same) known.again.push_back(o.result);
}

bool Collector::read_changes(Known& known, Id last_seen) {
    std::sort(known.again.begin(), known.again.end());
    looked_at_ = known.again;
    std::size_t found = 0;
    bool fits = true;
    const auto take = [&](const ResultTimes& r) {
        note(r);
        const Observation o = observe(r);
        if (const auto it = known.samples.find(r.id); it != known.samples.end()) {
            ++found;
            fits = fits && o.workunit == it->second.workunit && o.sent == it->second.sent && o.host == it->second.host;
        }
        if (known.batches.contains(r.batch)) changes_[r.batch].push_back(o);
    };
    store_.results({.ids = looked_at_}, take);
    // db_purge takes old rows away one by one; most of them gone at once is another database.
    if (!fits || found * 2 < known.samples.size()) return false;
    store_.results({.after = std::max<Id>(0, last_seen - kIdOverlap)}, take);
    return true;
}

bool Collector::brought_up_to_date(StateReader& old, std::int64_t now, const Sink& sink) {
    last_result_ = store_.last_result_id();
    if (last_result_ < old.summary().last_result) return false;
    Known known;
    find_changes(old, now, known);
    if (!read_changes(known, old.summary().last_result)) return false;
    BatchSection section;
    old.rewind();
    while (old.next(section)) {
        if (!wanted(section.batch)) continue;
        auto& list = section.observations;
        std::erase_if(list, [&](const Observation& o) {
            return std::binary_search(looked_at_.begin(), looked_at_.end(), o.result);
        });
        if (const auto it = changes_.find(section.batch); it != changes_.end()) {
            list.insert(list.begin(), it->second.rbegin(), it->second.rend());  // what was read last counts
            std::stable_sort(list.begin(), list.end(),
                             [](const Observation& a, const Observation& b) { return a.result < b.result; });
            list.erase(std::unique(list.begin(), list.end(),
                                   [](const Observation& a, const Observation& b) { return a.result == b.result; }),
                       list.end());
        }
        sink(section);
    }
    std::vector<Id> fresh;
    for (const auto& [id, batch] : batches_)
        if (!known.batches.contains(id)) fresh.push_back(id);
    if (!fresh.empty()) whole_batches(fresh, sink);
    return true;
}

}  // namespace sluice
