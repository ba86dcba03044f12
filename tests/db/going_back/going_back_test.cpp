// SPDX-License-Identifier: LGPL-3.0-or-later
// db/going_back.sql, as docs/install.md has an admin run it before the old programs start again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "sluice/db/batch_plan_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/match/matcher.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using Table = std::vector<std::vector<std::string>>;

class GoingBack : public testing::Test {
  protected:
    GoingBack() : server_(PrivateMariaDb::shared()), db_(server_.create_project_database("back")) {
        add_app(1, 0);
        add_app(2, 1);
        add_app(3, 2);
    }
    void add_app(Id id, int homogeneous_redundancy) {
        App app;
        app.id = id;
        app.name = "app" + std::to_string(id);
        app.homogeneous_redundancy = static_cast<HrType>(homogeneous_redundancy);
        rows_.apps[id] = app;
    }
    Workunit& workunit(Id app) {
        const Id id = rows_.workunits.next_key();
        Workunit w;
        w.id = id;
        w.appid = app;
        w.name = "wu" + std::to_string(id);
        w.batch = 7;
        w.target_nresults = 2;
        w.max_total_results = 8;
        return rows_.workunits[id] = w;
    }
    Result& result(Id workunit, ServerState state) {
        const Id id = rows_.results.next_key();
        Result r;
        r.id = id;
        r.workunitid = workunit;
        r.name = "r" + std::to_string(id);
        r.server_state = state;
        return rows_.results[id] = r;
    }
    /// What the client prints: the table of what is left to do.
    std::string run_file(const std::string& before = "") {
        std::ifstream in(source_dir() + "/db/going_back.sql");
        RunOptions options;
        options.stdin_text = before + std::string{std::istreambuf_iterator<char>(in), {}};
        std::vector<std::string> client = server_.client_command();
        client.insert(client.end(), {"--batch", "back"});
        const RunResult result = run(client, options);
        EXPECT_EQ(result.status, 0) << result.err;
        return result.out;
    }
    PrivateMariaDb& server_;
    Database db_;
    FakeDb rows_;
};

TEST_F(GoingBack, AcceleratedJobsGetTheirPrioritiesAndTargetsBack) {
    workunit(1).priority = 0;
    workunit(1).priority = -5;
    workunit(1).priority = 9;  // never accelerated
    for (const Id wu : {1, 2, 3}) {
        for (const ServerState state : {ServerState::kUnsent, ServerState::kInProgress})
            result(wu, state).priority = rows_.workunits[wu].priority;
    }
    store_rows(db_, rows_);
    const Sql priorities("SELECT id, priority, target_nresults FROM workunit ORDER BY id");
    const Sql of_results("SELECT id, priority FROM result ORDER BY id");
    const Table before = rows_of(db_, priorities, 3), results_before = rows_of(db_, of_results, 2);

    const auto store = make_batch_accel_store(db_);
    store->prepare();
    AccelWrite write;
    write.batch = 7;
    write.now = 1000;
    write.mark = {1, 2};
    write.only_zero = false;
    write.mark_results = {1, 3};
    write.more = {{1, 2}};
    store->apply(write);
    ASSERT_EQ(rows_of(db_, priorities, 3), (Table{{"1", "1", "3"}, {"2", "1", "2"}, {"3", "9", "2"}}));
    // What the transitioner makes meanwhile inherits the raised priority.
    db_.execute(Sql("CREATE TEMPORARY TABLE made SELECT * FROM result WHERE id=3"));
    db_.execute(Sql("UPDATE made SET id=100, name='made', priority=1, create_time=2000"));
    db_.execute(Sql("INSERT INTO result SELECT * FROM made"));

    run_file();
    EXPECT_EQ(rows_of(db_, priorities, 3), before);
    Table expected = results_before;
    expected.push_back({"100", "-5"});
    EXPECT_EQ(rows_of(db_, of_results, 2), expected);
    run_file();  // again: nothing to change
    EXPECT_EQ(rows_of(db_, priorities, 3), before);
    EXPECT_EQ(rows_of(db_, of_results, 2), expected);
}

/// The classes that hosts of all kinds get.
std::set<int> classes(HrType type, int compat_level) {
    std::set<int> found;
    for (const char* os : {"Linux", "Linux Android", "Android", "Microsoft Windows 11", "Darwin", "FreeBSD", "SunOS"}) {
        for (const char* vendor : {"GenuineIntel", "AuthenticAMD", "Macintosh", "ARM", "Apple", "IBM"}) {
            for (const char* model : {"", "Apple M1", "ARMv8", "Core i7", "Xeon", "Athlon 64"}) {
                Host host;
                host.os_name = os;
                host.p_vendor = vendor;
                host.p_model = model;
                found.insert(hr_class(host, type, compat_level));
            }
        }
    }
    found.erase(0);
    return found;
}

TEST_F(GoingBack, WorkunitsOfClassesThatUpstreamLacksAreFreed) {
    std::set<std::string> lacking;
    for (const auto& [app, type] : {std::pair{Id{2}, HrType::kFine}, std::pair{Id{3}, HrType::kCoarse}}) {
        const std::set<int> known = classes(type, 0), ours = classes(type, 1);
        std::set<int> all = known;
        all.insert(ours.begin(), ours.end());
        for (const int hr : all) {
            Workunit& w = workunit(app);
            w.hr_class = hr;
            if (!known.contains(hr)) lacking.insert(std::to_string(w.id));
        }
    }
    ASSERT_GT(lacking.size(), 5U);
    ASSERT_LT(lacking.size(), rows_.workunits.size());
    store_rows(db_, rows_);
    EXPECT_EQ(run_file(), "");
    std::set<std::string> freed;
    for (const auto& row : rows_of(db_, Sql("SELECT id FROM workunit WHERE hr_class=0"), 1)) freed.insert(row[0]);
    EXPECT_EQ(freed, lacking);
}

TEST_F(GoingBack, WorkunitsOfSuchHostsKeepTheirClass) {
    constexpr int kAppleSilicon = 4 * 128 + 23;
    for (int i = 0; i < 5; ++i) workunit(2).hr_class = kAppleSilicon;
    result(1, ServerState::kInProgress);
    result(2, ServerState::kOver).outcome = Outcome::kSuccess;
    result(3, ServerState::kOver).outcome = Outcome::kClientError;
    result(4, ServerState::kUnsent);
    Result& invalid = result(5, ServerState::kOver);
    invalid.outcome = Outcome::kSuccess;
    invalid.validate_state = ValidateState::kInvalid;
    store_rows(db_, rows_);
    const std::string told = run_file();
    EXPECT_THAT(told, testing::HasSubstr("1\twu1\t535\n2\twu2\t535\n"));
    EXPECT_EQ(rows_of(db_, Sql("SELECT hr_class FROM workunit ORDER BY id"), 1),
              (Table{{"535"}, {"535"}, {"0"}, {"0"}, {"0"}}));
}

TEST_F(GoingBack, ProjectsHrTypeIsGivenByAdmin) {
    workunit(1).hr_class = 6 * 128 + 22;  // Android, coarse
    store_rows(db_, rows_);
    run_file();
    EXPECT_EQ(number_of(db_, Sql("SELECT hr_class FROM workunit")), 6 * 128 + 22);
    run_file("SET @project_hr = 2;\n");
    EXPECT_EQ(number_of(db_, Sql("SELECT hr_class FROM workunit")), 0);
}

/// The project stands still meanwhile: of millions of workunits only the open ones of such apps may be read.
TEST_F(GoingBack, WorkunitsWithoutSuchAClassAreNotRead) {
    constexpr int kMany = 2000, kOthers = 1500;
    for (int i = 0; i < kMany; ++i) workunit(1).hr_class = 4 * 128 + 23;  // its app has no classes
    for (int i = 0; i < kMany; ++i) {
        Workunit& done = workunit(2);
        done.hr_class = 4 * 128 + 23;
        done.assimilate_state = AssimilateState::kDone;
    }
    workunit(2).hr_class = 4 * 128 + 23;
    store_rows(db_, rows_);
    db_.query(Sql("ANALYZE TABLE workunit"));
    const Sql read(
        "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN "
        "('HANDLER_READ_NEXT','HANDLER_READ_RND_NEXT','HANDLER_READ_FIRST','HANDLER_READ_KEY')");
    const std::int64_t before = number_of(db_, read);
    run_file();
    EXPECT_LT(number_of(db_, read) - before, kOthers) << "information_schema is read, too";
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM workunit WHERE hr_class=0")), 1);
}

TEST_F(GoingBack, WhatIsNotDoneOfGangsIsCancelled) {
    for (int i = 0; i < 4; ++i) {
        workunit(1).transitioner_flags = TransitionerFlags::kNoNewResults;
        rows_.workunits.last().second.transition_time = kNever;
    }
    rows_.workunits[1].canonical_resultid = 9;
    rows_.workunits[2].error_mask = 1;
    workunit(1).transitioner_flags = TransitionerFlags::kNoNewResults;  // an assigned job, not of a gang
    store_rows(db_, rows_);
    const auto gangs = make_gang_store(db_);
    gangs->prepare();
    std::vector<GangJob> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back({{7, 0}, i, "wu" + std::to_string(i + 1)});
    gangs->define(jobs, 4);
    const std::string told = run_file();
    EXPECT_THAT(told, testing::HasSubstr("3\twu3\n4\twu4\n"));
    EXPECT_EQ(rows_of(db_, Sql("SELECT error_mask, transition_time<=UNIX_TIMESTAMP() FROM workunit ORDER BY id"), 2),
              (Table{{"0", "0"}, {"1", "0"}, {"16", "1"}, {"16", "1"}, {"0", "1"}}));
    EXPECT_EQ(run_file(), "");
}

TEST_F(GoingBack, NoTableOfOursIsLeft) {
    const Sql ours(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE "
        "'sluice\\_%'");
    const Sql all("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE()");
    const std::int64_t schema = number_of(db_, all);
    make_batch_accel_store(db_)->prepare();
    db_.execute(Sql("CREATE TABLE sluice_of_a_later_version (id integer)"));
    EXPECT_EQ(number_of(db_, ours), 4);  // sluice_marks, too: it has their version
    run_file();
    EXPECT_EQ(number_of(db_, ours), 0);
    EXPECT_EQ(number_of(db_, all), schema);
}

}  // namespace
}  // namespace sluice::test
