// SPDX-License-Identifier: LGPL-3.0-or-later
// One suite for the stores in memory and for MariaDB: a verb is called on each with the same rows; answers and the rows
// that are there afterwards must be the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "db/memory/rpc_stores.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "tests/db/rpc_stores/rows_text.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

const char* const kNasty = "x'; DROP TABLE result; -- \\ \" ü %_ \xf0\x9f\x98\x80";

class RpcStoresContract : public ::testing::Test {
  protected:
    static Database& database() {
        static Database db(PrivateMariaDb::shared().create_project_database("rpc_stores"));
        return db;
    }
    FakeDb rows;

    RpcStoresContract() {
        rows.users[1] = user(1, "alice", "key1");
        rows.users[2] = user(2, "bob", "key2");
        rows.users[2].teamid = 5;
        rows.teams[5] = {5, "The Team"};
        for (Id id : {1, 2, 3}) rows.hosts[id] = host(id, id == 3 ? 2 : 1);
        for (Id id = 1; id <= 6; ++id) {
            Workunit w;
            w.id = id;
            w.appid = 1;
            w.name = fmt::format("wu{}", id);
            w.xml_doc = "<workunit>\n</workunit>";
            w.transition_time = 5000;
            w.target_nresults = w.min_quorum = 1;
            w.result_template_file = "t";
            rows.workunits[id] = w;
            Result r;
            r.id = 10 * id;
            r.workunitid = id;
            r.appid = 1;
            r.name = fmt::format("wu{}_0", id);
            r.xml_doc_in = "<result>\n</result>";
            rows.results[r.id] = r;
        }
    }
    static User user(Id id, const std::string& name, const std::string& key) {
        User u;
        u.id = id;
        u.name = name;
        u.email_addr = name + "@x";
        u.authenticator = key;
        return u;
    }
    static Host host(Id id, Id userid) {
        Host h;
        h.id = id;
        h.userid = userid;
        h.rpc_seqno = 3;
        h.rpc_time = 1000;
        h.domain_name = "d";
        h.last_ip_addr = "1.2.3.4";
        h.os_name = "Linux";
        h.p_model = "m";
        h.m_nbytes = 8e9 + 0.5;
        h.host_cpid = fmt::format("cpid{}", id % 2);
        return h;
    }
    void in_progress(Id result, Id hostid, Id userid) {
        Result& r = rows.results.at(result);
        r.server_state = ServerState::kInProgress;
        r.hostid = hostid;
        r.userid = userid;
        r.sent_time = 900;
        r.report_deadline = 9000;
    }

    /// `verb` describes what it got as text.
    void same_on_both(const std::function<std::string(RpcStores)>& verb) {
        truncate_all_tables(database());
        store_rows(database(), rows);
        MysqlRpcStores real(database());
        MemoryRpcStores memory(rows.memory);  // steps may follow each other
        const std::string expected = verb(real.stores());
        EXPECT_EQ(verb(memory.stores()), expected);
        EXPECT_EQ(rows_text(rows), rows_text(load_rows(database())));
    }
};

/// Outside a transaction a write says at once what was outdated.
std::string refused_by(const std::function<void(const OnRefused&)>& write) {
    std::set<Id> ids;
    write([&](const std::vector<Id>& some) { ids.insert(some.begin(), some.end()); });
    return fmt::format("{}", fmt::join(ids, ","));
}
bool update_host(const RpcStores& s, const StoredHost& before, const StoredHost& after, const UserChange& change) {
    bool written = true;
    s.accounts.update_host(before, after, 1, change, [&] { written = false; });
    return written;
}
std::string text(const std::optional<Account>& a) {
    return a ? fmt::format("{} {} {}", a->user.id, a->user.email_addr, a->team.name) : "none";
}

/// Workunits 1 to 4 are of group 7, 5 of group 8.
TEST_F(RpcStoresContract, JobsOfFileGroups) {
    rows.file_groups[7] = {.name = kNasty, .id = 7};
    rows.file_groups[8] = {.name = "small", .id = 8};
    for (const Id workunit : {1, 2, 3, 4}) rows.group_workunits.put({7, workunit}, true);
    rows.group_workunits.put({8, 5}, true);
    rows.group_workunits.put({8, 99}, true);  // its workunit was purged
    in_progress(20, 1, 1);
    rows.workunits[3].batch = 12;
    rows.workunits[3].keywords = "5 6";
    const auto jobs = [](RpcStores s, std::vector<GroupQuery::Part> parts, int look_at, int most) {
        std::vector<std::string> found;
        for (const UnsentJob& j : s.results.jobs_of_groups({std::move(parts), look_at, most}))
            found.push_back(fmt::format("{} {} of {} {} {} {}", j.result.id, j.result.name, j.workunit.name,
                                        j.workunit.batch, j.workunit.keywords, j.workunit.xml_doc.size()));
        std::ranges::sort(found);
        return fmt::format("{}; ", fmt::join(found, ","));
    };
    same_on_both([&](RpcStores s) {
        return jobs(s, {}, 10, 10) + jobs(s, {{7, 1}}, 10, 10) + jobs(s, {{7, 3}}, 10, 10) + jobs(s, {{7, 4}}, 1, 10) +
               jobs(s, {{7, 1}, {8, 1}}, 10, 10) + jobs(s, {{9, 1}}, 10, 10) + jobs(s, {{7, 1}, {7, 3}, {7, 3}}, 1, 10);
    });
    same_on_both([&](RpcStores s) {
        return std::to_string(s.results.jobs_of_groups({{{7, 1}, {8, 1}}, 10, 2}).size());
    });
    // None of these would be sent.
    rows.workunits[1].error_mask = 16;
    rows.workunits[3].canonical_resultid = 30;
    rows.workunits[4].transitioner_flags = TransitionerFlags::kNoTransition;
    rows.results[50].server_state = ServerState::kInactive;
    same_on_both([&](RpcStores s) {
        EXPECT_EQ(jobs(s, {{7, 1}, {8, 1}}, 10, 10), "; ");
        return std::string();
    });
}

TEST_F(RpcStoresContract, AccountsByHostKeyAndId) {
    rows.hosts[4] = host(4, 0);   // merged
    rows.hosts[5] = host(5, 77);  // its owner is gone
    same_on_both([](RpcStores s) {
        std::string out;
        for (Id id : {1, 3, 4, 5, 99}) {
            const auto found = s.accounts.host_and_account(id);
            out +=
                found ? fmt::format("{} {} {}; ", found->host.id, found->host.m_nbytes, text(found->account)) : "no; ";
        }
        for (const char* key : {"key1", "key2", "nokey", "", kNasty, "KEY1", "key1 ", "k\xc3\xa9y1", "key1\t"})
            out += text(s.accounts.account_by_key(key)) + "; ";
        for (Id id : {1, 2, 9}) out += text(s.accounts.account_by_id(id)) + "; ";
        return out;
    });
}

TEST_F(RpcStoresContract, KnownMachines) {
    same_on_both([](RpcStores s) {
        std::string out;
        const auto ask = [&](MachineQuery q) {
            const KnownMachines k = s.accounts.known_machines(q);
            out += fmt::format("{} {}; ", k.by_cpid ? k.by_cpid->id : 0, k.by_description ? k.by_description->id : 0);
        };
        MachineQuery q{1, "cpid0", "d", "1.2.3.4", "Linux", "m", 8e9 + 0.5, true};
        ask(q);
        q.by_description = false;
        ask(q);
        q = {1, "", "d", "1.2.3.4", "Linux", "", 8e9 + 0.5, true};
        ask(q);
        q = {2, "cpid1", kNasty, "1.2.3.4", "Linux", "m", 8e9 + 0.5, true};
        ask(q);
        return out;
    });
}

TEST_F(RpcStoresContract, InsertHostUnlessTheMachineIsKnown) {
    same_on_both([](RpcStores s) {
        StoredHost h{host(0, 2)};
        h.m_nbytes = 16e9;
        h.misc = "{\"a\": \"ü\"}";
        h.expavg_time = 12;
        const MachineQuery q{2, "", "d", "1.2.3.4", "Linux", "m", 16e9, true};
        std::string out = fmt::format("{} ", s.accounts.insert_host(h, &q));
        const auto insert_again = [&] {
            out += fmt::format("{} ", s.accounts.insert_host(h, &q));  // known now
            throw std::runtime_error("as dispatch does");
        };
        EXPECT_THROW(s.unit_of_work.run(insert_again, [] { return false; }), std::runtime_error);
        return out;
    });
}

TEST_F(RpcStoresContract, UpdateHostOnlyIfNobodyWasQuicker) {
    same_on_both([](RpcStores s) {
        const StoredHost before{host(1, 1)};
        StoredHost after = before;
        after.rpc_time = 2000;
        after.rpc_seqno = 4;
        after.p_vendor = kNasty;
        after.on_frac = 0.25;
        after.total_credit = 1e9;  // never the scheduler's business
        after.rpc_seqno = std::int64_t{1} << 40;
        UserChange change;
        change.cross_project_id = kNasty;
        change.global_prefs = "<global_preferences>'\\</global_preferences>";
        std::string out = fmt::format("{} ", update_host(s, before, after, change));
        StoredHost stale = before;
        stale.rpc_seqno = 99;
        out += fmt::format("{} ", update_host(s, stale, after, UserChange{"nobody", std::nullopt}));
        s.accounts.update_user(2, UserChange{std::nullopt, "prefs"});
        return out;
    });
}

TEST_F(RpcStoresContract, TrickleBytesAreKeptBesideTheAttempt) {
    same_on_both([](RpcStores s) {
        const auto now = [&](Id id) { return s.accounts.host_and_account(id)->host; };
        std::string out = fmt::format("{} ", now(1).trickle_bytes);
        for (const std::int64_t bytes : {std::int64_t{5} << 40, std::int64_t{7}, std::int64_t{7}}) {
            const StoredHost before = now(1);
            StoredHost after = before;
            after.attempt = before.attempt.value_or(0) + 1;
            after.trickle_bytes = bytes;
            out += fmt::format("{} ", update_host(s, before, after, {}));
            out += fmt::format("{} {} ", now(1).trickle_bytes, now(1).attempt.value_or(0));
        }
        StoredHost made{host(0, 2)};
        made.attempt = 43;
        made.trickle_bytes = 9;
        const Id id = s.accounts.insert_host(made, nullptr);
        return out + std::to_string(now(id).trickle_bytes);
    });
}

TEST_F(RpcStoresContract, TrickleBytesOfAccountAreOfOneDay) {
    same_on_both([](RpcStores s) {
        std::string out;
        s.accounts.host_and_account(1);  // makes the table
        const std::vector<std::pair<AccountDay, std::int64_t>> sent{
            {{1, 20000}, 5}, {{1, 20000}, 7}, {{2, 20000}, 9}, {{1, 20001}, std::int64_t{3} << 40}, {{1, 20001}, 1}};
        for (const auto& [account, bytes] : sent) {
            s.host_states.add_trickle_bytes(account, bytes);
            for (const AccountDay& a : {AccountDay{1, 20000}, AccountDay{1, 20001}, AccountDay{2, 20000}})
                out += fmt::format("{} ", s.host_states.trickle_bytes(a));
        }
        return out;
    });
}

TEST_F(RpcStoresContract, TableOfOlderSluiceGetsItsColumn) {
    Database& db = database();
    truncate_all_tables(db);
    store_rows(db, rows);
    prepare_host_attempts(db);
    for (const bool by_feeder : {false, true}) {
        db.execute(Sql("ALTER TABLE sluice_host_rpc DROP COLUMN trickle_bytes"));
        if (by_feeder)
            prepare_host_attempts(db);
        else
            EXPECT_EQ(MysqlRpcStores(db).stores().accounts.host_and_account(1).value().host.trickle_bytes, 0);
        EXPECT_EQ(number_of(db, Sql("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema=DATABASE() AND "
                                    "table_name='sluice_host_rpc' AND column_name='trickle_bytes'")),
                  1);
    }
}

TEST_F(RpcStoresContract, VersionsComeWithTheirHost) {
    rows.host_app_versions.clear();
    rows.host_app_versions[{1, 7}] = {1, 7, 1.0 / 3, 1e-300, {1e308, 0.1, -2.5e-9, 5e-324}, -1, 2147483647, {}, 3};
    rows.host_app_versions[{1, 9000002}] = {1, 9000002, 0, 1e15, {}, 5, 6, {1e16, 123456789012345678.0, 7, 8}, 0};
    rows.host_app_versions[{2, 7}] = {2, 7, 1, 1, {}, 1, 1, {}, 1};
    Database& db = database();
    truncate_all_tables(db);
    store_rows(db, rows);
    MysqlRpcStores mysql(db);
    const RpcStores s = mysql.stores();
    const auto as_text = [](const std::vector<HostAppVersion>& versions) {
        std::string out;
        for (const HostAppVersion& v : versions)
            out += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", v.host_id, v.app_version_id, v.pfc_n,
                               v.pfc_avg, v.et.n, v.et.avg, v.et.var, v.et.q, v.max_jobs_per_day, v.n_jobs_today,
                               v.turnaround.n, v.turnaround.avg, v.turnaround.var, v.turnaround.q, v.consecutive_valid);
        return out;
    };
    for (const Id host : {1, 2, 3}) {
        s.accounts.host_and_account(host, true);  // from the second time on it is prepared
        const auto found = s.accounts.host_and_account(host, true);
        ASSERT_TRUE(found && found->versions) << host;
        EXPECT_EQ(as_text(*found->versions), as_text(s.host_states.load(host, false).versions));
        EXPECT_EQ(found->versions->size(), host == 1 ? 2u : host == 2 ? 1u : 0u);
        EXPECT_FALSE(s.accounts.host_and_account(host)->versions) << "not asked for";
    }
    db.execute(
        Sql("INSERT INTO host_app_version SELECT 3,seq,1/3,1/7,1/3,1/7,1/3,1/7,0,0,0,0,0,0,0 FROM seq_1_to_20000"));
    EXPECT_FALSE(s.accounts.host_and_account(3, true)->versions) << "more than the server puts into one text";
    EXPECT_EQ(s.host_states.load(3, false).versions.size(), 20000u);
}

TEST_F(RpcStoresContract, AnAccountsNewHostsAreCounted) {
    for (Id id = 100; id < 105; ++id) rows.hosts[id] = host(id, id == 102 ? 2 : 1);
    for (auto& [id, h] : rows.hosts) h.create_time = 1000 + id;
    same_on_both([](RpcStores s) {
        std::string out;
        for (const int most : {0, 1, 3, 4, 5, 6, 7, 100}) {
            for (const std::int64_t since : {1000, 1100, 1103, 1105}) {
                MachineQuery q;
                q.userid = 1;
                q.most_new = most;
                q.new_since = since;
                out += s.accounts.known_machines(q).too_many_new ? '+' : '-';
            }
        }
        return out;
    });
}

TEST_F(RpcStoresContract, AnAttemptIsKnownByItsNumber) {
    same_on_both([](RpcStores s) {
        const StoredHost before = s.accounts.host_and_account(1)->host;
        StoredHost first = before, second = before;
        first.attempt = 41;
        second.attempt = 42;
        std::string out = fmt::format("{} ", before.attempt.has_value());
        out += fmt::format("{} ", update_host(s, before, first, {}));
        out += fmt::format("{} ", update_host(s, before, second, {}));  // rpc_time and rpc_seqno are the same
        out += fmt::format("{} {} ", s.accounts.written_by(1, 41), s.accounts.written_by(1, 42));
        const StoredHost now = s.accounts.host_and_account(1)->host;
        out += fmt::format("{} {} ", now.attempt.value_or(0), update_host(s, now, second, {}));
        out += fmt::format("{} {} ", s.accounts.written_by(1, 41), s.accounts.written_by(1, 42));
        StoredHost made{host(0, 2)};
        made.attempt = 43;
        const Id id = s.accounts.insert_host(made, nullptr);
        return out + fmt::format("{} {} {}", s.accounts.written_by(id, 43), s.accounts.written_by(id, 42),
                                 s.accounts.written_by(99, 0));
    });
}

TEST_F(RpcStoresContract, PreferencesThatChangedMeanwhileStay) {
    rows.users[1].global_prefs = "of another host ü '";
    same_on_both([](RpcStores s) {
        s.accounts.update_user(1, UserChange{std::nullopt, "from nothing", ""});
        s.accounts.update_user(1, UserChange{"cpid", "from others", "of another host Ü '"});
        s.accounts.update_user(2, UserChange{std::nullopt, "first", ""});
        return std::string();
    });
    EXPECT_EQ(rows.users[1].global_prefs, "of another host ü '");
    EXPECT_EQ(rows.users[1].cross_project_id, "cpid");
    EXPECT_EQ(rows.users[2].global_prefs, "first");
    same_on_both([](RpcStores s) {
        s.accounts.update_user(1, UserChange{std::nullopt, "newer", "of another host ü '"});
        return std::string();
    });
    EXPECT_EQ(rows.users[1].global_prefs, "newer");
}

TEST_F(RpcStoresContract, HostStateAndCounters) {
    rows.host_app_versions[{1, 7}] = {1, 7, 1, 2, {3, 4, 5, 6}, 500, 20, {7, 8, 9, 10}, 11};
    rows.host_app_versions[{1, 9}] = {1, 9, 0, 0, {}, 1, 3, {}, 2};
    rows.host_app_versions[{2, 7}] = {2, 7, 0, 0, {}, 50, 5, {}, 2};
    rows.to_host[1] = {1, 1, 0, "v", "<a>ü</a>", false};
    rows.to_host[2] = {2, 1, 0, "v", "done", true};
    rows.to_host[3] = {3, 2, 0, "v", "other", false};
    const auto loaded = [](RpcStores s) {
        std::string out;
        for (const bool with : {true, false}) {
            const HostState state = s.host_states.load(1, with);
            for (const auto& v : state.versions)
                out += fmt::format("{} {} {} {} {} {} {}; ", v.app_version_id, v.pfc_avg, v.et.avg, v.et.q,
                                   v.max_jobs_per_day, v.n_jobs_today, v.turnaround.q);
            for (const auto& m : state.messages) out += fmt::format("msg {} {}; ", m.id, m.xml);
        }
        return out;
    };
    same_on_both(loaded);
    same_on_both([](RpcStores s) {
        s.host_states.change_versions(
            1, false, std::vector<VersionChange>{{9, 0, -5, true}, {7, 3, 0, false}, {1000002, 2, 0, false}});
        s.host_states.change_versions(1, true, std::vector<VersionChange>{{7, 1, 10, false}});
        s.host_states.change_versions(2, true, {});
        s.host_states.insert_messages(1, 77, std::vector<MessageFromHost>{{"v", kNasty}, {kNasty, ""}});
        s.host_states.mark_delivered(std::vector<Id>{1, 3});
        return "";
    });
    same_on_both(loaded);
}

TEST_F(RpcStoresContract, VerdictsOnVersionsWithAndWithoutTheirTable) {
    rows.host_app_versions[{1, 7}] = {1, 7, 1, 2, {3, 4, 5, 6}, 500, 20, {7, 8, 9, 10}, 11};
    rows.to_host[1] = {1, 1, 0, "v", "<a/>", false};
    const auto loaded = [](RpcStores s) {
        std::string out;
        for (const bool messages : {true, false})
            for (const bool turnaround : {true, false, true}) {
                const HostState state = s.host_states.load(1, messages, turnaround);
                out += fmt::format("{} versions, {} messages:", state.versions.size(), state.messages.size());
                for (const auto& [version, low] : state.low_turnaround) out += fmt::format(" {}={}", version, low);
                out += "; ";
            }
        return out;
    };
    database().execute(Sql("DROP TABLE IF EXISTS sluice_host_ltt"));
    same_on_both(loaded);
    rows.low_turnaround = {{{1, 7}, true}, {{1, 1000002}, false}, {{2, 7}, true}};
    same_on_both([&](RpcStores s) {
        make_host_ltt_store(database())
            ->write(
                std::vector<VersionTurnaround>{{1, 7, true, 0.5, 9}, {1, 1000002, false, 3, 5}, {2, 7, true, 0.1, 3}},
                {});
        return loaded(s);
    });
    database().execute(Sql("DROP TABLE sluice_host_ltt"));
}

TEST_F(RpcStoresContract, KnownResultsByNameAndByHost) {
    in_progress(10, 1, 1);
    in_progress(20, 3, 2);
    rows.results.at(30).workunitid = 99;  // its workunit is gone
    rows.workunits.at(4).error_mask = 16;
    same_on_both([](RpcStores s) {
        std::string out;
        for (const ResultQuery& q : {ResultQuery{}, ResultQuery{{"wu2_0", "wu3_0", "wu4_0", "none", kNasty}, 0},
                                     ResultQuery{{"wu1_0"}, 1}, ResultQuery{{}, 3}}) {
            for (const KnownResult& k : s.results.load(q))
                out += fmt::format("{} {} {} {} {} {}; ", k.id, k.name, static_cast<int>(k.server_state), k.hostid,
                                   k.userid_of_host, k.wu_error_mask);
            out += "| ";
        }
        return out;
    });
}

TEST_F(RpcStoresContract, FactsOfAShortlist) {
    in_progress(20, 2, 1);
    rows.results.at(20).workunitid = 1;  // another instance of workunit 1
    same_on_both([](RpcStores s) {
        std::string out;
        for (const bool count : {true, false})
            for (const WorkunitFacts& f : s.results.facts({{30, 10, 999, 20}, 1, 2, count, count}))
                out += fmt::format("{} {} {} {} {} {} {} {}; ", f.result_id, f.found, f.workunit_id,
                                   static_cast<int>(f.server_state), f.transition_time, f.results_of_user,
                                   f.results_of_host, f.result_name);
        return out + fmt::format("{}", s.results.facts({}).size());
    });
}

TEST_F(RpcStoresContract, LostJobs) {
    in_progress(10, 1, 1);
    rows.results.at(20).workunitid = 99;
    same_on_both([](RpcStores s) {
        std::string out;
        for (const LostJob& j : s.results.lost_jobs(std::vector<Id>{10, 20, 77}))
            out += fmt::format("{} {} {} {} {}; ", j.result.id, j.result.name, j.workunit_found, j.workunit.name,
                               j.result.report_deadline);
        return out;
    });
}

TEST_F(RpcStoresContract, TouchingWorkunits) {
    rows.workunits.at(2).hr_class = 258;
    same_on_both([](RpcStores s) {
        s.results.touch_workunits(std::vector<WorkunitTouch>{{3, 9999, true, 0, 0, 0},
                                                             {1, 4000, true, 386, 0, 0},
                                                             {2, 4000, true, 386, 0, 0},
                                                             {4, 9000, false, 0, 12, 0},
                                                             {5, 1, true, 0, 0, 3},
                                                             {77, 1, false, 0, 0, 0}});
        s.results.touch_workunits({});
        return "";
    });
}

TEST_F(RpcStoresContract, ReportsOfResultsThatAreOutOrLate) {
    for (Id id : {10, 20, 30, 40, 50}) in_progress(id, 1, 1);
    rows.results.at(20).server_state = ServerState::kOver;
    rows.results.at(20).outcome = Outcome::kNoReply;
    rows.results.at(30).server_state = ServerState::kOver;
    rows.results.at(30).outcome = Outcome::kSuccess;
    rows.results.at(40).received_time = 5;
    same_on_both([](RpcStores s) {
        const std::string nasty = std::string("a\0b\xff\xfe", 5) + kNasty, files(60000, 'x');
        ReportBatch batch{1, 5, 1234, {}};
        for (Id id : {50, 40, 30, 20, 10, 60, 999}) {
            ReportWrite w;
            w.id = id;
            w.client_state = ClientState::kFilesUploaded;
            w.cpu_time = 0.1 + 0.2 + static_cast<double>(id);
            w.elapsed_time = 1e300;
            w.exit_status = -1;
            w.stderr_out = nasty;
            w.xml_doc_out = files;
            batch.results.push_back(w);
        }
        return refused_by([&](const OnRefused& refused) { s.results.store_reports(batch, refused); });
    });
}

TEST_F(RpcStoresContract, SendingTakesOnlyWhatMayBeSent) {
    in_progress(20, 1, 1);  // lost by host 1
    in_progress(30, 2, 1);  // another host's
    rows.workunits.at(4).error_mask = 16;
    rows.workunits.at(5).hr_class = 258;
    rows.workunits.at(6).app_version_id = 12;
    same_on_both([](RpcStores s) {
        SendBatch batch{1, 1, 1234, false, false, {}};
        batch.results = {{60, 6, false, 0, 777, 1e9, 12, 0, 12}, {10, 1, false, 0, 888, 2.5e9, -2, 0, 0},
                         {20, 2, true, 900, 1, 0, 3, 0, 0},      {30, 3, true, 0, 1, 0, 3, 0, 0},
                         {40, 4, false, 0, 1, 0, 3, 0, 0},       {50, 5, false, 0, 1, 0, 3, 386, 0},
                         {99, 1, false, 0, 1, 0, 3, 0, 0}};
        return refused_by([&](const OnRefused& refused) { s.results.send(batch, refused); });
    });
}

TEST_F(RpcStoresContract, OneInstancePerUserIsCheckedAtSending) {
    in_progress(20, 2, 1);
    rows.results.at(20).workunitid = 1;  // user 1 has an instance of workunit 1, on host 2
    const FakeDb before = rows;
    for (const bool per_user : {true, false}) {
        rows = before;
        same_on_both([&](RpcStores s) {
            SendBatch batch{1, 1, 1234, per_user, !per_user, {}};
            batch.results = {{10, 1, false, 0, 5, 1, 1, 0, 0}, {30, 3, false, 0, 5, 1, 1, 0, 0}};
            return refused_by([&](const OnRefused& refused) { s.results.send(batch, refused); });
        });
        EXPECT_EQ(rows.results.at(10).hostid, per_user ? 0 : 1);
        EXPECT_EQ(rows.results.at(30).hostid, 1);
    }
}

TEST_F(RpcStoresContract, DetachingTheJobsOfOneHost) {
    in_progress(10, 1, 1);
    in_progress(20, 2, 1);
    same_on_both([](RpcStores s) {
        s.results.detach(1, 55, std::vector<Id>{10, 20, 30});
        s.results.detach(1, 55, {});
        return "";
    });
}

TEST_F(RpcStoresContract, Assignments) {
    rows.assignments[1] = {1, 1, AssignTarget::kUser, false, 1, 0};
    rows.assignments[2] = {2, 1, AssignTarget::kHost, false, 2, 0};
    rows.assignments[3] = {3, 5, AssignTarget::kTeam, false, 99, 0};
    rows.assignments[4] = {4, 0, AssignTarget::kNone, true, 4, 0};
    rows.assignments[5] = {5, 0, AssignTarget::kTeam, false, 4, 0};  // of no team
    in_progress(20, 1, 1);
    same_on_both([this](RpcStores s) {
        std::string out;
        const auto show = [&](const AssignmentQuery& q) {
            for (const AssignedJob& j : s.assignments.load(q))
                out += fmt::format("{} {} {} {} {}; ", j.assignment.id, j.workunit_found, j.workunit.name,
                                   j.instances.in_progress + 10 * j.instances.unsent, j.instances.on_this_host);
            out += "| ";
        };
        show({1, 1, 5, true, {}});
        show({1, 1, 0, true, {rows.assignments[4]}});
        show({1, 1, 0, false, {rows.assignments[4]}});
        show({1, 1, 0, false, {}});
        for (const InstanceCounts& n : s.assignments.instances_now(std::vector<Id>{1, 2, 99}, 1))
            out += fmt::format("{} {} {} {}; ", n.workunitid, n.unsent, n.in_progress, n.on_this_host);
        Result r;
        r.workunitid = 4;
        r.server_state = ServerState::kInProgress;
        r.name = kNasty;
        r.hostid = 1;
        r.flops_estimate = 0.3;
        s.assignments.insert_results(std::vector<Result>{r});
        s.assignments.remove(std::vector<Id>{3, 77});
        return out;
    });
}

TEST_F(RpcStoresContract, AUnitOfWorkIsAllOrNothing) {
    same_on_both([](RpcStores s) {
        EXPECT_THROW(s.unit_of_work.run(
                         [&] {
                             s.results.touch_workunits(std::vector<WorkunitTouch>{{1, 1, false, 0, 0, 0}});
                             throw std::runtime_error("no");
                         },
                         [] { return false; }),
                     std::runtime_error);
        s.unit_of_work.run(
            [&] {
                s.results.touch_workunits(std::vector<WorkunitTouch>{{2, 1, false, 0, 0, 0}});
            },
            [] { return false; });
        return "";
    });
}

}  // namespace
}  // namespace sluice::test
