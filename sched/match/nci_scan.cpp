// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/nci_scan.h"

#include <algorithm>

#include "sched/match/tally.h"

namespace sluice::match {

void NciScan::tell(const Found& f, const Verdict& v) const {
    if (!trace) return;
    TraceRow row;
    row.ref = f.ref;
    row.job = &f.job;
    row.verdict = v;
    row.fate = v.reason;
    row.app = f.app->app;
    row.version = f.offer ? &f.offer->choice : nullptr;
    trace->row(row);
}

// In array order, as upstream: a few slots of each app that lacks a job, in case the first ones fail or are taken.
std::vector<NciScan::Found> NciScan::find(const std::vector<Id>& apps_on_host, MatchStats& stats) const {
    constexpr int kSlotsPerApp = 4;
    std::vector<int> room(apps.all().size(), 0);
    int open = 0;
    for (const AppFacts& app : apps.all()) {
        const bool has_one = std::find(apps_on_host.begin(), apps_on_host.end(), app.app->id) != apps_on_host.end();
        if (!app.app->non_cpu_intensive || has_one) continue;
        room[app.index] = kSlotsPerApp;
        if (!app.app->beta || x.user.allow_beta_work) stats.apps_with_jobs.push_back(app.app->id);
        ++open;
    }
    std::vector<Found> found;
    const std::uint32_t size = open > 0 ? pool.size() : 0;
    for (std::uint32_t i = 0; i < size && open > 0; ++i) {
        Found f{};
        if (pool.read(i, f.job, f.ref) != SlotState::kPresent) continue;
        stats.pool_empty = false;
        ++stats.slots_scanned;
        f.app = apps.find(f.job.app_id);
        if (!f.app || room[f.app->index] <= 0) continue;
        const VersionPick pick = chooser.choose(*f.app, f.job, f.ref, ProcType::kCpu);
        f.offer = pick.offer;
        Verdict v = pick.offer ? feasible() : pick.why;
        for (Scope scope : kScopes)
            if (!v.refused())
                v = policies.fast(scope, x, Candidate{f.job, f.ref, *f.app, f.offer}, &kNonCpuIntensiveRow);
        if (v.refused()) {
            tally(stats, v, f.job);
            if (f.offer) note_shortage(stats, v, f.job);
            tell(f, v);
            continue;
        }
        found.push_back(f);
        ++stats.candidates;
        if (--room[f.app->index] == 0) --open;
    }
    return found;
}

std::vector<Chosen> NciScan::run(const std::vector<Id>& apps_on_host, Picked& picked, MatchStats& stats) {
    std::vector<Chosen> set;
    const std::vector<Found> found = find(apps_on_host, stats);
    if (found.empty()) return set;
    std::vector<JobSummary> jobs;
    for (const Found& f : found) jobs.push_back(f.job);
    std::vector<WorkunitFacts> loaded = facts.load(jobs);
    ++stats.fact_loads;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Found& f = found[i];
        const Candidate c{f.job, f.ref, *f.app, f.offer};
        const auto same_app = [&](const Chosen& chosen) { return chosen.app == f.app->app; };
        if (std::any_of(set.begin(), set.end(), same_app)) {
            tell(f, refuse(Reason::kNotNeeded));
            continue;
        }
        Verdict v;
        const SlowRow* refused = slow_refusal(x, c, loaded[i], v);
        if (refused && refused->for_no_host && pool.claim(f.ref)) pool.discard(f.ref);
        if (!refused && !pool.claim(f.ref)) {
            v = refuse(Reason::kClaimLost);
            ++stats.claims_lost;
        }
        Chosen chosen = make_chosen(c, 0, f.job.delay_bound);
        chosen.facts = std::move(loaded[i]);
        if (!v.refused()) {
            v = facts.can_be_written(chosen);
            if (v.refused()) pool.discard(f.ref);
        }
        if (v.refused()) tally(stats, v, f.job);
        tell(f, v);
        if (v.refused()) continue;
        set.push_back(std::move(chosen));
        picked.add(x, c, f.job.delay_bound);
    }
    return set;
}

}  // namespace sluice::match
