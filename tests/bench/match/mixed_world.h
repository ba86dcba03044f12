// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project and a host as they are at work, level 1: a volunteer's machine with a CPU and three makes of GPU, 30 jobs
// on it, asks for all four; 12 apps, up to seven versions each, size classes, homogeneous redundancy, committed
// versions, batches with shares, some of them planned, retries, accelerated jobs. Most jobs are feasible, some are
// refused by each kind of check.
#include <random>
#include <vector>

#include "config/load.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "tests/support/match_world.h"

namespace sluice::test {

struct MixedWorld {
    static constexpr int kApps = 12, kBatches = 200, kBatchRun = 5;
    MatchWorld w;
    std::vector<JobSummary> jobs;

    explicit MixedWorld(std::int64_t slots) {
        w.params = default_config(1);
        w.params.mm_min_slots = 0;  // every slot: the longest walk
        w.params.one_result_per_user_per_wu = w.params.batch_accel = w.params.size_classes = true;
        w.params.workload_sim = true;
        w.user.id = 5;
        make_host();
        make_apps();
        make_batches();
        std::mt19937 random(1);
        for (std::int64_t i = 0; i < slots; ++i) jobs.push_back(job(i, random));
    }
    /// The host has less memory than any job needs: it gets nothing.
    void starve() { w.host.usable_ram = 1e6; }

  private:
    void make_host() {
        a_host host;
        host.cpus(16).speed(3e9).ram(16 * kGiB).nvidia(2, 8e12).workload_known();
        for (const ProcType type : {ProcType::kAmd, ProcType::kIntelGpu}) {
            Coproc c;
            c.type = proc_type_name(type);
            c.proc_type = type;
            c.count = 1;
            c.peak_flops = 2e12;
            c.available_ram = c.total_ram = 8 * kGiB;
            c.opencl.present = true;
            c.opencl.device_version_int = 300;
            c.opencl.global_mem_size = 8 * kGiB;
            host.gpu(c);
        }
        for (int i = 0; i < 30; ++i) {
            JobOnHost held;
            held.appid = 1 + i % kApps;
            held.deadline = w.now + 86400.0 * (1 + i % 7);
            held.remaining = 600 * (1 + i % 5);
            held.memory = 1e8;
            host.holds(held);
        }
        w.host = host;
        for (int t = 0; t < 4; ++t) w.want(static_cast<ProcType>(t), 40000, t == 0 ? 8 : 1);
    }
    void make_apps() {
        std::string classes = "<plan_classes>";
        for (const char* kind : {"nvidia", "ati", "intel_gpu"})
            for (const char* age : {"_old", "_new"})
                classes += std::string("<plan_class><name>") + kind + age + "</name><gpu_type>" + kind +
                           "</gpu_type><opencl/></plan_class>";
        w.plan_classes = PlanClasses::from_spec(classes + "</plan_classes>", "bench");
        Id next = 1000;
        for (Id a = 1; a <= kApps; ++a) {
            App& app = w.app(a);
            if (a <= 5) {
                app.n_size_classes = 3;
                w.tables.size_quantiles[a] = {1e9, 1e10};
            }
            app.homogeneous_redundancy = a == 6 ? HrType::kFine : a == 7 ? HrType::kCoarse : HrType::kNone;
            app.homogeneous_app_version = a == 8;
            if (a == 9) app.n_size_classes = 1;  // accelerable
            app.beta = a == 12;
            for (const char* kind : {"nvidia", "ati", "intel_gpu"})
                for (const char* age : {"_old", "_new"})
                    if (a <= 4 || a == 9) w.tables.versions.push_back(a_version(++next, a, kind + std::string(age)));
        }
        for (const AppVersion& v : w.tables.versions) {
            if (v.id % 3 == 0) continue;
            HostAppVersion row;
            row.app_version_id = v.id;
            row.pfc_n = 20;
            row.pfc_avg = 1e12;
            row.et.n = row.turnaround.n = 20;
            row.et.avg = v.plan_class.empty() ? 4e-10 : 2e-12;
            row.turnaround.avg = 20000;
            row.max_jobs_per_day = 100;
            row.consecutive_valid = v.id % 2 == 0 ? 20 : 0;
            w.host.versions.push_back(row);
        }
    }
    void make_batches() {
        for (int b = 1; b <= kBatches; ++b) {
            w.tables.batch_shares[b] = {1 + b % 20, 1.8e9 + 1200.0 * b, 1};
            if (b % 10 != 0) continue;
            PlannedBatch plan;
            plan.batch = b;
            plan.finish = w.now + 3600 * (b % 30);
            w.tables.plan.batches.push_back(plan);
        }
        w.tables.plan.version = 1;
        w.tables.plan.made_at = w.now - 60;
    }
    JobSummary job(std::int64_t i, std::mt19937& random) const {
        const auto one_in = [&](unsigned n) { return random() % n == 0; };
        const std::int64_t group = i / kBatchRun;  // jobs of a batch lie together
        const int app = static_cast<int>(1 + group * 7919 % kApps);
        a_job j(i + 1);
        j.app(app).batch(group % 8 == 0 ? 0 : static_cast<int>(1 + group * 104729 % kBatches));
        j.workunit(1000 + i / 2).flops(1e13 * static_cast<double>(1 + random() % 100));
        j.ram(one_in(10) ? 32 * kGiB : 5e7 * static_cast<double>(1 + random() % 20)).disk(1e7);
        j.delay_bound(static_cast<int>(86400 * (1 + random() % 7))).priority(static_cast<int>(random() % 10));
        j.created(static_cast<int>(w.now) - static_cast<int>(random() % 1000000));
        j.time_added(static_cast<int>(w.now) - 600);
        if (app <= 5) j.size_class(static_cast<int>(random() % 3));
        if ((app == 6 || app == 7) && one_in(2)) {
            const int own = app == 6 ? w.host.hr_class_fine : w.host.hr_class_coarse;
            j.hr_class(one_in(4) ? own : own + 1);
        }
        if (app == 8 && one_in(4)) j.committed_version(81);
        if (app == 9 && one_in(3)) j.wu_priority(1);
        if (one_in(20)) j.need_reliable();
        return j;
    }
};

}  // namespace sluice::test
