// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's hosts as the planner sees them: what they can do, and when they can start.
#include <array>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "daemons/batch_planner/app_uses.h"
#include "daemons/batch_planner/batches_plan.h"
#include "daemons/batch_planner/host_gpus.h"
#include "sluice/db/plan_store.h"

namespace sluice {

/// How often hosts come, learnt from one pass to the next. What is lost with the process costs accuracy only.
class ContactGaps {
  public:
    void note(Id host, std::int64_t rpc_time);
    /// s from now until the host is expected to come.
    double wait(Id host, std::int64_t rpc_time, double now) const;

  private:
    struct Contact {
        std::int64_t last = 0;
        float gap = 0;  ///< s, 0: seen once
    };
    std::unordered_map<Id, Contact> contacts_;
};

/// What is kept from one pass to the next.
struct FleetMemory {
    ContactGaps gaps;
    HostGpus gpus;
};

/// Hosts that were heard of in the last fifteen days, without those of `left_out`.
class FleetReader {
  public:
    FleetReader(const std::vector<LeftOutHost>& left_out, FleetMemory& memory, double now)
        : left_out_(left_out), memory_(memory), now_(now) {}
    /// `apps`: of the batches; GPUs are pools of their own where a version of one of these is for them.
    void read(PlanFactsStore& store, AppUses uses, const std::set<Id>& apps);
    FleetCapacity fleet;
    std::vector<std::int64_t> heard_of;  ///< UNIX s: the last request of each pool's host
    /// The pool that computes on `type`: the processors where the host has no such pool; nothing: the host is not
    /// there.
    std::optional<std::size_t> find(Id host, ProcType type) const;
    ProcType type_of(Id version) const { return uses_.type_of(version); }
    /// Jobs of a version of the app that run on a pool at a time, though it may not be sent any more.
    int held_at_once(std::size_t pool, Id app, Id version) const;

  private:
    void add(const HostSpeedRow& row);
    void add_host(const HostSpeedRow& row);
    void add_gpus(const HostSpeedRow& row, ProcType type, double speed);
    void add_measured(const HostSpeedRow& row);
    void estimate_gpus();
    void choose_threads(Id app, const std::vector<CpuUse>& versions);
    const std::vector<LeftOutHost>& left_out_;
    FleetMemory& memory_;
    double now_;
    AppUses uses_;
    std::array<bool, kProcTypes> wanted_{};
    std::vector<float> peak_;  ///< of one device of each pool, 0: not known
    std::unordered_map<Id, std::uint32_t> index_;
};

}  // namespace sluice
