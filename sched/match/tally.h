// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Counts refusals by reason and keeps the nearest miss of each: what the volunteer's message and sched_explain say.
#include <algorithm>
#include <cmath>

#include "sluice/match/matcher.h"
#include "sluice/match/reasons.h"

namespace sluice::match {

/// Notes an obstacle that is not known yet.
inline void note(MatchStats& stats, const Obstacle& o) {
    if (stats.obstacles.size() >= MatchStats::kMaxObstacles) return;
    const auto same = [&](const Obstacle& known) {
        return known.appid == o.appid && known.verdict.reason == o.verdict.reason &&
               known.verdict.words == o.verdict.words && known.verdict.required == o.verdict.required &&
               known.verdict.value == o.verdict.value;
    };
    if (std::none_of(stats.obstacles.begin(), stats.obstacles.end(), same)) stats.obstacles.push_back(o);
}

/// The volunteer is told what a job of an app would need, if there is a version for it.
inline void note_shortage(MatchStats& stats, const Verdict& verdict, const JobSummary& job) {
    const VolunteerNotice told = reason_row(verdict.reason).told;
    if (is_shortage(told)) note(stats, {job.app_id, verdict});
    if (told == VolunteerNotice::kKeywords) note(stats, {0, refuse(verdict.reason)});
}

/// Relative distance between what was there and what was needed; equal units cancel out.
inline double miss(const Verdict& v) {
    const double scale = v.required != 0 ? v.required : v.value;
    return scale != 0 ? std::abs((v.required - v.value) / scale) : 0;
}

/// `times`: so many jobs were refused for it, of which `job` is one.
inline void tally(MatchStats& stats, const Verdict& verdict, const JobSummary& job, std::uint32_t times = 1) {
    ReasonCount& r = stats.reasons[static_cast<std::size_t>(verdict.reason)];
    const bool first_named = r.appid == 0 && job.app_id != 0;
    const bool first = r.count == 0;
    r.count += times;
    if (first || first_named || miss(verdict) < miss(r.nearest)) {
        r.nearest = verdict;
        r.nearest_result = job.result_id;
        r.appid = job.app_id;
    }
}

}  // namespace sluice::match
