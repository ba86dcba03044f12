// SPDX-License-Identifier: LGPL-3.0-or-later
// A job that nobody can take, end to end: schedulers pass it over, the feeder reports it and --purge_stale acts on it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "feeder/starvation.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

struct Starvation : testing::Test {
    Starvation() : project(PrivateMariaDb::shared(), "starvation", "<shmem_work_items>3</shmem_work_items>") {
        Host h;
        h.id = h.userid = 1;
        h.domain_name = "host";
        h.os_name = "Linux";
        h.p_vendor = "GenuineIntel";
        h.p_ncpus = 4;
        h.m_nbytes = 8e9;
        h.d_free = 5e11;
        h.rpc_time = std::time(nullptr) - 100;
        project.rows().hosts[1] = h;
        project.store();
        project.add_unsent_jobs(1);
        project.db().execute(Sql("UPDATE workunit SET rsc_memory_bound=64e9"));
    }
    TestProject project;
};

TEST_F(Starvation, IsReportedWithWhatTheHostsLack) {
    Subprocess& feeder = project.start_feeder({"--starvation_after", "1"});
    EXPECT_EQ(project.rpc(work_request(1, 1, 1000)).status, 0);
    EXPECT_TRUE(feeder.wait_for_output("find no host")) << feeder.err();
    EXPECT_THAT(feeder.err(), HasSubstr("[RESULT#1] of app up"));
    EXPECT_THAT(
        feeder.err(),
        HasSubstr(
            "None of the 1 hosts heard of in the last day could take it: 1 lack its 64.00 GB of memory, 0 its 0.01 GB"));
    const RunResult shape = project.run_program("show_shmem", {"--shape"});
    EXPECT_EQ(shape.status, 0) << shape.err;
    EXPECT_THAT(shape.out, testing::ContainsRegex("up +-1 +0 +1 .* 1\n"))
        << shape.out;  // app, size class, HR class, jobs … passed over
}

TEST_F(Starvation, PurgeStaleMakesRoom) {
    project.add_unsent_jobs(5);  // they wait for the place of those that nobody takes
    project.start_feeder({"--purge_stale", "0.03"});
    const auto in_array = [&] {
        const std::string out = project.run_program("sched_explain", {"--host", "1", "--job", "1"}).out;
        return out.find("RESULT#1 wu_1_0: unsent, in slot") != std::string::npos;
    };
    EXPECT_TRUE(in_array());
    EXPECT_TRUE(eventually([&] { return !in_array(); }));
    const std::string out = project.run_program("sched_explain", {"--host", "1", "--job", "1"}).out;
    EXPECT_THAT(out, HasSubstr("memory: needs 64.0 GB, host allows 8.0 GB"));
}

TEST(StarvationText, SaysWhetherAnyHostCouldTakeTheJob) {
    const StarvationWatch::Finding finding{2, 7, 3600, 9, 0};
    JobSummary job;
    job.rsc_memory_bound = 2e9;
    EXPECT_THAT(starvation_text(finding, job, "up", HostFit{0, 0, 0, 0}),
                HasSubstr("No host was heard of in the last day"));
    EXPECT_THAT(starvation_text(finding, job, "up", HostFit{5, 2, 5, 0}),
                HasSubstr("None of the 5 hosts heard of in the last day could take it: 3 lack its 2.00 GB of memory"));
    EXPECT_THAT(
        starvation_text(finding, job, "up", HostFit{5, 5, 5, 5}),
        HasSubstr(
            "5 of the 5 hosts heard of in the last day have its 2.00 GB of memory and 0.00 GB of disk: something else refuses it"));
    EXPECT_THAT(starvation_text(finding, job, "up", std::nullopt), HasSubstr("were not counted: that took longer"));
}

}  // namespace
}  // namespace sluice::test
