// SPDX-License-Identifier: LGPL-3.0-or-later
// Which side a host goes to, and what the front writes down of a reply.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "sched/canary/choice.h"
#include "sched/canary/counts.h"
#include "sched/canary/figures.h"
#include "sched/canary/served_request.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

TEST(CanaryChoice, AHostIsKnownByWhatStays) {
    const std::string info = "<host_info><host_cpid>abc</host_cpid></host_info>";
    EXPECT_EQ(host_key("<authenticator>k</authenticator>\n<hostid> 17 </hostid>\n" + info), "host 17");
    EXPECT_EQ(host_key("<authenticator>k</authenticator>\n<hostid>0</hostid>\n" + info), "host_cpid abc");
    EXPECT_EQ(host_key("<authenticator>\n k \n</authenticator>\n<hostid>x"), "authenticator k");
    for (const char* nothing : {"", "<hostid>", "<hostid>-3</hostid>", "<host_cpid></host_cpid>", "GET /"})
        EXPECT_EQ(host_key(nothing), "") << nothing;
    EXPECT_LE(host_key("<host_cpid>" + std::string(100000, 'x')).size(), 300u);
}

TEST(CanaryChoice, ALargerShareOnlyAddsHosts) {
    int at_ten = 0, at_fifty = 0;
    for (int id = 1; id <= 10000; ++id) {
        const std::string key = "host " + std::to_string(id);
        EXPECT_TRUE(goes_to_sluice(key, kAllHosts));
        EXPECT_FALSE(goes_to_sluice(key, 0));
        const bool ten = goes_to_sluice(key, 1000), fifty = goes_to_sluice(key, 5000);
        EXPECT_TRUE(!ten || fifty) << id;
        at_ten += ten ? 1 : 0, at_fifty += fifty ? 1 : 0;
    }
    EXPECT_NEAR(at_ten, 1000, 120);  // four standard deviations
    EXPECT_NEAR(at_fifty, 5000, 200);
    EXPECT_FALSE(goes_to_sluice("", kAllHosts)) << "who names nothing stays";
}

TEST(CanaryChoice, SettingsThatAreNotOursGiveSluiceNothing) {
    EXPECT_EQ(canary_share(canary_settings(1250)), 1250);
    EXPECT_EQ(canary_share("hundredths_of_a_percent 99999999\n"), kAllHosts);
    for (const char* text : {"", "1250", "hundredths_of_a_percent ", "hundredths_of_a_percent -1", "\xff\xfe"})
        EXPECT_EQ(canary_share(text), 0) << text;
}

TEST(CanaryChoice, WhoAsksForWork) {
    EXPECT_TRUE(asks_for_work("<work_req_seconds>1e4</work_req_seconds>"));
    EXPECT_TRUE(asks_for_work("<work_req_seconds>0</work_req_seconds><cpu_req_secs>5</cpu_req_secs>"));
    EXPECT_FALSE(asks_for_work("<work_req_seconds>0.000000</work_req_seconds>"));
    EXPECT_FALSE(asks_for_work(""));
}

TEST(ServedRequests, AreJudgedByTheReply) {
    const std::string head = "Content-type: text/xml\n\n<scheduler_reply>\n", end = "</scheduler_reply>\n";
    const ServedRequest sent = judge_reply(head + "<result>\n</result>\n<result>\n</result>" + end, true, true);
    EXPECT_EQ(sent.how, ServedHow::kSent);
    EXPECT_EQ(sent.jobs, 2);
    const std::string no = "<message priority=\"low\">No tasks\nsent</message><message priority=\"high\">Two</message>";
    const ServedRequest refused = judge_reply(head + no + end, true, true);
    EXPECT_EQ(refused.how, ServedHow::kRefused);
    EXPECT_EQ(refused.messages, "No tasks sent|Two");
    EXPECT_EQ(judge_reply(head + no + end, false, true).how, ServedHow::kIdle);
    EXPECT_EQ(judge_reply(head + "<project_is_down/>" + end, false, true).how, ServedHow::kDown);
    EXPECT_EQ(judge_reply(head, true, true).how, ServedHow::kFailed) << "cut off";
    EXPECT_EQ(judge_reply(head + end, true, false).how, ServedHow::kFailed);
    EXPECT_EQ(judge_reply("", true, true).how, ServedHow::kFailed);
    EXPECT_LT(
        judge_reply(head + "<message>" + std::string(1 << 20, 'x') + "</message>" + end, true, true).messages.size(),
        1000u);
}

TEST(CanaryCounts, StepsOfTimeAreNarrow) {
    EXPECT_EQ(time_step(-5), 0u);
    EXPECT_EQ(time_step(std::numeric_limits<std::int64_t>::max()), kTimeSteps - 1);
    std::size_t before = 0;
    for (std::int64_t us = 1; us < 60'000'000'000; us += us / 7 + 1) {
        const std::size_t step = time_step(us);
        EXPECT_GE(step, before);
        before = step;
        EXPECT_NEAR(time_of_step(step), static_cast<double>(us), .0313 * static_cast<double>(us) + .5) << us;
    }
    EXPECT_LT(before, kTimeSteps - 1);
}

TEST(CanaryCounts, OneFileAnHourOfOneSize) {
    const test::TempDir folder;
    const std::string path = folder.path().string();
    constexpr std::int64_t kHour = 500000, kEach = 500;
    constexpr int kProcesses = 4;
    std::ofstream(folder / counts_file(kHour - kCountedHours - 3)) << "old";
    for (int i = 0; i < kProcesses; ++i)
        if (::fork() == 0) {
            for (int n = 0; n < kEach; ++n) {
                const std::string text =
                    n % 2 == 0 ? "No tasks for host " + std::to_string(n) : std::string(n / 2, 'x');
                count_in_file(path, kHour, {n % 2 == 0, ServedHow::kRefused, 0, n, text});
            }
            ::_exit(0);
        }
    for (int i = 0; i < kProcesses; ++i) ::wait(nullptr);
    EXPECT_FALSE(std::filesystem::exists(folder / counts_file(kHour - kCountedHours - 3)));
    EXPECT_EQ(std::filesystem::file_size(folder / counts_file(kHour)), sizeof(HourCounts));
    EXPECT_LT(sizeof(HourCounts), 80000u);
    const auto found = read_figures(folder.path(), kHour, 1);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].ours.refused, kProcesses * kEach / 2) << "no count is lost";
    EXPECT_EQ(found[0].ours.reasons.size(), 1u) << "numbers make no other reason";
    EXPECT_EQ(found[0].theirs.refused, kProcesses * kEach / 2);
    EXPECT_LE(found[0].theirs.reasons.size(), kCountedReasons + 1);
    EXPECT_GT(found[0].theirs.reasons.at("other"), 0);
    EXPECT_NEAR(found[0].ours.milliseconds(.5), .249, .01);
    EXPECT_NEAR(found[0].ours.most_milliseconds, .498, .0001);
}

/// The web server's account may put anything there: it falsifies figures, and nothing else.
TEST(CanaryCounts, WhatIsNoFileOfCountsStays) {
    const test::TempDir folder;
    const std::string path = folder.path().string();
    const ServedRequest served{true, ServedHow::kSent, 1, 10, ""};
    const auto secret = folder.write("secret", std::string(sizeof(HourCounts), 's'));
    const auto file = [&](std::int64_t hour) { return folder / counts_file(hour); };
    std::filesystem::create_symlink(secret, file(1));
    std::filesystem::create_hard_link(secret, file(2));
    ASSERT_EQ(::mkfifo(file(3).c_str(), 0600), 0);
    std::filesystem::create_directory(file(4));
    std::ofstream(file(5)) << std::string(sizeof(HourCounts) + 1, 'x');
    for (std::int64_t hour = 1; hour <= 5; ++hour) EXPECT_FALSE(count_in_file(path, hour, served)) << hour;
    std::ifstream in(secret);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), std::string(sizeof(HourCounts), 's'));
    std::ofstream(file(6)) << "short";
    EXPECT_TRUE(count_in_file(path, 6, served));
    std::ofstream(file(7)) << std::string(sizeof(HourCounts), '\xff');
    EXPECT_TRUE(count_in_file(path, 7, served));
    for (const HourFigures& figures : read_figures(folder.path(), 7, 7)) {
        EXPECT_GE(figures.ours.requests, 0);
        EXPECT_FALSE(figures_text({figures}).empty());
    }
}

/// The program itself, in front of scripts.
class CanaryFront : public testing::Test {
  protected:
    CanaryFront() {
        for (const char* folder : {"cgi-bin", "sluice-canary/figures"})
            std::filesystem::create_directories(project_ / folder);
        project_.write("config.xml", "<boinc/>");
        project_.write("sluice-canary/settings", canary_settings(0));
        std::filesystem::copy_file(test::binary_dir() + "/bin/canary_front", project_ / "cgi-bin/cgi");
    }
    void scheduler(const std::string& text) {
        const auto file = project_.write("sluice-canary/theirs", "#!/bin/sh\n" + text);
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    /// `request`: a command that prints it.
    test::RunResult ask(const std::string& request, const std::string& length) {
        test::RunOptions options;
        options.cwd = project_ / "cgi-bin";
        options.env["REQUEST_METHOD"] = "POST";
        if (!length.empty()) options.env["CONTENT_LENGTH"] = length;
        return test::run({"/bin/sh", "-c", "(" + request + ") | ./cgi"}, options);
    }
    const test::TempDir project_;
};

constexpr const char* kLong = "yes '<hostid>7</hostid>' | head -c 5000000";

TEST_F(CanaryFront, EachRequestComesWholeAndWithItsLength) {
    scheduler("echo \"[$CONTENT_LENGTH] $(cksum)\"\n");
    const std::string sum = test::run({"/bin/sh", "-c", std::string(kLong) + " | cksum"}, {}).out;
    EXPECT_EQ(ask(kLong, "5000000").out, "[5000000] " + sum);
    EXPECT_EQ(ask(kLong, "").out, "[] " + sum) << "in chunks: until its end";
    const std::string little = test::run({"/bin/sh", "-c", "echo hello | cksum"}, {}).out;
    EXPECT_EQ(ask("echo hello", "").out, "[6] " + little) << "in chunks: its length is known";
    EXPECT_EQ(ask("echo hello", "6").out, "[6] " + little);
    EXPECT_EQ(ask("echo hello", "600").out, "[600] " + little) << "it broke off: the scheduler sees that";
}

/// Of what comes behind its beginning nothing is waited for.
TEST_F(CanaryFront, ALongRequestFlows) {
    scheduler("head -c 1000 > /dev/null; touch ../sluice-canary/begun; echo $(($(wc -c) + 1000))\n");
    const std::string late =
        "head -c 400000 /dev/zero; while [ ! -e ../sluice-canary/begun ]; do sleep .05; done; "
        "head -c 600000 /dev/zero";
    EXPECT_EQ(ask(late, "1000000").out, "1000000\n");
}

TEST_F(CanaryFront, ASchedulerNeedNotReadAll) {
    scheduler("echo no\n");
    EXPECT_EQ(ask(kLong, "5000000").out, "no\n");
    EXPECT_EQ(ask("head -c 400000 /dev/zero; exec sleep 0", "5000000").out, "no\n");
}

}  // namespace
}  // namespace sluice
