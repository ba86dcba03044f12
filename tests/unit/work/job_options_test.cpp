// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/job_options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "sluice/base/error.h"
#include "sluice/model/size_class.h"

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

TEST(CommandLineOfCreateWork, RemoteFilesAreThoseOfAJobsLine) {
    const char* const words[] = {"create_work", "--appname", "a", "-remote_file", "http://a/b", "5e9", "abc", "in"};
    std::vector<JobFile> files;
    const auto rest = take_remote_files(8, words, files);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].url, "http://a/b");
    EXPECT_EQ(files[0].nbytes, 5e9);
    EXPECT_EQ((std::vector<std::string>{rest.begin(), rest.end()}),
              (std::vector<std::string>{"create_work", "--appname", "a", "in"}));
    const char* const wrong[] = {"create_work", "--remote_file", "http://a/b", "5GB", "abc"};
    EXPECT_THROW(take_remote_files(5, wrong, files), ConfigError);
    EXPECT_THROW(take_remote_files(4, wrong, files), ConfigError);
}

TEST(JobLine, WrongLinesAreRefused) {
    for (const char* line :
         {"--nonsense 1", "--priority", "--priority high", "--remote_file a 1", "--remote_file a 1x b", "'open"})
        EXPECT_THROW(parse_job_line(line, {}), ConfigError) << line;
}

TEST(JobLine, AForeignOptionIsRefusedWithTheList) {
    try {
        parse_job_line("--delay_bound 5 in", {});
        FAIL() << "taken";
    } catch (const ConfigError& e) {
        const std::string text = e.what();
        EXPECT_NE(text.find("--delay_bound can't stand in a job's line"), std::string::npos) << text;
        EXPECT_NE(text.find("--rsc_fpops_est "), std::string::npos) << text;
    }
    EXPECT_EQ(job_line_options().find("--delay_bound"), std::string::npos);
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

TEST(CheckWorkunit, ANameSuitsFilesXmlAndTerminals) {
    for (const char* name : {"a b", "a/b", "<b>", "a&b", "w\x1b[2J", "w\x7f", "w\r", "a..b"}) {
        auto w = good();
        w.name = name;
        EXPECT_THROW(check_workunit(w), ConfigError) << name;
    }
}

TEST(CheckWorkunit, MaximaAreRaisedToTheTarget) {
    auto w = good();
    w.target_nresults = 3;
    w.min_quorum = 2;
    check_workunit(w);
    EXPECT_EQ(w.max_success_results, 3);
    EXPECT_EQ(w.max_total_results, 3);
}

TEST(CheckWorkunit, NumbersThatNoColumnHoldsAreNamed) {
    const auto refusal = [](auto change) -> std::string {
        auto w = good();
        change(w);
        try {
            check_workunit(w);
        } catch (const ConfigError& e) {
            return e.what();
        }
        return "taken";
    };
    EXPECT_EQ(refusal([](Workunit& w) { w.priority = 9999999999999; }),
              "priority 9999999999999 is out of range: -2147483648 to 2147483647");
    EXPECT_EQ(refusal([](Workunit& w) { w.priority = -2147483648; }), "taken");
    EXPECT_EQ(refusal([](Workunit& w) { w.rsc_memory_bound = -1; }),
              "rsc_memory_bound and rsc_bandwidth_bound can't be negative");
    EXPECT_EQ(refusal([](Workunit& w) { w.rsc_memory_bound = 0; }), "taken") << "upstream takes it";
    EXPECT_EQ(refusal([](Workunit& w) { w.batch = -3; }), "batch -3 is out of range: 0 to 2147483647");
    EXPECT_EQ(refusal([](Workunit& w) { w.delay_bound = 1LL << 40; }),
              "delay_bound 1099511627776 is out of range: -2147483648 to 2147483647");
    EXPECT_EQ(refusal([](Workunit& w) { w.size_class = -2; }), "size_class -2 is out of range: -1 to 2147483647");
    EXPECT_EQ(refusal([](Workunit& w) { w.canonical_credit = -1; }), "credit can't be negative");
    EXPECT_EQ(refusal([](Workunit& w) { w.rsc_fpops_est = HUGE_VAL; }), "rsc_fpops_est is inf: give a number");
    EXPECT_EQ(refusal([](Workunit& w) { w.rsc_bandwidth_bound = NAN; }), "rsc_bandwidth_bound is nan: give a number");
}

// A number of the template takes its place: nobody would ever see it.
TEST(CheckGiven, NonsenseIsRefusedWhateverTheTemplate) {
    const auto refusal = [](auto change) -> std::string {
        JobOptions options;
        change(options);
        try {
            check_given(to_workunit(options));
        } catch (const ConfigError& e) {
            return e.what();
        }
        return "taken";
    };
    EXPECT_EQ(refusal([](JobOptions&) {}), "taken");
    EXPECT_EQ(refusal([](JobOptions& o) { o.rsc_memory_bound = -1; }), "rsc_memory_bound can't be negative: -1");
    EXPECT_EQ(refusal([](JobOptions& o) { o.delay_bound = -5; }), "delay_bound can't be negative: -5");
    EXPECT_EQ(refusal([](JobOptions& o) { o.min_quorum = -2; }), "min_quorum can't be negative: -2");
    EXPECT_EQ(refusal([](JobOptions& o) { o.rsc_fpops_est = 0; }), "taken") << "the template says it";
}

TEST(SizeClass, AJobThatNobodyWouldReleaseIsRefused) {
    auto w = good();
    App app;
    app.name = "a";
    for (const auto& [classes, size_class, taken] : std::vector<std::tuple<int, int, bool>>{
             {0, -1, true}, {0, 0, false}, {1, 0, false}, {1, -1, true}, {2, 1, true}, {2, 2, false}, {2, -1, true}}) {
        app.n_size_classes = classes;  // 1: its jobs can be accelerated, it has no size classes (seed 004)
        w.size_class = size_class;
        if (taken)
            EXPECT_NO_THROW(check_size_class(w, app)) << classes << " " << size_class;
        else
            EXPECT_THROW(check_size_class(w, app), ConfigError) << classes << " " << size_class;
    }
}

TEST(SizeClass, IsThatOfTheNearestJobs) {
    const std::map<int, double> typical{{0, 1e12}, {1, 1e13}, {2, 1e15}};
    for (const auto& [fpops, expected] :
         std::vector<std::pair<double, int>>{{1, 0}, {1e12, 0}, {3e12, 0}, {4e12, 1}, {9e13, 1}, {2e14, 2}, {1e30, 2}})
        EXPECT_EQ(size_class_of(fpops, typical), expected) << fpops;
    EXPECT_EQ(size_class_of(1e30, {}), 0);
    EXPECT_EQ(size_class_of(1, {{2, 5e12}}), 2) << "the only one of which anything is known";
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
    refused([](Workunit& w) { w.name = "--error"; });  // script_assimilator's scripts get it as an argument
    refused([](Workunit& w) { w.keywords = "1 2</job_keyword_ids>"; });
    refused([](Workunit& w) { w.name.assign(190, 'x'); });
    refused([](Workunit& w) { w.result_template_file.assign(64, 'x'); });
}

}  // namespace
}  // namespace sluice
