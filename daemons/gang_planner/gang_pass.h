#pragma once
// A pass of gang_planner: reads gangs, leases and hosts, and writes what plan_gangs() decides.
#include <set>
#include <string>

#include "daemons/gang_planner/plan.h"
#include "sluice/base/clock.h"

namespace sluice {

class GangPass {
  public:
    GangPass(GangStore& store, const Clock& clock, bool dry_run) : store_(store), clock_(clock), dry_run_(dry_run) {}
    /// What there is to say of each gang; what is not the same as in the pass before is logged.
    std::vector<std::string> run();

  private:
    GangFactsNow read(std::vector<std::string>& said);
    GangStore& store_;
    const Clock& clock_;
    bool dry_run_, prepared_ = false;
    std::set<std::string> said_before_;
};

/// Members of open gangs as gangs; of those that can't go on a line is said.
std::vector<GangWork> gangs_of(const std::vector<GangMemberRow>& members, std::vector<std::string>& said);

}  // namespace sluice
