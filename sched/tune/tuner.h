// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Decides a set of requests again and again on one copy of the job array, each time with other N, M or weights. It adds
// up what that costs and saves. Nothing is claimed and nothing is written.
#include <map>
#include <string>
#include <vector>

#include "sched/handle/decision.h"
#include "sched/tune/requests.h"

namespace sluice {

/// <score_weights> beside those of the configuration.
using Weights = std::map<std::string, double>;

struct TuneGrid {
    std::vector<int> min_slots, max_slots;  ///< N and M; 0: no bound
    std::vector<Weights> weights{{}};       ///< {}: as configured
    int repeat = 1;                         ///< decisions a request, each from another slot on
    int at_once = 1;                        ///< requests that are decided at the same time: each meets what others hold
    std::uint64_t seed = 1;
};

/// One N and M, over all requests that were searched.
struct TunePoint {
    int min_slots = 0, max_slots = 0;
    int decisions = 0;
    int empty = 0;       ///< nothing would be sent
    int missed = 0;      ///< of these, a full scan would send something
    int over_limit = 0;  ///< the scheduler would warn (L)
    // Means over the decisions:
    double looked_at = 0, locked = 0, jobs = 0, look_ups = 0;  ///< slots, slots held by others, jobs, statements
    double score_lost = 0;              ///< points a job, against a full scan; of decisions that sent something, both
    double bands_lost = 0;              ///< likewise, of the order of shares, which comes before all points
    double ms_mean = 0, ms_median = 0;  ///< of a decision
};

/// One set of weights.
struct TunedWeights {
    Weights weights;
    double score = 0;                      ///< points of a job that a full scan sends, mean
    std::map<std::string, double> values;  ///< what a full scan sends: mean value of each term (before its weight)
    std::vector<TunePoint> points;         ///< the first one is the full scan
};

struct TuneReport {
    std::uint32_t slots = 0, jobs = 0, locked = 0;  ///< of the array
    int requests = 0;
    std::map<Search, int> not_searched;  ///< requests that got no search, by what stood before
    int at_once = 1;
    std::string limit;  ///< <mm_max_locked> as it holds
    std::vector<TunedWeights> weights;
    std::vector<std::string> notes;
};

/// Throws Error if no request was searched at all.
TuneReport tune(LiveProject& project, const TuneRequests& requests, const TuneGrid& grid);

std::string tune_text(const TuneReport& report);
std::string tune_json(const TuneReport& report);

}  // namespace sluice
