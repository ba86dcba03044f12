// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice shadow and what-if, the real program, on requests that a scheduler has answered: what is the same is said to
// be the same, what was changed is found, and an account that may only SELECT is enough.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "sched/shadow/known_differences.h"
#include "sched/shadow/their_reply.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/accounts.h"
#include "tests/support/paths.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Six hosts that have asked for work, and what they got.
class Shadow : public testing::Test {
  protected:
    explicit Shadow(const std::string& options = "") : project_(PrivateMariaDb::shared(), "shadow", options) {
        fs::create_directories(recorded());
        fs::permissions(recorded(), fs::perms(0777));
        project_.set_options(options + "<debug_req_reply_dir>" + recorded().string() + "</debug_req_reply_dir>");
        project_.store();
        project_.add_unsent_jobs(40);
    }
    ~Shadow() override {
        if (reader_) project_.db().execute(Sql("DROP USER 'reader'@'localhost'"));
    }
    fs::path recorded() const { return project_.folder() / "recorded"; }

    void hosts_ask(int n) {
        project_.start_feeder();
        for (int i = 1; i <= n; ++i) ask(i, 2000.0 * i);
    }
    void ask(int host, double seconds, const std::string& inside = "") {
        const RunResult r = project_.rpc(work_request(0, 1, seconds, inside, 1, fmt::format("host{}", host)));
        ASSERT_THAT(r.out, HasSubstr("</scheduler_reply>")) << r.err;
    }
    /// From now on config.xml names an account that can change nothing.
    void read_only() {
        project_.db().execute(Sql("CREATE OR REPLACE USER 'reader'@'localhost' IDENTIFIED BY 'reader_passwd'"));
        project_.db().execute(Sql("GRANT SELECT ON shadow.* TO 'reader'@'localhost'"));
        reader_ = true;
        std::string config = *read_file(project_.folder() / "config.xml");
        const auto put = [&](const std::string& tag, const std::string& value) {
            const auto at = config.find("<" + tag + ">") + tag.size() + 2;
            config.replace(at, config.find("</" + tag + ">") - at, value);
        };
        put("db_user", "reader"), put("db_passwd", "reader_passwd");
        write_file_atomically(project_.folder() / "config.xml", config);
    }
    RunResult sluice_command(std::vector<std::string> args) { return project_.run_program("sluice", args); }
    json shadow(std::vector<std::string> args = {}, int status = 0) {
        args.insert(args.begin(), {"shadow", project_.folder().string()});
        args.push_back("--json");
        const RunResult r = sluice_command(args);
        EXPECT_EQ(r.status, status) << r.err << r.out;
        return json::parse(r.out, nullptr, false);
    }
    json shadow_of_kept(const fs::path& folder) { return shadow({"--requests", folder.string()}, 0); }
    std::vector<fs::path> replies() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(recorded()))
            if (entry.path().filename().string().ends_with("sched_reply.xml")) files.push_back(entry.path());
        std::sort(files.begin(), files.end());
        return files;
    }

    TestProject project_;
    bool reader_ = false;
};

TEST_F(Shadow, AgreesWithItselfAndWritesNothing) {
    hosts_ask(6);
    project_.stop_daemons();
    read_only();
    const std::int64_t before = project_.count(Sql("SELECT SUM(server_state*id) FROM result"));
    const json j = shadow();
    EXPECT_EQ(j["requests"]["compared"], 6) << j.dump(1);
    EXPECT_EQ(j["requests"]["same"], 6) << j.dump(1);
    EXPECT_GT(j["theirs"]["jobs"], 6);
    EXPECT_EQ(j["theirs"]["by_app"], j["ours"]["by_app"]);
    EXPECT_THAT(j["jobs_from"], HasSubstr("the database"));
    EXPECT_EQ(project_.count(Sql("SELECT SUM(server_state*id) FROM result")), before);
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM host")), 6);
}

TEST_F(Shadow, JobsOfTheArrayAreThereToo) {
    hosts_ask(4);
    const json j = shadow();
    EXPECT_EQ(j["requests"]["same"], 4) << j.dump(1);
    EXPECT_THAT(j["jobs_from"], HasSubstr("the job array of Sluice's feeder"));
}

TEST_F(Shadow, DifferencesAreGroupedByPairOfReasons) {
    hosts_ask(4);
    project_.stop_daemons();
    // As if the other scheduler had refused two hosts for their memory.
    for (std::size_t i : {0u, 1u})
        write_file_atomically(
            replies().at(i),
            "<scheduler_reply>\n<message priority=\"notice\">Upcase needs 9.00 MB RAM but only 1.00 MB "
            "is available for use.</message>\n</scheduler_reply>\n");
    const json j = shadow({"--html", (project_.folder() / "upload" / "page.html").string()}, 1);
    ASSERT_EQ(j["differences"].size(), 1u) << j.dump(1);
    const json& group = j["differences"][0];
    EXPECT_EQ(group["theirs"], "memory");
    EXPECT_EQ(group["ours"], "sent");
    EXPECT_EQ(group["count"], 2);
    EXPECT_EQ(group["compat_row"], nullptr) << "not explained";
    EXPECT_EQ(group["examples"].size(), 2u);
    EXPECT_THAT(group["examples"][0]["theirs"]["said"], HasSubstr("Upcase needs"));
    const std::string page = read_file(project_.folder() / "upload" / "page.html").value_or("");
    EXPECT_THAT(page, AllOf(HasSubstr("prefers-color-scheme: dark"), HasSubstr("<svg"), HasSubstr("not explained")));
    EXPECT_EQ(page.find("http"), page.find("http://www.w3.org/2000/svg")) << "it loads nothing";
    const RunResult text = sluice_command({"shadow", project_.folder().string(), "--examples", "1"});
    EXPECT_THAT(text.out, AllOf(HasSubstr("2  memory -> sent"), HasSubstr("not explained")));
}

TEST_F(Shadow, LevelOneSaysWhatHostsWouldGet) {
    project_.db().execute(Sql("UPDATE workunit SET rsc_memory_bound=1e12"));
    hosts_ask(2);
    const json j = shadow({"--level", "1"});
    EXPECT_EQ(j["level"], 1);
    EXPECT_EQ(j["ours"]["empty"]["memory"], 2) << j.dump(1);
}

TEST_F(Shadow, WhatIsNoRequestIsCountedAndNamed) {
    hosts_ask(1);
    write_file_atomically(recorded() / "1_1_sched_request.xml", "<scheduler_req");
    write_file_atomically(recorded() / "1_2_sched_request.xml", work_request(0, 1, 1));
    const json j = shadow();
    EXPECT_EQ(j["requests"]["unreadable"], 1);
    EXPECT_EQ(j["requests"]["without_reply"], 1);
    EXPECT_THAT(j["notes"].dump(), HasSubstr("1_1_sched_request.xml: "));
}

TEST_F(Shadow, AFifoAmongRequestsIsNeverWaitedFor) {
    hosts_ask(1);
    ASSERT_EQ(::mkfifo((recorded() / "1_1_sched_request.xml").c_str(), 0600), 0);
    write_file_atomically(recorded() / "1_2_sched_request.xml", work_request(0, 1, 1));
    ASSERT_EQ(::mkfifo((recorded() / "1_2_sched_reply.xml").c_str(), 0600), 0);
    const json j = shadow();
    EXPECT_EQ(j["requests"]["unreadable"], 2);
    EXPECT_EQ(j["requests"]["same"], 1);
    EXPECT_THAT(j["notes"].dump(), HasSubstr("_sched_request.xml is no regular file"));
}

/// Sluice's own cgi in the other scheduler's place.
class LiveShadow : public Shadow {
  protected:
    LiveShadow() {
        project_.set_options("");
        fs::create_directories(cgi().parent_path());
        fs::create_symlink(fs::path(binary_dir()) / "cgi-bin/cgi", cgi());
        project_.start_feeder();
    }
    fs::path cgi() const { return project_.folder() / "cgi-bin/cgi"; }
    std::string ask_live(int host, const std::string& inside = "") {
        const std::string body = work_request(0, 1, 2000.0 * (1 + host % 3), inside, 1, fmt::format("host{}", host));
        RunOptions options = project_.web_request(body);
        options.stdin_text.clear();
        const fs::path request = project_.folder() / fmt::format("request{}", host);
        write_file_atomically(request, body);
        // Through pipes, as web servers do.
        const RunResult r =
            run({"/bin/sh", "-c", fmt::format("cat {} | {} | cat", request.string(), cgi().string())}, options);
        EXPECT_EQ(elements(r.out, "scheduler_reply").size(), 1u) << r.out << r.err;
        return r.out;
    }
    Subprocess start_shadow(std::vector<std::string> args = {}) {
        std::vector<std::string> all{(fs::path(binary_dir()) / "bin/sluice").string(), "shadow",
                                     project_.folder().string(), "--tee", "--json"};
        all.insert(all.end(), args.begin(), args.end());
        Subprocess shadow(all, project_.run_options());
        EXPECT_TRUE(shadow.wait_for_output("the tee is in place")) << shadow.err();
        return shadow;
    }
    std::vector<std::string> in_cgi_bin() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(cgi().parent_path())) names.push_back(entry.path().filename());
        return names;
    }
};

TEST_F(LiveShadow, DecidesWhatComesAndLeavesNothingBehind) {
    const std::string config = *read_file(project_.folder() / "config.xml");
    read_only();
    Subprocess shadow = start_shadow();
    write_file_atomically(project_.folder() / "config.xml", config);
    EXPECT_FALSE(fs::is_symlink(cgi()));
    EXPECT_THAT(ask_live(1), HasSubstr("<result>"));
    std::vector<std::thread> at_the_same_time;
    for (int host = 2; host <= 8; ++host)
        at_the_same_time.emplace_back([&, host] { EXPECT_THAT(ask_live(host), HasSubstr("<result>")); });
    for (std::thread& t : at_the_same_time) t.join();
    shadow.send_signal(SIGINT);
    const auto r = shadow.wait();
    ASSERT_TRUE(r);
    const json j = json::parse(r->out, nullptr, false);
    EXPECT_EQ(r->status, 0) << r->out << r->err;
    EXPECT_EQ(j["requests"]["compared"], 8) << r->out;
    EXPECT_EQ(j["requests"]["same"], 8) << r->out;
    EXPECT_EQ(j["live"]["at_once"].get<int>() + j["live"]["later"].get<int>(), 8);
    EXPECT_GT(j["live"]["their_process_ms"]["median"], 0);
    EXPECT_GT(j["theirs"]["jobs"], 8);
    EXPECT_THAT(in_cgi_bin(), testing::ElementsAre("cgi"));
    EXPECT_TRUE(fs::is_symlink(cgi()));
}

TEST_F(LiveShadow, DifferencesAreKeptToBeLookedAt) {
    const fs::path kept = project_.folder() / "kept";
    fs::create_directory(kept);
    std::string strict = *read_file(project_.folder() / "config.xml");
    strict.insert(strict.find("</config>"), "<max_wus_to_send>1</max_wus_to_send>");
    write_file_atomically(project_.folder() / "strict.xml", strict);
    Subprocess shadow = start_shadow(
        {"--for", "300s", "--keep", kept.string(), "--config", (project_.folder() / "strict.xml").string()});
    ask_live(4);
    ask_live(5);
    // It decides after the reply: a request and a reply for each of the two.
    EXPECT_TRUE(eventually([&] { return std::distance(fs::directory_iterator(kept), {}) == 4; }));
    shadow.send_signal(SIGTERM);
    const auto r = shadow.wait();
    ASSERT_TRUE(r);
    EXPECT_EQ(r->status, 1) << r->out << r->err;
    const json j = json::parse(r->out, nullptr, false);
    EXPECT_EQ(j["differences"][0]["ours"], "sent_fewer") << r->out;
    EXPECT_EQ(j["differences"][0]["count"], 2);
    const std::string example = j["differences"][0]["examples"][0]["file"];
    EXPECT_THAT(example, HasSubstr(kept.string()));
    EXPECT_EQ(fs::status(example).permissions(), fs::perms(0600));
    const json again = shadow_of_kept(kept);
    EXPECT_EQ(again["requests"]["compared"], 2);
}

TEST_F(LiveShadow, KilledItLeavesTheSchedulerServing) {
    {
        Subprocess shadow = start_shadow();
        ask_live(1);
        shadow.send_signal(SIGKILL);
        shadow.wait();
    }
    EXPECT_THAT(ask_live(2), HasSubstr("<result>"));
    const RunResult adopt = sluice_command({"adopt", project_.folder().string()});
    EXPECT_THAT(adopt.err, HasSubstr("--remove_tee"));
    {
        Subprocess shadow = start_shadow({"--for", "1"});
        const auto r = shadow.wait();
        ASSERT_TRUE(r);
        EXPECT_THAT(r->out, HasSubstr("no request came"));
    }
    EXPECT_THAT(in_cgi_bin(), testing::ElementsAre("cgi"));
    {
        const fs::path pid = fs::canonical(project_.folder()) / ("pid_" + short_host_name());
        fs::create_directories(pid);
        const auto moving = FileLock::try_lock(pid / "sluice_move.lock");
        ASSERT_TRUE(moving);
        EXPECT_THAT(sluice_command({"shadow", project_.folder().string(), "--tee", "--for", "1"}).err,
                    HasSubstr("wait for its end"));
        EXPECT_THAT(in_cgi_bin(), testing::ElementsAre("cgi"));
    }
    EXPECT_THAT(sluice_command({"shadow", project_.folder().string(), "--remove_tee"}).out, HasSubstr("no tee"));
    EXPECT_EQ(sluice_command({"shadow", project_.folder().string(), "--tee", "--for", "1x"}).status, 2);
    EXPECT_EQ(sluice_command({"shadow", project_.folder().string(), "--for", "1h"}).status, 2);
}

TEST_F(Shadow, WithoutRecordedRequestsItSaysWhatToDo) {
    RunResult r = sluice_command({"shadow", project_.folder().string()});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("holds no *sched_request.xml yet"));
    project_.set_options("");
    r = sluice_command({"shadow", project_.folder().string()});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("config.xml names no <debug_req_reply_dir>"));
    EXPECT_EQ(sluice_command({"shadow"}).status, 2);
    EXPECT_EQ(sluice_command({"shadow", "x", "--level", "2"}).status, 2);
}

TEST_F(Shadow, WhatIfComparesTwoConfigurations) {
    hosts_ask(5);
    project_.stop_daemons();
    read_only();
    const auto with = [&](const std::string& name, const std::string& options) {
        std::string text = *read_file(project_.folder() / "config.xml");
        text.insert(text.find("</config>"), options);
        write_file_atomically(project_.folder() / name, text);
        return (project_.folder() / name).string();
    };
    const std::string same = with("same.xml", ""), few = with("few.xml", "<max_wus_to_send>1</max_wus_to_send>");
    const auto what_if = [&](std::vector<std::string> args, int status) {
        args.insert(args.begin(), "what-if");
        args.push_back("--json");
        const RunResult r = sluice_command(args);
        EXPECT_EQ(r.status, status) << r.err << r.out;
        return json::parse(r.out, nullptr, false);
    };
    EXPECT_EQ(what_if({same}, 0)["requests"]["same"], 5);
    const json j = what_if({same, few}, 1);
    EXPECT_GT(j["theirs"]["jobs"], j["ours"]["jobs"]) << j.dump(1);
    EXPECT_EQ(j["ours"]["jobs"], 5);
    EXPECT_EQ(j["differences"][0]["ours"], "sent_fewer");
    EXPECT_EQ(sluice_command({"what-if"}).status, 2);
    EXPECT_EQ(sluice_command({"what-if", "absent.xml"}).status, 2);
}

TEST(KnownDifferences, EachRowStandsInCompat) {
    const std::string compat = *read_file(fs::path(source_dir()) / "docs/compat.md");
    for (const std::string& row : explaining_rows()) EXPECT_THAT(compat, HasSubstr("\n| " + row)) << row;
}

TEST(TheirReply, ReadsRecordedRepliesOfUpstream) {
    const auto reply = [](const std::string& name) {
        return read_their_reply(*read_file(fs::path(source_dir()) / "tests/captures" / (name + ".reply.xml")));
    };
    const TheirReply jobs = reply("30_linux_cpu_3jobs");
    ASSERT_TRUE(jobs.is_reply);
    ASSERT_GE(jobs.jobs.size(), 3u);
    EXPECT_EQ(jobs.jobs[0].app, "up");
    EXPECT_EQ(jobs.hostid, 13);
    EXPECT_EQ(main_reason(told_reasons(reply("51_mem_too_small").messages)), "memory");
    EXPECT_EQ(main_reason(told_reasons(reply("50_disk_too_small").messages)), "disk");
    EXPECT_EQ(main_reason(told_reasons(reply("28_old_client_5_10").messages)), "key_unknown");
    EXPECT_EQ(main_reason(told_reasons(reply("16_client_wrong_authenticator").messages)), "unknown_account");
    EXPECT_EQ(main_reason(told_reasons(reply("12_client_stop_sched").messages)), "stopped");
    EXPECT_EQ(main_reason(told_reasons(reply("29_wrong_platform").messages)), "unknown_platform");
    EXPECT_FALSE(read_their_reply("").is_reply);
    EXPECT_FALSE(read_their_reply("<scheduler_reply><result><name>x").is_reply);
}

}  // namespace
}  // namespace sluice::test
