// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Why hosts don't get jobs of one batch. It makes the scheduler's own decision for some hosts on the live job array, as
// sched_explain does. Claims nothing, writes nothing.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

struct BatchRefusals {
    int jobs_in_array = 0;  ///< of the batch
    int hosts = 0;          ///< that were judged
    int would_get = 0;      ///< a job of it, if they asked now
    struct Refusal {
        std::string reason, advice;  ///< as docs/policies.md and docs/why_no_work.md name them
        int hosts = 0;               ///< for which it is the binding one
    };
    std::vector<Refusal> refusals;        ///< of most hosts first
    std::vector<std::string> blocked_by;  ///< why nobody gets any job at the moment, whatever hosts are like
};

/// Hosts that are not there any more are passed over. Throws Error: what is wrong with the project, the array or the
/// database.
BatchRefusals refusals_of_batch(const std::filesystem::path& project, Id batch, std::span<const Id> hosts);

}  // namespace sluice
