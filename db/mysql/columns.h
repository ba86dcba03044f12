// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The columns of `workunit` that sending needs, in one order for SELECT and reading. The table is called w.
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/sql.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "sluice/model/job_summary.h"

namespace sluice {

/// In the SET of an UPDATE of workunits: the row is written even if all else stays as it was. Where several nodes of a
/// cluster commit (Galera), a row lock holds on one node alone, and an UPDATE that changes nothing is not certified
/// against the others' commits.
#define SLUICE_REAL_WRITE "mod_time=IF(mod_time=NOW(),NOW()-INTERVAL 1 SECOND,NOW())"

#define SLUICE_WORKUNIT_COLUMNS                                                                                    \
    "w.id,w.name,w.xml_doc,w.appid,w.batch,w.rsc_fpops_est,w.rsc_fpops_bound,w.rsc_memory_bound,w.rsc_disk_bound," \
    "w.rsc_bandwidth_bound,w.need_validate,w.canonical_resultid,w.transition_time,w.delay_bound,w.error_mask,"     \
    "w.hr_class,w.target_nresults,w.result_template_file,w.priority,w.app_version_id,w.size_class,w.keywords,"     \
    "w.app_version_num,w.transitioner_flags"

Workunit read_workunit(const Rows& rows, int at);

// The rows of host_app_version that a host has, as one text beside its own row: a statement of their own would cost
// more than reading them, a join would repeat the host and its account's preferences for each of them, and a UNION with
// so many columns is slower than two statements (measured).

/// A column of a SELECT whose table of hosts is called h. The server writes a double as it does in a result set: what
/// is read is what is stored.
#define SLUICE_VERSIONS_TEXT                                                                                           \
    "(SELECT GROUP_CONCAT(v.app_version_id,',',v.pfc_n,',',v.pfc_avg,',',v.et_n,',',v.et_avg,',',v.et_var,',',v.et_q," \
    "',',v.max_jobs_per_day,',',v.n_jobs_today,',',v.turnaround_n,',',v.turnaround_avg,',',v.turnaround_var,',',"      \
    "v.turnaround_q,',',v.consecutive_valid,';' SEPARATOR '') FROM host_app_version v WHERE v.host_id=h.id)"

/// What a session sets group_concat_max_len to (MySQL's default is 1024): some ten thousand rows.
inline constexpr std::size_t kLongestVersionsText = 1u << 20;

/// nullopt: the server cut it.
std::optional<std::vector<HostAppVersion>> read_versions_text(Id hostid, std::string_view text);

// The columns of an UnsentJob, for those who choose jobs: the feeder, and a request that looks beside the array.

/// "SELECT …" of result `r` and workunit `w`.
Sql select_unsent_jobs();
UnsentJob read_unsent_job(const Rows& rows);

// What instances used and were estimated to use (db/share_rules.h), as SQL.

/// measured_operations() of the instance `r` on the host `h`.
inline constexpr SqlLiteral kMeasured{
    "GREATEST(LEAST(GREATEST(r.elapsed_time,r.cpu_time,0),1e8)*IF(h.p_fpops>=1e6,LEAST(h.p_fpops,1e12),1e9),"
    "LEAST(GREATEST(r.elapsed_time,0),IF(r.sent_time>0,GREATEST(r.received_time-r.sent_time,0),1e8),1e8)"
    "*LEAST(GREATEST(r.flops_estimate,0),1e15))"};

/// usable_estimate() of the job `w`.
inline constexpr SqlLiteral kEstimate{"LEAST(GREATEST(w.rsc_fpops_est,0),1e30)"};

/// By id. `where`: " WHERE ..." or "".
std::vector<App> all_apps(Database& db, SqlLiteral where);
/// What the size and batch daemons know of them: id, name and n_size_classes.
std::vector<App> size_classes_of_apps(Database& db, SqlLiteral where);

/// The geometric mean of rsc_fpops_est by size class, of the app's jobs among the newest workunits.
std::map<int, double> typical_sizes_of(Database& db, Id appid);

}  // namespace sluice
