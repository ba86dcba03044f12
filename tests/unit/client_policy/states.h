// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Small states of clients.
#include "sluice/client_policy/policy.h"

namespace sluice::client {

inline constexpr double kWeek = 7 * 86400;

/// One project, one CPU type with `cpus` instances, min_buffer 1000 s, max_buffer 2000 s, at time 10^6.
inline State cpu_state(double cpus, Rules rules = Rules::kClient) {
    State s;
    s.now = 1e6;
    s.work_buf_min = 1000;
    s.work_buf_additional = 1000;
    s.rules = rules;
    s.types = {{true, cpus}};
    s.projects = {Project{100, 0, true, {0}}};
    return s;
}

inline Job a_job(double remaining, double due_in = kWeek, std::size_t project = 0) {
    return {project, 0, 1, 0, remaining, 1e6 + due_in, false};
}

/// Beside the CPUs (type 0) GPUs as type 1.
inline State gpu_state(double cpus, double gpus, Rules rules = Rules::kClient) {
    State s = cpu_state(cpus, rules);
    s.types.push_back({false, gpus});
    for (Project& p : s.projects) p.backoff_until.resize(2);
    return s;
}

inline Job a_gpu_job(double remaining, double instances = 1, double cpus = 0) {
    return {0, 1, instances, cpus, remaining, 1e6 + kWeek, false};
}

}  // namespace sluice::client
