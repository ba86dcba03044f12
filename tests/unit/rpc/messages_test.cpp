// SPDX-License-Identifier: LGPL-3.0-or-later
// The wording is a contract: clients translate it, scripts look for it.
#include <gtest/gtest.h>

#include "sched/rpc/messages.h"
#include "tests/support/captures.h"

namespace sluice::test {
namespace {

namespace m = messages;

TEST(Messages, AsCaptured) {
    const struct {
        const char* capture_name;
        ReplyMessage message;
        int client_version;
    } cases[] = {
        {"36_empty_request", m::bad_request("xp.get_tag() failed"), 0},
        {"39_truncated", m::bad_request("no end tag"), 0},
        {"16_client_wrong_authenticator", m::bad_key(), 72005},
        {"40_wrong_auth_with_hostid", m::bad_key_of_known_host(), 72005},
        {"28_old_client_5_10", m::key_changed(), 51045},
        {"29_wrong_platform", m::platform_not_supported("riscv64-unknown-linux-gnu"), 72005},
        {"03_client_work_request_no_work", m::no_tasks_in_project(), 72005},
        {"50_disk_too_small", m::no_tasks_sent(), 72005},
        {"50_disk_too_small", m::needs_disk("Upcase", 1e8, 0), 72005},
        {"51_mem_too_small", m::needs_ram("GPU app", 1e7, 3.6e6), 72005},
        {"32_resend_lost", m::resent("cj_1795227430961245465_8_0"), 72005},
        {"08_client_update_server_abort", m::no_longer_usable("long_1795226913546255820_1_0"), 72005},
    };
    for (const auto& c : cases) {
        SchedulerReply reply;
        reply.client_version = c.client_version;
        reply.messages = {c.message};
        const std::string text = write_reply(reply);
        const auto begin = text.find("<message"), end = text.find("</message>") + 11;
        EXPECT_NE(capture(std::string(c.capture_name) + ".reply").find(text.substr(begin, end - begin)),
                  std::string::npos)
            << c.capture_name << ": " << text.substr(begin, end - begin);
    }
    EXPECT_NE(capture("12_client_stop_sched.reply").find(m::kMaintenance), std::string::npos);
}

struct Wording {
    ReplyMessage message;
    const char* text;
    bool notice;
};
void expect_wording(const std::vector<Wording>& cases) {
    for (const auto& c : cases) {
        EXPECT_EQ(c.message.text, c.text);
        EXPECT_EQ(c.message.notice, c.notice) << c.text;
    }
}

TEST(Messages, WordingOfRefusals) {
    expect_wording({
        {m::too_recent(7), "Not sending work. Last request too recent. Please wait 7 seconds.", false},
        {m::client_too_old(), "_(\"Your BOINC client software is too old.  Please install the current version.\")",
         true},
        {m::os_not_supported("A", "B"), "_(\"This project doesn't support operating system\") A B", true},
        {m::cpu_not_supported("A", "B"), "_(\"This project doesn't support CPU type\") A B", true},
        {m::missing_cpu_type(), "Missing CPU type in request", true},
        {m::missing_os_name(), "Missing OS name in request", true},
        {m::upgrade_announced(5 * 86400 + 3 * 3600, 80200, 72005),
         "In 5 days and 3 hours, this project will require a minimum BOINC version of 8.2.0.  You are currently using "
         "version 7.20.5; please upgrade before this time.",
         false},
        {m::upgrade_announced(3 * 86400 - 1, 80200, 72005),
         "In 2 days and 23 hours, this project will require a minimum BOINC version of 8.2.0.  You are currently using "
         "version 7.20.5; please upgrade before this time.",
         true},
        {m::unknown_app_in_app_info("<a>"), "Unknown app name ?a? in app_info.xml", true},
        {m::syntax_error_in_app_info(), "Syntax error in app_info.xml", true},
    });
}

TEST(Messages, WordingOfExplanations) {
    expect_wording({
        {m::no_tasks_for_app("Upcase"), "No tasks are available for Upcase", false},
        {m::no_tasks_for_selected_apps(), "_(\"No tasks are available for the applications you have selected.\")",
         false},
        {m::wont_finish_in_time(72005, 0.5, 0.25),
         "Tasks won't finish in time: BOINC runs 50.0% of the time; computation is enabled 25.0% of that", false},
        {m::wont_finish_in_time(41900, 0.5, 0.25), "Tasks won't finish in time: Computer available 50.0% of the time",
         false},
        {m::committed_to_other_platforms(), "Tasks are committed to other platforms", false},
        {m::computer_type_not_supported(), "_(\"Your computer type is not supported by this project\")", true},
        {m::resource_refused_by_prefs(ProcType::kAmd),
         "_(\"Tasks for AMD/ATI GPU are available, but your preferences are set to not accept them\")", false},
        {m::daily_quota_finished(5), "This computer has finished a daily quota of 5 tasks", false},
        {m::daily_limit_reached(5), "Daily job limit (5) has been reached", true},
        {m::in_progress_limit(), "This computer has reached a limit on tasks in progress", false},
        {m::needs_bandwidth("Upcase", 10240, 1024),
         "Upcase requires 10.00 KB/sec download bandwidth.  Your computer has been measured at 1.00 KB/sec.", true},
        {m::no_usable_anonymous_version("Upcase"),
         "_(\"Your app_info.xml file doesn't have a usable version of\") Upcase.", true},
        {m::gpu_required({ProcType::kNvidia, ProcType::kAppleGpu}),
         "_(\"An NVIDIA GPU or Apple GPU is required to run tasks for this project\")", true},
        {m::gpu_needs_ram(256, 512, "RTX"),
         "A minimum of 256 MB (preferably 512 MB) of video RAM is needed to process tasks using your computer's RTX",
         false},
        {m::gpu_needs_driver("RTX"),
         "RTX: _(\"Upgrade to the latest driver to process tasks using your computer's GPU\")", true},
        {m::gpu_driver_for_all_apps("RTX"),
         "RTX: _(\"Upgrade to the latest driver to use all of this project's GPU applications\")", false},
        {m::newer_client_for_nvidia(),
         "_(\"A newer version of BOINC is needed to use your NVIDIA GPU; please upgrade to the current version\")",
         true},
        {m::not_resent_expired("r\n_0"), "Didn't resend lost task r?_0 (expired)", false},
        {m::another_instance(), "Another scheduler instance is running for this host", false},
        {m::host_is_banned(), "Not accepting requests from this host", false},
        {m::cant_find_host(), "Can't find host record", false},
        {m::cant_open_database(), "Server can't open database", false},
        {m::no_work_available(), "No work available", false},
        {m::ruled_out_by_keywords(), "Some jobs are ruled out by your science/location preferences", true},
        {m::feasibility("VirtualBox is not installed"), "VirtualBox is not installed", true},
    });
}

TEST(Messages, ClientsWordsStayHarmless) {
    EXPECT_EQ(m::platform_not_supported("</message><x>").text.find('<'), std::string::npos);
    EXPECT_LT(m::resent(std::string(100000, 'r')).text.size(), 300u);
}

}  // namespace
}  // namespace sluice::test
