#include "daemons/work/job_options.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"

namespace sluice {
namespace {

TEST(JobLine, OptionsAndFilesOverTheDefaults) {
    JobOptions defaults;
    defaults.command_line = "--all";
    defaults.priority = 3;
    defaults.wu_name = "not inherited: names are unique";
    const auto job =
        parse_job_line("--wu_name w1 --command_line '--x \"1 2\"' in1 in2 -priority 7 --target_host 12", defaults);
    EXPECT_EQ(job.wu_name, "w1");
    EXPECT_EQ(job.command_line, "--all --x \"1 2\"");
    EXPECT_EQ(job.priority, 7);
    EXPECT_EQ(job.target_host, 12);
    ASSERT_EQ(job.files.size(), 2u);
    EXPECT_EQ(job.files[1].name, "in2");
    EXPECT_EQ(parse_job_line("in", defaults).wu_name, "");
}

TEST(JobLine, RemoteFileTakesThreeValues) {
    const auto job = parse_job_line("--remote_file http://a/b 5000000000 abc", {});
    ASSERT_EQ(job.files.size(), 1u);
    EXPECT_TRUE(job.files[0].remote);
    EXPECT_EQ(job.files[0].nbytes, 5e9);
    EXPECT_EQ(job.files[0].md5, "abc");
}

TEST(JobLine, WrongLinesAreRefused) {
    for (const char* line : {"--nonsense 1", "--priority", "--priority high", "--remote_file a 1", "'open"})
        EXPECT_THROW(parse_job_line(line, {}), ConfigError) << line;
}

TEST(JobTarget, OneAtMost) {
    JobOptions o;
    EXPECT_FALSE(to_assignment(o));
    o.target_team = 4;
    EXPECT_EQ(to_assignment(o)->target_type, AssignTarget::kTeam);
    EXPECT_FALSE(to_assignment(o)->multi);
    EXPECT_EQ(to_workunit(o).transitioner_flags, TransitionerFlags::kNoNewResults);
    o.broadcast = true;
    EXPECT_THROW(to_assignment(o), ConfigError);
    o.target_team = 0;
    EXPECT_EQ(to_workunit(o).transitioner_flags, TransitionerFlags::kNoTransition);
}

Workunit good() {
    JobOptions o;
    o.wu_name = "w";
    o.result_template = "templates/x_out";
    return to_workunit(o);
}

TEST(CheckWorkunit, UpstreamsDefaultsPass) {
    auto w = good();
    EXPECT_NO_THROW(check_workunit(w));
}

TEST(CheckWorkunit, MaximaAreRaisedToTheTarget) {
    auto w = good();
    w.target_nresults = 3;
    w.min_quorum = 2;
    check_workunit(w);
    EXPECT_EQ(w.max_success_results, 3);
    EXPECT_EQ(w.max_total_results, 3);
}

// Upstream stores a target of 1 with a quorum of 2 as it is: such a workunit would never be validated.
TEST(CheckWorkunit, TheTargetIsRaisedToTheQuorum) {
    auto w = good();
    w.min_quorum = 3;
    check_workunit(w);
    EXPECT_EQ(w.target_nresults, 3);
    EXPECT_EQ(w.max_success_results, 3);
    EXPECT_EQ(w.max_total_results, 3);
}

TEST(CheckWorkunit, WhatCanNotWorkIsRefused) {
    const auto refused = [](auto change) {
        auto w = good();
        change(w);
        EXPECT_THROW(check_workunit(w), ConfigError);
    };
    refused([](Workunit& w) { w.rsc_fpops_est = 0; });
    refused([](Workunit& w) { w.rsc_fpops_bound = 0; });
    refused([](Workunit& w) { w.rsc_disk_bound = 0; });
    refused([](Workunit& w) { w.delay_bound = 0; });
    refused([](Workunit& w) { w.target_nresults = 0; });
    refused([](Workunit& w) { w.name = ""; });
    refused([](Workunit& w) { w.name = "a/b"; });
    refused([](Workunit& w) { w.name = "a'b"; });
    refused([](Workunit& w) { w.name = "a b"; });
    refused([](Workunit& w) { w.name.assign(190, 'x'); });
    refused([](Workunit& w) { w.result_template_file.assign(64, 'x'); });
}

}  // namespace
}  // namespace sluice
