#pragma once
// From candidates to the set that is sent (seed 002): by falling value, each job that keeps the set feasible, until the
// request is satisfied. What is known of a job only from the database is loaded for the head of the list, at most twice.
#include <unordered_map>

#include "sched/match/scan.h"

namespace sluice::match {

class Walk {
  public:
    Walk(const MatchContext& context, JobPool& pool, FactsSource& facts, const Scanner& scanner,
         const ActivePolicies& policies);

    /// Would the candidates, as far as can be told without the database, satisfy the request (or fill the reply)?
    bool would_satisfy(std::vector<Pass>& passes, const Picked& picked) const;
    /// Chooses, claims, and accounts in `picked`.
    std::vector<Chosen> choose(std::vector<Pass>& passes, Picked& picked, MatchStats& stats, ScanLog& log);

  private:
    struct Choice;  // the state of one choose()
    /// Ranked terms need all candidates: their points are added before a walk.
    void rank(Pass& pass) const;
    bool full(const Picked& picked) const;
    void look_ahead(std::vector<ByValue>& orders, const std::vector<Pass>& passes, std::size_t pass, std::size_t from,
                    Picked picked, Choice& choice) const;
    void load(Choice& choice, MatchStats& stats);
    void trace(const std::vector<Pass>& passes, const Choice& choice, ScanLog& log) const;

    const MatchContext& x_;
    JobPool& pool_;
    FactsSource& facts_;
    const Scanner& scanner_;
    const ActivePolicies& policies_;
    static constexpr int kMaxLoads = 2;
    static constexpr std::size_t kMaxShortlist = 1000;
};

/// What a chosen job carries.
Chosen make_chosen(const MatchContext& context, const Candidate& candidate, double score, double delay_bound);
/// The first refusal of the slow checks; the row that refused, or null.
const SlowRow* slow_refusal(const MatchContext& context, const Candidate& candidate, const WorkunitFacts& facts,
                            Verdict& verdict);

}  // namespace sluice::match
