#pragma once
// The options that decisions depend on, as plain values; sched/handle fills them from config.xml. Meaning and
// defaults: docs/options.md (same names).
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sluice/model/codes.h"
#include "sluice/model/job_limits.h"

namespace sluice {

struct MatchParams {
    int compat_level = 0;
    // seed 002: N, M, L. N: stop once that many slots were seen and the request is satisfied; M: never look at more;
    // L: warn when that many were locked. 0 = off (scan all / no limit / no warning); L -1 = a tenth of the array.
    int min_slots = 0, max_slots = 0, max_locked = 0;
    std::map<std::string, double> score_weights;  ///< overrides of the table's defaults, names checked at load
    HrType homogeneous_redundancy = HrType::kNone;
    bool non_cpu_intensive = false, batch_accel = false, size_classes = false, keyword_sched = false;
    bool one_result_per_user_per_wu = false, one_result_per_host_per_wu = false, user_filter = false;
    bool workload_sim = false, ignore_delay_bound = false;
    bool prefer_primary_platform = false, rte_no_stats = false, estimate_flops_from_hav_pfc = false;
    double version_select_random_factor = 1;
    int daily_result_quota = 0, gpu_multiplier = 0, max_wus_to_send = 10;
    JobLimits project_limits;
    std::map<std::string, JobLimits> app_limits;  ///< by app name
    int reliable_max_avg_turnaround = 0;
    double reliable_reduced_delay_bound = 0;
    double ltt_reserve_timeout = 0;  ///< s; an LTT-reserved job older than this goes to any host; 0 = never
};

}  // namespace sluice
