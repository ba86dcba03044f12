// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The answer of a check: a value, never an exception. A "no" names its reason, what was measured and what was
// required, so that it can be counted and explained (docs/policies.md has a sentence for each reason).
#include <cstdint>

namespace sluice {

enum class Reason : std::uint8_t {
    kFeasible = 0,
    // scan and fast checks
    kNoSuchApp,     ///< the job's app is not in the tables
    kNoAppVersion,  ///< no version for the host's platforms and resources
    kAppNotSelected,
    kBetaNotAllowed,
    kUserFilter,
    kJobWithoutBatch,
    kHrClassUnknown,
    kHrClassMismatch,
    kAppVersionMismatch,
    kMemory,
    kDisk,
    kBandwidth,
    kKeywordRefused,
    kNeedsReliable,
    kReservedForLtt,
    kPlanLeftOut,
    kPlanAwaited,  ///< its batch is newer than the plan
    kPlanTooLate,
    kNonCpuIntensive,
    kResourceNotWanted,  ///< the version found uses a resource that is not asked for in this scan
    kClientTooOld,
    kClientTooNew,
    kNoPlanClassSupport,
    kPlanClassRefused,
    kGpuRefusedByPrefs,
    kCpuRefusedByPrefs,
    kCustomHook,       ///< the plan class takes only certain workunits, batches or users
    kPlanClassName,    ///< level 0 knows a class's GPU by its name only, and the name does not say it
    kVersionDocument,  ///< the app version's XML is not whole: no reply can carry it
    // why a plan class refused, where it is known more closely
    kGpuMissing,
    kGpuMemory,
    kGpuDriver,
    kGpuCapability,
    kOpenclMissing,
    kVirtualBox,
    kDocker,
    kCpuFeature,
    kOsVersion,
    kCpuCount,
    // set checks
    kDeadline,
    kDeadlineOthers,
    kPlanRoom,
    kDiskSet,
    kMemorySet,
    kOneInstancePerWorkunit,
    kInProgressLimit,
    kAppInProgressLimit,
    kDailyQuota,
    kJobsPerRpcLimit,
    kUserJobLimit,  ///< the volunteer's own preference max_jobs
    // slow checks
    kOneResultPerUser,
    kOneResultPerHost,
    kHrCommittedElsewhere,
    kVersionCommittedElsewhere,
    kWorkunitError,
    kWorkunitDone,
    kResultGone,
    kWorkunitDocument,  ///< its XML is not whole: no reply can carry it
    kResultDocument,    ///< likewise
    kLookUpLimit,       ///< not asked about: the look-ups of one request were used up by jobs that slow checks refused
    // fates that are not refusals
    kClaimLost,  ///< another scheduler was quicker
    kRaceLost,   ///< a conditional UPDATE matched no row
    kNotNeeded,  ///< the request was satisfied by better jobs; in seed 002's words: it went back
    kCount
};
/// Not a fate like "another scheduler was quicker".
inline bool is_refusal(Reason reason) { return reason != Reason::kFeasible && reason < Reason::kClaimLost; }
/// What no reply can carry, to whatever host.
inline bool is_about_documents(Reason reason) {
    return reason == Reason::kVersionDocument || reason == Reason::kWorkunitDocument ||
           reason == Reason::kResultDocument;
}
/// "memory", "hr_class_mismatch" …: stable names, used in traces, JSON and docs.
const char* reason_name(Reason reason);
/// What an admin can do about it: one sentence (docs/policies.md holds the same).
const char* reason_advice(Reason reason);
/// The unit of value and required: "bytes", "s", "" …
const char* reason_unit(Reason reason);

struct Verdict {
    Reason reason = Reason::kFeasible;
    double value = 0;             ///< measured, in the unit of the check (bytes, seconds, a count, a class …)
    double required = 0;          ///< what it would have had to be
    const char* words = nullptr;  ///< what the volunteer is told of it, where neither reason nor numbers say it
    bool refused() const { return reason != Reason::kFeasible; }
};
inline Verdict feasible() { return {}; }
inline Verdict refuse(Reason reason, double value = 0, double required = 0, const char* words = nullptr) {
    return {reason, value, required, words};
}

}  // namespace sluice
