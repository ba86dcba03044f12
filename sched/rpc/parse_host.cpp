// SPDX-License-Identifier: LGPL-3.0-or-later
// <host_info>, <time_stats>, <net_stats>, <disk_usage>: what the client says of its computer. Nothing here is believed
// beyond its type: numbers are finite, counts bounded, texts fit their columns.
#include <algorithm>

#include "sched/rpc/fields.h"
#include "sched/rpc/parse_parts.h"
#include "sluice/base/text.h"

namespace sluice::rpc {
namespace {

constexpr TooLong kCut = TooLong::kCut;

constexpr Field<Host> kHostFields[] = {
    {"timezone", &Host::timezone},
    {"domain_name", &Host::domain_name, kColumnText, kCut},
    {"ip_addr", &Host::last_ip_addr, kColumnText, kCut},
    {"host_cpid", &Host::host_cpid, kColumnText},
    {"p_ncpus", &Host::p_ncpus},
    {"p_vendor", &Host::p_vendor, kColumnText, kCut},
    {"p_model", &Host::p_model, kColumnText, kCut},
    {"p_fpops", &Host::p_fpops},
    {"p_iops", &Host::p_iops},
    {"p_membw", &Host::p_membw},
    {"m_nbytes", &Host::m_nbytes},
    {"m_cache", &Host::m_cache},
    {"m_swap", &Host::m_swap},
    {"d_total", &Host::d_total},
    {"d_free", &Host::d_free},
    {"os_name", &Host::os_name, kColumnText, kCut},
    {"os_version", &Host::os_version, kColumnText, kCut},
    {"product_name", &Host::product_name, kColumnText, kCut},
    {"n_bwup", &Host::n_bwup},
    {"n_bwdown", &Host::n_bwdown},
};

constexpr Field<SchedulerRequest> kSoftwareFields[] = {
    {"p_features", &SchedulerRequest::cpu_features, 8191, kCut},
    {"virtualbox_version", &SchedulerRequest::virtualbox_version, kShortText, kCut},
    {"docker_version", &SchedulerRequest::docker_version, kShortText, kCut},
    {"docker_type", &SchedulerRequest::docker_type},
    {"p_vm_extensions_disabled", &SchedulerRequest::vm_extensions_disabled},
    {"wsl_available", &SchedulerRequest::wsl_available},
};

/// Known, without use for a server.
constexpr std::string_view kIgnoredHostFields[] = {"n_usable_coprocs",
                                                   "docker_compose_version",
                                                   "docker_compose_type",
                                                   "p_calculated",
                                                   "p_fpop_err",
                                                   "p_iop_err",
                                                   "p_membw_err",
                                                   "p_capabilities",
                                                   "accelerators",
                                                   "cpu_caps",
                                                   "cache_l1",
                                                   "cache_l2",
                                                   "cache_l3",
                                                   "mac_address",
                                                   "num_opencl_cpu_platforms"};

constexpr Field<Host> kTimeStats[] = {
    {"on_frac", &Host::on_frac},
    {"connected_frac", &Host::connected_frac},
    {"active_frac", &Host::active_frac},
    {"gpu_active_frac", &Host::gpu_active_frac},
};

constexpr Field<Host> kNetStats[] = {{"bwup", &Host::n_bwup}, {"bwdown", &Host::n_bwdown}};

constexpr Field<Host> kDiskUsage[] = {
    {"d_boinc_used_total", &Host::d_boinc_used_total},
    {"d_boinc_used_project", &Host::d_boinc_used_project},
    {"d_project_share", &Host::d_boinc_max},
};

constexpr Field<WslGpu> kWslGpuFields[] = {
    {"name", &WslGpu::name}, {"has_cuda", &WslGpu::has_cuda}, {"has_opencl", &WslGpu::has_opencl}};

constexpr Field<WslDistro> kDistroFields[] = {
    {"distro_name", &WslDistro::name, kShortText, kCut},
    {"distro_version", &WslDistro::distro_version},
    {"libc_version", &WslDistro::libc_version, kShortText, kCut},
    {"disallowed", &WslDistro::disallowed},
    {"docker_version", &WslDistro::docker_version, kShortText, kCut},
    {"docker_type", &WslDistro::docker_type},
};

/// A computer has a few OpenCL CPU platforms and a WSL distribution a few GPUs; upstream's array holds 4.
constexpr std::size_t kMaxOpenclCpus = 8, kMaxWslGpus = 16;

void parse_wsl(XmlReader& xml, ParseState& state) {
    while (xml.next_child("wsl")) {
        if (xml.name() != "distro") {
            xml.skip();
            continue;
        }
        WslDistro distro;
        while (xml.next_child("distro")) {
            if (xml.name() == "wsl_gpu") {
                WslGpu gpu;
                while (xml.next_child("wsl_gpu")) {
                    if (!read_field(xml, gpu, kWslGpuFields)) xml.skip();
                }
                if (!gpu.name.empty() && distro.gpus.size() < kMaxWslGpus) distro.gpus.push_back(std::move(gpu));
            } else if (!read_field(xml, distro, kDistroFields)) {
                xml.skip();
            }
        }
        if (state.request.wsl.size() < state.limits.max_wsl_distros) state.request.wsl.push_back(std::move(distro));
    }
    if (!state.request.wsl.empty()) state.request.wsl_available = true;
}

void parse_opencl_cpu(XmlReader& xml, ParseState& state) {
    HostFacts::OpenclCpu cpu;
    while (xml.next_child("opencl_cpu_prop")) {
        if (xml.name() == "platform_vendor") {
            read_text(xml, cpu.platform_vendor, kShortText, kCut);
        } else if (xml.name() == "opencl_cpu_info") {
            OpenclSpeed unused;
            cpu.props = parse_opencl(xml, unused);
        } else {
            xml.skip();
        }
    }
    if (!cpu.platform_vendor.empty() && state.request.opencl_cpus.size() < kMaxOpenclCpus)
        state.request.opencl_cpus.push_back(std::move(cpu));
}

/// Clients before 6.x put the CPU's features into p_model, within [ ]. In the form that HostFacts documents.
std::string padded_features(std::string_view features, std::string_view model) {
    std::string all = " " + std::string(features) + " ";
    const auto open = model.rfind('[');
    if (open != std::string_view::npos) {
        const auto close = model.find(']', open);
        all += std::string(model.substr(open + 1, close == std::string_view::npos ? close : close - open - 1)) + " ";
    }
    std::string out = to_lower_ascii(all);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return trim(out).empty() ? std::string() : out;
}

}  // namespace

void parse_host_info(XmlReader& xml, ParseState& state) {
    SchedulerRequest& request = state.request;
    request.has_host_info = true;
    request.host.p_ncpus = 1;
    request.opencl_cpus.clear();
    request.wsl.clear();
    while (xml.next_child("host_info")) {
        const std::string_view name = xml.name();
        if (name == "opencl_cpu_prop") {
            parse_opencl_cpu(xml, state);
        } else if (name == "wsl") {
            parse_wsl(xml, state);
        } else if (read_field(xml, request.host, kHostFields) || read_field(xml, request, kSoftwareFields)) {
            continue;
        } else if (std::ranges::find(kIgnoredHostFields, name) != std::end(kIgnoredHostFields)) {
            xml.skip();
        } else {
            state.unknown(xml);
        }
    }
    // Times are multiplied and delays divided by it: a host has a CPU.
    request.host.p_ncpus = std::max(request.host.p_ncpus, 1);
    request.cpu_features = padded_features(request.cpu_features, request.host.p_model);
}

void parse_time_stats(XmlReader& xml, ParseState& state) {
    state.request.has_time_stats = true;
    while (xml.next_child("time_stats")) {
        if (xml.name() == "now") {
            read_number(xml, state.request.client_now);
        } else if (xml.name() == "client_start_time") {
            read_number(xml, state.request.client_start);
        } else if (!read_field(xml, state.request.host, kTimeStats)) {
            xml.skip();  // durations of client 7 and older leftovers: no use
        }
    }
}

void parse_net_stats(XmlReader& xml, ParseState& state) {
    while (xml.next_child("net_stats")) {
        if (!read_field(xml, state.request.host, kNetStats)) xml.skip();
    }
}

void parse_disk_usage(XmlReader& xml, ParseState& state) {
    state.request.has_disk_usage = true;
    while (xml.next_child("disk_usage")) {
        if (!read_field(xml, state.request.host, kDiskUsage)) xml.skip();
    }
}

}  // namespace sluice::rpc
