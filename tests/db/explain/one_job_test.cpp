// SPDX-License-Identifier: LGPL-3.0-or-later
// sched_explain --job: where a job stands that somebody asks about, and what would become of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

nlohmann::json explain_json(const Planted& planted, std::vector<std::string> args = {"--request", "request.xml"}) {
    return nlohmann::json::parse(explained(planted, std::move(args)));
}

TEST(Explain, AJobInTheArrayIsJudgedAlone) {
    Planted p;
    p.another_job().rsc_disk_bound = 1e12;
    p.store();
    for (const char* job : {"2", "wu_2_2"}) {
        const auto j = explain_json(p, {"--host", "1", "--job", job});
        EXPECT_EQ(j["job"]["in_array"], true);
        EXPECT_EQ(j["binding"], "disk");
        ASSERT_EQ(j["jobs"].size(), 1u);
        EXPECT_EQ(j["jobs"][0]["result"], 2);
    }
}

struct Standing {
    const char* name;
    Sql change;
    const char* says;
    const char* binding;  ///< null: it would be sent if it were unsent
};

TEST(Explain, AJobOutsideTheArrayIsJudged) {
    const Standing cases[] = {
        {"inactive", Sql("UPDATE result SET server_state=1 WHERE id=2"),
         "inactive, waits for size_regulator --app_name up", nullptr},
        {"in_progress", Sql("UPDATE result SET server_state=4,hostid=9,report_deadline=12345 WHERE id=2"),
         "in progress on HOST#9, due at 1970-01-01 03:25:45 UTC", nullptr},
        {"over", Sql("UPDATE result SET server_state=5,outcome=3 WHERE id=2"), "over, outcome: error on the host",
         nullptr},
        {"not_read_yet", Sql("UPDATE result SET priority=0 WHERE id=2"), "unsent, not in the array: there is room",
         nullptr},
        {"assigned", Sql("UPDATE workunit SET transitioner_flags=2 WHERE id=2"),
         "unsent, not in the array: its workunit is meant for certain hosts", nullptr},
        {"cancelled", Sql("UPDATE workunit SET error_mask=16 WHERE id=2"), "its workunit was cancelled",
         "workunit_error"},
        {"done", Sql("UPDATE workunit SET canonical_resultid=7 WHERE id=2"), "has a canonical result already",
         "workunit_done"},
        {"too_large", Sql("UPDATE workunit SET rsc_memory_bound=1e12 WHERE id=2"), "unsent, not in the array",
         "memory"},
    };
    for (const Standing& c : cases) {
        SCOPED_TRACE(c.name);
        Planted p;
        p.another_job();
        p.rows.results[2].server_state = ServerState::kInactive;
        p.store();
        p.world().db().execute(Sql("UPDATE result SET server_state=2 WHERE id=2"));
        p.world().db().execute(c.change);
        const auto j = explain_json(p, {"--host", "1", "--job", "2"});
        EXPECT_EQ(j["job"]["in_array"], false);
        EXPECT_THAT(j["job"]["standing"].get<std::string>(), HasSubstr(c.says));
        if (c.binding != nullptr)
            EXPECT_EQ(j["binding"], c.binding) << j.dump(1);
        else
            EXPECT_EQ(j["would_send"], 1) << j.dump(1);
        ASSERT_EQ(j["jobs"].size(), 1u) << j.dump(1);
        EXPECT_TRUE(j["jobs"][0]["slot"].is_null());
    }
}

TEST(Explain, JobDoesNotBlockItselfOnItsHost) {
    for (const char* rule : {"one_result_per_user_per_wu", "one_result_per_host_per_wu"}) {
        SCOPED_TRACE(rule);
        Planted p;
        p.config = fmt::format("<{}/>", rule);
        Result another = p.in_progress(1);  // result 2
        another.id = 3;
        another.name = "another";
        another.server_state = ServerState::kUnsent;
        another.hostid = another.userid = 0;
        p.rows.results[3] = another;
        p.store();
        const auto own = explain_json(p, {"--host", "1", "--job", "2"});
        EXPECT_EQ(own["would_send"], 1) << own.dump(1);
        EXPECT_THAT(own["job"]["standing"].get<std::string>(), HasSubstr("in progress on HOST#1"));
        EXPECT_EQ(explain_json(p, {"--host", "1", "--job", "3"})["binding"],
                  std::string(rule).substr(0, std::string(rule).size() - 7));
    }
}

/// A limit that is reached before any job is looked at is said of each job, of one that is asked about too.
TEST(Explain, LimitForAllJobsAnswersEachOfThem) {
    Planted p;
    p.user().project_prefs = "<project_preferences><max_jobs>1</max_jobs></project_preferences>";
    p.in_progress(1);
    p.another_job().rsc_memory_bound = 1e12;
    p.store();
    const auto all = explain_json(p);
    ASSERT_EQ(all["jobs"].size(), 2u) << all.dump(1);
    for (const auto& job : all["jobs"]) {
        EXPECT_EQ(job["fate"], "user_job_limit");
        EXPECT_EQ(job["refusal"]["value"], 1);
        EXPECT_EQ(job["refusal"]["required"], 1);
    }
    for (const char* job : {"1", "2"}) {  // the second is in progress: it is not in the array
        const auto one = explain_json(p, {"--host", "1", "--job", job});
        ASSERT_EQ(one["jobs"].size(), 1u) << one.dump(1);
        EXPECT_EQ(one["jobs"][0]["fate"], "user_job_limit");
        EXPECT_EQ(one["binding"], "user_job_limit");
    }
}

}  // namespace
}  // namespace sluice::test
