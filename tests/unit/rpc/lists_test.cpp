// SPDX-License-Identifier: LGPL-3.0-or-later
// Lists of what the host holds.
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

TEST(Lists, Platforms) {
    const SchedulerRequest r = parsed(
        "<platform_name>x86_64-pc-linux-gnu</platform_name><alt_platform><name>i686-pc-linux-gnu</name></alt_platform>"
        "<alt_platform>\n  <name>other</name><x/>\n</alt_platform><alt_platform></alt_platform><alt_platform/>");
    EXPECT_EQ(r.alt_platforms, (std::vector<std::string>{"i686-pc-linux-gnu", "other"}));
    EXPECT_TRUE(parsed("<platform_name>anonymous</platform_name>").anonymous());
}

TEST(Lists, AppVersions) {
    const SchedulerRequest r = parsed(
        "<app_versions><app_version><app_name>up</app_name><version_num>101</version_num><platform>p</platform>"
        "<avg_ncpus>0.5</avg_ncpus><flops>2.5e9</flops><plan_class>cuda</plan_class><api_version>7</api_version>"
        "<coproc><type>CUDA</type><count>0.25</count></coproc></app_version>"
        "<app_version><version_num>3</version_num></app_version>"
        "<app_version><app_name>b</app_name><avg_ncpus>-1</avg_ncpus><flops>-5</flops></app_version>"
        "<app_version><app_name>c</app_name><coproc><count>1</count></coproc></app_version></app_versions>");
    ASSERT_EQ(r.app_versions.size(), 4u) << "placeholders stay: other_results refer by index";
    const RequestAppVersion& v = r.app_versions[0];
    EXPECT_EQ(v.app_name + v.platform + v.plan_class, "uppcuda");
    EXPECT_EQ(v.version_num, 101);
    EXPECT_EQ(v.avg_ncpus, 0.5);
    EXPECT_EQ(v.flops, 2.5e9);
    EXPECT_EQ(v.coproc_type, "CUDA");
    EXPECT_EQ(v.coproc_count, 0.25);
    EXPECT_FALSE(v.syntax_error);
    EXPECT_TRUE(r.app_versions[1].syntax_error);
    EXPECT_EQ(r.app_versions[2].avg_ncpus, 1);
    EXPECT_EQ(r.app_versions[2].flops, 0);
    EXPECT_TRUE(r.app_versions[3].syntax_error);
}

TEST(Lists, OtherResults) {
    const SchedulerRequest r = parsed(
        "<other_results><other_result><name>a</name><app_version>2</app_version><plan_class>mt</plan_class></other_result>"
        "<other_result><name>b</name></other_result><other_result></other_result></other_results>");
    EXPECT_TRUE(r.has_other_results);
    ASSERT_EQ(r.other_results.size(), 2u);
    EXPECT_EQ(r.other_results[0].name + r.other_results[0].plan_class, "amt");
    EXPECT_EQ(r.other_results[0].app_version, 2);
    EXPECT_EQ(r.other_results[1].app_version, -1);
    EXPECT_TRUE(parsed("<other_results></other_results>").has_other_results) << "the empty list says something too";
    EXPECT_TRUE(parsed("<other_results/>").has_other_results);
    EXPECT_TRUE(parsed("<other_results/>").other_results.empty());
}

TEST(Lists, InProgressResultsOfBothGenerations) {
    const SchedulerRequest r = parsed(
        "<in_progress_results><ip_result><name>old</name><report_deadline>1795847138</report_deadline>"
        "<cpu_time_remaining>120.5</cpu_time_remaining></ip_result>"
        "<ip_result><name>new</name><report_deadline>1795242494</report_deadline><time_remaining>52.12</time_remaining>"
        "<avg_ncpus>0.5</avg_ncpus><ncudas>1</ncudas><natis>2</natis><nintel_gpus>0.5</nintel_gpus><napple_gpus>3</napple_gpus></ip_result>"
        "<ip_result></ip_result></in_progress_results>");
    EXPECT_TRUE(r.has_in_progress_results);
    ASSERT_EQ(r.in_progress.size(), 3u);
    EXPECT_EQ(r.in_progress[0].remaining, 120.5);
    EXPECT_EQ(r.in_progress[0].report_deadline, 1795847138);
    EXPECT_EQ(r.in_progress[0].ncpus, 1);
    EXPECT_EQ(r.in_progress[1].remaining, 52.12) << "upstream sees 0 here";
    EXPECT_EQ(r.in_progress[1].ncpus, 0.5);
    EXPECT_EQ(r.in_progress[1].gpu_usage, (std::array<double, kProcTypes>{0, 1, 2, 0.5, 3}));
    EXPECT_LT(r.in_progress[2].remaining, 0) << "not said";
}

TEST(Lists, StickyFiles) {
    const SchedulerRequest r = parsed(
        "<file_info><name>f1</name><nbytes>1000.5</nbytes><status>1</status><sticky/></file_info>"
        "<file_info><nbytes>5</nbytes></file_info><file_info><name>f2</name></file_info>");
    ASSERT_EQ(r.files.size(), 2u);
    EXPECT_EQ(r.files[0].name, "f1");
    EXPECT_EQ(r.files[0].nbytes, 1000.5);
    EXPECT_EQ(r.files[0].status, 1);
    EXPECT_TRUE(r.files[0].sticky);
    EXPECT_FALSE(r.files[1].sticky);
}

TEST(Lists, Keywords) {
    const SchedulerRequest r = parsed(
        "<user_keywords><yes>4</yes><no>-2</no><no>7</no><yes>x</yes><maybe>3</maybe><yes>5</yes></user_keywords>");
    EXPECT_TRUE(r.has_user_keywords);
    EXPECT_EQ(r.keywords_yes, (std::vector<int>{4, 5}));
    EXPECT_EQ(r.keywords_no, (std::vector<int>{7}));
}

TEST(Lists, EveryOneIsBounded) {
    const auto repeat = [](const std::string& s, int n) {
        std::string out;
        for (int i = 0; i < n; ++i) out += s;
        return out;
    };
    RequestLimits limits;
    limits.max_app_versions = limits.max_other_results = limits.max_in_progress = limits.max_files = 3;
    limits.max_platforms = limits.max_keywords = 3;
    const auto list = [&](const char* tag, const std::string& item) { return element(tag, repeat(item, 10)); };
    const SchedulerRequest r = parsed(list("app_versions", "<app_version><app_name>a</app_name></app_version>") +
                                          list("other_results", "<other_result><name>a</name></other_result>") +
                                          list("in_progress_results", "<ip_result><name>a</name></ip_result>") +
                                          repeat("<file_info><name>a</name></file_info>", 10) +
                                          repeat("<alt_platform><name>a</name></alt_platform>", 10) +
                                          list("user_keywords", "<yes>1</yes><no>2</no>"),
                                      limits);
    EXPECT_EQ(r.app_versions.size(), 3u);
    EXPECT_EQ(r.other_results.size(), 3u);
    EXPECT_EQ(r.in_progress.size(), 3u);
    EXPECT_EQ(r.files.size(), 3u);
    EXPECT_EQ(r.alt_platforms.size(), 3u);
    EXPECT_EQ(r.keywords_yes.size(), 3u);
    EXPECT_EQ(r.keywords_no.size(), 3u);
    EXPECT_TRUE(r.other_results_truncated) << "no lost-job resend on the word of half a list";
    EXPECT_FALSE(r.results_truncated);
}

}  // namespace
}  // namespace sluice::test
