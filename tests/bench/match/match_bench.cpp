// SPDX-License-Identifier: LGPL-3.0-or-later
// Scan and rank with everything feasible: the worst case, because nothing is refused early.
//   BM_Match/slots/apps/resources/level      whole match() of one RPC, all slots
//   BM_MatchN/slots                          level 1 with N = 500: flat in the size of the array
// Counters: ns_per_slot (linear growth shows as a flat figure), allocations per match (none per slot).
#include <benchmark/benchmark.h>

#include "tests/bench/match/allocation_count.h"
#include "tests/bench/match/bench_world.h"
#include "tests/support/dense_pool.h"

namespace sluice::test {
namespace {

struct Setup : BenchWorld {
    DensePool pool;

    Setup(std::int64_t slots, std::int64_t apps, std::int64_t resources, int level)
        : BenchWorld(slots, apps, resources, level) {
        pool.jobs = jobs;
    }

    MatchResult match() {
        const MatchContext c = w.context();
        MemoryFacts facts;
        return Matcher(c, pool, facts).match();
    }
};

void run(benchmark::State& state, Setup& setup, double slots) {
    std::uint64_t before = 0, matches = 0, scanned = 0, jobs = 0;
    setup.match();
    before = allocation_count();
    for (auto _ : state) {
        const MatchResult r = setup.match();
        scanned += r.stats.slots_scanned;
        jobs += r.jobs.size();
        ++matches;
    }
    const auto n = static_cast<double>(matches);
    state.counters["ns_per_slot"] =
        benchmark::Counter(slots * n * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["allocations"] = static_cast<double>(allocation_count() - before) / n;
    state.counters["scanned"] = static_cast<double>(scanned) / n;
    state.counters["jobs"] = static_cast<double>(jobs) / n;
}

void BM_Match(benchmark::State& state) {
    Setup setup(state.range(0), state.range(1), state.range(2), static_cast<int>(state.range(3)));
    run(state, setup, static_cast<double>(state.range(0)));
}
BENCHMARK(BM_Match)
    ->ArgNames({"slots", "apps", "resources", "level"})
    ->ArgsProduct({{1000, 4000, 10000, 100000}, {1, 5, 20}, {1, 4}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

void BM_MatchN(benchmark::State& state) {
    Setup setup(state.range(0), 5, 1, 1);
    setup.w.params.mm_min_slots = 500;
    run(state, setup, 500);
}
BENCHMARK(BM_MatchN)->ArgName("slots")->Arg(1000)->Arg(4000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

void BM_MatchM(benchmark::State& state) {
    Setup setup(state.range(0), 5, 4, 1);
    setup.w.params.mm_max_slots = 1000;
    run(state, setup, 1000);
}
BENCHMARK(BM_MatchM)->ArgName("slots")->Arg(1000)->Arg(4000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::test

BENCHMARK_MAIN();
