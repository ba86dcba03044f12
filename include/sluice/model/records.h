// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <array>
#include <cstdint>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

struct Platform {
    Id id = 0;
    std::string name, user_friendly_name;
    bool deprecated = false;
};

struct App {
    Id id = 0;
    std::string name, user_friendly_name;
    int min_version = 0;
    bool deprecated = false;
    HrType homogeneous_redundancy = HrType::kNone;
    double weight = 1;
    bool beta = false;
    int target_nresults = 0;
    double min_avg_pfc = 1;
    bool host_scale_check = false;
    bool homogeneous_app_version = false;
    bool non_cpu_intensive = false;
    int locality_scheduling = 0;
    int n_size_classes = 0;  ///< two meanings upstream: use size_classes() and accelerable()
    bool fraction_done_exact = false;

    /// Number of job size classes; 0 or 1 = the app has no size classes.
    int size_classes() const { return n_size_classes > 1 ? n_size_classes : 0; }
    /// Batch acceleration applies (seed 004: nonzero means accelerable).
    bool accelerable() const { return n_size_classes > 0; }
};

struct AppVersion {
    Id id = 0, appid = 0, platformid = 0;
    int version_num = 0;
    std::string xml_doc;
    int min_core_version = 0, max_core_version = 0;  ///< as loaded for use: values < 10000 are already * 100
    bool deprecated = false;
    std::string plan_class;
    double pfc_n = 0, pfc_avg = 0, pfc_scale = 0, expavg_credit = 0, expavg_time = 0;
    bool beta = false;
};

struct User {
    Id id = 0;
    std::int64_t create_time = 0;
    std::string email_addr, name, authenticator, passwd_hash;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    std::string global_prefs, project_prefs, venue;
    Id teamid = 0;
    Id seti_id = 0;  ///< nonzero: "only run jobs on my computers"
    std::string cross_project_id;
};

struct Team {
    Id id = 0;
    std::string name;
};

struct Host {
    Id id = 0;
    std::int64_t create_time = 0;
    Id userid = 0;
    std::int64_t rpc_seqno = 0, rpc_time = 0;
    double total_credit = 0, expavg_credit = 0, expavg_time = 0;
    int timezone = 0;
    std::string domain_name, serialnum, last_ip_addr;
    int nsame_ip_addr = 0;
    double on_frac = 0, connected_frac = 0, active_frac = 0, cpu_efficiency = 0, duration_correction_factor = 0;
    int p_ncpus = 0;
    std::string p_vendor, p_model;
    double p_fpops = 0, p_iops = 0, p_membw = 0;
    std::string os_name, os_version;
    double m_nbytes = 0, m_cache = 0, m_swap = 0, d_total = 0, d_free = 0;
    double d_boinc_used_total = 0, d_boinc_used_project = 0, d_boinc_max = 0, n_bwup = 0, n_bwdown = 0;
    std::string venue;
    double avg_turnaround = 0;
    std::string host_cpid, external_ip_addr;
    int max_results_day = 0;  ///< -1: banned
    double error_rate = 0;    ///< > 0: low-turnaround host (seed 004)
    std::string product_name;
    double gpu_active_frac = 0;
    int p_ngpus = 0;
    double p_gpu_fpops = 0;
    std::string misc;  ///< JSON

    bool low_turnaround() const { return error_rate > 0; }
};

/// Running mean and variance with upstream's names: n samples, mean avg, variance var, q the sum it comes from.
struct Average {
    double n = 0, avg = 0, var = 0, q = 0;
};

struct HostAppVersion {
    Id host_id = 0;
    Id app_version_id = 0;  ///< generalized: see generalized_version_id()
    double pfc_n = 0, pfc_avg = 0;
    Average et;  ///< elapsed seconds per rsc_fpops_est flop: 1/et.avg is the effective speed
    int max_jobs_per_day = 0, n_jobs_today = 0;
    Average turnaround;  ///< seconds
    int consecutive_valid = 0;
};

struct Workunit {
    Id id = 0;
    std::int64_t create_time = 0;
    Id appid = 0;
    std::string name, xml_doc;
    Id batch = 0;
    double rsc_fpops_est = 0, rsc_fpops_bound = 0, rsc_memory_bound = 0, rsc_disk_bound = 0, rsc_bandwidth_bound = 0;
    bool need_validate = false;
    Id canonical_resultid = 0;
    double canonical_credit = 0;
    std::int64_t transition_time = 0;
    std::int64_t delay_bound = 0;
    int error_mask = 0;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    AssimilateState assimilate_state = AssimilateState::kInit;
    int hr_class = 0;
    double opaque = 0;
    int min_quorum = 0, target_nresults = 0, max_error_results = 0, max_total_results = 0, max_success_results = 0;
    std::string result_template_file;
    std::int64_t priority = 0;
    Id fileset_id = 0;
    Id app_version_id = 0;
    TransitionerFlags transitioner_flags = TransitionerFlags::kNormal;
    int size_class = -1;
    std::string keywords;
    int app_version_num = 0;
};

struct Result {
    Id id = 0;
    std::int64_t create_time = 0;
    Id workunitid = 0;
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ClientState client_state = ClientState::kNew;
    Id hostid = 0, userid = 0;
    std::int64_t report_deadline = 0, sent_time = 0, received_time = 0;
    std::string name;
    double cpu_time = 0;
    std::string xml_doc_in, xml_doc_out, stderr_out;
    Id batch = 0;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    ValidateState validate_state = ValidateState::kInit;
    double claimed_credit = 0, granted_credit = 0, opaque = 0;
    std::int64_t random = 0;
    int app_version_num = 0;
    Id appid = 0;
    int exit_status = 0;
    Id teamid = 0;
    std::int64_t priority = 0;
    double elapsed_time = 0, flops_estimate = 0;
    Id app_version_id = 0;
    bool runtime_outlier = false;
    int size_class = -1;
    double peak_working_set_size = 0, peak_swap_size = 0, peak_disk_usage = 0;
};

struct Assignment {
    Id id = 0;
    Id target_id = 0;
    AssignTarget target_type = AssignTarget::kNone;
    bool multi = false;
    Id workunitid = 0, resultid = 0;
};

struct Batch {
    Id id = 0, user_id = 0, app_id = 0;
    std::int64_t create_time = 0;
    double logical_start_time = 0, logical_end_time = 0, est_completion_time = 0;
    int njobs = 0;
    double fraction_done = 0;
    int nerror_jobs = 0;
    BatchState state = BatchState::kInit;
    std::int64_t completion_time = 0;
    double credit_estimate = 0, credit_canonical = 0, credit_total = 0;
    std::string name;
    double expire_time = 0;  ///< batch_stats: median turnaround, s
};

}  // namespace sluice
