// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What create_work knows of a job, from its own command line or by a line of --stdin.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemons/work/input_template.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

/// Defaults are upstream's.
struct JobOptions {
    std::string wu_name, command_line, sub_appname, wu_template, result_template, keywords, file_group;
    Id batch = 0;
    std::int64_t priority = 0;
    double credit = 0;            ///< workunit.opaque
    double delay_bound = 604800;  ///< s, within int64; upstream cuts off a fraction
    int hr_class = 0, size_class = -1, app_version_num = 0;
    int min_quorum = 1, target_nresults = 1, max_error_results = 1, max_total_results = 1, max_success_results = 1;
    double rsc_fpops_est = 3.6e12, rsc_fpops_bound = 8.64e13, rsc_memory_bound = 5e8, rsc_disk_bound = 1e9;
    Id target_host = 0, target_user = 0, target_team = 0;
    bool broadcast = false;
    Id broadcast_user = 0, broadcast_team = 0;
    std::vector<JobFile> files;
};

/// --remote_file URL NBYTES MD5 takes three values: taken out before the rest of a command line is parsed. Throws
/// ConfigError.
std::vector<const char*> take_remote_files(int argc, const char* const* argv, std::vector<JobFile>& files);
/// The row without XML; transition_time and names are not set. Throws ConfigError on more than one target.
Workunit to_workunit(const JobOptions& options);
std::optional<Assignment> to_assignment(const JobOptions& options);
/// Before the template is applied, whose numbers replace the command line's. Throws ConfigError if one of them is
/// negative or does not fit its column. 0 is left to the template.
void check_given(const Workunit& wu);
/// After the template was applied. Throws ConfigError: what is zero, out of range or out of order; raises
/// max_success_results and max_total_results to target_nresults.
void check_workunit(Workunit& wu);

/// Throws ConfigError if the app does not have the job's size class: nobody would ever release such a job.
void check_size_class(const Workunit& wu, const App& app);

/// The options that a line of --stdin may hold, for --help; all others are given once, on the command line.
std::string job_line_options();
/// A line of --stdin over the defaults of the command line (--command_line is appended to it). Quotes ' and " group
/// words. Throws ConfigError.
JobOptions parse_job_line(const std::string& line, const JobOptions& defaults);

}  // namespace sluice
