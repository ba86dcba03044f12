#include "daemons/batch_planner/fleet_reader.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kHeardWithin = 15 * 86400;  ///< s
constexpr int kMostRows = 1'000'000;
constexpr double kUsualGap = 3600;                          ///< s between two contacts, where nothing is known
constexpr float kGapWeight = 0.2F;                          ///< of the newest
constexpr double kBenchmark = 1e9;                          ///< flops of a host that has none
constexpr double kLeastSpeed = 1e6, kGreatestSpeed = 1e15;  ///< flops: whatever it tells
constexpr int kMostCpus = 4096;

double fraction_of_time(double f) { return std::isfinite(f) && f > 0 ? std::clamp(f, 0.1, 1.0) : 1.0; }

}  // namespace

void ContactGaps::note(Id host, std::int64_t rpc_time) {
    Contact& c = contacts_[host];
    if (c.last != 0 && rpc_time > c.last) {
        const auto gap = static_cast<float>(rpc_time - c.last);
        c.gap = c.gap > 0 ? c.gap + kGapWeight * (gap - c.gap) : gap;
    }
    c.last = std::max(c.last, rpc_time);
}

double ContactGaps::wait(Id host, std::int64_t rpc_time, double now) const {
    const auto known = contacts_.find(host);
    const double gap = known != contacts_.end() && known->second.gap > 0 ? known->second.gap : kUsualGap;
    const double age = std::max(now - static_cast<double>(rpc_time), 0.0);
    return age < 2 * gap ? gap / 2 : age;
}

const std::uint32_t* FleetReader::find(Id host) const {
    const auto at = index_.find(host);
    return at == index_.end() ? nullptr : &at->second;
}

void FleetReader::add(const HostSpeedRow& row) {
    const bool again = !fleet.ids.empty() && fleet.ids.back() == row.host;
    if (!again) {
        const bool out = std::binary_search(left_out_.begin(), left_out_.end(), LeftOutHost{row.host, 0, 0},
                                            [](const auto& a, const auto& b) { return a.host < b.host; });
        if (out || !index_.emplace(row.host, static_cast<std::uint32_t>(fleet.size())).second) return;
        gaps_.note(row.host, row.rpc_time);
        fleet.ids.push_back(row.host);
        heard_of.push_back(row.rpc_time);
        fleet.cpus.push_back(std::clamp(row.cpus, 1, kMostCpus));
        fleet.free_at.push_back(gaps_.wait(row.host, row.rpc_time, now_));
        fleet.availability.push_back(static_cast<float>(fraction_of_time(row.on_frac * row.active_frac)));
        const bool known = std::isfinite(row.p_fpops) && row.p_fpops >= kLeastSpeed;
        const double speed = known ? std::min(row.p_fpops, kGreatestSpeed) : kBenchmark;
        fleet.seconds_per_op.push_back(static_cast<float>(1 / speed));
    }
    if (row.app == 0 || !(row.seconds_per_op > 0) || !std::isfinite(row.seconds_per_op)) return;
    std::vector<float>& of_app = fleet.measured[row.app];
    of_app.resize(fleet.size());
    float& known = of_app.back();  // the fastest version is the one that it gets
    const auto seconds = static_cast<float>(row.seconds_per_op);
    known = known > 0 ? std::min(known, seconds) : seconds;
}

void FleetReader::read(PlanFactsStore& store) {
    store.hosts({static_cast<std::int64_t>(now_ - kHeardWithin), kMostRows},
                [this](const HostSpeedRow& row) { add(row); });
    for (auto& [app, speeds] : fleet.measured) speeds.resize(fleet.size());
}

}  // namespace sluice
