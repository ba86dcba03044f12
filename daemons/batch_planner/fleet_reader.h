#pragma once
// A project's hosts as the planner sees them: what they can do, and when they can start.
#include <unordered_map>

#include "daemons/batch_planner/batches_plan.h"
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

/// Hosts that were heard of in the last fifteen days, without those of `left_out`.
class FleetReader {
  public:
    FleetReader(const std::vector<LeftOutHost>& left_out, ContactGaps& gaps, double now)
        : left_out_(left_out), gaps_(gaps), now_(now) {}
    void read(PlanFactsStore& store);
    FleetCapacity fleet;
    std::vector<std::int64_t> heard_of;  ///< UNIX s: each host's last request
    /// Index in the fleet; nothing: it is not there.
    const std::uint32_t* find(Id host) const;

  private:
    void add(const HostSpeedRow& row);
    const std::vector<LeftOutHost>& left_out_;
    ContactGaps& gaps_;
    double now_;
    std::unordered_map<Id, std::uint32_t> index_;
};

}  // namespace sluice
