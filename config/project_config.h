// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a project's config.xml and config_aux.xml say: one plain field per option, named as its tag. The rows of
// option_table.cpp hold the defaults of both levels, range, readers and meaning (docs/options.md is made of them).
// config/load.h fills it. Options that matchmaking reads stand in sluice/model/match_params.h.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/log_record.h"
#include "sluice/model/match_params.h"

namespace sluice {

/// What `decision_log` asks the scheduler to write.
enum class DecisionLog { kOff, kNoWork, kAll };
/// By which rule users' quotas order their batches (sluice/share/logical_clock.h).
enum class ShareOrder { kOff, kSeed, kSettled };

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

struct ProjectConfig : MatchParams {
    ProjectConfig();  ///< the table's defaults at level 0

    // Identity, database, paths. After loading, project_dir is absolute and the folders below it are never
    // empty.
    std::string master_url, long_name;
    std::string db_name, db_user, db_passwd, db_host;
    std::string db_ssl_ca;  ///< empty: not encrypted
    std::string replica_db_name, replica_db_user, replica_db_passwd,
        replica_db_host;  ///< loaded: main's if not given
    std::string project_dir;
    std::int64_t shmem_key{};
    std::string key_dir;
    std::string download_url, download_dir, upload_url, upload_dir;
    int uldl_dir_fanout{};  ///< 0: flat
    std::string httpd_user;
    std::string sched_lockfile_dir;  ///< empty: no lock files per host
    std::string gang_hub;            ///< HOST:PORT; empty: there is none

    // Server-wide behaviour.
    bool strict_memory_bound{};
    bool verify_files_on_app_start{};
    bool hr_allocate_slots{};
    bool hr_class_static{};
    bool msg_to_host{};
    bool hide_incomplete_uploads{};
    bool ignore_upload_certificates{};
    bool dont_generate_upload_certificates{};
    bool cache_md5_info{};
    int report_grace_period{};    ///< s
    double grace_period_hours{};  ///< the same in hours; whichever tag stands later wins: read report_grace_period
    double delete_delay_hours{};
    bool ended{};
    bool user_country{}, user_url{};
    bool credit_by_app{};
    bool enable_assignment{};
    bool enable_assignment_multi{};
    bool enable_vda{};
    bool dont_send_jobs{};

    // Feeder.
    int shmem_work_items{};   ///< loaded: never 0
    int feeder_query_size{};  ///< loaded: never 0

    // Retry priority and reliability.
    int reliable_priority_on_over{};
    int reliable_priority_on_over_except_error{};
    int reliable_on_priority{};

    // Quotas and limits.
    int max_ncpus{};
    int max_wus_in_progress{};
    int max_wus_in_progress_gpu{};
    int max_results_accepted{};   ///< 0: no limit
    int report_max{};             ///< 0: no limit
    int min_sendwork_interval{};  ///< s
    double next_rpc_delay{};      ///< s
    double default_disk_min_free_gb{};

    // Dispatch method.
    bool sched_old{};
    bool resend_lost_results{};
    bool send_result_abort{};
    bool nowork_skip{};
    int max_download_urls_per_file{};  ///< 0: all
    std::string replace_download_url_by_timezone;
    std::vector<std::string> ban_cpu,
        ban_os;  ///< POSIX extended regular expressions; loaded: only valid ones
    bool no_amd_k6{};
    std::vector<std::int64_t> dont_search_host_for_user;
    int min_core_client_version{};  ///< MMmmrr; loaded: values below 10000 (Mmm) are multiplied by 100
    int min_core_client_version_announced{};
    std::int64_t min_core_client_upgrade_deadline{};  ///< UNIX time
    bool dont_store_success_stderr{};
    std::string symstore;
    bool request_time_stats_log{};
    double maintenance_delay{};  ///< s

    // Matchmaking (ours).
    DecisionLog decision_log{};
    std::string decision_log_dir;           ///< loaded: PROJECT/log_HOST/decisions if not given
    std::int64_t decision_log_max_bytes{};  ///< of one day's file

    ShareOrder share_rule{};
    double share_clamp{};  ///< project-seconds

    bool batch_stop_failing{};
    std::string batch_event_command;  ///< words as in <cmd>; "": none
    std::string batch_event_mail;     ///< addresses, and "owner"; "": none

    // Bounds on what a hostile client can make us hold.
    std::int64_t max_request_bytes{};
    std::int64_t max_trickle_bytes_per_day{};          ///< of a host; 0: no limit
    std::int64_t max_account_trickle_bytes_per_day{};  ///< of all hosts of an account; 0: no limit
    int max_new_hosts_per_day{};                       ///< of an account; 0: no limit
    std::int64_t max_process_memory{};                 ///< loaded: never 0
    std::vector<std::string> trusted_proxy;            ///< addresses, or ADDRESS/BITS

    // Logging.
    LogFormat log_format{};
    int sched_debug_level{};
    int fuh_debug_level{};
    int fuh_set_initial_permission{};    ///< octal in the file; -1: 0664
    int fuh_set_completed_permission{};  ///< octal in the file; -1: read-only
    std::string debug_req_reply_dir;
    bool debug_assignment{};
    bool debug_client_files{};
    bool debug_credit{};
    bool debug_edf_sim_detail{};
    bool debug_edf_sim_workload{};
    bool debug_fcgi{};
    bool debug_handle_results{};
    bool debug_keyword{};
    bool debug_locality{};
    bool debug_locality_lite{};
    bool debug_prefs{};
    bool debug_quota{};
    bool debug_request_details{};
    bool debug_request_headers{};
    bool debug_resend{};
    bool debug_send{};
    bool debug_send_job{};
    bool debug_send_scan{};
    bool debug_user_messages{};
    bool debug_vda{};
    bool debug_version_select{};

    // For start, stop and status.
    std::string host;               ///< the main host's short name; loaded: this one's if not given
    std::string project_user_name;  ///< start refuses to run as another user
    std::string ssh_exec;
    std::string health_mail;  ///< "": none; "cron": printed, which cron mails; or addresses
    std::string sendmail;     ///< a program with sendmail's options -t and -i
    std::string bin_dir;      ///< loaded: PROJECT/bin if not given
    std::string app_dir;      ///< loaded: PROJECT/apps if not given
    /// <tmp_HOST_dir>, <log_HOST_dir>, <pid_HOST_dir>, by tag: folders that start uses instead of
    /// PROJECT/tmp_HOST …
    std::map<std::string, std::string> host_dirs;

    /// Seconds by which the deletion of files waits after the last result came back.
    int delete_delay() const { return static_cast<int>(delete_delay_hours * 3600); }
};

/// Instances may be given up before their deadline, and deadlines be so tight that clients can't start in time: both is
/// nobody's fault.
inline bool gives_up_early(int compat_level, bool plan_batches, const std::string& gang_hub) {
    return compat_level >= 1 || plan_batches || !gang_hub.empty();
}

}  // namespace sluice
