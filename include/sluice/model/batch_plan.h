// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_planner publishes for the scheduler (seed 000, A. Legrand's technique): the time T by which each batch can
// be done, and the rule that says whether a host is in H, the hosts that complete at least one job by T.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

/// A batch in progress whose jobs go only to hosts that can be done with one by `finish`.
struct PlannedBatch {
    Id batch = 0;
    double finish = 0;       ///< T, UNIX s
    double margin = 1;       ///< rule of H: wait + margin * run time must end by T
    std::int64_t place = 0;  ///< 1: the first in the order of batches
    std::int64_t jobs = 0;   ///< that were to be sent
    std::int64_t hosts = 0;  ///< |H|
    friend bool operator==(const PlannedBatch&, const PlannedBatch&) = default;
};

/// A host whose jobs of batches fail too often to be in any H.
struct LeftOutHost {
    Id host = 0;
    int errors = 0, returned = 0;  ///< of the instances of batches in progress that came back
    friend bool operator==(const LeftOutHost&, const LeftOutHost&) = default;
};

/// A plan that is older binds nobody: its T may be past because nobody makes plans any more.
inline constexpr double kPlanLasts = 3600;  ///< s
/// A plan is due each minute, and in the feeder's tables a minute later; if the last one is older, or made in the
/// future by more than that, nobody seems to make them. It is also the time that a submission may take.
inline constexpr double kPlanIsAwaited = 300;  ///< s

struct BatchPlan {
    std::int64_t version = 0;           ///< one more with each plan; 0: there is none
    double made_at = 0;                 ///< UNIX s
    std::vector<PlannedBatch> batches;  ///< by batch
    std::vector<LeftOutHost> left_out;  ///< by host
    Id newest_batch = kUnknown;         ///< when it was begun
    Id newest_result = kUnknown;        ///< then
    std::vector<Id> awaited{};          ///< batches that may have jobs soon, or have first ones, in order
    static constexpr Id kUnknown = -1;  ///< nothing is awaited

    const PlannedBatch* find_batch(Id id) const {
        const auto at = std::lower_bound(batches.begin(), batches.end(), id,
                                         [](const PlannedBatch& b, Id wanted) { return b.batch < wanted; });
        return at != batches.end() && at->batch == id ? &*at : nullptr;
    }
    /// The same, unless the plan is too old to bind anybody.
    const PlannedBatch* binding(Id id, double now) const {
        return id == 0 || batches.empty() || now - made_at > kPlanLasts ? nullptr : find_batch(id);
    }
    /// Nobody has decided yet where the jobs of this unsent result's batch go: it is new, or not all of it is there.
    /// (A number without a batch is no longer new with the next plan.)
    bool awaits(Id batch, Id result, double now) const {
        if (batch == 0 || newest_batch == kUnknown || std::abs(now - made_at) > kPlanIsAwaited) return false;
        const bool is_new = batch > newest_batch && result > newest_result;
        return (is_new || std::binary_search(awaited.begin(), awaited.end(), batch)) && find_batch(batch) == nullptr;
    }
    const LeftOutHost* find_left_out(Id id) const {
        const auto at = std::lower_bound(left_out.begin(), left_out.end(), id,
                                         [](const LeftOutHost& h, Id wanted) { return h.host < wanted; });
        return at != left_out.end() && at->host == id ? &*at : nullptr;
    }
};

/// Wall time until a job of so many seconds of computing is done, on a host that computes `availability` of the time
/// (in (0, 1]) and does so when it asks for work: short jobs meet fewer of its pauses than long ones do.
inline double planned_run_time(double computing, double availability) {
    constexpr double kSession = 6 * 3600;  // what a host that was just on goes on for
    return computing * (1 + (1 / availability - 1) * std::min(1.0, computing / kSession));
}

/// So many run times an instance is waited for before another is made of its job. An instance that is given up too
/// early comes back all the same, and its host has computed for nothing: while jobs wait for hosts, that costs more
/// than it gains. Of the last jobs, which make their batch late, few run for so long.
inline constexpr double kPatientRuns = 3, kLastRuns = 1.2;
/// When a client that was sent a job has had its chance: `run_time` is the wall time of it with the margin of the plan,
/// as planned_run_time() has it. (What the client itself expects counts the whole of its pauses: hosts that are seldom
/// on would be waited for through the next of them. They may go on: the deadline stays.)
inline double fair_end(double sent, double run_time, double runs = kPatientRuns) {
    constexpr double kTransfers = 600;
    return sent + runs * run_time + kTransfers;
}
/// An instance is given up for another when T has been missed by this factor of the time that there was, but not before
/// the client has had its chance.
inline constexpr double kReissueFactor = 2;
inline double reissue_time(double sent, double finish, double run_time) {
    return std::max(sent + kReissueFactor * (finish - sent), fair_end(sent, run_time));
}

}  // namespace sluice
