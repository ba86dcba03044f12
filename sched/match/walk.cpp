#include "sched/match/walk.h"

#include <algorithm>

#include "sched/match/deadline.h"
#include "sched/match/rank.h"
#include "sched/match/tally.h"
#include "sched/match/term_values.h"

namespace sluice::match {
namespace {

// Rank of a value among the distinct ones, in [-1,1]; 0 if there is only one.
double rank_of(const std::vector<std::int32_t>& distinct, std::int32_t v) {
    if (distinct.size() < 2) return 0;
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), v) - distinct.begin();
    return -1 + 2 * static_cast<double>(at) / static_cast<double>(distinct.size() - 1);
}

void make_distinct(std::vector<std::int32_t>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace

struct Walk::Choice {
    std::vector<bool> taken;                               ///< by slot: chosen in this or an earlier pass
    std::unordered_map<std::uint32_t, WorkunitFacts> facts;  ///< by slot
    std::unordered_map<std::uint64_t, Verdict> fates;      ///< for the trace: (pass, order)
    std::vector<JobSummary> shortlist;
    std::vector<std::uint32_t> shortlist_slots;
    int loads = 0;
};

Walk::Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
           const ActivePolicies& policies)
    : x_(context), pool_(pool), facts_(facts), scanner_(scanner), policies_(policies) {}

void Walk::rank(Pass& pass) const {
    if (!policies_.ranks()) return;
    std::vector<std::int32_t> priorities, ends;
    for (const Entry& e : pass.entries) {
        auto& list = is_logical_end_time(e.priority) ? ends : priorities;
        if (list.empty() || list.back() != e.priority) list.push_back(e.priority);
    }
    make_distinct(priorities);
    make_distinct(ends);
    for (Entry& e : pass.entries) {
        const bool let = is_logical_end_time(e.priority);
        e.score = e.points + (let ? policies_.let_rank_weight() * rank_of(ends, e.priority)
                                  : policies_.priority_rank_weight() * rank_of(priorities, e.priority));
    }
}

bool Walk::full(const Picked& picked) const {
    return picked.jobs >= picked.max_jobs ||
           (x_.user.max_jobs_in_progress > 0 && picked.in_progress_total >= x_.user.max_jobs_in_progress);
}

bool Walk::would_satisfy(std::vector<Pass>& passes, const Picked& picked) const {
    Picked trial = picked;
    std::vector<bool> taken(pool_.size());
    for (Pass& pass : passes) {
        rank(pass);
        ByValue order(pass.entries);
        for (std::size_t i = 0; trial.wants(pass.type); ++i) {
            if (full(trial)) return true;
            const Entry* e = order.get(i);
            if (!e) return false;
            JobSummary job;
            PoolRef ref;
            if (taken[e->slot] || !scanner_.reread(*e, job, ref)) continue;
            const Candidate c{job, ref, *e->app, e->offer, {}, 0, 0, 0};
            if (!ActivePolicies::set(x_, c, trial)) continue;
            taken[e->slot] = true;
            trial.add(x_, c, attainable_deadline(x_, c, trial).delay_bound);
        }
    }
    return true;
}

// Goes on from (pass, from) as if every slow check would pass, and notes whose facts will be asked for: the set, and
// spares for those that fail.
void Walk::look_ahead(std::vector<ByValue>& orders, const std::vector<Pass>& passes, std::size_t pass, std::size_t from,
                      Picked picked, Choice& choice) const {
    constexpr std::size_t kLeastSpares = 8;
    std::vector<bool> taken = choice.taken;
    choice.shortlist.clear();
    choice.shortlist_slots.clear();
    const bool last_load = choice.loads + 1 >= kMaxLoads;
    for (; pass < passes.size(); ++pass, from = 0) {
        std::size_t chosen = 0, spares = 0;
        for (std::size_t i = from; choice.shortlist.size() < kMaxShortlist; ++i) {
            const bool enough = full(picked) || !picked.wants(passes[pass].type);
            if (enough && !last_load && spares >= std::max(kLeastSpares, chosen)) break;
            if (enough && spares == 0 && chosen == 0) break;  // nothing is wanted of this resource
            const Entry* e = orders[pass].get(i);
            if (!e) break;
            JobSummary job;
            PoolRef ref;
            if (taken[e->slot] || choice.facts.contains(e->slot) || !scanner_.reread(*e, job, ref)) continue;
            const Candidate c{job, ref, *e->app, e->offer, {}, 0, 0, 0};
            const bool fits = !enough && static_cast<bool>(ActivePolicies::set(x_, c, picked));
            if (fits) {
                picked.add(x_, c, attainable_deadline(x_, c, picked).delay_bound);
                ++chosen;
            } else {
                ++spares;  // may do if another one fails
                if (!last_load && spares > std::max(kLeastSpares, chosen)) continue;
            }
            taken[e->slot] = true;
            choice.shortlist.push_back(job);
            choice.shortlist_slots.push_back(e->slot);
        }
    }
}

void Walk::load(Choice& choice, MatchStats& stats) {
    ++choice.loads;
    ++stats.fact_loads;
    std::vector<WorkunitFacts> loaded = facts_.load(choice.shortlist);
    loaded.resize(choice.shortlist.size());  // an answer that is missing says "not found"
    for (std::size_t i = 0; i < loaded.size(); ++i)
        choice.facts.emplace(choice.shortlist_slots[i], std::move(loaded[i]));
}

std::vector<Chosen> Walk::choose(std::vector<Pass>& passes, Picked& picked, MatchStats& stats, ScanLog& log) {
    std::vector<Chosen> set;
    Choice choice;
    choice.taken.resize(pool_.size());
    std::vector<ByValue> orders;
    orders.reserve(passes.size());
    for (Pass& pass : passes) {
        rank(pass);
        orders.emplace_back(pass.entries);
    }
    for (std::size_t p = 0; p < passes.size(); ++p) {
        for (std::size_t i = 0; picked.wants(passes[p].type) && !full(picked); ++i) {
            // BUDA jobs of this pass may count as CPU jobs; without them a full resource ends the pass.
            if (!x_.buda && !in_progress_limits(x_, picked, nullptr, passes[p].type)) break;
            const Entry* e = orders[p].get(i);
            if (!e) break;
            if (choice.taken[e->slot]) continue;
            JobSummary job;
            PoolRef ref;
            Verdict verdict = feasible();
            const auto no = [&](const Verdict& v) {
                tally(stats, v, job);
                if (log.trace) choice.fates[static_cast<std::uint64_t>(p) << 32 | e->order] = v;
            };
            if (!scanner_.reread(*e, job, ref)) {
                ++stats.claims_lost;
                no(refuse(Reason::kClaimLost));
                continue;
            }
            const Candidate c{job, ref, *e->app, e->offer, {}, 0, 0, 0};
            verdict = ActivePolicies::set(x_, c, picked);
            if (!verdict) { no(verdict); continue; }
            auto known = choice.facts.find(e->slot);
            if (known == choice.facts.end()) {
                if (choice.loads >= kMaxLoads) { no(refuse(Reason::kNotNeeded)); continue; }
                look_ahead(orders, passes, p, i, picked, choice);
                load(choice, stats);
                known = choice.facts.find(e->slot);
                if (known == choice.facts.end()) { no(refuse(Reason::kNotNeeded)); continue; }
            }
            const SlowRow* refused = slow_refusal(x_, c, known->second, verdict);
            if (refused) {
                no(verdict);
                if (refused->commitment) pool_.note_infeasible(ref);
                if (refused->for_no_host && pool_.claim(ref)) pool_.discard(ref);
                choice.taken[e->slot] = choice.taken[e->slot] || refused->for_no_host;
                continue;
            }
            if (!pool_.claim(ref)) {
                ++stats.claims_lost;
                no(refuse(Reason::kClaimLost));
                choice.taken[e->slot] = true;
                continue;
            }
            const double bound = attainable_deadline(x_, c, picked).delay_bound;
            set.push_back(make_chosen(x_, c, e->score, bound));
            set.back().facts = std::move(known->second);
            choice.taken[e->slot] = true;
            picked.add(x_, c, bound);
            if (log.trace) choice.fates[static_cast<std::uint64_t>(p) << 32 | e->order] = feasible();
        }
    }
    trace(passes, choice, log);
    return set;
}

void Walk::trace(const std::vector<Pass>& passes, const Choice& choice, ScanLog& log) const {
    if (!log.trace) return;
    for (std::size_t p = 0; p < passes.size(); ++p) {
        for (const Entry& e : passes[p].entries) {
            const JobSummary& job = log.jobs[e.order];
            const PoolRef ref{e.slot, e.infeasible_count, e.generation};
            Candidate c{job, ref, *e.app, e.offer, {}, 0, 0, 0};
            std::vector<std::int32_t> space;
            scanner_.complete(c, space);
            TraceRow row;
            row.ref = ref;
            row.job = &job;
            row.pass = passes[p].type;
            row.score = e.score;
            row.app = e.app->app;
            row.version = &e.offer->choice;
            row.host_size_class = e.offer->host_size_class;
            row.size_is_guess = e.offer->choice.speed_is_guess;
            row.terms = term_values(x_, policies_, c, e.score - e.points);
            const auto fate = choice.fates.find(static_cast<std::uint64_t>(p) << 32 | e.order);
            if (fate != choice.fates.end()) row.verdict = fate->second;
            row.fate = fate != choice.fates.end() ? fate->second.reason : Reason::kNotNeeded;
            log.trace->row(row);
        }
    }
}

Chosen make_chosen(const MatchContext&, const Candidate& c, double score, double delay_bound) {
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
