// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// From candidates to the set that is sent (seed 002): by falling value, each job that keeps the set feasible, until the
// request is satisfied. What only the database knows of a job is loaded for the head of the list, one statement a load.
// A request makes at most Matcher::kMaxLoads loads.
#include "sched/match/scan.h"

namespace sluice::match {

class Walk {
  public:
    Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
         const ActivePolicies& policies);

    /// Would the candidates satisfy the request (or fill the reply)? The database is asked only if without it they
    /// would. Yes, too, if it may not be asked any more: nothing else could be sent then.
    Enough would_satisfy(Candidates& found, const Picked& picked);
    /// Chooses, claims, and accounts in `picked`.
    std::vector<Chosen> choose(Candidates& found, Picked& picked, MatchStats& stats, ScanLog& log);
    /// Jobs that passed all checks and that no reply can carry, up to now: would_satisfy() counted on them.
    std::uint32_t unwritable() const { return unwritable_; }

  private:
    struct Choice;  // the state of one walk
    bool would_satisfy_but_for_slow_checks(Candidates& found, const Picked& picked) const;
    void walk(Choice& choice);
    void look_ahead(Choice& choice, std::size_t list, std::size_t from) const;
    std::size_t spares_of(std::size_t chosen, bool committing) const;
    const WorkunitFacts* facts_of(Choice& choice, std::size_t list, std::size_t i, std::uint32_t slot);
    Verdict claim(Choice& choice, const Candidate& candidate, const WorkunitFacts& facts);
    Verdict take(Choice& choice, const Candidate& candidate, const WorkunitFacts& facts, const ByValue::Place& place);
    Verdict end_of_list(const Picked& picked, ProcType type) const;
    void try_entry(Choice& choice, std::size_t list, std::size_t i, const ByValue::Place& place);
    void trace(const Choice& choice) const;

    const MatchContext& x_;
    JobPool& pool_;
    FactsSource& facts_;
    const Scanner& scanner_;
    const ActivePolicies& policies_;
    std::unordered_map<std::uint32_t, WorkunitFacts> known_;  ///< by slot
    int loads_ = 0;
    bool refused_ = false;  ///< by a slow check, some job up to now
    std::uint32_t unwritable_ = 0;
};

/// What a chosen job carries.
Chosen make_chosen(const Candidate& candidate, double score, double delay_bound);
/// The first refusal of the slow checks; the row that refused, or null.
const SlowRow* slow_refusal(const MatchContext& context, const Candidate& candidate, const WorkunitFacts& facts,
                            Verdict& verdict);

}  // namespace sluice::match
