// SPDX-License-Identifier: LGPL-3.0-or-later
// tune_bench SLOTS [options of sluice_tune]: an array of so many made-up jobs on a private MariaDB, and sluice_tune on
// it. The jobs are what a project with several apps has: three apps, one with three size classes; memory, disk,
// deadlines, ages and priorities spread over magnitudes; a third of them of batches with logical end times.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <ctime>

#include "sluice/base/rng.h"
#include "tests/db/explain/planted_world.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

double magnitude(double low, double high, Rng& rng) { return low * std::pow(high / low, rng.uniform()); }

/// Apps 1 to 3; the first has size classes with borders 1.5 and 6 GFLOPS.
void add_apps(Planted& p) {
    for (Id id = 2; id <= 3; ++id) {
        App app = p.app();
        app.id = id;
        app.name = id == 2 ? "plain" : "other";
        p.rows.apps[id] = app;
        AppVersion v = p.version();
        v.id = v.appid = id;
        p.rows.versions[id] = v;
    }
    p.app().n_size_classes = 3;
    p.quantiles[1] = {1.5e9, 6e9};
}

void spread(Workunit& w, Result& r, Rng& rng) {
    w.appid = r.appid = 1 + static_cast<Id>(rng.below(3));
    w.size_class = r.size_class = w.appid == 1 ? static_cast<int>(rng.below(3)) : -1;
    const double hours = w.appid == 1 ? std::pow(4.0, w.size_class) / 2 : magnitude(0.2, 12, rng);
    w.rsc_fpops_est = hours * 3600 * 3e9;
    w.rsc_memory_bound = magnitude(5e7, 3e10, rng);
    w.rsc_disk_bound = magnitude(1e7, 1e11, rng);
    w.delay_bound = static_cast<int>(magnitude(0.3, 14, rng) * 86400);
    w.create_time = r.create_time = std::time(nullptr) - static_cast<std::int64_t>(rng.uniform() * 10 * 86400);
    const int kind = static_cast<int>(rng.below(3));
    w.priority = r.priority = kind == 0   ? static_cast<int>(rng.below(11)) - 5
                              : kind == 1 ? -1800000000 + static_cast<int>(rng.below(100000000))
                                          : 0;
}

int run_bench(int argc, char** argv) {
    if (argc < 2 || std::atoi(argv[1]) < 1) {
        std::fputs("usage: tune_bench SLOTS [options of sluice_tune]\n", stderr);
        return 2;
    }
    Planted p;
    p.config = "<compat_level>1</compat_level>";
    p.slots = static_cast<std::uint32_t>(std::atoi(argv[1]));
    add_apps(p);
    for (std::uint32_t i = 1; i < p.slots; ++i) p.another_job();
    const auto rng = make_seeded_rng(1);
    for (auto& [id, result] : p.rows.results) spread(p.rows.workunits[result.workunitid], result, *rng);
    p.store();
    std::vector<std::string> words{binary_dir() + "/bin/sluice_tune"};
    for (int i = 2; i < argc; ++i) words.emplace_back(argv[i]);
    RunOptions options;
    options.cwd = p.world().folder();
    options.unset = {"BOINC_PROJECT_DIR"};
    const RunResult result = run(words, options);
    std::fputs((result.out + result.err).c_str(), stdout);
    return result.status;
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) { return sluice::test::run_bench(argc, argv); }
