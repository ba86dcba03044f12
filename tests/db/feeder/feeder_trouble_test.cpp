// SPDX-License-Identifier: LGPL-3.0-or-later
// The real feeder on a real MariaDB when its segment's name is gone, and when jobs find no host.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "tests/db/feeder/feeder_fixture.h"
#include "tests/support/database_rows.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(FeederProgram, ALostNameMakesANewArray) {
    FeederProject p(PrivateMariaDb::shared());
    p.add_jobs(1, 150);
    for (const std::vector<std::string>& args : {std::vector<std::string>{}, {"--sleep_interval", "3600"}}) {
        auto feeder = p.start(args);
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        Consumer old_scheduler(p);
        EXPECT_THAT(old_scheduler.take(10), SizeIs(10));
        const auto gone = tick();
        remove_segment_files(p.name);
        ASSERT_TRUE(eventually([&] { return p.segment_exists(); })) << feeder.err();
        RecordProperty("noticed_after_ms", static_cast<int>(seconds_since(gone) * 1000));
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        EXPECT_FALSE(old_scheduler.array().current()) << "who has the old one attaches anew";
        EXPECT_THAT(p.jobs(), SizeIs(100));
        const std::string log = feeder.err();
        const auto said = log.find("name in /dev/shm is gone");
        EXPECT_NE(said, std::string::npos) << log;
        EXPECT_EQ(said, log.rfind("name in /dev/shm is gone")) << "one line: " << log;
        feeder.send_signal(SIGTERM);
        ASSERT_TRUE(feeder.wait());
        EXPECT_FALSE(p.segment_exists());
    }
}

TEST(FeederProgram, SaysThatTheWebServersAccountIsUnknown) {
    FeederProject p(PrivateMariaDb::shared());
    EXPECT_THAT(p.run_to_end({"--one_pass"}).err, testing::Not(HasSubstr("httpd_user")));
    p.configure("<httpd_user>no_such_account</httpd_user>", 100);
    EXPECT_THAT(p.run_to_end({"--one_pass"}).err,
                HasSubstr("<httpd_user>no_such_account</httpd_user>: this machine has no such account"));
}

// Nobody can attach to half of an array: one name is as bad as both.
TEST(FeederProgram, OneLostNameOfTwoMakesNewArray) {
    FeederProject p(PrivateMariaDb::shared());
    p.add_jobs(1, 10);
    auto feeder = p.start({});
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    for (const bool claims : {true, false}) {
        SCOPED_TRACE(claims ? "claims" : "content");
        const auto files = segment_files(p.name);
        ASSERT_THAT(files, SizeIs(2));
        for (const auto& file : files)
            if ((file.extension() == ".claims") == claims) std::filesystem::remove(file);
        ASSERT_TRUE(eventually([&] { return segment_files(p.name).size() == 2 && segment_files(p.name) != files; }))
            << feeder.err();
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        Consumer scheduler(p);
        EXPECT_THAT(scheduler.take(1), SizeIs(1));
    }
}

/// It ended, and only cron started it again, five minutes later.
TEST(FeederProgram, FullShmMakesItWaitAndSaySo) {
    FeederProject p(PrivateMariaDb::shared());
    p.add_jobs(1, 10);
    const auto full = p.dir.write("full", "");
    const std::map<std::string, std::string> env{{"LD_PRELOAD", binary_dir() + "/tests/full_shared_memory.so"},
                                                 {"SLUICE_TEST_SHM_FULL", full.string()}};
    EXPECT_EQ(p.start({"--one_pass"}, env).wait()->status, 1) << "one pass is one attempt";
    auto feeder = p.start({}, env);
    ASSERT_TRUE(feeder.wait_for_output("No memory for the job array")) << feeder.err();
    EXPECT_THAT(feeder.err(), testing::AllOf(HasSubstr("enlarge /dev/shm"), HasSubstr("trying again")));
    EXPECT_FALSE(p.segment_exists()) << "what was begun is gone";
    std::filesystem::remove(full);
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(p.jobs(), SizeIs(10));
    // Full again when an app with much XML was added: the jobs that are there stay, and the new tables come later.
    p.dir.write("full", "");
    p.execute("update app set user_friendly_name = repeat('x', 100)");
    p.execute(
        "insert into app_version (create_time, appid, version_num, platformid, xml_doc, min_core_version, max_core_version, "
        "deprecated, plan_class) select 0, 1, 1, 1, repeat('x', 60000), 0, 0, 0, seq from seq_1_to_20");
    p.dir.write("reread_db", "");
    ASSERT_TRUE(feeder.wait_for_output("needs 0")) << feeder.err();
    EXPECT_THAT(p.jobs(), SizeIs(10));
    std::filesystem::remove(full);
    ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(p.dir / "reread_db"); })) << feeder.err();
    feeder.send_signal(SIGTERM);
    EXPECT_EQ(feeder.wait()->status, 0);
}

/// A folder: whatever rights the feeder has, it does not go.
TEST(FeederProgram, ATriggerThatCantBeRemovedCostsLittle) {
    FeederProject p(PrivateMariaDb::shared());
    auto feeder = p.start({"--sleep_interval", "3600"});
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    std::filesystem::create_directory(p.dir / "reread_db");
    const auto complaints = [&] {
        const std::string log = feeder.err();
        std::size_t n = 0;
        for (auto at = log.find("Can't remove"); at != std::string::npos; at = log.find("Can't remove", at + 1)) ++n;
        return n;
    };
    ASSERT_TRUE(eventually([&] { return complaints() >= 1; })) << feeder.err();
    const double before = feeder.cpu_seconds();
    ASSERT_TRUE(eventually([&] { return complaints() >= 4; })) << feeder.err();  // one a second
    EXPECT_LT(feeder.cpu_seconds() - before, 1);
}

/// So many hosts as the first one.
void add_hosts(FeederProject& p, int n) {
    FakeDb rows;
    Host& host = rows.hosts[1];
    host.id = 1, host.m_nbytes = 1e6, host.d_free = 1e6, host.rpc_time = std::time(nullptr);
    store_rows(p.db(), rows);
    const std::string columns =
        rows_of(p.db(),
                Sql("select group_concat(column_name) from information_schema.columns where table_schema='feeder' and "
                    "table_name='host' and column_name<>'id'"),
                1)
            .at(0)
            .at(0);
    constexpr int kAtOnce = 10000;  // a busy machine takes its time for many rows
    for (int first = 2; first <= n; first += kAtOnce) {
        p.execute("insert into host (id, " + columns + ") select seq, " + columns + " from host, " +
                  FeederProject::numbers(first, std::min(kAtOnce, n - first + 1)) + " where id=1");
    }
}

TEST(FeederProgram, TakenSlotsAreRefilledWhileJobsStarve) {
    constexpr int kHosts = 20000;
    FeederProject p(PrivateMariaDb::shared(), "", 10000);
    p.add_jobs(1, 20000);
    add_hosts(p, kHosts);
    auto feeder = p.start({"--starvation_after", "1"});  // then it looks every second
    ASSERT_TRUE(p.wait_ready(120)) << feeder.err();
    Consumer consumer(p);
    JobSummary job;
    SlotRef ref;
    ASSERT_EQ(consumer.array().read(9999, job, ref), SlotState::kPresent);
    consumer.array().note_passed_over(ref);
    ASSERT_TRUE(feeder.wait_for_output("find no host", 60)) << feeder.err();
    double slowest = 0;
    for (int round = 0; round < 10; ++round) {
        ASSERT_THAT(consumer.take(300), SizeIs(300));
        const auto t0 = tick();
        ASSERT_TRUE(eventually([&] { return consumer.array().stats().present == 10000; }, 60)) << feeder.err();
        slowest = std::max(slowest, seconds_since(t0));
    }
    RecordProperty("slowest_refill_ms", static_cast<int>(slowest * 1000));
    std::printf("slowest of 10 refills of 300 slots: %.0f ms\n", slowest * 1000);
    EXPECT_THAT(feeder.err(), HasSubstr("None of the 1000 hosts heard of in the last day"));
}

}  // namespace
}  // namespace sluice::test
