// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_stats/stats_pass.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {
namespace {

constexpr std::int64_t kFullInterval = 86400;  ///< s
constexpr Id kFirstBatchSlack = 5000;          ///< ids below the first batch that are looked at all the same

/// The flags of hosts that stay LTT are looked at in turns: others may have changed them, but reading all of them at
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

struct StatsPass::Work {
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

bool StatsPass::may_build_on(const StatsSummary& old, std::int64_t now) const {
    return !settings_.full && old.database == settings_.database && old.full_seconds >= settings_.cheap_full &&
           now - old.full_at < kFullInterval && now >= old.made_at;
}

void StatsPass::collect(Work& w, bool build) {
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

void StatsPass::write(Work& w) {
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

void StatsPass::print_plan(const Work& w, const StatsWrite& plan, const VersionChanges& versions) const {
    for (const auto& v : w.facts.verdicts) fmt::print("app {}: {}\n", v.app, verdict_text(v, settings_.rules));
    for (const auto& [batch, median] : plan.medians) fmt::print("batch {}: expire_time := {}\n", batch, median);
    for (const auto& [host, ltt] : plan.hosts) fmt::print("host {}: error_rate := {}\n", host, ltt ? 1 : 0);
    for (const auto& [app, accelerable] : plan.accelerable)
        fmt::print("app {}: n_size_classes := {}\n", app, accelerable ? 1 : 0);
    fmt::print("{} rows of (host, app version) would be written, {} deleted\n", versions.rows.size(),
               versions.gone.size());
}

void StatsPass::report(const Work& w, const StatsWrite& plan, const VersionChanges& versions) const {
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

bool StatsPass::run() {
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
