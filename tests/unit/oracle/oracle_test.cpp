// SPDX-License-Identifier: LGPL-3.0-or-later
// The matcher against a second implementation of its rules that shares nothing with it (rules.h), on random worlds with
// random factors: the same jobs in the same order, versions, scores, deadlines, what is left of the request, and for
// every job that is not sent the same reason.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/match_world.h"
#include "tests/unit/oracle/random_world.h"

namespace sluice::test {
namespace {

using oracle::Decision;
using oracle::Fate;
using oracle::World;

/// The same world for the matcher.
struct Subject {
    explicit Subject(const World& world) : w(world), rng(world.bits) {
        for (const World::Slot& slot : w.slots) {
            MemoryPool::Slot& s = pool.add(slot.job);
            s.state = slot.state;
            s.infeasible = slot.infeasible;
            if (slot.taken) pool.lost.insert(slot.job.result_id);
            facts.by_result[slot.job.result_id] = slot.facts;
        }
    }
    MatchResult match() {
        const MatchContext x{w.host, w.user, w.wanted, w.tables, w.params, classes, nullptr, w.now, rng};
        return Matcher(x, pool, facts, &trace).match();
    }
    const World& w;
    oracle::SameBits rng;
    PlanClasses classes;
    MemoryPool pool;
    MemoryFacts facts;
    TraceRows trace;
};

bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(a) + std::abs(b)); }

std::string names(const std::set<Reason>& reasons) {
    std::string all;
    for (Reason r : reasons) all += std::string(all.empty() ? "" : "|") + reason_name(r);
    return all;
}

/// The first difference, or nothing.
std::string fates_differ(const TraceRows& trace, const Decision& expected) {
    std::set<std::pair<Id, int>> told;
    for (const TraceRows::Row& row : trace.rows) {
        const std::pair<Id, int> key{row.result, static_cast<int>(row.resource)};
        const std::string job = "result " + std::to_string(row.result) + " pass " + std::to_string(key.second) + ": ";
        const auto fate = expected.fates.find(key);
        if (fate == expected.fates.end()) return job + reason_name(row.fate) + ", should not be told";
        if (!told.insert(key).second) return job + "told twice";
        if (fate->second.why.count(row.fate) == 0)
            return job + reason_name(row.fate) + ", should be " + names(fate->second.why);
        if (!fate->second.candidate) continue;
        if (!near(row.score, fate->second.score))
            return job + "score " + std::to_string(row.score) + ", should be " + std::to_string(fate->second.score);
        if (row.share_band != fate->second.share_band) return job + "another band of shares";
        if (row.host_size_class != fate->second.host_size_class) return job + "another size class";
    }
    return told.size() == expected.fates.size() ? "" : "jobs without a fate";
}

std::string sent_differs(const MatchResult& result, const Decision& expected) {
    if (result.jobs.size() != expected.sent.size())
        return std::to_string(result.jobs.size()) + " jobs, should be " + std::to_string(expected.sent.size());
    for (std::size_t i = 0; i < expected.sent.size(); ++i) {
        const Chosen& got = result.jobs[i];
        const oracle::Sent& want = expected.sent[i];
        const std::string at = "job " + std::to_string(i) + " (result " + std::to_string(want.result) + "): ";
        if (got.job.result_id != want.result) return at + "result " + std::to_string(got.job.result_id);
        if (got.version.app_version_id != want.version) return at + "version";
        if (static_cast<int>(got.version.usage.proc_type) != want.type) return at + "resource";
        if (!near(got.score, want.score)) return at + "score";
        if (got.share_band != expected.fates.at({want.result, want.type}).share_band) return at + "share band";
        if (!near(got.delay_bound, want.delay_bound)) return at + "delay bound " + std::to_string(got.delay_bound);
        if (!near(got.estimated_runtime, want.runtime)) return at + "run time";
        if (!near(got.version.usage.projected_flops, want.flops)) return at + "speed";
        if (got.hr_class_to_commit != want.hr_class) return at + "HR class";
        if (got.version.reliable != want.reliable || got.version.trusted != want.trusted) return at + "trust";
    }
    return "";
}

std::string rest_differs(const MatchResult& result, const Decision& expected) {
    if (result.stats.slots_scanned != expected.scanned) return "slots scanned";
    if (result.stats.slots_locked != expected.locked) return "slots locked";
    if (result.stats.locked_over_limit != expected.array_too_small) return "warning of a small array";
    if (!near(result.left.total_seconds, expected.left.total_seconds)) return "seconds left";
    for (std::size_t t = 0; t < kProcTypes; ++t)
        if (!near(result.left.seconds[t], expected.left.seconds[t]) ||
            !near(result.left.instances[t], expected.left.instances[t]) ||
            !near(result.left.estimated_delay[t], expected.left.estimated_delay[t]))
            return "what is left for resource " + std::to_string(t);
    return "";
}

constexpr int kWorlds = 10000;

TEST(Oracle, TheMatcherDecidesByTheRules) {
    int sent = 0, with_jobs = 0, differ = 0, later_bands = 0;
    std::map<Reason, int> reasons;
    for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
        const World world = oracle::random_world(seed);
        const Decision expected = oracle::Rules(world).decide();
        Subject subject(world);
        const MatchResult result = subject.match();
        std::string difference = sent_differs(result, expected);
        if (difference.empty()) difference = fates_differ(subject.trace, expected);
        if (difference.empty()) difference = rest_differs(result, expected);
        EXPECT_EQ(difference, "") << "seed " << seed << ", level " << world.params.compat_level;
        ASSERT_LT(differ += difference.empty() ? 0 : 1, 10) << "and so on";
        sent += static_cast<int>(expected.sent.size());
        with_jobs += expected.sent.empty() ? 0 : 1;
        for (const auto& [key, fate] : expected.fates) later_bands += fate.share_band.value_or(0) > 0;
        for (const auto& [key, fate] : expected.fates)
            if (fate.why.size() == 1) ++reasons[*fate.why.begin()];
    }
    // The worlds must be neither hostile nor easy: every rule that they can reach decides something.
    EXPECT_GT(with_jobs, kWorlds / 4);
    EXPECT_GT(sent, kWorlds / 2);
    EXPECT_GT(later_bands, kWorlds / 5);
    for (const Reason r : {Reason::kNoSuchApp,
                           Reason::kNoAppVersion,
                           Reason::kAppNotSelected,
                           Reason::kBetaNotAllowed,
                           Reason::kUserFilter,
                           Reason::kJobWithoutBatch,
                           Reason::kHrClassUnknown,
                           Reason::kHrClassMismatch,
                           Reason::kAppVersionMismatch,
                           Reason::kMemory,
                           Reason::kDisk,
                           Reason::kBandwidth,
                           Reason::kKeywordRefused,
                           Reason::kNeedsReliable,
                           Reason::kReservedForLtt,
                           Reason::kNonCpuIntensive,
                           Reason::kDeadline,
                           Reason::kDeadlineOthers,
                           Reason::kDiskSet,
                           Reason::kMemorySet,
                           Reason::kOneInstancePerWorkunit,
                           Reason::kInProgressLimit,
                           Reason::kAppInProgressLimit,
                           Reason::kDailyQuota,
                           Reason::kJobsPerRpcLimit,
                           Reason::kUserJobLimit,
                           Reason::kOneResultPerUser,
                           Reason::kOneResultPerHost,
                           Reason::kHrCommittedElsewhere,
                           Reason::kVersionCommittedElsewhere,
                           Reason::kWorkunitError,
                           Reason::kWorkunitDone,
                           Reason::kResultGone,
                           Reason::kClaimLost,
                           Reason::kNotNeeded})
        EXPECT_GE(reasons[r], 20) << reason_name(r);
}

// N: the scan ends early only if what it saw satisfies the request, or fills the reply; and then the choice is that
// among the slots that it saw.
TEST(Oracle, TheScanEndsAtNOnlyWhenSatisfied) {
    int stopped = 0;
    for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
        World world = oracle::random_world(1000000 + seed);
        world.params.mm_max_slots = 0;
        world.params.mm_min_slots = 1 + static_cast<int>(seed % 40);
        for (World::Slot& slot : world.slots) slot.taken = false;  // nobody knows that beforehand
        for (double& seconds : world.wanted.seconds) seconds /= 50;
        for (double& instances : world.wanted.instances) instances = std::min(instances, 1.0);
        world.wanted.total_seconds /= 50;
        Subject subject(world);
        const MatchResult result = subject.match();
        const std::uint32_t scanned = result.stats.slots_scanned, size = subject.pool.size();
        if (scanned == 0) continue;
        World seen = world;
        seen.params.mm_max_slots = static_cast<int>(scanned);
        const Decision expected = oracle::Rules(seen).decide();
        ASSERT_EQ(sent_differs(result, expected), "") << "seed " << seed;
        ASSERT_EQ(rest_differs(result, expected), "") << "seed " << seed;
        ASSERT_GE(scanned, std::min(size, static_cast<std::uint32_t>(world.params.mm_min_slots))) << "seed " << seed;
        if (scanned == size) continue;
        ++stopped;
        ASSERT_TRUE(expected.satisfied) << "seed " << seed;
    }
    EXPECT_GT(stopped, 400);
}

}  // namespace
}  // namespace sluice::test
