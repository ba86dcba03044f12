// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <cstdint>
#include <string>

#include "sluice/model/average.h"
#include "sluice/model/codes.h"

namespace sluice {

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

struct HostAppVersion {
    Id host_id = 0;
    Id app_version_id = 0;  ///< generalized: see generalized_version_id()
    double pfc_n = 0, pfc_avg = 0;
    Average et;  ///< elapsed seconds per rsc_fpops_est flop: 1/et.avg is the effective speed
    int max_jobs_per_day = 0, n_jobs_today = 0;
    Average turnaround;  ///< seconds
    int consecutive_valid = 0;
};

}  // namespace sluice
