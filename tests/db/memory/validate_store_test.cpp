// SPDX-License-Identifier: LGPL-3.0-or-later
// What a validator reads and writes: in memory and on MariaDB the same calls give the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "db/memory/validate_store.h"
#include "tests/db/memory/both_databases.h"

namespace sluice::test {
namespace {

class ValidateStoreContract : public BothDatabases {
  protected:
    ValidateStoreContract() {
        App& app = rows.apps[1];
        app.id = 1, app.name = "app", app.target_nresults = 2, app.min_avg_pfc = 3, app.host_scale_check = true;
        for (Id id = 1; id <= 2; ++id) {
            AppVersion& v = rows.versions[id];
            v.id = id, v.appid = id, v.pfc_n = 5, v.pfc_avg = 2, v.pfc_scale = 1.5;
            User& u = rows.users[id];
            u.id = id, u.name = u.authenticator = fmt::format("user{}", id), u.email_addr = u.name, u.total_credit = 7;
            Host& h = rows.hosts[id];
            h.id = id, h.userid = id, h.total_credit = 5, h.avg_turnaround = id == 1 ? 0 : 500;
            HostAppVersion& hav = rows.host_app_versions[{id, 1}];
            hav.host_id = id, hav.app_version_id = 1, hav.max_jobs_per_day = 8, hav.consecutive_valid = 4;
            hav.et = {2, 1e-9, 0, 0};
        }
        for (Id id = 1; id <= 5; ++id) workunit(id);
    }
    void workunit(Id id) {
        Workunit& w = rows.workunits[id];
        w.id = id, w.appid = id == 5 ? 2 : 1, w.name = fmt::format("w{}", id);
        w.need_validate = id != 4, w.min_quorum = w.target_nresults = 2, w.max_success_results = 6;
        w.transition_time = 9000, w.opaque = 2.5, w.batch = 3, w.delay_bound = 77;
        for (Id i = 0; i < 3; ++i) {
            Result& r = rows.results[10 * id + i];
            r.id = 10 * id + i, r.workunitid = id, r.appid = w.appid, r.name = fmt::format("w{}_{}", id, i);
            r.hostid = r.userid = 1 + i % 2, r.sent_time = 100, r.received_time = 300, r.app_version_id = 1;
            r.server_state = i == 2 ? ServerState::kUnsent : ServerState::kOver;
            r.outcome = i == 2 ? Outcome::kInit : Outcome::kSuccess;
            r.elapsed_time = 50, r.cpu_time = 40, r.flops_estimate = 1e9;
        }
    }
    void same_on_both(const std::function<std::string(ValidateStore&)>& verbs) {
        BothDatabases::same_on_both(
            [&](MemoryDb& mine) {
                MemoryValidateStore store(mine);
                return verbs(store);
            },
            [&](Database& db) { return verbs(*make_validate_store(db)); }, &rows_text);
    }
    static std::string rows_text(const FakeDb& db) {
        std::string all;
        for (const auto& [id, w] : db.workunits)
            all += fmt::format("wu {} ask {} canonical {} credit {} mask {} assimilate {} target {} transition {}\n",
                               id, w.need_validate, w.canonical_resultid, w.canonical_credit, w.error_mask,
                               static_cast<int>(w.assimilate_state), w.target_nresults, w.transition_time);
        for (const auto& [id, r] : db.results)
            all += fmt::format("result {} state {} outcome {} validate {} credit {} outlier {} opaque {}\n", id,
                               static_cast<int>(r.server_state), static_cast<int>(r.outcome),
                               static_cast<int>(r.validate_state), r.granted_credit, r.runtime_outlier, r.opaque);
        for (const auto& [id, h] : db.hosts)
            all += fmt::format("host {} credit {} {:.6g} turnaround {:.6g}\n", id, h.total_credit, h.expavg_credit,
                               h.avg_turnaround);
        for (const auto& [id, u] : db.users)
            all += fmt::format("user {} {} {:.6g}\n", id, u.total_credit, u.expavg_credit);
        for (const auto& [id, v] : db.versions)
            all += fmt::format("version {} {} {:.6g} {:.6g}\n", id, v.pfc_n, v.pfc_avg, v.expavg_credit);
        for (const auto& [key, v] : db.host_app_versions)
            all += fmt::format("hav {} {} quota {} valid {} et {} {:.6g} turnaround {} {:.6g} pfc {} {:.6g}\n",
                               key.first, key.second, v.max_jobs_per_day, v.consecutive_valid, v.et.n, v.et.avg,
                               v.turnaround.n, v.turnaround.avg, v.pfc_n, v.pfc_avg);
        return all;
    }
    /// A quorum of the first two results, written to the workunit as it stands in `read`.
    static ValidationWrite verdict(const WorkunitWithResults& read) {
        ValidationWrite w;
        w.canonical_resultid = read.results[0].id, w.canonical_credit = 11, w.assimilate = true;
        w.transition_time = 5000;
        for (int i = 0; i < 2; ++i) {
            const Result& r = read.results[static_cast<std::size_t>(i)];
            ValidationWrite::ResultRow row;
            row.id = r.id, row.validate_state = i == 0 ? ValidateState::kValid : ValidateState::kInvalid;
            row.granted_credit = i == 0 ? 11 : 0, row.runtime_outlier = i == 1;
            if (i == 1) row.opaque = 4.5;  // of the other one it stays
            w.results.push_back(row);
            ValidationWrite::HostRow host;
            host.hostid = host.userid = r.hostid, host.generalized_version = host.app_version_id = 1;
            host.valid = i == 0, host.trust = true, host.credit = i == 0 ? 11 : 0, host.started = 100;
            host.turnaround = 200, host.et = 2e-9, host.pfc = 4, host.quota = 5;
            w.hosts.push_back(host);
        }
        w.cancel = {read.results[2].id};
        return w;
    }
};

std::string text(const WorkunitWithResults& job) {
    const Workunit& w = job.wu;
    std::string all = fmt::format(
        "wu {} {} canonical {} transition {} quorum {} target {} max {} opaque {} delay {} batch {} app {}:", w.id,
        w.name, w.canonical_resultid, w.transition_time, w.min_quorum, w.target_nresults, w.max_success_results,
        w.opaque, w.delay_bound, w.batch, w.appid);
    for (const Result& r : job.results)
        all +=
            fmt::format(" {} {} state {} outcome {} host {} user {} sent {} received {} {} {} {} version {}", r.id,
                        r.name, static_cast<int>(r.server_state), static_cast<int>(r.outcome), r.hostid, r.userid,
                        r.sent_time, r.received_time, r.cpu_time, r.elapsed_time, r.flops_estimate, r.app_version_id);
    return all + "\n";
}

TEST_F(ValidateStoreContract, PagesOfWhatAsksForValidation) {
    same_on_both([](ValidateStore& s) {
        std::string all;
        const auto pages = [&](const WorkunitFilter& filter) {
            for (const auto& job : s.page(filter, 0, 2)) all += text(job);
            for (const auto& job : s.page(filter, 2, 10)) all += "then " + text(job);
        };
        pages({1}), pages({2}), pages({3});
        pages({1, {2, 1}}), pages({1, {}, 3}), pages({1, {}, 0, 2}), pages({1, {}, 0, 0, 2});
        return all;
    });
}

TEST_F(ValidateStoreContract, AppsVersionsAndThoseOfHosts) {
    same_on_both([](ValidateStore& s) {
        std::string all = s.app_by_name("none") ? "?" : "none\n";
        const auto app = s.app_by_name("app");
        all += fmt::format("{} {} {} {}\n", app->id, app->target_nresults, app->min_avg_pfc, app->host_scale_check);
        for (const auto& [id, v] : s.versions(1))
            all += fmt::format("{} {} {} {}\n", id, v.pfc_n, v.pfc_avg, v.pfc_scale);
        const std::vector<std::pair<Id, Id>> keys{{1, 1}, {2, 1}, {2, 2}};
        for (const auto& [key, v] : s.host_app_versions(keys))
            all += fmt::format("{} {}: {} {} {} {}\n", key.first, key.second, v.et.n, v.et.avg, v.max_jobs_per_day,
                               v.consecutive_valid);
        return all;
    });
}

TEST_F(ValidateStoreContract, AVerdictIsWrittenOnce) {
    same_on_both([](ValidateStore& s) {
        const WorkunitWithResults read = s.page({1}, 0, 1).at(0);
        const auto first = s.apply(read, verdict(read), 6000);
        return fmt::format("{} then {}", static_cast<int>(first), static_cast<int>(s.apply(read, verdict(read), 6001)));
    });
}

TEST_F(ValidateStoreContract, WhatWasReadMustStillStand) {
    using Change = std::function<void(WorkunitWithResults&)>;
    const std::vector<Change> changes{[](auto& read) { read.wu.canonical_resultid = 10; },
                                      [](auto& read) { read.wu.error_mask = 1; },
                                      [](auto& read) { read.wu.target_nresults = 3; },
                                      [](auto& read) { read.wu.max_success_results = 1; },
                                      [](auto& read) { read.results.pop_back(); },
                                      [](auto& read) { read.results.push_back(read.results[0]); },
                                      [](auto& read) { read.results[0].server_state = ServerState::kInProgress; },
                                      [](auto& read) { read.results[1].validate_state = ValidateState::kValid; }};
    for (const Change& change : changes)
        same_on_both([&](ValidateStore& s) {
            WorkunitWithResults read = s.page({1}, 0, 1).at(0);
            const ValidationWrite write = verdict(read);
            change(read);
            return fmt::format("{}", static_cast<int>(s.apply(read, write, 6000)));
        });
}

TEST_F(ValidateStoreContract, ARequestedTransitionIsNotPutOff) {
    same_on_both([](ValidateStore& s) {
        WorkunitWithResults read = s.page({1}, 0, 1).at(0);
        read.wu.transition_time = 8000;  // it was that when it was read; now it is 9000
        return fmt::format("{}", static_cast<int>(s.apply(read, verdict(read), 6000)));
    });
}

TEST_F(ValidateStoreContract, AnErrorWithoutAQuorum) {
    same_on_both([](ValidateStore& s) {
        const WorkunitWithResults read = s.page({1}, 1, 1).at(0);
        ValidationWrite w;
        w.error_mask = 4, w.target_nresults = 5, w.transition_time = 6001;
        return fmt::format("{}", static_cast<int>(s.apply(read, w, 6000)));
    });
}

/// All that asks for validation of app 1: workunits 1, 2 and 3.
std::vector<ValidationStep> steps_of(const std::vector<WorkunitWithResults>& read,
                                     const std::vector<ValidationWrite>& writes) {
    std::vector<ValidationStep> steps;
    for (std::size_t i = 0; i < read.size(); ++i) steps.push_back({&read[i], &writes[i]});
    return steps;
}
std::string text(const std::vector<Validated>& outcomes) {
    std::string all;
    for (const Validated v : outcomes) all += fmt::format("{} ", static_cast<int>(v));
    return all;
}

TEST_F(ValidateStoreContract, AGroupIsWhatItsStepsAre) {
    for (int i = 0; i < 2; ++i) {
        // In memory one by one, on MariaDB together; then the other way round.
        const auto verbs = [i](bool together, ValidateStore& s) {
            const auto read = s.page({1}, 0, 10);
            std::vector<ValidationWrite> writes;
            for (const auto& job : read) writes.push_back(verdict(job));
            writes[1].canonical_resultid = 0, writes[1].assimilate = false, writes[1].transition_time = 0;
            writes[1].target_nresults = 4, writes[1].error_mask = 8;
            std::ranges::reverse(writes[2].hosts);
            writes[2].canonical_credit = 0.1, writes[2].results[0].granted_credit = 0.1;
            if (together == (i == 0)) return text(s.apply(steps_of(read, writes), 6000));
            std::string all;
            for (std::size_t step = 0; step < read.size(); ++step)
                all += text(std::vector{s.apply(read[step], writes[step], 6000)});
            return all;
        };
        BothDatabases::same_on_both(
            [&](MemoryDb& mine) {
                MemoryValidateStore store(mine);
                return verbs(false, store);
            },
            [&](Database& db) { return verbs(true, *make_validate_store(db)); }, &rows_text);
    }
}

TEST_F(ValidateStoreContract, OneThatChangedIsLeftOut) {
    same_on_both([](ValidateStore& s) {
        auto read = s.page({1}, 0, 10);
        std::vector<ValidationWrite> writes;
        for (const auto& job : read) writes.push_back(verdict(job));
        const auto gone = s.apply(read[0], writes[0], 5999);
        read[1].results[0].outcome = Outcome::kClientError;
        return fmt::format("{} {}", static_cast<int>(gone), text(s.apply(steps_of(read, writes), 6000)));
    });
}

TEST_F(ValidateStoreContract, AResultThatWasTakenUndoesTheGroup) {
    same_on_both([](ValidateStore& s) {
        const auto read = s.page({1}, 0, 10);
        std::vector<ValidationWrite> writes;
        for (const auto& job : read) writes.push_back(verdict(job));
        writes[1].results[1].was_validate_state = ValidateState::kInconclusive;
        return text(s.apply(steps_of(read, writes), 6000));
    });
}

TEST_F(ValidateStoreContract, AGroupCostsAsMuchAsOneStep) {
    truncate_all_tables(database());
    for (Id id = 6; id <= 40; ++id) workunit(id);
    store_rows(database(), rows);
    const auto store = make_validate_store(database());
    const auto read = store->page({1}, 0, 100);
    ASSERT_GT(read.size(), 30U);
    std::vector<ValidationWrite> writes;
    for (const auto& job : read) writes.push_back(verdict(job));
    const auto statements = database().statements(), commits = database().commits();
    EXPECT_THAT(store->apply(steps_of(read, writes), 6000), testing::Each(Validated::kWritten));
    EXPECT_LE(database().statements() - statements, 16U);
    EXPECT_EQ(database().commits() - commits, 1U);
}

}  // namespace
}  // namespace sluice::test
