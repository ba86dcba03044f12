// SPDX-License-Identifier: LGPL-3.0-or-later
// <result> and <msg_from_host>.
#include "sluice/model/job.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

ReportedResult result_of(const std::string& body) {
    const SchedulerRequest r = parsed("<result><name>r1</name>" + body + "</result>");
    EXPECT_EQ(r.results.size(), 1u);
    return r.results.empty() ? ReportedResult() : r.results[0];
}

TEST(Result, EveryElement) {
    const ReportedResult r = result_of(
        "<final_cpu_time>12.5</final_cpu_time><final_elapsed_time>13.5</final_elapsed_time>"
        "<exit_status>-185</exit_status><state>3</state><platform>x</platform><version_num>100</version_num>"
        "<plan_class>mt</plan_class><final_peak_working_set_size>1e6</final_peak_working_set_size>"
        "<final_peak_swap_size>2e6</final_peak_swap_size><final_peak_disk_usage>6233</final_peak_disk_usage>"
        "<app_version_num>105</app_version_num><ready_to_report/><completed_time>5</completed_time>");
    EXPECT_EQ(r.name, "r1");
    EXPECT_EQ(r.cpu_time, 12.5);
    EXPECT_EQ(r.elapsed_time, 13.5);
    EXPECT_EQ(r.exit_status, -185);
    EXPECT_TRUE(r.exit_status_given);
    EXPECT_EQ(r.client_state, 3);
    EXPECT_EQ(r.peak_working_set_size, 1e6);
    EXPECT_EQ(r.peak_swap_size, 2e6);
    EXPECT_EQ(r.peak_disk_usage, 6233);
    EXPECT_EQ(r.app_version_num, 105);
}

// Upstream takes a missing status for 0, which with state 5 is a success.
TEST(Result, MissingExitStatusIsKnownToBeMissing) {
    EXPECT_FALSE(result_of("<state>5</state>").exit_status_given);
    EXPECT_FALSE(result_of("<state>5</state><exit_status></exit_status>").exit_status_given);
    EXPECT_FALSE(result_of("<state>5</state><exit_status/>").exit_status_given);
    EXPECT_FALSE(result_of("<state>5</state><exit_status>none</exit_status>").exit_status_given);
    EXPECT_TRUE(result_of("<state>5</state><exit_status>0</exit_status>").exit_status_given);
}

TEST(Result, ExitStatusIsA32BitPattern) {
    EXPECT_EQ(result_of("<exit_status>3221225477</exit_status>").exit_status, -1073741819);
    EXPECT_EQ(result_of("<exit_status>0xC0000005</exit_status>").exit_status, -1073741819);
    EXPECT_EQ(result_of("<exit_status>99999999999999</exit_status>").exit_status, 2147483647);
}

TEST(Result, NumbersAreFinite) {
    const ReportedResult r = result_of(
        "<final_cpu_time>nan</final_cpu_time><final_elapsed_time>inf</final_elapsed_time>"
        "<final_peak_swap_size>-5</final_peak_swap_size>");
    EXPECT_EQ(r.cpu_time, 0);
    EXPECT_EQ(r.elapsed_time, 0);
    EXPECT_EQ(r.peak_swap_size, -5) << "negatives are kept, as upstream";
}

TEST(Result, StderrIsRaw) {
    const std::string text =
        "\n<core_client_version>7.20.5</core_client_version>\n<![CDATA[\n<stderr_txt>\n</result> &lt; 5 < 6\n</stderr_txt>\n]]>\n";
    EXPECT_EQ(result_of("<stderr_out>" + text + "</stderr_out><state>5</state>").stderr_out, text);
    EXPECT_EQ(result_of("<stderr_out>" + text + "</stderr_out><state>5</state>").client_state, 5);
    EXPECT_EQ(result_of("<stderr_out/>").stderr_out, "");
}

// Upstream stores an over-long one as empty.
TEST(Result, LongStderrKeepsBothEnds) {
    const std::string text = "BEGIN" + std::string(200000, '.') + "END";
    const std::string kept = result_of("<stderr_out>" + text + "</stderr_out>").stderr_out;
    EXPECT_EQ(kept.size(), 65535u);
    EXPECT_TRUE(kept.starts_with("BEGIN..."));
    EXPECT_TRUE(kept.ends_with("...END"));
    EXPECT_NE(kept.find("bytes of stderr left out]"), std::string::npos);
    const std::string fits(65535, 'x');
    EXPECT_EQ(result_of("<stderr_out>" + fits + "</stderr_out>").stderr_out, fits);
}

TEST(Result, FileInfosAreConcatenatedWhole) {
    const std::string one = "<file_info>\n    <name>a_0</name>\n    <nbytes>34.000000</nbytes>\n</file_info>";
    EXPECT_EQ(result_of(one + "\n" + one).file_infos, one + one);
    const std::string big = "<file_info><name>" + std::string(40000, 'n') + "</name></file_info>";
    const SchedulerRequest r = parsed("<result><name>r1</name>" + big + big + one + "</result>");
    EXPECT_EQ(r.results.at(0).file_infos, big + one) << "what does not fit is left out, not cut in half";
}

TEST(Result, NamesDecide) {
    EXPECT_TRUE(parsed("<result><state>5</state></result>").results.empty());
    EXPECT_TRUE(parsed("<result><name>" + std::string(256, 'n') + "</name></result>").results.empty());
    const SchedulerRequest twice = parsed(
        "<result><name>a</name><state>5</state></result><result><name>b</name></result>"
        "<result><name>a</name><state>3</state></result>");
    ASSERT_EQ(twice.results.size(), 2u);
    EXPECT_EQ(twice.results[0].client_state, 5) << "the first counts";
}

// Upstream takes such names for file transfers: acknowledged and thrown away.
TEST(Result, NamesWithDownloadOrUploadAreResults) {
    const SchedulerRequest r =
        parsed("<result><name>wu_download_1_0</name></result><result><name>upload_x</name></result>");
    ASSERT_EQ(r.results.size(), 2u);
    EXPECT_EQ(r.results[0].name, "wu_download_1_0");
}

TEST(Result, TheNumberIsLimited) {
    std::string body;
    for (int i = 0; i < 12; ++i) body += "<result><name>r" + std::to_string(i) + "</name></result>";
    RequestLimits limits;
    limits.max_results = 10;
    const SchedulerRequest r = parsed(body, limits);
    EXPECT_EQ(r.results.size(), 10u);
    EXPECT_TRUE(r.results_truncated);
    EXPECT_FALSE(parsed(body).results_truncated);
}

TEST(Trickle, VarietyIsTakenOut) {
    const SchedulerRequest r = parsed(
        "  <msg_from_host>\n      <variety>progress</variety>\n      <result_name>r_0</result_name>\n"
        "      <time>1795226930</time>\n<frac>0.5 &lt; 1</frac>\n  </msg_from_host>\n<hostid>4</hostid>");
    ASSERT_EQ(r.trickles.size(), 1u);
    EXPECT_EQ(r.trickles[0].variety, "progress");
    EXPECT_EQ(r.trickles[0].xml,
              "\n      <result_name>r_0</result_name>\n      <time>1795226930</time>\n<frac>0.5 &lt; 1</frac>\n");
    EXPECT_EQ(r.hostid, 4);
}

// Upstream drops the whole line that <variety> stands on.
TEST(Trickle, WhatStandsBesideVarietyStays) {
    const SchedulerRequest r =
        parsed("<msg_from_host>\n<variety>progress</variety><frac>0.5</frac>\n\n  </msg_from_host>");
    EXPECT_EQ(r.trickles.at(0).variety, "progress");
    EXPECT_EQ(r.trickles.at(0).xml, "\n<frac>0.5</frac>\n\n");
}

TEST(Trickle, OfSeveralVarietiesTheLastCounts) {
    const SchedulerRequest r = parsed(
        "<msg_from_host>\n<variety>one</variety>\n  <variety>two</variety> \r\n<frac>1</frac>"
        "<variety>three</variety><variety> four </variety>\n</msg_from_host>");
    EXPECT_EQ(r.trickles.at(0).variety, "four");
    EXPECT_EQ(r.trickles.at(0).xml, "\n<frac>1</frac>\n");
    std::string many;
    for (int i = 0; i < 300000; ++i) many += i % 2 == 0 ? "<variety>x</variety>" : "<variety>y</variety>\n";
    EXPECT_EQ(parsed(element("msg_from_host", many)).trickles.at(0).variety, "y");
}

TEST(Trickle, OddOnes) {
    EXPECT_EQ(parsed("<msg_from_host></msg_from_host>").trickles.at(0).xml, "");
    EXPECT_TRUE(parsed("<msg_from_host/>").trickles.empty());
    EXPECT_EQ(parsed("<msg_from_host><variety>x</msg_from_host>").trickles.at(0).variety, "");
    EXPECT_EQ(parsed("<msg_from_host><variety>x</variety></msg_from_host>").trickles.at(0).xml, "");
    EXPECT_EQ(parsed(element("msg_from_host", element("variety", std::string(999, 'v')))).trickles.at(0).variety.size(),
              254u);
    EXPECT_EQ(parsed(element("msg_from_host", std::string(400000, 'x'))).trickles.at(0).xml.size(), 262143u);
    EXPECT_EQ(parsed(element("msg_from_host", "caf\xE9")).trickles.at(0).xml, "caf\xC3\xA9");
}

TEST(Trickle, BeginningIsKeptAsFarAsBytesGo) {
    std::string many;
    for (int i = 0; i < 5000; ++i) many += "<msg_from_host>x</msg_from_host>";
    EXPECT_EQ(parsed(many).trickles.size(), 5000u) << "collected while there was no network";
    EXPECT_EQ(parsed(many).trickle_bytes, 5000u * 257);
    EXPECT_EQ(parsed(many).trickles_over, 0u);
    RequestLimits limits;
    limits.max_trickle_bytes = 1000;
    const std::string three = element("msg_from_host", std::string(300, 'a')) +
                              element("msg_from_host", std::string(300, 'b')) + element("msg_from_host", "c");
    const auto r = parse_request("<scheduler_request>\n" + three + "</scheduler_request>\n", limits).request.value();
    ASSERT_EQ(r.trickles.size(), 1u) << "no later one overtakes the one that was left out";
    EXPECT_EQ(r.trickles[0].xml[0], 'a');
    EXPECT_EQ(r.trickle_bytes, 556u);
    EXPECT_EQ(r.trickles_over, 2u);
}

}  // namespace
}  // namespace sluice::test
