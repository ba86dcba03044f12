// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cmath>

#include "sluice/base/clock.h"
#include "sluice/db/plan_store.h"

namespace sluice {

/// Keeps PlanStore::note_submission() of a batch fresh for as long as its jobs are prepared and inserted.
class SubmissionNote {
  public:
    SubmissionNote(PlanStore& plans, const Clock& clock, Id batch) : plans_(plans), clock_(clock), batch_(batch) {}

    /// For each job: costs nothing where the note is fresh. True: it is the first one.
    bool renew() {
        const double now = clock_.now();
        if (std::abs(now - noted_at_) < kEvery) return false;
        plans_.note_submission(batch_, now);
        const bool first = noted_at_ == 0;
        noted_at_ = now;
        return first;
    }

  private:
    static constexpr double kEvery = kPlanIsAwaited / 10;  ///< s

    PlanStore& plans_;
    const Clock& clock_;
    Id batch_;
    double noted_at_ = 0;
};

}  // namespace sluice
