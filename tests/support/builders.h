// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Builders of what matchmaking looks at: a_job().ram(…), a_host().gpu(…), an_app(…), a_version(…). Defaults fit each
// other: a job of app 1 can be sent to the host with version 11.
#include <string>
#include <utility>
#include <vector>

#include "sluice/match/host_facts.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job_summary.h"
#include "sluice/model/project_tables.h"

namespace sluice::test {

inline constexpr double kGiB = 1024.0 * 1024 * 1024;

// A setter a line.
// clang-format off
class a_job {
  public:
    explicit a_job(Id result = 1) { j_.result_id = result; j_.workunit_id = 1000 + result; j_.app_id = 1;
        j_.rsc_fpops_est = 3.6e12; j_.rsc_fpops_bound = 3.6e14; j_.rsc_memory_bound = 1e8; j_.rsc_disk_bound = 1e7;
        j_.delay_bound = 86400; }
    a_job& app(int v) { j_.app_id = v; return *this; }
    a_job& workunit(Id v) { j_.workunit_id = v; return *this; }
    a_job& batch(int v) { j_.batch = v; return *this; }
    a_job& flops(double v) { j_.rsc_fpops_est = v; return *this; }
    a_job& ram(double v) { j_.rsc_memory_bound = v; return *this; }
    a_job& disk(double v) { j_.rsc_disk_bound = v; return *this; }
    a_job& bandwidth(double v) { j_.rsc_bandwidth_bound = v; return *this; }
    a_job& delay_bound(int v) { j_.delay_bound = v; return *this; }
    a_job& priority(int v) { j_.priority = v; return *this; }
    a_job& wu_priority(int v) { j_.wu_priority = v; return *this; }
    a_job& hr_class(int v) { j_.hr_class = v; return *this; }
    a_job& committed_version(int v) { j_.app_version_id = v; return *this; }
    a_job& version_num(int v) { j_.app_version_num = v; return *this; }
    a_job& size_class(int v) { j_.size_class = static_cast<std::int16_t>(v); return *this; }
    a_job& need_reliable() { j_.need_reliable = 1; return *this; }
    a_job& time_added(int v) { j_.time_added = v; return *this; }
    a_job& created(int v) { j_.create_time = v; return *this; }
    a_job& buda(const std::string& name) { j_.is_buda = 1; j_.buda_app_hash = file_name_hash(name.data(), name.size()); return *this; }
    a_job& keywords(const std::vector<int>& v) {
        j_.n_keywords = static_cast<std::uint8_t>(v.size());
        for (std::size_t i = 0; i < v.size() && i < j_.keywords.size(); ++i) j_.keywords[i] = v[i];
        return *this;
    }
    a_job& input_file(const std::string& name, double nbytes) {
        if (j_.n_input_files < j_.input_files.size())
            j_.input_files[j_.n_input_files] = {file_name_hash(name.data(), name.size()), static_cast<float>(nbytes)};
        ++j_.n_input_files;
        return *this;
    }
    operator JobSummary() const { return j_; }  // NOLINT: a builder stands for what it builds
    JobSummary get() const { return j_; }

  private:
    JobSummary j_;
};
// clang-format on

// A setter a line.
// clang-format off
/// An idle Linux PC: 4 CPUs of 1 GFLOPS, 8 GiB, 100 GB of disk, client 8.0.2, always on.
class a_host {
  public:
    a_host() {
        h_.row.id = 7; h_.row.p_ncpus = 4; h_.row.p_fpops = 1e9; h_.row.p_vendor = "GenuineIntel";
        h_.row.p_model = "Intel(R) Core(TM) i7"; h_.row.os_name = "Linux Debian"; h_.row.os_version = "6.1.0";
        h_.row.m_nbytes = 8 * kGiB; h_.row.total_credit = 1000; h_.row.n_bwdown = 1e6;
        h_.platforms = {"x86_64-pc-linux-gnu"};
        h_.client_version = 80002; h_.plan_class_capable = true; h_.usable_cpus = 4;
        h_.cpu_features = " sse sse2 pni vmx ";
        h_.usable_ram = 8 * kGiB; h_.disk_available = 100e9;
        h_.hr_class_fine = 256 + 21; h_.hr_class_coarse = 256 + 2;
    }
    a_host& cpus(int n) { h_.row.p_ncpus = h_.usable_cpus = n; return *this; }
    a_host& speed(double flops) { h_.row.p_fpops = flops; return *this; }
    a_host& ram(double v) { h_.usable_ram = v; return *this; }
    a_host& disk(double v) { h_.disk_available = v; return *this; }
    a_host& bandwidth(double v) { h_.row.n_bwdown = v; return *this; }
    a_host& availability(double cpu, double gpu = 1) { h_.cpu_availability = cpu; h_.gpu_availability = gpu; return *this; }
    a_host& platforms(std::vector<std::string> v) { h_.platforms = std::move(v); return *this; }
    a_host& anonymous() { h_.anonymous = true; h_.platforms = {"anonymous"}; return *this; }
    a_host& os(const std::string& name, const std::string& version) { h_.row.os_name = name; h_.row.os_version = version; return *this; }
    a_host& cpu(const std::string& vendor, const std::string& model) { h_.row.p_vendor = vendor; h_.row.p_model = model; return *this; }
    a_host& features(const std::string& v) { h_.cpu_features = v; return *this; }
    a_host& client(int version) { h_.client_version = version; return *this; }
    a_host& no_plan_classes() { h_.plan_class_capable = false; return *this; }
    a_host& hr(int fine, int coarse) { h_.hr_class_fine = fine; h_.hr_class_coarse = coarse; return *this; }
    a_host& low_turnaround() { h_.row.error_rate = 1; return *this; }
    a_host& credit(double v) { h_.row.total_credit = v; return *this; }
    a_host& file(const std::string& name, double nbytes) { h_.files[file_name_hash(name.data(), name.size())] = nbytes; return *this; }
    a_host& history(const HostAppVersion& v) { h_.versions.push_back(v); return *this; }
    a_host& holds(const JobOnHost& job) { h_.in_progress.push_back(job); h_.workload_known = true; return *this; }
    a_host& workload_known() { h_.workload_known = true; return *this; }
    a_host& work_buf_min(double s) { h_.work_buf_min = s; return *this; }
    a_host& client_version(const ClientAppVersion& v) { h_.client_versions.push_back(v); return *this; }
    a_host& gpu(const Coproc& c) { h_.coprocs.push_back(c); return *this; }
    a_host& nvidia(int count = 1, double peak = 1e12) {
        Coproc c;
        c.type = "NVIDIA"; c.proc_type = ProcType::kNvidia; c.model = "RTX"; c.count = count; c.peak_flops = peak;
        c.available_ram = c.total_ram = 8 * kGiB; c.have_cuda = true; c.cuda_version = 12040; c.driver_version = 55000;
        c.compute_capability = 806; c.opencl.present = true; c.opencl.device_version_int = 300;
        c.opencl.global_mem_size = 8 * kGiB; c.opencl.double_fp_config = 63;
        return gpu(c);
    }
    HostFacts get() const { return h_; }
    operator HostFacts() const { return h_; }  // NOLINT

  private:
    HostFacts h_;
};
// clang-format on

inline App an_app(Id id, const std::string& name = {}) {
    App a;
    a.id = id;
    a.name = a.user_friendly_name = name.empty() ? "app" + std::to_string(id) : name;
    return a;
}

inline AppVersion a_version(Id id, Id app, const std::string& plan_class = {}, Id platform = 1, int number = 100) {
    AppVersion v;
    v.id = id;
    v.appid = app;
    v.platformid = platform;
    v.version_num = number;
    v.plan_class = plan_class;
    v.xml_doc = "<app_version>\n</app_version>\n";
    return v;
}

/// Platform 1 = x86_64 Linux, 2 = 32-bit Linux, 3 = Windows; app 1 with version 11.
inline ProjectTables some_tables() {
    ProjectTables t;
    const char* names[] = {"x86_64-pc-linux-gnu", "i686-pc-linux-gnu", "windows_x86_64"};
    for (int i = 0; i < 3; ++i) {
        Platform p;
        p.id = i + 1;
        p.name = names[i];
        t.platforms.push_back(p);
    }
    t.apps.push_back(an_app(1));
    t.versions.push_back(a_version(11, 1));
    t.perf = {1e9, 1e8, 1e9, 1e12};
    return t;
}

}  // namespace sluice::test
