// SPDX-License-Identifier: LGPL-3.0-or-later
// Two schedulers, or a scheduler and another daemon, at the same rows of a real database. One program is stopped at a
// named point (SLUICE_PAUSE_AT), the other one runs, then the first goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "sluice/base/hash.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

RequestText asking(Id host, double seconds, int seqno = 1) {
    RequestText r;
    r.hostid = host;
    r.seqno = seqno;
    r.work_seconds = seconds;
    return r;
}

/// Starts an RPC, waits until it stands at `point`, does `meanwhile`, lets it go on.
ReplyText interrupted(SchedulerWorld& world, const RequestText& request, const std::string& point,
                      const std::function<void()>& meanwhile) {
    const std::string gate = world.gate().string();
    auto rpc = world.start(request, {{"SLUICE_PAUSE_AT", point + ":" + gate}});
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(gate) || !rpc->running(); })) << "never got there";
    EXPECT_TRUE(rpc->running()) << rpc->err() << world.log();
    meanwhile();
    // It may come by this point again (a second attempt): the gate stays open from now on.
    std::filesystem::remove(gate);
    eventually([&] {
        std::filesystem::remove(gate);
        return !rpc->running();
    });
    ReplyText reply{rpc->wait().value()};
    EXPECT_EQ(reply.malformed(), "");
    return reply;
}

/// INNODB_TRX shows nothing to the project's account.
bool somebody_waits_for_a_row(SchedulerWorld& world) {
    return world.number(Sql("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "
                            "VARIABLE_NAME='INNODB_ROW_LOCK_CURRENT_WAITS'")) > 0;
}

TEST(Race, TwoSchedulersWantTheSameJob) {
    SchedulerWorld world;
    const Id a = world.add_host(), b = world.add_host();
    world.add_jobs(1);
    world.start_feeder(10);
    ReplyText second;
    const ReplyText first = interrupted(world, asking(a, 5), "decided", [&] { second = world.send(asking(b, 5)); });
    EXPECT_THAT(first.result_names(), SizeIs(1));
    EXPECT_THAT(second.result_names(), IsEmpty());
    EXPECT_EQ(second.malformed(), "");
    EXPECT_EQ(world.number(Sql("SELECT hostid FROM result")), a);
}

TEST(Race, JobCancelledWhileItIsBeingSent) {
    SchedulerWorld world;
    world.db().execute(Sql("UPDATE app SET homogeneous_redundancy=2"));
    const Id host = world.add_host();
    world.add_jobs(3);
    world.start_feeder(10);
    const ReplyText reply = interrupted(world, asking(host, 25), "decided", [&] {
        world.db().execute(Sql("UPDATE result SET server_state=5,outcome=5 WHERE id=2"));
    });
    EXPECT_THAT(reply.result_names(), SizeIs(2));
    EXPECT_EQ(world.number(Sql("SELECT hr_class FROM workunit WHERE id=2")), 0) << "rolled back with the rest";
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM workunit WHERE hr_class=258")), 2);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 2);
    EXPECT_EQ(world.number(Sql("SELECT n_jobs_today FROM host_app_version")), 2);
}

TEST(Race, OneInstancePerUserHoldsAcrossHosts) {
    SchedulerWorld world("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    const Id a = world.add_host(), b = world.add_host();
    world.add_jobs(1, 2);  // two instances of one workunit
    world.start_feeder(10);
    ReplyText second;
    const ReplyText first = interrupted(world, asking(a, 5), "decided", [&] { second = world.send(asking(b, 5)); });
    EXPECT_EQ(first.result_names().size() + second.result_names().size(), 1u);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 1);
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);
}

TEST(Race, OneInstancePerUserWaitsForOpenTransaction) {
    SchedulerWorld world("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    const Id a = world.add_host(), b = world.add_host();
    world.add_jobs(1, 2);
    world.start_feeder(10);
    Database first(PrivateMariaDb::shared().settings(rows_of(world.db(), Sql("SELECT DATABASE()"), 1)[0][0]));
    std::unique_ptr<Subprocess> other;
    first.transaction([&] {  // what a request of the same user does
        first.execute(Sql("UPDATE workunit SET transition_time=transition_time-1"));
        first.execute(Sql("UPDATE result SET server_state=4,userid=1,sent_time=1,hostid=") << a << " WHERE id=1");
        other = world.start(asking(b, 5));  // must wait for the workunit's lock, then see the first one's instance
        EXPECT_TRUE(eventually([&] { return somebody_waits_for_a_row(world); })) << other->err();
    });
    const ReplyText second{other->wait().value()};
    EXPECT_EQ(second.malformed(), "");
    EXPECT_THAT(second.result_names(), IsEmpty());
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 1);
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);
}

TEST(Race, ClaimedJobsReturnWhileARequestWaits) {
    SchedulerWorld world;
    const Id other_user = world.add_user("bob", "bobs_key");
    const Id a = world.add_host(), b = world.add_host(other_user);
    world.add_jobs(1);
    world.start_feeder(10);
    Rows name = world.db().query(Sql("SELECT DATABASE()"));
    ASSERT_TRUE(name.next());
    Database blocker(PrivateMariaDb::shared().settings(name.text(0)));
    std::unique_ptr<Subprocess> waiting;
    blocker.transaction([&] {
        blocker.query(Sql("SELECT id FROM host WHERE id=1 FOR UPDATE"));
        waiting = world.start(asking(a, 5));
        ASSERT_TRUE(eventually([&] { return somebody_waits_for_a_row(world); })) << waiting->err();
        EXPECT_EQ(world.slots(SlotState::kClaimed), 1);
        RequestText request = asking(b, 5);
        request.authenticator = "bobs_key";
        EXPECT_TRUE(eventually([&] {
            ++request.seqno;
            return world.send(request).result_names().size() == 1 || !waiting->running();
        }));
        EXPECT_TRUE(waiting->running()) << "it has not given up, and the lock is held still";
    });
    const ReplyText reply{waiting->wait().value()};
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_FALSE(reply.has("<project_is_down/>"));
    EXPECT_EQ(world.number(Sql("SELECT hostid FROM result")), b);
    EXPECT_EQ(world.number(Sql("SELECT rpc_time>0 FROM host WHERE id=1")), 1) << "it was answered in the end";
}

TEST(Race, TwoRequestsOfOneHost) {
    SchedulerWorld world;
    const Id host = world.add_host();
    world.add_jobs(4);
    world.start_feeder(10);
    ReplyText second;
    const ReplyText first =
        interrupted(world, asking(host, 5, 1), "decided", [&] { second = world.send(asking(host, 5, 2)); });
    std::set<std::string> names;
    for (const auto& reply : {first, second})
        for (const std::string& name : reply.result_names()) EXPECT_TRUE(names.insert(name).second) << "sent twice";
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")),
              static_cast<std::int64_t>(names.size()));
    EXPECT_EQ(world.slots(SlotState::kPresent), 4 - static_cast<int>(names.size()));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5")), 0)
        << "the overtaken request is not taken for a machine that came back without its jobs";
    EXPECT_THAT(first.messages(), testing::Contains("Another scheduler instance is running for this host"));
}

/// Both are of one second, with one number: what the first one read still seems to stand there when it writes.
TEST(Race, SimultaneousRequestsNeverCommitOnOneState) {
    SchedulerWorld world;
    const Id host = world.add_host(1, 1);
    world.add_jobs(4);
    world.rows.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 2, 0, {}, 0};
    world.store();
    world.start_feeder(10);
    world.db().execute(Sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP(),rpc_seqno=1"));
    const std::int64_t second_of_both = world.number(Sql("SELECT rpc_time FROM host"));
    RequestText request = asking(host, 15, 1);
    request.ncpus = 1;
    ReplyText second;
    const ReplyText first = interrupted(world, request, "decided", [&] {
        second = world.send(request);
        Sql same("UPDATE host SET rpc_seqno=1,rpc_time=");
        world.db().execute(same << second_of_both);
    });
    EXPECT_THAT(second.result_names(), SizeIs(2));
    EXPECT_THAT(first.result_names(), IsEmpty()) << "two a day, and they are gone";
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 2);
    EXPECT_EQ(world.number(Sql("SELECT n_jobs_today FROM host_app_version")), 2);
}

TEST(Race, TenIdenticalRequestsGetNoMoreThanQuota) {
    SchedulerWorld world;
    const Id host = world.add_host(1, 1);
    world.add_jobs(20);
    world.rows.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 2, 0, {}, 0};
    world.store();
    world.start_feeder(30);
    world.db().execute(Sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP(),rpc_seqno=1"));
    std::vector<std::unique_ptr<Subprocess>> running;
    RequestText request = asking(host, 5, 1);
    request.ncpus = 1;
    for (int i = 0; i < 10; ++i) running.push_back(world.start(request));
    std::size_t sent = 0;
    for (auto& rpc : running) {
        const ReplyText reply{rpc->wait().value()};
        EXPECT_EQ(reply.malformed(), "");
        sent += reply.result_names().size();
    }
    EXPECT_EQ(sent, 2u);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")), 2);
    EXPECT_EQ(world.number(Sql("SELECT n_jobs_today FROM host_app_version")), 2);
    EXPECT_EQ(world.slots(SlotState::kPresent), 18);
}

TEST(Race, TheHostLockFileExcludesUpstreamsScheduler) {
    SchedulerWorld world;
    std::filesystem::create_directories(world.folder() / "locks");
    share_with_web_server(world.folder() / "locks", 02770);
    world.config("<sched_lockfile_dir>" + (world.folder() / "locks").string() + "</sched_lockfile_dir>");
    const Id host = world.add_host();
    world.start_feeder(10);
    const std::string file = (world.folder() / "locks/CGI_0000001").string();
    int held[2];
    ASSERT_EQ(::pipe(held), 0);
    const pid_t upstream = ::fork();  // as its cgi does: the file is made, locked by fcntl, and unlinked at the end
    if (upstream == 0) {
        struct flock whole {};
        whole.l_type = F_WRLCK;
        const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT, 0644);
        const char answer = ::fcntl(fd, F_SETLK, &whole) == 0 ? 'y' : 'n';
        if (::write(held[1], &answer, 1) == 1) ::pause();
        ::_exit(1);
    }
    char answer = 0;
    ASSERT_EQ(::read(held[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    EXPECT_THAT(world.send(asking(host, 0, 1)).messages(),
                testing::ElementsAre("Another scheduler instance is running for this host"));
    std::filesystem::remove(file);
    EXPECT_EQ(world.send(asking(host, 0, 1)).messages().size(), 0u) << "a file of that name that nobody holds";
    ::kill(upstream, SIGKILL);
    ::waitpid(upstream, nullptr, 0);
    ::close(held[0]);
    ::close(held[1]);
}

TEST(Race, TheHostLockFile) {
    SchedulerWorld world;
    std::filesystem::create_directories(world.folder() / "locks");
    share_with_web_server(world.folder() / "locks", 02770);
    world.config("<sched_lockfile_dir>" + (world.folder() / "locks").string() + "</sched_lockfile_dir>");
    const Id host = world.add_host();
    world.start_feeder(10);
    ReplyText second;
    interrupted(world, asking(host, 0, 1), "decided", [&] { second = world.send(asking(host, 0, 2)); });
    EXPECT_THAT(second.messages(), testing::ElementsAre("Another scheduler instance is running for this host"));
    EXPECT_EQ(second.value("request_delay"), "60.000000");
    EXPECT_EQ(world.send(asking(host, 0, 3)).messages().size(), 0u) << "free again";
}

TEST(Race, TwoFirstContactsOfOneMachine) {
    SchedulerWorld world;
    world.start_feeder(10);
    ReplyText second;
    const ReplyText first = interrupted(world, RequestText{}, "decided", [&] { second = world.send(RequestText{}); });
    EXPECT_EQ(first.value("hostid"), second.value("hostid"));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), 1);
}

TEST(Race, TwoFirstContactsInsideTheirTransactions) {
    SchedulerWorld world;
    world.start_feeder(10);
    std::unique_ptr<Subprocess> other;
    const ReplyText first = interrupted(world, RequestText{}, "before_commit", [&] {
        other = world.start(RequestText{});
        EXPECT_TRUE(eventually([&] { return somebody_waits_for_a_row(world); }));
    });
    const ReplyText second{other->wait().value()};
    EXPECT_EQ(second.malformed(), "");
    EXPECT_EQ(first.value("hostid"), second.value("hostid"));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), 1);
}

TEST(Race, TransitionerTimesResultOutWhileItIsReported) {
    SchedulerWorld world;
    const Id host = world.add_host();
    const auto names = world.add_in_progress(host, 2);
    world.start_feeder(10);
    RequestText r = asking(host, 0);
    r.reported = names;
    const ReplyText reply = interrupted(world, r, "decided", [&] {
        world.db().execute(Sql("UPDATE result SET server_state=5,outcome=4 WHERE id=1"));
        world.db().execute(
            Sql("UPDATE result SET server_state=5,outcome=1,received_time=7,stderr_out='first' WHERE id=2"));
    });
    EXPECT_EQ(reply.count("<result_ack>"), 2);
    EXPECT_EQ(world.number(Sql("SELECT outcome FROM result WHERE id=1")), 1);
    EXPECT_EQ(world.number(Sql("SELECT stderr_out='first' FROM result WHERE id=2")), 1) << "not overwritten";
}

TEST(Race, CountersAreIncrements) {
    SchedulerWorld world;
    const Id host = world.add_host();
    world.add_jobs(1);
    world.rows.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 100, 3, {}, 5};
    world.store();
    world.db().execute(Sql("UPDATE host SET rpc_time=UNIX_TIMESTAMP()"));  // the same day
    world.start_feeder(10);
    RequestText r = asking(host, 5);
    r.reported = world.add_in_progress(host, 1);
    interrupted(world, r, "decided", [&] {
        world.db().execute(
            Sql("UPDATE host_app_version SET max_jobs_per_day=max_jobs_per_day+1,"
                "consecutive_valid=consecutive_valid+1,n_jobs_today=n_jobs_today+1"));
    });
    EXPECT_EQ(world.number(Sql("SELECT max_jobs_per_day FROM host_app_version")), 201);
    EXPECT_EQ(world.number(Sql("SELECT consecutive_valid FROM host_app_version")), 6);
    EXPECT_EQ(world.number(Sql("SELECT n_jobs_today FROM host_app_version")), 5);
}

TEST(Race, TwoHostsSendPreferences) {
    SchedulerWorld world;
    const Id a = world.add_host(), b = world.add_host();
    world.start_feeder(10);
    const auto with_prefs = [](Id host, const std::string& time) {
        RequestText r = asking(host, 0);
        r.more = "<global_preferences>\n<mod_time>" + time +
                 "</mod_time>\n</global_preferences>\n"
                 "<global_prefs_source_email_hash>" +
                 md5_hex("alice@example.org") + "</global_prefs_source_email_hash>";
        return r;
    };
    interrupted(world, with_prefs(a, "100"), "decided", [&] { world.send(with_prefs(b, "200")); });
    EXPECT_EQ(world.number(Sql("SELECT global_prefs LIKE '%<mod_time>200</mod_time>%' FROM user WHERE id=1")), 1)
        << "the older ones are not written over the newer ones";
}

TEST(Race, SixteenSchedulersAndForty) {
    SchedulerWorld world("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    std::vector<Id> hosts;
    for (int i = 0; i < 16; ++i) {
        const Id user = i == 0 ? 1 : world.add_user("u" + std::to_string(i), "key" + std::to_string(i));
        hosts.push_back(world.add_host(user));
    }
    world.add_jobs(40, 2);
    world.start_feeder(100);
    std::vector<std::unique_ptr<Subprocess>> running;
    for (int i = 0; i < 16; ++i) {
        RequestText r = asking(hosts[static_cast<std::size_t>(i)], 45);
        if (i > 0) r.authenticator = "key" + std::to_string(i);
        running.push_back(world.start(r));
    }
    std::multiset<std::string> names;
    for (auto& rpc : running) {
        const ReplyText reply{rpc->wait().value()};
        EXPECT_EQ(reply.malformed(), "");
        for (const std::string& name : reply.result_names()) names.insert(name);
    }
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << "a result was sent twice";
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=4")),
              static_cast<std::int64_t>(names.size()));
    EXPECT_EQ(
        world.number(Sql("SELECT COUNT(*) FROM (SELECT 1 FROM result WHERE server_state=4 GROUP BY workunitid,userid "
                         "HAVING COUNT(*)>1) twice")),
        0);
    EXPECT_EQ(world.slots(SlotState::kPresent), 80 - static_cast<int>(names.size()));
    EXPECT_GE(names.size(), 60u);
}

}  // namespace
}  // namespace sluice::test
