// SPDX-License-Identifier: LGPL-3.0-or-later
// The job array as it is at work: a real segment in shared memory, the feeder's side and a scheduler's side mapped
// apart.
//   BM_Read/slots              a scheduler reads every slot (what a scan copies)
//   BM_Match/slots/level       whole match() of one RPC on it, claims included; compare bench_match, which needs no
//   segment BM_TakeAndRefill/slots     one job is claimed, consumed and published anew BM_Fill/slots              the
//   feeder fills the empty array
// Counter: ns_per_slot.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include "sched/handle/shmem_job_pool.h"
#include "sluice/shmem/feeder_array.h"
#include "tests/bench/match/bench_world.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

class Segment {
  public:
    Segment(std::int64_t slots, int level = 0) : world(slots, 5, 1, level) {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(slots);
        const JobArrayName name = job_array_name(0x5eed0000 + ::getpid() % 65536, folder_.path());
        feeder = FeederArray::create(name, settings);
        fill();
        feeder->set_ready(true);
        scheduler = SchedulerArray::attach(name);
    }
    ~Segment() {
        scheduler.reset();
        feeder->close_and_remove();
    }
    bool publish(std::uint32_t slot) { return feeder->publish(slot, world.jobs[slot], doc_); }
    void fill() {
        for (std::uint32_t i = 0; i < world.jobs.size(); ++i)
            if (!publish(i)) throw std::runtime_error("slot " + std::to_string(i) + ": " + feeder->growth_error());
    }
    void empty() {
        for (std::uint32_t i = 0; i < feeder->size(); ++i) {
            JobSummary job;
            SlotRef ref;
            if (feeder->read(i, job, ref) == SlotState::kPresent) feeder->withdraw(ref);
        }
    }

    BenchWorld world;
    std::unique_ptr<FeederArray> feeder;
    std::unique_ptr<SchedulerArray> scheduler;

  private:
    TempDir folder_;
    SlotDoc doc_{"wu", std::string(600, 'x'), "", "wu_0"};
};

void per_slot(benchmark::State& state) {
    state.counters["ns_per_slot"] =
        benchmark::Counter(static_cast<double>(state.range(0)) * static_cast<double>(state.iterations()) * 1e-9,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Read(benchmark::State& state) {
    const Segment s(state.range(0));
    for (auto _ : state) {
        JobSummary job;
        SlotRef ref;
        std::int64_t present = 0;
        for (std::uint32_t i = 0; i < s.scheduler->size(); ++i)
            present += s.scheduler->read(i, job, ref) == SlotState::kPresent ? 1 : 0;
        if (present != state.range(0)) state.SkipWithError("a slot is not present");
    }
    per_slot(state);
}

void BM_Match(benchmark::State& state) {
    Segment s(state.range(0), static_cast<int>(state.range(1)));
    std::size_t jobs = 0;
    for (auto _ : state) {
        ShmemJobPool pool(*s.scheduler);
        MemoryFacts facts;
        jobs += Matcher(s.world.w.context(), pool, facts).match().jobs.size();
        pool.release_all();
    }
    if (jobs == 0) state.SkipWithError("nothing was chosen");
    per_slot(state);
}

void BM_TakeAndRefill(benchmark::State& state) {
    Segment s(state.range(0));
    std::uint32_t slot = 0;
    for (auto _ : state) {
        JobSummary job;
        SlotRef ref;
        s.scheduler->read(slot, job, ref);
        auto claim = s.scheduler->claim(ref);
        if (!claim) return state.SkipWithError("not claimed");
        claim->consume();
        if (!s.publish(slot)) return state.SkipWithError("not published");
        slot = (slot + 1) % s.scheduler->size();
    }
}

void BM_Fill(benchmark::State& state) {
    Segment s(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        s.empty();
        state.ResumeTiming();
        s.fill();
    }
    per_slot(state);
}

BENCHMARK(BM_Read)->ArgName("slots")->Arg(2000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Match)
    ->ArgNames({"slots", "level"})
    ->ArgsProduct({{2000, 10000, 100000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TakeAndRefill)->ArgName("slots")->Arg(2000)->Arg(10000)->Arg(100000);
BENCHMARK(BM_Fill)->ArgName("slots")->Arg(2000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::test

BENCHMARK_MAIN();
