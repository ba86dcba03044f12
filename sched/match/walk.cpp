#include "sched/match/walk.h"

#include <algorithm>
#include <array>
#include <deque>

#include "sched/match/deadline.h"
#include "sched/match/rank.h"
#include "sched/match/tally.h"
#include "sched/match/term_values.h"

namespace sluice::match {
struct Walk::Choice {
    Choice(Candidates& candidates, const ActivePolicies& policies, Picked& so_far, MatchStats& counts,
           ScanLog& scan_log, std::uint32_t slots)
        : passes(candidates.passes),
          seen(candidates.seen),
          ranking(policies, candidates),
          picked(so_far),
          stats(counts),
          log(scan_log),
          taken(slots) {
        for (const Pass& pass : passes) orders.emplace_back(pass, seen, ranking);
    }
    static std::uint64_t key(std::size_t pass, const Entry& e) {
        return static_cast<std::uint64_t>(pass) << 32 | e.order;
    }
    void settle(std::size_t pass, const Entry& e, const JobSummary& job, const Verdict& v) {
        if (!v) {
            tally(stats, v, job);
            note_shortage(stats, v, job);
        }
        if (log.trace) fates[key(pass, e)] = v;
    }

    const std::vector<Pass>& passes;
    const std::vector<Seen>& seen;
    const RankedPoints ranking;
    Picked& picked;
    MatchStats& stats;
    ScanLog& log;
    std::array<Verdict, kProcTypes> ended{};                 ///< by pass: what refused all the rest
    std::vector<bool> taken;                                 ///< by slot: not for any pass any more
    std::deque<ByValue> orders;                              ///< one a pass
    std::unordered_map<std::uint32_t, WorkunitFacts> facts;  ///< by slot
    std::vector<JobSummary> shortlist;
    std::vector<std::uint32_t> shortlist_slots;
    int loads = 0;
    std::vector<Chosen> set;
    std::unordered_map<std::uint64_t, Verdict> fates;  ///< for the trace
};

Walk::Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
           const ActivePolicies& policies)
    : x_(context), pool_(pool), facts_(facts), scanner_(scanner), policies_(policies) {}

bool Walk::full(const Picked& picked) const {
    const int most = x_.user.max_jobs_in_progress;
    return picked.jobs >= picked.max_jobs || (most > 0 && picked.in_progress_total >= most);
}

bool Walk::would_satisfy(Candidates& found, const Picked& picked) const {
    const RankedPoints ranking(policies_, found);
    Picked trial = picked;
    std::vector<bool> taken(pool_.size());
    for (const Pass& pass : found.passes) {
        ByValue order(pass, found.seen, ranking);
        for (std::size_t i = 0; trial.wants(pass.type); ++i) {
            if (full(trial)) return true;
            const ByValue::Place place = order.get(i);
            if (!place.entry) return false;
            JobSummary job;
            PoolRef ref;
            if (taken[place.job->slot] || !scanner_.reread(*place.job, job, ref)) continue;
            const Offer& offer = scanner_.offer(*place.entry);
            const Candidate c{job, ref, *offer.app, &offer, {}, 0, 0, 0};
            if (!ActivePolicies::set(x_, c, trial)) continue;
            taken[place.job->slot] = true;
            trial.add(x_, c, attainable_deadline(x_, c, trial).delay_bound);
        }
    }
    return true;
}

// Goes on from entry `from` of `pass` as if every slow check would pass, and notes whose facts will be asked for: the
// set, and spares for those that fail. The last load takes all it can.
void Walk::look_ahead(Choice& choice, std::size_t pass, std::size_t from) const {
    constexpr std::size_t kLeastSpares = 8;
    Picked picked = choice.picked;
    std::vector<bool> taken = choice.taken;
    choice.shortlist.clear();
    choice.shortlist_slots.clear();
    const bool last_load = choice.loads + 1 >= kMaxLoads;
    for (; pass < choice.passes.size(); ++pass, from = 0) {
        std::size_t chosen = 0, spares = 0;
        for (std::size_t i = from; choice.shortlist.size() < kMaxShortlist; ++i) {
            const bool enough = full(picked) || !picked.wants(choice.passes[pass].type);
            const std::size_t most_spares = last_load ? kMaxShortlist : std::max(kLeastSpares, chosen);
            if (enough && (spares >= most_spares || spares + chosen == 0)) break;
            const ByValue::Place place = choice.orders[pass].get(i);
            if (!place.entry) break;
            const std::uint32_t slot = place.job->slot;
            JobSummary job;
            PoolRef ref;
            if (taken[slot] || choice.facts.contains(slot) || !scanner_.reread(*place.job, job, ref)) continue;
            const Offer& offer = scanner_.offer(*place.entry);
            const Candidate c{job, ref, *offer.app, &offer, {}, 0, 0, 0};
            if (!enough && ActivePolicies::set(x_, c, picked)) {
                picked.add(x_, c, attainable_deadline(x_, c, picked).delay_bound);
                ++chosen;
            } else if (spares++ >= most_spares) {
                continue;  // what the set can't hold now may do when another job fails: some, not all
            }
            taken[slot] = true;
            choice.shortlist.push_back(job);
            choice.shortlist_slots.push_back(slot);
        }
    }
}

const WorkunitFacts* Walk::facts_of(Choice& choice, std::size_t pass, std::size_t i, std::uint32_t slot) const {
    const auto known = choice.facts.find(slot);
    if (known != choice.facts.end()) return &known->second;
    if (choice.loads >= kMaxLoads) return nullptr;
    look_ahead(choice, pass, i);
    ++choice.loads;
    ++choice.stats.fact_loads;
    std::vector<WorkunitFacts> loaded = facts_.load(choice.shortlist);
    loaded.resize(choice.shortlist.size());  // an answer that is missing says "not found"
    for (std::size_t n = 0; n < loaded.size(); ++n)
        choice.facts.emplace(choice.shortlist_slots[n], std::move(loaded[n]));
    const auto now_known = choice.facts.find(slot);
    return now_known == choice.facts.end() ? nullptr : &now_known->second;
}

// Slow checks of a job that fits the set; claims it if they pass.
Verdict Walk::claim(Choice& choice, const Candidate& c, const WorkunitFacts& facts) const {
    Verdict verdict;
    if (const SlowRow* refused = slow_refusal(x_, c, facts, verdict)) {
        if (refused->commitment) pool_.note_infeasible(c.ref);
        if (!refused->for_no_host) pool_.note_passed_over(c.ref);
        if (refused->for_no_host && pool_.claim(c.ref)) pool_.discard(c.ref);
        if (refused->for_no_host) choice.taken[c.ref.index] = true;
        return verdict;
    }
    choice.taken[c.ref.index] = true;
    if (pool_.claim(c.ref)) return feasible();
    ++choice.stats.claims_lost;
    return refuse(Reason::kClaimLost);
}

void Walk::try_entry(Choice& choice, std::size_t pass, std::size_t i, const ByValue::Place& place) const {
    const Entry& e = *place.entry;
    JobSummary job;
    PoolRef ref;
    if (!scanner_.reread(*place.job, job, ref)) {
        ++choice.stats.claims_lost;
        choice.settle(pass, e, job, refuse(Reason::kClaimLost));
        return;
    }
    const Offer& offer = scanner_.offer(e);
    const Candidate c{job, ref, *offer.app, &offer, {}, 0, 0, 0};
    Verdict v = ActivePolicies::set(x_, c, choice.picked);
    // Limits say nothing about the job, but this host can't do it in its time.
    if (v.reason == Reason::kDeadline) pool_.note_passed_over(ref);
    const WorkunitFacts* facts = v ? facts_of(choice, pass, i, ref.index) : nullptr;
    if (v) v = facts ? claim(choice, c, *facts) : refuse(Reason::kNotNeeded);
    choice.settle(pass, e, job, v);
    if (!v) return;
    const double bound = attainable_deadline(x_, c, choice.picked).delay_bound;
    choice.set.push_back(make_chosen(c, place.score, bound));
    choice.set.back().facts = *facts;
    choice.picked.add(x_, c, bound);
}

// What ends a pass for all its jobs.
Verdict Walk::end_of_pass(const Picked& picked, ProcType type) const {
    if (picked.jobs >= picked.max_jobs) return refuse(Reason::kJobsPerRpcLimit, picked.jobs, picked.max_jobs);
    const int most = x_.user.max_jobs_in_progress;
    if (most > 0 && picked.in_progress_total >= most)
        return refuse(Reason::kUserJobLimit, picked.in_progress_total, most);
    // BUDA jobs may count as CPU jobs, so with them each job is asked.
    return x_.buda ? feasible() : in_progress_limits(x_, picked, nullptr, type);
}

std::vector<Chosen> Walk::choose(Candidates& found, Picked& picked, MatchStats& stats, ScanLog& log) const {
    Choice choice(found, policies_, picked, stats, log, pool_.size());
    for (std::size_t p = 0; p < choice.passes.size(); ++p) {
        const ProcType type = choice.passes[p].type;
        for (std::size_t i = 0; picked.wants(type); ++i) {
            const ByValue::Place place = choice.orders[p].get(i);
            if (!place.entry) break;
            if (choice.taken[place.job->slot]) continue;
            if (Verdict v = end_of_pass(picked, type); !v) {
                choice.ended[p] = v;
                tally(stats, v, JobSummary{});
                break;
            }
            try_entry(choice, p, i, place);
        }
    }
    trace(choice);
    return std::move(choice.set);
}

void Walk::trace(const Choice& choice) const {
    if (!choice.log.trace) return;
    for (std::size_t p = 0; p < choice.passes.size(); ++p) {
        for (const Entry& e : choice.passes[p].entries) {
            const auto& [job, ref] = choice.log.jobs[e.order];
            const Offer& offer = scanner_.offer(e);
            Candidate c{job, ref, *offer.app, &offer, {}, 0, 0, 0};
            std::vector<std::int32_t> space;
            scanner_.complete(c, space);
            TraceRow row;
            row.ref = ref;
            row.job = &job;
            row.pass = choice.passes[p].type;
            row.score = e.points + choice.ranking.of(e.order);
            row.app = c.app.app;
            row.version = &offer.choice;
            row.host_size_class = offer.host_size_class;
            row.size_is_guess = offer.choice.speed_is_guess;
            row.terms = term_values(x_, policies_, c, row.score - e.points);
            const auto fate = choice.fates.find(Choice::key(p, e));
            row.verdict = fate != choice.fates.end() ? fate->second : choice.ended[p];
            const bool looked_at = fate != choice.fates.end() || !row.verdict;
            row.fate = looked_at ? row.verdict.reason : Reason::kNotNeeded;
            choice.log.trace->row(row);
        }
    }
}

Chosen make_chosen(const Candidate& c, double score, double delay_bound) {
    Chosen chosen;
    chosen.job = c.job;
    chosen.ref = c.ref;
    chosen.app = c.app.app;
    chosen.version = c.offer->choice;
    chosen.score = score;
    chosen.estimated_runtime = c.runtime();
    chosen.delay_bound = delay_bound;
    chosen.hr_class_to_commit = c.app.hr == HrType::kNone ? 0 : c.app.host_hr_class;
    chosen.commit_app_version = c.app.app->homogeneous_app_version;
    chosen.size_class_of_host = c.offer->host_size_class < 0 ? 0 : static_cast<std::uint32_t>(c.offer->host_size_class);
    return chosen;
}

const SlowRow* slow_refusal(const MatchContext& x, const Candidate& c, const WorkunitFacts& facts, Verdict& verdict) {
    for (const SlowRow* row : slow_rows()) {
        verdict = row->check(x, c, facts);
        if (!verdict) return row;
    }
    return nullptr;
}

}  // namespace sluice::match
