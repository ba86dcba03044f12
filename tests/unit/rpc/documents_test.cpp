// SPDX-License-Identifier: LGPL-3.0-or-later
// Merging of documents, work lists and download mirrors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/rpc/documents.h"
#include "sluice/base/hash.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

App an_app() {
    App app;
    app.id = 1;
    app.name = "up";
    app.user_friendly_name = "Upcase";
    return app;
}

AppVersion a_version() {
    AppVersion v;
    v.id = 11;
    v.xml_doc =
        "<file_info>\n<name>f</name>\n</file_info>\n<app_version>\n    <app_name>up</app_name>\n</app_version>\n";
    return v;
}

struct Job : ::testing::Test {
    App app = an_app();
    AppVersion version = a_version();
    ReplyJob job;
    Job() {
        job.app = &app;
        job.app_version = &version;
        job.platform_name = "x86_64-pc-linux-gnu";
        job.version.version_num = 105;
        job.version.usage.avg_ncpus = 1;
        job.version.usage.projected_flops = 2.5e9;
        job.workunit_id = 5;
        job.wu_name = "wu";
        job.wu_xml = "<file_info>\n</file_info>\n<workunit>\n<file_ref>\n</file_ref>\n</workunit>";
        job.rsc_fpops_est = 100;
        job.rsc_fpops_bound = 1000;
        job.rsc_memory_bound = 2000;
        job.rsc_disk_bound = 3000;
        job.result_id = 6;
        job.result_name = "wu_0";
        job.result_xml = "<file_info>\n</file_info>\n<result>\n    <file_ref/>\n</result>";
        job.report_deadline = 1795831573;
    }
    std::string version_text(int client_version = 80206) {
        return rpc::app_version_document(job, client_version).value_or("NONE");
    }
    std::string workunit_text() { return rpc::workunit_document(job).value_or("NONE"); }
    std::string result_text() { return rpc::result_document(job).value_or("NONE"); }
};

TEST_F(Job, PlainVersion) {
    EXPECT_EQ(version_text(),
              "<file_info>\n<name>f</name>\n</file_info>\n<app_version>\n    <app_name>up</app_name>\n"
              "    <platform>x86_64-pc-linux-gnu</platform>\n    <avg_ncpus>1.000000</avg_ncpus>\n"
              "    <flops>2500000000.000000</flops>\n</app_version>\n");
}

TEST_F(Job, GpuVersion) {
    job.version.plan_class = "cuda";
    HostUsage& u = job.version.usage;
    u.proc_type = ProcType::kNvidia;
    u.gpu_usage = 0.5;
    u.avg_ncpus = 0.25;
    u.cmdline = "--x 1";
    u.gpu_ram = 268435456;
    EXPECT_THAT(version_text(),
                HasSubstr("    <plan_class>cuda</plan_class>\n    <avg_ncpus>0.250000</avg_ncpus>\n"
                          "    <flops>2500000000.000000</flops>\n    <cmdline>--x 1</cmdline>\n    <coproc>\n"
                          "        <type>NVIDIA</type>\n        <count>0.500000</count>\n    </coproc>\n"
                          "    <gpu_ram>268435456.000000</gpu_ram>\n</app_version>\n"));
    EXPECT_THAT(version_text(69999), HasSubstr("<type>CUDA</type>"));
    EXPECT_THAT(version_text(70000), HasSubstr("<type>NVIDIA</type>"));
    u.proc_type = ProcType::kAmd;
    EXPECT_THAT(version_text(61000), HasSubstr("<type>ATI</type>"));
    u.proc_type = ProcType::kAppleGpu;
    EXPECT_THAT(version_text(), HasSubstr("<type>apple_gpu</type>"));
}

TEST_F(Job, CustomCoprocessor) {
    job.version.usage.custom_coproc_type = "miner_asic";
    job.version.usage.gpu_usage = 1;
    EXPECT_THAT(version_text(),
                HasSubstr("    <coproc>\n        <type>miner_asic</type>\n        <count>1.000000</count>\n"));
}

TEST_F(Job, Workunit) {
    EXPECT_EQ(
        workunit_text(),
        "<file_info>\n</file_info>\n<workunit>\n    <rsc_fpops_est>100.000000</rsc_fpops_est>\n"
        "    <rsc_fpops_bound>1000.000000</rsc_fpops_bound>\n    <rsc_memory_bound>2000.000000</rsc_memory_bound>\n"
        "    <rsc_disk_bound>3000.000000</rsc_disk_bound>\n    <name>wu</name>\n    <app_name>up</app_name>\n"
        "<file_ref>\n</file_ref>\n</workunit>");
    job.keywords = "4 7";
    EXPECT_THAT(workunit_text(),
                HasSubstr("    <app_name>up</app_name>\n    <job_keyword_ids>4 7</job_keyword_ids>\n"));
}

TEST_F(Job, MemoryOfPlanClassesAndAnonymousSpeeds) {
    job.version.usage.mem_usage = 777;
    job.version.fpops_scale = 2;
    EXPECT_THAT(workunit_text(), HasSubstr("<rsc_memory_bound>777.000000</rsc_memory_bound>"));
    EXPECT_THAT(workunit_text(), HasSubstr("<rsc_fpops_est>200.000000</rsc_fpops_est>"));
    EXPECT_THAT(workunit_text(), HasSubstr("<rsc_fpops_bound>2000.000000</rsc_fpops_bound>"));
}

TEST_F(Job, Result) {
    job.version.plan_class = "mt";
    EXPECT_EQ(
        result_text(),
        "<file_info>\n</file_info>\n<result>\n<report_deadline>1795831573</report_deadline>\n<wu_name>wu</wu_name>\n"
        "<name>wu_0</name>\n    <file_ref/>\n\n    <platform>x86_64-pc-linux-gnu</platform>\n"
        "    <version_num>105</version_num>\n    <plan_class>mt</plan_class>\n</result>\n");
}

// Upstream needs the line feed and fails after the database was written.
TEST_F(Job, StartTagWithoutLineFeed) {
    job.wu_xml = "<workunit><file_ref/></workunit>";
    job.result_xml = "<result>\r\n<file_ref/></result>";
    EXPECT_THAT(workunit_text(), HasSubstr("<workunit>\n    <rsc_fpops_est>"));
    EXPECT_THAT(result_text(), HasSubstr("<result>\n<report_deadline>"));
}

TEST_F(Job, Buda) {
    job.is_buda = true;
    job.buda_file_infos = "<file_info>\n<name>variant</name>\n</file_info>\n";
    job.buda_file_refs = "<file_ref>\n<file_name>variant</file_name>\n</file_ref>\n";
    job.version.usage.proc_type = ProcType::kNvidia;
    job.version.usage.gpu_usage = 1;
    job.version.usage.cmdline = "--gpu";
    const std::string text = workunit_text();
    EXPECT_THAT(text, HasSubstr("<file_info>\n<name>variant</name>\n</file_info>\n<workunit>\n    <rsc_fpops_est>"));
    EXPECT_TRUE(text.ends_with(
        "</file_ref>\n    <avg_ncpus>1.000000</avg_ncpus>\n    <flops>2500000000.000000</flops>\n    <coproc>\n"
        "        <type>NVIDIA</type>\n        <count>1.000000</count>\n    </coproc>\n    <cmdline>--gpu</cmdline>\n"
        "<file_ref>\n<file_name>variant</file_name>\n</file_ref>\n</workunit>"))
        << text;
}

TEST_F(Job, CanSend) {
    EXPECT_FALSE(can_send(job).refused());
    const auto refused = [&](auto change) {
        ReplyJob copy = job;
        AppVersion other = version;
        copy.app_version = &other;
        change(copy, other);
        return can_send(copy).refused();
    };
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.wu_xml = "<work></work>"; }));
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.wu_xml = "<workunit>\n"; }));
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.wu_xml = "</workunit><workunit>\n"; }));
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.result_xml = ""; }));
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.result_xml = "<result>\n"; }));
    EXPECT_TRUE(refused([](ReplyJob&, AppVersion& v) { v.xml_doc = "<app_version>"; }));
    EXPECT_TRUE(refused([](ReplyJob& j, AppVersion&) { j.app_version = nullptr; }));
    EXPECT_FALSE(refused([](ReplyJob& j, AppVersion&) { j.app_version = nullptr, j.version.anonymous = true; }));
    EXPECT_FALSE(refused([](ReplyJob& j, AppVersion&) {
        j.wu_xml = "<workunit>\n<command_line>" + std::string(1 << 20, 'x') + "</command_line>\n</workunit>";
    })) << "how long it may be is the columns' matter";
}

TEST_F(Job, EntitiesStandOnceAndInOrder) {
    SchedulerReply reply;
    reply.extent = ReplyExtent::kFull;
    reply.jobs = {job, job, job};
    reply.jobs[1].result_name = "wu_1";
    reply.jobs[2].workunit_id = 50;
    reply.jobs[2].wu_name = "second";
    const std::string text = write_reply(reply);
    const auto count = [&](const std::string& what) {
        int n = 0;
        for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
        return n;
    };
    EXPECT_EQ(count("<app>"), 1);
    EXPECT_EQ(count("<app_version>"), 1);
    EXPECT_EQ(count("<workunit>"), 2);
    EXPECT_EQ(count("<result>"), 3);
    EXPECT_LT(text.find("<app>"), text.find("<app_version>"));
    EXPECT_LT(text.find("<app_version>"), text.find("<workunit>"));
    EXPECT_LT(text.rfind("<workunit>"), text.find("<result>"));
    EXPECT_THAT(text, HasSubstr("<app>\n    <name>up</name>\n    <user_friendly_name>Upcase</user_friendly_name>\n"
                                "    <non_cpu_intensive>0</non_cpu_intensive>\n"
                                "    <fraction_done_exact>0</fraction_done_exact>\n</app>\n"));
    reply.jobs.resize(1);
    reply.jobs[0].version.anonymous = true;
    EXPECT_THAT(write_reply(reply), Not(HasSubstr("<app>")));
    EXPECT_THAT(write_reply(reply), Not(HasSubstr("<app_version>")));
}

TEST(Mirrors, NearestFirstAroundTheGlobe) {
    const std::vector<std::pair<int, std::string>> servers{
        {-28800, "http://us/"}, {3600, "http://eu/"}, {32400, "http://jp/"}, {39600, "http://au/"}};
    const auto order = [&](int timezone) { return rpc::sort_mirrors(servers, timezone, 1); };
    EXPECT_EQ(order(0)[0], "http://eu/");
    EXPECT_EQ(order(43200)[0], "http://au/");
    EXPECT_EQ(order(-43200)[0], "http://au/") << "11 h east is 1 h away from 12 h west";
    EXPECT_EQ(order(-36000), (std::vector<std::string>{"http://us/", "http://au/", "http://jp/", "http://eu/"}));
    EXPECT_EQ(rpc::sort_mirrors(servers, 2147483647, 1).size(), 4u);
}

TEST(Mirrors, TiesDifferFromHostToHost) {
    const std::vector<std::pair<int, std::string>> servers{{0, "http://a/"}, {0, "http://b/"}, {0, "http://c/"}};
    std::map<std::string, int> first;
    for (Id host = 1; host <= 300; ++host) {
        const auto order = rpc::sort_mirrors(servers, 0, host);
        ++first[order[0]];
        EXPECT_EQ(order, rpc::sort_mirrors(servers, 0, host));
        EXPECT_LE(md5_hex(order[0] + std::to_string(host)).substr(1, 7),
                  md5_hex(order[1] + std::to_string(host)).substr(1, 7));
    }
    ASSERT_EQ(first.size(), 3u);
    for (const auto& [url, n] : first) EXPECT_GT(n, 60) << url;
}

TEST(Mirrors, Replacement) {
    const rpc::Mirrors mirrors{"http://main/download", {"http://a/d", "http://b/d"}};
    EXPECT_EQ(
        rpc::replace_download_urls(
            "<file_info>\n    <url>http://main/download/f/x</url>\n    <url>http://else/x</url>\n"
            "</file_info>",
            mirrors),
        "<file_info>\n    <url>http://a/d/f/x</url>\n    <url>http://b/d/f/x</url>\n    <url>http://else/x</url>\n"
        "</file_info>");
    EXPECT_EQ(rpc::replace_download_urls("<url>http://main/download", mirrors), "<url>http://main/download");
    EXPECT_EQ(rpc::replace_download_urls("<url>x</url>", {}), "<url>x</url>");
    const std::string long_document = "<url>http://main/download/x</url>" + std::string(65500, ' ');
    EXPECT_TRUE(rpc::replace_download_urls(long_document, mirrors).starts_with("<url>http://a/d/x</url>"));
}

TEST_F(Job, MirrorsAreUsedAndLimited) {
    version.xml_doc = "<url>http://main/v</url><app_version>\n</app_version>";
    job.wu_xml = "<url>http://main/w</url><workunit>\n</workunit>";
    job.result_xml = "<url>http://main/r</url><result>\n</result>";
    SchedulerReply reply;
    reply.extent = ReplyExtent::kFull;
    reply.jobs = {job};
    reply.replace_download_url = "http://main/";
    reply.download_servers = {{0, "http://m1/"}, {36000, "http://m2/"}, {39600, "http://m3/"}};
    reply.max_download_urls_per_file = 2;
    const std::string text = write_reply(reply);
    EXPECT_THAT(text, HasSubstr("<url>http://m1/v</url>\n    <url>http://m2/v</url><app_version>"));
    EXPECT_THAT(text, HasSubstr("<url>http://m1/w</url>\n    <url>http://m2/w</url><workunit>"));
    EXPECT_THAT(text, HasSubstr("<url>http://main/r</url><result>"));
    EXPECT_THAT(text, Not(HasSubstr("m3")));
}

}  // namespace
}  // namespace sluice::test
