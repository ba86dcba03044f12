// SPDX-License-Identifier: LGPL-3.0-or-later
// Matchmaking for one scheduler RPC (upstream: sched_send, sched_score, sched_check, sched_version): a scan finds
// candidates (scan.h), a walk chooses the set (walk.h); policies.cpp lists what is checked and valued.
#include "sluice/match/matcher.h"

#include <algorithm>
#include <iterator>

#include "sched/match/deadline.h"
#include "sched/match/planned_batch.h"
#include "sched/match/tally.h"
#include "sched/match/walk.h"

namespace sluice {

namespace match {
namespace {

/// Non-CPU-intensive apps: every host has one job of each, whatever it asks for.
struct NciScan {
    const MatchContext& x;
    JobPool& pool;
    FactsSource& facts;
    Trace* trace;
    const ActivePolicies& policies;
    const AppTable& apps;
    VersionChooser& chooser;

    std::vector<Chosen> run(const std::vector<Id>& apps_on_host, Picked& picked, MatchStats& stats);

  private:
    struct Found {
        JobSummary job;
        SlotRef ref;
        const AppFacts* app;
        const Offer* offer;
    };
    std::vector<Found> find(const std::vector<Id>& apps_on_host, MatchStats& stats) const;
    void tell(const Found& f, const Verdict& v) const;
};

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

}  // namespace
}  // namespace match

using namespace match;

struct Matcher::Impl {
    Impl(const MatchContext& context, JobPool& job_pool, FactsSource& source, Trace* sink)
        : x(context),
          pool(job_pool),
          facts(source),
          trace(sink),
          policies(x),
          apps(x, policies),
          chooser(x, pool),
          picked(initial_picked(x)) {}

    std::vector<CandidateList> lists() const;
    Offer offer_of(const AppChoice& version) const;
    std::array<bool, kProcTypes> wanted_types(bool check_wanted) const;
    Verdict fast(const Candidate& c) const;
    Verdict may_have_again(const Candidate& c) const;
    Verdict check_from_elsewhere(const Candidate& c, JobOrigin origin) const;
    std::vector<Verdict> what_ends_all();

    MatchContext x;
    JobPool& pool;
    FactsSource& facts;
    Trace* trace;
    ActivePolicies policies;
    AppTable apps;
    VersionChooser chooser;
    Picked picked;
    MatchStats elsewhere;  ///< obstacles of jobs from elsewhere
};

// GPUs first: they are scarcer, and a job that both could run is worth more there.
std::vector<CandidateList> Matcher::Impl::lists() const {
    std::vector<CandidateList> all;
    for (int t = kProcTypes - 1; t >= 0; --t) {
        const auto type = static_cast<ProcType>(t);
        if (picked.wants(type) && chooser.has_apps_for(type)) all.emplace_back().type = type;
    }
    return all;
}

std::array<bool, kProcTypes> Matcher::Impl::wanted_types(bool check_wanted) const {
    std::array<bool, kProcTypes> wanted{};
    for (int t = 0; t < kProcTypes; ++t)
        wanted[static_cast<std::size_t>(t)] = !check_wanted || picked.wants(static_cast<ProcType>(t));
    return wanted;
}

// A version that was chosen before, in the terms of policies.
Offer Matcher::Impl::offer_of(const AppChoice& version) const {
    Offer offer;
    offer.choice = version;
    offer.type = offer.counted_as = version.usage.proc_type;
    if (!version.buda_variant.empty() && x.params.compat_level <= 0) offer.counted_as = ProcType::kCpu;
    const double speed = version.effective_speed();
    offer.seconds_per_flop = speed > 0 ? 1 / speed : 1e-9;
    for (std::size_t i = 0; i < x.host.versions.size(); ++i)
        if (x.host.versions[i].app_version_id == version.generalized_id) offer.quota = static_cast<int>(i);
    return offer;
}

Verdict Matcher::Impl::fast(const Candidate& c) const {
    for (Scope scope : kScopes)
        if (Verdict v = policies.fast(scope, x, c); v.refused()) return v;
    return feasible();
}

// What can be said before any job is looked at, so that "no work" never lacks its reason.
std::vector<Verdict> Matcher::Impl::what_ends_all() {
    std::vector<Verdict> all;
    for (const Verdict& v : {picked.reply_limit(), picked.user_limit()})
        if (v.refused()) all.push_back(v);
    for (int t = 0; t < kProcTypes; ++t) {
        const auto type = static_cast<ProcType>(t);
        if (chooser.has_apps_for(type)) {
            if (Verdict v = in_progress_limits(x, picked, nullptr, type); v.refused()) all.push_back(v);
        } else if (picked.wants(type) && x.wanted.resource_specific) {
            all.push_back(chooser.why_no_apps_for(type, apps.all()));
        }
    }
    return all;
}

Matcher::Matcher(const MatchContext& context, JobPool& pool, FactsSource& facts, Trace* trace)
    : impl_(std::make_unique<Impl>(context, pool, facts, trace)) {}
Matcher::~Matcher() = default;

MatchResult Matcher::match() {
    Impl& m = *impl_;
    MatchResult result;
    Candidates found{m.lists(), {}, {}};
    result.stats.obstacles = m.elsewhere.obstacles;
    const std::vector<Verdict> ends_all = m.what_ends_all();
    if (!found.lists.empty() && work_needed()) {
        Scanner scanner(m.x, m.pool, m.apps, m.policies, m.chooser);
        Walk walk(m.x, m.pool, m.facts, scanner, m.policies);
        // Again where other schedulers took what would have been enough, or no reply can carry it. What was found
        // before and is left has been tried.
        for (;;) {
            ScanLog log{m.trace, {}};
            scanner.run(found, m.picked, result.stats, log, [&] { return walk.would_satisfy(found, m.picked); });
            const auto lost = result.stats.claims_lost + walk.unwritable();
            std::vector<Chosen> jobs = walk.choose(found, m.picked, result.stats, log);
            if (result.jobs.empty())
                result.jobs = std::move(jobs);
            else
                std::ranges::move(jobs, std::back_inserter(result.jobs));
            if (result.stats.claims_lost + walk.unwritable() == lost || !scanner.stopped_early() || !work_needed())
                break;
            found = Candidates{m.lists(), {}, {}};
            if (found.lists.empty()) break;
        }
    }
    for (const Verdict& v : ends_all)  // unless its jobs were counted one by one
        if (result.stats.reasons[static_cast<std::size_t>(v.reason)].count == 0) tally(result.stats, v, JobSummary{});
    m.chooser.tell(result.stats);
    result.left = m.picked.left;
    return result;
}

MatchResult Matcher::match_non_cpu_intensive(const std::vector<Id>& apps_on_host) {
    Impl& m = *impl_;
    MatchResult result;
    NciScan scan{m.x, m.pool, m.facts, m.trace, m.policies, m.apps, m.chooser};
    result.jobs = scan.run(apps_on_host, m.picked, result.stats);
    m.chooser.tell(result.stats);
    result.left = m.picked.left;
    return result;
}

void Matcher::account(const Chosen& job) {
    Impl& m = *impl_;
    const AppFacts* app = m.apps.find(job.job.app_id);
    if (!app) return;
    const Offer offer = m.offer_of(job.version);
    m.picked.add(m.x, Candidate{job.job, job.ref, *app, &offer}, job.delay_bound);
}

// A lost job was this host's already: not all is asked again, but its app must still be selected (upstream).
Verdict Matcher::Impl::may_have_again(const Candidate& c) const {
    if (!c.app.selected) return refuse(Reason::kAppNotSelected, 0, 1);
    for (const FastRow* row : fast_rows())
        if (row->on_resend)
            if (Verdict v = row->check(x, c); v.refused()) return v;
    return feasible();
}

// Upstream sends assigned jobs without a look at memory, disk or deadline; level 1 looks.
Verdict Matcher::Impl::check_from_elsewhere(const Candidate& c, JobOrigin origin) const {
    const bool appointed = origin == JobOrigin::kAppointed;
    const bool all = origin == JobOrigin::kResend || appointed || x.params.compat_level > 0;
    if (!all) return c.app.selected ? feasible() : refuse(Reason::kAppNotSelected, 0, 1);
    Verdict v = origin == JobOrigin::kResend ? may_have_again(c) : fast(c);
    if (!v.refused() && origin == JobOrigin::kResend) v = in_progress_limits(x, picked, &c.app, c.offer->counted_as);
    if (!v.refused()) v = kDiskSumRow.check(x, c, picked);
    if (!v.refused() && !appointed && !c.app.app->non_cpu_intensive)
        v = deadline_verdict(x, c, picked, c.job.delay_bound);
    return v;
}

Verdict Matcher::consider(const JobSummary& job, JobOrigin origin, Chosen& chosen) {
    Impl& m = *impl_;
    const SlotRef nowhere;
    const AppFacts* app = m.apps.find(job.app_id);
    Verdict v = app ? feasible() : refuse(Reason::kNoSuchApp, job.app_id, 0);
    VersionPick pick;
    if (!v.refused()) {
        // Assigned jobs go out whatever resources were asked for.
        pick = m.chooser.choose_any(*app, job, nowhere, m.wanted_types(origin == JobOrigin::kResend));
        if (!pick.offer) v = pick.why;
    }
    if (!v.refused()) {
        const Candidate c{job, nowhere, *app, pick.offer};
        v = m.check_from_elsewhere(c, origin);
        note_shortage(m.elsewhere, v, job);
        const bool tight = origin == JobOrigin::kResend && plan_for(m.x, job) != nullptr;
        if (!v.refused()) chosen = make_chosen(c, 0, tight ? tight_deadline(m.x, c, m.picked) : job.delay_bound);
    }
    if (m.trace) {
        TraceRow row;
        row.job = &job;
        row.verdict = v;
        row.fate = v.reason;
        row.app = app ? app->app : nullptr;
        row.version = pick.offer ? &pick.offer->choice : nullptr;
        row.resource = pick.offer ? pick.offer->type : ProcType::kCpu;
        m.trace->row(row);
    }
    return v;
}

bool Matcher::work_needed() const {
    const Impl& m = *impl_;
    const Picked& p = m.picked;
    if (p.full()) return false;
    for (int t = 0; t < kProcTypes; ++t) {
        const auto type = static_cast<ProcType>(t);
        if (p.wants(type) && m.chooser.has_apps_for(type) && !in_progress_limits(m.x, p, nullptr, type).refused())
            return true;
    }
    return false;
}

}  // namespace sluice
