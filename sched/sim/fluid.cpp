// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/fluid.h"

#include <algorithm>
#include <numeric>

namespace sluice::sim {
namespace {

constexpr int kHalvings = 60;
constexpr double kSame = 1e-9;  ///< of all that is there

double total(const PerDevice& p) { return p[0] + p[1]; }

class Filling {
  public:
    Filling(const std::vector<double>& quotas, const std::vector<PerDevice>& work, const PerDevice& there)
        : quotas_(quotas), work_(work), there_(there), gets_(quotas.size()) {}

    std::vector<double> totals() {
        std::vector<bool> rises(quotas_.size());
        for (std::size_t u = 0; u < quotas_.size(); ++u) rises[u] = quotas_[u] > 0 && total(work_[u]) > 0;
        while (std::find(rises.begin(), rises.end(), true) != rises.end()) {
            raise(rises);
            // Those stop for whom a little more is too much.
            bool any = false;
            for (std::size_t u = 0; u < rises.size(); ++u) {
                if (!rises[u]) continue;
                const double more = kSame * total(there_);
                gets_[u] += more;
                const bool stops = !feasible();
                gets_[u] -= more;
                if (stops) rises[u] = false, any = true;
            }
            if (!any) break;
        }
        return gets_;
    }

  private:
    /// All rise by their quotas until nobody can.
    void raise(const std::vector<bool>& rises) {
        const std::vector<double> from = gets_;
        double quota = 0, low = 0;
        for (std::size_t u = 0; u < rises.size(); ++u)
            if (rises[u]) quota = quota > 0 ? std::min(quota, quotas_[u]) : quotas_[u];
        double high = total(there_) / quota;
        const auto set = [&](double level) {
            for (std::size_t u = 0; u < rises.size(); ++u) gets_[u] = from[u] + (rises[u] ? level * quotas_[u] : 0);
        };
        for (int i = 0; i < kHalvings; ++i) {
            const double middle = (low + high) / 2;
            set(middle);
            (feasible() ? low : high) = middle;
        }
        set(low);
    }
    /// What a user gets beyond his work for the one kind must be had of the other.
    bool feasible() const {
        PerDevice must{};
        for (std::size_t u = 0; u < gets_.size(); ++u) {
            if (gets_[u] > total(work_[u])) return false;
            for (const std::size_t d : {0u, 1u}) must[d] += std::max(0.0, gets_[u] - work_[u][1 - d]);
        }
        const double all = std::accumulate(gets_.begin(), gets_.end(), 0.0);
        return must[0] <= there_[0] && must[1] <= there_[1] && all <= total(there_);
    }

    const std::vector<double>& quotas_;
    const std::vector<PerDevice>& work_;
    const PerDevice& there_;
    std::vector<double> gets_;
};

}  // namespace

std::vector<PerDevice> fluid_of(const std::vector<double>& quotas, const std::vector<PerDevice>& work,
                                const PerDevice& there) {
    const std::vector<double> totals = Filling(quotas, work, there).totals();
    // Of processors each gets at least what he can't have of GPUs, and all together what GPUs don't do.
    double least = 0, most = 0, all = 0;
    for (std::size_t u = 0; u < totals.size(); ++u) {
        least += std::max(0.0, totals[u] - work[u][1]);
        most += std::min(totals[u], work[u][0]);
        all += totals[u];
    }
    const double wanted = std::clamp(all - there[1], least, std::max(least, most));
    const double part = most > least ? (wanted - least) / (most - least) : 0;
    std::vector<PerDevice> parts(totals.size());
    for (std::size_t u = 0; u < totals.size(); ++u) {
        const double low = std::max(0.0, totals[u] - work[u][1]), high = std::min(totals[u], work[u][0]);
        parts[u][0] = low + part * (high - low);
        parts[u][1] = totals[u] - parts[u][0];
    }
    return parts;
}

}  // namespace sluice::sim
