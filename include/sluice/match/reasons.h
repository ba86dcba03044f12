// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// All that is said of a reason stands in its one row (sched/match/reasons.cpp): its words, what it weighs against other
// reasons, what the volunteer is told of it. No other code asks which reason it is looking at, to rank or to word it.
#include <string>

#include "sluice/match/verdict.h"

namespace sluice {

/// How far a job came that was refused so: the further, the more likely that nothing else stood in its way. What binds
/// a host that got nothing is named by this.
enum class Progress : std::int8_t {
    kNoRefusal = -1,  ///< another was quicker, or it was not needed
    kNoMatch,         ///< nothing here would run it
    kNotOurs,         ///< not for this volunteer or this kind of host at all
    kFastCheck,
    kLastChecks,  ///< set and slow checks
    kLimit        ///< ends the search for all jobs
};

/// What a volunteer whose host got nothing is told (the sentences: sched/rpc/messages.h).
enum class VolunteerNotice : std::uint8_t {
    kNothing,
    // both figures, once for each app that has a version for the host
    kMemory,
    kDisk,
    kBandwidth,
    // once
    kKeywords,
    kQuota,
    kNoVersion,
    kDeadline,
    kCommitted,
    kHostClass,
    kInProgress,
    kPlanClassName
};
inline bool is_shortage(VolunteerNotice told) {
    return told >= VolunteerNotice::kMemory && told <= VolunteerNotice::kBandwidth;
}

struct ReasonRow {
    Reason reason = Reason::kFeasible;
    const char* name = "";  ///< stable: traces, JSON, docs
    const char* unit = "";  ///< of value and required: "bytes", "s" …
    Progress progress = Progress::kFastCheck;
    /// How much it says, of several versions of an app that were refused, and of several resources: the most is kept.
    int of_versions = 3, of_resources = 3;
    VolunteerNotice told = VolunteerNotice::kNothing;
    const char* advice = "";  ///< one sentence: what an admin can do
    /// Value and required as a person reads them; null: by the unit.
    std::string (*phrase)(const Verdict&) = nullptr;
};
const ReasonRow& reason_row(Reason reason);

/// What was measured and what was needed, as a person reads it: "needs 2.0 GB, host allows 1.6 GB". Empty: the reason's
/// name says all.
std::string phrase(const Verdict& verdict);
/// 1 GB = 1e9 bytes.
std::string bytes_text(double bytes);
/// "2000 s", "3.5 h", "12.0 d".
std::string duration_text(double seconds);

}  // namespace sluice
