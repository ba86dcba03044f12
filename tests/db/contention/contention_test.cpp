// SPDX-License-Identifier: LGPL-3.0-or-later
// 32 scheduler processes at a time on 4,000 slots that the real feeder refills. The job array has no lock that one
// process could hold while another waits (docs/shared_memory.md); where schedulers can wait for one another is the
// database. Its own counter of time spent in row-lock waits is what is measured here, on a server that syncs each
// commit, as in production: while one scheduler waits for the disk, others run into its locks, if into any.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "config/load.h"
#include "sluice/shmem/job_array.h"
#include "tests/support/paths.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

constexpr int kSchedulers = 32, kRequests = 25, kSlots = 4000, kJobs = 8000;

std::int64_t status(Database& db, const std::string& name) {
    Rows rows = db.query(Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME=")
                         << SqlText{name});
    return rows.next() ? rows.i64(0) : -1;
}

void add_hosts(TestProject& project) {
    for (int i = 1; i <= kSchedulers; ++i) {
        Host h;
        h.id = i;
        h.userid = 1;
        h.create_time = 1;
        h.domain_name = fmt::format("host{}", i);
        h.p_ncpus = 4;
        project.rows().hosts[i] = h;
    }
}

std::string requests_of_host(int host) {
    std::string text;
    for (int i = 1; i <= kRequests; ++i)
        text += work_request(host, i, 3000, "", 4, fmt::format("host{}", host));  // three jobs of 1000 s
    return text;
}

/// What durability costs must not be left out.
void expect_it_syncs(Database& db) {
    const auto value = [&](const std::string& name) {
        Sql sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME=");
        return rows_of(db, sql << SqlText{name}, 1).at(0).at(0);
    };
    EXPECT_EQ(value("INNODB_FLUSH_LOG_AT_TRX_COMMIT"), "1");
    EXPECT_EQ(value("INNODB_FLUSH_METHOD"), "O_DIRECT");
    EXPECT_EQ(value("LOG_BIN"), "OFF") << "with a binary log sync_binlog would count, too";
}

struct Schedulers {
    std::vector<std::unique_ptr<Subprocess>> processes;
    double process_seconds = 0;  ///< all processes' wall time together
    double wall_seconds = 0;
    std::multiset<std::string> sent;
};

/// `cgi --batch` handles one request after another: a scheduler that is always busy.
void run_schedulers(TestProject& project, Schedulers& run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 1; i <= kSchedulers; ++i) {
        RunOptions options = project.run_options();
        options.stdin_text = requests_of_host(i);
        options.unset = {"REQUEST_METHOD", "GATEWAY_INTERFACE"};
        options.run_as = Role::kWeb;
        run.processes.push_back(std::make_unique<Subprocess>(
            std::vector<std::string>{sluice::test::binary_dir() + "/cgi-bin/cgi", "--batch"}, options));
    }
    for (int i = 1; i <= kSchedulers; ++i) {
        const auto result = run.processes[static_cast<std::size_t>(i - 1)]->wait(400);
        ASSERT_TRUE(result) << "scheduler " << i << " does not end";
        ASSERT_EQ(result->status, 0) << result->err;
        run.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        run.process_seconds += run.wall_seconds;
        const auto replies = elements(result->out, "scheduler_reply");
        EXPECT_EQ(replies.size(), static_cast<std::size_t>(kRequests));
        for (const std::string& reply : replies)
            for (const std::string& job : elements(reply, "result")) run.sent.insert(elements(job, "name").at(0));
    }
}

/// What the other test relies on.
TEST(Contention, TheServerCountsWaits) {
    TestProject project(PrivateMariaDb::shared(), "waits");
    project.store();
    const std::int64_t before = status(project.db(), "INNODB_ROW_LOCK_TIME");
    Database other(PrivateMariaDb::shared().settings("waits"));
    other.execute(Sql("SET SESSION innodb_lock_wait_timeout=1"));
    project.db().transaction([&] {
        project.db().execute(Sql("UPDATE user SET posts=7 WHERE id=1"));
        EXPECT_THROW(other.execute(Sql("UPDATE user SET posts=8 WHERE id=1")), DbError);
    });
    EXPECT_GT(status(project.db(), "INNODB_ROW_LOCK_TIME"), before + 500);
}

TEST(Contention, ThirtyTwoSchedulersHardlyWaitForOneAnother) {
    PrivateMariaDb server(syncing_mariadb());
    TestProject project(server, "contention", fmt::format("<shmem_work_items>{}</shmem_work_items>", kSlots));
    add_hosts(project);
    project.store();
    project.add_unsent_jobs(kJobs);
    project.start_feeder();

    const std::int64_t waited_before = status(project.db(), "INNODB_ROW_LOCK_TIME"),
                       waits_before = status(project.db(), "INNODB_ROW_LOCK_WAITS"),
                       syncs_before = status(project.db(), "INNODB_DATA_FSYNCS");
    ASSERT_GE(waited_before, 0);
    expect_it_syncs(project.db());
    Schedulers run;
    run_schedulers(project, run);
    const double waited = static_cast<double>(status(project.db(), "INNODB_ROW_LOCK_TIME") - waited_before) / 1000;
    const std::int64_t waits = status(project.db(), "INNODB_ROW_LOCK_WAITS") - waits_before;
    const std::int64_t syncs = status(project.db(), "INNODB_DATA_FSYNCS") - syncs_before;

    const ProjectConfig config = load_config(project.folder()).config;
    const auto array = JobArray::attach_read_only(job_array_name(config.shmem_key, config.project_dir));
    const auto stats = array->stats();
    fmt::print(
        "{} requests, {} jobs sent in {:.1f} s ({:.0f} requests/s; {:.1f} s of scheduler processes), {} syncs; {} "
        "row-lock waits, {:.3f} s ({:.4f} %); {} claims lost\n",
        kSchedulers * kRequests, run.sent.size(), run.wall_seconds, kSchedulers * kRequests / run.wall_seconds,
        run.process_seconds, syncs, waits, waited, 100 * waited / run.process_seconds, stats.claims_lost);
    RecordProperty("wall_seconds", std::to_string(run.wall_seconds));
    RecordProperty("syncs", std::to_string(syncs));
    RecordProperty("row_lock_wait_seconds", std::to_string(waited));
    RecordProperty("scheduler_seconds", std::to_string(run.process_seconds));
    EXPECT_GT(syncs, 0) << "nothing was synced";
    EXPECT_LT(waited, 0.01 * run.process_seconds);
    EXPECT_LT(stats.claims_lost, run.sent.size() / 10) << "schedulers run after the same slots";

    EXPECT_EQ(run.sent.size(), static_cast<std::size_t>(kSchedulers * kRequests * 3))
        << "everybody gets what was asked for";
    EXPECT_EQ(std::set<std::string>(run.sent.begin(), run.sent.end()).size(), run.sent.size())
        << "a job was sent twice";
    EXPECT_EQ(project.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")),
              static_cast<std::int64_t>(run.sent.size()));
    EXPECT_EQ(project.count(
                  Sql("SELECT COUNT(*) FROM result WHERE server_state=4 AND hostid BETWEEN 1 AND 32 AND sent_time>0")),
              static_cast<std::int64_t>(run.sent.size()));
    const bool refilled = eventually([&] {
        const auto now = array->stats();
        return now.present == kSlots && now.claimed == 0;
    });
    EXPECT_TRUE(refilled) << array->stats().present << " present, " << array->stats().claimed << " claimed";
    for (std::uint32_t i = 0; i < array->size(); ++i) {
        JobSummary job;
        SlotRef ref;
        if (array->read(i, job, ref) != SlotState::kPresent) continue;
        EXPECT_FALSE(run.sent.contains(fmt::format("wu_{}_0", job.workunit_id)))
            << "a job that was sent is in slot " << i;
    }
}

}  // namespace
}  // namespace sluice::test
