// SPDX-License-Identifier: LGPL-3.0-or-later
// Every captured request goes through the whole pipeline, on the fakes and on a MariaDB; our reply must be upstream's,
// byte by byte, but for the differences listed here with their reasons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/text.h"
#include "tests/db/captures/captured_project.h"
#include "tests/support/captures.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

struct Difference {
    const char* why;
    std::function<void(std::string& reply)> apply;  ///< upstream's reply -> what ours is to be
};

struct Capture {
    const char* name;
    std::function<void(CapturedProject&)> state = {};  ///< what the reply alone does not tell of the database
    std::vector<Difference> accepted = {};
};

void PrintTo(const Capture& c, std::ostream* out) { *out << c.name; }

void replace(std::string& text, const std::string& from, const std::string& to) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    replace_all(text, from, to);
}

auto more_jobs(int n, Id app = 1) {
    return [=](CapturedProject& p) { p.add_more_jobs(n, app); };
}

/// Both apps have work that is too big for the host.
void jobs_of_both_apps(CapturedProject& p) {
    p.add_more_jobs(3, 1);
    p.add_more_jobs(3, 2);
}

const Difference kGpuOnlyRequestsAreExplained{
    "upstream says why nothing was sent only to requests with work_req_seconds, so GPU-only requests get no word",
    [](std::string& reply) {
        replace(reply, "<project_name>",
                "<message priority=\"low\">No tasks sent</message>\n"
                "<message priority=\"low\">No tasks are available for Upcase</message>\n<project_name>");
    }};

const Difference kAppsInOrder{"shortages are told by app, not from the random slot on at which the search began",
                              [](std::string& reply) {
                                  const auto gpu = reply.find("<message priority=\"notice\">GPU app needs ");
                                  ASSERT_NE(gpu, std::string::npos);
                                  const auto next = reply.find('\n', gpu) + 1;
                                  ASSERT_EQ(reply.compare(next, 40, "<message priority=\"notice\">Upcase needs "), 0);
                                  const std::string line = reply.substr(gpu, next - gpu);
                                  reply.insert(reply.find('\n', next) + 1, line);
                                  reply.erase(gpu, line.size());
                              }};

const Capture kCaptures[] = {
    {"01_client_attach_first_contact", more_jobs(3)},
    {"02_client_report_1_result_nomorework.1"},
    {"02_client_report_1_result_nomorework.2"},
    {"02_client_report_1_result_nomorework.3"},
    {"03_client_work_request_no_work"},
    {"04_client_work_request_1job_fail"},
    {"05_client_report_compute_error"},
    {"06_client_work_request_2long"},
    {"07_client_update_jobs_in_progress_trickle_up_and_down"},
    {"08_client_update_server_abort",
     [](CapturedProject& p) {
         for (auto& [id, r] : p.world.db.results)
             if (r.name == "long_1795226913546255820_1_0") p.world.db.workunits[r.workunitid].error_mask = kWuCancelled;
     }},
    {"09_client_report_aborted"},
    {"10_client_work_request_2jobs_before_loss"},
    {"11_client_resend_lost_results"},
    {"11a_client_restart_auto", [](CapturedProject& p) { p.world.clock.set(static_cast<double>(p.now + 30)); }},
    {"13a_client_plain_update_nothing_to_do"},
    {"15_client_reattach_same_host"},
    {"16_client_wrong_authenticator"},
    {"20_linux_nvidia_gpu_work"},
    {"21_linux_cpu_and_nvidia_work", more_jobs(3)},
    {"24_mac_m1_cpu_and_apple_gpu_work",
     [](CapturedProject& p) {
         p.add_more_jobs(3, 2);
         p.add_more_jobs(3, 1);
     }},
    {"24b_linux_cpu_mt_and_nvidia_cpu_req", more_jobs(3)},
    {"25_android_arm64_cpu_work", more_jobs(3)},
    {"27_windows_cpu_work", more_jobs(3)},
    {"28_old_client_5_10", more_jobs(3)},
    {"29_wrong_platform", more_jobs(3)},
    {"30_linux_cpu_3jobs"},
    {"32_resend_lost"},
    {"36_empty_request"},
    {"37_get_request_browser"},
    {"38_garbage"},
    {"39_truncated"},
    {"40_wrong_auth_with_hostid"},
    {"42_weak_auth"},
    {"43_trickle_up"},
    {"44_anonymous_platform", more_jobs(3)},
    {"46_daily_quota_exceeded"},
    {"46a_one_job", more_jobs(3, 2)},
    {"47_prefs_from_server"},
    {"49_app_not_selected", more_jobs(3, 2), {kGpuOnlyRequestsAreExplained}},
    {"50_disk_too_small", jobs_of_both_apps},
    {"51_mem_too_small", jobs_of_both_apps, {kAppsInOrder}},
    {"53_nci_or_dont_send_work", more_jobs(3)},
};

/// Pairs that are not answered by the pipeline, and requests without a reply of upstream's.
const char* const kElsewhere[] = {"12_client_stop_sched",  // before the pipeline: cgi_test, Missing.ServiceByIntention
                                  "70_before_tight_job",   // 70-77 are answered by a stand-in for a server; their
                                                           // requests: rpc_request_test, match_test
                                  "71_one_edf_job", "72_two_edf_jobs_full_workload", "73_four_edf_jobs_2cpus",
                                  "74_report_unstarted_late", "75_report_unstarted_late_after_restart",
                                  "76_report_unstarted_late_suspended", "77_other_project_while_edf"};

TEST(Captures, EveryOneIsHereOrAccountedFor) {
    std::vector<std::string> named;
    for (const Capture& c : kCaptures) named.push_back(std::string(c.name) + ".request");
    for (const char* name : kElsewhere) named.push_back(std::string(name) + ".request");
    std::ranges::sort(named);
    EXPECT_EQ(capture_names("request"), named);
}

class Captured : public ::testing::TestWithParam<Capture> {
  protected:
    void compare(Database* db) {
        const Capture& c = GetParam();
        CapturedProject project(c.name);
        if (c.state) c.state(project);
        std::string expected = project.reply;
        for (const Difference& d : c.accepted) d.apply(expected);
        EXPECT_EQ(project.answer(db), expected);
    }
};
TEST_P(Captured, OnFakes) { compare(nullptr); }
TEST_P(Captured, OnMariaDb) {
    static Database db(PrivateMariaDb::shared().create_project_database("captures"));
    compare(&db);
}
INSTANTIATE_TEST_SUITE_P(All, Captured, ::testing::ValuesIn(kCaptures), [](const auto& tested) {
    std::string name = tested.param.name;
    std::ranges::replace(name, '.', '_');
    return name;
});

}  // namespace
}  // namespace sluice::test
