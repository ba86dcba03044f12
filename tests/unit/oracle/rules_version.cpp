// SPDX-License-Identifier: LGPL-3.0-or-later
// Which version of an app a host would run, and how fast it is expected to be.
#include <algorithm>
#include <cmath>

#include "tests/unit/oracle/rules.h"

namespace sluice::oracle {
namespace {

constexpr double kMega = 1024 * 1024, kGiga = 1024 * kMega;
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

const Coproc* gpu_of(const HostFacts& host, int type) {
    for (const Coproc& c : host.coprocs)
        if (static_cast<int>(c.proc_type) == type && type > 0 && c.count > 0) return &c;
    return nullptr;
}

// By the first name that occurs in the class's.
int type_by_name(const std::string& plan_class) {
    if (contains(plan_class, "cuda") || contains(plan_class, "nvidia")) return 1;
    if (contains(plan_class, "ati") || contains(plan_class, "amd")) return 2;
    if (contains(plan_class, "intel_gpu")) return 3;
    return contains(plan_class, "apple_gpu") ? 4 : 0;
}

// How much a reason says when several versions fail for different ones.
int says(Reason reason) {
    if (reason == Reason::kNoAppVersion) return 0;
    if (reason == Reason::kResourceNotWanted) return 1;
    return reason == Reason::kGpuMissing || reason == Reason::kAppVersionMismatch ? 2 : 3;
}

}  // namespace

int gpus_of(const HostFacts& host, int type) {
    int n = 0;
    for (const Coproc& c : host.coprocs)
        if (static_cast<int>(c.proc_type) == type && type > 0) n += std::min(c.count, 64);
    return n;
}

const HostAppVersion* statistics_of(const HostFacts& host, Id id) {
    for (const HostAppVersion& row : host.versions)
        if (row.app_version_id == id) return &row;
    return nullptr;
}

// n a day for each processor; but a version that is down to one job a day gets one.
double quota_of(const World& w, const HostAppVersion& row, int type) {
    if (w.params.daily_result_quota == 0) return -1;
    if (row.max_jobs_per_day == 1) return 1;
    if (type == 0) return row.max_jobs_per_day * static_cast<double>(std::max(w.host.row.p_ncpus, 1));
    const double multiplier = w.params.gpu_multiplier != 0 ? w.params.gpu_multiplier : 1;
    return row.max_jobs_per_day * static_cast<double>(std::max(gpus_of(w.host, type), 1)) * multiplier;
}

// Two devices take turns: the CPU, at f, does `cpu_part` of the work, the GPUs the rest.
Rules::PlanClass Rules::gpu_class(int type, double ram_mb, double cpu_part, double scale, Reason refused,
                                  bool opencl) const {
    PlanClass c;
    c.type = type;
    const Coproc* gpu = gpu_of(h_, type);
    if (gpu == nullptr) {
        c.refused = Reason::kGpuMissing;
        return c;
    }
    c.refused = refused;
    const double ram = opencl ? gpu->opencl.global_mem_size : gpu->available_ram;
    const bool little_ram = ram < ram_mb * kMega && !(opencl && ram == 0);
    if (little_ram && refused == Reason::kFeasible) c.refused = Reason::kGpuMemory;
    if (little_ram && refused == Reason::kGpuDriver) c.refused_too = Reason::kGpuMemory;
    const double f = std::min(h_.row.p_fpops, 1.1 * w_.tables.perf.percentile95);
    const double g = scale * gpu->peak_flops;
    const double mix = cpu_part * g + (1 - cpu_part) * f;
    c.gpus = 1;
    c.ncpus = cpu_part * g / mix;
    c.flops = f * g / mix;
    c.peak = gpu->peak_flops + c.ncpus * f;
    return c;
}

// The built-in classes that the worlds have.
Rules::PlanClass Rules::plan_class(const std::string& name) const {
    const double f = std::min(h_.row.p_fpops, 1.1 * w_.tables.perf.percentile95);
    PlanClass c;
    if (name.empty()) return {Reason::kFeasible, 0, 1, 0, h_.row.p_fpops, h_.row.p_fpops};
    if (name == "mt") {
        if (h_.usable_cpus < 2) c.refused = Reason::kCpuCount;
        c.ncpus = std::min(h_.usable_cpus, 64);
        c.peak = f * c.ncpus;
        c.flops = .99 * c.peak;
        return c;
    }
    if (name == "sse3") {
        if (!contains(h_.cpu_features, " pni ")) c.refused = Reason::kCpuFeature;
        c.peak = f;
        c.flops = 1.1 * f;
        return c;
    }
    if (name == "cuda" || name == "cuda23" || name == "cuda_fermi") {
        const Coproc* gpu = gpu_of(h_, 1);
        const int capability = gpu ? gpu->compute_capability : 0;
        const bool fermi = name == "cuda_fermi";
        Reason why = Reason::kFeasible;
        const bool too_new = !fermi && !ours_ && capability >= 200;
        if (capability < (fermi ? 200 : 100) || too_new) why = Reason::kGpuCapability;
        const int driver = fermi ? 19500 : name == "cuda23" ? 19038 : 17700;
        const int runtime = fermi ? 3000 : name == "cuda23" ? 2030 : 0;
        if (why == Reason::kFeasible && gpu && (gpu->driver_version < driver || gpu->cuda_version < runtime))
            why = Reason::kGpuDriver;
        return gpu_class(1, name == "cuda" ? 256 : 384, .01, fermi ? .22 : name == "cuda23" ? .21 : .20, why);
    }
    if (name == "opencl_nvidia_101" || name == "opencl_intel_gpu_101") {
        const int type = name == "opencl_nvidia_101" ? 1 : 3;
        const Coproc* gpu = gpu_of(h_, type);
        const bool has = gpu && gpu->opencl.present && gpu->opencl.device_version_int >= 101;
        return gpu_class(type, 256, type == 1 ? .01 : .1, type == 1 ? .14 : .2,
                         has ? Reason::kFeasible : Reason::kOpenclMissing, true);
    }
    c.type = type_by_name(name);
    c.refused = Reason::kPlanClassRefused;
    return c;
}

// What the project knows better than the plan class; and what versions are compared by.
void Rules::apply_statistics(Version& v, double version_n, double version_avg) const {
    const HostAppVersion* row = statistics_of(h_, v.statistics_id);
    v.flops = h_.row.p_fpops * (v.ncpus + 10 * v.gpus);
    if (!p_.rte_no_stats && row && row->et.n > 10) {
        v.flops = p_.estimate_flops_from_hav_pfc ? v.peak_flops / row->pfc_avg : 1 / row->et.avg;
        v.flops = std::min(v.flops, 250 * v.class_flops);
    } else if (!p_.rte_no_stats && version_n > 100) {
        v.flops = v.peak_flops / version_avg;
    }
    double n = 1;
    v.compared = v.class_flops;
    if (row) {
        n = std::max(row->pfc_n, 1.0);
        v.compared = ((n - 1) * v.flops + v.class_flops) / n;
        const bool only_failed = row->pfc_n == 0 && row->max_jobs_per_day == 1 && row->consecutive_valid == 0;
        if (only_failed && rng_.uniform() < .99) v.compared *= .01;
    }
    if (p_.version_select_random_factor != 0)
        v.compared *= std::max(.1, 1 + p_.version_select_random_factor * rng_.gaussian() / n);
}

Version Rules::native(const AppVersion& row, std::size_t platform_rank) const {
    Version v;
    v.id = v.statistics_id = row.id;
    v.number = row.version_num;
    v.old = row.deprecated;
    v.beta = row.beta;
    v.platform_rank = platform_rank;
    v.is_64 = contains(h_.platforms[platform_rank], "64");
    const PlanClass c = plan_class(row.plan_class);
    v.type = c.type;
    v.ncpus = c.ncpus;
    v.gpus = c.gpus;
    v.class_flops = c.flops;
    v.peak_flops = c.peak;
    const HostAppVersion* history = statistics_of(h_, v.id);
    const bool plain = v.type == 0 && v.ncpus == 1;
    if (row.beta && !w_.user.allow_beta_work)
        v.refused = Reason::kBetaNotAllowed;
    else if (c.refused != Reason::kFeasible)
        v.refused = c.refused, v.refused_too = c.refused_too;
    else if (!h_.plan_class_capable && !plain)
        v.refused = Reason::kNoPlanClassSupport;
    else if (w_.user.dont_use[static_cast<std::size_t>(v.type)])
        v.refused = v.type == 0 ? Reason::kCpuRefusedByPrefs : Reason::kGpuRefusedByPrefs;
    else if (history && quota_of(w_, *history, v.type) >= 0 && history->n_jobs_today >= quota_of(w_, *history, v.type))
        v.refused = Reason::kDailyQuota;
    else if (h_.client_version < row.min_core_version)
        v.refused = Reason::kClientTooOld;
    else if (row.max_core_version != 0 && h_.client_version > row.max_core_version)
        v.refused = Reason::kClientTooNew;
    apply_statistics(v, row.pfc_n, row.pfc_avg);
    return v;
}

// A version of the client's own: it says how fast it is, until the host's history knows better.
Version Rules::anonymous(const App& app, const ClientAppVersion& entry) const {
    Version v;
    v.anonymous = true;
    v.type = static_cast<int>(entry.proc_type);
    v.id = -2 - v.type;
    v.statistics_id = 1000000 * app.id + 2 + v.type;
    v.number = entry.version_num;
    v.is_64 = contains(entry.platform, "64");
    v.ncpus = entry.avg_ncpus;
    v.gpus = entry.gpu_usage;
    v.flops = entry.flops > 0 ? entry.flops : h_.row.p_fpops;
    const HostAppVersion* row = statistics_of(h_, v.statistics_id);
    if (row && row->et.n > 10 && row->et.avg > 0) v.flops = std::min(1 / row->et.avg, 250 * v.flops);
    v.compared = v.flops;
    const bool over = row && quota_of(w_, *row, v.type) >= 0 && row->n_jobs_today >= quota_of(w_, *row, v.type);
    if (app.homogeneous_app_version || entry.version_num < app.min_version)
        v.refused = Reason::kAppVersionMismatch;
    else if (ours_ && w_.user.dont_use[static_cast<std::size_t>(v.type)])
        v.refused = v.type == 0 ? Reason::kCpuRefusedByPrefs : Reason::kGpuRefusedByPrefs;
    else if (over)
        v.refused = Reason::kDailyQuota;
    return v;
}

std::vector<Version> Rules::versions_of(const App& app) const {
    std::vector<Version> all;
    if (h_.anonymous) {
        for (const ClientAppVersion& entry : h_.client_versions)
            if (entry.appid == app.id) all.push_back(anonymous(app, entry));
    } else {
        for (std::size_t rank = 0; rank < h_.platforms.size(); ++rank)
            for (const Platform& platform : w_.tables.platforms)
                for (const AppVersion& row : w_.tables.versions)
                    if (platform.name == h_.platforms[rank] && row.platformid == platform.id && row.appid == app.id)
                        all.push_back(native(row, rank));
    }
    for (Version& v : all) {
        const HostAppVersion* row = statistics_of(h_, v.statistics_id);
        const bool proven = row && row->consecutive_valid >= 10;
        const Host& host = h_.row;
        const bool power_mac = contains(host.p_vendor, "Power Macintosh");
        const bool quick_kind = contains(host.os_name, "Windows") || contains(host.os_name, "Linux") ||
                                (contains(host.os_name, "Darwin") && !power_mac);
        const bool slow = row && p_.reliable_max_avg_turnaround > 0 && row->turnaround.n > 10 &&
                          row->turnaround.avg > p_.reliable_max_avg_turnaround * (quick_kind ? 1 : 1.8);
        v.reliable = proven && !slow && (p_.daily_result_quota == 0 || row->max_jobs_per_day >= p_.daily_result_quota);
        v.trusted = proven && rng_.uniform() > 1.0 / row->consecutive_valid;
    }
    return all;
}

double Rules::address_space() const {
    const std::string primary = h_.platforms.empty() ? "" : h_.platforms[0];
    if (contains(primary, "linux")) return 3 * kGiga;
    return contains(primary, "darwin") || contains(primary, "solaris") ? 4 * kGiga : 2 * kGiga;
}

Reason Rules::refusal_for_job(const App& app, const Version& v, const JobSummary& job, int type) const {
    const bool committed = app.homogeneous_app_version && job.app_version_id != 0;
    if (committed && v.id != job.app_version_id) return Reason::kAppVersionMismatch;
    if (job.app_version_num != 0 && v.number != job.app_version_num) return Reason::kAppVersionMismatch;
    if (v.old && job.app_version_num == 0 && !committed) return Reason::kNoAppVersion;
    if (job.rsc_memory_bound > address_space() && !v.is_64) return Reason::kMemory;
    if (v.type != type) return v.refused == Reason::kGpuMissing ? Reason::kGpuMissing : Reason::kResourceNotWanted;
    return v.refused;
}

// The fastest; the first of equals, in the order of the client's platforms.
std::optional<Version> Rules::best_version(const App& app, const JobSummary& job, int type,
                                           std::set<Reason>& why) const {
    std::optional<Version> best;
    std::vector<Reason> refusals{Reason::kNoAppVersion};
    if (app.homogeneous_app_version && job.app_version_id != 0) refusals.push_back(Reason::kAppVersionMismatch);
    for (const Version& v : versions_of(app)) {
        if (best && p_.prefer_primary_platform && v.platform_rank != best->platform_rank) break;
        const Reason refusal = refusal_for_job(app, v, job, type);
        if (refusal != Reason::kFeasible)
            refusals.insert(refusals.end(), {refusal, refusal == v.refused ? v.refused_too : refusal});
        else if (!best || v.compared > best->compared)
            best = v;
    }
    int most = 0;
    for (Reason r : refusals) most = std::max(most, says(r));
    for (Reason r : refusals)
        if (says(r) == most) why.insert(r);
    return best;
}

// Has the project (or the client, with versions of its own) a version for this resource at all?
bool Rules::has_version_for(int type) const {
    for (const ClientAppVersion& v : h_.client_versions)
        if (h_.anonymous && v.appid > 0 && static_cast<int>(v.proc_type) == type) return true;
    for (const AppVersion& v : w_.tables.versions)
        if (!h_.anonymous && type_by_name(v.plan_class) == type) return true;
    return false;
}

}  // namespace sluice::oracle
