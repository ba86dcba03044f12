#include "sched/sim/share_daemon.h"

#include <algorithm>
#include <vector>

#include "daemons/batch_shares/share_config.h"
#include "daemons/batch_shares/shares_pass.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "db/memory/batch_store.h"
#include "db/memory/share_store.h"
#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice::sim {

struct ShareDaemon::Parts {
    /// A user who is not there yet has no quota: nobody's share is the smaller for him.
    struct Arrival {
        double at;
        Id user;
        double quota;
    };
    ShareSettings settings;
    const Clock& clock;
    MemoryBatchUpkeepStore upkeep;
    MemoryShareStore store;
    std::vector<Arrival> arrivals;
    SharesTurns turns;
    Parts(const ShareSettings& rules, MemoryDb& db, const Clock& time, double every)
        : settings(rules), clock(time), upkeep(db), store(db), turns(store, settings, clock, every) {
        store.since = time.now();
    }
};

ShareDaemon::ShareDaemon(const Scenario& scenario, const ProjectConfig& config, MemoryDb& db, const Clock& clock) {
    if (scenario.shares_every_minutes <= 0) return;
    auto settings = share_settings(config);
    if (!settings) throw ConfigError("batch_shares: <share_rule> is off: set it to settled or seed");
    if (config.gives_an_owner_to_jobs_without_batch())
        settings->owner_without_batch = parse_int(config.jobs_without_batch).value_or(0);
    parts_ = std::make_unique<Parts>(*settings, db, clock, 60 * scenario.shares_every_minutes);
    for (std::size_t u = 0; u < scenario.users.size(); ++u) {
        double from = 1e9;
        for (const WorkSpec& work : scenario.work)
            if (work.user == scenario.users[u].name) from = std::min(from, work.from_day);
        parts_->arrivals.push_back({clock.now() + from * kDay, static_cast<Id>(u) + 1, scenario.users[u].quota});
    }
}

ShareDaemon::~ShareDaemon() = default;

bool ShareDaemon::run() {
    if (!parts_) return false;
    Parts& p = *parts_;
    for (const Parts::Arrival& a : p.arrivals)
        if (a.at <= p.clock.now()) p.store.quotas[a.user] = a.quota;
    if (p.turns.pass_is_due()) upkeep_pass(p.upkeep, {}, p.clock);
    const ShareOutcome done = p.turns.take().done;
    return done.admitted + done.adopted > 0;
}

}  // namespace sluice::sim
