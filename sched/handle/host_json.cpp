// SPDX-License-Identifier: LGPL-3.0-or-later
// JSON made by a library: upstream prints client text into fixed buffers without escaping it.
#include "sched/handle/host_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMegabyte = 1024.0 * 1024.0;
constexpr std::size_t kMostBytes = 60000;

const char* gpu_word(const Coproc& c) {
    switch (c.proc_type) {
        case ProcType::kNvidia: return "nvidia";
        case ProcType::kAmd: return "amd";
        case ProcType::kIntelGpu: return "intel";
        case ProcType::kAppleGpu: return "apple";
        case ProcType::kCpu: break;
    }
    return c.opencl.vendor.c_str();
}

std::string driver_word(const Coproc& c) {
    switch (c.proc_type) {
        case ProcType::kNvidia: return std::to_string(c.driver_version);
        case ProcType::kAmd:
            return c.cal_version == 0 ? ""
                                      : fmt::format("{}.{}.{}", c.cal_version / 10000000, c.cal_version / 10000 % 1000,
                                                    c.cal_version % 10000);
        case ProcType::kIntelGpu: return c.opencl.driver_version;
        case ProcType::kAppleGpu: return std::to_string(c.metal_support);
        case ProcType::kCpu: break;
    }
    return c.opencl.device_version;
}

Json gpus(const SchedulerRequest& r) {
    Json list = Json::array();
    std::vector<Coproc> coprocs = r.coprocs;  // the known types in their order, then others
    std::ranges::stable_sort(coprocs, {}, [](const Coproc& c) {
        return c.proc_type == ProcType::kCpu ? kProcTypes : static_cast<int>(c.proc_type);
    });
    for (const Coproc& c : coprocs) {
        if (c.count == 0 || (c.proc_type == ProcType::kCpu && c.opencl.name.empty())) continue;
        const bool by_opencl = c.proc_type == ProcType::kIntelGpu || c.proc_type == ProcType::kCpu;
        const double ram = c.total_ram > 0 ? c.total_ram : c.opencl.global_mem_size;
        list.push_back({{"type", gpu_word(c)},
                        {"model", by_opencl && !c.opencl.name.empty() ? c.opencl.name : c.model},
                        {"count", c.count},
                        {"ram_mb", static_cast<std::int64_t>(std::min(ram / kMegabyte, 1e12))},
                        {"driver_version", driver_word(c)},
                        {"opencl_version", std::to_string(c.opencl.device_version_int)}});
    }
    return list;
}

/// Of a Windows host: the last allowed distro that has Docker, as upstream picks it.
Json docker(const SchedulerRequest& r) {
    Json out = Json::object();
    if (r.host.os_name.find("Windows") == std::string::npos) {
        if (!r.docker_version.empty()) out = {{"version", r.docker_version}, {"type", r.docker_type}};
        return out;
    }
    for (const WslDistro& d : r.wsl) {
        if (d.disallowed || d.docker_version.empty()) continue;
        out = {{"version", d.docker_version}, {"type", d.docker_type}, {"wsl_distro", d.name}};
        if (d.distro_version != 0) out["boinc_buda_runner_version"] = d.distro_version;
    }
    return out;
}

}  // namespace

std::string host_json(const SchedulerRequest& r) {
    Json out;
    out["client_version"] = fmt::format("{}.{}.{}", r.core_major, r.core_minor, r.core_release);
    if (Json list = gpus(r); !list.empty()) out["gpus"] = std::move(list);
    if (Json d = docker(r); !d.empty()) out["docker"] = std::move(d);
    if (!r.virtualbox_version.empty()) {
        const bool accel =
            r.cpu_features.find("vmx") != std::string::npos || r.cpu_features.find("svm") != std::string::npos;
        out["vbox"] = {
            {"version", r.virtualbox_version}, {"hw_accel", accel}, {"hw_accel_enabled", !r.vm_extensions_disabled}};
    }
    if (r.dont_use_docker || r.dont_use_wsl)
        out["config"] = {{"dont_use_docker", r.dont_use_docker}, {"dont_use_wsl", r.dont_use_wsl}};
    const auto text = [&] { return out.dump(4, ' ', false, Json::error_handler_t::replace); };
    std::string json = text();
    for (const char* part : {"gpus", "docker", "vbox"})
        if (json.size() > kMostBytes) {
            out.erase(part);
            json = text();
        }
    return json;
}

}  // namespace sluice
