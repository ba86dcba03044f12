// SPDX-License-Identifier: LGPL-3.0-or-later
// A plan class against a host: what it demands of processor, system, client, virtual machine and preferences, and what
// a CPU job of it uses. GPUs: plan_class_gpu.cpp.
#include <algorithm>
#include <cmath>

#include "sched/match/host_versions.h"
#include "sched/match/plan_class_gpu.h"
#include "sched/match/plan_class_spec.h"
#include "sluice/base/text.h"
#include "sluice/match/cpu_use.h"
#include "sluice/xml/reader.h"

namespace sluice::match {
namespace {

constexpr double kMega = 1024 * 1024;

Verdict number_range(Reason why, double have, double min, double max) {
    if (min != 0 && have < min) return refuse(why, have, min);
    if (max != 0 && have > max) return refuse(why, have, max);
    return feasible();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Verdict check_chance_and_user(const MatchContext& x, const PlanClassSpec& s) {
    if (s.infeasible_random > 0 && x.rng.uniform() < s.infeasible_random)
        return refuse(Reason::kCustomHook, s.infeasible_random, 0);
    if (s.user_id != 0 && s.user_id != x.user.id)
        return refuse(Reason::kCustomHook, static_cast<double>(x.user.id), static_cast<double>(s.user_id));
    return feasible();
}

Verdict check_processor(const MatchContext& x, const PlanClassSpec& s) {
    for (const std::string& feature : s.cpu_features)
        if (!has(x.host.cpu_features, " " + feature + " ")) return refuse(Reason::kCpuFeature, 0, 1);
    if (s.min_ncpus != 0 && x.host.usable_cpus < s.min_ncpus)
        return refuse(Reason::kCpuCount, x.host.usable_cpus, s.min_ncpus);
    if (s.cpu_vendor_regex.given() && !s.cpu_vendor_regex.matches(x.host.row.p_vendor))
        return refuse(Reason::kPlanClassRefused);
    if (s.cpu_model_regex.given() && !s.cpu_model_regex.matches(x.host.row.p_model))
        return refuse(Reason::kPlanClassRefused);
    return feasible();
}

Verdict check_android(const Host& host, const PlanClassSpec& s) {
    if (s.min_android_version == 0 && s.max_android_version == 0) return feasible();
    if (to_lower_ascii(host.os_name) != "android") return refuse(Reason::kOsVersion);
    const auto have = static_cast<double>(android_version_number(host.os_version));
    if (have == 0 && s.min_android_version <= 0) return feasible();
    return number_range(Reason::kOsVersion, have, static_cast<double>(s.min_android_version),
                        static_cast<double>(s.max_android_version));
}

Verdict check_system(const MatchContext& x, const PlanClassSpec& s) {
    const Host& host = x.host.row;
    if (s.os_regex.given() && !s.os_regex.matches(host.os_version)) return refuse(Reason::kOsVersion);
    if (s.min_os_version != 0 || s.max_os_version != 0) {
        const double have = os_version_number(host.os_name, host.os_version);
        if (have == 0) return refuse(Reason::kOsVersion, 0, s.min_os_version);
        if (Verdict v = number_range(Reason::kOsVersion, have, s.min_os_version, s.max_os_version); v.refused())
            return v;
    }
    if (Verdict v = check_android(host, s); v.refused()) return v;
    // With <wsl> the library is the distro's, not the host's.
    if (s.min_libc_version != 0 && !s.wsl) {
        const auto have = static_cast<double>(libc_version_number(host.os_version));
        if (have < static_cast<double>(s.min_libc_version))
            return refuse(Reason::kOsVersion, have, static_cast<double>(s.min_libc_version));
    }
    return feasible();
}

Verdict check_client(const MatchContext& x, const PlanClassSpec& s) {
    const double have = x.host.client_version;
    if (s.min_core_client_version != 0 && have < static_cast<double>(s.min_core_client_version))
        return refuse(Reason::kClientTooOld, have, static_cast<double>(s.min_core_client_version),
                      "A newer BOINC may be required for some tasks.");
    if (s.max_core_client_version != 0 && have > static_cast<double>(s.max_core_client_version))
        return refuse(Reason::kClientTooNew, have, static_cast<double>(s.max_core_client_version));
    return feasible();
}

bool vm_acceleration(const HostFacts& host) {
    return (has(host.cpu_features, "vmx") || has(host.cpu_features, "svm")) && !host.vm_extensions_disabled;
}

Verdict check_virtualbox(const MatchContext& x, const PlanClassSpec& s) {
    if (!s.virtualbox) return feasible();
    const auto least = static_cast<double>(s.min_vbox_version);
    if (x.host.client_version < 70000)
        return refuse(Reason::kClientTooOld, x.host.client_version, 70000,
                      "BOINC client 7.0+ required for Virtualbox jobs");
    const std::string& text = x.host.virtualbox_version;
    if (text.empty()) return refuse(Reason::kVirtualBox, 0, least, "VirtualBox is not installed");
    if (has(text, "unusable")) return refuse(Reason::kVirtualBox, 0, least, "VirtualBox is not usable");
    // Spec files have a minimum of their own, of which upstream says nothing.
    const char* too_old = s.built_in ? "VirtualBox version 3.2 or later is required" : nullptr;
    const auto parts = dotted_number(text, 3);
    if (parts.size() != 3) return refuse(Reason::kVirtualBox, 0, least, too_old);
    const long have = parts[0] * 10000 + parts[1] * 100 + parts[2];
    if (Verdict v = number_range(Reason::kVirtualBox, static_cast<double>(have), least,
                                 static_cast<double>(s.max_vbox_version));
        v.refused()) {
        v.words = too_old;
        return v;
    }
    if (std::find(s.exclude_vbox_version.begin(), s.exclude_vbox_version.end(), have) != s.exclude_vbox_version.end())
        return refuse(Reason::kVirtualBox, static_cast<double>(have), 0);
    if (s.vm_accel_required && !vm_acceleration(x.host))
        return refuse(
            Reason::kCpuFeature, 0, 1,
            s.built_in ? "VirtualBox jobs require hardware acceleration support. Your processor does not support the "
                         "required instruction set."
                       : nullptr);
    // A 64-bit Windows host can't find a 32-bit VM: only versions of the primary platform's width.
    const bool is64 = !x.host.platforms.empty() && has(x.host.platforms[0], "64");
    return is64 == s.is64bit ? feasible() : refuse(Reason::kPlanClassRefused, is64 ? 64 : 32, s.is64bit ? 64 : 32);
}

constexpr const char* kNoWsl = "Client config does not allow using WSL";
constexpr const char* kNoUsableDistro = "No usable WSL distros found";

Verdict no_docker(const char* words, double have = 0, double need = 1) {
    return refuse(Reason::kDocker, have, need, words);
}

Verdict check_wsl(const MatchContext& x, const PlanClassSpec& s) {
    if (!s.wsl) return feasible();
    if (x.host.dont_use_wsl) return no_docker(kNoWsl);
    if (x.host.wsl.empty()) return no_docker("No WSL distros found");
    for (const WslDistro& d : x.host.wsl)
        if (!d.disallowed && (s.min_libc_version == 0 || two_part_version(d.libc_version) >= s.min_libc_version))
            return feasible();
    return no_docker(kNoUsableDistro);
}

Verdict check_docker_on_windows(const HostFacts& host, const PlanClassSpec& s) {
    if (host.dont_use_wsl) return no_docker(kNoWsl);
    double best = 0;
    bool any = false;
    for (const WslDistro& d : host.wsl) {
        if (d.disallowed) continue;
        any = any || !d.docker_version.empty();
        if (d.name == "boinc-buda-runner") best = std::max(best, static_cast<double>(d.distro_version));
    }
    if (s.min_boinc_wsl_distro_version == 0) return any ? feasible() : no_docker(kNoUsableDistro);
    const auto least = static_cast<double>(s.min_boinc_wsl_distro_version);
    return best >= least ? feasible() : no_docker("Current BOINC WSL distro needed", best, least);
}

Verdict check_docker(const MatchContext& x, const PlanClassSpec& s) {
    if (!s.docker) return feasible();
    if (x.host.dont_use_docker) return no_docker("Client config does not allow using Docker");
    if (has(x.host.row.os_name, "Windows")) return check_docker_on_windows(x.host, s);
    if (x.host.docker_version.empty()) return no_docker("Docker not present");
    constexpr int kMacNeeds = 80206;
    if (has(x.host.row.os_name, "Darwin") && x.host.client_version < kMacNeeds)
        return refuse(Reason::kClientTooOld, x.host.client_version, kMacNeeds, "Docker jobs need 8.2.6+ client");
    return feasible();
}

Verdict check_preferences(const MatchContext& x, const PlanClassSpec& s) {
    if (!s.project_prefs_regex.given() || s.project_prefs_tag.empty()) return feasible();
    const auto value = find_element(x.user.project_prefs, s.project_prefs_tag);
    const bool good = value ? s.project_prefs_regex.matches(std::string(*value)) : s.project_prefs_default_true;
    return good ? feasible() : refuse(Reason::kPlanClassRefused);
}

// A job that takes memory per thread runs with as many threads as memory allows.
Verdict threads_by_memory(const MatchContext& x, const PlanClassSpec& s, HostUsage& usage) {
    const double per_cpu = s.mem_usage_per_cpu_mb * kMega, base = s.mem_usage_base_mb * kMega;
    const double least = base + std::max(s.min_ncpus, 1.0) * per_cpu;
    if (least > x.host.usable_ram) return refuse(Reason::kMemory, x.host.usable_ram, least);
    usage.avg_ncpus = std::min(usage.avg_ncpus, std::floor((x.host.usable_ram - base) / per_cpu));
    usage.mem_usage = base + usage.avg_ncpus * per_cpu;
    usage.cmdline += " --memory_size_mb " + std::to_string(std::llround(usage.mem_usage / kMega));
    return feasible();
}

Verdict cpu_usage(const MatchContext& x, const PlanClassSpec& s, HostUsage& usage) {
    const double f = capped_host_speed(x);
    if (s.is_free) {
        usage.avg_ncpus = .01;
        usage.projected_flops = 1.01 * f;  // preferred to a version without plan class
        usage.peak_flops = .01 * f;
        return feasible();
    }
    const bool multicore = !s.virtualbox || s.max_threads <= 1 || vm_acceleration(x.host);
    const CpuUse use = cpu_use(s);
    usage.avg_ncpus = use.processors(multicore ? x.host.usable_cpus : 1);
    if (use.fixed <= 0 && multicore && s.mem_usage_per_cpu_mb > 0)
        if (Verdict v = threads_by_memory(x, s, usage); v.refused()) return v;
    if (s.nthreads_cmdline) usage.cmdline += " --nthreads " + std::to_string(static_cast<int>(usage.avg_ncpus));
    usage.peak_flops = f * usage.avg_ncpus;
    usage.projected_flops = usage.peak_flops * use.projected;
    return feasible();
}

}  // namespace

Verdict JobWindow::check(const JobSummary& job) const {
    const auto outside = [](std::int64_t v, std::int64_t min, std::int64_t max) {
        if (min && v < min) return refuse(Reason::kCustomHook, static_cast<double>(v), static_cast<double>(min));
        if (max && v > max) return refuse(Reason::kCustomHook, static_cast<double>(v), static_cast<double>(max));
        return feasible();
    };
    if (Verdict v = outside(job.workunit_id, min_wu_id, max_wu_id); v.refused()) return v;
    return outside(job.batch, min_batch, max_batch);
}

double capped_host_speed(const MatchContext& x) {
    const double f = x.host.row.p_fpops;
    if (!(f > 0)) return x.tables.perf.median;
    return std::min(f, 1.1 * x.tables.perf.percentile95);
}

HostUsage sequential_usage(const MatchContext& x) {
    HostUsage usage;
    usage.projected_flops = usage.peak_flops = x.host.row.p_fpops > 0 ? x.host.row.p_fpops : 1e9;
    return usage;
}

PlanClassAnswer evaluate_plan_class(const MatchContext& x, const PlanClassSpec& s) {
    PlanClassAnswer answer{feasible(), sequential_usage(x), std::nullopt};
    using Check = Verdict (*)(const MatchContext&, const PlanClassSpec&);
    static constexpr Check kChecks[] = {check_chance_and_user, check_processor, check_system, check_client,
                                        check_virtualbox,      check_wsl,       check_docker, check_preferences};
    for (Check check : kChecks) {
        answer.verdict = check(x, s);
        if (answer.verdict.refused()) return answer;
    }
    const bool wants_gpu = !s.gpu_type.empty() || s.gpu_type_regex.given();
    if (wants_gpu) {
        answer.verdict = gpu_usage(x, s, answer.usage, answer.gpu_need);
    } else {
        if (s.opencl) answer.verdict = check_opencl_cpu(x, s);
        if (!answer.verdict.refused()) answer.verdict = cpu_usage(x, s, answer.usage);
    }
    if (s.built_in && !answer.usage.cmdline.empty()) answer.usage.cmdline.erase(0, 1);
    return answer;
}

}  // namespace sluice::match
