// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The time at which a batch can be done, and the hosts that it takes: A. Legrand's technique (seed 000). Every
// processor of a host starts its next job when it ends one; T is the least time at which the hosts have completed the
// batch; H are the hosts that complete at least one job by T. Pure; exact up to the rounding of doubles.
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/json/input.h"

namespace sluice {

struct PlanHost {
    std::int64_t cpus = 1;   ///< processors that take jobs, 1 to 10^6
    double delay = 0;        ///< seconds from now until it can start, 0 to 10^12
    double job_seconds = 1;  ///< of one job on one of its processors, 10^-6 to 10^12
};

struct FleetPlan {
    bool possible = false;  ///< false: there is no host
    double finish = 0;      ///< T, seconds from now
    /// As many as there are hosts: jobs that each completes by T, 0 where it is not in H; at most 10^12 a processor,
    /// which is reached only where T is that of min_hosts.
    std::vector<std::int64_t> jobs;
};

/// `jobs`: 0 to 10^12. `min_hosts`: T is at least the time at which so many hosts complete a job each (all hosts where
/// there are fewer): a plan for few hosts breaks when one of them can't take what is left. Jobs 0: T is 0, or what
/// min_hosts asks.
FleetPlan plan_fleet(const std::vector<PlanHost>& hosts, std::int64_t jobs, std::size_t min_hosts = 0);

/// What sluice_plan does: hosts and a number of jobs in, T and H out. `document`: see sluice_plan --help. Returns the
/// plan as JSON. Throws json::InputError.
std::string plan_document(const json::Object& document);

}  // namespace sluice
