// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How long jobs of a batch take, by what the plan expected of them. Estimates may be wildly wrong, perhaps
// intentionally (seed 000): a plan that believes them gives up instances that are well on their way. Learnt from one
// pass to the next; a new process begins with what the plan before holds.
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
    /// By which estimates of the batch's jobs are to be multiplied: the median of the last ones that came back, so that
    /// few clients can't bend it. Until some are back, that of its owner's batches.
    double of(Id batch, Id user) const;
    /// What an earlier process multiplied them by.
    void start(Id batch, Id user, double ratio);

  private:
    struct Watched {
        Id batch = 0;
        double per_op = 0;
    };
    using Ratios = std::vector<float>;  ///< measured by expected, of the last jobs; the newest last
    static double ratio(const Ratios& ratios, double before);
    std::map<Id, Watched> watched_;
    std::map<Id, Ratios> of_batch_, of_user_;
};

}  // namespace sluice
