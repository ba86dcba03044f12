// SPDX-License-Identifier: LGPL-3.0-or-later
// A scan allocates nothing per slot: the same number of allocations for a thousand slots and for ten thousand, but for
// a few more as vectors grow.
#include <gtest/gtest.h>

#include "tests/bench/match/allocation_count.h"
#include "tests/support/dense_pool.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct Case {
    const char* name;
    int level;
    bool feasible;
};

class Allocations : public testing::TestWithParam<Case> {
  protected:
    std::uint64_t of_match(int slots) const {
        MatchWorld w;
        w.params.compat_level = GetParam().level;
        w.params.size_classes = w.params.keyword_sched = true;
        w.user.keywords_yes = {3};
        w.app(1).n_size_classes = 3;
        w.app(1).locality_scheduling = 1;
        w.host.files[file_name_hash("f", 1)] = 1;
        w.tables.size_quantiles[1] = {1e9, 1e10};
        w.want(ProcType::kCpu, 36000, 4);
        DensePool pool;
        for (int i = 0; i < slots; ++i) {
            JobSummary job = a_job(i + 1).size_class(i % 3).priority(i % 10).keywords({2, 3}).get();
            job.n_input_files = 1;
            job.input_files[0] = {file_name_hash("f", 1), 1};
            if (!GetParam().feasible) job.rsc_memory_bound = 1e15;
            pool.jobs.push_back(job);
        }
        const MatchContext context = w.context();
        MemoryFacts facts;
        const std::uint64_t before = allocation_count();
        const MatchResult result = Matcher(context, pool, facts).match();
        const std::uint64_t n = allocation_count() - before;
        EXPECT_EQ(result.stats.slots_scanned, static_cast<std::uint32_t>(slots));
        EXPECT_EQ(result.jobs.empty(), !GetParam().feasible);
        return n;
    }
};

TEST_P(Allocations, DoNotGrowWithTheNumberOfSlots) {
    const std::uint64_t few = of_match(1000), many = of_match(10000);
    EXPECT_GT(few, 0u);
    EXPECT_LE(many, few + 16) << few << " allocations for 1000 slots, " << many << " for 10000";
}

INSTANTIATE_TEST_SUITE_P(Match, Allocations,
                         testing::Values(Case{"level_0", 0, true}, Case{"level_1", 1, true},
                                         Case{"level_0_all_refused", 0, false}, Case{"level_1_all_refused", 1, false}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace sluice::test
