// SPDX-License-Identifier: LGPL-3.0-or-later
// The feeder keeps up, and nothing is sent twice: many clients through a real Apache, with the default array of 100
// slots and 100,000 UNSENT results (upstream: 42-99 % of such requests find no job).
#include <gtest/gtest.h>

#include <iostream>

#include "tests/apache/load/load_driver.h"
#include "tests/support/free_port.h"
#include "tests/support/peak_memory.h"
#include "tests/support/scheduler_server.h"

namespace sluice::test {
namespace {

class Load : public testing::Test {
  protected:
    void SetUp() override {
        project_.set_port(port_);
        project_.store();
    }
    std::unique_ptr<PrivateApache> serve(ApacheMode mode) {
        ApacheOptions options;
        options.mode = mode;
        options.include = project_.apache_fragment(mode == ApacheMode::kFcgid);
        options.env = project_.env();
        options.port = port_;
        return std::make_unique<PrivateApache>(options);
    }
    /// What the database says of the jobs that were handed out.
    std::int64_t in_progress() { return project_.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")); }

    int port_ = free_port();
    PrivateMariaDb& server_ = PrivateMariaDb::shared();
    TestProject project_{server_, "load"};
};

TEST_F(Load, With100SlotsUnderOnePercentFindNoJob) {
    project_.add_unsent_jobs(100000);
    project_.start_feeder();
    const auto apache = serve(ApacheMode::kCgid);
    LoadPlan plan;
    plan.port = port_;
    plan.clients = 16;
    plan.requests = 40;
    const LoadResult r = run_load(plan);
    std::cout << to_text(r) << std::endl;
    EXPECT_GT(r.requests, 16 * 2);
    EXPECT_GT(r.jobs, r.requests / 2) << "each request asks for a job, but each client's first";
    EXPECT_EQ(r.broken, 0);
    EXPECT_EQ(r.malformed, 0);
    EXPECT_EQ(r.twice, 0);
    EXPECT_LT(r.no_work, 0.01 * r.requests);
    EXPECT_EQ(in_progress(), r.jobs) << "a job that is in progress was received by someone, and the other way round";
}

class Modes : public Load, public testing::WithParamInterface<Served> {};
TEST_P(Modes, SixtyFourClientsAtOnce) {
    project_.add_unsent_jobs(20000);
    project_.start_feeder();
    SchedulerServer served(project_, GetParam());
    LoadPlan plan;
    plan.port = served.port();
    plan.clients = 64;
    plan.requests = 6;
    const LoadResult r = run_load(plan);
    std::cout << to_text(r) << std::endl;
    EXPECT_GT(r.jobs, 64);
    EXPECT_EQ(r.broken, 0) << served.apache().error_log();
    EXPECT_EQ(r.malformed, 0);
    EXPECT_EQ(r.twice, 0);
    EXPECT_LT(r.no_work, 0.02 * r.requests) << "100 slots for 64 clients: refilled while they are emptied";
    EXPECT_EQ(in_progress(), r.jobs);
}
INSTANTIATE_TEST_SUITE_P(All, Modes, testing::Values(Served::kCgi, Served::kFcgid, Served::kListen, Served::kRelay),
                         [](const auto& how) { return name_of(how.param); });

TEST_F(Load, AFastCgiServerNoticesARestartedFeeder) {
    project_.add_unsent_jobs(2000);
    Subprocess& feeder = project_.start_feeder();
    const auto apache = serve(ApacheMode::kFcgid);
    LoadPlan plan;
    plan.port = port_;
    plan.clients = 2;
    plan.requests = 5;
    EXPECT_GT(run_load(plan).jobs, 0);
    feeder.send_signal(SIGKILL);
    feeder.wait();
    project_.start_feeder();
    plan.host_prefix = "again";
    const LoadResult r = run_load(plan);
    EXPECT_GT(r.jobs, 0) << to_text(r);
    EXPECT_EQ(r.broken, 0);
}

/// What it has of the job array counts, too: the request looks at each slot.
TEST_F(Load, WorkerHoldsLittleMemoryWithTenThousandSlots) {
    project_.set_options(
        "<shmem_work_items>10000</shmem_work_items><feeder_query_size>20000</feeder_query_size>"
        "<mm_min_slots>10000</mm_min_slots><mm_max_slots>10000</mm_max_slots>");
    project_.add_unsent_jobs(10100);
    project_.start_feeder();
    SchedulerServer served(project_, Served::kListen);
    LoadPlan plan;
    plan.port = served.port();
    plan.clients = 1;
    plan.requests = 10;
    plan.work_seconds = 30;
    const LoadResult r = run_load(plan);
    EXPECT_EQ(r.jobs, 9) << to_text(r);
    const std::string log = project_.scheduler_log();
    const auto at = log.find("[PID=");
    ASSERT_NE(at, std::string::npos) << log;
    const std::size_t peak = peak_memory(std::stoi(log.substr(at + 5)));
    std::cout << "a worker's peak: " << peak / 1024 << " KB" << std::endl;
    EXPECT_GT(peak, std::size_t{1} << 20);
    EXPECT_LT(peak, std::size_t{25} << 20);
}

}  // namespace
}  // namespace sluice::test
