// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What was expected of batches, and what became of it: from that follows how sure the next expectation is. Learnt from
// one pass to the next; only the factors are stored.
#include <deque>
#include <map>
#include <vector>

#include "sluice/model/codes.h"
#include "sluice/model/eta.h"

namespace sluice {

class EtaRecord {
  public:
    /// `stored`: what an earlier process has learnt. It counts like five batches.
    void start(const EtaFactors& stored) { stored_ = stored; }
    /// At each pass: the batch is expected to end then, UNIX s. What is expected within a minute teaches nothing: it
    /// may wait for its validator.
    void expect(Id batch, double now, double end);
    /// The batches of which something is expected, in order.
    std::vector<Id> open() const;
    /// The batch has ended, UNIX s.
    void ended(Id batch, double at);
    /// Nothing is learnt from it: it was aborted.
    void forget(Id batch) { open_.erase(batch); }
    /// A moment of a batch's life, drawn at random, is within them with a probability of 80 % or a little more.
    EtaFactors factors() const;

  private:
    struct Said {
        double at = 0, end = 0;
    };
    struct Open {
        std::vector<Said> said;  ///< evenly over its life
        int every = 1;           ///< passes from one to the next
        int passes = 0;
    };
    struct Ratio {
        double times = 0;   ///< what it took by what was expected
        double weight = 0;  ///< passes that it stands for
    };
    std::map<Id, Open> open_;
    std::deque<std::vector<Ratio>> done_;  ///< the last batches
    EtaFactors stored_;
};

}  // namespace sluice
