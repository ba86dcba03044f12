#pragma once
// How long jobs of a batch take, by what the plan expected of them. Estimates may be wildly wrong, perhaps
// intentionally (seed 000): a plan that believes them gives up instances that are well on their way. Learnt from one
// pass to the next; what is lost with the process costs accuracy only.
#include <map>
#include <set>
#include <vector>

#include "sluice/db/plan_store.h"

namespace sluice {

class RunRatios {
  public:
    /// An instance in progress; `per_op`: s of computing on its host for each operation that is estimated. At each
    /// pass.
    void watch(Id result, Id batch, double per_op) { watched_[result] = {batch, per_op}; }
    /// Those that were watched and are none of these: they came back, or were given up and may still come.
    std::vector<Id> gone(std::vector<Id> in_progress);
    /// It came back. `users`: owners of batches.
    void returned(const ReturnedPlanResult& result, const std::map<Id, Id>& users);
    /// Forgets all of batches that are none of these.
    void keep(const std::set<Id>& batches);
    /// By which estimates of the batch's jobs are to be multiplied. Until some are back, that of its owner's batches.
    double of(Id batch, Id user) const;

  private:
    struct Watched {
        Id batch = 0;
        double per_op = 0;
    };
    struct Sum {
        double logarithms = 0;  ///< of measured by expected
        double jobs = 0;
    };
    static double ratio(const Sum& sum, double before);
    std::map<Id, Watched> watched_;
    std::map<Id, Sum> of_batch_, of_user_;
};

}  // namespace sluice
