// SPDX-License-Identifier: LGPL-3.0-or-later
// Who is asking: keys, weak keys, merged hosts, machines that come back, sequence numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/hash.h"
#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RequestText of_host(Id host, int seqno = 5) {
    RequestText r;
    r.hostid = host;
    r.seqno = seqno;
    return r;
}

TEST(Authenticate, FirstContactMakesHostWithItsUsersVenue) {
    RpcWorld w;
    w.db.users[1].venue = "home";
    const ReplyText reply = w.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_EQ(reply.value("hostid"), "1");
    EXPECT_EQ(reply.value("host_venue"), "home");
    ASSERT_EQ(w.db.hosts.size(), 1u);
    const Host& h = w.db.hosts[1];
    EXPECT_EQ(h.userid, 1);
    EXPECT_EQ(h.rpc_seqno, 0);
    EXPECT_EQ(h.host_cpid, md5_hex("cpid-of-boxalice@example.org"));
    EXPECT_EQ(h.external_ip_addr, "10.1.2.3");
    EXPECT_EQ(h.create_time, w.clock.now_sec());
    EXPECT_EQ(w.commits(), 1);
}

TEST(Authenticate, WrongKeys) {
    RpcWorld w;
    const Id host = w.add_host();
    for (const char* key :
         {"", "nobody", "1_00000000000000000000000000000000", "_", "99_x", "1_", "x'; DROP TABLE host"}) {
        RequestText first;
        first.authenticator = key;
        ReplyText reply = w.send(first);
        EXPECT_THAT(reply.messages(),
                    ElementsAre("Invalid or missing account key.  To fix, remove and add this project ."))
            << key;
        EXPECT_EQ(reply.value("request_delay"), "3600.000000");
        EXPECT_FALSE(reply.has("<userid>")) << "nucleus only";
        RequestText known = of_host(host);
        known.authenticator = key;
        reply = w.send(known);
        EXPECT_TRUE(
            reply.has("<message priority=\"notice\">_(\"Invalid or missing account key.  To fix, remove and "
                      "add this project.\")</message>"))
            << key;
        EXPECT_EQ(reply.value("request_delay"), "3600.000000");
    }
    EXPECT_EQ(w.commits(), 0);
}

TEST(Authenticate, WeakKeyIsNotAnsweredWithStrongOne) {
    RpcWorld w;
    w.files().write("gui_urls.xml",
                    "<gui_urls><gui_url><url>http://m/login?key=<authenticator/></url></gui_url></gui_urls>");
    w.reload_files();
    RequestText r = of_host(w.add_host());
    EXPECT_TRUE(w.send(r).has(std::string("key=") + kKey));
    r.authenticator = "1_" + md5_hex(std::string(kKey) + w.db.users[1].passwd_hash);
    r.seqno += 1;
    const ReplyText reply = w.send(r);
    EXPECT_TRUE(reply.has("key=" + r.authenticator));
    EXPECT_FALSE(reply.has(kKey));
}

TEST(Authenticate, WeakKeysMayWorkButNotChangeAccount) {
    RpcWorld w;
    w.db.users[1].passwd_hash = "pw";
    const Id host = w.add_host();
    RequestText r = of_host(host);
    r.authenticator = "1_" + md5_hex(std::string(kKey) + "pw");
    r.more =
        "<cross_project_id>changed</cross_project_id><global_preferences><mod_time>5</mod_time>"
        "</global_preferences><global_prefs_source_email_hash>" +
        md5_hex("alice@example.org") + "</global_prefs_source_email_hash>";
    EXPECT_TRUE(w.send(r).has("<userid>1</userid>"));
    EXPECT_EQ(w.db.users[1].cross_project_id, "cpid-of-alice");
    EXPECT_EQ(w.db.users[1].global_prefs, "");
    r.hostid = 0;
    EXPECT_TRUE(w.send(r).has("<userid>1</userid>"));
    RequestText strong = of_host(host, 9);
    strong.more = r.more;
    w.send(strong);
    EXPECT_EQ(w.db.users[1].cross_project_id, "changed");
    EXPECT_THAT(w.db.users[1].global_prefs, HasSubstr("<mod_time>5</mod_time>"));
}

TEST(Authenticate, MergedHostsLeadOn) {
    RpcWorld w;
    const Id alive = w.add_host();
    w.db.hosts[alive].rpc_seqno = 500;
    Host merged;
    merged.id = 7;
    merged.rpc_seqno = 8;
    w.db.hosts[7] = merged;
    merged.id = 8;
    merged.rpc_seqno = alive;
    w.db.hosts[8] = merged;
    const ReplyText reply = w.send(of_host(7, 2));
    EXPECT_EQ(reply.value("hostid"), std::to_string(alive)) << "not a new host, though its seqno is higher";
    EXPECT_EQ(w.db.hosts[alive].rpc_seqno, 0) << "the client starts counting anew";
}

TEST(Authenticate, AHostIdBelowZeroIsNobodys) {
    RpcWorld w;
    const ReplyText reply = w.send(of_host(-1));
    EXPECT_THAT(reply.messages(), Contains("Can't find host record"));
    EXPECT_EQ(reply.value("hostid"), "1") << "a new one";
}

TEST(Authenticate, ACircleOfMergedHostsEnds) {
    RpcWorld w;
    for (Id id : {7, 8}) {
        w.db.hosts[id].id = id;
        w.db.hosts[id].rpc_seqno = id == 7 ? 8 : 7;
    }
    const ReplyText reply = w.send(of_host(7));
    EXPECT_THAT(reply.messages(), Contains("Can't find host record"));
    EXPECT_EQ(reply.value("hostid"), "9");
}

TEST(Authenticate, ForgedHostIdGivesHostOfOnesOwn) {
    RpcWorld w;
    w.add_user("bob", "bobs_key");
    const Id victim = w.add_host(1);
    RequestText r = of_host(victim);
    r.authenticator = "bobs_key";
    const ReplyText reply = w.send(r);
    EXPECT_EQ(reply.value("hostid"), "2");
    EXPECT_EQ(w.db.hosts[2].userid, 2);
    EXPECT_EQ(w.db.hosts[victim].domain_name, "") << "untouched";
    EXPECT_EQ(w.db.hosts[victim].rpc_time, w.clock.now_sec() - 1000);
}

TEST(Authenticate, SequenceNumberThatWentBackIsAnotherMachine) {
    RpcWorld w;
    const Id host = w.add_host();
    w.db.hosts[host].rpc_seqno = 10;
    EXPECT_FALSE(w.send(of_host(host, 10)).has("<hostid>")) << "equal is accepted";
    EXPECT_EQ(w.db.hosts.size(), 1u);
    RequestText clone = of_host(host, 9);
    clone.domain_name = "clone";
    EXPECT_EQ(w.send(clone).value("hostid"), "2");
    w.ignore_seqno = true;
    EXPECT_FALSE(w.send(of_host(host, 1)).has("<hostid>")) << "--batch";
}

TEST(Authenticate, AReattachedHostsJobsAreCancelled) {
    for (const bool by_cpid : {true, false}) {
        RpcWorld w;
        w.send(RequestText{});
        const Result lost = w.add_in_progress(1);
        RequestText again;
        again.cpid = by_cpid ? "cpid-of-box" : "another";
        if (by_cpid) again.domain_name = "renamed";
        const ReplyText reply = w.send(again);
        EXPECT_EQ(reply.value("hostid"), "1") << by_cpid;
        EXPECT_EQ(w.db.hosts.size(), 1u);
        const Result& r = w.db.results[lost.id];
        EXPECT_EQ(r.server_state, ServerState::kOver);
        EXPECT_EQ(r.outcome, Outcome::kClientDetached);
        EXPECT_EQ(r.received_time, w.clock.now_sec());
        EXPECT_EQ(w.db.workunits[lost.workunitid].transition_time, w.clock.now_sec());
    }
}

TEST(Authenticate, WhatAReattachedMachineReportsIsTaken) {
    for (const bool by_cpid : {true, false}) {
        RpcWorld w;
        w.send(RequestText{});
        const Result done = w.add_in_progress(1), lost = w.add_in_progress(1);
        RequestText again;
        again.cpid = by_cpid ? "cpid-of-box" : "another";
        if (by_cpid) again.domain_name = "renamed";
        again.reported = {done.name};
        const ReplyText reply = w.send(again);
        EXPECT_EQ(reply.value("hostid"), "1") << by_cpid;
        EXPECT_EQ(reply.count("<result_ack>"), 1);
        EXPECT_EQ(w.db.results[done.id].server_state, ServerState::kOver);
        EXPECT_EQ(w.db.results[done.id].outcome, Outcome::kSuccess);
        EXPECT_EQ(w.db.results[done.id].hostid, 1);
        EXPECT_EQ(w.db.results[done.id].received_time, w.clock.now_sec());
        EXPECT_EQ(w.db.results[lost.id].outcome, Outcome::kClientDetached);
        for (const Result* r : {&done, &lost})
            EXPECT_EQ(w.db.workunits[r->workunitid].transition_time, w.clock.now_sec());
    }
}

TEST(Authenticate, AReattachedMachineKeepsJobsItStillLists) {
    RpcWorld w;
    w.send(RequestText{});
    const Result kept = w.add_in_progress(1);
    RequestText again;
    again.others = {kept.name};
    w.send(again);
    EXPECT_EQ(w.db.results[kept.id].server_state, ServerState::kInProgress);
}

TEST(Authenticate, ManyClientsOnOneMachineHaveHostEach) {
    RpcWorld w;
    RequestText r;
    r.more = "<allow_multiple_clients>1</allow_multiple_clients>";
    w.send(r);
    r.cpid = "second";
    EXPECT_EQ(w.send(r).value("hostid"), "2");
}

TEST(Authenticate, ACpidOnAnotherMachineIsIgnored) {
    RpcWorld w;
    w.send(RequestText{});
    RequestText other;
    other.ncpus = 64;
    other.domain_name = "other";
    EXPECT_EQ(w.send(other).value("hostid"), "2");
}

TEST(Authenticate, ABannedHost) {
    RpcWorld w;
    const Id host = w.add_host();
    w.db.hosts[host].max_results_day = -1;
    const ReplyText reply = w.send(of_host(host));
    EXPECT_THAT(reply.messages(), ElementsAre("Not accepting requests from this host"));
    EXPECT_EQ(reply.value("request_delay"), "86400.000000");
    EXPECT_EQ(w.commits(), 0);
    RequestText with_cpid = of_host(host);
    with_cpid.more = "<cross_project_id>another</cross_project_id>";
    w.send(with_cpid);
    EXPECT_NE(w.db.users[1].cross_project_id, "another") << "upstream stores that before it looks at the host";
}

TEST(Authenticate, TwoFirstContactsOfMachineMakeOneHost) {
    RpcWorld w;
    // The other RPC registers the machine between our look and our insert.
    w.at_point = [&, done = false](const char* point) mutable {
        if (std::string(point) != "decided" || std::exchange(done, true)) return;
        Host h;
        h.id = 1;
        h.userid = 1;
        h.domain_name = "box";
        h.last_ip_addr = "10.0.0.1";
        h.os_name = "Linux Debian";
        h.p_model = "Xeon";
        h.m_nbytes = 8e9;
        w.db.hosts[1] = h;
    };
    const ReplyText reply = w.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_EQ(reply.value("hostid"), "1");
    EXPECT_EQ(w.db.hosts.size(), 1u);
}

TEST(NewHosts, AnAccountMakesOnlySoManyADay) {
    RpcWorld w("<max_new_hosts_per_day>3</max_new_hosts_per_day>");
    const Id known = w.add_host();
    w.db.hosts[known].create_time = w.clock.now_sec() - 90000;
    RequestText r;
    const auto first_contact = [&](int machine) {
        r.hostid = 0;
        r.domain_name = "box" + std::to_string(machine);
        r.cpid = "cpid" + std::to_string(machine);
        return w.send(r);
    };
    for (int machine = 1; machine <= 3; ++machine) EXPECT_TRUE(first_contact(machine).has("<hostid>")) << machine;
    const ReplyText refused = first_contact(4);
    EXPECT_FALSE(refused.has("<hostid>"));
    EXPECT_TRUE(refused.has("This account added 3 computers in 24 hours")) << refused.text();
    EXPECT_GE(std::stod(refused.value("request_delay")), 3600);
    EXPECT_EQ(w.db.hosts.size(), 4u);
    EXPECT_FALSE(first_contact(2).has("This account added")) << "a machine that is known is found again";
    r.hostid = known;
    r.seqno = 1;
    EXPECT_FALSE(w.send(r).has("This account added"));
    RequestText other = r;
    other.authenticator = std::string(32, 'b');
    w.add_user("bob", other.authenticator);
    other.hostid = 0;
    other.cpid = other.domain_name = "bobs";
    EXPECT_TRUE(w.send(other).has("<hostid>")) << "another account's";
    w.clock.set(w.clock.now_sec() + 86401);
    EXPECT_TRUE(first_contact(5).has("<hostid>"));
    EXPECT_EQ(w.db.hosts.size(), 6u);
}

TEST(NewHosts, AreWithoutLimitIfTheProjectSaysSo) {
    RpcWorld w("<max_new_hosts_per_day>0</max_new_hosts_per_day>");
    RequestText r;
    for (int machine = 0; machine < 50; ++machine) {
        r.domain_name = r.cpid = "box" + std::to_string(machine);
        EXPECT_TRUE(w.send(r).has("<hostid>"));
    }
    EXPECT_EQ(w.db.hosts.size(), 50u);
}

}  // namespace
}  // namespace sluice::test
