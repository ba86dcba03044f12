// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/unit/upstream/case_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "sluice/base/rng.h"
#include "tests/support/project_rows.h"

namespace sluice::test {
namespace {

constexpr const char* kPlatforms[] = {"x86_64-pc-linux-gnu", "i686-pc-linux-gnu", "windows_x86_64"};
constexpr int kApps = 4, kUsers = 3, kJobs = 150;

std::string version_xml(const std::string& file, const std::string& app, int number) {
    return fmt::format(
        "<file_info>\n    <name>{0}</name>\n    <url>http://x/{0}</url>\n    <executable/>\n    <nbytes>1</nbytes>\n</file_info>\n"
        "<app_version>\n    <app_name>{1}</app_name>\n    <version_num>{2}</version_num>\n<file_ref>\n    <file_name>{0}</file_name>\n"
        "    <main_program/>\n</file_ref>\n</app_version>\n",
        file, app, number);
}

class Maker {
  public:
    Maker(std::uint64_t seed, std::int64_t now) : rng_(make_seeded_rng(seed)), now_(now) {}

    CaseWorld make() {
        for (int p = 1; p <= 3; ++p) w_.rows.platforms[p] = {p, kPlatforms[p - 1], kPlatforms[p - 1], false};
        hr_ = static_cast<HrType>(one_in(2) ? below(3) : 0);  // all alike: otherwise the feeder wants --allapps
        for (int a = 1; a <= kApps; ++a) app(a);
        for (int u = 1; u <= kUsers; ++u) user(u);
        options();
        jobs();
        for (int h = 1; h <= kRequestsOfAWorld; ++h) host(h);
        return w_;
    }

  private:
    int below(int n) { return static_cast<int>(rng_->below(static_cast<std::uint64_t>(n))); }
    bool one_in(int n) { return below(n) == 0; }
    double between(double a, double b) { return std::round(a + (b - a) * rng_->uniform()); }
    template <class T>
    T any_of(std::initializer_list<T> all) {
        return *(all.begin() + below(static_cast<int>(all.size())));
    }

    void version(int a, int n, const char* plan_class, int platform, int number) {
        AppVersion v;
        v.id = a * 10 + n;
        v.appid = a;
        v.platformid = platform;
        v.version_num = number;
        v.plan_class = plan_class;
        v.beta = one_in(12);
        v.min_core_version = one_in(12) ? 802 : 0;
        v.xml_doc = version_xml(fmt::format("file_{}", v.id), fmt::format("app{}", a), number);
        w_.rows.versions[v.id] = v;
    }
    void app(int a) {
        App app;
        app.id = a;
        app.name = fmt::format("app{}", a);
        app.user_friendly_name = fmt::format("Application {}", a);
        app.beta = one_in(6);
        app.weight = one_in(6) ? -1 : 1;
        app.homogeneous_redundancy = hr_;
        sizes_ = sizes_ || one_in(4);
        app.n_size_classes = one_in(2) ? below(4) : 0;
        if (app.n_size_classes > 1)
            for (int q = 1; q < app.n_size_classes; ++q) w_.quantiles[a].push_back(q * 1e9);
        w_.rows.apps[a] = app;
        version(a, 1, "", 1, 100);
        if (one_in(2)) version(a, 2, any_of({"mt", "sse3"}), 1, 100);
        if (one_in(2)) version(a, 3, any_of({"cuda_fermi", "cuda", "opencl_nvidia_101"}), 1, 100);
        if (one_in(3)) version(a, 4, "", 2, 100);
        if (one_in(2)) version(a, 5, any_of({"", "mt"}), 3, 100);
    }
    void user(int u) {
        User user = a_user(u, fmt::format("user{}", u), fmt::format("{:032x}", 0x1234567890 + u));
        std::string prefs;
        if (one_in(3)) prefs += "<apps_selected>\n<app_id>1</app_id>\n<app_id>3</app_id>\n</apps_selected>\n";
        if (one_in(2)) prefs += "<allow_non_preferred_apps>1</allow_non_preferred_apps>\n";
        if (one_in(2)) prefs += "<allow_beta_work>1</allow_beta_work>\n";
        if (one_in(5)) prefs += "<no_cuda>1</no_cuda>\n";
        if (one_in(8)) prefs += "<no_cpu>1</no_cpu>\n";
        if (one_in(5)) prefs += "<max_jobs>4</max_jobs>\n";
        user.project_prefs =
            "<project_preferences>\n<resource_share>100</resource_share>\n" + prefs + "</project_preferences>\n";
        w_.rows.users[u] = user;
    }
    void flag(int chance, const char* name, int value = 1) {
        if (one_in(chance)) w_.options += fmt::format("<{0}>{1}</{0}>\n", name, value);
    }
    void options() {
        w_.options = fmt::format(
            "<shmem_work_items>{0}</shmem_work_items>\n<feeder_query_size>{0}</feeder_query_size>\n"
            "<version_select_random_factor>0</version_select_random_factor>\n",
            kSlotsOfAWorld);
        // Upstream refuses both together.
        if (sizes_)
            w_.options += "<size_classes>1</size_classes>\n";
        else
            flag(3, "batch_accel");
        flag(3, "one_result_per_user_per_wu");
        flag(3, "one_result_per_host_per_wu");
        flag(8, "ignore_delay_bound");
        flag(3, "workload_sim");
        flag(4, "prefer_primary_platform");
        flag(8, "homogeneous_redundancy", 2);
        flag(8, "user_filter");
        flag(4, "rte_no_stats");
        flag(3, "gpu_multiplier", 2);
        w_.options += fmt::format("<max_wus_to_send>{}</max_wus_to_send>\n", 1 + below(4));
        if (one_in(3)) {
            w_.options += fmt::format(
                "<reliable_on_priority>{}</reliable_on_priority>\n<reliable_reduced_delay_bound>0.5</reliable_reduced_delay_bound>\n",
                4000);
            flag(2, "reliable_max_avg_turnaround", 40000);
        }
        flag(4, "max_wus_in_progress", 1 + below(3));
        flag(4, "max_wus_in_progress_gpu", 1 + below(3));
    }
    // Distinct priorities, so far apart that equal scores are rare: of those upstream takes any.
    void jobs() {
        std::vector<int> order(kJobs);
        std::iota(order.begin(), order.end(), 0);
        for (int i = kJobs - 1; i > 0; --i)
            std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
        const int step = any_of({13, 17, 40});
        Id result = 0;
        for (Id id = 1; result < kJobs; ++id) {
            Workunit wu = a_workunit(id, now_ - 100000);
            wu.appid = 1 + below(kApps);
            wu.rsc_fpops_est = between(1e11, 6e13);
            wu.rsc_fpops_bound = 1e17;
            wu.rsc_memory_bound = one_in(10) ? 3.5e9 : between(1e7, 3e9);
            wu.rsc_disk_bound = between(1e6, 2e8);
            wu.rsc_bandwidth_bound = one_in(5) ? between(5e5, 2e6) : 0;
            wu.delay_bound = 1000 + below(100000);
            wu.batch = one_in(4) ? 1 + below(3) : 0;
            const App& app = w_.rows.apps[wu.appid];
            if (app.n_size_classes > 1) wu.size_class = below(app.n_size_classes);
            if (app.n_size_classes > 0 && !sizes_) wu.priority = one_in(3) ? 1 : 0;
            if (app.homogeneous_redundancy != HrType::kNone && one_in(3))
                wu.hr_class = any_of({256 + 2, 256 + 21, 384 + 2});
            const int instances = one_in(4) ? 2 : 1;
            wu.target_nresults = wu.min_quorum = instances;
            w_.rows.workunits[id] = wu;
            for (int i = 0; i < instances && result < kJobs; ++i) {
                Result r = a_result(++result, wu, i);
                r.server_state = ServerState::kUnsent;
                r.priority = step * order[static_cast<std::size_t>(result - 1)];
                w_.rows.results[result] = r;
            }
        }
    }

    void held_jobs(Id host, int n, std::string& others) {
        for (int i = 0; i < n; ++i) {
            const Id id = 1000 + host * 10 + i;
            Workunit wu = a_workunit(id, now_ - 50000);
            wu.appid = 1 + below(kApps);
            Result r = a_result(id, wu, 0);
            r.server_state = ServerState::kInProgress;
            r.hostid = host;
            r.userid = w_.rows.hosts[host].userid;
            r.sent_time = now_ - 5000;
            const int left = 1000 + below(100000);
            r.report_deadline = now_ + left;
            r.app_version_id = wu.appid * 10 + 1;
            w_.rows.workunits[id] = wu;
            w_.rows.results[id] = r;
            others +=
                fmt::format("<other_result>\n<name>{}</name>\n<plan_class></plan_class>\n</other_result>\n", r.name);
        }
    }

    // A host's day begins at an hour of its own (upstream draws it by the host's id, we by another rule). For no other
    // host does it begin between the last request and this one, a second later. For these it had begun when upstream's
    // decisions were recorded.
    static bool day_begins(Id host) { return host == 12 || host == 26; }

    void history(Id host) {
        for (const auto& [id, version] : w_.rows.versions) {
            if (!one_in(3)) continue;
            HostAppVersion v;
            v.host_id = host;
            v.app_version_id = id;
            // Used up from the start, or never, as a rule: where a quota ends in the middle of a reply, compat.md has a
            // row.
            v.max_jobs_per_day = any_of({1, 500, 500, 500});
            v.n_jobs_today = 1 + below(3);
            if (day_begins(host)) v.n_jobs_today = 0;
            v.consecutive_valid = any_of({0, 3, 12, 1000000000});
            v.pfc_n = 1 + below(20);
            v.pfc_avg = 1;
            v.et = {static_cast<double>(below(24)), 1 / between(5e8, 6e9), 0, 0};
            v.turnaround = {static_cast<double>(below(22)), between(1e3, 1e5), 0, 0};
            w_.rows.host_app_versions[{host, id}] = v;
        }
    }

    // One draw a statement: the order in which arguments are evaluated is the compiler's.
    std::string gpu() {
        const int major = one_in(5) ? 1 : 8, driver = one_in(8) ? 18000 : 53554, cuda = one_in(8) ? 2020 : 12020;
        const double peak = between(1e11, 5e12), delay = one_in(2) ? 0 : between(1, 5e4);
        const int instances = below(3);
        const double seconds = one_in(4) ? 0 : between(10, 1e5), ram = one_in(8) ? 2e8 : 7e9;
        const int count = 1 + below(3);
        return fmt::format(
            "<coprocs>\n<coproc_cuda>\n<count>{}</count>\n<name>RTX</name>\n<available_ram>{}</available_ram>\n<have_cuda>1</have_cuda>\n"
            "<have_opencl>1</have_opencl>\n<req_secs>{}</req_secs>\n<req_instances>{}</req_instances>\n<estimated_delay>{}</estimated_delay>\n"
            "<peak_flops>{}</peak_flops>\n<cudaVersion>{}</cudaVersion>\n<drvVersion>{}</drvVersion>\n<totalGlobalMem>8e9</totalGlobalMem>\n"
            "<major>{}</major>\n<minor>3</minor>\n<coproc_opencl>\n<name>RTX</name>\n<vendor>NVIDIA Corporation</vendor>\n"
            "<available>1</available>\n<global_mem_size>8000000000</global_mem_size>\n<opencl_platform_version>OpenCL 3.0</opencl_platform_version>\n"
            "<opencl_device_version>OpenCL 3.0</opencl_device_version>\n<opencl_driver_version>535</opencl_driver_version>\n</coproc_opencl>\n"
            "</coproc_cuda>\n</coprocs>\n",
            count, ram, seconds, instances, delay, peak, cuda, driver, major);
    }

    std::string asks(const Host& h, bool windows) {
        const double seconds = one_in(5) ? 0 : between(10, 2e5), delay = one_in(2) ? 0 : between(1, 5e4);
        const int instances = below(4), client = one_in(4) ? 7 : 8;
        std::string x = fmt::format(
            "<scheduler_request>\n<authenticator>{}</authenticator>\n<hostid>{}</hostid>\n<rpc_seqno>6</rpc_seqno>\n"
            "<core_client_major_version>{}</core_client_major_version>\n<core_client_minor_version>2</core_client_minor_version>\n"
            "<core_client_release>0</core_client_release>\n<work_req_seconds>{}</work_req_seconds>\n<cpu_req_secs>{}</cpu_req_secs>\n"
            "<cpu_req_instances>{}</cpu_req_instances>\n<estimated_delay>{}</estimated_delay>\n<client_cap_plan_class>1</client_cap_plan_class>\n"
            "<platform_name>{}</platform_name>\n",
            w_.rows.users[h.userid].authenticator, h.id, client, seconds, seconds, instances, delay,
            windows ? kPlatforms[2] : kPlatforms[0]);
        if (!windows && one_in(2))
            x += fmt::format("<alt_platform>\n<name>{}</name>\n</alt_platform>\n", kPlatforms[1]);
        return x;
    }

    std::string preferences_and_averages() {
        const int cpus_pct = any_of({50, 100}), ram_pct = any_of({50, 75});
        const double buffer = one_in(2) ? 0.01 : 0.1;
        std::string x = fmt::format(
            "<working_global_preferences>\n<global_preferences>\n<work_buf_min_days>{}</work_buf_min_days>\n"
            "<ram_max_used_busy_pct>{}</ram_max_used_busy_pct>\n<ram_max_used_idle_pct>90</ram_max_used_idle_pct>\n"
            "<max_ncpus_pct>{}</max_ncpus_pct>\n<disk_max_used_pct>90</disk_max_used_pct>\n"
            "<disk_min_free_gb>0.1</disk_min_free_gb>\n</global_preferences>\n</working_global_preferences>\n",
            buffer, ram_pct, cpus_pct);
        const double bandwidth = one_in(4) ? 0 : between(1e5, 3e6), gpu = any_of({.4, .9, 1.});
        const double active = any_of({.4, .8, 1.}), on = any_of({.5, .9, 1.});
        return x +
               fmt::format(
                   "<time_stats>\n<on_frac>{}</on_frac>\n<connected_frac>-1</connected_frac>\n<active_frac>{}</active_frac>\n<gpu_active_frac>{}</gpu_active_frac>\n"
                   "</time_stats>\n<net_stats>\n<bwup>1000</bwup>\n<bwdown>{}</bwdown>\n</net_stats>\n",
                   on, active, gpu, bandwidth);
    }

    std::string machine(const Host& h, bool windows, bool amd) {
        const double free = one_in(4) ? between(1.05e9, 1.6e9) : 5e11;
        const double ram = between(1e9, 8e9), speed = between(5e8, 4e9);
        const char* sse3 = one_in(4) ? "" : " pni";
        const int cpus = 1 + below(8);
        return fmt::format(
            "<host_info>\n<timezone>3600</timezone>\n<domain_name>{}</domain_name>\n<ip_addr>10.0.0.1</ip_addr>\n<host_cpid>{}</host_cpid>\n"
            "<p_ncpus>{}</p_ncpus>\n<p_vendor>{}</p_vendor>\n<p_model>{}</p_model>\n<p_features>sse sse2{}</p_features>\n<p_fpops>{}</p_fpops>\n"
            "<p_iops>1e9</p_iops>\n<p_membw>1e9</p_membw>\n<m_nbytes>{}</m_nbytes>\n<m_cache>1e6</m_cache>\n<m_swap>0</m_swap>\n"
            "<d_total>1e12</d_total>\n<d_free>{}</d_free>\n<os_name>{}</os_name>\n<os_version>12</os_version>\n</host_info>\n"
            "<disk_usage>\n<d_boinc_used_total>1e6</d_boinc_used_total>\n<d_boinc_used_project>1e6</d_boinc_used_project>\n</disk_usage>\n",
            h.domain_name, h.host_cpid, cpus, amd ? "AuthenticAMD" : "GenuineIntel",
            amd ? "AMD Ryzen" : "Intel(R) Core(TM) i7", sse3, speed, ram, free,
            windows ? "Microsoft Windows 10" : "Linux Debian");
    }

    void host(Id id) {
        Host& h = w_.rows.hosts[id];
        h.id = id;
        h.userid = 1 + below(kUsers);
        h.create_time = now_ - 1000000;
        h.rpc_time = now_ - 1;
        h.rpc_seqno = 5;
        h.total_credit = one_in(6) ? 0 : 1000;
        h.error_rate = one_in(2) ? 1 : 0;
        h.host_cpid = fmt::format("{:032x}", 0xabcdef00 + id);
        h.domain_name = fmt::format("host{}", id);
        history(id);
        std::string others;
        held_jobs(id, one_in(2) ? 0 : below(4), others);
        const bool windows = one_in(4), amd = one_in(3);
        std::string x = asks(h, windows);
        x += preferences_and_averages();
        x += machine(h, windows, amd);
        if (!one_in(3)) x += gpu();
        if (one_in(2) || !others.empty()) x += "<other_results>\n" + others + "</other_results>\n";
        w_.requests.push_back(x + "</scheduler_request>\n");
    }

    std::unique_ptr<Rng> rng_;
    std::int64_t now_;
    CaseWorld w_;
    HrType hr_ = HrType::kNone;
    bool sizes_ = false;
};

}  // namespace

CaseWorld make_case_world(std::uint64_t seed, std::int64_t now) { return Maker(seed, now).make(); }

}  // namespace sluice::test
