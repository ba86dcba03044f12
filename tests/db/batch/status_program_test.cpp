// SPDX-License-Identifier: LGPL-3.0-or-later
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/run/process_lock.h"
#include "sluice/base/files.h"
#include "sluice/base/metrics.h"
#include "sluice/base/project.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/survey_store.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using StatusProgram = BatchFixture;
using testing::HasSubstr;

TEST_F(StatusProgram, CountsWorkThatWaits) {
    app(2);
    batch(1), batch(2, 2);
    unsent(1), unsent(1), in_progress(1, 1, 500), in_progress(2, 1, 500);
    success(1, 1, 3600), success(1, 2, 7200);
    job(1).need_validate = true;
    job(2).assimilate_state = AssimilateState::kReady;
    job(2).transition_time = now - 300;
    job(2).transition_time = 0;  // no time at all
    store();
    db.execute(Sql("UPDATE result SET elapsed_time=60*id WHERE validate_state=1"));
    db.execute(Sql("UPDATE host SET p_fpops=3e9*id, expavg_credit=10, total_credit=100, create_time=0"));
    const auto survey = make_survey_store(db);
    const std::vector<AppWork> work = survey->work();
    ASSERT_EQ(work.size(), 2u);
    EXPECT_EQ(work[0].unsent, 2);
    EXPECT_EQ(work[0].in_progress, 1);
    EXPECT_EQ(work[1].in_progress, 1);
    EXPECT_EQ(work[0].to_validate, 1);
    EXPECT_EQ(work[1].to_assimilate, 1);
    EXPECT_NEAR(work[0].oldest_validation, static_cast<double>(now), 600);
    EXPECT_EQ(work[1].oldest_validation, 0);
    EXPECT_NEAR(work[1].oldest_assimilation, static_cast<double>(now), 600);
    const WorkBacklog backlog = survey->backlog(now);
    EXPECT_EQ(backlog.transitions, 2);
    EXPECT_EQ(backlog.oldest_transition, static_cast<double>(now - 300));
    const std::vector<AppDay> days = survey->last_day(now);
    ASSERT_EQ(days.size(), 1u);
    EXPECT_EQ(days[0].app, 1);
    EXPECT_DOUBLE_EQ(days[0].most_runtime - days[0].least_runtime, 60);
    db.execute(Sql("UPDATE result SET server_state=4"));
    EXPECT_TRUE(survey->last_day(now).empty());  // reads what is over, by an index
    const Community community = survey->community(now);
    EXPECT_EQ(community.hosts.with_credit, 2);
    EXPECT_EQ(community.hosts.new_today, 0);
    ASSERT_EQ(community.speeds.size(), 2u);  // 3 and 6 GFLOPS
    EXPECT_EQ(community.speeds[0].from, 2147483648.0);
    EXPECT_EQ(community.speeds[1].hosts, 1);
    EXPECT_THAT(survey->server_version(), testing::Not(testing::IsEmpty()));
}

TEST_F(StatusProgram, WritesMetricsOfAProject) {
    fs::create_directories(log_dir(project.path()));
    batch(1);
    unsent(1), success(1, 1, 10);
    world.batches[1].est_completion_time = static_cast<double>(now - 5000);
    store();
    run_ok({"batch_upkeep", "--one_pass"});
    for (const char* folder : {"html/user", "html/ops", "download"}) fs::create_directories(project / folder);
    fs::remove_all(project / "upload");
    run_ok({"status_page", "--one_pass", "--textfile", "sluice.prom"});
    const std::string text = *read_file(project / "sluice.prom");
    for (const char* line :
         {"sluice_database_up 1\n", "sluice_array_up 0\n", "sluice_results{app=\"app1\",state=\"unsent\"} 1\n",
          "sluice_folder_up{folder=\"download\"} 1\n", "sluice_folder_up{folder=\"upload\"} 0\n",
          "sluice_app_last_hour_results{app=\"app1\",outcome=\"valid\"} 1\n",
          "sluice_app_last_hour_results{app=\"app1\",outcome=\"not_judged\"} 0\n",
          "sluice_batch_late_seconds{batch=\"1\"} 5",
          "sluice_turns_total{service=\"batch_upkeep\",result=\"idle\",program=\"batch_upkeep\"} 1\n"})
        EXPECT_THAT(text, HasSubstr(line));
    EXPECT_THAT(*read_file(project / "html/user/status.html"), HasSubstr("late by 8"));
    EXPECT_THAT(*read_file(project / "html/user/status.html"), HasSubstr("Uploads do not work at the moment"));
    EXPECT_THAT(*read_file(project / "html/user/server_status.xml"), HasSubstr("<results_ready_to_send>1<"));
    EXPECT_THAT(*read_file(project / "html/ops/status.html"), HasSubstr("batch_1"));
    EXPECT_THAT(*read_file(log_dir(project.path()) / "status_history"), HasSubstr("sluice status history 1\n"));
    RunOptions input;
    input.stdin_text = text;
    const RunResult checked = run({"promtool", "check", "metrics"}, input);
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
}

TEST_F(StatusProgram, ShowsAnOldBatchBelowManyNewOnes) {
    batch(1);
    store();
    db.execute(
        Sql("INSERT INTO batch SELECT seq+1, 1, create_time, 0,0,0,1,1,0,2,0,0,0,0,'done',1,0,'',0 FROM seq_1_to_1000, "
            "(SELECT create_time FROM batch LIMIT 1) b"));
    const auto batches = make_batch_owner_store(db);
    const auto open = batches->list({.limit = 50, .in_progress = true});
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0].row.id, 1);
    EXPECT_EQ(batches->list({.limit = 2}).back().row.id, 1001);
    db.execute(Sql("UPDATE batch SET state=1 WHERE id IN (3,7)"));
    EXPECT_EQ(batches->list({.limit = 2, .in_progress = true}).back().row.id, 3);  // the oldest
    fs::create_directories(project / "html/user");
    run_ok({"status_page", "--one_pass", "--textfile", "sluice.prom"});
    EXPECT_THAT(*read_file(project / "sluice.prom"), HasSubstr("sluice_batch_done_ratio{batch=\"1\"} 0\n"));
}

TEST_F(StatusProgram, ServesMetricsWhileTheDatabaseIsAway) {
    fs::create_directories(log_dir(project.path()));
    config("<db_host>127.0.0.1:1</db_host>");
    const fs::path xml = project / "html/user/server_status.xml";
    fs::create_directories(xml.parent_path());
    std::ofstream(xml) << "as it was";
    const int port = free_port();
    Subprocess program = start_program({"status_page", "--listen", std::to_string(port)});
    RunResult fetched;
    for (int i = 0; i < 600 && fetched.out.find("sluice_database_up") == std::string::npos && program.running(); ++i)
        fetched = run({"curl", "-sS", "--retry", "20", "--retry-connrefused", "--retry-delay", "1",
                       "http://127.0.0.1:" + std::to_string(port) + "/metrics"});
    EXPECT_THAT(fetched.out, HasSubstr("sluice_database_up 0\n")) << fetched.err << program.err();
    EXPECT_THAT(*read_file(project / "html/user/status.html"), HasSubstr("The database does not answer"));
    EXPECT_EQ(*read_file(xml), "as it was");  // zeroes would be taken for the truth
    const RunResult second = run_program({"status_page", "--one_pass"});
    EXPECT_EQ(second.status, 1);  // one is enough
    program.send_signal(SIGTERM);
    const auto ended = program.wait();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status, 0);
}

// The kernel ends a process's locks on a file when it closes any descriptor of it: bin/start would start it again.
TEST_F(StatusProgram, KeepsItsLockAndSeesOthers) {
    config("<host>" + short_host_name() +
           "</host></config><daemons><daemon><cmd>status_page</cmd></daemon><daemon><cmd>feeder</cmd></daemon>"
           "</daemons><config>");
    const fs::path locks = project / ("pid_" + short_host_name()), page = project / "html/user/status.html";
    fs::create_directories(locks);
    fs::create_directories(page.parent_path());
    fs::create_directories(log_dir(project.path()));
    const std::string own = (locks / "status_page.lock").string();
    const std::string program = binary_dir() + "/bin/status_page", folder = project.path().string();
    const pid_t pid = ::fork();
    if (pid == 0) {
        const int fd = take_inheritable_lock(own.c_str());
        ::setenv("BOINC_PROJECT_DIR", folder.c_str(), 1);
        if (fd >= 0) ::execl(program.c_str(), program.c_str(), "--sleep_interval", "1", nullptr);
        ::_exit(9);
    }
    const auto read = [&] { return fs::exists(page) ? *read_file(page) : ""; };
    EXPECT_TRUE(eventually([&] { return !read().empty(); }));
    fs::remove(page);
    EXPECT_TRUE(eventually([&] { return !read().empty(); }));  // another turn
    EXPECT_THAT(read(), HasSubstr("feeder does not run"));
    EXPECT_THAT(read(), testing::Not(HasSubstr("status_page does not run")));
    EXPECT_EQ(lock_holder(own), pid);
    ::kill(pid, SIGTERM);
    ::waitpid(pid, nullptr, 0);
}

TEST_F(StatusProgram, RefusesOpenPortsAndOddFiles) {
    EXPECT_EQ(run_program({"status_page", "--listen", "0.0.0.0:9188"}).status, 1);
    EXPECT_EQ(run_program({"status_page", "--textfile", "a.txt"}).status, 1);
}

}  // namespace
}  // namespace sluice::test
