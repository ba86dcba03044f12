// SPDX-License-Identifier: LGPL-3.0-or-later
// The host's row as it will be after this RPC. What a request does not describe stays as it is: a replicated trickle
// message has no host_info (upstream blanks the row then).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "sched/handle/rpc.h"
#include "sched/rpc/request.h"
#include "sluice/base/hash.h"

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

/// host.misc: what web pages show of a client besides the columns, as JSON in upstream's shape. At most 60,000 bytes.
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

void describe_machine(Host& h, const SchedulerRequest& r) {
    const Host& said = r.host;
    h.timezone = said.timezone;
    h.domain_name = said.domain_name;
    h.nsame_ip_addr = h.last_ip_addr == said.last_ip_addr ? h.nsame_ip_addr + 1 : 0;
    h.last_ip_addr = said.last_ip_addr;
    h.p_ncpus = said.p_ncpus;
    h.p_vendor = said.p_vendor;
    h.p_model = said.p_model;
    h.p_fpops = said.p_fpops;
    h.p_iops = said.p_iops;
    h.p_membw = said.p_membw;
    h.os_name = said.os_name;
    h.os_version = said.os_version;
    h.m_nbytes = said.m_nbytes;
    h.m_cache = said.m_cache;
    h.m_swap = said.m_swap;
    h.d_total = said.d_total;
    h.d_free = said.d_free;
    h.d_boinc_used_total = said.d_boinc_used_total;  // 0 if the client keeps its disk usage to itself
    h.d_boinc_used_project = said.d_boinc_used_project;
    if (r.has_disk_usage) h.d_boinc_max = said.d_boinc_max;
    h.n_bwup = said.n_bwup;
    h.n_bwdown = said.n_bwdown;
    h.product_name = said.product_name;
    h.misc = host_json(r);
}

void describe_gpus(Host& h, const SchedulerRequest& r) {
    h.p_ngpus = 0;
    h.p_gpu_fpops = 0;
    for (const Coproc& c : r.coprocs) {
        h.p_ngpus += c.count;
        h.p_gpu_fpops += c.count * c.peak_flops;
    }
}

/// What gang_planner may give it.
std::int64_t platforms_of(const Rpc& rpc) {
    if (rpc.request.anonymous()) return kAnyPlatform;
    std::int64_t all = 0;
    for (const std::string& name : rpc.rows.platforms)
        if (const Platform* p = rpc.services.tables.platform_by_name(name)) all |= platform_bit(p->id);
    return all;
}

/// By the server's clock: the client's may be wrong. It stays the same where that is a matter of seconds.
std::int64_t on_since(const Rpc& rpc, std::int64_t before) {
    constexpr std::int64_t kSeconds = 60;
    const double ran = rpc.request.client_now - rpc.request.client_start;
    if (rpc.request.client_start <= 0 || !(ran >= 0)) return 0;
    const auto since = static_cast<std::int64_t>(std::max(rpc.now - ran, 1.0));
    return std::abs(since - before) <= kSeconds ? before : since;
}

}  // namespace

Stage update_host(const Rpc& rpc, HostRows& rows) {
    Host& h = rows.host;
    const SchedulerRequest& r = rpc.request;
    if (r.has_host_info) {
        describe_machine(h, r);
        describe_gpus(h, r);
        h.duration_correction_factor = r.duration_correction_factor;
    }
    if (r.has_time_stats) {
        h.on_frac = r.host.on_frac;
        h.connected_frac = r.host.connected_frac;
        h.active_frac = r.host.active_frac;
        h.gpu_active_frac = r.host.gpu_active_frac;
    }
    // The hash ties a machine to an account: nobody can take the place of another user's host.
    if (!r.host.host_cpid.empty()) h.host_cpid = md5_hex(r.host.host_cpid + rpc.who.account.user.email_addr);
    h.external_ip_addr = rpc.services.remote_address;
    h.rpc_seqno = rpc.who.rpc_seqno;
    h.rpc_time = rpc.now_sec;
    rows.host.platforms = platforms_of(rpc);
    rows.host.on_since = on_since(rpc, rpc.rows.stored.on_since);
    return Stage::kContinue;
}

}  // namespace sluice
