// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The requests that sluice_tune decides, from wherever they come.
#include <cstdint>
#include <string>
#include <vector>

#include "sched/explain/live_project.h"
#include "sched/tune/made_up_hosts.h"

namespace sluice {

struct RequestSources {
    std::vector<std::string> recorded;   ///< files, or folders that <debug_req_reply_dir> named
    std::vector<std::string> decisions;  ///< files of the decision log
    std::vector<Id> hosts;               ///< of the database
    int made_up = 0;                     ///< so many hosts that no table holds
    double seconds = 0;                  ///< that known and made-up hosts ask for, each processor; 0: a day, or drawn
    std::uint64_t seed = 1;
    bool any() const { return !recorded.empty() || !decisions.empty() || !hosts.empty() || made_up > 0; }
};

struct TuneRequests {
    std::vector<SchedulerRequest> requests;
    MadeUpHosts made_up;
    std::vector<std::string> notes;  ///< what could not be used, one line each
};

/// Throws Error: a file that is not there or is not what it should be.
TuneRequests collect_requests(LiveProject& project, const RequestSources& sources);

}  // namespace sluice
