// SPDX-License-Identifier: LGPL-3.0-or-later
// What the scheduler counts of its requests (sluice/base/metrics.h).
#include <filesystem>
#include <fstream>

#include "sluice/base/metrics.h"
#include "sluice/base/project.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

class SchedulerCounts : public ::testing::Test {
  protected:
    std::uint64_t counted(Metric metric, MetricLabels labels = {}) const {
        std::uint64_t sum = 0;
        for (const ProgramMetrics& p : read_metrics(world.folder()).programs)
            for (const MetricCell& c : p.cells)
                if (p.program == "scheduler" && c.metric == metric && c.labels == labels) sum += c.value;
        return sum;
    }
    std::uint64_t requests(ClientRequest kind, RequestOutcome outcome) const {
        return counted(Metric::kRequests, {static_cast<std::uint32_t>(kind), static_cast<std::uint16_t>(outcome)});
    }
    RequestText from_host(int seqno, double seconds) const {
        RequestText r;
        r.hostid = host_;
        r.seqno = seqno;
        r.work_seconds = seconds;
        r.ncpus = 4;
        return r;
    }
    SchedulerWorld world;

  private:
    Id host_ = world.add_host(1, 4);
};

TEST_F(SchedulerCounts, RequestsJobsAndRefusals) {
    world.add_jobs(2);
    world.add_jobs(1, 1, [](Workunit& wu) { wu.rsc_memory_bound = 1e18; });
    world.start_feeder();
    world.send(from_host(1, 1e6));  // gets two
    world.send(from_host(2, 1e6));  // the third is too large
    world.send(from_host(3, 0));
    world.send_raw("no request");
    EXPECT_EQ(requests(ClientRequest::kWork, RequestOutcome::kJobs), 1u);
    EXPECT_EQ(requests(ClientRequest::kWork, RequestOutcome::kNoJobs), 1u);
    EXPECT_EQ(requests(ClientRequest::kContact, RequestOutcome::kServed), 1u);
    EXPECT_EQ(requests(ClientRequest::kUnreadable, RequestOutcome::kRefused), 1u);
    EXPECT_EQ(counted(Metric::kSearches, {metric_label("done")}), 2u);
    EXPECT_EQ(counted(Metric::kJobsSent, {1, 0, resource_and_origin(0, 0)}), 2u);
    EXPECT_EQ(counted(Metric::kRefusals, {metric_label("memory")}), 2u);
    EXPECT_EQ(counted(Metric::kBinding, {metric_label("memory")}), 1u);
    EXPECT_GT(counted(Metric::kSqlStatements), 6u);
    EXPECT_GE(counted(Metric::kSqlCommits), 3u);
    std::uint64_t timed = 0;
    for (std::size_t b = 1; b <= kMetricBucketCount; ++b)
        timed += counted(Metric::kRequestSeconds, {0, 0, static_cast<std::uint8_t>(b)});
    EXPECT_EQ(timed, 4u);
}

TEST_F(SchedulerCounts, WhatNobodyCouldServe) {
    world.send(from_host(1, 1e6));  // there is no feeder
    std::ofstream(world.folder() / "stop_sched") << "";
    world.send(from_host(2, 1e6));
    EXPECT_EQ(requests(ClientRequest::kUnreadable, RequestOutcome::kUnavailable), 2u);
}

// Nothing that lies there keeps clients from being served.
TEST_F(SchedulerCounts, ADamagedFileIsMadeAnew) {
    world.add_jobs(1);
    world.start_feeder();
    const std::filesystem::path folder = log_dir(world.folder()) / "metrics";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "scheduler.counters") << "cut";
    EXPECT_EQ(world.send(from_host(1, 1e6)).malformed(), "");
    EXPECT_EQ(requests(ClientRequest::kWork, RequestOutcome::kJobs), 1u);
}

}  // namespace
}  // namespace sluice::test
