// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/walk.h"

#include <algorithm>
#include <array>
#include <deque>

#include "sched/match/deadline.h"
#include "sched/match/picked.h"
#include "sched/match/policies.h"
#include "sched/match/tally.h"

namespace sluice::match {
namespace {

/// What the other candidates made of a candidate's score.
struct RelativePoints {
    double of_rank = 0, of_lag = 0;
};

/// Every term of a candidate for the trace.
std::vector<TraceRow::Term> term_values(const MatchContext& x, const ActivePolicies& policies, const Candidate& c,
                                        const RelativePoints& relative) {
    std::vector<TraceRow::Term> terms;
    for (const ActiveTerm& t : policies.terms()) {
        double value = 0;
        if (!is_ranked(*t.row, x.params.compat_level))
            value = t.row->value(x, c);
        else if (t.row->ranking == Ranking::kLag)
            value = relative.of_lag / t.weight;
        else if ((t.row->ranking == Ranking::kLogicalEndTimes) == is_logical_end_time(c.job.priority))
            value = relative.of_rank / t.weight;
        terms.push_back({t.row->name, t.weight, value});
    }
    return terms;
}

}  // namespace

constexpr int kMaxLoads = Matcher::kMaxLoads;
constexpr std::size_t kMaxShortlist = Matcher::kMaxShortlist;

struct Walk::Choice {
    Choice(const MatchContext& context, Candidates& candidates, const ActivePolicies& policies, Picked& so_far,
           MatchStats& counts, ScanLog& scan_log, std::uint32_t slots, bool only_a_trial)
        : trial(only_a_trial),
          lists(candidates.lists),
          seen(candidates.seen),
          ranking(context, policies, candidates),
          picked(so_far),
          stats(counts),
          log(scan_log),
          taken(slots) {
        for (const CandidateList& list : lists) orders.emplace_back(list, seen, ranking);
    }
    static std::uint64_t key(std::size_t list, const Entry& e) {
        return static_cast<std::uint64_t>(list) << 32 | e.order;
    }
    void settle(std::size_t list, const Entry& e, const JobSummary& job, const Verdict& v) {
        if (trial) return;
        if (v.refused()) {
            tally(stats, v, job);
            note_shortage(stats, v, job);
        }
        if (log.trace) fates[key(list, e)] = v;
    }

    const bool trial;  ///< nothing is claimed, counted or traced
    const std::vector<CandidateList>& lists;
    const std::vector<Seen>& seen;
    const RankedPoints ranking;
    Picked& picked;
    MatchStats& stats;
    ScanLog& log;
    std::array<Verdict, kProcTypes> ended{};  ///< by list: what refused all the rest
    std::vector<bool> taken;                  ///< by slot: not for any list any more
    std::deque<ByValue> orders;               ///< one a list
    std::vector<JobSummary> shortlist;
    std::vector<std::uint32_t> shortlist_slots;
    std::vector<Chosen> set;
    std::unordered_map<std::uint64_t, Verdict> fates;  ///< for the trace
};

Walk::Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
           const ActivePolicies& policies)
    : x_(context), pool_(pool), facts_(facts), scanner_(scanner), policies_(policies) {}

bool Walk::would_satisfy_but_for_slow_checks(Candidates& found, const Picked& picked) const {
    const RankedPoints ranking(x_, policies_, found);
    Picked trial = picked;
    std::vector<bool> taken(pool_.size());
    for (const CandidateList& list : found.lists) {
        ByValue order(list, found.seen, ranking);
        for (std::size_t i = 0; trial.wants(list.type); ++i) {
            if (trial.full()) return true;
            const ByValue::Place place = order.get(i);
            if (!place.entry) return false;
            JobSummary job;
            SlotRef ref;
            if (taken[place.job->slot] || !scanner_.reread(*place.job, job, ref)) continue;
            const Offer& offer = scanner_.offer(*place.entry);
            const Candidate c{job, ref, *offer.app, &offer};
            if (ActivePolicies::set(x_, c, trial).refused()) continue;
            taken[place.job->slot] = true;
            trial.add(x_, c, attainable_deadline(x_, c, trial));
        }
    }
    return true;
}

Enough Walk::would_satisfy(Candidates& found, const Picked& picked) {
    if (!would_satisfy_but_for_slow_checks(found, picked)) return Enough::kNotTogether;
    Picked so_far = picked;
    MatchStats nobody_counts;
    ScanLog nobody_listens;
    Choice choice(x_, found, policies_, so_far, nobody_counts, nobody_listens, pool_.size(), true);
    walk(choice);
    const bool wants_more = std::any_of(found.lists.begin(), found.lists.end(),
                                        [&](const CandidateList& list) { return so_far.wants(list.type); });
    return !wants_more || so_far.full() || loads_ >= kMaxLoads ? Enough::kYes : Enough::kRefused;
}

// Goes on from entry `from` of `list` as if every slow check would pass. It notes whose facts are needed: those of the
// set, and of spares for jobs that fail, each of which costs the database a row. Mostly the first load is all that is
// needed. Where slow checks have refused jobs, the second one takes all it can. Others do so anyway.
void Walk::look_ahead(Choice& choice, std::size_t list, std::size_t from) const {
    Picked picked = choice.picked;
    std::vector<bool> taken = choice.taken;
    choice.shortlist.clear();
    choice.shortlist_slots.clear();
    for (; list < choice.lists.size(); ++list, from = 0) {
        std::size_t chosen = 0, spares = 0;
        bool committing = false;
        for (std::size_t i = from; choice.shortlist.size() < kMaxShortlist; ++i) {
            const bool enough = picked.full() || !picked.wants(choice.lists[list].type);
            const std::size_t most_spares = spares_of(chosen, committing);
            if (enough && (spares >= most_spares || spares + chosen == 0)) break;
            const ByValue::Place place = choice.orders[list].get(i);
            if (!place.entry) break;
            const std::uint32_t slot = place.job->slot;
            JobSummary job;
            SlotRef ref;
            if (taken[slot] || known_.contains(slot) || !scanner_.reread(*place.job, job, ref)) continue;
            const Offer& offer = scanner_.offer(*place.entry);
            const Candidate c{job, ref, *offer.app, &offer};
            if (!enough && !ActivePolicies::set(x_, c, picked).refused()) {
                picked.add(x_, c, attainable_deadline(x_, c, picked));
                ++chosen;
                committing |= c.app.hr != HrType::kNone || c.app.app->homogeneous_app_version;
            } else if (spares++ >= most_spares) {
                continue;  // what the set can't hold now may do when another job fails: some, not all
            }
            taken[slot] = true;
            choice.shortlist.push_back(job);
            choice.shortlist_slots.push_back(slot);
        }
    }
}

/// `committing`: the workunit may belong to other hosts by now. Where nothing of the kind is asked, other requests take
/// jobs at times, and few rows turn out to be outdated.
std::size_t Walk::spares_of(std::size_t chosen, bool committing) const {
    constexpr std::size_t kFew = 2, kLeast = 8;
    if (loads_ > 1 || (loads_ == 1 && refused_)) return kMaxShortlist;
    const bool per_user = x_.params.one_result_per_user_per_wu || x_.params.one_result_per_host_per_wu;
    return loads_ == 0 && !committing && !per_user ? kFew : std::max(kLeast, chosen);
}

const WorkunitFacts* Walk::facts_of(Choice& choice, std::size_t list, std::size_t i, std::uint32_t slot) {
    const auto known = known_.find(slot);
    if (known != known_.end()) return &known->second;
    if (loads_ >= kMaxLoads) return nullptr;
    look_ahead(choice, list, i);
    ++loads_;
    std::vector<WorkunitFacts> loaded = facts_.load(choice.shortlist);
    for (std::size_t n = 0; n < loaded.size(); ++n) known_.emplace(choice.shortlist_slots[n], std::move(loaded[n]));
    const auto now_known = known_.find(slot);
    return now_known == known_.end() ? nullptr : &now_known->second;
}

// Slow checks of a job that fits the set; claims it if they pass.
Verdict Walk::claim(Choice& choice, const Candidate& c, const WorkunitFacts& facts) {
    Verdict verdict;
    const SlowRow* refused = slow_refusal(x_, c, facts, verdict);
    refused_ |= refused != nullptr;
    if (choice.trial) {
        if (!refused) choice.taken[c.ref.index] = true;
        return verdict;
    }
    if (refused) {
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

void Walk::try_entry(Choice& choice, std::size_t list, std::size_t i, const ByValue::Place& place) {
    const Entry& e = *place.entry;
    JobSummary job;
    SlotRef ref;
    if (!scanner_.reread(*place.job, job, ref)) {
        if (!choice.trial) ++choice.stats.claims_lost;
        choice.settle(list, e, job, refuse(Reason::kClaimLost));
        return;
    }
    const Offer& offer = scanner_.offer(e);
    const Candidate c{job, ref, *offer.app, &offer};
    Verdict v = ActivePolicies::set(x_, c, choice.picked);
    // Limits say nothing about the job, but this host can't do it in its time.
    if (v.reason == Reason::kDeadline) pool_.note_passed_over(ref);
    const WorkunitFacts* facts = !v.refused() ? facts_of(choice, list, i, ref.index) : nullptr;
    if (!v.refused() && facts)
        v = take(choice, c, *facts, place);
    else if (!v.refused())  // the slot changed while it was asked about, or nobody may be asked
        v = loads_ < kMaxLoads ? refuse(Reason::kClaimLost) : refuse(Reason::kLookUpLimit, loads_, kMaxLoads);
    choice.settle(list, e, job, v);
}

// Claims it and puts it into the set, unless no reply can carry it: that is so for every host.
Verdict Walk::take(Choice& choice, const Candidate& c, const WorkunitFacts& facts, const ByValue::Place& place) {
    if (const Verdict v = claim(choice, c, facts); v.refused()) return v;
    const double bound = attainable_deadline(x_, c, choice.picked);
    if (!choice.trial) {
        Chosen chosen = make_chosen(c, place.score, bound);
        chosen.share_band = place.share_band;
        chosen.facts = facts;
        if (const Verdict v = facts_.can_be_written(chosen); v.refused()) {
            ++unwritable_;
            pool_.discard(c.ref);
            return v;
        }
        choice.set.push_back(std::move(chosen));
    }
    choice.picked.add(x_, c, bound);
    return feasible();
}

// What ends a list for all its jobs.
Verdict Walk::end_of_list(const Picked& picked, ProcType type) const {
    if (Verdict v = picked.reply_limit(); v.refused()) return v;
    if (Verdict v = picked.user_limit(); v.refused()) return v;
    // BUDA jobs may count as CPU jobs, so with them each job is asked.
    return x_.buda ? feasible() : in_progress_limits(x_, picked, nullptr, type);
}

void Walk::walk(Choice& choice) {
    const Picked& picked = choice.picked;
    const auto taken = [&](const Seen& job) { return choice.taken[job.slot]; };
    for (std::size_t p = 0; p < choice.lists.size(); ++p) {
        const CandidateList& list = choice.lists[p];
        const ProcType type = list.type;
        std::ptrdiff_t refused = 0;
        for (std::size_t i = 0; picked.wants(type); ++i) {
            const ByValue::Place place = choice.orders[p].get(i);
            if (!place.entry) break;
            if (taken(*place.job)) continue;
            if (Verdict v = end_of_list(picked, type); v.refused()) {
                choice.ended[p] = v;
                // Of all the rest, which nobody looks at.
                const auto open = std::count_if(list.entries.begin(), list.entries.end(),
                                                [&](const Entry& e) { return !taken(choice.seen[e.order]); });
                if (!choice.trial) tally(choice.stats, v, JobSummary{}, static_cast<std::uint32_t>(open - refused));
                break;
            }
            try_entry(choice, p, i, place);
            refused += taken(*place.job) ? 0 : 1;
        }
    }
}

std::vector<Chosen> Walk::choose(Candidates& found, Picked& picked, MatchStats& stats, ScanLog& log) {
    Choice choice(x_, found, policies_, picked, stats, log, pool_.size(), false);
    walk(choice);
    stats.fact_loads = static_cast<std::uint32_t>(loads_);
    trace(choice);
    return std::move(choice.set);
}

void Walk::trace(const Choice& choice) const {
    if (!choice.log.trace) return;
    for (std::size_t p = 0; p < choice.lists.size(); ++p) {
        for (const Entry& e : choice.lists[p].entries) {
            const auto& [job, ref] = choice.log.jobs[e.order];
            const Offer& offer = scanner_.offer(e);
            Candidate c{job, ref, *offer.app, &offer};
            std::vector<std::int32_t> space;
            scanner_.complete(c, space);
            TraceRow row;
            row.ref = ref;
            row.job = &job;
            row.resource = choice.lists[p].type;
            row.score = e.points + choice.ranking.of(e.order);
            row.share_band = choice.ranking.band(e.order);
            row.app = c.app.app;
            row.version = &offer.choice;
            row.host_size_class = offer.host_size_class;
            row.size_is_guess = offer.choice.speed_is_guess;
            const double of_lag = choice.ranking.of_lag(e.order);
            row.terms = term_values(x_, policies_, c, {row.score - e.points - of_lag, of_lag});
            const auto fate = choice.fates.find(Choice::key(p, e));
            row.verdict = fate != choice.fates.end() ? fate->second : choice.ended[p];
            const bool looked_at = fate != choice.fates.end() || row.verdict.refused();
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
    chosen.host_size_class = c.offer->host_size_class;
    return chosen;
}

const SlowRow* slow_refusal(const MatchContext& x, const Candidate& c, const WorkunitFacts& facts, Verdict& verdict) {
    for (const SlowRow* row : slow_rows()) {
        verdict = row->check(x, c, facts);
        if (verdict.refused()) return row;
    }
    return nullptr;
}

}  // namespace sluice::match
