// SPDX-License-Identifier: LGPL-3.0-or-later
// A config.xml that names no database: every program that needs one says so and ends. (The feeder waited for ever.)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sluice/base/files.h"
#include "sluice/base/log_record.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/base/text.h"
#include "sluice/shmem/job_array.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

class NoDatabase : public testing::TestWithParam<std::vector<std::string>> {
  protected:
    NoDatabase() {
        static const KeyPairText pair = generate_key_pair();
        for (const char* kind : {"upload", "code_sign"}) {
            project_.write(std::string("keys/") + kind + "_public", pair.public_key);
            project_.write(std::string("keys/") + kind + "_private", pair.private_key);
        }
        project_.write("project.xml", "<boinc></boinc>");
    }
    /// What it says.
    std::string failure(const std::string& more_config) {
        project_.write("config.xml",
                       "<boinc><config><download_url>http://h/download</download_url><share_rule>settled</share_rule>" +
                           more_config + "</config></boinc>");
        std::vector<std::string> words = GetParam();
        words[0] = binary_dir() + "/bin/" + words[0];
        RunOptions options;
        options.cwd = project_.path();
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess program(words, options);
        const auto ended = program.wait(60);
        EXPECT_TRUE(ended) << "it goes on";
        EXPECT_EQ(ended.value_or(RunResult{}).status, 1);
        return ended.value_or(RunResult{}).err;
    }
    TempDir project_;
};

TEST_P(NoDatabase, IsAnErrorThatSaysWhatIsMissing) {
    EXPECT_THAT(failure(""), testing::HasSubstr("config.xml: <db_name> is missing"));
}

/// Of lines of a log; what commands say to who calls them is no log.
std::vector<std::string> without_time(const std::string& lines) {
    std::vector<std::string> logged;
    for (const std::string_view line : split(lines, '\n'))
        if (const std::size_t at = line.find(" UTC"); at == 24) logged.emplace_back(line.substr(at));
    return logged;
}

TEST_P(NoDatabase, IsARecordOfALogOfRecords) {
    const std::string text = failure(""), json = failure("<log_format>json</log_format>");
    EXPECT_THAT(without_time(json), testing::IsEmpty());
    std::string as_text;
    for (const std::string_view line : split(json, '\n')) {
        if (!line.starts_with("{")) continue;
        const auto record = nlohmann::json::parse(line, nullptr, false);
        ASSERT_FALSE(record.is_discarded()) << line;
        EXPECT_EQ(record.at("program"), GetParam()[0]);
        std::string back = as_text_line(line);
        const std::size_t process = back.find(" [PID=");
        as_text += back.erase(process, back.find(']') + 1 - process) + "\n";
    }
    EXPECT_EQ(without_time(as_text), without_time(text));
}
INSTANTIATE_TEST_SUITE_P(
    Every, NoDatabase,
    testing::Values(
        std::vector<std::string>{"feeder"}, std::vector<std::string>{"transitioner"},
        std::vector<std::string>{"size_regulator", "--app_name", "a", "--lo", "1", "--hi", "2", "--sleep_time", "1"},
        std::vector<std::string>{"size_census"}, std::vector<std::string>{"batch_stats"},
        std::vector<std::string>{"batch_accel"}, std::vector<std::string>{"batch_upkeep"},
        std::vector<std::string>{"batches"}, std::vector<std::string>{"batch_watch"},
        std::vector<std::string>{"batch_planner"}, std::vector<std::string>{"batch_shares"},
        std::vector<std::string>{"gang_hub"}, std::vector<std::string>{"gang_planner"},
        std::vector<std::string>{"census"}, std::vector<std::string>{"status_page"},
        std::vector<std::string>{"update_stats"}, std::vector<std::string>{"file_deleter"},
        std::vector<std::string>{"db_dump", "--dump_spec", "config.xml"}, std::vector<std::string>{"db_purge"},
        std::vector<std::string>{"antique_file_deleter"},
        std::vector<std::string>{"sample_bitwise_validator", "--app", "a"},
        std::vector<std::string>{"sample_trivial_validator", "--app", "a"},
        std::vector<std::string>{"sample_substr_validator", "--app", "a", "--stderr_string", "x"},
        std::vector<std::string>{"script_validator", "--app", "a", "--init_script", "x"},
        std::vector<std::string>{"script_assimilator", "--app", "a", "--script", "x"},
        std::vector<std::string>{"batch_collect_assimilator", "--app", "a"},
        std::vector<std::string>{"sample_assimilator", "--app", "a"},
        std::vector<std::string>{"sample_dummy_assimilator", "--app", "a"},
        std::vector<std::string>{"single_job_assimilator", "--app", "a"},
        std::vector<std::string>{"sluice_validator", "--app", "a", "--program", "x"},
        std::vector<std::string>{"sluice_assimilator", "--app", "a", "--program", "x"},
        std::vector<std::string>{"create_work", "--appname", "a"}, std::vector<std::string>{"cancel_jobs", "1", "2"},
        std::vector<std::string>{"wu_check"}, std::vector<std::string>{"make_work", "--wu_name", "w"},
        std::vector<std::string>{"sample_work_generator"}, std::vector<std::string>{"trickle_echo"},
        std::vector<std::string>{"trickle_credit", "--max_runtime", "9"},
        std::vector<std::string>{"trickle_deadline", "--extension_period", "9", "--extension_timeframe", "9"},
        std::vector<std::string>{"trickle_script", "--script", "x"}, std::vector<std::string>{"message_handler"},
        std::vector<std::string>{"delete_file", "--host_id", "1", "--file_name", "f"},
        std::vector<std::string>{"get_file", "--host_id", "1", "--file_name", "f"},
        std::vector<std::string>{"put_file", "--host_id", "1", "--file_name", "f"},
        std::vector<std::string>{"sluice_batch", "list"}, std::vector<std::string>{"submit_job", "a", "x"},
        std::vector<std::string>{"create_batch", "--enable", "1"},
        std::vector<std::string>{"adjust_user_priority", "--user", "1", "--flops", "1", "--app", "a"},
        std::vector<std::string>{"sched_explain", "--host", "1"},
        std::vector<std::string>{"sluice_tune", "--synthesise", "1"}, std::vector<std::string>{"xadd"},
        std::vector<std::string>{"app_settings", "a"}, std::vector<std::string>{"update_versions"},
        std::vector<std::string>{"create_account", "--email", "a@example.org"}),
    [](const auto& each) { return each.param[0]; });

class StoppedProject : public testing::TestWithParam<std::vector<std::string>> {
  protected:
    /// The program, in a project that is stopped and whose database can't be reached.
    RunResult run_here(std::vector<std::string> words) const {
        words[0] = binary_dir() + "/bin/" + words[0];
        RunOptions options;
        options.cwd = project_.path();
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words, options);
    }
    StoppedProject() {
        project_.write("stop_daemons", "");
        project_.write("config.xml",
                       "<boinc><config><compat_level>1</compat_level><share_rule>settled</share_rule>"
                       "<plan_batches>1</plan_batches><db_host>127.0.0.1:1</db_host><db_name>d</db_name>"
                       "<db_user>u</db_user></config></boinc>");
    }
    TempDir project_;
};

// A pass that somebody's cron starts during maintenance writes nothing.
TEST_P(StoppedProject, OnePassOfADaemonEndsAtOnce) {
    const RunResult r = run_here(GetParam());
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.err, testing::HasSubstr("stop_daemons is present"));
}
INSTANTIATE_TEST_SUITE_P(
    Every, StoppedProject,
    testing::Values(
        std::vector<std::string>{"feeder", "--one_pass"},
        std::vector<std::string>{"size_regulator", "--app_name", "a", "--lo", "1", "--hi", "2", "--one_pass"},
        std::vector<std::string>{"batch_upkeep", "--one_pass"}, std::vector<std::string>{"batches", "--one_pass"},
        std::vector<std::string>{"batch_planner", "--one_pass"}, std::vector<std::string>{"batch_shares", "--one_pass"},
        std::vector<std::string>{"gang_planner", "--one_pass"}, std::vector<std::string>{"batch_watch", "--one_pass"},
        std::vector<std::string>{"census"},
        std::vector<std::string>{"sample_bitwise_validator", "--app", "a", "--one_pass"},
        std::vector<std::string>{"script_assimilator", "--app", "a", "--script", "x", "--one_pass"}),
    [](const auto& each) { return each.param[0]; });

class OfStoppedProject : public StoppedProject {};

// What upstream's of these names do: a stopped project is made ready by them. And a dry run changes nothing.
TEST_P(OfStoppedProject, OnePassIsMadeAllTheSame) {
    const RunResult r = run_here(GetParam());
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, testing::HasSubstr("this was to be one pass"));
}
INSTANTIATE_TEST_SUITE_P(Every, OfStoppedProject,
                         testing::Values(std::vector<std::string>{"size_census"},
                                         std::vector<std::string>{"batch_stats", "--one_pass"},
                                         std::vector<std::string>{"batch_accel"},
                                         std::vector<std::string>{"batch_upkeep", "--dry_run"}),
                         [](const auto& each) { return each.param[0]; });

TEST(SluiceBatch, WithoutACommandNamesThemAndTheHelp) {
    const RunResult r = run({binary_dir() + "/bin/sluice_batch"}, {});
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(
        r.err,
        "sluice_batch: give one of create, submit, list, show, why, move, quota, usage, pack, abort, retire (sluice_batch --help tells "
        "more)\n");
}

// A folder of downloads that is empty makes it ask the database whether it should be. Nobody needs to answer.
TEST(StagingWithoutDatabase, WorksAllTheSame) {
    for (const std::string database : {"", "<db_host>127.0.0.1:1</db_host><db_name>d</db_name><db_user>u</db_user>"}) {
        TempDir project;
        project.write("config.xml",
                      "<boinc><config><download_url>http://h/d</download_url>" + database + "</config></boinc>");
        project.write("input", "x");
        fs::create_directory(project.path() / "download");
        RunOptions options;
        options.cwd = project.path();
        options.env["BOINC_PROJECT_DIR"] = project.path().string();
        const RunResult r = run({binary_dir() + "/bin/" + "stage_file", "input"}, options);
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_FALSE(fs::exists(project.path() / "input"));
    }
}

// Clients are to be told, so it goes on.
TEST(ResidentWithoutDatabase, SaysWhatIsMissingBeforeTheFirstRequest) {
    TempDir project;
    project.write("config.xml", "<boinc><config></config></boinc>");
    RunOptions options;
    options.cwd = project.path();
    options.env["BOINC_PROJECT_DIR"] = project.path().string();
    Subprocess scheduler({binary_dir() + "/bin/scheduler"}, options);
    EXPECT_TRUE(scheduler.wait_for_output("listening on ")) << scheduler.err();
    EXPECT_THAT(scheduler.err(), testing::HasSubstr("config.xml: <db_name> is missing"));
    EXPECT_TRUE(scheduler.running());
}

// As a job array that the web server's account may not use, since nobody knows it by <httpd_user>: it stops all
// requests.
class SchedulerWithoutArray : public testing::TestWithParam<const char*> {};

TEST_P(SchedulerWithoutArray, SaysOnceAnHourWhyItServesNobody) {
    TempDir project;
    const bool json = GetParam() == std::string("json");
    project.write(
        "config.xml",
        fmt::format("<boinc><config><db_name>d</db_name><log_format>{}</log_format></config></boinc>", GetParam()));
    const KeyPairText keys = generate_key_pair();
    project.write("keys/code_sign_public", keys.public_key);
    project.write("keys/upload_private", keys.private_key);
    fs::create_directory(job_array_name(0, project.path()).publication);
    RunOptions request;
    request.cwd = project.path();
    request.stdin_text = "<scheduler_request>\n</scheduler_request>\n";
    request.env = {{"BOINC_PROJECT_DIR", project.path().string()},
                   {"REQUEST_METHOD", "POST"},
                   {"CONTENT_LENGTH", std::to_string(request.stdin_text.size())}};
    const fs::path log = log_dir(project.path()) / "scheduler.log";
    const auto serve = [&] {
        const RunResult reply = run({binary_dir() + "/bin/scheduler"}, request);
        EXPECT_THAT(reply.out, testing::HasSubstr("can't attach shared memory"));
    };
    serve();
    const std::string once = read_file(log).value_or("");
    EXPECT_THAT(once, testing::HasSubstr(json ? "\"level\":\"critical\",\"program\":\"scheduler\"" : "[CRITICAL] "));
    for (int i = 0; i < 3; ++i) serve();
    // A test at the end of an hour sees the line of the next one, too.
    const std::string all = read_file(log).value_or("");
    EXPECT_LE(std::count(all.begin(), all.end(), '\n'), 2) << all;
    const std::size_t time = once.find("20");
    write_file_atomically(log, once.substr(0, time) + "2001-01-01" + once.substr(time + 10));
    serve();
    EXPECT_THAT(read_file(log).value_or(""), testing::HasSubstr("\n" + once.substr(0, time + 11)));
}
INSTANTIATE_TEST_SUITE_P(Formats, SchedulerWithoutArray, testing::Values("text", "json"));

}  // namespace
}  // namespace sluice::test
