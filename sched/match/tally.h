#pragma once
// Counts refusals by reason and keeps the nearest miss of each: what the volunteer's message and sched_explain say.
#include "sluice/match/matcher.h"

namespace sluice::match {

inline void tally(MatchStats& stats, const Verdict& verdict, const JobSummary& job) {
    ReasonCount& r = stats.reasons[static_cast<std::size_t>(verdict.reason)];
    // Relative distance between what was there and what was needed; equal units cancel out.
    const auto miss = [](const Verdict& v) {
        const double scale = v.required != 0 ? v.required : v.value;
        const double d = scale != 0 ? (v.required - v.value) / scale : 0;
        return d < 0 ? -d : d;
    };
    const bool first_named = r.appid == 0 && job.app_id != 0;
    if (r.count++ == 0 || first_named || miss(verdict) < miss(r.nearest)) {
        r.nearest = verdict;
        r.nearest_result = job.result_id;
        r.appid = job.app_id;
    }
}

}  // namespace sluice::match
