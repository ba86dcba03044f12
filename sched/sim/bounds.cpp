// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/bounds.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "sched/sim/client.h"

namespace sluice::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostPairs = 20'000'000;

/// When a host has computed for so long: walks its sessions on from some time.
class Worker {
  public:
    Worker(const HostRecord& host, std::uint64_t seed, double start, double from)
        : host_(&host),
          sessions_(host.spec, seed, host.joined - start),
          rng_(seed, 3, host.spec.number),
          at_(host.joined) {
        toggle_ = at_ + sessions_.first(rng_);
        pass_until(std::max(from, host.joined));
    }
    /// The time at which another `seconds` of run time are done; infinite if the host leaves before.
    double run(double seconds) {
        const double rate = 1 - host_->spec.other_share;
        for (double left = seconds / rate;;) {
            if (at_ >= host_->left) return kNever;
            const double step = toggle_ - at_;
            if (sessions_.on() && left <= step) {
                at_ += left;
                return at_ < host_->left ? at_ : kNever;
            }
            if (sessions_.on()) left -= step;
            change();
        }
    }

  private:
    void change() {
        at_ = toggle_;
        sessions_.toggle();
        toggle_ = at_ + sessions_.next();
    }
    void pass_until(double time) {
        while (toggle_ < time) change();
        at_ = std::max(at_, time);
    }
    const HostRecord* host_;
    Sessions sessions_;
    SmallRng rng_;
    double at_, toggle_;
};

double first_contact(const HostRecord& host, double arrived, double start) {
    const auto hours = static_cast<float>((arrived - start) / 3600);
    const auto at = std::lower_bound(host.contacts.begin(), host.contacts.end(), hours);
    return at == host.contacts.end() ? kNever : start + 3600.0 * static_cast<double>(*at);
}

/// Hours until `batch.jobs` jobs are done; each core, or GPU, takes the next as soon as it is free.
double makespan(const std::vector<HostRecord>& hosts, const BatchRecord& batch, std::uint64_t seed, double start,
                bool at_contact) {
    struct Next {
        double time;
        std::size_t worker;
        bool operator>(const Next& other) const { return time > other.time; }
    };
    std::vector<Worker> workers;
    std::vector<double> run_time;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    for (const HostRecord& h : hosts) {
        const double from = at_contact ? first_contact(h, batch.arrived, start) : std::max(batch.arrived, h.joined);
        if (from >= h.left || from == kNever || (!at_contact && h.joined > batch.arrived + 30 * 86400.0)) continue;
        if (batch.threads && h.spec.cores < 2) continue;
        const double each = batch.gpu ? kGpuSpeed : batch.threads ? h.spec.cores : 1;
        const double seconds = batch.mean_flops / (h.spec.speed * 1e9 * each);
        for (int device = 0; device < (batch.gpu ? h.spec.gpus : batch.threads ? 1 : h.spec.cores); ++device) {
            workers.emplace_back(h, seed, start, from);
            run_time.push_back(seconds);
            const double end = workers.back().run(seconds);
            if (end < kNever) queue.push({end, workers.size() - 1});
        }
    }
    double last = kNever;
    for (int done = 0; done < batch.jobs && !queue.empty(); ++done) {
        const Next next = queue.top();
        queue.pop();
        last = done + 1 == batch.jobs ? next.time : kNever;
        const double end = workers[next.worker].run(run_time[next.worker]);
        if (end < kNever) queue.push({end, next.worker});
    }
    return last == kNever ? 0 : (last - batch.arrived) / 3600;
}

}  // namespace

Bounds lower_bounds(const std::vector<HostRecord>& hosts, const std::vector<BatchRecord>& batches, std::uint64_t seed,
                    double start) {
    Bounds bounds;
    if (hosts.size() * batches.size() > kMostPairs) return bounds;
    for (const BatchRecord& b : batches) {
        bounds.idle_fleet_hours.push_back(makespan(hosts, b, seed, start, false));
        bounds.real_contacts_hours.push_back(makespan(hosts, b, seed, start, true));
    }
    return bounds;
}

std::optional<double> times_contact_bound(const FleetResult& result) {
    const std::vector<double>& bounds = result.bounds.real_contacts_hours;
    if (bounds.empty()) return std::nullopt;
    std::vector<double> times;
    for (std::size_t i = 0; i < bounds.size(); ++i)
        times.push_back(result.makespans_hours[i] / std::max(bounds[i], 1e-3));
    return spread_of(std::move(times)).p50;
}

}  // namespace sluice::sim
