// SPDX-License-Identifier: LGPL-3.0-or-later
// The options of config.xml, one row each. Names, types and level-0 defaults are upstream's; level 1 is ours.
#include "config/option_table.h"

namespace sluice {
namespace {

// An option's tag is its field's name: written once, so that they can't differ.
#define OPTION(name) #name, &ProjectConfig::name

using Range = OptionRow::Range;
constexpr Range kFlag{0, 1};
constexpr Range kCount{0, 2147483647};
constexpr Range kBytes{0, 1e15};
constexpr Range kSeconds{0, 2147483647};
constexpr Range kText{0, 4095};
constexpr Range kUrl{0, 255};
constexpr Range kIds{0, 1e18};
constexpr Range kInt{-2147483648.0, 2147483647};
constexpr Range kMode{-1, 07777};
constexpr Range kTime{0, 1e12};

// A row is two lines at most: its facts and its sentence.
// clang-format off
constexpr OptionRow kIdentity[] = {
    {OPTION(compat_level), "0", "1", {0, 1}, "all",
     "Which defaults hold for options that are not given: 0 upstream's, 1 ours. Values that are given count at both."},
    {OPTION(master_url), "", "", kUrl, "cgi, make_project, php", "The project's URL, which clients attach to."},
    {OPTION(long_name), "", "", kUrl, "cgi, php", "The project's name as volunteers see it."},
    {OPTION(db_name), "", "", kText, "all", "The database."},
    {OPTION(db_user), "", "", kText, "all", "Its user."},
    {OPTION(db_passwd), "", "", kText, "all", "That user's password."},
    {OPTION(db_host), "", "", kText, "all",
     "HOST or HOST:PORT. Empty, localhost or this host's name: the unix socket ($MYSQL_UNIX_PORT or the default). A,B,C: "
     "nodes of a Galera cluster; this host's own is tried first, and the next one if a node is away or not ready."},
    {OPTION(db_ssl_ca), "", "", kText, "all",
     "PEM file of the authority that signed the database server's certificate. TCP connections must then be encrypted."},
    {OPTION(replica_db_name), "", "", kText, "size_census, batch_stats, php",
     "A read replica's database; empty: db_name."},
    {OPTION(replica_db_user), "", "", kText, "size_census, batch_stats, php", "Its user; empty: db_user."},
    {OPTION(replica_db_passwd), "", "", kText, "size_census, batch_stats, php",
     "That user's password; empty: db_passwd."},
    {OPTION(replica_db_host), "", "", kText, "size_census, batch_stats, php", "Its host; empty: db_host."},
    {OPTION(project_dir), "", "", kText, "all",
     "The project's folder; empty or not there: the folder of config.xml."},
    {OPTION(shmem_key), "0", "0", {-2147483648.0, 4294967295.0}, "feeder, cgi, show_shmem",
     "Names the job array. Each project on a machine needs its own."},
    {OPTION(key_dir), "", "", kText, "cgi, transitioner, file_upload_handler, update_versions",
     "The keys; empty: PROJECT/keys."},
    {OPTION(download_url), "", "", kUrl, "create_work, update_versions", "URL of download_dir."},
    {OPTION(download_dir), "", "", kText, "create_work, stage_file, update_versions, file_deleter",
     "Input and application files; empty: PROJECT/download."},
    {OPTION(upload_url), "", "", kUrl, "transitioner, cgi",
     "URL of the file upload handler, put into result templates."},
    {OPTION(upload_dir), "", "", kText, "file_upload_handler, validator, assimilator, file_deleter",
     "Uploaded output files; empty: PROJECT/upload."},
    {OPTION(uldl_dir_fanout), "0", "0", {0, 1048576}, "create_work, file_upload_handler, validator, file_deleter",
     "Hash folders below upload_dir and download_dir; 0: none. Do not change it while files are there."},
    {OPTION(httpd_user), "apache", "apache", kText, "feeder, antique_file_deleter",
     "The web server's account: it may use the job array, and owns uploaded files."},
    {OPTION(sched_lockfile_dir), "", "", kText, "cgi",
     "Folder of lock files, one a host: a host then has one request at a time."},
    {OPTION(gang_hub), "", "", kUrl, "gang_hub, sluice_batch",
     "HOST:PORT at which members of gangs reach gang_hub."},
};

constexpr OptionRow kServer[] = {
    {OPTION(non_cpu_intensive), "0", "0", kFlag, "feeder, cgi", "Every app is non-CPU-intensive: one job a host."},
    {OPTION(strict_memory_bound), "0", "0", kFlag, "cgi",
     "Tells clients to abort jobs that exceed their memory bound."},
    {OPTION(verify_files_on_app_start), "0", "0", kFlag, "cgi",
     "Tells clients to check files each time an app starts."},
    {OPTION(homogeneous_redundancy), "0", "0", {0, 2}, "feeder, cgi",
     "Homogeneous redundancy for all apps: 0 none, 1 fine, 2 coarse classes. Not together with an app's own."},
    {OPTION(hr_allocate_slots), "0", "0", kFlag, "feeder", "Reserves array slots for HR classes by hr_info.txt."},
    {OPTION(hr_class_static), "0", "0", kFlag, "transitioner",
     "Never resets a workunit's HR class or app version after errors."},
    {OPTION(msg_to_host), "0", "0", kFlag, "cgi", "Delivers rows of msg_to_host (trickle-downs)."},
    {OPTION(hide_incomplete_uploads), "0", "1", kFlag, "file_upload_handler",
     "An upload is NAME..part until its last byte has arrived, so that nobody reads what may change."},
    {OPTION(ignore_upload_certificates), "0", "0", kFlag, "file_upload_handler",
     "Accepts uploads without a signature and of any size."},
    {OPTION(dont_generate_upload_certificates), "0", "0", kFlag, "transitioner, cgi",
     "Output files are not signed for upload."},
    {OPTION(cache_md5_info), "0", "1", kFlag, "create_work, stage_file, file_deleter",
     "Keeps FILE.md5 beside input files."},
    {OPTION(report_grace_period), "0", "0", kSeconds, "cgi, transitioner",
     "Seconds that the server waits beyond a job's deadline."},
    {OPTION(grace_period_hours), "0", "0", {0, 500000}, "cgi, transitioner",
     "The same in hours. The later one in the file holds."},
    {OPTION(delete_delay_hours), "0", "0", {0, 500000}, "transitioner, php",
     "Hours from the last returned result to the deletion of a workunit's files."},
    {OPTION(ended), "0", "0", kFlag, "cgi", "The project has ended; replies say so."},
    {OPTION(user_country), "1", "1", kFlag, "db_dump, php", "db_dump publishes users' countries."},
    {OPTION(user_url), "1", "1", kFlag, "db_dump, php", "db_dump publishes users' URLs."},
    {OPTION(credit_by_app), "0", "0", kFlag, "validator",
     "Keeps the credit of users and teams per app, too: tables credit_user, credit_team."},
    {OPTION(enable_assignment), "0", "0", kFlag, "cgi", "Jobs targeted at a host, user or team."},
    {OPTION(enable_assignment_multi), "0", "0", kFlag, "cgi", "Broadcast jobs."},
    {OPTION(enable_vda), "0", "0", kFlag, "cgi",
     "Volunteer data archival. Its only effect: nowork_skip is off."},
    {OPTION(dont_send_jobs), "0", "0", kFlag, "feeder, cgi", "Sends no jobs; reports are still taken."},
    {OPTION(estimate_flops_from_hav_pfc), "0", "0", kFlag, "cgi",
     "Projected speed from peak FLOP counts instead of elapsed times."},
};

constexpr OptionRow kFeeder[] = {
    {OPTION(shmem_work_items), "100", "1000", {0, 10000000}, "feeder, php", "Slots of the job array; 0: 100."},
    {OPTION(feeder_query_size), "200", "0", kCount, "feeder",
     "Rows per query; 0: 200 at level 0, twice shmem_work_items at level 1."},
};

constexpr OptionRow kRetry[] = {
    {OPTION(reliable_priority_on_over), "0", "0", kInt, "transitioner",
     "Added to the priority of new instances once any instance of the workunit is over."},
    {OPTION(reliable_priority_on_over_except_error), "0", "0", kInt, "transitioner",
     "The same while no instance had an error, if reliable_priority_on_over is 0."},
    {OPTION(reliable_on_priority), "0", "0", kInt, "feeder, cgi",
     "Jobs of this priority or more go to reliable hosts only; 0: off."},
    {OPTION(reliable_max_avg_turnaround), "0", "0", kSeconds, "cgi",
     "A host is reliable if its average turnaround in seconds is less."},
    {OPTION(reliable_reduced_delay_bound), "0", "0", {0, 100}, "cgi",
     "Factor on the delay bound of jobs for reliable hosts; up to 0.01: off."},
};

constexpr OptionRow kQuota[] = {
    {OPTION(daily_result_quota), "0", "500", kCount, "cgi, transitioner, validator",
     "Jobs per day, host, app version and processor, before it adapts; 0: no quota."},
    {OPTION(gpu_multiplier), "0", "0", kCount, "cgi",
     "CPUs that a GPU counts as in limits of a request. It multiplies the daily quota of GPU versions, too."},
    {OPTION(max_ncpus), "64", "1024", {1, 2147483647}, "cgi", "CPUs of a host counted at most."},
    {OPTION(max_wus_to_send), "10", "50", kCount, "cgi", "Jobs per request and processor; 0, or 999999 and more: no limit."},
    {OPTION(max_wus_in_progress), "0", "0", kCount, "cgi",
     "CPU jobs in progress per CPU; 0: no limit. config_aux.xml may say more."},
    {OPTION(max_wus_in_progress_gpu), "0", "0", kCount, "cgi",
     "GPU jobs in progress per GPU of each type; 0: no limit."},
    {OPTION(max_results_accepted), "0", "0", kCount, "cgi",
     "Reported results looked at in one request; 0: no limit."},
    {OPTION(report_max), "0", "0", kCount, "cgi", "Reported results handled in one request; 0: no limit."},
    {OPTION(min_sendwork_interval), "0", "6", kSeconds, "cgi", "Seconds between two requests that get work."},
    {OPTION(next_rpc_delay), "0", "0", {0, 1e9}, "cgi",
     "Clients contact the scheduler at least this often, in seconds; 0: not asked to."},
    {OPTION(one_result_per_user_per_wu), "0", "0", kFlag, "cgi", "A user gets one instance of a workunit at most."},
    {OPTION(one_result_per_host_per_wu), "0", "0", kFlag, "cgi", "A host gets one instance of a workunit at most."},
    {OPTION(user_filter), "0", "0", kFlag, "cgi", "A job goes only to the user whose id is its batch number."},
    {OPTION(default_disk_min_free_gb), "1", "1", {0, 1e9}, "cgi, php",
     "GB that a client leaves free if its preferences do not say."},
};

constexpr OptionRow kDispatch[] = {
    {OPTION(sched_old), "0", "0", kFlag, "cgi", "No effect: there is one matcher."},
    {OPTION(batch_accel), "0", "1", kFlag, "cgi",
     "High-priority jobs of accelerable apps go to hosts with low turnaround time."},
    {OPTION(size_classes), "0", "1", kFlag, "cgi",
     "Scores jobs by whether their size class is the host's."},
    {OPTION(keyword_sched), "0", "0", kFlag, "cgi, php", "Scores jobs by the user's keyword preferences."},
    {OPTION(rte_no_stats), "0", "0", kFlag, "cgi", "Run times are estimated without statistics."},
    {OPTION(workload_sim), "0", "1", kFlag, "cgi", "Deadlines are checked by simulating the host's queue."},
    {OPTION(ignore_delay_bound), "0", "0", kFlag, "cgi", "Deadlines are not checked."},
    {OPTION(resend_lost_results), "0", "1", kFlag, "cgi",
     "Jobs that a host should have and does not mention are sent again."},
    {OPTION(send_result_abort), "0", "1", kFlag, "cgi", "Clients are told to abort jobs that are no longer needed."},
    {OPTION(nowork_skip), "0", "0", kFlag, "cgi",
     "With nothing to send and nothing reported the reply needs no database."},
    {OPTION(prefer_primary_platform), "0", "0", kFlag, "cgi",
     "An app version of the host's first platform beats faster ones of other platforms."},
    {OPTION(version_select_random_factor), "1", "1", {0, 100}, "cgi",
     "Spread of the random factor in choosing an app version."},
    {OPTION(max_download_urls_per_file), "0", "0", kCount, "cgi", "Mirrors named per file; 0: all."},
    {OPTION(replace_download_url_by_timezone), "", "", kUrl, "cgi",
     "URL prefix that is replaced by a near mirror of PROJECT/download_servers."},
    {OPTION(ban_cpu), "", "", kText, "cgi",
     "Regular expression; a host whose vendor TAB model matches gets no work. May repeat."},
    {OPTION(ban_os), "", "", kText, "cgi",
     "Regular expression; a host whose system TAB version matches gets no work. May repeat."},
    {OPTION(no_amd_k6), "0", "0", kFlag, "cgi", "Adds a ban_cpu for the AMD K6."},
    {OPTION(dont_search_host_for_user), "", "", kIds, "cgi",
     "Id of a user whose hosts are never merged by likeness. May repeat."},
    {OPTION(min_core_client_version), "0", "0", kCount, "cgi, php",
     "Oldest client that is served: major * 10000 + minor * 100 + release."},
    {OPTION(min_core_client_version_announced), "0", "0", kCount, "cgi", "Older clients are told to upgrade."},
    {OPTION(min_core_client_upgrade_deadline), "0", "0", kTime, "cgi", "Until this UNIX time."},
    {OPTION(dont_store_success_stderr), "0", "0", kFlag, "cgi", "The stderr of successful results is not stored."},
    {OPTION(symstore), "", "", kUrl, "cgi", "URL of a symbol store for Windows clients."},
    {OPTION(request_time_stats_log), "0", "0", kFlag, "cgi",
     "Collects clients' time statistics in PROJECT/time_stats_log."},
    {OPTION(maintenance_delay), "3600", "0", {0, 1e7}, "cgi",
     "Seconds after which clients come back while the project is down. 0 at level 1: 2 to 10 minutes, at random."},
};

constexpr OptionRow kMatchmaking[] = {
    {OPTION(mm_min_slots), "0", "500", kCount, "cgi",
     "N: a scan stops after this many slots once the request is satisfied; 0: scans on."},
    {OPTION(mm_max_slots), "0", "0", kCount, "cgi", "M: slots scanned at most; 0: the whole array."},
    {OPTION(mm_max_locked), "0", "-1", {-1, 2147483647}, "cgi",
     "L: a warning when a scan met this many locked slots; 0: never, -1: a tenth of the array."},
    {OPTION(score_weights), "", "", {-1e9, 1e9}, "cgi",
     "Weights of score terms by name: <score_weights><size_class>5</size_class></score_weights>."},
    {OPTION(plan_batches), "0", "1", kFlag, "cgi, batch_planner, transitioner",
     "Jobs of planned batches go only to hosts that can be done in time, with tight deadlines."},
    {OPTION(plan_deadline_factor), "1.2", "1.2", {1, 100}, "cgi",
     "Deadline of such a job: this times its run time, and the client's minimum buffer."},
    {OPTION(ltt_reserve_timeout), "0", "21600", kSeconds, "cgi",
     "Seconds after which a job reserved for low-turnaround hosts goes to any host; 0: never."},
    {OPTION(decision_log), "off", "off", {}, "cgi",
     "One JSON record of decisions a request: off, nowork (only where nothing was sent) or all."},
    {OPTION(decision_log_dir), "", "", kText, "cgi",
     "Their folder, a file a day; empty: PROJECT/log_HOST/decisions."},
    {OPTION(decision_log_max_bytes), "67108864", "67108864", kBytes, "cgi",
     "A day's file is not written beyond this size."},
    {OPTION(share_rule), "off", "settled", {}, "feeder, sluice_batch, batch_shares",
     "How quotas of users order their batches: off, seed (as submitted) or settled (as measured)."},
    {OPTION(share_clamp), "86400", "86400", kSeconds, "sluice_batch, batch_shares",
     "settled: how far ahead of the others a user who was away may begin, in seconds of the whole project's work."},
    {OPTION(share_floor), "0.05", "0.05", {0, 1}, "cgi",
     "settled: part of the requests that go to a user drawn by quota, so that nobody waits for long."},
    {OPTION(jobs_without_batch), "free", "free", kText, "feeder, cgi, create_work, sluice_batch, batch_shares",
     "With share_rule, jobs without a batch are free (charged to nobody, before all others), refused (refuse), or a user's, by number or e-mail address."},
    {OPTION(batch_stop_failing), "0", "0", kFlag, "batch_watch",
     "Stops a batch of which nothing has succeeded when a tenth of its jobs, and at least 10, have failed, on 3 hosts or more."},
    {OPTION(batch_event_command), "", "", kText, "batch_watch",
     "Command that is run when a batch is done, late, slow or stopped, without a shell; a program without / is in PROJECT/bin."},
    {OPTION(batch_event_mail), "", "", kText, "batch_watch",
     "Who gets a mail when a batch is done, late, slow or stopped: addresses with commas between them, and owner."},
    {OPTION(max_request_bytes), "67108864", "67108864", {4096, 1e12}, "cgi",
     "A longer request is read to its end and refused."},
    {OPTION(max_trickle_bytes_per_day), "16777216", "16777216", kBytes, "cgi",
     "Bytes of trickle-ups that a host may send a day, and 256 for each. More waits on the host; 0: no limit."},
    {OPTION(max_account_trickle_bytes_per_day), "268435456", "268435456", kBytes, "cgi",
     "The same for all hosts of an account."},
    {OPTION(max_new_hosts_per_day), "10000", "10000", kCount, "cgi",
     "New hosts of an account in 24 hours. Others come back later; 0: no limit."},
    {OPTION(max_process_memory), "0", "0", kBytes, "cgi, file_upload_handler",
     "Bytes of memory of a process without the job array, at least 16 MB; 0: half a GB and four times max_request_bytes."},
    {OPTION(trusted_proxy), "", "", kText, "cgi",
     "Address (or ADDRESS/BITS) of a proxy whose X-Forwarded-For is believed. May repeat."},
};

constexpr OptionRow kLogging[] = {
    {OPTION(log_format), "text", "text", {}, "all",
     "Lines of logs: text, or json (an object a line)."},
    {OPTION(sched_debug_level), "3", "3", kInt, "cgi",
     "1 critical, 2 warnings, 3 normal, 4 debug; less is 1, more is 4."},
    {OPTION(fuh_debug_level), "3", "3", kInt, "file_upload_handler", "The same for the upload handler."},
    {OPTION(fuh_set_initial_permission), "-1", "-1", kMode, "file_upload_handler",
     "Octal mode of new upload files; not given: 664.", OptionRow::Base::kOctal},
    {OPTION(fuh_set_completed_permission), "-1", "-1", kMode, "file_upload_handler",
     "Octal mode of complete uploads; 0 or not given: read-only. The sender can replace a file that is not read-only.",
     OptionRow::Base::kOctal},
    {OPTION(debug_req_reply_dir), "", "", kText, "cgi", "Requests, replies and logs are kept there."},
    {OPTION(debug_assignment), "0", "0", kFlag, "cgi", "Logs targeted jobs."},
    {OPTION(debug_client_files), "0", "0", kFlag, "cgi", "Logs files on clients."},
    {OPTION(debug_credit), "0", "0", kFlag, "validator, cgi", "Logs credit."},
    {OPTION(debug_edf_sim_detail), "0", "0", kFlag, "cgi", "Logs each step of the simulation of a host's queue."},
    {OPTION(debug_edf_sim_workload), "0", "0", kFlag, "cgi", "Logs the simulated queue."},
    {OPTION(debug_fcgi), "0", "0", kFlag, "cgi", "Logs the FastCGI loop."},
    {OPTION(debug_handle_results), "0", "0", kFlag, "cgi", "Logs reported results."},
    {OPTION(debug_keyword), "0", "0", kFlag, "cgi", "Logs keyword scores."},
    {OPTION(debug_locality), "0", "0", kFlag, "cgi", "Logs locality scheduling."},
    {OPTION(debug_locality_lite), "0", "0", kFlag, "cgi", "Logs which input files hosts have."},
    {OPTION(debug_prefs), "0", "0", kFlag, "cgi", "Logs preferences."},
    {OPTION(debug_quota), "0", "0", kFlag, "cgi", "Logs daily quotas."},
    {OPTION(debug_request_details), "0", "0", kFlag, "cgi", "Logs what a request says."},
    {OPTION(debug_request_headers), "0", "0", kFlag, "cgi", "Logs HTTP headers."},
    {OPTION(debug_resend), "0", "0", kFlag, "cgi", "Logs lost jobs."},
    {OPTION(debug_send), "0", "0", kFlag, "cgi", "Logs what is sent and why not."},
    {OPTION(debug_send_job), "0", "0", kFlag, "cgi", "Logs each job's checks and score."},
    {OPTION(debug_send_scan), "0", "0", kFlag, "cgi", "Logs the scan of the array."},
    {OPTION(debug_user_messages), "0", "0", kFlag, "cgi", "Logs messages to volunteers."},
    {OPTION(debug_vda), "0", "0", kFlag, "cgi", "Logs data archival."},
    {OPTION(debug_version_select), "0", "0", kFlag, "cgi", "Logs the choice of app versions."},
};

constexpr OptionRow kStart[] = {
    {OPTION(host), "", "", kText, "start, make_project, php",
     "Short name of the main host, where daemons without <host> run; empty: this one."},
    {OPTION(project_user_name), "", "", kText, "start", "start refuses to run as another user."},
    {OPTION(ssh_exec), "/usr/bin/ssh", "/usr/bin/ssh", kText, "start", "Starts daemons and tasks of other hosts."},
    {OPTION(health_mail), "", "", kText, "start",
     "start --cron tells changes of sluice health: cron (prints them, and cron mails that), or e-mail addresses. Empty: it does not look."},
    {OPTION(sendmail), "/usr/sbin/sendmail", "/usr/sbin/sendmail", kText, "start, batch_watch",
     "Program that takes mails, with sendmail's options -t and -i."},
    {OPTION(bin_dir), "", "", kText, "start", "First in the PATH of daemons; empty: PROJECT/bin."},
    {OPTION(app_dir), "", "", kText, "update_versions", "App versions to install; empty: PROJECT/apps."},
};

constexpr std::monostate kNone{};
constexpr OptionRow kNoEffect[] = {
    {"distinct_beta_apps", kNone, "", "", {}, "none", "Belongs to upstream's old array scan."},
    {"vda_host_timeout", kNone, "", "", {}, "none", "No data are archived on clients."},
    {"job_size_matching", kNone, "", "", {}, "none",
     "Belongs to upstream's old array scan; size_classes matches sizes."},
    {"reliable_max_error_rate", kNone, "", "", {}, "none", "Upstream parses it and never uses it."},
    {"locality_scheduling", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduler_fraction", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduling_sorted_order", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduling_wait_period", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduling_send_timeout", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduling_workunit_file", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"locality_scheduling_sticky_file", kNone, "", "", {}, "none", "Einstein@Home's locality scheduling is not in Sluice."},
    {"file_deletion_strategy", kNone, "", "", {}, "none",
     "Einstein@Home's locality scheduling is not in Sluice."},
    {"disable_web_account_creation", kNone, "", "", {}, "none", "Upstream's make_project writes it; nobody reads it."},
    {"scheduler_log_buffer", kNone, "", "", {}, "none", "Lines are written one by one, whole."},
};
constexpr OptionRow kOthers[] = {
    {"cgi_bin_dir", kNone, "", "", {}, "make_project", "CGI programs. make_project reads it, too."},
    {"log_dir", kNone, "", "", {}, "php", "Folder of logs for web pages; the programs use PROJECT/log_HOST."},
    {"www_host", kNone, "", "", {}, "php", "Web server, for display."},
    {"sched_host", kNone, "", "", {}, "php", "Scheduler host, for display."},
    {"min_passwd_length", kNone, "", "", {}, "php", "Shortest password."},
    {"disable_account_creation", kNone, "", "", {}, "php", "No new accounts."},
    {"disable_account_creation_rpc", kNone, "", "", {}, "php", "No new accounts by RPC."},
    {"no_web_account_creation", kNone, "", "", {}, "php", "No new accounts on the web site."},
    {"account_creation_rpc_require_consent", kNone, "", "", {}, "php", "Accounts need consent to the terms."},
    {"enable_login_mustagree_termsofuse", kNone, "", "", {}, "php", "Log-in needs consent to the terms."},
    {"enable_privacy_by_default", kNone, "", "", {}, "php", "New accounts hide their data."},
    {"enable_delete_account", kNone, "", "", {}, "php", "How accounts are deleted."},
    {"account_manager", kNone, "", "", {}, "php", "This is an account manager."},
    {"show_results", kNone, "", "", {}, "php", "Web pages show results."},
    {"profile_screening", kNone, "", "", {}, "php", "Profiles are screened."},
    {"profile_min_credit", kNone, "", "", {}, "php", "Credit needed for a profile."},
    {"no_forum_rating", kNone, "", "", {}, "php", "Forum posts have no rating."},
    {"moderators_edit_posts", kNone, "", "", {}, "php", "Moderators may edit."},
    {"moderators_hide", kNone, "", "", {}, "php", "Moderators may hide."},
    {"moderators_vote_to_ban", kNone, "", "", {}, "php", "Moderators vote on bans."},
    {"disable_team_creation", kNone, "", "", {}, "php", "No new teams."},
    {"team_forums_members_only", kNone, "", "", {}, "php", "Team forums are private."},
    {"recaptcha_public_key", kNone, "", "", {}, "php", "reCAPTCHA."},
    {"recaptcha_private_key", kNone, "", "", {}, "php", "reCAPTCHA."},
    {"akismet_key", kNone, "", "", {}, "php", "Akismet."},
    {"hosts_per_page", kNone, "", "", {}, "php", "Length of lists."},
    {"users_per_page", kNone, "", "", {}, "php", "Length of lists."},
    {"teams_per_page", kNone, "", "", {}, "php", "Length of lists."},
    {"project_id", kNone, "", "", {}, "php", "Credit database."},
    {"rpc_key", kNone, "", "", {}, "php", "Key of web RPCs."},
    {"stripchart_cgi_url", kNone, "", "", {}, "php", "Strip charts."},
    {"default_disk_max_used_gb", kNone, "", "", {}, "php", "Default preference."},
    {"default_disk_max_used_pct", kNone, "", "", {}, "php", "Default preference."},
    {"scheduler_disk_space_check_hardcoded", kNone, "", "", {}, "php", "Hides disk preferences."},
    {"dont_suppress_pending", kNone, "", "", {}, "php", "Shows pending credit."},
    {"remote_submit_log", kNone, "", "", {}, "php", "Log of remote submission."},
    {"remote_submission_log", kNone, "", "", {}, "php", "Log of remote submission."},
    {"remote_submit_request_log", kNone, "", "", {}, "php", "Log of remote submission."},
    {"sandbox_dir", kNone, "", "", {}, "php", "Users' sandboxes."},
    {"no_computing", kNone, "", "", {}, "php", "A web site only."},
};
// clang-format on
#undef OPTION

constexpr OptionSection kSections[] = {
    {"Identity, database, paths", kIdentity},
    {"Server-wide behaviour", kServer},
    {"Feeder", kFeeder},
    {"Retries and reliable hosts", kRetry},
    {"Quotas and limits", kQuota},
    {"Dispatch", kDispatch},
    {"Matchmaking", kMatchmaking},
    {"Logging", kLogging},
    {"Start, stop and installation", kStart},
    {"Accepted, without effect on Sluice's programs", kNoEffect},
    {"Read by web pages only", kOthers},
};

}  // namespace

std::span<const OptionSection> option_sections() { return kSections; }

const OptionRow* find_option(std::string_view tag) {
    for (const OptionSection& section : kSections) {
        for (const OptionRow& row : section.rows) {
            if (row.tag == tag) return &row;
        }
    }
    return nullptr;
}

}  // namespace sluice
