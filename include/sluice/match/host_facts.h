// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the deciding layer knows of the host: plain values, taken from request and database by sched/handle.
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sluice/model/host.h"

namespace sluice {

struct OpenclProps {
    bool present = false;
    std::string name, vendor, device_version, driver_version;
    int device_version_int = 0;  ///< 100 * major + minor
    int driver_revision = 0;
    double global_mem_size = 0;
    std::int64_t double_fp_config = 0;
};

/// One coprocessor type of the host (facts: protocol-request §6).
struct Coproc {
    std::string type;                     ///< NVIDIA, ATI, intel_gpu, apple_gpu or a client-defined name
    ProcType proc_type = ProcType::kCpu;  ///< kCpu for types that can't be scheduled
    std::string model;
    int count = 0;          ///< 1 … 64
    double peak_flops = 0;  ///< per device; > 0 for schedulable types (fallbacks applied), 0 = unknown for others
    double available_ram = 0, total_ram = 0;
    double req_secs = 0, req_instances = 0, estimated_delay = 0;
    OpenclProps opencl;
    // NVIDIA
    bool have_cuda = false;
    int cuda_version = 0, driver_version = 0, compute_capability = 0;  ///< 12040; 100*maj+min; 100*major+minor
    // AMD
    bool have_cal = false, atirt_detected = false, amdrt_detected = false, double_precision = false;
    int cal_version = 0, cal_target = 0;
    // Apple
    int metal_support = 0;
};

struct WslGpu {
    std::string name;
    bool has_cuda = false, has_opencl = false;
};
struct WslDistro {
    std::string name, libc_version, docker_version;
    int distro_version = 0, docker_type = 0;
    bool disallowed = false;
    std::vector<WslGpu> gpus;
};

/// A version that an anonymous-platform client has (request <app_versions>, in order).
struct ClientAppVersion {
    Id appid = 0;  ///< 0: unknown app, kept as a placeholder (other_results refer by index)
    std::string app_name, platform, plan_class;
    int version_num = 0;
    double avg_ncpus = 1, flops = 0;
    ProcType proc_type = ProcType::kCpu;
    double gpu_usage = 0;
};

/// An unfinished job on the host.
struct JobOnHost {
    std::string result_name;
    Id appid = 0;  ///< 0: not known
    ProcType proc_type = ProcType::kCpu;
    double deadline = 0;    ///< UNIX s (server's clock), 0 unknown
    double remaining = -1;  ///< s of run time left; < 0 unknown
    double ncpus = 1, gpu_usage = 0;
    double memory = 0;   ///< bytes, 0 unknown (level 1 counts it)
    bool tight = false;  ///< its batch is planned: the client is to run it before others
    double due = 0;      ///< UNIX s: the deadline that the database has; 0 unknown
    bool ours = true;    ///< of this project (other_results): counts for limits; others only for deadlines
};

struct HostFacts {
    Host row;                            ///< as it will be stored after this RPC
    std::vector<std::string> platforms;  ///< names, primary first
    bool anonymous = false;
    int client_version = 0;  ///< 10000*major + 100*minor + release
    bool plan_class_capable = false;
    int usable_cpus = 1;  ///< effective_ncpus (facts: matchmaking §2)
    std::vector<Coproc> coprocs;
    std::string cpu_features;  ///< " sse sse2 … ": lower case, blank-padded
    std::string virtualbox_version, docker_version;
    int docker_type = 0;
    bool vm_extensions_disabled = false, dont_use_docker = false, dont_use_wsl = false;
    bool wsl_available = false;
    std::vector<WslDistro> wsl;
    struct OpenclCpu {
        std::string platform_vendor;
        OpenclProps props;
    };
    std::vector<OpenclCpu> opencl_cpus;
    double usable_ram = 0;                                 ///< bytes a job may need (preferences applied)
    double disk_available = 0;                             ///< bytes, preferences applied, >= 0
    double cpu_availability = 1, gpu_availability = 1;     ///< in [0.1, 1]
    double work_buf_min = 0;                               ///< s
    std::vector<HostAppVersion> versions;                  ///< host_app_version rows
    std::unordered_map<Id, bool> low_turnaround_versions;  ///< level 1: batch_stats' verdicts by generalized id
    std::vector<ClientAppVersion> client_versions;
    std::vector<JobOnHost> in_progress;               ///< other_results, joined by name with in_progress_results
    bool workload_known = false;                      ///< the request had a list of other results (even an empty one)
    std::unordered_map<std::uint32_t, double> files;  ///< sticky files on the host: name hash -> bytes
    int hr_class_fine = 0, hr_class_coarse = 0;       ///< 0: unknown at this level
};

/// What the account asks for (project preferences of the host's venue).
struct UserFacts {
    Id id = 0, teamid = 0;
    std::vector<Id> selected_apps;  ///< empty: all
    bool allow_non_preferred_apps = false, allow_beta_work = false;
    std::array<bool, kProcTypes> dont_use{};  ///< no_cpu, no_cuda …
    int max_jobs_in_progress = 0;             ///< preference max_jobs, 0 = none
    std::unordered_set<int> keywords_yes, keywords_no;
    std::string project_prefs;  ///< text, for plan classes with project_prefs_tag
};

/// What the client asks for (facts: protocol-request §10), already clamped.
struct WorkRequest {
    bool resource_specific = true;  ///< false: old single-number request
    double total_seconds = 0;       ///< old style: s still wanted over all types
    std::array<double, kProcTypes> seconds{}, instances{}, estimated_delay{};
};

}  // namespace sluice
