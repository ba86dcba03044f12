#include "daemons/batch_planner/host_queues.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice {

void HostQueues::note(std::vector<Held> held, double now) {
    std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
        return std::tuple(a.pool, a.sent, a.result) < std::tuple(b.pool, b.sent, b.result);
    });
    std::unordered_map<Id, Pool> before = std::exchange(pools_, {});
    jobs_.clear();
    for (auto first = held.begin(); first != held.end();) {
        const auto end = std::find_if(first, held.end(), [&](const Held& h) { return h.pool != first->pool; });
        const auto at_once = static_cast<std::size_t>(std::max(first->at_once, 1));
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
        if (pool.jobs.size() > at_once) {
            if (first_pass_) pool.progress = now;  // who knows since when
            pool.queue = true;
        }
        for (auto h = first; h != end; ++h) {
            const auto place = static_cast<std::size_t>(h - first);
            Job& job = jobs_[h->result];
            job.pool = h->pool;
            job.runs = place < at_once;
            if (job.runs) {
                job.start = std::max(h->sent, pool.progress);
            } else {
                const Held& ahead = *(h - static_cast<std::ptrdiff_t>(at_once));
                job.start = std::max(now, jobs_[ahead.result].start + ahead.run_time);
            }
        }
        first = end;
    }
    first_pass_ = false;
}

}  // namespace sluice
