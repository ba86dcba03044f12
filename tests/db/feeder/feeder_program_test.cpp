// SPDX-License-Identifier: LGPL-3.0-or-later
// The real feeder on a real MariaDB: filling, refilling, triggers, signals, deaths.
#include <gmock/gmock.h>

#include <csignal>
#include <numeric>

#include "sluice/base/files.h"
#include "tests/db/feeder/feeder_fixture.h"

namespace sluice::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

FeederProject make_project(const std::string& more = "", int slots = 100) {
    return FeederProject(PrivateMariaDb::shared(), more, slots);
}

std::vector<Id> range(Id first, Id n) {
    std::vector<Id> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

TEST(FeederProgram, IsReadyAfterFirstFillAlsoWithoutJobs) {
    auto p = make_project();
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(p.jobs(), IsEmpty());
    p.add_jobs(1, 3);
    EXPECT_TRUE(eventually([&] { return p.jobs().size() == 3; })) << "new jobs come soon";
}

TEST(FeederProgram, SlotsAndRowsOfAQueryAreConfigured) {
    for (const auto& [slots, rows] :
         {std::pair(20, "30"), std::pair(40, "50")}) {  // <shmem_work_items>: make_project()
        auto p = make_project(std::string("<feeder_query_size>") + rows + "</feeder_query_size>", slots);
        p.add_jobs(1, 200);
        auto feeder = p.start({"-d", "4"});
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        EXPECT_EQ(p.jobs(), range(1, slots));
        Consumer(p).take(5);
        EXPECT_TRUE(eventually([&, rows = rows] {  // clang 14 does not capture bindings itself
            return feeder.err().find(std::string(" LIMIT ") + rows + "\n") != std::string::npos;
        })) << feeder.err();
    }
}

TEST(FeederProgram, DefaultOrderIsPriorityThenWorkunit) {
    auto p = make_project("", 5);
    p.add_jobs(10, 4, 0), p.add_jobs(20, 2, 7), p.add_jobs(30, 3, -5);
    p.execute("update result set workunitid = 13 where id = 10");
    p.execute("update result set workunitid = 10 where id = 13");  // result 13 belongs to the older workunit
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(p.array(), ElementsAre(20, 21, 13, 11, 12));
}

TEST(FeederProgram, TakenSlotsAreRefilledWithinASecond) {
    auto p = make_project();
    p.add_jobs(1, 1000);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    ASSERT_EQ(p.jobs(), range(1, 100));
    Consumer consumer(p);
    // The quickest: in each round the machine may have something else to do.
    double quickest = 1e9;
    for (int round = 0; round < 5; ++round) {
        const auto taken = consumer.take(40);
        ASSERT_THAT(taken, SizeIs(40));
        const auto t0 = tick();
        ASSERT_TRUE(eventually([&] { return consumer.array().stats().present == 100; }));
        quickest = std::min(quickest, seconds_since(t0));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    RecordProperty("refill_ms", static_cast<int>(quickest * 1000));
    EXPECT_LT(quickest, 1);
    EXPECT_EQ(consumer.committed(), 200u);
}

TEST(FeederProgram, StopsOnSignalsAndTriggerAndLeavesNothing) {
    auto p = make_project();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, 0}) {
        auto feeder = p.start();
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        if (signal != 0) {
            feeder.send_signal(signal);
        } else {
            p.dir.write("stop_daemons", "");
        }
        const auto result = feeder.wait();
        ASSERT_TRUE(result) << signal;
        EXPECT_EQ(result->status, 0) << result->err;
        EXPECT_FALSE(p.segment_exists()) << signal;
    }
}

TEST(FeederProgram, ASecondFeederIsRefused) {
    auto p = make_project();
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    const RunResult second = p.run_to_end({});
    EXPECT_EQ(second.status, 1);
    EXPECT_THAT(second.err, HasSubstr("PID " + std::to_string(feeder.pid())));
    EXPECT_TRUE(p.wait_ready()) << "the first one's array is untouched";
}

TEST(FeederProgram, AfterKill9ASuccessorTakesOver) {
    auto p = make_project();
    p.add_jobs(1, 150);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer old_scheduler(p);
    feeder.send_signal(SIGKILL);
    feeder.wait();
    EXPECT_TRUE(old_scheduler.array().ready()) << "the jobs that are there can still be sent";
    EXPECT_THAT(old_scheduler.take(30), SizeIs(30));
    auto next = p.start();
    ASSERT_TRUE(eventually([&] { return !old_scheduler.array().current(); })) << next.err();
    ASSERT_TRUE(p.wait_ready()) << next.err();
    EXPECT_EQ(p.jobs(), range(31, 100)) << "what was sent meanwhile is not there again";
}

TEST(FeederProgram, LivesOnWhileTheDatabaseRestarts) {
    PrivateMariaDb server({.flush_log_at_trx_commit = 1});
    FeederProject p(server);
    p.add_jobs(1, 300);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer consumer(p);
    server.kill();
    EXPECT_THAT(consumer.take(50, false), SizeIs(50));
    EXPECT_TRUE(feeder.wait_for_output("trying again")) << feeder.err();
    EXPECT_TRUE(feeder.running());
    EXPECT_TRUE(consumer.array().ready());
    server.start();
    EXPECT_TRUE(eventually([&] { return p.jobs().size() == 100; })) << feeder.err();
    EXPECT_TRUE(feeder.wait_for_output("answers again")) << feeder.err();
}

TEST(FeederProgram, StartsBeforeTheDatabase) {
    PrivateMariaDb server;
    FeederProject p(server);
    p.add_jobs(1, 5);
    server.stop();
    auto feeder = p.start();
    EXPECT_TRUE(feeder.wait_for_output("trying again")) << feeder.err();
    // Until the tables' version is known, no scheduler shall work with them.
    EXPECT_THROW(JobArray::attach_read_only(p.name), std::exception);
    server.start();
    EXPECT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_EQ(p.jobs(), range(1, 5));
}

TEST(FeederProgram, RereadDbSwapsTablesAndKeepsJobs) {
    auto p = make_project();
    p.add_jobs(1, 20, 0, 1), p.add_jobs(50, 10, 0, 2);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    ASSERT_THAT(p.jobs(), SizeIs(30));
    Consumer scheduler(p);
    const auto before = scheduler.array().tables();
    p.execute("update app set deprecated = 1 where id = 2");
    p.execute("insert into app (create_time, name, user_friendly_name) values (0, 'three', 'Three')");
    p.dir.write("reread_db", "");
    ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(p.dir / "reread_db"); })) << feeder.err();
    // The file goes when that is done.
    EXPECT_NE(scheduler.array().tables()->app_by_name("three"), nullptr);
    EXPECT_EQ(scheduler.array().tables()->app(2), nullptr);
    EXPECT_NE(before->app(2), nullptr) << "who holds the old tables keeps them";
    EXPECT_TRUE(scheduler.array().ready());
    EXPECT_TRUE(eventually([&] { return p.jobs() == range(1, 20); })) << "the jobs of app 1 stay, those of app 2 go";
    p.execute("update app set deprecated = 0 where id = 2");
    p.dir.write("reread_db", "");
    EXPECT_TRUE(eventually([&] { return p.jobs().size() == 30; })) << "and nothing is forgotten";
}

/// Beside BOINC's own feeder, which looks for the file less often.
TEST(FeederProgram, LeaveRereadDbLeavesItToAnotherFeeder) {
    auto p = make_project();
    p.add_jobs(1, 5, 0, 1);
    p.dir.write("reread_db", "");
    auto feeder = p.start({"--leave_reread_db"});
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer scheduler(p);
    const auto touched = std::filesystem::last_write_time(p.dir / "reread_db");
    p.execute("insert into app (create_time, name, user_friendly_name) values (0, 'three', 'Three')");
    const auto later = touched + std::chrono::seconds(1);
    std::filesystem::last_write_time(p.dir / "reread_db", later);
    ASSERT_TRUE(eventually([&] { return scheduler.array().tables()->app_by_name("three") != nullptr; }))
        << feeder.err();
    EXPECT_EQ(std::filesystem::last_write_time(p.dir / "reread_db"), later);
}

TEST(FeederProgram, TenThousandSlotsFillFast) {
    auto p = make_project("", 10000);
    p.add_jobs(1, 100000);
    // The quickest: other programs of the machine may keep it from its processor.
    double quickest = 1e9;
    for (int attempt = 0; attempt < 5 && quickest > 10; ++attempt) {
        const auto t0 = tick();
        auto feeder = p.start();
        ASSERT_TRUE(p.wait_ready()) << feeder.err();
        quickest = std::min(quickest, seconds_since(t0));
        EXPECT_EQ(p.jobs(), range(1, 10000));
        feeder.send_signal(SIGTERM);
        ASSERT_TRUE(feeder.wait()) << feeder.err();
    }
    std::printf("10,000 slots from 100,000 unsent results: %.2f s\n", quickest);
    EXPECT_LT(quickest, 10) << "2 s are the aim on an idle machine";
}

/// The default array of 100 slots in front of a long queue; upstream keeps up with 20 to 25 jobs a second.
TEST(FeederProgram, AHundredSlotsFeedAFastConsumer) {
    auto p = make_project();
    p.add_jobs(1, 100000);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer consumer(p);
    std::vector<double> latencies;
    std::vector<Id> all;
    // The best of some stretches of six seconds: other programs of the machine may keep it from its processor.
    double rate = 0;
    for (int stretch = 0; stretch < 5 && rate <= 250; ++stretch) {
        const auto before = consumer.committed();
        const auto t0 = tick();
        while (seconds_since(t0) < 6) {
            const auto ids = consumer.take(10);
            all.insert(all.end(), ids.begin(), ids.end());
            if (!ids.empty()) continue;
            const auto empty_since = tick();
            ASSERT_TRUE(eventually([&] { return consumer.array().stats().present > 0; }));
            latencies.push_back(seconds_since(empty_since));
        }
        rate = std::max(rate, static_cast<double>(consumer.committed() - before) / seconds_since(t0));
    }
    std::sort(latencies.begin(), latencies.end());
    std::printf("drained %.0f jobs/s; the array ran dry %zu times, refilled after %.1f ms (median), %.1f ms (most)\n",
                rate, latencies.size(), latencies.empty() ? 0.0 : 1e3 * latencies[latencies.size() / 2],
                latencies.empty() ? 0.0 : 1e3 * latencies.back());
    EXPECT_EQ(consumer.committed(), all.size()) << "each was still unsent";
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "none came twice";
    EXPECT_GT(rate, 250) << "ten times upstream, on a machine that does other things as well";
}

TEST(FeederProgram, AnyNumberOfAppsVersionsAndPlatforms) {
    auto p = make_project();
    p.execute(
        "insert into app (create_time, name, user_friendly_name) select 0, concat('app_', seq), 'App' from seq_1_to_40");
    p.execute(
        "insert into platform (create_time, name, user_friendly_name, deprecated) select 0, concat('p_', seq), 'P', 0 from seq_1_to_80");
    p.execute(
        "insert into app_version (create_time, appid, version_num, platformid, xml_doc, min_core_version, max_core_version, deprecated, "
        "plan_class) select 0, 1 + seq % 42, 100 + seq, 1 + seq % 81, rpad('x', 2000, 'x'), 0, 0, 0, concat('p', seq) from seq_1_to_500");
    p.add_jobs(1, 10, 0, 42);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    const auto tables = SchedulerArray::attach(p.name)->tables();
    EXPECT_THAT(tables->apps, SizeIs(42));
    EXPECT_THAT(tables->platforms, SizeIs(81));
    EXPECT_THAT(tables->versions, SizeIs(500));
    EXPECT_THAT(p.jobs(), SizeIs(10));
}

TEST(FeederProgram, ANewJobOfHighPriorityIsNext) {
    auto p = make_project("", 20);
    p.add_jobs(1, 5000);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    p.add_jobs(90000, 1, 50);
    Consumer consumer(p);
    // The head of the queue is looked at every second.
    const std::int64_t added = std::time(nullptr);
    ASSERT_TRUE(eventually([&] { return consumer.array().stats().feeder_heartbeat >= added + 3; })) << feeder.err();
    EXPECT_FALSE(p.holds(90000)) << "no slot is free";
    consumer.take(1);
    EXPECT_TRUE(eventually([&] { return p.holds(90000); })) << "the next free slot is its";
}

TEST(FeederProgram, ARaisedPriorityOfAnOldJobCounts) {
    auto p = make_project("", 20);
    p.add_jobs(1, 5000);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    p.execute("update result set priority = 9 where id = 4711");
    Consumer consumer(p);
    EXPECT_TRUE(eventually([&] {
        consumer.take(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        return p.holds(4711);
    }));
}

TEST(FeederProgram, JobThatWasPutBackIsNotLost) {
    auto p = make_project();
    p.add_jobs(1, 3);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer consumer(p);
    EXPECT_THAT(consumer.take(2, false), ElementsAre(1, 2)) << "emptied, but never sent: the dispatch failed";
    EXPECT_TRUE(eventually([&] { return p.jobs().size() == 3; }));
    EXPECT_THAT(consumer.take(1, true), SizeIs(1));
    p.execute("update result set server_state = 2 where server_state = 4");  // taken back by hand
    EXPECT_TRUE(eventually([&] { return p.jobs().size() == 3; }));
}

TEST(FeederProgram, JobsOfFailedAndFinishedWorkunitsAreMarked) {
    auto p = make_project();
    p.add_jobs(1, 10);
    p.execute("update workunit set error_mask = 8 where id = 3");
    p.execute("update workunit set canonical_resultid = 77 where id = 4");
    p.execute("update workunit set transitioner_flags = 1 where id = 5");
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(p.jobs(), ElementsAre(1, 2, 6, 7, 8, 9, 10));
    EXPECT_TRUE(eventually([&] {
        return p.number(Sql("select count(*) from result where server_state = 5 and outcome = 5 and id in (3, 4)")) ==
               2;
    }));
    EXPECT_EQ(p.number(Sql("select server_state from result where id = 5")), 2) << "targeted jobs are not the feeder's";
    p.execute("update workunit set error_mask = 16 where id = 7");
    EXPECT_TRUE(eventually([&] { return !p.holds(7); })) << "cancelled while in the array";
    EXPECT_TRUE(eventually([&] { return p.number(Sql("select outcome from result where id = 7")) == 5; }));
}

TEST(FeederProgram, SleepIntervalLeavesTheArrayAlone) {
    auto p = make_project();
    p.add_jobs(1, 300);
    auto feeder = p.start({"--sleep_interval", "4"});
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    Consumer consumer(p);
    consumer.take(50);
    const auto t0 = tick();
    ASSERT_TRUE(eventually([&] { return p.jobs().size() == 100; }));
    consumer.take(50);
    ASSERT_TRUE(eventually([&] { return p.jobs().size() == 100; }));
    EXPECT_GT(seconds_since(t0), 3) << "an interval lies between two turns";
}

TEST(FeederProgram, CensusFilesAreReadWhenTheyChange) {
    auto p = make_project();
    p.execute("update app set n_size_classes = 3 where id = 1");
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(feeder.err(), HasSubstr("size_census_one"));
    const auto scheduler = SchedulerArray::attach(p.name);
    EXPECT_TRUE(scheduler->tables()->size_quantiles.empty());
    EXPECT_NE(scheduler->tables()->app(2), nullptr) << "only the sizes of that app are unknown";
    write_file_atomically(p.dir / "size_census_one", "1.500000e+9\n2.500000e+9\n");
    EXPECT_TRUE(eventually([&] { return scheduler->tables()->size_quantiles.count(1) == 1; }));
    EXPECT_THAT(scheduler->tables()->size_quantiles.at(1), ElementsAre(1.5e9, 2.5e9));
    write_file_atomically(p.dir / "size_census_one", "1.500000e+9\n");
    EXPECT_TRUE(eventually([&] { return scheduler->tables()->size_quantiles.empty(); }));
}

TEST(FeederProgram, Sigusr1DumpsTheState) {
    auto p = make_project();
    p.add_jobs(1, 3);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    feeder.send_signal(SIGUSR1);
    EXPECT_TRUE(feeder.wait_for_output("slot 2: [RESULT#3]")) << feeder.err();
    EXPECT_TRUE(feeder.running());
}

TEST(FeederProgram, DontSendJobsLeavesArrayEmptyButReady) {
    auto p = make_project("<dont_send_jobs>1</dont_send_jobs>");
    p.add_jobs(1, 30);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_THAT(p.jobs(), IsEmpty());
}

TEST(FeederProgram, OnePassFillsAndLeavesTheArray) {
    auto p = make_project();
    p.add_jobs(1, 7);
    EXPECT_EQ(p.run_to_end({"--one_pass"}).status, 0);
    EXPECT_EQ(p.jobs(), range(1, 7));
    EXPECT_TRUE(SchedulerArray::attach(p.name)->ready());
}

TEST(FeederProgram, DryRunWritesNothing) {
    auto p = make_project("", 2);
    p.add_jobs(1, 7);
    p.execute("update workunit set error_mask = 8 where id = 1");
    const RunResult result = p.run_to_end({"--dry_run"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("slot 0: [RESULT#2]"));
    EXPECT_THAT(result.out, Not(HasSubstr("RESULT#4]")));
    EXPECT_FALSE(p.segment_exists());
    EXPECT_EQ(p.number(Sql("select count(*) from result where server_state = 2")), 7);
}

TEST(FeederProgram, BadSettingsEndWithOneClearLine) {
    auto p = make_project("<hr_allocate_slots>1</hr_allocate_slots>");
    RunResult result = p.run_to_end({});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("hr_info.txt"));
    EXPECT_FALSE(p.segment_exists());
    p.configure("", 100);
    result = p.run_to_end({"--user", "12345"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("12345"));
    p.execute("update app set homogeneous_redundancy = 1 where id = 1");
    result = p.run_to_end({});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("--allapps"));
}

}  // namespace
}  // namespace sluice::test
