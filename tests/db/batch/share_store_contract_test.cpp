// SPDX-License-Identifier: LGPL-3.0-or-later
// One suite for the share store in memory and that on MariaDB: what they answer, and the tags of batches that are there
// afterwards, are the same.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "db/memory/share_store.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1.8e9;
constexpr Id kAda = 1, kBob = 2, kCy = 3;

class ShareStoreContract : public testing::Test {
  protected:
    static Database& database() {
        static Database db(PrivateMariaDb::shared().create_project_database("share_store"));
        return db;
    }

    ShareStoreContract() {
        for (const Id id : {kAda, kBob, kCy}) {
            User u;
            u.id = id;
            u.name = u.email_addr = u.authenticator = fmt::format("user{}", id);
            rows.users[id] = u;
        }
        const double speeds[] = {1e9, 5e5, 3e12};  // one tells none that can be, one more than any has
        for (Id id = 1; id <= 3; ++id) {
            Host host;
            host.id = id;
            host.p_fpops = speeds[id - 1];
            rows.hosts[id] = host;
            AppVersion v;
            v.id = id, v.appid = 1, v.version_num = static_cast<int>(id);
            v.expavg_credit = 1000.0 * static_cast<double>(id);
            v.expavg_time = kNow - (id == 3 ? 31 : 29) * 86400;
            rows.versions[id] = v;
        }
        const BatchState states[] = {BatchState::kInProgress, BatchState::kComplete, BatchState::kInit,
                                     BatchState::kInit, BatchState::kInProgress};
        for (Id id = 1; id <= 5; ++id) {
            Batch b;
            b.id = id;
            b.user_id = id == 5 ? kBob : kAda;
            b.state = states[id - 1];
            b.logical_end_time = id == 5 ? 12345 : 0;
            rows.batches[id] = b;
        }
        for (const Id batch : {1, 2, 3}) {
            for (int kind = 0; kind < 12; ++kind) job(batch, kind);
        }
    }

    /// Of twelve kinds: waiting, running, lost, back in time, too late, hours ago or just now …
    void job(Id batch, int kind) {
        Workunit w;
        w.id = static_cast<Id>(rows.workunits.size()) + 1;
        w.appid = 1;
        w.batch = batch;
        w.name = fmt::format("w{}", w.id);
        w.rsc_fpops_est = kind == 11 ? -5 : 1e12 * (1 + kind);
        w.target_nresults = 1 + kind % 2;
        w.canonical_resultid = kind == 5 ? w.id : 0;
        w.error_mask = kind == 6 ? 1 : 0;
        rows.workunits[w.id] = w;
        Result r;
        r.id = w.id;
        r.workunitid = w.id;
        r.appid = 1;
        r.batch = batch;
        r.name = fmt::format("{}_0", w.name);
        r.hostid = kind % 4;  // host 0 is none
        r.elapsed_time = kind == 7 ? 1e9 : kind == 8 ? -3 : 100.0 * kind;
        r.cpu_time = 450;
        const auto now = static_cast<std::int64_t>(kNow);
        r.report_deadline = kind < 2 ? 0 : now - (kind % 3 - 1) * 7200;
        r.server_state = kind == 0   ? ServerState::kInactive
                         : kind == 1 ? ServerState::kUnsent
                         : kind < 5  ? ServerState::kInProgress
                                     : ServerState::kOver;
        r.outcome = kind < 5     ? Outcome::kInit
                    : kind < 8   ? Outcome::kSuccess
                    : kind == 8  ? Outcome::kClientError
                    : kind == 9  ? Outcome::kNoReply
                    : kind == 10 ? Outcome::kClientDetached
                                 : Outcome::kSuccess;
        if (kind == 11) r.received_time = r.report_deadline + 3601;  // it was lost, and came back
        if (kind >= 5 && kind < 9) r.received_time = now - (kind % 2 == 0 ? 60 : 6000);
        // On a GPU; one tells more than any does, one that it computed longer than it had the job.
        r.flops_estimate = kind == 5 ? 5e12 : kind == 6 ? 1e18 : kind == 7 ? 2e13 : 0;
        if (kind == 7) r.sent_time = r.received_time - 3000;
        rows.results[r.id] = r;
    }

    void same_on_both(const std::function<std::string(ShareStore&)>& verbs) {
        FakeDb mine = rows;
        MemoryShareStore memory(mine.memory);
        memory.quotas = quotas;
        const std::string expected = verbs(memory);
        truncate_all_tables(database());
        store_rows(database(), rows);
        for (const auto& [user, quota] : quotas) {
            Sql sql(
                "INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, "
                "max_jobs_in_progress) VALUES (");
            database().execute(sql << user << "," << quota << ",0,1,0,0)");
        }
        const auto real = make_share_store(database());
        real->prepare();
        EXPECT_EQ(expected, verbs(*real));
        EXPECT_EQ(tags(mine), tags(load_rows(database())));
    }

    static std::string tags(const FakeDb& db) {
        std::string out;
        for (const auto& [id, b] : db.batches)
            out += fmt::format("batch {}: {} {}\n", id, b.logical_start_time, b.logical_end_time);
        return out;
    }

    FakeDb rows;
    std::map<Id, double> quotas{{kAda, 1}, {kBob, 3}};
};

std::string text(const BatchWork& w) {
    std::string out = fmt::format(
        "{} of {} state {} {} known {} {} charged {} open {} measured {} of successes {} {} lost {} n {} purged {} waits {}",
        w.id, w.user_id, static_cast<int>(w.state), w.logical_end_time, w.known, w.unfinished, w.charged, w.open,
        w.measured, w.measured_successes, w.estimated_successes, w.lost, w.successes, w.purged, w.waits);
    if (w.stream)
        out += fmt::format("\n   stream {} {}: {} {} {} {} running {} waiting {} open {}", w.stream->until,
                           w.stream->next_until, w.stream->settled, w.stream->settled_lost, w.stream->recent,
                           w.stream->recent_lost, w.stream->running, w.stream->waiting, w.stream->open_jobs);
    return out + "\n";
}

std::string works(ShareStore& store, std::optional<Id> only = {}) {
    std::string out;
    for (const BatchWork& w : store.works(kNow, only)) out += text(w);
    return out;
}

std::string text(const ShareBook& book) {
    const share::ClockState clock = book.clock.state();
    std::string out = fmt::format("clock {} {} flops {}\n", clock.virtual_time, clock.started, book.flops);
    for (const auto& [id, u] : clock.users)
        out += fmt::format("user {}: {} {} {} {}\n", id, u.quota, u.lst, u.known, u.streaming);
    for (const share::BatchTags& b : clock.batches)
        out += fmt::format("batch {} of {}: {} {} {} {} {}\n", b.id, b.user, b.seconds, b.start, b.end, b.share,
                           b.finished);
    for (const auto& [id, quota] : book.quotas) out += fmt::format("quota {} {}\n", id, quota);
    for (const auto& [id, s] : book.streams)
        out += fmt::format("stream {} of {}: {} {} {} {} {}\n", id, s.user_id, s.kept, s.until, s.charged, s.head,
                           s.waits);
    for (const auto& [id, operations] : book.measured) out += fmt::format("measured {} {}\n", id, operations);
    return out;
}

/// What the clock is when it is read, before `work` changes it.
std::string change(
    ShareStore& store, double now, const std::function<void(ShareBook&)>& work = [](ShareBook&) {}) {
    std::string out;
    store.change({}, now, [&](ShareBook& book) {
        out = text(book);
        work(book);
    });
    return out;
}

TEST_F(ShareStoreContract, WhatBatchesAndStreamsHaveUsed) {
    for (auto& [id, r] : rows.results)  // given up, and aborted by the client later: what it measured counts
        if (r.outcome == Outcome::kNoReply && r.batch == 2) r.received_time = static_cast<std::int64_t>(kNow) - 500;
    same_on_both([](ShareStore& s) { return works(s) + "of one\n" + works(s, 2) + works(s, 99); });
}

TEST_F(ShareStoreContract, JobsWithoutABatchBeginAnHourAgo) {
    for (int kind = 0; kind < 12; ++kind) job(0, kind);
    same_on_both([](ShareStore& s) {
        std::string out = text(s.work_without_batch(kNow, kAda));
        EXPECT_NE(out.find("0 of 1 state 0 "), out.npos) << out;
        EXPECT_NE(out.find(fmt::format("stream {0} {0}:", kNow - 3600)), out.npos) << out;
        change(s, kNow, [](ShareBook& book) {
            book.streams[0] = {
                .user_id = kAda, .kept = 5e12, .until = kNow - 9000, .charged = 7e12, .head = 3, .waits = true};
            book.clock.stream(kNow, kAda, true);
            book.measured[0] = 7;
        });
        out += text(s.work_without_batch(kNow, kBob));
        EXPECT_NE(out.find(fmt::format("stream {} {}:", kNow - 9000, kNow - 3600)), out.npos) << out;
        out += change(s, kNow, [](ShareBook& book) {
            book.clock.stream(kNow, kAda, false);
            book.streams.erase(0);
        });
        EXPECT_NE(out.find("measured 0 7\n"), out.npos) << out;
        out += text(s.work_without_batch(kNow + 60, kBob)) + change(s, kNow);
        EXPECT_TRUE(out.find("stream 0 of") == out.rfind("stream 0 of")) << out;
        return out;
    });
}

TEST_F(ShareStoreContract, WhichBatchesHaveNoPlace) {
    const auto add = [&](Id id, Id user, BatchState state) {
        Batch b;
        b.id = id;
        b.user_id = user;
        b.state = state;
        rows.batches[id] = b;
    };
    quotas[kCy] = 0;
    add(6, kCy, BatchState::kInProgress);
    add(7, 77, BatchState::kInProgress);
    add(8, kAda, BatchState::kAborted);
    add(9, kAda, BatchState::kInProgress);
    same_on_both([](ShareStore& s) {
        const auto ids = [&s] { return fmt::format("{}\n", fmt::join(s.without_place(), " ")); };
        std::string out = ids();
        EXPECT_EQ(out, "1 5 9\n");
        s.change({}, kNow, [](ShareBook& book) { book.clock.submit(kNow, kAda, 1, 1000); });
        out += ids();
        EXPECT_TRUE(out.ends_with("\n5 9\n")) << out;
        s.change({}, kNow, [](ShareBook& book) { book.clock.finish(1, 1000); });
        return out + ids();  // it is in progress all the same
    });
}

// The table has no index on state: what is older is found by the pass over all of them.
TEST_F(ShareStoreContract, OnlyTheNewestBatchesAreSearched) {
    Batch newest = rows.batches[5];
    newest.id = ShareStore::kMostLookedAt + 4;
    rows.batches[newest.id] = newest;
    same_on_both([](ShareStore& s) {
        EXPECT_EQ(s.without_place(), (std::vector<Id>{5, ShareStore::kMostLookedAt + 4}));
        const std::string all = works(s);
        EXPECT_TRUE(all.starts_with("1 of ")) << all;
        return all;
    });
}

TEST_F(ShareStoreContract, ProjectIsAsOldAsItsOldestVersion) {
    same_on_both([](ShareStore& s) { return fmt::format("{}\n", s.project_speed(kNow).since); });
    database().execute(Sql("UPDATE app_version SET create_time=7000-id"));
    const ProjectSpeed speed = make_share_store(database())->project_speed(kNow);
    EXPECT_EQ(speed.since, 6997) << "also where it has no credit any more";
    EXPECT_GT(speed.flops, 0);
}

TEST_F(ShareStoreContract, SpeedUsersAndQuotas) {
    quotas[kCy] = -5;
    quotas[77] = 1e12;  // an account that is gone
    same_on_both([](ShareStore& s) {
        std::string out = fmt::format("{} {}\n", s.project_speed(kNow).flops, s.project_speed(kNow + 86400 * 2).flops);
        for (const Id id : {kAda, kCy, Id{77}, Id{78}}) {
            const auto quota = s.quota(id);
            out += quota ? fmt::format("{} of {}\n", quota->quota, quota->total) : "none\n";
        }
        for (const ShareUser& u : s.users()) out += fmt::format("{} {} {}\n", u.id, u.name, u.quota);
        for (const Id id : {kAda, Id{78}})
            for (const bool write : {false, true, true}) out += fmt::format("{}\n", s.advance(id, kNow, 10, write));
        return out + change(s, kNow) + change(s, kNow);
    });
}

TEST_F(ShareStoreContract, ReadingLeavesTheClockUnchanged) {
    same_on_both([](ShareStore& s) {
        s.change({}, kNow, [](ShareBook& book) { book.clock.submit(kNow, kAda, 1, 1000); });
        std::string out;
        s.look({}, kNow, [&](ShareBook& book) {
            out = text(book);
            book.clock.submit(kNow, kAda, 2, 50);
        });
        EXPECT_EQ(out, change(s, kNow));
        return out;
    });
    // Nobody has made the tables yet.
    for (Rows r = database().query(Sql("SELECT TABLE_NAME FROM information_schema.TABLES WHERE "
                                       "TABLE_SCHEMA=DATABASE() AND TABLE_NAME LIKE 'sluice_share%'"));
         r.next();) {
        Sql drop("DROP TABLE ");
        database().execute(drop.identifier(r.text(0)));
    }
    const auto store = make_share_store(database());
    EXPECT_EQ(store->works(kNow).size(), 3u);
    EXPECT_EQ(store->without_place().size(), 2u);
    EXPECT_TRUE(store->work_by_day(0).empty());
    store->look({}, kNow, [](ShareBook& book) {
        EXPECT_EQ(book.quotas.at(kBob), 3);
        EXPECT_TRUE(book.clock.batches().empty());
    });
    EXPECT_EQ(number_of(database(), Sql("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() "
                                        "AND TABLE_NAME LIKE 'sluice_share%'")),
              0);
}

TEST_F(ShareStoreContract, WhatChangeLeavesIsThereForNextOne) {
    same_on_both([](ShareStore& s) {
        std::string out = change(s, kNow, [](ShareBook& book) {
            book.clock.submit(kNow, kAda, 1, 1000);
            book.clock.submit(kNow, kAda, 2, 50);
            book.clock.adopt(kBob, 5, 30, 12345);
            book.clock.stream(kNow, kAda, true);
            book.streams[3] = {
                .user_id = kAda, .kept = 5e12, .until = kNow - 5000, .charged = 7e12, .head = 3, .waits = true};
            book.measured = {{1, 2e12}, {3, 5e12}};
            book.given = {{kAda, 7e12}};
            book.flops = 1e12;
        });
        out += works(s) + change(s, kNow + 60, [](ShareBook& book) {
                   book.clock.settle(1, 1500);
                   book.clock.finish(2, 40);
                   book.charged[2] = 4e13;
                   book.given = {{kAda, 1e12}, {kBob, 3}};
               });
        out += works(s) + works(s, 2) + change(s, kNow + 86400, [](ShareBook& book) { book.given = {{kBob, 4}}; });
        for (const DailyWork& d : s.work_by_day(static_cast<std::int64_t>(kNow / 86400)))
            out += fmt::format("day {} user {} {}\n", d.day, d.user_id, d.operations);
        return out + std::to_string(s.work_by_day(static_cast<std::int64_t>(kNow / 86400) + 1).size());
    });
}

}  // namespace
}  // namespace sluice::test
