// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A pass of gang_planner: reads gangs, leases and hosts, and writes what plan_gangs() decides.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemons/batches/gang_plan.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {

class GangService final : public Service {
  public:
    struct Settings {
        double contact = 0;  ///< s between two requests of any host (<next_rpc_delay>); 0: nobody knows
        int quota = 0;       ///< <daily_result_quota>
        bool dry_run = false;
        double every = 10;  ///< s between two passes
    };
    GangService(GangLeaseStore& store, BatchPlanStore& plans, const Clock& clock, const Settings& settings)
        : Service(settings.every), store_(store), plans_(plans), clock_(clock), settings_(settings) {}
    Turn turn() override { return run(), idle(); }
    /// What there is to say of each gang; what is not the same as in the pass before is logged.
    std::vector<std::string> run();
    /// What gangs would wait for after a pass, those that wait for nothing left out. Writes nothing, makes no table.
    std::vector<GangWait> look();

  private:
    GangFactsNow read(std::vector<std::string>& said);
    void read_instances(const std::vector<GangMemberRow>& members, GangFactsNow& facts, std::vector<std::string>& said);
    void give_up_silent(const GangId& gang, const GangInstance& instance, std::vector<std::string>& said);
    std::vector<GangWait> timed(const GangPlan& plan);
    void note(const std::vector<GangWait>& waits);
    void write(const GangFactsNow& facts, const GangPlan& plan, std::int64_t version, std::vector<std::string>& said);

    GangLeaseStore& store_;
    BatchPlanStore& plans_;
    const Clock& clock_;
    Settings settings_;
    bool prepared_ = false;
    bool quiet_ = false;                               ///< no gangs and no leases: only a gang that comes can make some
    std::optional<std::map<GangId, GangWait>> waits_;  ///< as they are stored; nullopt: not read yet
    GangId last_noted_{};                              ///< where not all can be noted, the next pass goes on behind it
    double hosts_read_ = 0;                            ///< UNIX s
    std::set<std::string> said_before_;
    /// Hosts that the scheduler did not send what they were given. Who starts anew tries them once more.
    std::map<GangId, std::set<Id>> unfit_;
};

struct HopelessGang {
    GangId id;
    std::vector<Id> workunits;  ///< to be cancelled: without them their batch would never end
    std::string why;
};
struct GangsToLookAt {
    std::vector<GangWork> gangs;
    std::vector<HopelessGang> hopeless;
    std::vector<std::string> cut;  ///< a line of each gang that no reply can carry: it is not planned
};
GangsToLookAt gangs_of(const std::vector<GangMemberRow>& members);

}  // namespace sluice
