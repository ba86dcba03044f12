#pragma once
// From candidates to the set that is sent (seed 002): by falling value, each job that keeps the set feasible, until the
// request is satisfied. What is known of a job only from the database is loaded for the head of the list, at most
// twice.
#include "sched/match/scan.h"

namespace sluice::match {

class Walk {
  public:
    Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
         const ActivePolicies& policies);

    /// Would the candidates, as far as can be told without the database, satisfy the request (or fill the reply)?
    bool would_satisfy(Candidates& found, const Picked& picked) const;
    /// Chooses, claims, and accounts in `picked`.
    std::vector<Chosen> choose(Candidates& found, Picked& picked, MatchStats& stats, ScanLog& log) const;

  private:
    struct Choice;  // the state of one choose()
    bool full(const Picked& picked) const;
    void look_ahead(Choice& choice, std::size_t pass, std::size_t from) const;
    const WorkunitFacts* facts_of(Choice& choice, std::size_t pass, std::size_t i, std::uint32_t slot) const;
    Verdict claim(Choice& choice, const Candidate& candidate, const WorkunitFacts& facts) const;
    Verdict end_of_pass(const Picked& picked, ProcType type) const;
    void try_entry(Choice& choice, std::size_t pass, std::size_t i, const ByValue::Place& place) const;
    void trace(const Choice& choice) const;

    const MatchContext& x_;
    JobPool& pool_;
    FactsSource& facts_;
    const Scanner& scanner_;
    const ActivePolicies& policies_;
    static constexpr int kMaxLoads = 2;
    static constexpr std::size_t kMaxShortlist = 1000;
};

/// What a chosen job carries.
Chosen make_chosen(const Candidate& candidate, double score, double delay_bound);
/// The first refusal of the slow checks; the row that refused, or null.
const SlowRow* slow_refusal(const MatchContext& context, const Candidate& candidate, const WorkunitFacts& facts,
                            Verdict& verdict);

}  // namespace sluice::match
