// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs that a real client lost, and jobs that the server gave up.
#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using LostJobs = RealClient;

TEST_F(LostJobs, JobsThatTheServerGaveUpAreAborted) {
    const std::string until = world_.control_file("give-up");
    const Id cancelled = world_.add_job("wait " + until);
    Volunteer v(world_, key_);
    v.client().want_work_for(0.5);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return running(v, cancelled); })) << v.log();
    const Id finished_elsewhere = world_.add_job("wait " + until);
    ASSERT_TRUE(v.update_until([&] { return v.state_of_task(job_name(finished_elsewhere)) != ""; })) << v.log();
    // An unstarted job whose workunit is done is taken back; a running one only if it was cancelled.
    world_.db().execute(Sql("UPDATE workunit SET assimilate_state=2, canonical_resultid=id WHERE id=")
                        << finished_elsewhere);
    ASSERT_TRUE(v.update_until([&] { return server_state(finished_elsewhere) == 5; })) << v.log();
    EXPECT_THAT(result(finished_elsewhere, "outcome, client_state, exit_status", 3), ElementsAre("3", "6", "202"));
    EXPECT_TRUE(running(v, cancelled));
    world_.db().execute(Sql("UPDATE workunit SET error_mask=error_mask|16 WHERE id=") << cancelled);
    ASSERT_TRUE(v.update_until([&] { return server_state(cancelled) == 5; })) << v.log();
    EXPECT_THAT(result(cancelled, "outcome, client_state, exit_status", 3), ElementsAre("3", "6", "202"));
    EXPECT_TRUE(wait_until([&] { return v.count("<result>") == 0; }));
    EXPECT_EQ(v.complaints(), "");
}

TEST_F(LostJobs, RunningJobWhoseWorkunitIsDoneMayEnd) {
    const Id job = world_.add_job("wait " + world_.control_file("assimilated"));
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
    world_.db().execute(Sql("UPDATE workunit SET assimilate_state=2, canonical_resultid=id WHERE id=") << job);
    ASSERT_TRUE(v.one_more_rpc());
    EXPECT_TRUE(running(v, job)) << v.log();
    world_.release("assimilated");
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    // Not aborted. (This client reports a job that nobody needs without waiting for its upload.)
    EXPECT_THAT(result(job, "client_state IN (4,5), exit_status", 2), ElementsAre("1", "0"));
    EXPECT_THAT(result(job, "stderr_out", 1).front(), HasSubstr("copied"));
}

TEST_F(LostJobs, LostJobsAreSentAgain) {
    const Id job = world_.add_job("wait " + world_.control_file("resend"));
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
    const std::string sent = result(job, "hostid", 1).front(), deadline = result(job, "report_deadline", 1).front();
    const Id host = v.host_id();
    // A volunteer presses "reset project": all jobs are gone, and the client does not say which.
    v.client().command({"--project", world_.url(), "reset"});
    ASSERT_TRUE(wait_until([&] { return v.count("<result>") == 0; }));
    ASSERT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
    EXPECT_EQ(v.host_id(), host);
    EXPECT_TRUE(v.said("Resent lost task " + job_name(job))) << v.log();
    EXPECT_THAT(result(job, "server_state, hostid, outcome", 3), ElementsAre("4", sent, "0"));
    EXPECT_GE(std::stoll(result(job, "report_deadline", 1).front()), std::stoll(deadline));
    world_.release("resend");
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_EQ(outcome(job), 1);
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM result WHERE workunitid=") << job), 1);
}

TEST_F(LostJobs, JobsWhoseStateClientLostAreSentAgain) {
    const Id job = world_.add_job("wait " + world_.control_file("state-lost"));
    Volunteer v(world_, key_);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
    const pid_t client = v.client().pid();
    EXPECT_FALSE(shared_memory_made_by(client).empty());
    v.client().kill();
    EXPECT_TRUE(shared_memory_made_by(client).empty());
    v.client().forget_jobs();
    v.start();
    ASSERT_TRUE(v.update_until([&] { return v.said("Resent lost task " + job_name(job)); })) << v.log();
    EXPECT_EQ(server_state(job), 4);
    world_.release("state-lost");
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_EQ(outcome(job), 1);
}

}  // namespace
}  // namespace sluice::test
