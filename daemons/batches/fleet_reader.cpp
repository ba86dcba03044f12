// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/fleet_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

constexpr std::int64_t kMostGpus = 64;
/// In the order of ProcType; "" is the processor.
constexpr std::array<const char*, kProcTypes> kGpuWords{"", "nvidia", "amd", "intel", "apple"};

}  // namespace

std::array<std::uint8_t, kProcTypes> gpus_of_misc(const std::string& misc) {
    std::array<std::uint8_t, kProcTypes> counts{};
    const auto json = nlohmann::json::parse(misc, nullptr, false);
    if (!json.is_object() || !json.contains("gpus") || !json["gpus"].is_array()) return counts;
    for (const auto& gpu : json["gpus"]) {
        if (!gpu.is_object() || !gpu.contains("type") || !gpu["type"].is_string()) continue;
        const auto type = std::ranges::find(kGpuWords, gpu["type"].get<std::string>());
        if (type == kGpuWords.begin() || type == kGpuWords.end()) continue;
        const bool counted = gpu.contains("count") && gpu["count"].is_number_integer();
        const auto n = std::clamp<std::int64_t>(counted ? gpu["count"].get<std::int64_t>() : 1, 1, kMostGpus);
        auto& count = counts[static_cast<std::size_t>(type - kGpuWords.begin())];
        count = static_cast<std::uint8_t>(std::min(count + n, kMostGpus));
    }
    return counts;
}

void HostGpus::note(Id host, const std::string& misc) {
    if (!misc.empty()) hosts_[host] = gpus_of_misc(misc);
}

int HostGpus::count(Id host, ProcType type, int gpus) const {
    const int all = std::clamp<int>(gpus, 0, kMostGpus);
    const auto known = hosts_.find(host);
    if (known == hosts_.end() || std::ranges::none_of(known->second, std::identity())) return all;
    return std::min<int>(all, known->second[static_cast<std::size_t>(type)]);
}

namespace {

constexpr double kVersionSamples = 100;  ///< statistics of a version count from more than that, as in the scheduler

ResourceUse use_of(const AppVersionUse& v, ProcType type, const PlanClasses& classes, int level) {
    if (type == ProcType::kCpu) return {.devices = 1};
    const GpuUse gpu = classes.gpu_use(v.plan_class, level);
    const bool known = v.pfc_n > kVersionSamples && std::isfinite(v.pfc_avg) && v.pfc_avg > 0;
    return {gpu.devices, gpu.cpus, gpu.peak_scale, gpu.projected, known ? v.pfc_avg : 0};
}

bool is_threaded(const CpuUse& use) { return use.fixed > 1 || (use.fixed <= 0 && use.most > 1) || use.least > 1; }

}  // namespace

AppUses::AppUses(const std::vector<AppVersionUse>& versions, const PlanClasses& classes, int compat_level) {
    for (const AppVersionUse& v : versions) {
        const auto types = classes.resources(v.plan_class, compat_level);
        const ProcType type = classes.resource(v.plan_class, compat_level);
        const CpuUse cpus = type == ProcType::kCpu ? sluice::cpu_use(classes, v.plan_class, compat_level) : CpuUse{};
        if (type != ProcType::kCpu) gpu_versions_.emplace(v.id, type);
        if (cpus != CpuUse{}) cpu_versions_.emplace(v.id, cpus);
        if (!v.sent) continue;
        if (type == ProcType::kCpu) threads_[v.app].push_back(cpus);
        AppUse& app = apps_[v.app];
        for (std::size_t t = 0; t < types.size(); ++t) {
            if (!types[t]) continue;
            const ResourceUse use = use_of(v, static_cast<ProcType>(t), classes, compat_level);
            if (!(app[t].devices > 0) || use.projected > app[t].projected) app[t] = use;
        }
    }
    std::erase_if(threads_, [](const auto& of) { return std::ranges::none_of(of.second, is_threaded); });
}

const std::vector<CpuUse>* AppUses::threads_of_app(Id app) const {
    const auto at = threads_.find(app);
    return at == threads_.end() ? nullptr : &at->second;
}

CpuUse AppUses::cpu_use(Id version) const {
    const auto at = cpu_versions_.find(version);
    return at == cpu_versions_.end() ? CpuUse{} : at->second;
}

ProcType AppUses::type_of(Id version) const {
    if (const auto type = anonymous_type(version)) return *type;
    if (const auto own = anonymous_version(version)) return own->type;
    const auto at = gpu_versions_.find(version);
    return at == gpu_versions_.end() ? ProcType::kCpu : at->second;
}

double unmeasured_speed(const ResourceUse& use, double benchmark, double peak) {
    if (use.pfc > 0 && peak > 0) return (use.devices * use.peak_scale * peak + use.cpus * benchmark) / use.pfc;
    return benchmark * (use.cpus + kGpuPerCpu * use.devices);
}

namespace {

constexpr double kHeardWithin = 15 * 86400;  ///< s
constexpr int kMostRows = 1'000'000;
constexpr double kUsualGap = 3600;                          ///< s between two contacts, where nothing is known
constexpr float kGapWeight = 0.2F;                          ///< of the newest
constexpr double kBenchmark = 1e9;                          ///< flops of a host that has none
constexpr double kLeastSpeed = 1e6, kGreatestSpeed = 1e15;  ///< flops: whatever it tells
constexpr int kMostCpus = 4096;
constexpr double kRequestLasts = 300;  ///< s from a host's rpc_time until all that it said is in the database, at most

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

std::optional<std::size_t> FleetReader::find(Id host, ProcType type) const {
    const auto at = index_.find(host);
    if (at == index_.end()) return std::nullopt;
    for (std::size_t p = at->second; p < fleet.size() && fleet.ids[p] == host; ++p)
        if (fleet.types[p] == type) return p;
    return at->second;
}

void FleetReader::add_gpus(const HostSpeedRow& row, ProcType type, double speed) {
    const int gpus = memory_.gpus.count(row.host, type, row.gpus);
    if (gpus == 0) return;
    fleet.ids.push_back(row.host);
    fleet.types.push_back(type);
    heard_of.push_back(row.rpc_time);
    fleet.cpus.push_back(gpus);
    fleet.free_at.push_back(fleet.free_at.back());
    const bool told = std::isfinite(row.gpu_active_frac) && row.gpu_active_frac > 0;
    const double active = told ? row.gpu_active_frac : row.active_frac;
    fleet.availability.push_back(static_cast<float>(fraction_of_time(row.on_frac * active)));
    fleet.seconds_per_op.push_back(static_cast<float>(1 / (kGpuPerCpu * speed)));
    const double peak = row.gpu_fpops / std::max(row.gpus, 1);
    peak_.push_back(std::isfinite(peak) && peak >= kLeastSpeed ? static_cast<float>(std::min(peak, kGreatestSpeed))
                                                               : 0);
}

void FleetReader::add_host(const HostSpeedRow& row) {
    memory_.gaps.note(row.host, row.rpc_time);
    fleet.ids.push_back(row.host);
    fleet.types.push_back(ProcType::kCpu);
    heard_of.push_back(row.rpc_time);
    fleet.cpus.push_back(std::clamp(row.cpus, 1, kMostCpus));
    fleet.free_at.push_back(memory_.gaps.wait(row.host, row.rpc_time, now_));
    fleet.availability.push_back(static_cast<float>(fraction_of_time(row.on_frac * row.active_frac)));
    const bool known = std::isfinite(row.p_fpops) && row.p_fpops >= kLeastSpeed;
    const double speed = known ? std::min(row.p_fpops, kGreatestSpeed) : kBenchmark;
    fleet.seconds_per_op.push_back(static_cast<float>(1 / speed));
    peak_.push_back(0);
    for (std::size_t t = 1; t < wanted_.size(); ++t)
        if (wanted_[t]) add_gpus(row, static_cast<ProcType>(t), speed);
}

void FleetReader::add_measured(const HostSpeedRow& row) {
    if (row.app == 0 || !(row.seconds_per_op > 0) || !std::isfinite(row.seconds_per_op)) return;
    const ProcType type = type_of(row.version);
    const auto pool = find(row.host, type);
    if (!pool || fleet.types[*pool] != type) return;
    const CpuUse use = uses_.cpu_use(row.version);
    const double cpus = use.processors(fleet.cpus[*pool]);
    const auto* versions = type == ProcType::kCpu ? uses_.threads_of_app(row.app) : nullptr;
    // What a job of a version that is not sent any more does on several processors, says nothing of those that are.
    if (versions == nullptr && type == ProcType::kCpu && cpus > 1) return;
    if (versions != nullptr && !anonymous_version(row.version) && !std::ranges::count(*versions, use)) return;
    std::vector<float>& of_app = fleet.measured[row.app];
    of_app.resize(fleet.size());
    float& known = of_app[*pool];  // the fastest version is the one that it gets
    const auto seconds = static_cast<float>(row.seconds_per_op);
    if (known > 0 && known <= seconds) return;
    known = seconds;
    if (versions == nullptr) return;
    std::vector<float>& threads = fleet.threads[row.app];
    threads.resize(fleet.size());
    threads[*pool] = static_cast<float>(cpus);
}

void FleetReader::add(const HostSpeedRow& row) {
    const bool again = !fleet.ids.empty() && fleet.ids.back() == row.host;
    if (!again) {
        memory_.gpus.note(row.host, row.misc);  // of hosts that are left out, too: it is told once
        const bool out = std::binary_search(left_out_.begin(), left_out_.end(), LeftOutHost{row.host, 0, 0},
                                            [](const auto& a, const auto& b) { return a.host < b.host; });
        if (out || !index_.emplace(row.host, static_cast<std::uint32_t>(fleet.size())).second) return;
        add_host(row);
    }
    add_measured(row);
}

/// Pools of GPUs on which nobody has measured an app.
void FleetReader::estimate_gpus() {
    for (const auto& [app, use] : fleet.uses) {
        std::vector<float>& speeds = fleet.measured[app];
        speeds.resize(fleet.size());
        for (std::size_t p = 0; p < fleet.size(); ++p) {
            const auto type = static_cast<std::size_t>(fleet.types[p]);
            if (fleet.types[p] == ProcType::kCpu || speeds[p] > 0 || !(use[type].devices > 0)) continue;
            const double benchmark = 1 / (kGpuPerCpu * fleet.seconds_per_op[p]);
            const double speed = unmeasured_speed(use[type], benchmark, peak_[p]);
            speeds[p] = static_cast<float>(1 / std::clamp(speed, kLeastSpeed, kGreatestSpeed));
        }
    }
}

/// Where no version of it was measured: the one that the scheduler expects to be the fastest, as fast as its
/// processors.
void FleetReader::choose_threads(Id app, const std::vector<CpuUse>& versions) {
    std::vector<float>&speeds = fleet.measured[app], &threads = fleet.threads[app];
    speeds.resize(fleet.size());
    threads.resize(fleet.size());
    for (std::size_t p = 0; p < fleet.size(); ++p) {
        if (fleet.types[p] != ProcType::kCpu || speeds[p] > 0) continue;
        double best = 0;
        for (const CpuUse& use : versions) {
            const double cpus = use.processors(fleet.cpus[p]);
            if (fleet.cpus[p] < use.least || cpus * use.projected <= best) continue;
            best = cpus * use.projected;
            threads[p] = static_cast<float>(cpus);
        }
        if (threads[p] > 1) speeds[p] = fleet.seconds_per_op[p] / threads[p];
    }
}

int FleetReader::held_at_once(std::size_t pool, Id app, Id version) const {
    if (fleet.types[pool] != ProcType::kCpu) return fleet.held_at_once(pool, app);
    return planned_at_once_on_processors(fleet.cpus[pool], uses_.cpu_use(version).processors(fleet.cpus[pool]));
}

void FleetReader::read(BatchPlanFactsStore& store, AppUses uses, const std::set<Id>& apps) {
    uses_ = std::move(uses);
    bool gpus = false;
    for (const auto& [app, use] : uses_.of_apps()) {
        if (!apps.contains(app)) continue;
        fleet.uses[app] = use;
        for (std::size_t t = 1; t < wanted_.size(); ++t) {
            if (!(use[t].devices > 0)) continue;
            wanted_[t] = gpus = true;
        }
    }
    HostSelection selection{static_cast<std::int64_t>(now_ - kHeardWithin), kMostRows};
    if (gpus) selection.misc_since = memory_.gpus.known_until();
    store.hosts(selection, [this](const HostSpeedRow& row) { add(row); });
    if (gpus) memory_.gpus.set_known_until(static_cast<std::int64_t>(now_ - kRequestLasts));
    if (gpus) estimate_gpus();
    for (const Id app : apps)
        if (const auto* versions = uses_.threads_of_app(app); versions != nullptr) choose_threads(app, *versions);
    for (auto& [app, threads] : fleet.threads) threads.resize(fleet.size());
    for (auto& [app, speeds] : fleet.measured) speeds.resize(fleet.size());
}

}  // namespace sluice
