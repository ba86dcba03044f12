// SPDX-License-Identifier: LGPL-3.0-or-later
// Who is who: a computer that comes back is the same host, a copy of it is another one.
#include "tests/client/real/real_client.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;

class Identity : public RealClient {
  protected:
    std::int64_t hosts() {
        return world_.number(Sql("SELECT COUNT(*) FROM host WHERE userid=") << world_.user_id(name_));
    }
    void detach(Volunteer& v) {
        v.client().command({"--project", world_.url(), "detach"});
        ASSERT_TRUE(wait_until([&] { return v.count("<project>") == 0; })) << v.log();
    }
    void attach_again(Volunteer& v) {
        v.client().command({"--project_attach", world_.url(), key_});
        ASSERT_TRUE(wait_until([&] { return v.host_id() != 0; })) << v.log();
    }
};

TEST_F(Identity, AttachingAgainKeepsHostAndEndsItsJobs) {
    Volunteer v(world_, key_);
    v.client().alone_on_computer();
    v.attach();
    const Id host = v.host_id(), job = running_job(v, "detached");
    const std::string cpid = v.in_state("host_cpid");
    detach(v);
    attach_again(v);
    EXPECT_EQ(v.host_id(), host);
    EXPECT_EQ(v.in_state("host_cpid"), cpid);
    EXPECT_EQ(hosts(), 1);
    EXPECT_THAT(result(job, "server_state, outcome, received_time>0", 3), ElementsAre("5", "7", "1"));
    EXPECT_EQ(v.complaints(), "");
    world_.release("detached");
}

TEST_F(Identity, OneOfSeveralClientsGetsItsJobsBack) {
    Volunteer v(world_, key_);
    v.attach();
    const Id host = v.host_id(), job = running_job(v, "attached-again");
    detach(v);
    attach_again(v);
    EXPECT_EQ(v.host_id(), host);
    EXPECT_EQ(hosts(), 1);
    ASSERT_TRUE(v.update_until([&] { return running(v, job); })) << v.log();
    EXPECT_THAT(result(job, "server_state, outcome, hostid", 3), ElementsAre("4", "0", std::to_string(host)));
    world_.release("attached-again");
    EXPECT_TRUE(v.update_until([&] { return outcome(job) == 1; })) << v.log();
}

TEST_F(Identity, ANewInstallationIsTheSameHost) {
    Volunteer before(world_, key_);
    before.client().alone_on_computer();
    before.attach();
    const Id job = running_job(before, "new-client");
    before.client().stop();
    Volunteer after(world_, key_);  // a folder of its own: another host CPID, no host id
    after.client().alone_on_computer();
    after.attach();
    EXPECT_EQ(after.host_id(), before.host_id());
    EXPECT_NE(after.in_state("host_cpid"), before.in_state("host_cpid"));
    EXPECT_EQ(hosts(), 1);
    EXPECT_THAT(result(job, "server_state, outcome", 2), ElementsAre("5", "7"));
}

TEST_F(Identity, SeveralClientsOfOneComputerAreSeveralHosts) {
    Volunteer one(world_, key_), other(world_, key_);
    one.attach();
    const Id job = running_job(one, "several");
    other.attach();
    EXPECT_NE(one.host_id(), other.host_id());
    EXPECT_EQ(hosts(), 2);
    EXPECT_THAT(result(job, "server_state, hostid", 2), ElementsAre("4", std::to_string(one.host_id())));
    world_.release("several");
    EXPECT_TRUE(one.update_until([&] { return outcome(job) == 1; })) << one.log();
}

TEST_F(Identity, CopyOfClientBecomesHostOfItsOwn) {
    Volunteer original(world_, key_), copy(world_, key_);
    original.attach();
    const Id host = original.host_id();
    original.client().stop();
    copy.client().copy_folder_of(original.client());
    original.start();
    ASSERT_TRUE(original.one_more_rpc());
    ASSERT_TRUE(original.one_more_rpc());
    copy.start();
    EXPECT_EQ(copy.host_id(), host);
    ASSERT_TRUE(copy.update_until([&] { return copy.host_id() != host; })) << copy.log();
    EXPECT_NE(copy.in_state("host_cpid"), original.in_state("host_cpid"));
    ASSERT_TRUE(original.one_more_rpc());
    ASSERT_TRUE(copy.one_more_rpc());
    EXPECT_EQ(original.host_id(), host);
    EXPECT_EQ(hosts(), 2);
}

TEST_F(Identity, HostsThatWereMergedOnWebAreOne) {
    Volunteer v(world_, key_), other(world_, key_);
    v.attach();
    other.attach();
    other.client().stop();
    world_.db().execute(Sql("UPDATE host SET userid=0, rpc_seqno=") << other.host_id() << " WHERE id=" << v.host_id());
    ASSERT_TRUE(v.update_until([&] { return v.host_id() == other.host_id(); })) << v.log();
    EXPECT_EQ(hosts(), 1);
    EXPECT_EQ(v.complaints(), "");
}

TEST_F(Identity, AWeakKeyIsEnoughToCompute) {
    const Id user = world_.user_id(name_);
    const std::string weak =
        world_.text(Sql("SELECT CONCAT(id,'_',MD5(CONCAT(authenticator,passwd_hash))) FROM user WHERE id=") << user);
    const Id job = world_.add_job("wait /");
    Volunteer v(world_, weak);
    v.attach();
    ASSERT_TRUE(v.update_until([&] { return server_state(job) == 5; })) << v.log();
    EXPECT_THAT(result(job, "outcome, userid", 2), ElementsAre("1", std::to_string(user)));
}

}  // namespace
}  // namespace sluice::test
