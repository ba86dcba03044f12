#pragma once
// What a project's config.xml and config_aux.xml say: one plain field per option, named as its tag. The
// defaults here are those of <compat_level> 0; docs/options.md (generated from option_table.cpp) says what
// each means, its range, its default at level 1 and who reads it. config/load.h fills it.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/model/job_limits.h"

namespace sluice {

/// What `decision_log` asks the scheduler to write.
enum class DecisionLog { kOff, kNoWork, kAll };

struct AppJobLimits {
    std::string app_name;
    JobLimits limits;
    friend bool operator==(const AppJobLimits&, const AppJobLimits&) = default;
};
/// <max_jobs_in_progress> of config_aux.xml. max_wus_in_progress and max_wus_in_progress_gpu of config.xml
/// are already merged into `project` (as per-processor limits) where config_aux.xml does not set the same
/// limit.
struct MaxJobsInProgress {
    JobLimits project;
    std::vector<AppJobLimits> apps;
    friend bool operator==(const MaxJobsInProgress&, const MaxJobsInProgress&) = default;
};

/// A <daemon> of config.xml, as `start` runs it.
struct DaemonEntry {
    std::string cmd;
    std::string output, pid_file, lock_file;  ///< empty: made from the program's name
    std::string host;                         ///< empty: the project's main host
    bool disabled = false;
    bool use_shell = false;
    bool silent_start = false;
};
/// A <task> of config.xml.
struct TaskEntry {
    std::string cmd;
    double period = 0;  ///< seconds
    std::string output, lock_file, host;
    bool disabled = false;
    bool use_shell = false;
    bool always_run = false;  ///< even while the project is disabled
};

struct ProjectConfig {
    /// 0: the defaults are upstream's; 1: ours.
    int compat_level = 0;

    // Identity, database, paths. After loading, project_dir is absolute and the folders below it are never
    // empty.
    std::string master_url, long_name;
    std::string db_name, db_user, db_passwd, db_host;
    std::string db_ssl_ca;  ///< empty: not encrypted
    std::string replica_db_name, replica_db_user, replica_db_passwd,
        replica_db_host;  ///< loaded: main's if not given
    std::string project_dir;
    std::int64_t shmem_key = 0;
    std::string key_dir;
    std::string download_url, download_dir, upload_url, upload_dir;
    int uldl_dir_fanout = 0;  ///< 0: flat
    std::string httpd_user = "apache";
    std::string sched_lockfile_dir;  ///< empty: no lock files per host

    // Server-wide behaviour.
    bool non_cpu_intensive = false;
    bool strict_memory_bound = false;
    bool verify_files_on_app_start = false;
    int homogeneous_redundancy = 0;  ///< 0 none, 1 fine, 2 coarse
    bool hr_allocate_slots = false;
    bool hr_class_static = false;
    bool msg_to_host = false;
    bool ignore_upload_certificates = false;
    bool dont_generate_upload_certificates = false;
    bool cache_md5_info = false;
    int report_grace_period = 0;    ///< s
    double grace_period_hours = 0;  ///< the same in hours; whichever tag stands later wins: read report_grace_period
    double delete_delay_hours = 0;
    bool distinct_beta_apps = false;
    bool ended = false;
    bool enable_assignment = false;
    bool enable_assignment_multi = false;
    bool enable_vda = false;
    double vda_host_timeout = 0;
    bool dont_send_jobs = false;
    bool job_size_matching = false;
    bool estimate_flops_from_hav_pfc = false;
    bool user_url = true, user_country = true;
    bool credit_by_app = false;

    // Feeder.
    int shmem_work_items = 100;   ///< loaded: never 0
    int feeder_query_size = 200;  ///< loaded: never 0

    // Retry priority and reliability.
    int reliable_priority_on_over = 0;
    int reliable_priority_on_over_except_error = 0;
    int reliable_on_priority = 0;
    int reliable_max_avg_turnaround = 0;  ///< s
    double reliable_reduced_delay_bound = 0;
    double reliable_max_error_rate = 0;  ///< upstream parses it and never uses it

    // Quotas and limits.
    int daily_result_quota = 0;  ///< 0: no quota
    int gpu_multiplier = 0;
    int max_ncpus = 64;
    int max_wus_to_send = 10;  ///< loaded: 999999 for 0
    int max_wus_in_progress = 0;
    int max_wus_in_progress_gpu = 0;
    MaxJobsInProgress max_jobs_in_progress;
    int max_results_accepted = 0;   ///< 0: no limit
    int report_max = 0;             ///< 0: no limit
    int min_sendwork_interval = 0;  ///< s
    double next_rpc_delay = 0;      ///< s
    bool one_result_per_user_per_wu = false;
    bool one_result_per_host_per_wu = false;
    bool user_filter = false;
    double default_disk_min_free_gb = 1;

    // Dispatch method.
    bool sched_old = false;
    bool batch_accel = false;
    bool size_classes = false;
    bool keyword_sched = false;
    bool rte_no_stats = false;
    bool workload_sim = false;
    bool ignore_delay_bound = false;
    bool resend_lost_results = false;
    bool send_result_abort = false;
    bool nowork_skip = false;
    bool prefer_primary_platform = false;
    double version_select_random_factor = 1;
    bool locality_scheduling = false;
    double locality_scheduler_fraction = 0;
    bool locality_scheduling_sorted_order = false;
    int locality_scheduling_wait_period = 0;                     ///< s
    int locality_scheduling_send_timeout = 0;                    ///< s
    std::vector<std::string> locality_scheduling_workunit_file;  ///< POSIX extended regular expressions
    std::vector<std::string> locality_scheduling_sticky_file;
    int file_deletion_strategy = 0;
    int max_download_urls_per_file = 0;  ///< 0: all
    std::string replace_download_url_by_timezone;
    std::vector<std::string> ban_cpu,
        ban_os;  ///< POSIX extended regular expressions; loaded: only valid ones
    bool no_amd_k6 = false;
    std::vector<std::int64_t> dont_search_host_for_user;
    int min_core_client_version = 0;  ///< MMmmrr; loaded: values below 10000 (Mmm) are multiplied by 100
    int min_core_client_version_announced = 0;
    std::int64_t min_core_client_upgrade_deadline = 0;  ///< UNIX time
    bool dont_store_success_stderr = false;
    std::string symstore;
    bool request_time_stats_log = false;
    double maintenance_delay = 3600;  ///< s

    // Matchmaking (ours).
    int mm_min_slots = 0;   ///< N: stop once satisfied after this many slots; 0: scan all
    int mm_max_slots = 0;   ///< M: never look at more slots; 0: the whole array
    int mm_max_locked = 0;  ///< L: warn at this many locked slots; 0: never, -1: a tenth of the array
    std::map<std::string, double> score_weights;  ///< term name -> weight; names: check_score_weights()
    DecisionLog decision_log = DecisionLog::kOff;
    std::string decision_log_dir;                                  ///< loaded: PROJECT/log_HOST/decisions if not given
    std::int64_t decision_log_max_bytes = std::int64_t{64} << 20;  ///< of one day's file
    int ltt_reserve_timeout = 0;  ///< s after which a job reserved for LTT hosts goes to any host; 0: never

    // Bounds on what a hostile client can make us hold.
    std::int64_t max_request_bytes = std::int64_t{64} << 20;
    std::int64_t max_trickle_bytes_per_day = std::int64_t{16} << 20;  ///< of a host; 0: no limit
    int max_new_hosts_per_day = 10000;                                ///< of an account; 0: no limit
    std::int64_t max_process_memory = 0;                              ///< loaded: never 0
    std::vector<std::string> trusted_proxy;                           ///< addresses, or ADDRESS/BITS

    // Logging.
    int sched_debug_level = 3;
    int fuh_debug_level = 3;
    int fuh_set_initial_permission = -1;    ///< octal in the file; -1: 0664
    int fuh_set_completed_permission = -1;  ///< octal in the file; -1: read-only
    int scheduler_log_buffer = 32768;
    std::string debug_req_reply_dir;
    bool debug_assignment = false;
    bool debug_client_files = false;
    bool debug_credit = false;
    bool debug_edf_sim_detail = false;
    bool debug_edf_sim_workload = false;
    bool debug_fcgi = false;
    bool debug_handle_results = false;
    bool debug_keyword = false;
    bool debug_locality = false;
    bool debug_locality_lite = false;
    bool debug_prefs = false;
    bool debug_quota = false;
    bool debug_request_details = false;
    bool debug_request_headers = false;
    bool debug_resend = false;
    bool debug_send = false;
    bool debug_send_job = false;
    bool debug_send_scan = false;
    bool debug_user_messages = false;
    bool debug_vda = false;
    bool debug_version_select = false;

    // For start, stop and status.
    std::string host;               ///< the main host's short name; loaded: this one's if not given
    std::string project_user_name;  ///< start refuses to run as another user
    std::string ssh_exec = "/usr/bin/ssh";
    std::string bin_dir;  ///< loaded: PROJECT/bin if not given
    std::string app_dir;  ///< loaded: PROJECT/apps if not given
    /// <tmp_HOST_dir>, <log_HOST_dir>, <pid_HOST_dir>, by tag: folders that start uses instead of
    /// PROJECT/tmp_HOST …
    std::map<std::string, std::string> host_dirs;

    /// Seconds by which the deletion of files waits after the last result came back.
    int delete_delay() const { return static_cast<int>(delete_delay_hours * 3600); }
};

}  // namespace sluice
