// SPDX-License-Identifier: LGPL-3.0-or-later
// What gang_hub, gang_planner and the scheduler read and write of gangs: in memory and on MariaDB the same calls give
// the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "db/memory/batch_plan_store.h"
#include "db/memory/gang_store.h"
#include "db/memory/rpc_stores.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "tests/db/memory/both_databases.h"

namespace sluice::test {
namespace {

struct GangStores {
    GangStore& gangs;
    GangLeaseStore& leases;
    RpcStores rpc;
    BatchPlanFactsStore& plans;
};

std::string name(const GangId& id) { return fmt::format("{}.{}", id.batch, id.number); }

/// Batches 1, 2 (first in order) and 3 (not in progress) of two gangs of two; hosts 1 to 6.
class GangStoresContract : public BothDatabases {
  protected:
    GangStoresContract() {
        rows.apps[1].id = 1, rows.apps[1].name = "app";
        rows.platforms[1] = {1, "linux", "linux", false};
        for (const auto& [id, platform, deprecated] : {std::tuple{1, 1, false}, {2, 3, false}, {3, 2, true}}) {
            AppVersion& v = rows.versions[id];
            v.id = id, v.appid = 1, v.platformid = platform, v.deprecated = deprecated;
        }
        for (Id id = 1; id <= 3; ++id) {
            Batch& b = rows.batches[id];
            b.id = id, b.user_id = 1, b.app_id = 1, b.logical_end_time = static_cast<double>(10 - id);
            b.state = id < 3 ? BatchState::kInProgress : BatchState::kInit;
            for (int j = 0; j < 4; ++j) job(id, j);
        }
        for (Id id = 1; id <= 6; ++id) {
            Host& h = rows.hosts[id];
            h.id = id, h.userid = id == 6 ? 0 : 1, h.rpc_time = 1000 + 10 * id;
            h.on_frac = 0.5, h.active_frac = 0.25, h.p_fpops = 1e9 * static_cast<double>(id);
            h.expavg_credit = id % 2 == 0 ? static_cast<double>(id) : 0;
            if (id != 5) rows.host_attempts[id] = 7;
        }
    }
    static std::string job_name(Id batch, int j) { return fmt::format("b{}_{}", batch, j); }
    static Id workunit(Id batch, int j) { return 10 * batch + j; }
    void job(Id batch, int j) {
        Workunit& w = rows.workunits[workunit(batch, j)];
        w.id = workunit(batch, j), w.appid = 1, w.batch = batch, w.name = job_name(batch, j);
        w.xml_doc = j == 1 ? "<file_info></file_info><workunit><file_ref>" : "<workunit></workunit>";
        w.rsc_fpops_est = 1e12 * (j + 1), w.transition_time = kNever;
    }
    Result& instance(Id workunit, Id host, ServerState state) {
        const Id id = rows.results.next_key();
        Result& r = rows.results[id];
        r.id = id, r.workunitid = workunit, r.hostid = host, r.server_state = state, r.appid = 1;
        r.name = fmt::format("r{}", id);
        return r;
    }
    static void define(const GangStores& s, Id batch) {
        std::vector<GangJob> jobs;
        for (int j = 0; j < 4; ++j) jobs.push_back({{batch, j / 2}, j % 2, job_name(batch, j)});
        s.gangs.define(jobs, 2);
        s.gangs.define(jobs, 2);
    }
    static GangLease lease(Id host, GangId gang, std::int64_t start, Id workunit = 0) {
        GangLease l;
        l.host = host, l.gang = gang, l.start = start, l.since = 900, l.lapses = 1, l.workunit = workunit;
        return l;
    }
    void same_on_both(const std::function<std::string(const GangStores&)>& verbs) {
        BothDatabases::same_on_both(
            [&](MemoryDb& mine) {
                MemoryGangStore gangs(mine);
                MemoryGangLeaseStore leases(mine);
                MemoryRpcStores rpc(mine);
                MemoryBatchPlanFactsStore plans(mine);
                return verbs({gangs, leases, rpc.stores(), plans});
            },
            [&](Database& db) {
                const auto leases = make_gang_lease_store(db);
                leases->prepare();
                prepare_host_attempts(db);
                for (const auto& [host, attempt] : rows.host_attempts) {
                    Sql sql("INSERT IGNORE INTO sluice_host_rpc (host_id, attempt, platforms) VALUES (");
                    db.execute(sql << host << "," << attempt << ",-1)");
                }
                const auto gangs = make_gang_store(db);
                MysqlRpcStores rpc(db);
                const auto plans = make_batch_plan_facts_store(db);
                return verbs({*gangs, *leases, rpc.stores(), *plans});
            },
            [](const FakeDb& db) {
                std::string all;
                for (const auto& [id, w] : db.workunits)
                    all += fmt::format("workunit {} {} {}\n", id, w.error_mask, w.transition_time);
                return all;
            });
    }
};

std::string text(std::vector<GangMemberRow> members) {
    std::string all;
    for (const GangMemberRow& m : members)
        all += fmt::format("gang {} of {} workunit {} platforms {} {} failed {} busy {} ended {} cut {}\n",
                           name(m.gang), m.size, m.workunit, m.platforms, m.fpops, m.failed, m.busy, m.ended, m.cut);
    return all + "--\n";
}
std::string text(const GangLease& l) {
    return fmt::format("host {} gang {} start {} since {} lapses {} workunit {} heard {} speed {} has it {}\n", l.host,
                       name(l.gang), l.start, l.since, l.lapses, l.workunit, l.heard, l.p_fpops, l.has_it);
}
std::string text(const std::vector<GangLease>& leases) {
    std::string all;
    for (const GangLease& l : leases) all += text(l);
    return all + "--\n";
}
std::string text(const std::vector<GangHost>& hosts) {
    std::string all;
    for (const GangHost& h : hosts)
        all += fmt::format("host {} heard {} {} {} {} kept {} lapsed {} platforms {} good run {} on since {}\n", h.id,
                           h.heard, h.on_frac, h.active_frac, h.p_fpops, h.kept, h.lapsed, h.platforms, h.good_run,
                           h.on_since);
    return all + "--\n";
}

std::string text(std::vector<GangMemberInstance> instances) {
    std::sort(instances.begin(), instances.end(), [](auto& a, auto& b) { return a.result.id < b.result.id; });
    std::string all;
    for (const auto& [member, name, r] : instances)
        all += fmt::format("member {} {} {} of {} batch {} on {} state {} made {} sent {}\n", member, name, r.id,
                           r.workunit, r.batch, r.host, static_cast<int>(r.state), r.create_time, r.sent_time);
    return all + "--\n";
}

TEST_F(GangStoresContract, GangsEndOnceAndGoWithTheirBatch) {
    same_on_both([](const GangStores& s) {
        std::string all;
        const auto say = [&] {
            for (const GangId& id : {GangId{1, 0}, {1, 1}, {2, 0}, {9, 0}})
                if (const auto facts = s.gangs.find(id))
                    all += fmt::format("{} size {} ended {} given up {}\n", name(id), facts->size, facts->ended,
                                       facts->given_up);
            for (const Id batch : {1, 2, 9}) all += fmt::format("size {} ", s.gangs.size_in(batch).value_or(-1));
            for (const char* job : {"b1_0", "b1_3", "b2_1", "nobody"})
                if (const auto gang = s.gangs.gang_of(job)) all += fmt::format("{} is of {} ", job, name(*gang));
            const std::vector<Id> batches{1, 2, 3};
            all += fmt::format("batches with gangs {} waits {}\n", s.plans.gang_batches(batches),
                               s.gangs.standing_of(1).gangs);
        };
        say();
        define(s, 1), define(s, 2);
        say();
        s.gangs.end({1, 0}, 5000);
        s.gangs.end({1, 0}, 6000);
        const std::vector<Id> open{workunit(1, 2), workunit(1, 3)};
        s.leases.give_up({1, 1}, open, 7000);
        s.leases.give_up({1, 0}, {}, 7000);  // has ended
        s.gangs.end({1, 1}, 8000);           // was given up
        s.gangs.end({9, 0}, 8000);
        say();
        s.gangs.remove(2);
        say();
        return all;
    });
}

TEST_F(GangStoresContract, GangWaitsAreKeptUntilTheyEnd) {
    same_on_both([](const GangStores& s) {
        std::string all;
        const auto say = [&] {
            const auto add = [&](const std::vector<GangWait>& waits) {
                for (const GangWait& w : waits)
                    all += fmt::format("{} {} {} {} {}; ", name(w.gang), w.members, w.hosts, w.since, w.short_since);
            };
            add(s.gangs.waiting(2));
            all += fmt::format("of {} ", s.leases.waits().size());
            for (const Id batch : {1, 2, 9})
                if (const auto g = s.gangs.of_batch(batch)) {
                    all += fmt::format("batch {}: {} {} {} {}: ", batch, g->size, g->gangs, g->ended, g->given_up);
                    all += fmt::format("cut {} ", fmt::join(g->cut, ","));
                    add(g->waits);
                }
            all += "\n";
        };
        say();
        define(s, 1), define(s, 2);
        s.gangs.end({1, 0}, 5000);
        s.leases.note_waits({});
        say();
        const std::vector<GangWait> first{{{1, 1}, 2, 3, 100, 0}, {{2, 0}, 2, 1, 300, 350}, {{2, 1}, 2, 0, 200, 250}};
        s.leases.note_waits(first);
        say();
        const std::vector<GangWait> second{{{1, 1}, 0, 0, 0, 0}, {{2, 0}, 1, 0, 300, 200}};
        s.leases.note_waits(second);
        EXPECT_EQ(s.leases.waits().size(), 2u);
        say();
        s.gangs.remove(2);
        say();
        EXPECT_TRUE(s.leases.waits().empty());
        return all;
    });
}

TEST_F(GangStoresContract, MembersOpenInOrderOfTheirBatches) {
    instance(workunit(1, 0), 1, ServerState::kInProgress);
    instance(workunit(1, 1), 1, ServerState::kOver).outcome = Outcome::kClientError;
    Result& well = instance(workunit(1, 2), 2, ServerState::kOver);
    well.outcome = Outcome::kSuccess;
    Result& wrong = instance(workunit(1, 3), 2, ServerState::kOver);
    wrong.outcome = Outcome::kSuccess, wrong.validate_state = ValidateState::kInvalid;
    rows.workunits[workunit(2, 0)].canonical_resultid = 77;
    rows.workunits[workunit(2, 1)].error_mask = 1;
    rows.workunits.erase(workunit(2, 3));  // purged
    same_on_both([](const GangStores& s) {
        for (const Id batch : {1, 2, 3}) define(s, batch);
        std::string all = text(s.leases.open_members(100));
        for (const int most : {1, 2, 3, 4, 5, 6, 7, 8}) all += text(s.leases.open_members(most));
        s.gangs.end({1, 0}, 5000);
        s.gangs.end({2, 0}, 5000);
        all += text(s.leases.open_members(100));
        std::vector<Id> workunits;
        for (int j = 0; j < 4; ++j) workunits.push_back(workunit(1, j));
        auto instances = s.leases.instances_of(workunits);
        std::sort(instances.begin(), instances.end(),
                  [](const GangInstance& a, const GangInstance& b) { return a.workunit < b.workunit; });
        for (const GangInstance& i : instances)
            all += fmt::format("{} {} {} {} {} {}\n", i.workunit, i.host, i.in_progress, i.result, i.heard, i.p_fpops);
        for (const std::vector<int>& which : {std::vector<int>{0}, {1}, {0, 1}, {1, 7}, {}})
            for (const GangId& id : {GangId{1, 0}, {1, 1}, {3, 0}, {9, 0}}) all += text(s.gangs.instances(id, which));
        return all;
    });
}

TEST_F(GangStoresContract, HostsWithoutALeaseNewestFirst) {
    const auto version = [this](Id host, Id id, double done, int in_a_row, int quota) {
        HostAppVersion& v = rows.host_app_versions[{host, id}];
        v.host_id = host, v.app_version_id = id, v.et.n = done, v.consecutive_valid = in_a_row;
        v.max_jobs_per_day = quota;
    };
    version(1, 1, 8, 8, 50);                            // never failed
    version(2, 1, 30, 4, 50), version(2, 2, 9, 2, 50);  // with both
    version(3, 1, 30, 12, 50), version(3, 2, 3, 3, 50);
    version(4, 1, 0, 0, 49);  // nothing else than failures
    same_on_both([](const GangStores& s) {
        define(s, 1);
        std::string all;
        for (const std::int64_t since : {0, 1010, 1015, 9000}) all += text(s.leases.free_hosts(since, 50, 100));
        all += text(s.leases.free_hosts(0, 50, 1));
        const std::vector<GangLease> keep{lease(2, {1, 0}, 2000)};
        all += fmt::format("written {}\n", s.leases.write_leases(keep, {}, s.leases.version()));
        return all + text(s.leases.free_hosts(0, 50, 100));
    });
}

/// The scheduler sees with the host's row when it is to come, and gets the job that it is given.
TEST_F(GangStoresContract, LeasesAreWrittenByWhoHasReadLast) {
    instance(workunit(1, 1), 2, ServerState::kInProgress);
    same_on_both([](const GangStores& s) {
        define(s, 1);
        std::string all;
        const auto say = [&] {
            all += text(s.leases.leases());
            for (Id host = 1; host <= 6; ++host) {
                all += fmt::format("host {} comes at {}", host, s.rpc.accounts.host_and_account(host)->host.gang_start);
                AssignmentQuery query;
                query.hostid = host, query.appointed = true;
                for (const AssignedJob& job : s.rpc.assignments.load(query))
                    all += fmt::format(" for {} {} {} found {} {} on it {}", job.assignment.workunitid,
                                       job.assignment.target_id, job.workunit.name, job.workunit_found,
                                       job.instances.in_progress, job.instances.on_this_host);
                const auto standing = s.gangs.standing_of(host);
                all += (standing.lease ? " " + text(*standing.lease) : std::string("\n"));
            }
        };
        say();
        const std::int64_t version = s.leases.version();
        const std::vector<GangLease> first{lease(1, {1, 0}, 2000, workunit(1, 0)),
                                           lease(2, {1, 0}, 2000, workunit(1, 1)), lease(3, {1, 1}, 3000, 999),
                                           lease(4, {1, 1}, 3000), lease(5, {1, 1}, 3000)};
        all += fmt::format("written {}\n", s.leases.write_leases(first, {}, version));
        say();
        all += fmt::format("written {}\n", s.leases.write_leases({}, first, version)) + "nothing was changed\n";
        say();
        std::vector<GangLease> end = s.leases.leases();
        end.resize(4);
        end[2].blamed = true;
        std::vector<GangLease> keep{lease(5, {1, 0}, 2600, workunit(1, 0))};
        all += fmt::format("written {} ", s.leases.write_leases(keep, end, s.leases.version()));
        say();
        // Those that are gone leave no mark when they end once more.
        all += fmt::format("written {} ", s.leases.write_leases({}, end, s.leases.version()));
        all += fmt::format("{}\n", s.leases.version() == version);
        return all + text(s.leases.free_hosts(0, 50, 100));
    });
}

}  // namespace
}  // namespace sluice::test
