// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/host_queues.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

/// Of a pool's jobs in their order, the last that must end before this one has its devices; null: it has them.
const HostQueues::Held* in_the_way_of(std::span<const HostQueues::Held> jobs, std::size_t place) {
    constexpr double kRounding = 1e-9;
    const auto part = [&](std::size_t i) { return 1.0 / std::max(jobs[i].at_once, 1); };
    double taken = part(place);
    for (std::size_t i = place; i > 0; --i)
        if ((taken += part(i - 1)) > 1 + kRounding) return &jobs[i - 1];
    return nullptr;
}

}  // namespace

void HostQueues::note(std::vector<Held> held, double now) {
    std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
        return std::tuple(a.pool, a.sent, a.result) < std::tuple(b.pool, b.sent, b.result);
    });
    std::unordered_map<Id, Pool> before = std::exchange(pools_, {});
    jobs_.clear();
    for (auto first = held.begin(); first != held.end();) {
        const auto end = std::find_if(first, held.end(), [&](const Held& h) { return h.pool != first->pool; });
        Pool& pool = pools_[first->pool];
        for (auto h = first; h != end; ++h) pool.jobs.push_back(h->result);
        std::sort(pool.jobs.begin(), pool.jobs.end());
        if (const auto known = before.find(first->pool); known != before.end()) {
            const Pool& b = known->second;
            pool.queue = b.queue, pool.progress = b.progress;
            const auto gone = [&](Id result) {
                return !std::binary_search(pool.jobs.begin(), pool.jobs.end(), result);
            };
            if (b.queue && std::any_of(b.jobs.begin(), b.jobs.end(), gone)) pool.progress = now;
        }
        if (in_the_way_of({first, end}, pool.jobs.size() - 1) != nullptr) {
            if (first_pass_) pool.progress = now;  // who knows since when
            pool.queue = true;
        }
        for (auto h = first; h != end; ++h) {
            const Held* const ahead = in_the_way_of({first, end}, static_cast<std::size_t>(h - first));
            Job& job = jobs_[h->result];
            job.pool = h->pool;
            job.runs = ahead == nullptr;
            job.start = job.runs ? std::max(h->sent, pool.progress)
                                 : std::max(now, jobs_[ahead->result].start + ahead->run_time);
        }
        first = end;
    }
    first_pass_ = false;
}

}  // namespace sluice
