// SPDX-License-Identifier: LGPL-3.0-or-later
// With batch_planner: the first job of a new stream goes out within minutes, and no job of a batch that sluice_batch
// submit is filling goes out before the batch is planned. Every program is real; a host is played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sluice/base/files.h"
#include "sluice/db/catalogue_store.h"
#include "tests/support/project_rows.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class NewStream : public testing::Test {
  protected:
    NewStream()
        : p(PrivateMariaDb::shared(), "new_stream",
            "<compat_level>1</compat_level><dont_generate_upload_certificates>1</dont_generate_upload_certificates>"
            "<min_sendwork_interval>0</min_sendwork_interval><upload_url>http://x/fuh</upload_url>") {
        p.store();
        write_file_atomically(p.folder() / "templates/up_in", "<workunit></workunit>");
        write_file_atomically(p.folder() / "templates/up_out", kOutputTemplate);
        p.start("transitioner", {"--sleep_interval", "1"});
        p.start("batch_planner");
        EXPECT_TRUE(eventually([&] {
            return number(
                       "SELECT COUNT(*) FROM information_schema.TABLES WHERE "
                       "TABLE_SCHEMA=DATABASE() AND TABLE_NAME='sluice_plan_submission'") == 1 &&
                   number("SELECT COUNT(*) FROM sluice_plan") == 1;
        }));
        p.start_feeder();
    }
    std::int64_t number(SqlLiteral sql) { return number_of(p.db(), Sql(sql)); }
    Id make_batch() {
        const RunResult r = p.run_program("sluice_batch", {"create", "--user", "1", "--app", "up"});
        EXPECT_EQ(r.status, 0) << r.err;
        return std::stoll(r.out);
    }
    void ok(const std::string& program, const std::vector<std::string>& args) {
        const RunResult r = p.run_program(program, args);
        EXPECT_EQ(r.status, 0) << r.out << r.err;
    }
    std::size_t jobs_of_a_request() {
        // What it has is no reason to ask again.
        const RunResult r = p.rpc(work_request(0, 1, 10, "", 4, "host" + std::to_string(++hosts_)));
        EXPECT_THAT(r.out, HasSubstr("<scheduler_reply>"));
        return elements(r.out, "result").size();
    }
    bool is_sendable(Id batch) {
        return number_of(p.db(), Sql("SELECT COUNT(*) FROM result WHERE server_state=2 AND batch=") << batch) > 0;
    }
    TestProject p;
    int hosts_ = 0;
};

// It was six minutes: a batch that is new counted as one that is being submitted.
TEST_F(NewStream, ItsFirstJobGoesOutWithinThreeMinutes) {
    const Id stream = make_batch();
    const auto begun = std::chrono::steady_clock::now();
    ok("create_work", {"--appname", "up", "--batch", std::to_string(stream)});
    ASSERT_TRUE(eventually([&] { return jobs_of_a_request() > 0; }, 600));
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
    EXPECT_LT(waited.count(), 300) << "a minute, the plan's, the feeder's, and what the programs take";
    RecordProperty("seconds", static_cast<int>(waited.count()));
    std::printf("the first job of a stream went out after %.1f s\n", waited.count());
}

TEST_F(NewStream, BatchBeingSubmittedIsSpreadToNobody) {
    const Id batch = make_batch();
    std::string lines;
    for (int i = 0; i < 1000; ++i) lines += "--rsc_fpops_est 1e12\n";
    const std::filesystem::path jobs = p.folder() / "jobs";
    write_file_atomically(jobs, lines + "--no_such_option\n");  // it stops after the first thousand
    EXPECT_NE(p.run_program("sluice_batch", {"submit", std::to_string(batch), jobs.string()}).status, 0);
    ASSERT_TRUE(eventually([&] { return is_sendable(batch); }));
    std::filesystem::path trigger = p.folder() / "reread_db";
    write_file_atomically(trigger, "");  // whatever tables the feeder reads
    ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(trigger); }));
    for (int request = 0; request < 3; ++request) EXPECT_EQ(jobs_of_a_request(), 0u);
    // Mended and given again: it is planned, and its jobs go out.
    write_file_atomically(jobs, lines + "--rsc_fpops_est 1e12\n");
    ok("sluice_batch", {"submit", std::to_string(batch), jobs.string()});
    EXPECT_TRUE(eventually([&] { return jobs_of_a_request() > 0; }));
    EXPECT_EQ(number("SELECT COUNT(*) FROM sluice_plan_submission"), 0);
}

}  // namespace
}  // namespace sluice::test
