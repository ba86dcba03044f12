// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>

#include "sched/rpc/prefs.h"
#include "tests/support/captures.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1795227000;

const char kAccount[] =
    "<global_preferences>\n<source_project>x</source_project>\n<mod_time>1790000000</mod_time>\n"
    "<work_buf_min_days>0.2</work_buf_min_days>\n<max_ncpus_pct>50</max_ncpus_pct>\n"
    "<venue name=\"home\">\n<work_buf_min_days>0.3</work_buf_min_days>\n<disk_max_used_gb>7</disk_max_used_gb>\n</venue>\n"
    "<venue name=\"work\">\n<max_ncpus_pct>25</max_ncpus_pct>\n</venue>\n</global_preferences>";

TEST(GlobalPrefs, EveryField) {
    const GlobalPrefs p = parse_global_prefs(
        "<mod_time>5</mod_time><disk_max_used_gb>10</disk_max_used_gb><disk_max_used_pct>50</disk_max_used_pct>"
        "<disk_min_free_gb>0.1</disk_min_free_gb><work_buf_min_days>0.25</work_buf_min_days>"
        "<ram_max_used_busy_pct>50</ram_max_used_busy_pct><ram_max_used_idle_pct>90</ram_max_used_idle_pct>"
        "<max_ncpus_pct>75</max_ncpus_pct>",
        "", kNow);
    EXPECT_EQ(p.mod_time, 5);
    EXPECT_EQ(p.disk_max_used_gb, 10);
    EXPECT_EQ(p.disk_max_used_pct, 50);
    EXPECT_EQ(p.disk_min_free_gb, 0.1);
    EXPECT_EQ(p.work_buf_min_days, 0.25);
    EXPECT_EQ(p.ram_max_used_busy_frac, 0.5);
    EXPECT_EQ(p.ram_max_used_idle_frac, 0.9);
    EXPECT_EQ(p.max_ncpus_pct, 75);
}

TEST(GlobalPrefs, Venues) {
    const auto with = [](const char* venue) { return parse_global_prefs(kAccount, venue, kNow); };
    EXPECT_EQ(with("").work_buf_min_days, 0.2);
    EXPECT_EQ(with("").disk_max_used_gb, 0) << "of a venue only";
    EXPECT_EQ(with("home").work_buf_min_days, 0.3);
    EXPECT_EQ(with("home").max_ncpus_pct, 0) << "a venue replaces the rest as a whole";
    EXPECT_EQ(with("home").mod_time, 1790000000) << "but mod_time stands outside";
    EXPECT_EQ(with("work").max_ncpus_pct, 25);
    EXPECT_EQ(with("school").work_buf_min_days, 0.2) << "unknown venue: the text without venues";
}

TEST(GlobalPrefs, OddValues) {
    const auto pct = [](const std::string& text) {
        return parse_global_prefs("<max_ncpus_pct>" + text + "</max_ncpus_pct>", "", kNow).max_ncpus_pct;
    };
    EXPECT_EQ(pct("nan"), 0);
    EXPECT_EQ(pct("inf"), 0);
    EXPECT_EQ(pct("1e400"), 0);
    EXPECT_EQ(pct("1e300"), 0);
    EXPECT_EQ(pct(""), 0);
    EXPECT_EQ(pct(" 50\n"), 50);
    EXPECT_EQ(parse_global_prefs("<mod_time>9e12</mod_time>", "", kNow).mod_time, kNow) << "never in the future";
    EXPECT_EQ(parse_global_prefs("<mod_time>-5</mod_time>", "", kNow).mod_time, 0);
    EXPECT_EQ(parse_global_prefs("", "", kNow).mod_time, 0);
    EXPECT_EQ(parse_global_prefs("<venue name=\"a\">", "a", kNow).mod_time, 0);
    EXPECT_EQ(venue_part("a<venue name=\"x\">b</venue>c<venue name=\"y\">d", "z"), "ac<venue name=\"y\">d");
    EXPECT_EQ(venue_part("<venue name=\"x\">b</venue>", "x"), "b");
}

TEST(GlobalPrefs, OfARealRequest) {
    const auto request = parse_request(capture("01_client_attach_first_contact.request"), {}).request;
    ASSERT_TRUE(request);
    const GlobalPrefs p = parse_global_prefs(request->working_global_prefs, "", kNow);
    EXPECT_EQ(p.disk_min_free_gb, 0.1);
    EXPECT_EQ(p.disk_max_used_pct, 90);
    EXPECT_EQ(p.ram_max_used_busy_frac, 0.5);
    EXPECT_EQ(p.max_ncpus_pct, 100);
}

std::string prefs_of(int mod_time, int pct) {
    return "<global_preferences><mod_time>" + std::to_string(mod_time) + "</mod_time><max_ncpus_pct>" +
           std::to_string(pct) + "</max_ncpus_pct></global_preferences>";
}

TEST(DecidePrefs, WhichSchedule) {
    const struct {
        int working, master, account;  // mod_times; -1: not there. max_ncpus_pct: 1, 2, 3
        double expected;
    } cases[] = {
        {-1, -1, -1, 0}, {5, -1, -1, 1}, {5, 9, 9, 1},  {0, -1, 9, 1}, {-1, 5, -1, 2},
        {-1, -1, 5, 3},  {-1, 5, 4, 2},  {-1, 5, 5, 2}, {-1, 5, 6, 3},
    };
    for (const auto& c : cases) {
        const std::string w = c.working < 0 ? "" : prefs_of(c.working, 1),
                          m = c.master < 0 ? "" : prefs_of(c.master, 2),
                          a = c.account < 0 ? "" : prefs_of(c.account, 3);
        EXPECT_EQ(decide_prefs({w, m, a, "", false, false}, kNow).effective.max_ncpus_pct, c.expected)
            << c.working << " " << c.master << " " << c.account;
    }
}

TEST(DecidePrefs, WhatIsStored) {
    const std::string newer = prefs_of(9, 1), older = prefs_of(5, 2);
    EXPECT_TRUE(decide_prefs({"", newer, older, "", false, true}, kNow).store_in_account);
    EXPECT_TRUE(decide_prefs({"", newer, "", "", false, true}, kNow).store_in_account);
    EXPECT_FALSE(decide_prefs({"", newer, older, "", true, true}, kNow).store_in_account) << "weak key";
    EXPECT_FALSE(decide_prefs({"", newer, older, "", false, false}, kNow).store_in_account) << "another account's";
    EXPECT_FALSE(decide_prefs({"", older, newer, "", false, true}, kNow).store_in_account);
    EXPECT_FALSE(decide_prefs({"", newer, newer, "", false, true}, kNow).store_in_account);
    EXPECT_FALSE(decide_prefs({"", "", older, "", false, true}, kNow).store_in_account);
}

TEST(DecidePrefs, WhatIsSent) {
    const std::string newer = prefs_of(9, 1), older = prefs_of(5, 2);
    EXPECT_TRUE(decide_prefs({"", "", older, "", false, false}, kNow).send_to_client);
    EXPECT_TRUE(decide_prefs({older, older, newer, "", false, false}, kNow).send_to_client);
    EXPECT_FALSE(decide_prefs({newer, "", older, "", false, false}, kNow).send_to_client);
    EXPECT_FALSE(decide_prefs({older, newer, older, "", false, false}, kNow).send_to_client);
    EXPECT_FALSE(decide_prefs({older, "", older, "", false, false}, kNow).send_to_client) << "equal";
    EXPECT_FALSE(decide_prefs({"", "", "", "", false, false}, kNow).send_to_client);
}

TEST(ProjectPrefs, EveryField) {
    const ProjectPrefs p = parse_project_prefs(
        "<project_preferences><project_specific><app_id>1</app_id><app_id>4</app_id><app_id>1</app_id><app_id>x</app_id>"
        "</project_specific><allow_non_preferred_apps>1</allow_non_preferred_apps><allow_beta_work/>"
        "<no_cpu>1</no_cpu><no_ati>0</no_ati><no_apple_gpu>1</no_apple_gpu><max_jobs>3</max_jobs><max_cpus>2</max_cpus>"
        "</project_preferences>",
        "");
    EXPECT_EQ(p.selected_apps, (std::vector<Id>{1, 4}));
    EXPECT_TRUE(p.allow_non_preferred_apps && p.allow_beta_work);
    EXPECT_EQ(p.dont_use, (std::array<bool, kProcTypes>{true, false, false, false, true}));
    EXPECT_EQ(p.max_jobs, 3);
    EXPECT_EQ(p.max_cpus, 2);
}

TEST(ProjectPrefs, VenuesAndDefaults) {
    const std::string xml =
        "<project_preferences><allow_beta_work>1</allow_beta_work><no_cuda>1</no_cuda>"
        "<venue name=\"home\"><allow_beta_work>0</allow_beta_work><app_id>9</app_id></venue></project_preferences>";
    EXPECT_TRUE(parse_project_prefs(xml, "").allow_beta_work);
    EXPECT_TRUE(parse_project_prefs(xml, "").selected_apps.empty());
    EXPECT_FALSE(parse_project_prefs(xml, "home").allow_beta_work);
    EXPECT_FALSE(parse_project_prefs(xml, "home").dont_use[1]);
    EXPECT_EQ(parse_project_prefs(xml, "home").selected_apps, std::vector<Id>{9});
    const ProjectPrefs empty = parse_project_prefs("", "");
    EXPECT_TRUE(empty.selected_apps.empty() && !empty.allow_beta_work && empty.max_jobs == 0);
}

TEST(ProjectPrefs, NoGpusMeansEveryGpuButDetailsWin) {
    EXPECT_EQ(parse_project_prefs("<no_gpus>1</no_gpus>", "").dont_use,
              (std::array<bool, kProcTypes>{false, true, true, true, true}));
    EXPECT_EQ(parse_project_prefs("<no_gpus>1</no_gpus><no_cuda>0</no_cuda>", "").dont_use,
              (std::array<bool, kProcTypes>{false, false, true, true, true}));
    EXPECT_EQ(parse_project_prefs("<max_jobs>-4</max_jobs>", "").max_jobs, 0);
    EXPECT_EQ(parse_project_prefs("<max_jobs>1e99</max_jobs>", "").max_jobs, 2147483647);
}

}  // namespace
}  // namespace sluice::test
