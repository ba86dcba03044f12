// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the debug flags of config.xml make of the decision trace: upstream's tags, one line for each fact.
#include <set>
#include <string>
#include <utility>

#include "config/project_config.h"
#include "sched/handle/rpc_log.h"
#include "sched/rpc/request.h"
#include "sluice/match/matcher.h"
#include "sluice/match/trace_text.h"

namespace sluice {

class DebugTrace final : public Trace {
  public:
    DebugTrace(const ProjectConfig& config, const RpcLog& log);
    /// Is any flag on that needs the trace?
    bool wanted() const { return wanted_; }
    void row(const TraceRow& row) override;
    /// The lines of debug_send_job, all together after the work is done, and how many were left out.
    void log_candidates() const;

  private:
    void versions(const TraceRow& row);
    void terms(const TraceRow& row) const;
    void deadline(const TraceRow& row) const;

    const ProjectConfig& config_;
    const RpcLog& log_;
    bool wanted_ = false;
    TraceLines candidates_;
    std::set<std::pair<Id, ProcType>> apps_told_;
};

/// Sticky files that the host reported.
void log_client_files(const ProjectConfig& config, Id hostid, const std::vector<StickyFile>& files, const RpcLog& log);
/// The host's queue as the simulation sees it.
void log_workload(const ProjectConfig& config, const HostFacts& host, const RpcLog& log);

}  // namespace sluice
