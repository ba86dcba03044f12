// SPDX-License-Identifier: LGPL-3.0-or-later
// The simulation goes on from what it has kept; the plain rule, played from the start for each question, says the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sched/match/edf.h"

namespace sluice::test {
namespace {

using match::EdfSimulation;
using match::SimJob;

struct PlainQueue {
    std::array<int, kProcTypes> processors;
    bool exact;
    std::vector<SimJob> jobs;  ///< by deadline

    void play() {
        std::array<std::vector<double>, kProcTypes> free;
        for (SimJob& job : jobs) {
            const bool gpu = exact && job.type != ProcType::kCpu;
            const auto t = exact ? static_cast<std::size_t>(job.type) : 0;
            if (free[t].empty()) free[t].resize(static_cast<std::size_t>(processors[t] * (gpu ? 8 : 1)));
            const auto width = static_cast<std::size_t>(std::ceil(exact ? job.processors * (gpu ? 8 : 1) : 1));
            std::sort(free[t].begin(), free[t].end());
            const std::size_t n = std::clamp<std::size_t>(width, 1, free[t].size());
            job.finish = free[t][n - 1] + job.duration;
            std::fill_n(free[t].begin(), n, job.finish);
        }
    }
    std::size_t insert(const SimJob& job) {
        const auto later = [](const SimJob& a, const SimJob& b) { return a.deadline < b.deadline; };
        const auto at = jobs.insert(std::upper_bound(jobs.begin(), jobs.end(), job, later), job);
        return static_cast<std::size_t>(at - jobs.begin());
    }
    EdfSimulation::Answer try_job(const SimJob& job) const {
        PlainQueue with = *this;
        const std::size_t mine = with.insert(job);
        with.play();
        const double own = with.jobs[mine].finish;
        if (own > job.deadline) return {false, false, own - job.deadline};
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const double before = jobs[i].finish, after = with.jobs[i < mine ? i : i + 1].finish;
            const double allowed = std::max(before, jobs[i].deadline);
            if (after > allowed) return {false, true, after - allowed};
        }
        return {};
    }
};

TEST(EdfFromTheStart, SaysTheSame) {
    std::mt19937 random(1);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    int no = 0, others = 0;
    for (int world = 0; world < 300; ++world) {
        const std::array<int, kProcTypes> processors{1 + below(5), 1 + below(2), 1, 1, 1};
        const bool exact = world % 4 != 0;
        PlainQueue plain{processors, exact, {}};
        EdfSimulation sim(processors, exact);
        for (int turn = 0; turn < 40; ++turn) {
            const auto job = [&] {
                const auto type = static_cast<ProcType>(below(3) == 0 ? 1 : 0);
                const double width[] = {0.3, 0.5, 1, 1, 2, 9};
                return SimJob{20.0 * below(50), 1.0 * below(400) / 3, width[below(6)], type, 0};
            };
            for (int n = below(3); n > 0; --n) {  // several at once, or none
                const SimJob more = job();
                plain.insert(more);
                sim.add(more);
            }
            plain.play();
            sim.settle();
            const SimJob asked = job();
            const auto expected = plain.try_job(asked), answer = sim.try_job(asked);
            ASSERT_EQ(answer.feasible, expected.feasible) << world << " " << turn;
            ASSERT_EQ(answer.others, expected.others) << world << " " << turn;
            ASSERT_EQ(answer.lateness, expected.lateness) << world << " " << turn;
            no += answer.feasible ? 0 : 1;
            others += answer.others ? 1 : 0;
        }
    }
    EXPECT_GT(no, 1000);
    EXPECT_GT(no - others, 500);
    EXPECT_GT(others, 500);
}

}  // namespace
}  // namespace sluice::test
