// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Requests as a project's scheduler kept them (<debug_req_reply_dir>): who asked for what, and when.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sched/rpc/request.h"
#include "sched/sim/scenario.h"

namespace sluice::sim {

struct RecordedRequest {
    double at = 0;                      ///< s after the first one
    std::size_t host = 0;               ///< 0, 1, …: hosts in the order of their first request
    std::optional<double> clock_error;  ///< s that the host's clock was ahead; nullopt: it did not say
    SchedulerRequest request;  ///< what it says of the host and asks for; nothing of jobs, messages and the account
};

struct Recording {
    std::vector<RecordedRequest> requests;  ///< by time
    std::size_t hosts = 0;
    std::vector<std::string> platforms;  ///< that hosts named as their own, each once
    std::size_t left_out = 0;            ///< files that hold no request
    std::string why;                     ///< the first of them, and what is wrong with it
    double span() const { return requests.empty() ? 0 : requests.back().at; }
};

/// The *sched_request.xml of a folder; the time of a request is that of its file. Throws Error: no folder, no request
/// in it, or times that can't be those of the recording.
Recording read_recording(const std::string& folder);

/// s after the warm-up until the first request: there is work by then.
inline constexpr double kReplayLead = 600;

/// The scenario under which it is replayed: as long as the recording, after its warm-up; with the platforms of the
/// recorded hosts. Throws Error: events that need a fleet.
Scenario for_replay(Scenario scenario, const Recording& recording);

}  // namespace sluice::sim
