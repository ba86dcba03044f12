// SPDX-License-Identifier: LGPL-3.0-or-later
// Every captured request parses, and says what its text says.
#include "tests/support/captures.h"

#include "sluice/base/text.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

SchedulerRequest captured(const std::string& name) {
    ParsedRequest result = parse_request(capture(name + ".request"), {});
    EXPECT_TRUE(result.request) << name << ": " << result.error;
    return result.request.value_or(SchedulerRequest());
}

struct Row {
    const char* name;
    Id hostid, seqno;
    int version;
    const char* platform;
    double work_req_seconds, cpu_req_secs, cpu_req_instances, estimated_delay;
    int ncpus;
    const char* domain;
    std::size_t results, other_results, in_progress, app_versions, trickles, coprocs;
};
const Row kRows[] = {
    {"01_client_attach_first_contact", 0, 0, 72005, "x86_64-pc-linux-gnu", 1, 1, 0, 0, 2, "vm", 0, 0, 0, 0, 0, 0},
    {"02_client_report_1_result_nomorework.1", 1, 0, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 1, 0,
     0, 1, 0, 0},
    {"02_client_report_1_result_nomorework.2", 1, 1, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 2, 0, 0, 1, 0,
     0},
    {"02_client_report_1_result_nomorework.3", 1, 2, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 0, 0, 0, 1, 0,
     0},
    {"03_client_work_request_no_work", 1, 3, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 0, 0, 0, 1, 0,
     0},
    {"04_client_work_request_1job_fail", 1, 4, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 0, 0, 0, 1,
     0, 0},
    {"05_client_report_compute_error", 1, 5, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 1, 0, 0, 1, 0, 0},
    {"06_client_work_request_2long", 1, 6, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 0, 0, 0, 1, 0,
     0},
    {"07_client_update_jobs_in_progress_trickle_up_and_down", 1, 7, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm",
     0, 2, 0, 1, 1, 0},
    {"08_client_update_server_abort", 1, 8, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 0, 2, 0, 1, 0, 0},
    {"09_client_report_aborted", 1, 9, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 2, 0, 0, 1, 0, 0},
    {"10_client_work_request_2jobs_before_loss", 1, 10, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 0,
     0, 0, 1, 0, 0},
    {"11_client_resend_lost_results", 1, 12, 72005, "x86_64-pc-linux-gnu", 362.718545, 362.718545, 0, 0, 2, "vm", 0, 2,
     0, 1, 0, 0},
    {"11a_client_restart_auto", 1, 11, 72005, "x86_64-pc-linux-gnu", 377.28, 377.28, 2, 0, 2, "vm", 0, 0, 0, 1, 0, 0},
    {"12_client_stop_sched", 1, 13, 72005, "x86_64-pc-linux-gnu", 367.573637, 367.573637, 0, 0, 2, "vm", 0, 2, 0, 1, 0,
     0},
    {"13a_client_plain_update_nothing_to_do", 1, 15, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 2, "vm", 0, 2, 0, 1, 0,
     0},
    {"15_client_reattach_same_host", 0, 0, 72005, "x86_64-pc-linux-gnu", 1, 1, 0, 0, 2, "vm", 0, 0, 0, 0, 0, 0},
    {"16_client_wrong_authenticator", 0, 0, 72005, "x86_64-pc-linux-gnu", 1, 1, 0, 0, 2, "vm", 0, 0, 0, 0, 0, 0},
    {"20_linux_nvidia_gpu_work", 0, 0, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "gpu1", 0, 0, 0, 0, 0, 1},
    {"21_linux_cpu_and_nvidia_work", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 1, 0, 8, "gpu2", 0, 0, 0, 0, 0, 1},
    {"24_mac_m1_cpu_and_apple_gpu_work", 0, 0, 72401, "arm64-apple-darwin", 5, 5, 1, 0, 8, "m1b", 0, 0, 0, 0, 0, 1},
    {"24b_linux_cpu_mt_and_nvidia_cpu_req", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 8, 0, 8, "mt1", 0, 0, 0, 0, 0, 1},
    {"25_android_arm64_cpu_work", 0, 0, 72401, "aarch64-android-linux-gnu", 5, 5, 1, 0, 8, "host-android", 0, 0, 0, 0,
     0, 0},
    {"27_windows_cpu_work", 0, 0, 80002, "windows_x86_64", 5, 5, 1, 0, 16, "w1", 0, 0, 0, 0, 0, 0},
    {"28_old_client_5_10", 0, 0, 51045, "windows_intelx86", 8640, 0, 0, 0, 1, "oldbox", 0, 0, 0, 0, 0, 0},
    {"29_wrong_platform", 0, 0, 72005, "riscv64-unknown-linux-gnu", 5, 5, 1, 0, 8, "rv", 0, 0, 0, 0, 0, 0},
    {"30_linux_cpu_3jobs", 0, 0, 72005, "x86_64-pc-linux-gnu", 25, 25, 1, 0, 8, "c1", 0, 0, 0, 0, 0, 0},
    {"32_resend_lost", 13, 2, 72005, "x86_64-pc-linux-gnu", 25, 25, 1, 0, 8, "c1", 0, 0, 0, 0, 0, 0},
    {"40_wrong_auth_with_hostid", 13, 6, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "c1", 0, 0, 0, 0, 0, 0},
    {"42_weak_auth", 13, 6, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "c1", 0, 0, 0, 0, 0, 0},
    {"43_trickle_up", 13, 7, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "c1", 0, 0, 0, 0, 1, 0},
    {"44_anonymous_platform", 0, 0, 72005, "anonymous", 5, 5, 1, 0, 8, "anonb", 0, 0, 0, 1, 0, 0},
    {"46_daily_quota_exceeded", 26, 8, 72005, "x86_64-pc-linux-gnu", 25, 25, 1, 0, 8, "q1", 0, 0, 0, 0, 0, 0},
    {"46a_one_job", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 1, 0, 8, "q1", 0, 0, 0, 0, 0, 0},
    {"47_prefs_from_server", 13, 9, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "c1", 0, 0, 0, 0, 0, 0},
    {"49_app_not_selected", 0, 0, 72005, "x86_64-pc-linux-gnu", 0, 0, 0, 0, 8, "gpu9b", 0, 0, 0, 0, 0, 1},
    {"50_disk_too_small", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 1, 0, 8, "d1", 0, 0, 0, 0, 0, 0},
    {"51_mem_too_small", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 1, 0, 8, "d2", 0, 0, 0, 0, 0, 0},
    {"53_nci_or_dont_send_work", 0, 0, 72005, "x86_64-pc-linux-gnu", 5, 5, 1, 0, 8, "d3", 0, 0, 0, 0, 0, 0},
    {"70_before_tight_job", 1, 0, 72005, "x86_64-pc-linux-gnu", 3541.05489, 3541.05489, 0, 0, 1, "vm", 0, 6, 0, 1, 0,
     0},
    {"71_one_edf_job", 1, 2, 72005, "x86_64-pc-linux-gnu", 1041.70843, 1041.70843, 0, 52.121521, 1, "vm", 0, 7, 0, 1, 0,
     0},
    {"72_two_edf_jobs_full_workload", 1, 2, 72005, "x86_64-pc-linux-gnu", 977.967027, 977.967027, 0, 112.121014, 1,
     "vm", 0, 8, 8, 1, 0, 0},
    {"73_four_edf_jobs_2cpus", 1, 1, 72005, "x86_64-pc-linux-gnu", 7565.545431, 7565.545431, 0, 114.136174, 2, "vm", 2,
     10, 0, 1, 0, 0},
    {"74_report_unstarted_late", 1, 2, 72005, "x86_64-pc-linux-gnu", 3499.456359, 3499.456359, 0, 45.610264, 1, "vm", 1,
     7, 0, 1, 0, 0},
    {"75_report_unstarted_late_after_restart", 1, 1, 72005, "x86_64-pc-linux-gnu", 3542.97426, 3542.97426, 0, 47.99994,
     1, "vm", 1, 2, 0, 1, 0, 0},
    {"76_report_unstarted_late_suspended", 1, 1, 72005, "x86_64-pc-linux-gnu", 3631.528947, 3631.528947, 0, 0, 1, "vm",
     1, 1, 0, 1, 0, 0},
    {"77_other_project_while_edf", 1, 0, 72005, "x86_64-pc-linux-gnu", 127.539783, 127.539783, 0, 59.286665, 1, "vm", 0,
     1, 0, 1, 0, 0},
};

TEST(Captures, EveryRow) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.name);
        const SchedulerRequest r = captured(row.name);
        EXPECT_EQ(r.hostid, row.hostid);
        EXPECT_EQ(r.rpc_seqno, row.seqno);
        EXPECT_EQ(r.client_version(), row.version);
        EXPECT_EQ(r.platform_name, row.platform);
        EXPECT_EQ(r.work_req_seconds, row.work_req_seconds);
        EXPECT_EQ(r.cpu_req_secs, row.cpu_req_secs);
        EXPECT_EQ(r.cpu_req_instances, row.cpu_req_instances);
        EXPECT_EQ(r.cpu_estimated_delay, row.estimated_delay);
        EXPECT_EQ(r.host.p_ncpus, row.ncpus);
        EXPECT_EQ(r.host.domain_name, row.domain);
        EXPECT_EQ(r.results.size(), row.results);
        EXPECT_EQ(r.other_results.size(), row.other_results);
        EXPECT_EQ(r.in_progress.size(), row.in_progress);
        EXPECT_EQ(r.app_versions.size(), row.app_versions);
        EXPECT_EQ(r.trickles.size(), row.trickles);
        EXPECT_EQ(r.coprocs.size(), row.coprocs);
        EXPECT_TRUE(r.has_host_info && r.has_time_stats);
        EXPECT_FALSE(r.results_truncated || r.other_results_truncated);
        EXPECT_TRUE(r.unknown_tags.empty()) << r.unknown_tags[0];
    }
}

TEST(Captures, NoneIsForgotten) {
    std::vector<std::string> expected{"36_empty_request", "37_get_request_browser", "38_garbage", "39_truncated"};
    for (const Row& row : kRows) expected.push_back(row.name);
    std::sort(expected.begin(), expected.end());
    std::vector<std::string> found;
    for (const std::string& name : capture_names("request")) found.push_back(name.substr(0, name.rfind('.')));
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
}

TEST(Captures, TheUnreadableOnes) {
    for (const char* name : {"36_empty_request", "37_get_request_browser", "38_garbage"})
        EXPECT_EQ(parse_request(capture(std::string(name) + ".request"), {}).error, "xp.get_tag() failed") << name;
    EXPECT_EQ(parse_request(capture("39_truncated.request"), {}).error, "no end tag");
}

TEST(Captures, AReportedResultInFull) {
    const SchedulerRequest r = captured("05_client_report_compute_error");
    const ReportedResult& result = r.results.at(0);
    EXPECT_EQ(result.name, "fail_1795226858864108818_1_0");
    EXPECT_EQ(result.exit_status, 3);
    EXPECT_TRUE(result.exit_status_given);
    EXPECT_EQ(result.client_state, 3);
    EXPECT_EQ(result.app_version_num, 100);
    EXPECT_EQ(result.stderr_out,
              "\n<core_client_version>7.20.5</core_client_version>\n<![CDATA[\n<message>\nprocess exited with code 3 "
              "(0x3, -253)</message>\n<stderr_txt>\nopen failed\n\n</stderr_txt>\n]]>\n");
    EXPECT_EQ(
        result.file_infos,
        "<file_info>\n    <name>fail_1795226858864108818_1_0_r1718299632_0</name>\n    <nbytes>0.000000</nbytes>\n"
        "    <max_nbytes>1000000.000000</max_nbytes>\n    <md5_cksum>d41d8cd98f00b204e9800998ecf8427e</md5_cksum>\n"
        "    <upload_url>http://127.0.0.1:18080/test_cgi/file_upload_handler</upload_url>\n</file_info>");
}

TEST(Captures, StatesAndTimes) {
    const SchedulerRequest two = captured("02_client_report_1_result_nomorework.2");
    EXPECT_EQ(two.results.at(1).elapsed_time, 1.005241);
    EXPECT_EQ(two.results.at(1).peak_disk_usage, 6233);
    const SchedulerRequest aborted = captured("09_client_report_aborted");
    EXPECT_EQ(aborted.results.at(0).exit_status, 203);
    EXPECT_EQ(aborted.results.at(1).exit_status, 202);
    EXPECT_EQ(aborted.results.at(1).client_state, 6);
    for (const char* late :
         {"74_report_unstarted_late", "75_report_unstarted_late_after_restart", "76_report_unstarted_late_suspended"}) {
        EXPECT_EQ(captured(late).results.at(0).exit_status, kExitUnstartedLate) << late;
    }
}

TEST(Captures, TheHostInFull) {
    const SchedulerRequest r = captured("27_windows_cpu_work");
    EXPECT_EQ(r.authenticator, "0123456789abcdef0123456789abcdef");
    EXPECT_EQ(r.cross_project_id, "aaaabbbbccccddddeeeeffff00001111");
    EXPECT_EQ(r.host.p_vendor, "AuthenticAMD");
    EXPECT_EQ(r.host.p_model, "AMD Ryzen 7 5800X 8-Core Processor [Family 25 Model 33 Stepping 0]");
    EXPECT_EQ(r.host.os_name, "Microsoft Windows 11");
    EXPECT_EQ(r.host.os_version, "Professional x64 Edition, (10.00.22621.00)");
    EXPECT_EQ(r.host.timezone, 3600);
    EXPECT_EQ(r.host.m_nbytes, 34276982784.0);
    EXPECT_EQ(r.host.d_free, 2e11);
    EXPECT_EQ(r.host.on_frac, 0.998);
    EXPECT_EQ(r.host.gpu_active_frac, 0.95);
    EXPECT_EQ(r.host.n_bwup, 250000);
    EXPECT_EQ(r.host.d_boinc_used_project, 1000000);
    EXPECT_EQ(r.host.d_boinc_max, 89813407580.160019);
    EXPECT_EQ(r.client_now, 1795226772.781506);
    EXPECT_EQ(r.client_start, 1795000000.543537);
    EXPECT_NE(r.cpu_features.find(" avx2 "), std::string::npos);
    EXPECT_TRUE(r.client_cap_plan_class);
    EXPECT_EQ(captured("25_android_arm64_cpu_work").alt_platforms, std::vector<std::string>{"arm-android-linux-gnu"});
}

TEST(Captures, TheOldClient) {
    const SchedulerRequest r = captured("28_old_client_5_10");
    EXPECT_FALSE(r.client_cap_plan_class);
    EXPECT_EQ(r.code_sign_key, "1024\ne0e1d894b979f8f0e8fc10263a4cf9ef4d0df64f7c94da11cbfc4ec0bc5d0941\n.");
    EXPECT_EQ(r.host.timezone, -25200);
    EXPECT_EQ(r.host.connected_frac, -1);
    EXPECT_EQ(r.cpu_features, " fpu tsc sse sse2 mmx ");
    EXPECT_TRUE(r.has_other_results && r.has_in_progress_results);
    EXPECT_NE(r.working_global_prefs.find("<work_buf_min_days>0.1</work_buf_min_days>"), std::string::npos);
}

TEST(Captures, Gpus) {
    const Coproc nvidia = captured("20_linux_nvidia_gpu_work").coprocs.at(0);
    EXPECT_EQ(nvidia.model, "NVIDIA GeForce RTX 3070");
    EXPECT_EQ(nvidia.peak_flops, 21373440000000.0);
    EXPECT_EQ(nvidia.compute_capability, 806);
    EXPECT_EQ(nvidia.driver_version, 53554);
    EXPECT_EQ(nvidia.req_secs, 100);
    EXPECT_EQ(nvidia.opencl.device_version_int, 300);
    const Coproc apple = captured("24_mac_m1_cpu_and_apple_gpu_work").coprocs.at(0);
    EXPECT_EQ(apple.type, "apple_gpu");
    EXPECT_EQ(apple.metal_support, 5001);
    EXPECT_EQ(apple.available_ram, 11453251584.0);
}

TEST(Captures, AnonymousPlatform) {
    const SchedulerRequest r = captured("44_anonymous_platform");
    EXPECT_TRUE(r.anonymous());
    const RequestAppVersion& v = r.app_versions.at(0);
    EXPECT_EQ(v.app_name, "up");
    EXPECT_EQ(v.version_num, 101);
    EXPECT_EQ(v.flops, 2.5e9);
    EXPECT_FALSE(v.syntax_error);
}

TEST(Captures, Trickles) {
    EXPECT_EQ(captured("43_trickle_up").trickles.at(0).variety, "progress");
    EXPECT_EQ(
        captured("43_trickle_up").trickles.at(0).xml,
        "\n      <result_name>cj_1795227430961245465_8</result_name>\n      <time>1795226930</time>\n<frac>0.5</frac>\n");
    const SchedulerRequest real = captured("07_client_update_jobs_in_progress_trickle_up_and_down");
    EXPECT_EQ(real.trickles.at(0).variety, "progress");
    EXPECT_NE(real.trickles.at(0).xml.find("<frac>0.5</frac>"), std::string::npos);
    EXPECT_EQ(real.other_results.at(1).name, "long_1795226913546255820_1_0");
    EXPECT_EQ(real.other_results.at(1).app_version, 0);
}

TEST(Captures, TheFullWorkload) {
    const SchedulerRequest r = captured("72_two_edf_jobs_full_workload");
    const auto t2 = std::ranges::find(r.in_progress, "t2", &InProgressResult::name);
    ASSERT_NE(t2, r.in_progress.end());
    EXPECT_EQ(t2->remaining, 52.12);
    EXPECT_EQ(t2->report_deadline, 1795242494);
}

}  // namespace
}  // namespace sluice::test
