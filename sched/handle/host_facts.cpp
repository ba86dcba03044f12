// SPDX-License-Identifier: LGPL-3.0-or-later
// Request, rows and preferences -> what the deciding layer knows of the host. Formulas: upstream behaviour.
#include "sched/handle/host_facts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace sluice {
namespace {

constexpr double kGiga = 1024.0 * 1024 * 1024;  // what clients and upstream mean by GB in preferences
constexpr double kLeastRam = 64e6;

/// A fraction of time as estimates use it.
double fraction(double f) { return std::isfinite(f) ? std::clamp(f, 0.1, 1.0) : 1.0; }

int usable_cpus(const Rpc& rpc) {
    int n = std::min(rpc.rows.host.p_ncpus, 4096);
    const double pct = rpc.prefs.global.max_ncpus_pct;
    if (pct > 0 && pct < 100) n = static_cast<int>(n * pct / 100);
    n = std::max(std::min(n, rpc.config.max_ncpus), 1);
    if (rpc.prefs.max_cpus > 0) n = std::min(n, rpc.prefs.max_cpus);
    return n;
}

double usable_ram(const Rpc& rpc) {
    const double ram = rpc.rows.host.m_nbytes > 0 ? rpc.rows.host.m_nbytes : kLeastRam;
    const double busy = rpc.prefs.global.ram_max_used_busy_frac, idle = rpc.prefs.global.ram_max_used_idle_frac;
    if (busy <= 0 || idle <= 0) return ram;
    return ram * std::min(std::max(busy, idle), 1.0);
}

double disk_available(const Rpc& rpc) {
    const Host& h = rpc.rows.host;
    const GlobalPrefs& p = rpc.prefs.global;
    double room = h.d_free - kGiga * std::max(p.disk_min_free_gb, rpc.config.default_disk_min_free_gb);
    if (h.d_boinc_used_total != 0) {
        if (p.disk_max_used_pct > 0)
            room = std::min(room, h.d_total * p.disk_max_used_pct / 100 - h.d_boinc_used_total);
        if (p.disk_max_used_gb > 0) room = std::min(room, kGiga * p.disk_max_used_gb - h.d_boinc_used_total);
    }
    return std::max(room, 0.0);
}

ProcType type_of_coproc(const std::string& name) {
    if (name == "CUDA") return ProcType::kNvidia;
    for (int t = 1; t < kProcTypes; ++t)
        if (name == proc_type_name(static_cast<ProcType>(t))) return static_cast<ProcType>(t);
    return ProcType::kCpu;
}

std::vector<ClientAppVersion> client_versions(const Rpc& rpc) {
    std::vector<ClientAppVersion> versions;
    for (const RequestAppVersion& said : rpc.request.app_versions) {
        ClientAppVersion v;
        v.app_name = said.app_name;
        v.platform = said.platform;
        v.plan_class = said.plan_class;
        v.version_num = said.version_num;
        v.avg_ncpus = said.avg_ncpus;
        v.flops = said.flops;
        const App* app = said.syntax_error ? nullptr : rpc.services.tables.app_by_name(said.app_name);
        v.appid = app != nullptr ? app->id : 0;
        v.proc_type = type_of_coproc(said.coproc_type);
        if (v.proc_type != ProcType::kCpu) v.gpu_usage = said.coproc_count;
        versions.push_back(std::move(v));
    }
    return versions;
}

/// The client's list of its jobs of this project, with deadlines and remaining times where it sent those of all
/// projects.
std::vector<JobOnHost> jobs_on_host(const Rpc& rpc, const std::vector<ClientAppVersion>& versions) {
    std::vector<JobOnHost> jobs;
    std::unordered_map<std::string, std::size_t> by_name;
    for (const OtherResult& r : rpc.request.other_results) {
        JobOnHost job;
        job.result_name = r.name;
        const bool listed = r.app_version >= 0 && static_cast<std::size_t>(r.app_version) < versions.size();
        if (listed && versions[static_cast<std::size_t>(r.app_version)].appid != 0) {
            const ClientAppVersion& v = versions[static_cast<std::size_t>(r.app_version)];
            job.appid = v.appid;
            job.proc_type = v.proc_type;
            job.ncpus = v.avg_ncpus;
            job.gpu_usage = v.gpu_usage;
        } else {
            job.proc_type = rpc.services.files.plan_classes.resource(r.plan_class, rpc.config.compat_level);
        }
        if (const KnownResult* known = rpc.rows.known_result(r.name)) {
            if (rpc.config.compat_level > 0)
                job.memory = known->wu_memory_bound;  // upstream looks at each new job alone
            job.tight = plan_of_batch(rpc, known->batch) != nullptr;
            job.due = static_cast<double>(known->report_deadline - rpc.config.report_grace_period);
        }
        by_name.emplace(job.result_name, jobs.size());
        jobs.push_back(std::move(job));
    }
    for (const InProgressResult& r : rpc.request.in_progress) {
        const auto [it, is_new] = by_name.emplace(r.name, jobs.size());
        if (is_new) {
            jobs.emplace_back();
            jobs.back().result_name = r.name;
            jobs.back().ours = false;
            jobs.back().ncpus = r.ncpus;
            for (int t = 1; t < kProcTypes; ++t)
                if (const double usage = r.gpu_usage[static_cast<std::size_t>(t)]; usage > 0) {
                    jobs.back().proc_type = static_cast<ProcType>(t);
                    jobs.back().gpu_usage = usage;
                }
        }
        JobOnHost& job = jobs[it->second];
        job.deadline = r.report_deadline;
        job.remaining = r.remaining;
        // Level 0: upstream expects another element than clients send, and counts no remaining time.
        if (rpc.config.compat_level == 0 && job.remaining < 0) job.remaining = 0;
    }
    return jobs;
}

void software(HostFacts& f, const SchedulerRequest& r) {
    f.anonymous = r.anonymous();
    f.client_version = r.client_version();
    f.plan_class_capable = r.client_cap_plan_class;
    f.cpu_features = r.cpu_features;
    f.virtualbox_version = r.virtualbox_version;
    f.docker_version = r.docker_version;
    f.docker_type = r.docker_type;
    f.vm_extensions_disabled = r.vm_extensions_disabled;
    f.dont_use_docker = r.dont_use_docker;
    f.dont_use_wsl = r.dont_use_wsl;
    f.wsl_available = r.wsl_available;
    f.wsl = r.wsl;
    f.opencl_cpus = r.opencl_cpus;
    f.coprocs = r.coprocs;
}

}  // namespace

HostFacts host_facts(const Rpc& rpc) {
    HostFacts f;
    software(f, rpc.request);
    f.row = rpc.rows.host;
    f.platforms = rpc.rows.platforms;
    f.usable_cpus = usable_cpus(rpc);
    f.usable_ram = usable_ram(rpc);
    f.disk_available = disk_available(rpc);
    const Host& h = rpc.rows.host;
    const bool knows_active_frac = f.client_version > 41900;
    f.cpu_availability = fraction(h.on_frac * (knows_active_frac ? h.active_frac : 1));
    f.gpu_availability = fraction(h.on_frac * h.gpu_active_frac);
    f.work_buf_min = rpc.prefs.global.work_buf_min_days * 86400;
    f.versions = rpc.rows.versions;
    f.low_turnaround_versions.insert(rpc.rows.low_turnaround_versions.begin(), rpc.rows.low_turnaround_versions.end());
    f.client_versions = client_versions(rpc);
    f.in_progress = jobs_on_host(rpc, f.client_versions);
    f.workload_known = rpc.request.has_other_results;
    for (const StickyFile& file : rpc.request.files)
        f.files[file_name_hash(file.name.data(), file.name.size())] = file.nbytes;
    f.hr_class_fine = hr_class(h, HrType::kFine, rpc.config.compat_level, rpc.rows.platforms);
    f.hr_class_coarse = hr_class(h, HrType::kCoarse, rpc.config.compat_level, rpc.rows.platforms);
    return f;
}

WorkRequest work_request(const Rpc& rpc) {
    const SchedulerRequest& r = rpc.request;
    WorkRequest w;
    w.total_seconds = r.work_req_seconds;
    w.seconds[0] = r.cpu_req_secs;
    w.instances[0] = r.cpu_req_instances;
    w.estimated_delay[0] = r.cpu_estimated_delay;
    for (const Coproc& c : r.coprocs) {
        if (c.proc_type == ProcType::kCpu || c.count <= 0) continue;
        const auto t = static_cast<std::size_t>(c.proc_type);
        w.seconds[t] = c.req_secs;
        w.instances[t] = c.req_instances;
        w.estimated_delay[t] = c.estimated_delay;
    }
    const auto any = [](const auto& wanted) {
        return std::any_of(wanted.begin(), wanted.end(), [](double v) { return v > 0; });
    };
    w.resource_specific = any(w.seconds) || (rpc.config.compat_level > 0 && any(w.instances));
    return w;
}

}  // namespace sluice
