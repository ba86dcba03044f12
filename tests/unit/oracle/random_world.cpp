// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/unit/oracle/random_world.h"

#include <array>
#include <cmath>

#include "tests/support/builders.h"

namespace sluice::oracle {
namespace {

using namespace sluice::test;

class Maker {
  public:
    explicit Maker(std::uint64_t seed) : rng_(make_seeded_rng(seed)) {}

    World make() {
        w_.now = 1700000000;
        w_.bits = rng_->next();
        w_.tables = some_tables();
        w_.tables.apps.clear();
        w_.tables.versions.clear();
        if (one_in(3)) w_.tables.perf.percentile95 = between(5e8, 2e9);
        n_apps_ = 1 + below(4);
        for (int a = 1; a <= n_apps_; ++a) app(a);
        params();
        machine();
        history();
        queue();
        user();
        request();
        shares();
        const int n = below(70);
        for (int i = 1; i <= n; ++i) slot(i, n);
        return w_;
    }

  private:
    int below(int n) { return static_cast<int>(rng_->below(static_cast<std::uint64_t>(n))); }
    bool one_in(int n) { return below(n) == 0; }
    double between(double a, double b) { return a + (b - a) * rng_->uniform(); }
    template <class T>
    T any_of(std::initializer_list<T> all) {
        return *(all.begin() + below(static_cast<int>(all.size())));
    }

    void version(int a, int n, const char* plan_class, int platform = 1, int number = 100) {
        AppVersion v = a_version(a * 10 + n, a, plan_class, platform, number);
        v.deprecated = one_in(8);
        v.beta = one_in(10);
        v.min_core_version = one_in(10) ? 81000 : 0;
        v.max_core_version = one_in(10) ? 70000 : 0;
        v.pfc_n = one_in(3) ? 101 + below(100) : below(101);
        v.pfc_avg = between(.5, 3);
        w_.tables.versions.push_back(v);
    }

    void app(int a) {
        App& app = w_.tables.apps.emplace_back(an_app(a));
        app.beta = one_in(6);
        app.non_cpu_intensive = one_in(15);
        app.weight = one_in(6) ? -1 : 1;
        app.homogeneous_redundancy = static_cast<HrType>(one_in(3) ? below(3) : 0);
        app.homogeneous_app_version = one_in(5);
        app.locality_scheduling = below(2);
        app.n_size_classes = below(4);
        app.min_version = one_in(4) ? 100 : 0;
        if (app.n_size_classes > 1 && !one_in(4))
            for (int q = 1; q < app.n_size_classes; ++q) w_.tables.size_quantiles[a].push_back(q * 1e9);
        version(a, 1, one_in(6) ? "sse3" : "");
        if (one_in(2)) version(a, 2, "mt");
        if (one_in(2)) version(a, 3, any_of({"cuda_fermi", "cuda", "cuda23", "opencl_nvidia_101"}));
        if (one_in(3)) version(a, 4, "", 1, 101);
        if (one_in(3)) version(a, 5, any_of({"", "sse3", "mt"}), 2, 90);
        if (one_in(4)) version(a, 6, any_of({"opencl_intel_gpu_101", "cuda23", "no_such_class"}));
    }

    JobLimit limit() { return {one_in(2) ? 0 : 1 + below(6), one_in(3)}; }

    // Weights whose sums are exact: equal scores are equal in whichever order they were added up.
    void params() {
        MatchParams& p = w_.params;
        p.compat_level = below(2);
        p.mm_max_slots = one_in(4) ? 1 + below(60) : 0;
        p.mm_max_locked = any_of({0, 3, -1});
        p.batch_accel = one_in(3);
        p.size_classes = one_in(2);
        p.keyword_sched = one_in(2);
        p.homogeneous_redundancy = one_in(8) ? below(3) : 0;
        p.non_cpu_intensive = one_in(20);
        p.one_result_per_user_per_wu = one_in(3);
        p.one_result_per_host_per_wu = one_in(3);
        p.user_filter = one_in(6);
        if (one_in(12)) p.jobs_without_batch = "refuse";
        p.workload_sim = one_in(2);
        p.ignore_delay_bound = one_in(8);
        p.prefer_primary_platform = one_in(4);
        p.rte_no_stats = one_in(6);
        p.estimate_flops_from_hav_pfc = one_in(5);
        p.version_select_random_factor = one_in(3) ? 0 : between(.1, 3);
        p.daily_result_quota = one_in(2) ? 1 + below(6) : 0;
        p.gpu_multiplier = below(3);
        p.max_wus_to_send = below(5);
        p.reliable_reduced_delay_bound = one_in(2) ? between(0, .9) : 0;
        p.reliable_max_avg_turnaround = one_in(2) ? 40000 : 0;
        p.ltt_reserve_timeout = one_in(2) ? 5000 : 0;
        if (one_in(3)) p.max_jobs_in_progress.project = {limit(), limit(), limit()};
        if (one_in(3)) p.max_jobs_in_progress.apps["app1"] = {limit(), limit(), limit()};
        for (const char* term : {"ltt_match", "locality_lite", "size_class", "beta", "non_preferred_app",
                                 "previously_infeasible", "keyword", "result_priority", "hardness", "hr_committed",
                                 "batch_let", "reliable_retry", "waiting", "share_lag"})
            if (one_in(6)) p.score_weights[term] = term == std::string("size_class") ? 5 * below(4) - 5 : below(14) - 2;
    }

    void machine() {
        a_host host;
        host.cpus(1 + below(6)).speed(between(5e8, 4e9)).ram(between(.5, 6) * kGiB);
        host.disk(one_in(3) ? between(0, 4e8) : 1e11);
        host.availability(between(.1, 1), between(.1, 1));
        if (one_in(2)) host.low_turnaround();
        if (one_in(6)) host.hr(0, 0);
        if (one_in(3)) host.platforms({"x86_64-pc-linux-gnu", "i686-pc-linux-gnu"});
        if (one_in(8)) host.platforms({"i686-pc-linux-gnu", "x86_64-pc-linux-gnu"});
        if (one_in(3)) host.os(any_of({"Darwin", "FreeBSD", "Microsoft Windows 11"}), "22.1");
        if (one_in(8)) host.cpu("Power Macintosh", "G5");
        if (one_in(6)) host.credit(0);
        if (one_in(6)) host.bandwidth(0);
        if (one_in(6)) host.features(" sse ");
        if (one_in(8)) host.no_plan_classes();
        host.client(any_of({80002, 80002, 81000, 62300}));
        for (int f = below(4); f > 0; --f) host.file("f" + std::to_string(f), between(1, 1e6));
        w_.host = host;
        w_.host.usable_cpus = 1 + below(w_.host.row.p_ncpus);
        if (!one_in(3)) gpu(ProcType::kNvidia);
        if (one_in(4)) gpu(ProcType::kIntelGpu);
        if (one_in(8)) own_versions();
    }

    void gpu(ProcType type) {
        Coproc c = a_host().nvidia(1 + below(3), between(1e11, 5e12)).get().coprocs[0];
        c.proc_type = type;
        c.type = proc_type_name(type);
        c.compute_capability = one_in(4) ? 103 : 806;
        if (one_in(8)) c.driver_version = 18000;
        if (one_in(8)) c.cuda_version = 2020;
        if (one_in(8)) c.available_ram = 300.0 * 1024 * 1024;
        if (one_in(8)) c.opencl.present = false;
        if (one_in(6)) c.opencl.global_mem_size = one_in(2) ? 0 : 2e8;
        if (type == ProcType::kIntelGpu) c.have_cuda = false;
        w_.host.coprocs.push_back(c);
    }

    void own_versions() {
        w_.host.anonymous = true;
        for (int i = 1 + below(4); i > 0; --i) {
            ClientAppVersion v;
            v.appid = one_in(8) ? 0 : 1 + below(n_apps_);
            v.platform = one_in(3) ? "i686-pc-linux-gnu" : "x86_64-pc-linux-gnu";
            v.version_num = 99 + below(3);
            v.flops = one_in(4) ? 0 : between(5e8, 5e9);
            v.proc_type = one_in(3) ? ProcType::kNvidia : ProcType::kCpu;
            v.gpu_usage = v.proc_type == ProcType::kCpu ? 0 : .5;
            v.avg_ncpus = v.proc_type == ProcType::kCpu ? 1 + below(2) : .2;
            w_.host.client_versions.push_back(v);
        }
    }

    void history() {
        for (int i = below(6); i > 0; --i) {
            HostAppVersion v;
            const int app = 1 + below(4);
            v.app_version_id = one_in(4) ? 1000000 * app + 2 + below(2) : app * 10 + 1 + below(6);
            bool known = false;
            for (const HostAppVersion& other : w_.host.versions) known |= other.app_version_id == v.app_version_id;
            if (known) continue;
            v.max_jobs_per_day = below(6);
            v.n_jobs_today = below(6);
            v.consecutive_valid = one_in(3) ? 0 : below(20);
            v.pfc_n = one_in(3) ? 0 : below(30);
            v.pfc_avg = between(.5, 3);
            v.et = {static_cast<double>(below(24)), between(1e-10, 2e-9), 0, 0};
            v.turnaround.n = below(22);
            v.turnaround.avg = between(1e3, 1e5);
            w_.host.versions.push_back(v);
            if (one_in(3)) w_.host.low_turnaround_versions[v.app_version_id] = one_in(2);
        }
    }

    void queue() {
        w_.host.workload_known = one_in(2);
        w_.host.work_buf_min = between(0, 5000);
        for (int i = below(5); i > 0; --i) {
            JobOnHost job;
            job.result_name = "held" + std::to_string(i);
            job.appid = below(3);
            job.proc_type = one_in(4) ? ProcType::kNvidia : ProcType::kCpu;
            job.deadline = one_in(8) ? 0 : w_.now + between(-1e4, 1e5);
            job.remaining = one_in(8) ? -1 : between(0, 3e4);
            job.ncpus = any_of({1.0, 1.0, 2.0, .3});
            job.gpu_usage = any_of({1.0, .5, .3});
            job.memory = between(0, 1e9);
            job.ours = !one_in(4);
            w_.host.in_progress.push_back(job);
        }
    }

    void user() {
        w_.user.id = 5;
        if (one_in(4)) w_.user.selected_apps = {1, 3};
        w_.user.allow_non_preferred_apps = one_in(2);
        w_.user.allow_beta_work = one_in(2);
        w_.user.max_jobs_in_progress = one_in(5) ? 3 + below(8) : 0;
        for (int t = 0; t < kProcTypes; ++t) w_.user.dont_use[static_cast<std::size_t>(t)] = one_in(8);
        w_.user.keywords_yes = {1, 2};
        if (one_in(2)) w_.user.keywords_no = {4};
    }

    void request() {
        WorkRequest& r = w_.wanted;
        r.seconds[0] = one_in(4) ? 0 : between(0, 2e5);
        r.instances[0] = below(6);
        if (!one_in(3)) r.seconds[1] = between(0, 1e5), r.instances[1] = below(3);
        if (one_in(3)) r.seconds[3] = between(0, 1e5), r.instances[3] = below(2);
        if (one_in(6)) {
            r = {};
            r.resource_specific = false;
            r.total_seconds = between(0, 1e5);
        }
        for (const std::size_t t : {0, 1, 3})
            if (one_in(2)) r.estimated_delay[t] = between(0, 5e4);
    }

    // Lags are quarters of six hours: points stay exact.
    void shares() {
        w_.params.share_floor = one_in(2) ? 0 : between(0, .5);
        if (!one_in(3)) return;
        std::array<double, 5> quotas{};
        for (double& quota : quotas) quota = one_in(8) ? 0 : 1 + below(4);
        for (int batch = 1; batch <= 8; ++batch) {
            const int user = below(5);
            const double end = one_in(8) ? HUGE_VAL : 1.8e9 + 5400 * below(one_in(2) ? 6 : 60);
            if (!one_in(6)) w_.tables.batch_shares[batch] = {1 + user, end, quotas[static_cast<std::size_t>(user)]};
        }
    }

    void slot(int i, int n) {
        World::Slot& slot = w_.slots.emplace_back();
        if (one_in(10)) return;
        slot.state = one_in(15) ? SlotState::kClaimed : SlotState::kPresent;
        const bool lets = w_.bits % 4 == 0;
        a_job j(i);
        j.app(1 + below(5)).workunit(100 + below(2 * n)).flops(std::pow(10, between(11, 14)));
        j.delay_bound(1000 + below(100000));
        j.priority(lets && one_in(2) ? -1800000000 + below(50) : below(12) - 4).wu_priority(one_in(2) ? 1 : 0);
        j.ram(one_in(10) ? 3.5e9 : between(1e7, 3e9)).disk(between(0, 2e8)).batch(one_in(3) ? 5 + below(2) : 0);
        if (!w_.tables.batch_shares.empty() && !one_in(4)) j.batch(1 + below(8));
        j.size_class(below(4) - 1).time_added(static_cast<int>(w_.now) - below(10000));
        if (one_in(4)) j.bandwidth(between(5e5, 2e6));
        if (!one_in(4)) j.created(static_cast<int>(w_.now) - below(1000000));
        if (one_in(3)) j.hr_class(one_in(3) ? 385 : one_in(2) ? 256 + 21 : 256 + 2);
        if (one_in(4)) j.committed_version((1 + below(4)) * 10 + 1 + below(5));
        if (one_in(8)) j.version_num(100 + below(2));
        if (one_in(5)) j.need_reliable();
        if (one_in(3)) j.keywords({1 + below(5), 1 + below(5)});
        for (int f = below(3); f > 0; --f) j.input_file("f" + std::to_string(1 + below(6)), between(1, 1e6));
        slot.job = j;
        slot.infeasible = one_in(5) ? 1 : 0;
        slot.taken = one_in(15);
        facts(slot);
    }

    void facts(World::Slot& slot) {
        WorkunitFacts& f = slot.facts;
        f.found = true;
        f.result_id = slot.job.result_id;
        f.workunit_id = slot.job.workunit_id;
        if (!one_in(3)) return;
        switch (below(9)) {
            case 0: f.found = false; break;
            case 1: f.server_state = ServerState::kInProgress; break;
            case 2: f.error_mask = kWuCancelled; break;
            case 3: f.canonical_resultid = 9; break;
            case 4: f.hr_class = 385; break;
            case 5: f.app_version_id = one_in(2) ? 99 : slot.job.app_id * 10 + 1; break;
            case 6: f.workunit_id += 1; break;
            case 7: f.results_of_host = 1; break;
            default: f.results_of_user = 1;
        }
    }

    std::unique_ptr<Rng> rng_;
    World w_;
    int n_apps_ = 1;
};

}  // namespace

World random_world(std::uint64_t seed) { return Maker(seed).make(); }

}  // namespace sluice::oracle
