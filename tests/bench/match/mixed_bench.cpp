// SPDX-License-Identifier: LGPL-3.0-or-later
// What one request at level 1 costs that asks for four resources (mixed_world.h), on a real segment without database,
// as a whole and by part.
//   BM_Read/slots     the slots are copied, nothing else
//   BM_Scan/slots     … and become candidates: versions, fast checks, score
//   BM_Unscored       the same with all weights 0: the difference is the score
//   BM_Rank           ranked terms (priorities, logical end times, shares) of all candidates
//   BM_Order          the head of each resource's list, in order
//   BM_Choose         from candidates to the set: set checks, slow checks, claims; ranks and orders included
//   BM_Match          all of it, as an RPC does it
//   BM_MatchN         the same with the N of level 1
//   BM_Nothing        the same for a host that is refused every job
//   BM_Late           the same for a host whose queue makes every job late
// Counter: allocations, per turn.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <optional>

#include "sched/handle/shmem_job_pool.h"
#include "sched/match/walk.h"
#include "sluice/match/policies.h"
#include "sluice/shmem/feeder_array.h"
#include "tests/bench/match/allocation_count.h"
#include "tests/bench/match/mixed_world.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

/// Allocations while it counts.
class Allocations {
  public:
    void resume() { before_ = allocation_count(); }
    void pause() { sum_ += allocation_count() - before_; }
    void tell(benchmark::State& state) const {
        state.counters["allocations"] = static_cast<double>(sum_) / static_cast<double>(state.iterations());
    }

  private:
    std::uint64_t before_ = 0, sum_ = 0;
};

class Segment {
  public:
    explicit Segment(std::int64_t slots) : world(slots) {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(slots);
        const JobArrayName name = job_array_name(0x5eed0000 + ::getpid() % 65536, folder_.path());
        feeder_ = FeederArray::create(name, settings);
        const SlotDoc doc{"wu", std::string(600, 'x'), "", "wu_0"};
        for (std::uint32_t i = 0; i < world.jobs.size(); ++i) feeder_->publish(i, world.jobs[i], doc);
        feeder_->set_ready(true);
        scheduler = SchedulerArray::attach(name);
    }
    ~Segment() {
        scheduler.reset();
        feeder_->close_and_remove();
    }

    MixedWorld world;
    std::unique_ptr<SchedulerArray> scheduler;

  private:
    TempDir folder_;
    std::unique_ptr<FeederArray> feeder_;
};

/// What Matcher::match() holds, in parts.
struct Parts {
    explicit Parts(Segment& s) : x(s.world.w.context()), pool(*s.scheduler) {
        for (int t = kProcTypes - 1; t >= 0; --t)
            if (picked.wants(static_cast<ProcType>(t))) found.lists.emplace_back().type = static_cast<ProcType>(t);
    }
    void scan() {
        scanner.run(found, picked, stats, log, [] { return match::Enough::kNotTogether; });
    }

    MatchContext x;
    ShmemJobPool pool;
    MemoryFacts facts;
    match::ActivePolicies policies{x};
    match::AppTable apps{x, policies};
    match::VersionChooser chooser{x, pool};
    match::Scanner scanner{x, pool, apps, policies, chooser};
    match::Walk walk{x, pool, facts, scanner, policies};
    match::Picked picked = match::initial_picked(x);
    match::Candidates found;
    std::optional<match::RankedPoints> ranking;
    MatchStats stats;
    match::ScanLog log;
};

/// `prepare` and `part` for each turn; what `part` does counts.
template <typename Prepare, typename Part>
void measure(benchmark::State& state, Segment& s, Prepare prepare, Part part) {
    Allocations counts;
    for (auto _ : state) {
        state.PauseTiming();
        auto parts = std::make_unique<Parts>(s);
        prepare(*parts);
        counts.resume();
        state.ResumeTiming();
        part(*parts);
        state.PauseTiming();
        counts.pause();
        parts->pool.release_all();
        parts.reset();
        state.ResumeTiming();
    }
    counts.tell(state);
}

void BM_Read(benchmark::State& state) {
    Segment s(state.range(0));
    measure(
        state, s, [](Parts&) {},
        [](Parts& p) {
            JobSummary job;
            SlotRef ref;
            for (std::uint32_t i = 0; i < p.pool.size(); ++i) benchmark::DoNotOptimize(p.pool.read(i, job, ref));
        });
}

void BM_Scan(benchmark::State& state) {
    Segment s(state.range(0));
    measure(
        state, s, [](Parts&) {}, [](Parts& p) { p.scan(); });
}

void BM_Unscored(benchmark::State& state) {
    Segment s(state.range(0));
    for (const std::string_view term : score_term_names()) s.world.w.params.score_weights[std::string(term)] = 0;
    measure(
        state, s, [](Parts&) {}, [](Parts& p) { p.scan(); });
}

void BM_Rank(benchmark::State& state) {
    Segment s(state.range(0));
    measure(
        state, s, [](Parts& p) { p.scan(); },
        [](Parts& p) {
            const match::RankedPoints ranking(p.x, p.policies, p.found);
            benchmark::DoNotOptimize(ranking.by_order());
        });
}

void BM_Order(benchmark::State& state) {
    Segment s(state.range(0));
    measure(
        state, s,
        [](Parts& p) {
            p.scan();
            p.ranking.emplace(p.x, p.policies, p.found);
        },
        [](Parts& p) {
            for (const match::CandidateList& list : p.found.lists) {
                match::ByValue order(list, p.found.seen, *p.ranking);
                benchmark::DoNotOptimize(order.get(0));
            }
        });
}

void BM_Choose(benchmark::State& state) {
    Segment s(state.range(0));
    measure(
        state, s, [](Parts& p) { p.scan(); },
        [](Parts& p) {
            if (p.walk.choose(p.found, p.picked, p.stats, p.log).empty())
                throw std::runtime_error("nothing was chosen");
        });
}

void match(benchmark::State& state, Segment& s) {
    Allocations counts;
    std::size_t jobs = 0, candidates = 0;
    for (auto _ : state) {
        counts.resume();
        ShmemJobPool pool(*s.scheduler);
        MemoryFacts facts;
        const MatchResult r = Matcher(s.world.w.context(), pool, facts).match();
        jobs += r.jobs.size();
        candidates += r.stats.candidates;
        counts.pause();
        pool.release_all();
    }
    counts.tell(state);
    const auto n = static_cast<double>(state.iterations());
    state.counters["jobs"] = static_cast<double>(jobs) / n;
    state.counters["candidates"] = static_cast<double>(candidates) / n;
}

void BM_Match(benchmark::State& state) {
    Segment s(state.range(0));
    match(state, s);
}

void BM_MatchN(benchmark::State& state) {
    Segment s(state.range(0));
    s.world.w.params.mm_min_slots = default_config(1).mm_min_slots;
    match(state, s);
}

void BM_Nothing(benchmark::State& state) {
    Segment s(state.range(0));
    s.world.starve();
    match(state, s);
}

void BM_Late(benchmark::State& state) {
    Segment s(state.range(0));
    for (JobOnHost& held : s.world.w.host.in_progress) held.remaining = 1e7;
    match(state, s);
}

#define PART(name) BENCHMARK(name)->ArgName("slots")->Arg(4000)->Arg(100000)->Unit(benchmark::kMicrosecond)
PART(BM_Read);
PART(BM_Scan);
PART(BM_Unscored);
PART(BM_Rank);
PART(BM_Order);
PART(BM_Choose);
PART(BM_Match);
PART(BM_MatchN);
PART(BM_Nothing);
PART(BM_Late);
#undef PART

}  // namespace
}  // namespace sluice::test

BENCHMARK_MAIN();
