// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Upstream's deadline check with <workload_sim>, as facts have it, for a client that told the names of its jobs and no
// more. The queue is empty then, and jobs of the same reply stand in nobody's way: their deadlines are counted from
// 1970, those of candidates from now, so that each candidate runs first. What is left is: the run time must not exceed
// the bound, and a job is refused unseen that is no shorter than the shortest refused before, its bound no longer than
// the longest of those.
#include <map>
#include <string>

#include "sluice/model/catalogue.h"
#include "sluice/model/codes.h"
#include "sluice/model/job.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

/// A job of a reply, and how long it will run there.
struct SentJob {
    Id result = 0, workunit = 0, version = 0;
    std::int64_t bound = 0;       ///< s; upstream's first try (reduced for retries)
    std::int64_t last_bound = 0;  ///< s; the workunit's
    double runtime = 0;           ///< s
    bool gpu = false, hard = false;
};

class UpstreamsDeadlineRule {
  public:
    /// Times until processors and GPUs are free, as the client told them.
    UpstreamsDeadlineRule(const std::string& request, double total_credit);
    /// The bound with which upstream sends the job, or 0. Call it in the order in which the jobs are looked at: it
    /// remembers what it refused.
    std::int64_t bound_of(const SentJob& job);
    /// It was sent.
    void add(const SentJob& job) { delay_[job.gpu] += job.runtime; }

  private:
    bool in_time(double runtime, std::int64_t bound);
    std::map<bool, double> delay_;  ///< by SentJob::gpu
    double total_credit_;
    bool has_refused_ = false;
    double shortest_refused_ = 0;
    std::int64_t longest_bound_refused_ = 0;
};

/// Does the request tell what the rule needs?
bool has_a_simulated_queue(const std::string& request);
/// Run time of a job by what the reply says of its version and the request of the host's hours; s.
double runtime_of(const std::string& request, const std::string& reply, const FakeDb& rows, const Result& result);
bool uses_gpu(const AppVersion& version);

}  // namespace sluice::test
