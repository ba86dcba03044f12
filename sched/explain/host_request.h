// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A request as a host would send it now, made from what the database knows of the host. What a client says and nobody
// stores is assumed, and said so.
#include <string>
#include <vector>

#include "sched/rpc/request.h"
#include "sluice/db/account_store.h"
#include "sluice/db/host_state_store.h"
#include "sluice/db/rpc_result_store.h"
#include "sluice/model/project_tables.h"
#include "sluice/model/resource_of.h"

namespace sluice {

struct Host;

struct HostRequest {
    SchedulerRequest request;
    std::vector<std::string> assumed;  ///< one line each
};

/// How much is asked for: seconds of work for each processor, which will be free in `delay` seconds.
struct RequestedWork {
    double seconds = 86400, delay = 0;
};

/// `in_progress`: the host's jobs.
HostRequest request_of_host(const HostAndAccount& found, const HostState& state,
                            const std::vector<KnownResult>& in_progress, const ProjectTables& tables,
                            const ResourceOf& resource, const RequestedWork& wanted);

/// Names of platforms as clients on such a machine have them, the primary one first; empty: not known.
std::vector<std::string> platforms_of_machine(const Host& host);

}  // namespace sluice
