// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What deciding about jobs needs, built once for an RPC: facts of host and volunteer, the request, the matcher.
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "config/project_config.h"
#include "sched/handle/rpc.h"
#include "sched/handle/rpc_log.h"
#include "sched/rpc/request.h"
#include "sluice/match/matcher.h"
#include "sluice/match/trace_text.h"

namespace sluice {

/// What the debug flags of config.xml make of the decision trace: upstream's tags, one line for each fact.
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

/// What hand_out_work and its parts change.
struct HandOut {
    const Rpc& rpc;
    Decision& decision;
    RpcWrites& writes;
    SchedulerReply& reply;
};

/// Slow facts of a shortlist, one statement a call; jobs that were asked for already are not asked for again.
class StoredFacts final : public FactsSource {
  public:
    explicit StoredFacts(const Rpc& rpc) : rpc_(rpc) {}
    std::vector<WorkunitFacts> load(std::span<const JobSummary> jobs) override;
    Verdict can_be_written(const Chosen& job) override;

  private:
    const Rpc& rpc_;
};

class WorkSession {
  public:
    /// `for_lost_jobs_only`: the client asks for nothing; any resource will do.
    WorkSession(const Rpc& rpc, bool for_lost_jobs_only);
    WorkSession(const WorkSession&) = delete;
    ~WorkSession();

    Matcher& matcher() { return *matcher_; }
    const HostFacts& host() const { return host_; }
    const WorkRequest& wanted() const { return wanted_; }
    /// Writes what waits until the work is done to the log (debug_send_job).
    void log_trace() const { trace_.log_candidates(); }

  private:
    UserFacts user_;
    HostFacts host_;
    WorkRequest wanted_;
    StoredFacts facts_;
    DebugTrace trace_;
    std::unique_ptr<MatchContext> context_;
    std::unique_ptr<Matcher> matcher_;
};

}  // namespace sluice
