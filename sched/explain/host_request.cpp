// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/host_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sluice/base/text.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

using Json = nlohmann::json;

/// What no column holds: a common machine of today.
constexpr int kUsualCuda = 12040, kUsualComputeCapability = 806;
constexpr const char* kUsualFeatures = " fpu mmx sse sse2 pni ssse3 fma cx16 sse4_1 sse4_2 popcnt aes avx f16c avx2 ";
constexpr int kUsualClient[] = {8, 0, 2};

bool has(const std::string& text, std::string_view part) { return contains_ignoring_case(text, part); }

bool is_arm(const Host& h) {
    return has(h.p_vendor, "ARM") || has(h.p_model, "ARM") || has(h.p_vendor, "Apple") || has(h.p_model, "Apple M");
}

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string text_of(const Json& j, const char* key) {
    return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
}
double number_of(const Json& j, const char* key) {
    if (!j.contains(key)) return 0;
    const double v = j[key].is_number()   ? j[key].get<double>()
                     : j[key].is_string() ? parse_double(j[key].get<std::string>()).value_or(0)
                                          : 0;
    return std::isfinite(v) ? std::clamp(v, -1e12, 1e12) : 0;
}
int integer_of(const Json& j, const char* key) { return clamp_to_int32(number_of(j, key)); }
bool flag_of(const Json& j, const char* key, bool otherwise) {
    if (!j.contains(key)) return otherwise;
    return j[key].is_boolean() ? j[key].get<bool>() : number_of(j, key) != 0;
}

struct Builder {
    const Host& host;
    HostRequest out{};
    SchedulerRequest& r = out.request;

    void machine();
    void client(const Json& misc);
    void gpus(const Json& misc, const RequestedWork& wanted);
    void software(const Json& misc);
    void platforms(const HostState& state, const ProjectTables& tables);
    void jobs(const std::vector<KnownResult>& in_progress, const ProjectTables& tables, const ResourceOf& resource);
    void assume(std::string line) { out.assumed.push_back(std::move(line)); }
};

// host_info and time_stats are not "sent": the row stays as it is.
void Builder::machine() {
    r.host = host;
    r.host.host_cpid.clear();
    const bool x86 = !is_arm(host);
    const std::size_t open = host.p_model.rfind('['), close = host.p_model.rfind(']');
    if (x86) r.cpu_features = kUsualFeatures;
    if (open != std::string::npos && close != std::string::npos && close > open &&
        !has(host.p_model.substr(open), "family"))
        r.cpu_features = " " + to_lower_ascii(host.p_model.substr(open + 1, close - open - 1)) + " ";
    else
        assume(x86 ? "instruction sets of the processor: those of a common x86-64 with AVX2"
                   : "no special instruction sets of the processor");
}

void Builder::client(const Json& misc) {
    const auto parts = split(text_of(misc, "client_version"), '.');
    int version[3] = {kUsualClient[0], kUsualClient[1], kUsualClient[2]};
    if (parts.size() == 3) {
        for (std::size_t i = 0; i < 3; ++i) version[i] = clamp_to_int32(parse_int(parts[i]).value_or(0));
    } else {
        assume("client version 8.0.2");
    }
    r.core_major = version[0], r.core_minor = version[1], r.core_release = version[2];
    r.client_cap_plan_class = r.client_version() >= 60300;
}

void Builder::gpus(const Json& misc, const RequestedWork& wanted) {
    if (!misc.contains("gpus") || !misc["gpus"].is_array()) return;
    for (const Json& gpu : misc["gpus"]) {
        if (!gpu.is_object()) continue;
        Coproc c;
        const std::string type = text_of(gpu, "type");
        if (type == "nvidia") c.proc_type = ProcType::kNvidia;
        if (type == "amd") c.proc_type = ProcType::kAmd;
        if (type == "intel") c.proc_type = ProcType::kIntelGpu;
        if (type == "apple") c.proc_type = ProcType::kAppleGpu;
        c.type = c.proc_type == ProcType::kCpu ? type : proc_type_name(c.proc_type);
        c.model = text_of(gpu, "model");
        c.count = std::clamp(integer_of(gpu, "count"), 1, 64);
        c.peak_flops = host.p_ngpus > 0 && host.p_gpu_fpops > 0 ? host.p_gpu_fpops / host.p_ngpus : 1e12;
        c.available_ram = c.total_ram = number_of(gpu, "ram_mb") * 1024 * 1024;
        c.opencl.device_version_int = std::max(integer_of(gpu, "opencl_version"), 0);
        c.opencl.present = c.opencl.device_version_int > 0;
        c.opencl.global_mem_size = c.total_ram;
        c.opencl.double_fp_config = 63;
        const int driver = std::max(integer_of(gpu, "driver_version"), 0);
        if (c.proc_type == ProcType::kNvidia) {
            c.have_cuda = true;
            c.driver_version = driver;
            c.cuda_version = kUsualCuda;
            c.compute_capability = kUsualComputeCapability;
        } else if (c.proc_type == ProcType::kAmd) {
            c.have_cal = c.atirt_detected = c.amdrt_detected = c.double_precision = true;
        } else if (c.proc_type == ProcType::kAppleGpu) {
            c.metal_support = driver;
        }
        c.req_secs = wanted.seconds * c.count;
        c.req_instances = c.count;
        c.estimated_delay = wanted.delay;
        r.coprocs.push_back(std::move(c));
    }
    if (!r.coprocs.empty())
        assume("GPUs: CUDA 12.4, compute capability 8.6, double precision (what of this counts is not stored)");
}

void Builder::software(const Json& misc) {
    const bool windows = has(host.os_name, "Windows");
    if (misc.contains("docker") && misc["docker"].is_object()) {
        const Json& d = misc["docker"];
        if (windows) {
            WslDistro distro;
            distro.name = text_of(d, "wsl_distro");
            distro.docker_version = text_of(d, "version");
            distro.docker_type = integer_of(d, "type");
            distro.distro_version = integer_of(d, "boinc_buda_runner_version");
            r.wsl_available = true;
            r.wsl.push_back(std::move(distro));
        } else {
            r.docker_version = text_of(d, "version");
            r.docker_type = integer_of(d, "type");
        }
    }
    if (misc.contains("vbox") && misc["vbox"].is_object()) {
        const Json& v = misc["vbox"];
        r.virtualbox_version = text_of(v, "version");
        if (flag_of(v, "hw_accel", false)) r.cpu_features += "vmx ";
        r.vm_extensions_disabled = !flag_of(v, "hw_accel_enabled", true);
    }
    if (misc.contains("config") && misc["config"].is_object()) {
        r.dont_use_docker = flag_of(misc["config"], "dont_use_docker", false);
        r.dont_use_wsl = flag_of(misc["config"], "dont_use_wsl", false);
    }
}

void Builder::platforms(const HostState& state, const ProjectTables& tables) {
    std::vector<std::string> names = platforms_of_machine(host);
    const bool from_machine = !names.empty();
    bool anonymous = false;
    for (const HostAppVersion& v : state.versions) {
        const AppVersion* version = tables.version(v.app_version_id);
        anonymous |= version == nullptr && anonymous_version(v.app_version_id);
        const Platform* platform = version != nullptr ? tables.platform(version->platformid) : nullptr;
        if (platform != nullptr) add_once(names, platform->name);
    }
    if (anonymous)
        assume(
            "the host had versions of its own (app_info.xml); they are not stored, so it is taken for an ordinary one: use "
            "--request with a request of its own to see it as it is");
    if (names.empty()) return;
    assume(from_machine ? "platforms: as clients on such a system have them"
                        : "platforms: those of the versions it ran");
    r.platform_name = names.front();
    r.alt_platforms.assign(names.begin() + 1, names.end());
}

void Builder::jobs(const std::vector<KnownResult>& in_progress, const ProjectTables& tables,
                   const ResourceOf& resource) {
    r.has_other_results = true;
    for (const KnownResult& job : in_progress) {
        OtherResult other;
        other.name = job.name;
        if (const AppVersion* v = tables.version(job.app_version_id)) {
            const App* app = tables.app(v->appid);
            const Platform* platform = tables.platform(v->platformid);
            RequestAppVersion said;
            said.app_name = app != nullptr ? app->name : "";
            said.platform = platform != nullptr ? platform->name : "";
            said.plan_class = other.plan_class = v->plan_class;
            said.version_num = v->version_num;
            if (const ProcType type = resource(v->plan_class); type != ProcType::kCpu) {
                said.coproc_type = proc_type_name(type);
                said.coproc_count = 1;
            }
            other.app_version = static_cast<int>(r.app_versions.size());
            r.app_versions.push_back(std::move(said));
        }
        r.other_results.push_back(std::move(other));
    }
}

}  // namespace

std::vector<std::string> platforms_of_machine(const Host& h) {
    const bool arm = is_arm(h);
    if (has(h.os_name, "Windows"))
        return arm ? std::vector<std::string>{"windows_arm64", "windows_x86_64", "windows_intelx86"}
                   : std::vector<std::string>{"windows_x86_64", "windows_intelx86"};
    if (has(h.os_name, "Darwin"))
        return arm ? std::vector<std::string>{"arm64-apple-darwin", "x86_64-apple-darwin"}
                   : std::vector<std::string>{"x86_64-apple-darwin", "i686-apple-darwin"};
    if (has(h.os_name, "Android") || has(h.os_version, "Android"))
        return arm || h.p_vendor.empty()
                   ? std::vector<std::string>{"aarch64-android-linux-gnu", "arm-android-linux-gnu"}
                   : std::vector<std::string>{"x86_64-android-linux-gnu", "x86-android-linux-gnu"};
    if (has(h.os_name, "Linux"))
        return arm ? std::vector<std::string>{"aarch64-unknown-linux-gnu", "arm-unknown-linux-gnueabihf"}
                   : std::vector<std::string>{"x86_64-pc-linux-gnu", "i686-pc-linux-gnu"};
    if (has(h.os_name, "FreeBSD"))
        return {"x86_64-pc-freebsd__64", "x86_64-pc-freebsd", "amd64-pc-freebsd", "i386-pc-freebsd"};
    return {};
}

HostRequest request_of_host(const HostAndAccount& found, const HostState& state,
                            const std::vector<KnownResult>& in_progress, const ProjectTables& tables,
                            const ResourceOf& resource, const RequestedWork& wanted) {
    Builder b{found.host};
    Json misc = Json::parse(found.host.misc, nullptr, false);
    if (!misc.is_object()) misc = Json::object();
    SchedulerRequest& r = b.r;
    r.hostid = found.host.id;
    r.rpc_seqno = found.host.rpc_seqno + 1;
    if (found.account) r.authenticator = found.account->user.authenticator;
    b.machine();
    b.client(misc);
    b.gpus(misc, wanted);
    b.software(misc);
    b.platforms(state, tables);
    b.jobs(in_progress, tables, resource);
    const int cpus = std::max(found.host.p_ncpus, 1);
    r.work_req_seconds = r.cpu_req_secs = wanted.seconds * cpus;
    r.cpu_req_instances = cpus;
    r.cpu_estimated_delay = wanted.delay;
    b.assume(
        fmt::format("it asks for {:g} s of work for each processor, which will be free in {:g} s (--seconds, --delay)",
                    wanted.seconds, wanted.delay));
    return std::move(b.out);
}

}  // namespace sluice
