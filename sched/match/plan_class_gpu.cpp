// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/plan_class_gpu.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice::match {
namespace {

constexpr double kMegabyte = 1024 * 1024;

std::optional<ProcType> named_type(const std::string& gpu_type) {
    if (gpu_type == "nvidia") return ProcType::kNvidia;
    if (gpu_type == "amd" || gpu_type == "ati") return ProcType::kAmd;
    if (gpu_type.compare(0, 5, "intel") == 0) return ProcType::kIntelGpu;
    if (gpu_type == "apple" || gpu_type == "apple_gpu") return ProcType::kAppleGpu;
    return std::nullopt;
}

/// Level 0, as upstream: a type in other letters, or by a regular expression, is a coprocessor of another kind.
std::optional<ProcType> known_type(const PlanClassSpec& s, int compat_level) {
    return named_type(compat_level > 0 ? to_lower_ascii(s.gpu_type) : s.gpu_type);
}

const Coproc* find_coproc(const HostFacts& host, const PlanClassSpec& s, int compat_level) {
    const auto type = known_type(s, compat_level);
    const bool by_regex = !type && s.gpu_type_regex.given();
    for (const Coproc& c : host.coprocs) {
        if (c.count <= 0) continue;
        if (type       ? c.proc_type == *type
            : by_regex ? (compat_level > 0 && s.gpu_regex_types[static_cast<std::size_t>(c.proc_type)]) ||
                             s.gpu_type_regex.matches(c.type)
                       : c.type == s.gpu_type)
            return &c;
    }
    return nullptr;
}

Verdict range(Reason why, double have, std::int64_t min, std::int64_t max) {
    if (min != 0 && have < static_cast<double>(min)) return refuse(why, have, static_cast<double>(min));
    if (max != 0 && have > static_cast<double>(max)) return refuse(why, have, static_cast<double>(max));
    return feasible();
}

// An OpenCL version that the driver did not tell passes.
Verdict check_opencl(const OpenclProps& p, const PlanClassSpec& s) {
    if (p.device_version_int != 0) {
        if (Verdict v = range(Reason::kOpenclMissing, p.device_version_int, s.min_opencl_version, s.max_opencl_version);
            v.refused())
            return v;
        if (Verdict v = range(Reason::kGpuDriver, p.driver_revision, s.min_opencl_driver_revision,
                              s.max_opencl_driver_revision);
            v.refused())
            return v;
    }
    return s.double_precision_fp && p.double_fp_config == 0 ? refuse(Reason::kGpuCapability, 0, 1) : feasible();
}

// Built-in classes go by CAL's version alone, those of a spec file by its presence too (upstream).
int driver_version(const Coproc& c, const PlanClassSpec& s) {
    if (c.proc_type == ProcType::kNvidia) return c.driver_version;
    return c.proc_type == ProcType::kAmd && (c.have_cal || s.built_in) ? c.cal_version : 0;
}

Verdict check_nvidia_card(const Coproc& c, const PlanClassSpec& s) {
    return range(Reason::kGpuCapability, c.compute_capability, s.min_nvidia_compcap, s.max_nvidia_compcap);
}

Verdict check_nvidia(const Coproc& c, const PlanClassSpec& s) {
    if (Verdict v = check_nvidia_card(c, s); v.refused()) return v;
    return s.cuda ? range(Reason::kGpuDriver, c.cuda_version, s.min_cuda_version, s.max_cuda_version) : feasible();
}

Verdict check_amd(const Coproc& c, const PlanClassSpec& s) {
    if (s.need_ati_libs ? !c.atirt_detected : s.need_amd_libs && !c.amdrt_detected)
        return refuse(Reason::kGpuDriver, 0, 1);
    if (s.without_opencl && c.opencl.present) return refuse(Reason::kPlanClassRefused);
    return range(Reason::kGpuCapability, c.cal_target, s.min_cal_target, s.max_cal_target);
}

// Docker on Windows reaches a GPU only through a WSL distro that has the matching library.
Verdict check_wsl_gpu(const HostFacts& host, const PlanClassSpec& s, const Coproc& c) {
    if (!s.docker || host.row.os_name.find("Windows") == std::string::npos) return feasible();
    std::string name = c.type;
    if (c.proc_type == ProcType::kNvidia) name = "nvidia";
    if (c.proc_type == ProcType::kAmd) name = "amd";
    if (c.proc_type == ProcType::kIntelGpu) name = "intel";
    for (const WslDistro& d : host.wsl)
        for (const WslGpu& g : d.gpus)
            if (g.name == name && ((s.cuda && g.has_cuda) || (s.opencl && g.has_opencl))) return feasible();
    return refuse(Reason::kDocker, 0, 1);
}

double gpu_memory(const MatchContext& x, const PlanClassSpec& s, const Coproc& c) {
    // OpenCL tells the card's memory; a card that does not tell it has enough (upstream).
    if (s.built_in && s.opencl)
        return c.opencl.global_mem_size > 0 ? c.opencl.global_mem_size : std::numeric_limits<double>::infinity();
    if (s.built_in) return c.available_ram > 0 ? c.available_ram : c.total_ram;
    if (s.opencl) return c.opencl.global_mem_size;
    if (c.proc_type != ProcType::kAmd)
        return c.proc_type == ProcType::kNvidia || x.params.compat_level > 0 ? c.total_ram : 0;
    // Upstream knows an AMD card's memory from OpenCL only.
    return c.opencl.global_mem_size > 0 || x.params.compat_level <= 0 ? c.opencl.global_mem_size : c.total_ram;
}

Verdict check_device(const MatchContext& x, const PlanClassSpec& s, const Coproc& c) {
    Verdict v = feasible();
    if (c.proc_type == ProcType::kNvidia) v = check_nvidia(c, s);
    if (c.proc_type == ProcType::kAmd) v = check_amd(c, s);
    if (!v.refused() && c.proc_type == ProcType::kAppleGpu)
        v = range(Reason::kGpuCapability, c.metal_support, s.min_metal_support, 0);
    if (!v.refused()) v = check_wsl_gpu(x.host, s, c);
    if (!v.refused() && s.opencl)
        v = c.opencl.present ? check_opencl(c.opencl, s)
                             : refuse(Reason::kOpenclMissing, 0, static_cast<double>(s.min_opencl_version));
    if (v.refused()) return v;
    const double ram = gpu_memory(x, s, c), need = s.min_gpu_ram_mb * kMegabyte;
    if (s.min_gpu_ram_mb > 0 && need > ram) return refuse(Reason::kGpuMemory, ram, need);
    const int driver = driver_version(c, s);
    if (driver != 0 || s.built_in)  // a driver that did not tell its version passes, but not with built-in classes
        if (v = range(Reason::kGpuDriver, driver, s.min_driver_version, s.max_driver_version); v.refused()) return v;
    if (s.min_gpu_peak_flops > 0 && c.peak_flops < s.min_gpu_peak_flops)
        return refuse(Reason::kGpuCapability, c.peak_flops, s.min_gpu_peak_flops);
    if (s.max_gpu_peak_flops > 0 && c.peak_flops > s.max_gpu_peak_flops)
        return refuse(Reason::kGpuCapability, c.peak_flops, s.max_gpu_peak_flops);
    return feasible();
}

// What volunteers are told of a class's demands: memory, and the driver where clients report one. Built-in classes tell
// only hosts whose driver is known and whose card would do.
std::optional<GpuNeed> demand(const PlanClassSpec& s, const Coproc& c, ProcType type) {
    const bool has_driver = type == ProcType::kNvidia || type == ProcType::kAmd;
    if (s.built_in) {
        if (s.opencl || driver_version(c, s) == 0) return std::nullopt;
        if (type == ProcType::kNvidia && check_nvidia_card(c, s).refused()) return std::nullopt;
    }
    GpuNeed need{type, s.min_gpu_ram_mb * kMegabyte, 0};
    if (has_driver) need.driver = static_cast<int>(std::min<std::int64_t>(std::abs(s.min_driver_version), 1 << 30));
    return need;
}

// Memory of the device that a job takes.
double memory_used(const PlanClassSpec& s) {
    return (s.gpu_ram_used_mb > 0 ? s.gpu_ram_used_mb : s.min_gpu_ram_mb) * kMegabyte;
}

// Devices per job: as the class says, scaled by the volunteer's preference; negative: by the job's share of the memory.
double devices(const MatchContext& x, const PlanClassSpec& s, const Coproc& c) {
    double utilization = 1;
    if (!s.gpu_utilization_tag.empty())
        if (const auto v = find_number(x.user.project_prefs, s.gpu_utilization_tag); v && *v > 0 && std::isfinite(*v))
            utilization = *v;
    if (s.ngpus > 0) return s.ngpus * utilization;
    if (s.ngpus == 0) return utilization;
    const double used = memory_used(s), ram = gpu_memory(x, s, c);
    if (!(used > 0) || !(ram >= used)) return 1;
    // Upstream's formula gives the part of the memory that whole jobs fill, about 1, instead of one job's part.
    return x.params.compat_level > 0 ? 1 / std::floor(ram / used) : std::floor(ram / used) * used / ram;
}

}  // namespace

std::array<bool, kProcTypes> declared_types(const PlanClassSpec& s, int compat_level) {
    std::array<bool, kProcTypes> types{};
    if (const auto type = known_type(s, compat_level))
        types[static_cast<std::size_t>(*type)] = true;
    else if (compat_level > 0)
        types = s.gpu_regex_types;
    types[0] = std::ranges::none_of(types, std::identity());
    return types;
}

ProcType declared_type(const PlanClassSpec& s, int compat_level) {
    const auto types = declared_types(s, compat_level);
    return static_cast<ProcType>(std::ranges::find(types, true) - types.begin());
}

// CPU and GPU take turns: the CPU does the fraction x of the work at f, the GPU the rest at g.
Verdict gpu_usage(const MatchContext& x, const PlanClassSpec& s, HostUsage& usage, std::optional<GpuNeed>& need) {
    const int level = x.params.compat_level;
    const Coproc* c = find_coproc(x.host, s, level);
    if (!c) return refuse(Reason::kGpuMissing, 0, 1);
    auto type = known_type(s, level);
    if (!type && level > 0 && c->proc_type != ProcType::kCpu) type = c->proc_type;
    if (type) need = demand(s, *c, *type);
    if (Verdict v = check_device(x, s, *c); v.refused()) return v;
    const double plausible = c->peak_flops > 0 && c->peak_flops <= 1e15 ? c->peak_flops : 1e11;
    usage.gpu_usage = devices(x, s, *c);
    usage.gpu_ram = memory_used(s);
    const double f = capped_host_speed(x), g = s.gpu_peak_flops_scale * usage.gpu_usage * plausible;
    const double mix = s.cpu_frac * g + (1 - s.cpu_frac) * f;
    usage.avg_ncpus = s.avg_ncpus > 0 ? s.avg_ncpus : s.cpu_frac * g / mix;
    usage.projected_flops = f * g / mix * s.projected_flops_scale;
    usage.peak_flops = (s.built_in ? usage.gpu_usage * plausible : g) + usage.avg_ncpus * f;
    usage.proc_type = type.value_or(ProcType::kCpu);
    if (!type) usage.custom_coproc_type = c->type;
    return feasible();
}

Verdict check_opencl_cpu(const MatchContext& x, const PlanClassSpec& s) {
    Verdict last = refuse(Reason::kOpenclMissing, 0, static_cast<double>(s.min_opencl_version));
    for (const auto& platform : x.host.opencl_cpus) {
        if (!s.opencl_cpu_vendor.empty() && to_lower_ascii(platform.platform_vendor) != s.opencl_cpu_vendor) continue;
        last = check_opencl(platform.props, s);
        if (!last.refused()) return last;
    }
    return last;
}

}  // namespace sluice::match
