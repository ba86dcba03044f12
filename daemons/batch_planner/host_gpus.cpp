// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/host_gpus.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

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

}  // namespace sluice
