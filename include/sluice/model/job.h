// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows of the database, as plain values. Names, units and meaning are those of db/schema.sql; times are
// UNIX seconds, sizes bytes, speeds flops per second. Only columns that some part of Sluice reads are here.
#include <cstdint>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

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

/// A result and its workunit, for the job array and for those who choose beside it; of the result: id, name, priority,
/// report_deadline, server_state, create_time.
struct UnsentJob {
    Result result;
    Workunit workunit;
    bool result_is_whole = true;  ///< is_whole() of the result's xml_doc_in, which stays in the database
};

}  // namespace sluice
