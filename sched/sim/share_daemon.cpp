#include "sched/sim/share_daemon.h"

#include <algorithm>
#include <vector>

#include "daemons/batch_shares/share_config.h"
#include "daemons/batch_shares/shares_pass.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "db/memory/batch_store.h"
#include "db/memory/share_store.h"
#include "sluice/base/error.h"

namespace sluice::sim {

struct ShareDaemon::Parts {
    /// A user who is not there yet has no quota: nobody's share is the smaller for him.
    struct Arrival {
        double at;
        Id user;
        double quota;
    };
    double interval;
    ShareSettings settings;
    const Clock& clock;
    MemoryBatchUpkeepStore upkeep;
    MemoryShareStore store;
    std::vector<Arrival> arrivals;
    double next = 0;
};

ShareDaemon::ShareDaemon(const Scenario& scenario, const ProjectConfig& config, MemoryDb& db, const Clock& clock) {
    if (scenario.shares_every_minutes <= 0) return;
    const auto settings = share_settings(config);
    if (!settings) throw ConfigError("batch_shares: <share_rule> is off: set it to settled or seed");
    parts_.reset(new Parts{
        60 * scenario.shares_every_minutes, *settings, clock, MemoryBatchUpkeepStore(db), MemoryShareStore(db), {}});
    for (std::size_t u = 0; u < scenario.users.size(); ++u) {
        double from = 1e9;
        for (const WorkSpec& work : scenario.work)
            if (work.user == scenario.users[u].name) from = std::min(from, work.from_day);
        parts_->arrivals.push_back({clock.now() + from * kDay, static_cast<Id>(u) + 1, scenario.users[u].quota});
    }
}

ShareDaemon::~ShareDaemon() = default;

void ShareDaemon::run() {
    if (!parts_ || parts_->clock.now() < parts_->next) return;
    Parts& p = *parts_;
    p.next = p.clock.now() + p.interval;
    for (const Parts::Arrival& a : p.arrivals)
        if (a.at <= p.clock.now()) p.store.quotas[a.user] = a.quota;
    upkeep_pass(p.upkeep, {}, p.clock);
    shares_pass(p.store, p.settings, p.clock);
}

}  // namespace sluice::sim
