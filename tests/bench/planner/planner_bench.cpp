// SPDX-License-Identifier: LGPL-3.0-or-later
// What a plan costs: batch_planner's pass over hosts and batches that are in memory, so that only reading rows into a
// fleet and planning are measured. Prints seconds (the best and all of five passes) and the memory that a pass adds at
// its peak.
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "daemons/batches/fleet_reader.h"
#include "daemons/batches/planner_plan.h"

using namespace sluice;

namespace {

/// Hosts whose speeds differ a thousandfold, with two measured apps each.
class MadeUpHosts final : public BatchPlanFactsStore {
  public:
    explicit MadeUpHosts(int n) {
        std::mt19937_64 bits(1);
        std::lognormal_distribution<double> speed(0, 1.15);
        std::uniform_real_distribution<double> uniform;
        for (int i = 0; i < n; ++i) {
            HostSpeedRow row{i + 1,
                             1 << static_cast<int>(4 * uniform(bits)),
                             1e9 * speed(bits),
                             0.3 + 0.7 * uniform(bits),
                             1,
                             1'000'000 - static_cast<std::int64_t>(80000 * uniform(bits)),
                             1,
                             0};
            row.seconds_per_op = 1 / row.p_fpops;
            rows_.push_back(row);
            row.app = 2;
            rows_.push_back(row);
        }
    }
    void hosts(const HostSelection&, const std::function<void(const HostSpeedRow&)>& row) override {
        for (const HostSpeedRow& r : rows_) row(r);
    }
    std::vector<AppVersionUse> versions() override { return {}; }
    std::vector<BatchDemandRow> demands(std::span<const Id>) override { return {}; }
    void open_results(std::span<const Id>, const std::function<void(const OpenBatchResult&)>&) override {}
    std::vector<ReturnedBatchResult> returned(std::span<const Id>) override { return {}; }
    std::vector<LeftOutHost> failing_hosts(std::span<const Id>) override { return {}; }
    std::vector<Id> gang_batches(std::span<const Id>) override { return {}; }
    NewestIds newest() override { return {}; }

  private:
    std::vector<HostSpeedRow> rows_;
};

/// A line of /proc/self/status, in MB.
double status_mb(const std::string& name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name)) return std::strtod(line.c_str() + name.size(), nullptr) / 1024;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const int hosts = argc > 1 ? std::atoi(argv[1]) : 100'000, batches = argc > 2 ? std::atoi(argv[2]) : 50;
    MadeUpHosts store(hosts);
    FleetMemory memory;
    const std::vector<LeftOutHost> nobody;
    std::vector<BatchDemand> demands;
    for (int b = 0; b < batches; ++b)
        demands.push_back({b + 1, 1 + b % 2, 1000 * (1 + b % 7) * std::max(1, hosts / 10000), 3.6e12 * (1 + b % 5), 0});
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak from here on
    const double before = status_mb("VmRSS:");
    std::vector<double> times;
    std::size_t planned = 0;
    for (int pass = 0; pass < 5; ++pass) {
        const auto start = std::chrono::steady_clock::now();
        FleetReader reader(nobody, memory, 1'000'000);
        reader.read(store, AppUses(), {1, 2});
        const auto targets = plan_batches(reader.fleet, demands, PlanRules{});
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        planned = static_cast<std::size_t>(
            std::count_if(targets.begin(), targets.end(), [](const BatchTarget& t) { return t.planned; }));
    }
    std::sort(times.begin(), times.end());
    fmt::print(
        "{} hosts, {} batches ({} planned): {:.3f} s a plan (five: {:.3f} to {:.3f} s), {:.1f} MB more at the peak\n",
        hosts, batches, planned, times[2], times.front(), times.back(), status_mb("VmHWM:") - before);
    return planned == static_cast<std::size_t>(batches) ? 0 : 1;
}
