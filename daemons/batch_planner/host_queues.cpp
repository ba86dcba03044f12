#include "daemons/batch_planner/host_queues.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice {

void HostQueues::note(std::vector<Held> held, double now) {
    std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
        return std::tuple(a.host, a.sent, a.result) < std::tuple(b.host, b.sent, b.result);
    });
    std::unordered_map<Id, Host> before = std::exchange(hosts_, {});
    jobs_.clear();
    for (auto first = held.begin(); first != held.end();) {
        const auto end = std::find_if(first, held.end(), [&](const Held& h) { return h.host != first->host; });
        const auto cpus = static_cast<std::size_t>(std::max(first->cpus, 1));
        Host& host = hosts_[first->host];
        for (auto h = first; h != end; ++h) host.jobs.push_back(h->result);
        std::sort(host.jobs.begin(), host.jobs.end());
        if (const auto known = before.find(first->host); known != before.end()) {
            const Host& b = known->second;
            host.queue = b.queue, host.progress = b.progress;
            const auto gone = [&](Id result) {
                return !std::binary_search(host.jobs.begin(), host.jobs.end(), result);
            };
            if (b.queue && std::any_of(b.jobs.begin(), b.jobs.end(), gone)) host.progress = now;
        }
        if (host.jobs.size() > cpus) {
            if (first_pass_) host.progress = now;  // who knows since when
            host.queue = true;
        }
        for (auto h = first; h != end; ++h) {
            const auto place = static_cast<std::size_t>(h - first);
            Job& job = jobs_[h->result];
            job.host = h->host;
            job.runs = place < cpus;
            if (job.runs) {
                job.start = std::max(h->sent, host.progress);
            } else {
                const Held& ahead = *(h - static_cast<std::ptrdiff_t>(cpus));
                job.start = std::max(now, jobs_[ahead.result].start + ahead.run_time);
            }
        }
        first = end;
    }
    first_pass_ = false;
}

}  // namespace sluice
