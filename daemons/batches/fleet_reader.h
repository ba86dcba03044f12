// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's hosts as the planner sees them: what they can do, and when they can start.
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemons/batches/planner_plan.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/match/cpu_use.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/codes.h"

namespace sluice {

/// host.misc -> devices of each type, 64 at most. All 0: it does not say.
std::array<std::uint8_t, kProcTypes> gpus_of_misc(const std::string& misc);

/// GPUs of hosts by type: what a host says of itself is read when it has come, not of all hosts each minute.
class HostGpus {
  public:
    /// `misc`: empty if it was not read.
    void note(Id host, const std::string& misc);
    /// Of a host with `gpus` devices of all types: those of `type`. As long as a host has not said which it has, all
    /// may be.
    int count(Id host, ProcType type, int gpus) const;
    /// What hosts said before that time is known.
    std::int64_t known_until() const { return known_until_; }
    void set_known_until(std::int64_t time) { known_until_ = time; }

  private:
    std::unordered_map<Id, std::array<std::uint8_t, kProcTypes>> hosts_;
    std::int64_t known_until_ = 0;  ///< UNIX s
};

/// What a job of an app takes of a host: by the plan classes of the versions that the scheduler would choose from.
class AppUses {
  public:
    AppUses() = default;
    AppUses(const std::vector<AppVersionUse>& versions, const PlanClasses& classes, int compat_level);
    /// An app without an entry is one for processors: no version of it is known.
    const std::unordered_map<Id, AppUse>& of_apps() const { return apps_; }
    /// Sent versions for processors, of an app of which a job may take several. Null: it takes one, on any host.
    const std::vector<CpuUse>* threads_of_app(Id app) const;
    /// What a job of a version for processors takes, `version` as type_of() has it; one of a client's own: one.
    CpuUse cpu_use(Id version) const;
    /// The resource of a version: app_version.id, generalized_version_id(), or as result.app_version_id has it.
    ProcType type_of(Id version) const;

  private:
    std::unordered_map<Id, AppUse> apps_;
    std::unordered_map<Id, ProcType> gpu_versions_;
    std::unordered_map<Id, CpuUse> cpu_versions_;  ///< those whose class says something of it
    std::unordered_map<Id, std::vector<CpuUse>> threads_;
};

/// Operations of rsc_fpops_est a second of one job, as long as nobody has measured it on the host: the scheduler's own
/// estimate. `benchmark`: of a processor, `peak`: of a device; a second's operations.
double unmeasured_speed(const ResourceUse& use, double benchmark, double peak);

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
    void read(BatchPlanFactsStore& store, AppUses uses, const std::set<Id>& apps);
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
