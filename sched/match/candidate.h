// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What policies look at: a job of the pool together with the app's facts and the version that would run it here.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/match/matcher.h"

namespace sluice::match {

struct JobWindow;  // plan_class_spec.h: the part of a plan class that depends on the job

/// What depends on app and host only; computed once per app and RPC.
struct AppFacts {
    const App* app = nullptr;
    std::uint32_t index = 0;
    bool selected = true;  ///< by the volunteer's preferences
    HrType hr = HrType::kNone;
    int host_hr_class = 0;                           ///< 0: unknown
    const JobLimits* limits = nullptr;               ///< null: none for this app
    const std::vector<double>* quantiles = nullptr;  ///< null: the app has no size classes, or sizes are unknown
    double memory_beside = 0;  ///< bytes of the host's jobs that can run beside a new one (level 1)
    Verdict verdict;           ///< of the fast checks of scope kApp
};

/// What a plan class demands of a kind of GPU that the host has; 0: nothing.
struct GpuNeed {
    ProcType type = ProcType::kCpu;
    double ram = 0;
    int driver = 0;
};

/// An app version that this host could use, and how. Computed once per version and RPC.
struct Offer {
    const AppFacts* app = nullptr;
    AppChoice choice;
    double compared_speed = 0;    ///< what versions are compared by: random factor and trial penalty included
    double seconds_per_flop = 0;  ///< availability included
    int host_size_class = -1;
    bool platform_is_64 = false, deprecated = false;
    ProcType type = ProcType::kCpu;        ///< the resource it runs on
    ProcType counted_as = ProcType::kCpu;  ///< the resource whose limits, quota and delay apply
    int quota = -1;                        ///< into Picked::quotas, -1: no row, no quota
    const JobWindow* window = nullptr;
    std::uint32_t number = 0;         ///< of VersionChooser::offer()
    std::optional<GpuNeed> gpu_need;  ///< of a GPU that the host has
    Verdict refusal;                  ///< of everything that does not depend on the job
};

struct Candidate {
    const JobSummary& job;
    const SlotRef& ref;
    const AppFacts& app;
    const Offer* offer = nullptr;  ///< null in policies of scope kApp and kJob
    std::span<const std::int32_t> keywords{};
    double local_bytes = 0, input_bytes = 0;  ///< sticky input files: on the host already, all
    int local_files = 0;

    double runtime() const { return job.rsc_fpops_est * offer->seconds_per_flop; }
    /// Bytes; a plan class may know better than the job.
    double memory() const {
        const double of_version = offer->choice.usage.mem_usage;
        return of_version > 0 ? of_version : job.rsc_memory_bound;
    }
    /// Does the request still have idle processors of this kind to fill? (Old clients do not say.)
    bool fills_idle(const WorkRequest& wanted) const {
        return !wanted.resource_specific || wanted.instances[static_cast<std::size_t>(offer->type)] > 0;
    }
};

}  // namespace sluice::match
