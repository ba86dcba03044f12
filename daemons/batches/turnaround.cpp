// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

std::pair<Id, Id> key(const VersionTurnaround& v) { return {v.host_id, v.version}; }

bool differs(const VersionTurnaround& a, const VersionTurnaround& b) {
    return a.ltt != b.ltt || a.jobs != b.jobs || std::abs(a.ratio - b.ratio) > 0.05 * std::max(a.ratio, b.ratio);
}

}  // namespace

StatsWrite plan_stats(const StatsFacts& facts) {
    StatsWrite write;
    for (const auto& [batch, measure] : facts.batches) {
        const double value = measure.median.value_or(0);
        if (value == batch.expire_time) continue;
        if (value == 0 && batch.expire_time >= kExpireDate) continue;  // nothing to say, so the date may stay
        write.medians.emplace_back(batch.id, value);
    }
    for (const Id host : facts.ltt_hosts) {
        const auto it = facts.flagged.find(host);
        if (it == facts.flagged.end() || it->second != 1) write.hosts.emplace_back(host, true);
    }
    for (const auto& [host, flag] : facts.flagged)
        if (!std::binary_search(facts.ltt_hosts.begin(), facts.ltt_hosts.end(), host))
            write.hosts.emplace_back(host, false);
    for (const App& app : facts.apps) {
        if (app.n_size_classes > 1) continue;  // size classes: not ours to change
        const auto it =
            std::find_if(facts.verdicts.begin(), facts.verdicts.end(), [&](const auto& v) { return v.app == app.id; });
        const bool accelerable = it != facts.verdicts.end() && it->accelerable;
        if (app.n_size_classes != (accelerable ? 1 : 0)) write.accelerable.emplace_back(app.id, accelerable);
    }
    return write;
}

VersionChanges plan_versions(const std::vector<VersionTurnaround>& before, const std::vector<VersionTurnaround>& now) {
    VersionChanges changes;
    auto old = before.begin();
    for (const VersionTurnaround& v : now) {
        for (; old != before.end() && key(*old) < key(v); ++old) changes.gone.push_back(key(*old));
        if (old != before.end() && key(*old) == key(v)) {
            if (differs(*old, v)) changes.rows.push_back(v);
            ++old;
        } else {
            changes.rows.push_back(v);
        }
    }
    for (; old != before.end(); ++old) changes.gone.push_back(key(*old));
    return changes;
}

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

namespace {

constexpr std::int64_t kFullInterval = 86400;  ///< s
constexpr Id kFirstBatchSlack = 5000;          ///< ids below the first batch that are looked at all the same

/// The flags of hosts that stay LTT are checked in turns, since others may have changed them. To read all of them at
/// each pass would cost more than the rest of it. A full pass sees all.
constexpr Id kFlagTurns = 12;

/// Both sorted. Hosts whose verdict differs, and those of the others whose turn it is.
std::vector<Id> flags_to_check(const std::vector<Id>& before, const std::vector<Id>& now, Id turn) {
    std::vector<Id> hosts;
    std::set_symmetric_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(hosts));
    for (const Id host : now)
        if (host % kFlagTurns == turn) hosts.push_back(host);
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    return hosts;
}

std::string verdict_text(const Scores::AppVerdict& v, const StatsRules& rules) {
    return fmt::format("{} hosts, {} of them LTT: {} (more than {} hosts and {:.0f} % are needed)", v.hosts,
                       v.ltt_hosts, v.accelerable ? "accelerable" : "not accelerable", rules.min_hosts,
                       100 * rules.min_ltt_frac);
}

}  // namespace

struct StatsService::Work {
    explicit Work(const StatsRules& rules, std::int64_t at) : now(at), scores(rules, at) {}
    std::int64_t now;
    double started = 0, seconds = 0;
    std::optional<StateReader> old;
    std::unique_ptr<StateWriter> writer;  ///< null: nothing is to be kept
    StatsFacts facts;
    Scores scores;
    std::vector<VersionTurnaround> versions;
    bool full = false;
    Id last_result = 0;
    std::size_t rows_read = 0, results = 0, measured = 0;
};

bool StatsService::may_build_on(const StatsSummary& old, std::int64_t now) const {
    return !settings_.full && old.database == settings_.database && old.full_seconds >= settings_.cheap_full &&
           now - old.full_at < kFullInterval && now >= old.made_at;
}

void StatsService::collect(Work& w, bool build) {
    // What was too old for the last pass need not be so for this one's rules.
    const bool as_young = build && settings_.rules.max_age <= w.old->summary().rules.max_age;
    const Id first = as_young ? std::max<Id>(0, w.old->summary().first_batch - kFirstBatchSlack) : 0;
    const auto batches = store_.batches(first, w.now - static_cast<std::int64_t>(settings_.rules.max_age));
    std::map<Id, const MeasuredBatch*> by_id;
    for (const MeasuredBatch& b : batches) by_id[b.id] = &b;
    const auto sink = [&](const BatchSection& s) {
        if (stop_requested()) throw Stopped();
        const MeasuredBatch& batch = *by_id.at(s.batch);
        const BatchMeasure m = measure(s.observations, batch, settings_.rules);
        log_debug("[batch#{}] {} results, {} successful, median turnaround {:.0f} s", s.batch, s.observations.size(),
                  m.success, m.median.value_or(0));
        w.scores.add(s.observations, batch, m);
        w.facts.batches.emplace_back(batch, m);
        w.results += s.observations.size();
        w.measured += m.median ? 1 : 0;
        if (w.writer) w.writer->put(s);
    };
    Collector collector(store_, batches);
    if (!build) {
        collector.everything(sink);
    } else if (!collector.brought_up_to_date(*w.old, w.now, sink)) {
        log_normal("what the last pass knew does not fit the database: reading everything");
        return collect(w, false);
    }
    w.full = !build;
    w.last_result = collector.last_result();
    w.rows_read = collector.rows_read();
}

void StatsService::write(Work& w) {
    w.facts.apps = store_.apps();
    w.facts.ltt_hosts = w.scores.ltt_hosts();
    w.facts.verdicts = w.scores.apps();
    if (w.full) {
        w.facts.flagged = store_.flagged_hosts({});
    } else {
        const std::vector<Id> among =
            flags_to_check(w.old->summary().ltt_hosts, w.facts.ltt_hosts, w.old->summary().pass % kFlagTurns);
        if (!among.empty()) w.facts.flagged = store_.flagged_hosts(among);
        for (const Id host : w.facts.ltt_hosts)
            if (!std::binary_search(among.begin(), among.end(), host)) w.facts.flagged.emplace(host, 1);
    }
    const StatsWrite plan = plan_stats(w.facts);
    VersionChanges versions;
    if (settings_.rules.per_version) {
        w.versions = w.scores.versions();
        std::vector<VersionTurnaround> before;
        if (w.full || !w.old->summary().rules.per_version) {
            versions_.all([&](const VersionTurnaround& v) { before.push_back(v); });
        } else {
            before = w.old->summary().versions;
        }
        versions = plan_versions(before, w.versions);
    }
    if (settings_.dry_run) {
        print_plan(w, plan, versions);
        w.seconds = clock_.now() - w.started;
        return report(w, plan, versions);
    }
    if (!versions.rows.empty() || !versions.gone.empty()) versions_.write(versions.rows, versions.gone);
    if (!plan.empty()) store_.apply(plan);
    w.seconds = clock_.now() - w.started;
    report(w, plan, versions);
}

void StatsService::print_plan(const Work& w, const StatsWrite& plan, const VersionChanges& versions) const {
    for (const auto& v : w.facts.verdicts) fmt::print("app {}: {}\n", v.app, verdict_text(v, settings_.rules));
    for (const auto& [batch, median] : plan.medians) fmt::print("batch {}: expire_time := {}\n", batch, median);
    for (const auto& [host, ltt] : plan.hosts) fmt::print("host {}: error_rate := {}\n", host, ltt ? 1 : 0);
    for (const auto& [app, accelerable] : plan.accelerable)
        fmt::print("app {}: n_size_classes := {}\n", app, accelerable ? 1 : 0);
    fmt::print("{} rows of (host, app version) would be written, {} deleted\n", versions.rows.size(),
               versions.gone.size());
}

void StatsService::report(const Work& w, const StatsWrite& plan, const VersionChanges& versions) const {
    for (const auto& v : w.facts.verdicts) {
        const auto app =
            std::find_if(w.facts.apps.begin(), w.facts.apps.end(), [&](const App& a) { return a.id == v.app; });
        if (app == w.facts.apps.end()) continue;
        log_normal("app {}: {}{}", app->name, verdict_text(v, settings_.rules),
                   app->n_size_classes > 1 ? "; it has size classes, the flag is left alone" : "");
    }
    const auto marked = std::count_if(plan.hosts.begin(), plan.hosts.end(), [](const auto& h) { return h.second; });
    log_normal(
        "{}{} pass: {} batches ({} measured), {} results ({} rows read), {} hosts, {} LTT (+{} -{}), {} medians, {} app flags and "
        "{} version rows changed; {:.3f} s",
        dry_run_words(settings_.dry_run), w.full ? "full" : "incremental", w.facts.batches.size(), w.measured,
        w.results, w.rows_read, w.scores.hosts(), w.facts.ltt_hosts.size(), marked,
        static_cast<std::ptrdiff_t>(plan.hosts.size()) - marked, plan.medians.size(), plan.accelerable.size(),
        versions.rows.size() + versions.gone.size(), w.seconds);
}

bool StatsService::run() {
    Work w(settings_.rules, clock_.now_sec());
    w.started = clock_.now();
    std::string why;
    w.old = StateReader::open(settings_.state_file, why);
    if (!why.empty()) log_warning("{}: reading everything", why);
    if (!settings_.dry_run) {
        try {
            w.writer = std::make_unique<StateWriter>(settings_.state_file);
        } catch (const FileError& e) {
            log_warning("{}; each pass will read everything", e.what());
        }
    }
    try {
        collect(w, w.old && may_build_on(w.old->summary(), w.now));
    } catch (const Stopped&) {
        return false;
    }
    write(w);
    if (!w.writer) return true;
    StatsSummary s;
    s.database = settings_.database;
    s.rules = settings_.rules;
    s.made_at = w.now;
    s.pass = w.old ? w.old->summary().pass + 1 : 1;
    s.full_at = w.full ? w.now : w.old->summary().full_at;
    s.full_seconds = w.full ? w.seconds : w.old->summary().full_seconds;
    s.last_result = w.last_result;
    s.first_batch =
        w.facts.batches.empty() ? (w.old ? w.old->summary().first_batch : 0) : w.facts.batches.front().first.id;
    s.ltt_hosts = w.facts.ltt_hosts;
    s.versions = std::move(w.versions);
    s.apps = w.facts.verdicts;
    try {
        w.writer->commit(s);
    } catch (const FileError& e) {  // what was found out is in the database already
        log_warning("{}; the next pass will read everything", e.what());
    }
    return true;
}

}  // namespace sluice
