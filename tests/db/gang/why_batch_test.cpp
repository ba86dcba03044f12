// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_batch why, on a project with a feeder: what stands in the way of each kind of batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "sluice/json/input.h"
#include "tests/support/paths.h"
#include "tests/support/test_project.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr const char* kRules = "<share_rule>settled</share_rule><plan_batches>1</plan_batches>";

class WhyBatch : public testing::Test {
  protected:
    WhyBatch() : project(PrivateMariaDb::shared(), "why", kRules) {
        for (Id id = 1; id <= 3; ++id) {
            Host& h = project.rows().hosts[id];
            h.id = id;
            h.userid = 1;
            h.host_cpid = "h" + std::to_string(id) + "cpid";
            h.rpc_time = std::time(nullptr) - (id == 3 ? 2 * 86400 : 1500);
            h.on_frac = h.active_frac = 0.99;
            h.p_fpops = 1e9, h.p_iops = 1e9;
            h.p_ncpus = 4;
            h.os_name = "Linux Debian";
            h.p_vendor = "GenuineIntel";
            h.m_nbytes = id == 1 ? 1e9 : 64e9;
            h.d_total = h.d_free = 1e12;
        }
        project.store();
        write("templates/up_in", "<workunit><rsc_memory_bound>8e9</rsc_memory_bound></workunit>");
        write("templates/up_out", "<result>\n</result>");
        write("jobs", "--rsc_fpops_est 1e12\n");
    }
    void write(const std::string& name, const std::string& text) { std::ofstream(project.folder() / name) << text; }
    std::string run_ok(const std::string& program, const std::vector<std::string>& words) {
        const RunResult r = project.run_program(program, words);
        EXPECT_EQ(r.status, 0) << program << ": " << r.out << r.err;
        return r.out;
    }
    std::string create() {
        return std::to_string(std::stoll(run_ok("sluice_batch", {"create", "--user", "1", "--app", "up"})));
    }
    std::string submit() {
        const std::string id = create();
        run_ok("sluice_batch", {"submit", id, (project.folder() / "jobs").string()});
        project.db().execute(Sql("UPDATE workunit SET transition_time=1"));  // it looks at seconds that have passed
        run_ok("transitioner", {"--one_pass"});
        return id;
    }
    json::Object why(const std::string& id) {
        return json::parse(run_ok("sluice_batch", {"why", id, "--json"}), "why");
    }
    TestProject project;
};

TEST_F(WhyBatch, ShowsPlacePlanAndRefusedHosts) {
    run_ok("sluice_batch", {"quota", "--user", "1", "--set", "1"});
    const std::string id = submit();
    EXPECT_THAT(run_ok("sluice_batch", {"why", id}), HasSubstr("batch_planner has not made a plan yet"));
    EXPECT_THAT(run_ok("sluice_batch", {"show", id}), HasSubstr("not known: batch_planner has not made a plan yet"));
    run_ok("batch_planner", {"--one_pass"});
    // Without a feeder the rest is said all the same.
    EXPECT_THAT(why(id).object("hosts").text("note"), HasSubstr("why hosts get none can't be said: "));
    project.start_feeder();
    const json::Object w = why(id);
    EXPECT_EQ(w.object("place").number("number"), 1);
    EXPECT_EQ(w.object("place").number("of"), 1);
    EXPECT_EQ(w.object("plan").number("jobs"), 1);
    EXPECT_GT(w.number("eta"), 0);
    const json::Object hosts = w.object("hosts");
    EXPECT_EQ(hosts.number("asked_in_24_hours"), 2);
    EXPECT_EQ(hosts.number("judged"), 2);
    EXPECT_EQ(hosts.number("jobs_in_array"), 1);
    EXPECT_EQ(hosts.number("would_get"), 1);
    ASSERT_EQ(hosts.objects("refusals").size(), 1u);
    EXPECT_EQ(hosts.objects("refusals").at(0).text("reason"), "memory");
    EXPECT_EQ(project.count(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 0) << "nothing was sent";
    project.rpc(work_request(2, 5, 1000, "", 4, "h2"));
    EXPECT_EQ(why(id).object("hosts").number("got_jobs"), 1);
    EXPECT_THAT(run_ok("sluice_batch", {"why", id}), HasSubstr("the job array holds no job of this batch"));
}

TEST_F(WhyBatch, StreamsFinishedAndUnknownBatches) {
    project.start_feeder();
    const std::string id = create();
    EXPECT_THAT(run_ok("sluice_batch", {"why", id}), HasSubstr("it has no jobs yet"));
    run_ok("create_work", {"--appname", "up", "--batch", id, "--rsc_fpops_est", "1e12"});
    const std::string text = run_ok("sluice_batch", {"why", id});
    EXPECT_THAT(text, HasSubstr("new (a stream)"));
    EXPECT_THAT(text, HasSubstr("user 1 has no quota; sluice_batch quota --user 1 --set 1 gives one"));
    EXPECT_THAT(text, HasSubstr("it is a stream"));
    EXPECT_EQ(project.count(Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND "
                                "TABLE_NAME LIKE 'sluice_share%'")),
              0)
        << "who asks makes no table";
    run_ok("sluice_batch", {"abort", id});
    EXPECT_THAT(run_ok("sluice_batch", {"why", id}), HasSubstr("none: it is aborted"));
    project.set_options("");
    EXPECT_THAT(why(submit()).text("place_text"), HasSubstr("<share_rule> is off"));
    const RunResult unknown = project.run_program("sluice_batch", {"why", "99"});
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.err, HasSubstr("batch 99: there is no such batch"));
    EXPECT_EQ(project.run_program("sluice_batch", {"why"}).status, 1);
}

}  // namespace
}  // namespace sluice::test
