// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a pass of batch_planner has read.
#include <algorithm>
#include <optional>

#include "daemons/batches/planner.h"
#include "sluice/model/batch.h"

namespace sluice {

struct BatchPlanner::Facts {
    Facts(FleetMemory& memory, double t) : now(t), reader(left_out, memory, t) {}
    Facts(const Facts&) = delete;
    double now;
    NewestIds newest;
    std::vector<Batch> batches;    ///< in their order
    std::vector<Id> ids() const {  ///< of batches
        std::vector<Id> all;
        for (const Batch& b : batches) all.push_back(b.id);
        return all;
    }
    std::vector<LeftOutHost> left_out;
    FleetReader reader;
    std::vector<BatchDemand> demands;   ///< of those with open workunits, in the batches' order
    std::vector<BatchDemand> of_gangs;  ///< not to be planned
    bool jobs_wait = false;             ///< of a planned batch, for hosts that take them
    std::vector<OpenBatchResult> in_progress;
    std::map<Id, double> ratios;  ///< of `demands`: by which mean_fpops was multiplied
    static const BatchDemand* find(const std::vector<BatchDemand>& all, Id batch) {
        const auto at = std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.batch == batch; });
        return at == all.end() ? nullptr : &*at;
    }
    const BatchDemand* demand(Id batch) const { return find(demands, batch); }
    /// Of one that is planned, or of gangs: a host that computes a member has less time.
    const BatchDemand* any_demand(Id batch) const {
        const BatchDemand* planned = demand(batch);
        return planned != nullptr ? planned : find(of_gangs, batch);
    }
    /// When it was sent. In the future: the server's clock was ahead then.
    double sent(const OpenBatchResult& r) const { return std::min(static_cast<double>(r.sent_time), now); }
    /// The devices that it has; nothing: its host is not in the fleet.
    std::optional<std::size_t> pool_of(const OpenBatchResult& r) const {
        return reader.find(r.host, reader.type_of(r.version));
    }
    /// The same as pool_key().
    Id pool_key_of(const OpenBatchResult& r) const {
        const auto pool = pool_of(r);
        return pool_key(r.host, pool ? reader.fleet.types[*pool] : ProcType::kCpu);
    }
    /// 0: its batch is neither planned nor one of gangs.
    Id app(const OpenBatchResult& r) const {
        const BatchDemand* d = any_demand(r.batch);
        return d == nullptr ? 0 : d->app;
    }
    /// s of computing on its host.
    double computing(const OpenBatchResult& r) const {
        const BatchDemand* d = any_demand(r.batch);
        if (d == nullptr) return 0;
        const auto pool = pool_of(r);
        return pool ? reader.fleet.computing(*pool, d->app, d->mean_fpops) : d->mean_fpops / 1e9;
    }
    double availability(const OpenBatchResult& r) const {
        const auto pool = pool_of(r);
        return pool ? reader.fleet.availability[*pool] : 0.5;
    }
    /// Wall time of its run; a number whatever estimates and hosts say.
    double run_time(const OpenBatchResult& r) const {
        constexpr double kLongest = 1e9;
        const double time = planned_run_time(computing(r), availability(r));
        return time < kLongest ? time : kLongest;
    }
    /// No job of the batch waits for a host: what is left of it is in progress.
    bool all_sent(Id batch) const {
        const BatchDemand* d = demand(batch);
        return d != nullptr && d->jobs == 0;
    }
};

}  // namespace sluice
