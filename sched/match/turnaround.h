// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Does this host return the jobs of this version quickly? Upstream: one flag of the host. Level 1: batch_stats' verdict
// on (host, app version) where there is one, for the flag "won't work as intended where a host succeeds with CPU
// versions but fails with GPU versions" (seed 004).
#include <algorithm>

#include "sched/match/rows.h"

namespace sluice::match {

enum class Turnaround { kLow, kHigh, kUnknown };

inline bool is_reserved_kind(const MatchContext& x, const Candidate& c) {
    return x.params.batch_accel && c.app.app->accelerable() && c.job.wu_priority > 0;
}

inline Turnaround turnaround_of(const MatchContext& x, const Candidate& c) {
    const HostFacts& host = x.host;
    if (x.params.compat_level <= 0) return host.row.low_turnaround() ? Turnaround::kLow : Turnaround::kHigh;
    const auto verdict = host.low_turnaround_versions.find(c.offer->choice.generalized_id);
    if (verdict != host.low_turnaround_versions.end()) return verdict->second ? Turnaround::kLow : Turnaround::kHigh;
    if (host.row.low_turnaround()) return Turnaround::kLow;
    // A host that has returned nothing yet is unknown, not slow.
    const bool has_history = std::any_of(host.versions.begin(), host.versions.end(),
                                         [](const HostAppVersion& v) { return v.turnaround.n > 0; });
    return has_history ? Turnaround::kHigh : Turnaround::kUnknown;
}

}  // namespace sluice::match
