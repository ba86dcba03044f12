// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/debug_trace.h"

#include <string_view>

namespace sluice {
namespace {

constexpr std::size_t kMostLines = 2000;

}  // namespace

DebugTrace::DebugTrace(const ProjectConfig& c, const RpcLog& log)
    : config_(c),
      log_(log),
      wanted_(c.debug_send_job || c.debug_version_select || c.debug_keyword || c.debug_locality_lite ||
              c.debug_edf_sim_detail),
      candidates_(TraceLines::Style::kLog, kMostLines) {}

void DebugTrace::row(const TraceRow& row) {
    if (config_.debug_send_job) candidates_.row(row);
    if (config_.debug_version_select) versions(row);
    if (config_.debug_keyword || config_.debug_locality_lite) terms(row);
    if (config_.debug_edf_sim_detail) deadline(row);
}

/// Once for each app and resource: what was chosen, or why nothing.
void DebugTrace::versions(const TraceRow& row) {
    if (row.app == nullptr || !apps_told_.emplace(row.app->id, row.pass).second) return;
    if (row.version == nullptr || !row.version->found) {
        log_.normal("[version] no app version available: APP#{} ({}) resource {}: {}", row.app->id, row.app->name,
                    proc_type_name(row.pass), reason_name(row.verdict.reason));
        return;
    }
    const AppChoice& v = *row.version;
    log_.normal("[version] Best version of app {} is [AV#{}] ({:.2f} GFLOPS) version {} plan class '{}' platform {}{}",
                row.app->name, v.app_version_id, v.usage.projected_flops / 1e9, v.version_num, v.plan_class, v.platform,
                v.speed_is_guess ? ", speed is a guess" : "");
}

void DebugTrace::terms(const TraceRow& row) const {
    for (const TraceRow::Term& t : row.terms) {
        if (config_.debug_keyword && t.name == std::string_view("keyword"))
            log_.normal("[keyword] [RESULT#{}] keyword score {:f}", row.job->result_id, t.weight * t.value);
        if (config_.debug_locality_lite && t.name == std::string_view("locality_lite"))
            log_.normal("[loc_lite] [RESULT#{}] {}", row.job->result_id,
                        t.value > 0 ? "an input file is on the host" : "no input file is on the host");
    }
}

void DebugTrace::deadline(const TraceRow& row) const {
    const Reason r = row.fate;
    if (r == Reason::kDeadline || r == Reason::kDeadlineOthers)
        log_.normal("[edf_detail] [RESULT#{}] {}: {:.0f} s needed, {:.0f} s allowed", row.job->result_id,
                    r == Reason::kDeadline ? "would miss its deadline" : "would make another job miss its deadline",
                    row.verdict.value, row.verdict.required);
    else if (r == Reason::kFeasible)
        log_.normal("[edf_detail] [RESULT#{}] is in time", row.job->result_id);
}

void DebugTrace::log_candidates() const {
    for (const std::string& line : candidates_.lines()) log_.normal("[send_job] {}", line);
    if (candidates_.dropped() > 0) log_.normal("[send_job] {} more lines were left out", candidates_.dropped());
}

void log_client_files(const ProjectConfig& c, Id hostid, const std::vector<StickyFile>& files, const RpcLog& log) {
    for (const StickyFile& file : files) {
        if (c.debug_client_files)
            log.normal("[client_files] [HOST#{}] has file {} ({:.0f} bytes{})", hostid, file.name, file.nbytes,
                       file.sticky ? ", sticky" : "");
        if (c.debug_locality) log.normal("[locality] [HOST#{}] has file {}", hostid, file.name);
    }
    if (c.debug_vda)
        log.normal("[vda] [HOST#{}] reports {} files; clients are not used as archives", hostid, files.size());
}

void log_workload(const ProjectConfig& c, const HostFacts& host, const RpcLog& log) {
    if (!c.debug_edf_sim_workload) return;
    log.normal("[edf_workload] [HOST#{}] {} jobs; {}", host.row.id, host.in_progress.size(),
               host.workload_known ? "simulated" : "the client did not list them");
    for (const JobOnHost& job : host.in_progress)
        log.normal("[edf_workload] {}: deadline {:.0f}, {:.0f} s to go on {:.2f} {}", job.result_name, job.deadline,
                   job.remaining, job.gpu_usage > 0 ? job.gpu_usage : job.ncpus, proc_type_name(job.proc_type));
}

}  // namespace sluice
