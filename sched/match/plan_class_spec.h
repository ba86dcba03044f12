// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One plan class: the tags of plan_class_spec.xml as plain fields, and what they mean for a host. The built-in classes
// are written in the same terms.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sched/match/candidate.h"
#include "sluice/match/app_choice.h"
#include "sluice/match/matcher.h"

namespace sluice {

/// A POSIX extended regular expression, as upstream uses them.
class PosixRegex {
  public:
    PosixRegex() = default;
    /// Throws ConfigError with the library's own words.
    explicit PosixRegex(const std::string& pattern);
    bool given() const { return compiled_ != nullptr; }
    bool matches(const std::string& text) const;

  private:
    std::shared_ptr<const void> compiled_;
};

namespace match {
/// Conditions on the job: evaluated per job, so that one job's window says nothing about the next job.
struct JobWindow {
    std::int64_t min_wu_id = 0, max_wu_id = 0, min_batch = 0, max_batch = 0;  ///< 0: no condition
    bool any() const { return min_wu_id || max_wu_id || min_batch || max_batch; }
    Verdict check(const JobSummary& job) const;
};
}  // namespace match

struct PlanClassSpec {
    std::string name;
    double infeasible_random = 0;
    std::int64_t user_id = 0;
    match::JobWindow window;
    // processor and system
    std::vector<std::string> cpu_features;  ///< lower case
    double min_ncpus = 0;
    PosixRegex os_regex, cpu_vendor_regex, cpu_model_regex;
    double min_os_version = 0, max_os_version = 0;
    std::int64_t min_android_version = 0, max_android_version = 0, min_libc_version = 0;
    std::int64_t min_core_client_version = 0, max_core_client_version = 0;
    // virtual machines and containers
    bool virtualbox = false, vm_accel_required = false, is64bit = false, wsl = false, docker = false;
    std::int64_t min_vbox_version = 0, max_vbox_version = 0, min_boinc_wsl_distro_version = 0;
    std::vector<std::int64_t> exclude_vbox_version;
    // preferences
    std::string project_prefs_tag, gpu_utilization_tag;
    PosixRegex project_prefs_regex;
    bool project_prefs_default_true = false;
    // GPU
    std::string gpu_type;
    PosixRegex gpu_type_regex;
    /// The GPUs that clients know under a name that it allows; asked of each version at each request, so told here.
    std::array<bool, kProcTypes> gpu_regex_types{};
    double min_gpu_ram_mb = 0, gpu_ram_used_mb = 0, min_gpu_peak_flops = 0, max_gpu_peak_flops = 0;
    std::int64_t min_driver_version = 0, max_driver_version = 0;
    bool need_ati_libs = false, need_amd_libs = false, without_opencl = false, cal = false;
    std::int64_t min_cal_target = 0, max_cal_target = 0, min_nvidia_compcap = 0, max_nvidia_compcap = 0;
    bool cuda = false, opencl = false, double_precision_fp = false;
    std::int64_t min_cuda_version = 0, max_cuda_version = 0, min_opencl_version = 0, max_opencl_version = 0;
    std::int64_t min_opencl_driver_revision = 0, max_opencl_driver_revision = 0, min_metal_support = 0;
    // usage
    double ngpus = 1, cpu_frac = 0.1, avg_ncpus = 0, gpu_peak_flops_scale = 1, projected_flops_scale = 1;
    std::int64_t max_threads = 1;
    bool nthreads_cmdline = false;
    double mem_usage_base_mb = 0, mem_usage_per_cpu_mb = 0;
    // what only built-in classes say
    bool built_in = false;          ///< GPU memory: what is free of it; no blank before the command line
    bool is_free = false;           ///< nci: hardly any CPU, host's own speed
    std::string opencl_cpu_vendor;  ///< the OpenCL platform of the CPU must be this vendor's
};

/// The classes of a file's text; what is wrong with single classes goes to `problems`.
std::vector<std::unique_ptr<PlanClassSpec>> parse_plan_classes(std::string_view xml, const std::string& file,
                                                               std::vector<std::string>& problems);
/// A built-in class by name (some names carry parameters: opencl_nvidia_101, vbox64_mt); null if unknown.
std::unique_ptr<PlanClassSpec> built_in_plan_class(std::string_view name, int compat_level);

namespace match {

struct PlanClassAnswer {
    Verdict verdict;
    HostUsage usage;
    std::optional<GpuNeed> gpu_need;
};
/// Would this host do, and what would a job use there? Without JobWindow.
PlanClassAnswer evaluate_plan_class(const MatchContext& context, const PlanClassSpec& spec);
/// The resources that a class's <gpu_type> or <gpu_type_regex> is for; the CPU's where it is for no known GPU. Level 0
/// knows the types in upstream's own letters only.
std::array<bool, kProcTypes> declared_types(const PlanClassSpec& spec, int compat_level);
/// The first of them, also where the host was refused.
ProcType declared_type(const PlanClassSpec& spec, int compat_level);
/// A version without plan class: one CPU at the benchmark's speed.
HostUsage sequential_usage(const MatchContext& context);
/// The benchmark, kept within what the project's hosts do.
double capped_host_speed(const MatchContext& context);

}  // namespace match
}  // namespace sluice
