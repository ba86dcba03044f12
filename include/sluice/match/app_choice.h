// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// What a job uses on the host, and how fast it is expected to be.
struct HostUsage {
    ProcType proc_type = ProcType::kCpu;
    double gpu_usage = 0;  ///< devices (may be a fraction); 0 for CPU versions
    double avg_ncpus = 1;
    std::string custom_coproc_type;  ///< non-empty: a coprocessor outside ProcType
    double mem_usage = 0;            ///< bytes; > 0 replaces the job's memory bound
    double gpu_ram = 0;              ///< bytes; > 0 is told to the client as <gpu_ram>
    double projected_flops = 0;      ///< expected speed: run time = rsc_fpops_est / projected_flops
    double peak_flops = 0;           ///< basis of credit: result.flops_estimate
    std::string cmdline;
};

/// The version of an app chosen for this host (facts: matchmaking §6).
struct AppChoice {
    bool found = false;
    Id app_version_id = 0;          ///< > 0; anonymous platform: -2 - ProcType
    Id generalized_id = 0;          ///< key of host_app_version
    std::size_t version_index = 0;  ///< into ProjectTables::versions, or HostFacts::client_versions if anonymous
    bool anonymous = false;
    int version_num = 0;
    std::string plan_class, platform;
    HostUsage usage;
    double fpops_scale = 1;  ///< anonymous: client's declared flops / ours; scales fpops_est and fpops_bound
    bool reliable = false, trusted = false;
    bool speed_is_guess = true;  ///< no statistics of this host: benchmark or plan class
    std::string buda_variant;    ///< BUDA jobs: the variant's folder name
    double availability = 1;     ///< of the resource, [0.1, 1]

    double effective_speed() const { return usage.projected_flops * availability; }
};

}  // namespace sluice
