// SPDX-License-Identifier: LGPL-3.0-or-later
// cancel_jobs on a real MariaDB: what it writes by range, name, pattern, batch and app, and what the transitioner makes
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/db/work_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class CancelJobs : public testing::Test {
  protected:
    CancelJobs() : db_(settings()) {
        truncate_all_tables(db_);
        project_.write("config.xml",
                       "<boinc><config>" + PrivateMariaDb::shared().config_elements("cancel") + "</config></boinc>");
        for (const Id id : {1, 2}) {
            rows_.apps[id].id = id;
            rows_.apps[id].name = "app" + std::to_string(id);
        }
        // Of each workunit a result in each state: inactive, unsent, in progress, over.
        for (Id id = 1; id <= 6; ++id) {
            Workunit& w = rows_.workunits[id];
            w.id = id, w.name = (id <= 4 ? "tile_" : "map_") + std::to_string(id), w.appid = id <= 3 ? 1 : 2;
            w.batch = id % 2 == 0 ? 7 : 0, w.transition_time = kLater;
            for (const int state : {1, 2, 4, 5}) {
                Result& r = rows_.results[id * 10 + state];
                r.id = id * 10 + state, r.workunitid = id, r.appid = w.appid, r.batch = w.batch;
                r.name = w.name + "_" + std::to_string(state), r.server_state = static_cast<ServerState>(state);
            }
        }
        store_rows(db_, rows_);
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("cancel");
        return made;
    }
    RunResult cancel(std::vector<std::string> words) {
        words.insert(words.begin(), std::string(SLUICE_BIN) + "/cancel_jobs");
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words, options);
    }
    std::vector<Id> cancelled() {
        std::vector<Id> ids;
        for (Rows r = db_.query(Sql("SELECT id FROM workunit WHERE error_mask=16 ORDER BY id")); r.next();)
            ids.push_back(r.i64(0));
        return ids;
    }
    static constexpr std::int64_t kLater = 2147483647;

    FakeDb rows_;
    TempDir project_;
    Database db_;
};

// As upstream's program leaves the rows: unsent and inactive results are over and not needed, those on hosts stay.
TEST_F(CancelJobs, ARangeEndsWhatWasNotSent) {
    const RunResult r = cancel({"2", "3"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "2 workunits cancelled; 4 results will not be sent; hosts will abort 2 in progress\n");
    EXPECT_EQ(cancelled(), (std::vector<Id>{2, 3}));
    const FakeDb after = load_rows(db_);
    for (const Id id : {2, 3}) {
        EXPECT_LT(after.workunits.at(id).transition_time, kLater) << "the transitioner looks at it now";
        for (const int state : {1, 2}) {
            EXPECT_EQ(after.results.at(id * 10 + state).server_state, ServerState::kOver);
            EXPECT_EQ(after.results.at(id * 10 + state).outcome, Outcome::kDidntNeed);
        }
        EXPECT_EQ(after.results.at(id * 10 + 4).server_state, ServerState::kInProgress);
        EXPECT_EQ(after.results.at(id * 10 + 5).outcome, rows_.results.at(id * 10 + 5).outcome);
    }
    EXPECT_EQ(after.results.at(12).server_state, ServerState::kUnsent);
    EXPECT_EQ(after.workunits.at(1).transition_time, kLater);
    EXPECT_EQ(cancel({"2", "3"}).status, 0) << "it may be repeated";
    EXPECT_EQ(cancelled(), (std::vector<Id>{2, 3}));
}

TEST_F(CancelJobs, WhatIsSaidMustAllBeTrue) {
    ASSERT_EQ(cancel({"--name", "tile_1"}).status, 0);
    EXPECT_EQ(cancelled(), (std::vector<Id>{1}));
    ASSERT_EQ(cancel({"--app", "app2", "--name_like", "map%"}).status, 0);
    EXPECT_EQ(cancelled(), (std::vector<Id>{1, 5, 6}));
    ASSERT_EQ(cancel({"--batch", "7", "1", "3"}).status, 0);
    EXPECT_EQ(cancelled(), (std::vector<Id>{1, 2, 5, 6}));
    EXPECT_EQ(cancel({"--name", "tile' OR '1'='1"}).status, 1);
    EXPECT_EQ(cancelled(), (std::vector<Id>{1, 2, 5, 6}));
}

TEST_F(CancelJobs, HostsThatAreNotToldAreNamed) {
    const std::string line = "cancel_jobs: hosts abort results only with <send_result_abort> in config.xml\n";
    EXPECT_EQ(cancel({"2", "3"}).err, line);
    project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("cancel") +
                                     "<send_result_abort/></config></boinc>");
    EXPECT_EQ(cancel({"4", "5"}).err, "");
}

TEST_F(CancelJobs, DoneJobsOfAnAppStay) {
    db_.execute(Sql("UPDATE workunit SET canonical_resultid=15 WHERE id=1"));
    ASSERT_EQ(cancel({"--app", "app1"}).status, 0);
    EXPECT_EQ(cancelled(), (std::vector<Id>{2, 3}));
    ASSERT_EQ(cancel({"1", "1"}).status, 0);
    EXPECT_EQ(cancelled(), (std::vector<Id>{1, 2, 3})) << "a range means all, as with upstream's program";
}

// Scripts cancel ranges of which db_purge has taken all: no error with upstream's program.
TEST_F(CancelJobs, AnEmptyRangeIsNoError) {
    const RunResult r = cancel({"1000", "2000"});
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "cancel_jobs: no workunit is meant by that\n");
    EXPECT_EQ(cancel({"--app", "app1", "1000", "2000"}).status, 1);
    EXPECT_TRUE(cancelled().empty());
}

TEST_F(CancelJobs, ADryRunCountsAndWritesNothing) {
    const RunResult r = cancel({"--app", "app1", "--dry_run"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("3 workunits would be cancelled; 6 unsent results; 3 in progress"));
    EXPECT_TRUE(cancelled().empty());
}

TEST_F(CancelJobs, WrongWordsAreOneLine) {
    for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                   {"5"},
                                                                   {"5", "x"},
                                                                   {"5", "4"},
                                                                   {"0", "4"},
                                                                   {"1", "2", "3"},
                                                                   {"--name", "nobody"},
                                                                   {"--app", "nothing"},
                                                                   {"--batch", "99"}}) {
        const RunResult r = cancel(words);
        EXPECT_EQ(r.status, 1) << (words.empty() ? "" : words[0]);
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
    EXPECT_TRUE(cancelled().empty());
}

TEST_F(CancelJobs, ManyWorkunitsGoPageByPage) {
    for (Id id = 100; id < 650; ++id) {
        Workunit& w = rows_.workunits[id];
        w.id = id, w.name = "many_" + std::to_string(id), w.appid = 1;
    }
    truncate_all_tables(db_);
    store_rows(db_, rows_);
    EXPECT_THAT(cancel({"--name_like", "many%"}).out, HasSubstr("550 workunits cancelled"));
    EXPECT_EQ(cancelled().size(), 550U);
}

}  // namespace
}  // namespace sluice::test
