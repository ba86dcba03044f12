// SPDX-License-Identifier: LGPL-3.0-or-later
// Members of gangs: a host is told when to come, gets its job then, asked for or not, and nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/model/gang.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class GangJobs : public testing::Test {
  protected:
    GangJobs() : host(w.add_host()) {
        w.db.hosts[host].on_frac = w.db.hosts[host].active_frac = 1;
        const Id id = w.add_job([](Workunit& wu) {
            wu.rsc_fpops_est = 3.6e12;  // an hour of this host
            wu.transitioner_flags = TransitionerFlags::kNoNewResults;
            wu.transition_time = kNever;
        });
        member = w.db.results[id].workunitid;
        w.db.results.erase(id);
        w.pool.slots.clear();
    }
    void come_at(double start) { w.db.host_gang_starts[host] = static_cast<std::int64_t>(start); }
    RequestText request(double seconds) {
        RequestText r = asking(host, seconds);
        r.more = "<time_stats><on_frac>1</on_frac><active_frac>1</active_frac></time_stats>";
        return r;
    }
    std::string told(const ReplyText& reply) { return reply.value("next_rpc_delay"); }
    RpcWorld w;
    Id host, member = 0;
};

TEST_F(GangJobs, AHostIsToldWhenToCome) {
    EXPECT_EQ(told(w.send(request(0))), "");
    come_at(w.clock.now() + 480);
    const ReplyText early = w.send(request(0));
    EXPECT_NEAR(std::stod(told(early)), 480, 1);
    EXPECT_THAT(early.result_names(), IsEmpty());
    come_at(w.clock.now() - 30);
    EXPECT_NEAR(std::stod(told(w.send(request(0)))), 20, 1);
    come_at(w.clock.now() - 1000);
    EXPECT_EQ(told(w.send(request(0))), "") << "nobody plans any more";
    w.config.next_rpc_delay = 100;
    come_at(w.clock.now() + 480);
    EXPECT_NEAR(std::stod(told(w.send(request(0)))), 100, 1) << "the sooner of the two";
}

TEST_F(GangJobs, ItGetsItsJobWithoutAskingToo) {
    w.db.gang_leases[host].workunit = member;
    EXPECT_THAT(w.send(request(0)).result_names(), IsEmpty()) << "it is not to come";
    come_at(w.clock.now() + 300);
    EXPECT_THAT(w.send(request(10)).result_names(), IsEmpty()) << "not yet";
    come_at(w.clock.now() - 10);
    const ReplyText reply = w.send(request(0));
    EXPECT_THAT(reply.result_names(), SizeIs(1));
    // A client that would miss a deadline runs the job at once: half of an hour's run time. By a clock that nobody
    // knows, ten minutes later.
    EXPECT_NEAR(std::stod(reply.value("report_deadline")) - w.clock.now(), 1800 + 600, 3);
    EXPECT_TRUE(reply.has("<report_immediately/>"));
    ASSERT_THAT(w.db.results, SizeIs(1));
    const Result& r = w.db.results.begin()->second;
    EXPECT_EQ(r.workunitid, member);
    EXPECT_EQ(r.hostid, host);
    EXPECT_EQ(r.server_state, ServerState::kInProgress);
    EXPECT_NEAR(static_cast<double>(r.report_deadline) - w.clock.now(), 8 * 3600 + 3600, 3)
        << "as slow as a gang may be";

    // Once: also if it comes again before gang_planner has seen it.
    w.send(request(0));
    EXPECT_THAT(w.db.results, SizeIs(1));
}

/// A process proves to the hub which instance it is: one that was given up can't pass for the next.
TEST_F(GangJobs, AResentInstanceHasItsToken) {
    const std::string place(64, 'a');
    Workunit& wu = w.db.workunits[member];
    wu.batch = 7, wu.transitioner_flags = TransitionerFlags::kNoNewResults;
    wu.xml_doc =
        "<workunit>\n<command_line>--gang 7.0 --gang_token " + place + " --gang_hub h:1</command_line>\n</workunit>\n";
    w.db.gang_leases[host].workunit = member;
    come_at(w.clock.now() - 10);
    const std::string first = w.send(request(0)).text();
    ASSERT_THAT(w.db.results, SizeIs(1));
    const std::string token = gang_instance_token(place, gang_tag(w.db.results.begin()->second.name));
    EXPECT_THAT(first, testing::HasSubstr("--gang_token " + token + " --gang_hub"));
    EXPECT_THAT(first, testing::Not(testing::HasSubstr(place)));
    w.config.resend_lost_results = true;
    come_at(0);
    RequestText lost = request(1);
    lost.more += "<other_results></other_results>";
    const ReplyText again = w.send(lost);
    EXPECT_THAT(again.text(), testing::HasSubstr("--gang_token " + token + " --gang_hub"));
    EXPECT_NEAR(std::stod(again.value("report_deadline")) - w.clock.now(), 1800 + 600, 3) << "at once, as before";
    // However often: else a host that forgets it each time would keep the others waiting for ever.
    const std::int64_t given_up = w.db.results.begin()->second.report_deadline;
    w.clock.advance(600);
    w.send(lost);
    EXPECT_EQ(w.db.results.begin()->second.report_deadline, given_up);
}

/// A job's own words may look like that.
TEST_F(GangJobs, OnlyMembersHaveTheirTokensChanged) {
    Workunit wu;
    wu.batch = 7;
    wu.xml_doc = "<command_line>--gang 7.0 --gang_token " + std::string(64, 'a') + " --gang_hub h:1</command_line>";
    EXPECT_FALSE(is_gang_member(wu));
    wu.transitioner_flags = TransitionerFlags::kNoNewResults;
    EXPECT_TRUE(is_gang_member(wu));
    wu.batch = 8;
    EXPECT_FALSE(is_gang_member(wu));
    wu.xml_doc = "<command_line>--gang 8.0 --gang_token " + std::string(63, 'a') + "</command_line>";
    EXPECT_FALSE(is_gang_member(wu));
}

TEST_F(GangJobs, WhatIsCancelledMeanwhileIsNotSent) {
    w.db.gang_leases[host].workunit = member;
    come_at(w.clock.now());
    w.db.workunits[member].error_mask = kWuCancelled;
    EXPECT_THAT(w.send(request(0)).result_names(), IsEmpty());
    EXPECT_THAT(w.db.results, IsEmpty());
}

TEST_F(GangJobs, OnlyHostsToComeNowCostStatement) {
    w.db.gang_leases[host].workunit = member;
    int asked = 0;
    w.db.before = [&](const std::string& verb) { asked += verb == "assignments.load" ? 1 : 0; };
    w.send(request(0));
    come_at(w.clock.now() + 300);
    w.send(request(0));
    EXPECT_EQ(asked, 0);
    come_at(w.clock.now());
    w.send(request(0));
    EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace sluice::test
