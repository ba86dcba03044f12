// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The options of config.xml that matchmaking depends on, named as their tags; ProjectConfig (config/project_config.h)
// is made of these and of the others. Meaning and defaults: docs/options.md.
#include <map>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// A limit on jobs in progress.
struct JobLimit {
    int jobs = 0;           ///< 0 = no limit
    bool per_proc = false;  ///< times the number of CPUs, or of GPUs of the type; without effect on `total`
    friend bool operator==(const JobLimit&, const JobLimit&) = default;
};
struct JobLimits {
    JobLimit total, cpu;
    JobLimit gpu;  ///< of each GPU type by itself
    friend bool operator==(const JobLimits&, const JobLimits&) = default;
};
/// <max_jobs_in_progress> of config_aux.xml. max_wus_in_progress and max_wus_in_progress_gpu of config.xml are already
/// merged into `project` (as per-processor limits) where config_aux.xml does not set the same limit.
struct MaxJobsInProgress {
    JobLimits project;
    std::map<std::string, JobLimits> apps;  ///< by name
    friend bool operator==(const MaxJobsInProgress&, const MaxJobsInProgress&) = default;
};

struct MatchParams {
    int compat_level{};  ///< 0: the defaults are upstream's; 1: ours
    // Seed 002: N, M, L. N: stop once that many slots were seen and the request is satisfied; M: never look at more;
    // L: warn when that many were locked. 0 = off (scan all / no limit / no warning); L -1 = a tenth of the array.
    int mm_min_slots{}, mm_max_slots{}, mm_max_locked{};
    std::map<std::string, double> score_weights;  ///< term name -> weight; names: drop_unknown_weights()
    int homogeneous_redundancy{};                 ///< HrType
    bool non_cpu_intensive{}, batch_accel{}, size_classes{}, keyword_sched{};
    bool one_result_per_user_per_wu{}, one_result_per_host_per_wu{}, user_filter{};
    bool workload_sim{}, ignore_delay_bound{};
    bool prefer_primary_platform{}, rte_no_stats{}, estimate_flops_from_hav_pfc{};
    double version_select_random_factor{};
    int daily_result_quota{};  ///< 0: no quota
    int gpu_multiplier{};
    int max_wus_to_send{};  ///< loaded: 999999 for 0
    MaxJobsInProgress max_jobs_in_progress;
    int reliable_max_avg_turnaround{};  ///< s
    double reliable_reduced_delay_bound{};
    std::string jobs_without_batch;  ///< "free" (nobody's), "refuse", or whose they are: a number or an e-mail address
    double share_floor{};            ///< part of the requests whose first user is drawn by quota
    bool plan_batches{};             ///< jobs of planned batches go to hosts in H only, with tight deadlines
    double plan_deadline_factor{};   ///< times the run time that the client expects
    int ltt_reserve_timeout{};       ///< s after which a job reserved for LTT hosts goes to any host; 0: never

    bool refuses_jobs_without_batch() const { return jobs_without_batch == "refuse"; }
    bool gives_an_owner_to_jobs_without_batch() const {
        return !jobs_without_batch.empty() && jobs_without_batch != "free" && !refuses_jobs_without_batch();
    }
    HrType project_hr() const { return static_cast<HrType>(homogeneous_redundancy); }
};

}  // namespace sluice
