// SPDX-License-Identifier: LGPL-3.0-or-later
// Replies built from values, byte for byte as upstream's program wrote them.
#include <gtest/gtest.h>

#include "sched/rpc/messages.h"
#include "sched/rpc/reply.h"
#include "sluice/model/catalogue.h"
#include "tests/support/captures.h"

namespace sluice::test {
namespace {

const char kKey[] =
    "1024\n"
    "e0e1d894b979f8f0e8fc10263a4cf9ef4d0df64f7c94da11cbfc4ec0bc5d0941\n"
    "66625ab032c7edce72652a52e8d0acfc5cbdda72575163df15fbdd172daf105a\n"
    "31751a563cb810caa80902aa28b2cc78e4961cfec3344c2f51a9f0b8d5f0655d\n"
    "0ecaed6df6e180a5cece2aaa30dac2fe2722dbf1c78b2e562676a1579a657d3d\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000000000\n"
    "0000000000000000000000000000000000000000000000000000000000010001\n"
    ".";

/// What all captures of the project share.
SchedulerReply project_reply(int client_version, ReplyExtent extent) {
    SchedulerReply r;
    r.extent = extent;
    r.client_version = client_version;
    r.master_url = "http://127.0.0.1:18080/test/";
    r.project_name = "Upstream Test";
    r.min_sendwork_interval = 6;
    r.user_known = true;
    r.user.id = 1;
    r.user.name = "alice";
    r.user.create_time = 1795226623;
    r.user.authenticator = "0123456789abcdef0123456789abcdef";
    r.user.passwd_hash = "x";
    r.user.cross_project_id = "aaaabbbbccccddddeeeeffff00001111";
    r.email_hash = "b418773a2c51fb9777a1648346fa7394";
    r.external_cpid = "f3ef87eff89c55a72e70c6582b53db63";
    r.project_has_apps = {true, true, true, true, true};
    return r;
}

SchedulerReply full(Id host, std::int64_t host_created, double credit = 0, double expavg = 0) {
    SchedulerReply r = project_reply(72005, ReplyExtent::kFull);
    r.host.id = host;
    r.host.create_time = host_created;
    r.user.total_credit = credit;
    r.user.expavg_credit = expavg;
    r.gui_urls = expand_gui_urls(kCapturedGuiUrls, r);
    return r;
}

/// The client's own host, 1, after its first job was credited.
SchedulerReply host_one() {
    SchedulerReply r = full(1, 1795226773, 0.010006, 0.000991);
    r.host.total_credit = 0.010006;
    r.host.expavg_credit = 0.000991;
    return r;
}

void expect_captured(const std::string& name, const SchedulerReply& reply) {
    EXPECT_EQ(write_reply(reply), capture(name + ".reply")) << name;
}

App app_of(Id id, const char* name, const char* friendly) {
    App app;
    app.id = id;
    app.name = name;
    app.user_friendly_name = friendly;
    return app;
}

std::string version_xml(const std::string& app, const std::string& file) {
    return "<file_info>\n    <name>" + file + "</name>\n    <url>http://127.0.0.1:18080/test/download/" + file +
           "</url>\n    <executable/>\n    <file_signature>\n"
           "99fef711bf75ce41a1a190a2df3d40b3c8c236f43a0bf78a8e3b896c040c2627\n"
           "1755c182a1587c095f7c2ab065c445790fee8adfd8d4dcf67f5d6366ef6af574\n"
           "b919bbd2deb5bb73d19f80bbfb70f7bd1ff3a15904f54daa2e771479a6bba077\n"
           "1b07e83b3766c52910576d96737ce71498d9893fe7455865a676b6ba613bdce1\n.\n"
           "    </file_signature>\n    <nbytes>889080</nbytes>\n</file_info>\n<app_version>\n    <app_name>" +
           app + "</app_name>\n    <version_num>100</version_num>\n<file_ref>\n    <file_name>" + file +
           "</file_name>\n    <main_program/>\n</file_ref>\n</app_version>\n";
}

struct WuFile {
    std::string name, folder, md5;
    int nbytes;
};

ReplyJob job_of(const App& app, const std::string& wu, const WuFile& in, const std::string& out_file, int command) {
    ReplyJob job;
    job.app = &app;
    job.platform_name = "x86_64-pc-linux-gnu";
    job.version.version_num = 100;
    job.version.usage.projected_flops = 1e9;
    job.workunit_id = static_cast<Id>(std::hash<std::string>()(wu) >> 2);
    job.wu_name = wu;
    job.result_name = wu + "_0";
    job.wu_xml =
        "<file_info>\n    <name>" + in.name + "</name>\n    <url>http://127.0.0.1:18080/test/download/" + in.folder +
        "/" + in.name + "</url>\n    <md5_cksum>" + in.md5 + "</md5_cksum>\n    <nbytes>" + std::to_string(in.nbytes) +
        "</nbytes>\n</file_info>\n<workunit>\n<command_line>\n\n</command_line>\n"
        "<file_ref>\n    <file_name>" +
        in.name + "</file_name>\n    <open_name>in</open_name>\n    <copy_file/>\n</file_ref>\n<command_line>\n" +
        std::to_string(command) + "\n</command_line>\n</workunit>";
    job.rsc_fpops_est = 1e10;
    job.rsc_fpops_bound = 1e14;
    job.rsc_memory_bound = 1e7;
    job.rsc_disk_bound = 1e8;
    job.result_xml =
        "<file_info>\n    <name>" + out_file +
        "</name>\n    <generated_locally/>\n    <upload_when_present/>\n    <max_nbytes>1000000</max_nbytes>\n"
        "    <url>http://127.0.0.1:18080/test_cgi/file_upload_handler</url>\n</file_info>\n<result>\n"
        "    <file_ref>\n        <file_name>" +
        out_file + "</file_name>\n        <open_name>out</open_name>\n        <copy_file/>\n    </file_ref>\n</result>";
    return job;
}

TEST(Golden, FirstContactWithAJob) {
    const App up = app_of(1, "up", "Upcase");
    AppVersion version;
    version.id = 1;
    version.xml_doc = version_xml("up", "up_1.0_x86_64-pc-linux-gnu");
    SchedulerReply r = full(1, 1795226773);
    r.send_hostid = true;
    r.code_sign_key = kKey;
    ReplyJob job = job_of(up, "first_1795226726995219247_1",
                          {"in_first_1795226726995219247_1", "190", "767c41692e4a7753e98f7c12d1e9cc6c", 34},
                          "first_1795226726995219247_1_0_r2089413486_0", 1);
    job.app_version = &version;
    job.report_deadline = 1795831573;
    r.jobs = {job};
    expect_captured("01_client_attach_first_contact", r);
}

TEST(Golden, ThreeJobsForAHostWithGpu) {
    const App up = app_of(1, "up", "Upcase");
    AppVersion version;
    version.id = 1;
    version.xml_doc = version_xml("up", "up_1.0_x86_64-pc-linux-gnu");
    SchedulerReply r = full(4, 1795227439, 0.010006, 0.000991);
    r.send_hostid = true;
    r.code_sign_key = kKey;
    r.host_has = {true, true, false, false, false};
    r.jobs = {job_of(up, "cj_1795227430882672856_2",
                     {"in_cj_1795227430882672856_2", "213", "a69072b5e689ce400bec8511b61633f2", 31},
                     "cj_1795227430882672856_2_0_r514742944_0", 1),
              job_of(up, "cj_1795227431036208913_14",
                     {"in_cj_1795227431036208913_14", "e1", "5c044a542b9519a386dfc90f501861c5", 32},
                     "cj_1795227431036208913_14_0_r1872075190_0", 1),
              job_of(up, "cj_1795227431022466849_13",
                     {"in_cj_1795227431022466849_13", "13e", "db93aa2095b8eadd09499f5dbf08f780", 32},
                     "cj_1795227431022466849_13_0_r255859315_0", 1)};
    for (ReplyJob& job : r.jobs) {
        job.app_version = &version;
        job.version.usage.projected_flops = 4.5e9;
        job.report_deadline = 1795832239;
    }
    expect_captured("21_linux_cpu_and_nvidia_work", r);
}

TEST(Golden, AnonymousPlatform) {
    const App up = app_of(1, "up", "Upcase");
    SchedulerReply r = full(25, 1795227507, 0.010006, 0.000990);
    r.send_hostid = true;
    r.code_sign_key = kKey;
    ReplyJob job =
        job_of(up, "cj2_49", {"in_shared", "fb", "0c2710c14e36d184252ea92fc65093f4", 7}, "cj2_49_0_r1247834056_0", 1);
    job.version.anonymous = true;
    job.version.version_num = 101;
    job.rsc_fpops_est = 1e13;
    job.rsc_fpops_bound = 1e17;
    job.report_deadline = 1795832339;
    r.jobs = {job};
    expect_captured("44_anonymous_platform", r);
}

TEST(Golden, ReportsAreAcknowledged) {
    SchedulerReply r = full(1, 1795226773);
    r.result_acks = {"first_1795226727006776187_2_0", "first_1795226727020269273_3_0"};
    expect_captured("02_client_report_1_result_nomorework.2", r);
    SchedulerReply error = host_one();
    error.result_acks = {"fail_1795226858864108818_1_0"};
    expect_captured("05_client_report_compute_error", error);
}

TEST(Golden, NothingToDo) {
    expect_captured("02_client_report_1_result_nomorework.3", host_one());
    expect_captured("13a_client_plain_update_nothing_to_do", host_one());
}

TEST(Golden, NoWork) {
    SchedulerReply r = host_one();
    r.messages = {messages::no_tasks_in_project()};
    expect_captured("03_client_work_request_no_work", r);
}

TEST(Golden, TricklesBothWays) {
    SchedulerReply r = host_one();
    r.message_ack = true;
    r.trickle_downs = {
        "<trickle_down>\n<result_name>long_1795226913546255820_1_0</result_name>\n<text>hi</text>\n</trickle_down>"};
    expect_captured("07_client_update_jobs_in_progress_trickle_up_and_down", r);
}

TEST(Golden, AbortByTheServer) {
    SchedulerReply r = host_one();
    r.messages = {messages::no_longer_usable("long_1795226913546255820_1_0")};
    r.result_aborts = {"long_1795226913546255820_1_0"};
    expect_captured("08_client_update_server_abort", r);
}

TEST(Golden, ReattachedHost) {
    SchedulerReply r = full(2, 1795227092, 0.010006, 0.000991);
    r.messages = {messages::no_tasks_in_project()};
    r.send_hostid = true;
    r.code_sign_key = kKey;
    expect_captured("15_client_reattach_same_host", r);
}

TEST(Golden, PreferencesOfTheAccount) {
    SchedulerReply r = full(13, 1795227439, 0.010006, 0.000990);
    r.send_global_prefs = true;
    r.user.global_prefs =
        "<global_preferences>\n<source_project>http://127.0.0.1:18080/test/</source_project>\n"
        "<mod_time>1790000000</mod_time>\n<work_buf_min_days>0.2</work_buf_min_days>\n<max_ncpus_pct>50</max_ncpus_pct>\n"
        "<venue name=\"home\">\n<work_buf_min_days>0.3</work_buf_min_days>\n</venue>\n</global_preferences>";
    r.user.project_prefs =
        "<project_preferences>\n<resource_share>150</resource_share>\n<project_specific>\n<app_id>1</app_id>\n"
        "</project_specific>\n<allow_beta_work>0</allow_beta_work>\n</project_preferences>";
    expect_captured("47_prefs_from_server", r);
}

TEST(Golden, TheOldClient) {
    SchedulerReply r = full(11, 1795227439, 0.010006, 0.000991);
    r.client_version = 51045;
    r.messages = {messages::key_changed()};
    r.send_hostid = true;
    expect_captured("28_old_client_5_10", r);
}

TEST(Golden, ComputersThatGetNothing) {
    SchedulerReply disk = full(18, 1795227452, 0.010006, 0.000990);
    disk.messages = {messages::no_tasks_sent(), messages::needs_disk("Upcase", 1e8, 0),
                     messages::needs_disk("GPU app", 1e8, 0)};
    disk.send_hostid = true;
    disk.code_sign_key = kKey;
    expect_captured("50_disk_too_small", disk);
    SchedulerReply ram = full(19, 1795227452, 0.010006, 0.000990);
    ram.messages = {messages::no_tasks_sent(), messages::needs_ram("GPU app", 1e7, 3.6e6),
                    messages::needs_ram("Upcase", 1e7, 3.6e6)};
    ram.send_hostid = true;
    ram.code_sign_key = kKey;
    expect_captured("51_mem_too_small", ram);
    SchedulerReply platform = full(12, 1795227439, 0.010006, 0.000991);
    platform.request_delay = 86400;
    platform.messages = {messages::platform_not_supported("riscv64-unknown-linux-gnu")};
    platform.send_hostid = true;
    expect_captured("29_wrong_platform", platform);
}

TEST(Golden, Refusals) {
    SchedulerReply r = project_reply(0, ReplyExtent::kNucleus);
    r.messages = {messages::bad_request("xp.get_tag() failed")};
    for (const char* name : {"36_empty_request", "37_get_request_browser", "38_garbage"}) expect_captured(name, r);
    r.messages = {messages::bad_request("no end tag")};
    expect_captured("39_truncated", r);
    SchedulerReply key = project_reply(72005, ReplyExtent::kNucleus);
    key.request_delay = 3600;
    key.messages = {messages::bad_key()};
    expect_captured("16_client_wrong_authenticator", key);
    key.messages = {messages::bad_key_of_known_host()};
    expect_captured("40_wrong_auth_with_hostid", key);
    EXPECT_EQ(write_early_reply(messages::kMaintenance, 3600, false),
              "Content-type: text/plain\n\n" + capture("12_client_stop_sched.reply"));
}

// The versions and jobs of a GPU host, taken apart into what the database held: the writer puts them together again.
TEST(Golden, GpuVersionsAndJobs) {
    const std::string text = capture("20_linux_nvidia_gpu_work.reply");
    const App gpu = app_of(2, "gpu", "GPU app");
    AppVersion version;
    version.id = 5;
    version.xml_doc = version_xml("gpu", "gpu_100_x86_64-pc-linux-gnu__opencl_nvidia_101");
    SchedulerReply r = full(3, 1795227439, 0.010006, 0.000991);
    const auto between = [&](std::string_view from, std::string_view to, std::size_t at) {
        const auto begin = text.find(from, at) + from.size();
        return text.substr(begin, text.find(to, begin) - begin);
    };
    const auto work = text.find("<app>");
    for (auto at = text.find("<workunit>", work), result = text.find("<result>", work); at != std::string::npos;
         at = text.find("<workunit>", at + 1), result = text.find("<result>", result + 1)) {
        const std::string wu = between("<name>", "<", at), file = between("<file_name>", "<", at);
        const auto info = text.rfind("<file_info>", at);
        ReplyJob job = job_of(gpu, wu,
                              {file, between("/download/", "/", info), between("<md5_cksum>", "<", info),
                               std::stoi(between("<nbytes>", "<", info))},
                              between("<file_name>", "<", result),
                              std::stoi(between("<command_line>\n", "<", text.find("</file_ref>", at))));
        job.app_version = &version;
        job.report_deadline = std::stoll(between("<report_deadline>", "<", result));
        job.version.plan_class = "opencl_nvidia_101";
        HostUsage& u = job.version.usage;
        u.proc_type = ProcType::kNvidia;
        u.gpu_usage = 1;
        u.avg_ncpus = 0.892778;
        u.projected_flops = 49017502057.791443;
        u.gpu_ram = 268435456;
        r.jobs.push_back(job);
    }
    EXPECT_EQ(r.jobs.size(), 15u);
    const std::string ours = write_reply(r);
    const auto end = text.find("<code_sign_key>");
    EXPECT_EQ(ours.substr(ours.find("<app>"), end - work), text.substr(work, end - work));
}

}  // namespace
}  // namespace sluice::test
