// config.xml -> the plain options of the deciding layer.
#include "rpc_services.h"

namespace sluice {

MatchParams match_params(const ProjectConfig& c) {
    MatchParams p;
    p.compat_level = c.compat_level;
    p.min_slots = c.mm_min_slots;
    p.max_slots = c.mm_max_slots;
    p.max_locked = c.mm_max_locked;
    p.score_weights = c.score_weights;
    p.homogeneous_redundancy = static_cast<HrType>(c.homogeneous_redundancy);
    p.non_cpu_intensive = c.non_cpu_intensive;
    p.batch_accel = c.batch_accel;
    p.size_classes = c.size_classes;
    p.keyword_sched = c.keyword_sched;
    p.one_result_per_user_per_wu = c.one_result_per_user_per_wu;
    p.one_result_per_host_per_wu = c.one_result_per_host_per_wu;
    p.user_filter = c.user_filter;
    p.workload_sim = c.workload_sim;
    p.ignore_delay_bound = c.ignore_delay_bound;
    p.prefer_primary_platform = c.prefer_primary_platform;
    p.rte_no_stats = c.rte_no_stats;
    p.estimate_flops_from_hav_pfc = c.estimate_flops_from_hav_pfc;
    p.version_select_random_factor = c.version_select_random_factor;
    p.daily_result_quota = c.daily_result_quota;
    p.gpu_multiplier = c.gpu_multiplier;
    p.max_wus_to_send = c.max_wus_to_send;
    p.project_limits = c.max_jobs_in_progress.project;
    for (const AppJobLimits& app : c.max_jobs_in_progress.apps) p.app_limits[app.app_name] = app.limits;
    p.reliable_max_avg_turnaround = c.reliable_max_avg_turnaround;
    p.reliable_reduced_delay_bound = c.reliable_reduced_delay_bound;
    p.ltt_reserve_timeout = c.ltt_reserve_timeout;
    return p;
}

RequestLimits request_limits(const ProjectConfig& c) {
    RequestLimits limits;
    limits.max_bytes = static_cast<std::size_t>(c.max_request_bytes);
    limits.max_trickle_bytes =
        c.max_trickle_bytes_per_day > 0 ? static_cast<std::size_t>(c.max_trickle_bytes_per_day) : limits.max_bytes;
    if (c.max_results_accepted > 0) limits.max_results = static_cast<std::size_t>(c.max_results_accepted);
    return limits;
}

}  // namespace sluice
