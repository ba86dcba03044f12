// SPDX-License-Identifier: LGPL-3.0-or-later
// One transaction: what happens when another process, or the database, gets in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Does `change` when the RPC has decided and is about to begin its first transaction: another process was quicker.
void meanwhile(RpcWorld& w, const std::function<void()>& change) {
    w.at_point = [change, done = false](const char* point) mutable {
        if (std::string(point) == "decided" && !std::exchange(done, true)) change();
    };
}

TEST(Dispatch, JobGoneIsDroppedAndOthersAreSent) {
    RpcWorld w;
    w.db.apps[1].homogeneous_redundancy = HrType::kCoarse;
    w.reload_tables();
    const Id host = w.add_host();
    for (int i = 0; i < 3; ++i) w.add_job();
    meanwhile(w, [&] {
        w.db.results[2].server_state = ServerState::kOver;
        w.db.results[2].outcome = Outcome::kDidntNeed;
    });
    const ReplyText reply = w.send(asking(host, 25));
    EXPECT_THAT(reply.result_names(), SizeIs(2));
    EXPECT_FALSE(reply.has(w.db.results[2].name));
    EXPECT_EQ(w.db.results[2].outcome, Outcome::kDidntNeed);
    EXPECT_EQ(w.db.workunits[2].hr_class, 0) << "its commitment was rolled back";
    EXPECT_NE(w.db.workunits[1].hr_class, 0);
    EXPECT_EQ(w.commits(), 1);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 2);
    EXPECT_THAT(w.pool.held, IsEmpty());
    EXPECT_EQ(w.pool.present(), 1) << "its slot went back";
}

TEST(Dispatch, WhoLosesAllItsJobsGetsOthers) {
    RpcWorld w;
    const Id host = w.add_host();
    for (int i = 0; i < 2; ++i) w.add_job();
    std::string first;
    meanwhile(w, [&] {
        for (auto& [id, r] : w.db.results) {
            if (w.pool.slots[static_cast<std::size_t>(id - 1)].state != SlotState::kClaimed) continue;
            r.server_state = ServerState::kInProgress;
            first = r.name;
        }
    });
    const ReplyText reply = w.send(asking(host, 5));
    EXPECT_THAT(reply.result_names(), SizeIs(1));
    EXPECT_THAT(reply.result_names(), testing::Not(Contains(first)));
}

TEST(Dispatch, CancelledMeanwhile) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    meanwhile(w, [&] { w.db.workunits[1].error_mask = 16; });
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
    EXPECT_EQ(w.db.results[1].server_state, ServerState::kUnsent);
}

TEST(Dispatch, CommittedToAnotherClassMeanwhile) {
    RpcWorld w;
    w.db.apps[1].homogeneous_redundancy = HrType::kCoarse;
    w.reload_tables();
    const Id host = w.add_host();
    w.add_job();
    meanwhile(w, [&] { w.db.workunits[1].hr_class = 386; });
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
    EXPECT_EQ(w.db.workunits[1].hr_class, 386);
}

TEST(Dispatch, OneInstancePerUserMeanwhile) {
    RpcWorld w("<one_result_per_user_per_wu>1</one_result_per_user_per_wu>");
    const Id host = w.add_host(), other = w.add_host();
    w.add_job();
    meanwhile(w, [&] {
        Result r = w.db.results[1];
        r.id = 50;
        r.name = "sibling";
        r.hostid = other;
        r.userid = 1;
        r.server_state = ServerState::kInProgress;
        w.db.results[50] = r;
    });
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), IsEmpty());
    EXPECT_EQ(w.db.results[1].server_state, ServerState::kUnsent);
}

TEST(Dispatch, ATimeoutMeanwhileDoesNotLoseTheReport) {
    RpcWorld w;
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    meanwhile(w, [&] {
        w.db.results[r.id].server_state = ServerState::kOver;
        w.db.results[r.id].outcome = Outcome::kNoReply;
    });
    RequestText request = asking(host, 0);
    request.reported = {r.name};
    EXPECT_EQ(w.send(request).count("<result_ack>"), 1);
    EXPECT_EQ(w.db.results[r.id].outcome, Outcome::kSuccess);
}

TEST(Dispatch, AReportThatCameTwiceIsStoredOnce) {
    RpcWorld w;
    const Id host = w.add_host();
    const Result r = w.add_in_progress(host);
    meanwhile(w, [&] {
        Result& row = w.db.results[r.id];
        row.server_state = ServerState::kOver;
        row.outcome = Outcome::kSuccess;
        row.received_time = 5;
        row.stderr_out = "first";
        row.validate_state = ValidateState::kValid;
    });
    RequestText request = asking(host, 0);
    request.reported = {r.name};
    EXPECT_EQ(w.send(request).count("<result_ack>"), 1);
    EXPECT_EQ(w.db.results[r.id].stderr_out, "first");
    EXPECT_EQ(w.db.results[r.id].validate_state, ValidateState::kValid);
}

TEST(Dispatch, AnotherRpcOfTheHostMeansDecidingAgain) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    meanwhile(w, [&] {
        w.db.hosts[host].rpc_time = w.clock.now_sec();
        w.db.hosts[host].rpc_seqno = 0;
        w.db.hosts[host].total_credit = 99;
    });
    const ReplyText reply = w.send(asking(host, 5));
    EXPECT_THAT(reply.result_names(), SizeIs(1));
    EXPECT_EQ(reply.value("host_total_credit"), "99.000000") << "decided on the new row";
    EXPECT_EQ(w.commits(), 1);
}

/// Of the same second, and with the same number: its row looks as before.
TEST(Dispatch, AnotherRpcInTheSameSecondIsNoticed) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    w.at_point = [&, done = false](const char* point) mutable {
        if (std::string(point) != "decided" || std::exchange(done, true)) return;
        w.db.host_attempts[host] = 7;
        w.db.hosts[host].total_credit = 99;
    };
    const ReplyText reply = w.send(asking(host, 5));
    EXPECT_EQ(reply.value("host_total_credit"), "99.000000") << "decided on the new row";
    EXPECT_EQ(w.commits(), 1);
    EXPECT_NE(w.db.host_attempts[host], 7);
}

TEST(Dispatch, CommitWhoseAnswerIsLostIsNotRepeated) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    w.db.before = [n = 0](const std::string& verb) mutable {
        if (verb == "unit_of_work.answer" && n++ == 0) throw DbError(DbError::Kind::kLost, 2013, "Lost connection");
    };
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), SizeIs(1));
    EXPECT_EQ(w.commits(), 1);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 1);
    EXPECT_EQ(w.pool.present(), 0);
}

TEST(Dispatch, AnOvertakenHostIsToldToComeBack) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    w.at_point = [&](const char* point) {
        if (std::string(point) == "decided") ++w.db.hosts[host].rpc_time;
    };
    const ReplyText reply = w.send(asking(host, 5));
    EXPECT_THAT(reply.messages(), Contains("Another scheduler instance is running for this host"));
    EXPECT_EQ(reply.value("request_delay"), "60.000000");
    EXPECT_EQ(w.db.results[1].server_state, ServerState::kUnsent);
    EXPECT_EQ(w.pool.present(), 1);
}

TEST(Dispatch, ADeadlockIsRepeated) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    w.db.before = [n = 0](const std::string& verb) mutable {
        if (verb == "results.send" && n++ < 2) throw DbError(DbError::Kind::kRetry, 1213, "Deadlock found");
    };
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), SizeIs(1));
    EXPECT_EQ(w.commits(), 1);
    EXPECT_EQ((w.db.host_app_versions[{host, 1}].n_jobs_today), 1);
}

class FaultAt : public ::testing::TestWithParam<const char*> {};
TEST_P(FaultAt, LeavesNothingHalfDone) {
    for (const auto kind : {DbError::Kind::kCantConnect, DbError::Kind::kLost, DbError::Kind::kRetry,
                            DbError::Kind::kDuplicate, DbError::Kind::kOther}) {
        RpcWorld w;
        const Id host = w.add_host();
        w.add_job();
        const Result r = w.add_in_progress(host);
        w.db.before = [&](const std::string& verb) {
            if (verb == GetParam()) throw DbError(kind, 1, "fault");
        };
        RequestText request = asking(host, 5);
        request.reported = {r.name};
        const ReplyText reply = w.send(request);
        EXPECT_EQ(reply.malformed(), "");
        // Locks that others hold pass; an hour's break would be too much.
        EXPECT_EQ(reply.has("<project_is_down/>"), kind != DbError::Kind::kRetry);
        EXPECT_EQ(reply.value("request_delay"), kind == DbError::Kind::kRetry ? "60.000000" : "3600.000000");
        EXPECT_FALSE(reply.has("<result_ack>"));
        EXPECT_THAT(reply.result_names(), IsEmpty());
        w.db.before = {};
        EXPECT_EQ(w.db.results[1].server_state, ServerState::kUnsent);
        EXPECT_EQ(w.db.results[r.id].server_state, ServerState::kInProgress);
        EXPECT_TRUE(w.db.host_app_versions.empty());
        EXPECT_EQ(w.db.hosts[host].rpc_time, w.clock.now_sec() - 1000);
        EXPECT_EQ(w.pool.present(), 1);
        EXPECT_THAT(w.pool.held, IsEmpty());
    }
}
INSTANTIATE_TEST_SUITE_P(Verbs, FaultAt,
                         ::testing::Values("accounts.host_and_account", "host_states.load", "results.load",
                                           "results.facts", "unit_of_work.begin", "results.touch_workunits",
                                           "results.store_reports", "results.send", "host_states.change_versions",
                                           "accounts.update_host", "unit_of_work.commit"));

TEST(Dispatch, AConnectionThatBreaksOnceIsMadeAnew) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job();
    w.db.before = [n = 0](const std::string& verb) mutable {
        if (verb == "results.send" && n++ == 0) throw DbError(DbError::Kind::kLost, 2013, "Lost connection");
    };
    EXPECT_THAT(w.send(asking(host, 5)).result_names(), SizeIs(1));
}

}  // namespace
}  // namespace sluice::test
