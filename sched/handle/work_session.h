// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What deciding about jobs needs, built once for an RPC: facts of host and volunteer, the request, the matcher.
#include <memory>

#include "sched/handle/debug_trace.h"
#include "sched/handle/rpc.h"
#include "sluice/match/matcher.h"

namespace sluice {

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
