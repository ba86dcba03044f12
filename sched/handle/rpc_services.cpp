// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/rpc_services.h"

namespace sluice {

RequestLimits request_limits(const ProjectConfig& c) {
    RequestLimits limits;
    limits.max_bytes = static_cast<std::size_t>(c.max_request_bytes);
    limits.max_trickle_bytes =
        c.max_trickle_bytes_per_day > 0 ? static_cast<std::size_t>(c.max_trickle_bytes_per_day) : limits.max_bytes;
    if (c.max_results_accepted > 0) limits.max_results = static_cast<std::size_t>(c.max_results_accepted);
    return limits;
}

}  // namespace sluice
