// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project and a host on which every job is feasible: the worst case for a scan, because nothing is refused early.
#include <vector>

#include "sluice/model/catalogue.h"
#include "tests/support/match_world.h"

namespace sluice::test {

struct BenchWorld {
    MatchWorld w;
    std::vector<JobSummary> jobs;

    /// `resources`: of how many the host asks for work, 1 to 4.
    BenchWorld(std::int64_t slots, std::int64_t apps, std::int64_t resources, int level) {
        a_host host;
        host.cpus(16).nvidia(2);
        for (const ProcType type : {ProcType::kAmd, ProcType::kIntelGpu}) {
            Coproc c;
            c.type = proc_type_name(type);
            c.proc_type = type;
            c.count = 1;
            c.peak_flops = 1e12;
            c.available_ram = c.total_ram = 8 * kGiB;
            c.opencl.present = true;
            c.opencl.device_version_int = 300;
            c.opencl.global_mem_size = 8 * kGiB;
            host.gpu(c);
        }
        w.host = host;
        w.plan_classes = PlanClasses::from_spec(
            "<plan_classes><plan_class><name>cuda_x</name><gpu_type>nvidia</gpu_type><cuda/></plan_class>"
            "<plan_class><name>ati_x</name><gpu_type>ati</gpu_type><opencl/></plan_class>"
            "<plan_class><name>intel_gpu_x</name><gpu_type>intel_gpu</gpu_type><opencl/></plan_class></plan_classes>",
            "bench");
        const char* classes[] = {"", "cuda_x", "ati_x", "intel_gpu_x"};
        for (Id a = 1; a <= apps; ++a) {
            App& app = w.app(a);
            app.n_size_classes = 3;
            w.tables.size_quantiles[a] = {1e9, 1e10};
            for (std::int64_t c = 1; c < resources; ++c)
                w.tables.versions.push_back(a_version(a * 10 + 1 + c, a, classes[c]));
        }
        for (std::int64_t t = 0; t < resources; ++t) w.want(static_cast<ProcType>(t), 36000, 4);
        w.params.compat_level = level;
        w.params.size_classes = true;
        w.params.one_result_per_user_per_wu = true;
        for (std::int64_t i = 0; i < slots; ++i)
            jobs.push_back(a_job(i + 1)
                               .app(static_cast<int>(1 + i % apps))
                               .size_class(static_cast<int>(i % 3))
                               .priority(static_cast<int>(i * 7919 % 10)));
    }
};

}  // namespace sluice::test
