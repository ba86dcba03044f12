// SPDX-License-Identifier: LGPL-3.0-or-later

#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "sluice/db/account_store.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {

namespace {

constexpr std::size_t kGangRowsAtOnce = 1000;

class MysqlGangStore final : public GangStore {
  public:
    explicit MysqlGangStore(Database& db) : db_(db) {}

    void prepare() override {
        make_tables(db_,
                    {{"sluice_gang",
                      "batch_id bigint NOT NULL, number bigint NOT NULL, size integer NOT NULL, ended bigint NOT NULL, "
                      "PRIMARY KEY (batch_id, number)"},
                     {"sluice_gang_job",
                      "batch_id bigint NOT NULL, number bigint NOT NULL, member integer NOT NULL, "
                      "workunit_name varchar(191) NOT NULL, PRIMARY KEY (batch_id, number, member)"}});
    }

    std::optional<int> size_in(Id batch) override {
        try {
            Sql sql("SELECT size FROM sluice_gang WHERE batch_id=");
            Rows r = db_.query(sql << batch << " LIMIT 1");
            if (r.next()) return r.i32(0);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return std::nullopt;
    }

    void define(std::span<const GangJob> jobs, int size) override {
        // Done again after a lost connection it finds what was written.
        for (const auto part : bulk::parts(jobs, kGangRowsAtOnce)) db_.transaction([&] { define_part(part, size); });
    }

    std::optional<GangFacts> find(const GangId& gang) override {
        Sql sql("SELECT size, ended FROM sluice_gang WHERE batch_id=");
        Rows r = db_.query(sql << gang.batch << " AND number=" << gang.number);
        if (!r.next()) return std::nullopt;
        return GangFacts{r.i32(0), r.i64(1) > 0, r.i64(1) < 0};
    }

    std::vector<GangMemberInstance> instances(const GangId& gang, std::span<const int> members) override {
        std::vector<GangMemberInstance> all;
        if (members.empty()) return all;
        Sql sql(
            "SELECT j.member, r.name, r.id, r.workunitid, r.batch, r.hostid, r.server_state, r.create_time, r.sent_time "
            "FROM sluice_gang_job j JOIN workunit w ON w.name=j.workunit_name JOIN result r ON r.workunitid=w.id WHERE "
            "j.batch_id=");
        sql << gang.batch << " AND j.number=" << gang.number << " AND j.member IN (";
        std::vector<Id> numbers(members.begin(), members.end());
        Rows r = db_.query(sql.ids(numbers) << ")");
        while (r.next()) {
            GangMemberInstance& i = all.emplace_back();
            OpenBatchResult& o = i.result;
            r.read(i.member, i.name, o.id, o.workunit, o.batch, o.host, o.state, o.create_time, o.sent_time);
        }
        return all;
    }

    GangHostStanding standing_of(Id host) override {
        GangHostStanding standing;
        try {
            Sql open("SELECT 1 FROM sluice_gang g JOIN batch b ON b.id=g.batch_id WHERE g.ended=0 AND b.state=");
            standing.gangs = db_.query(open << BatchState::kInProgress << " LIMIT 1").next();
            Sql sql("SELECT batch_id, number, start, since, lapses, workunit_id FROM sluice_gang_lease WHERE host_id=");
            Rows r = db_.query(sql << host);
            if (r.next()) {
                GangLease& l = standing.lease.emplace();
                l.host = host;
                r.read(l.gang.batch, l.gang.number, l.start, l.since, l.lapses, l.workunit);
            }
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return standing;
    }

    std::optional<GangId> gang_of(const std::string& workunit_name) override {
        try {
            Sql sql("SELECT batch_id, number FROM sluice_gang_job WHERE workunit_name=");
            Rows r = db_.query(sql << SqlText{workunit_name, 191});
            if (r.next()) return GangId{r.i64(0), r.i64(1)};
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return std::nullopt;
    }

    std::optional<GangsOfBatch> of_batch(Id batch) override {
        GangsOfBatch all;
        try {
            Sql sql("SELECT MAX(size), COUNT(*), SUM(ended>0), SUM(ended<0) FROM sluice_gang WHERE batch_id=");
            Rows r = db_.query(sql << batch);
            if (!r.next()) return std::nullopt;
            r.read(all.size, all.gangs, all.ended, all.given_up);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        if (all.gangs == 0) return std::nullopt;
        Sql waits("members>0 AND batch_id=");
        all.waits = read_gang_waits(db_, waits << batch << " ORDER BY number");
        Sql cut(
            "SELECT w.id FROM sluice_gang g JOIN sluice_gang_job j ON j.batch_id=g.batch_id AND j.number=g.number JOIN "
            "workunit w ON w.name=j.workunit_name WHERE g.ended=0 AND w.canonical_resultid=0 AND w.error_mask=0 AND ");
        Rows w = db_.query(cut << kCutWorkunit << " AND g.batch_id=" << batch << " ORDER BY w.id");
        while (w.next()) all.cut.push_back(w.i64(0));
        return all;
    }

    std::vector<GangWait> waiting(int most) override {
        Sql sql("members>0 ORDER BY short_since=0, short_since, batch_id, number LIMIT ");
        return read_gang_waits(db_, sql << most);
    }

    void end(const GangId& gang, std::int64_t now) override {
        Sql sql("UPDATE sluice_gang SET ended=");
        db_.execute(sql << now << " WHERE batch_id=" << gang.batch << " AND number=" << gang.number << " AND ended=0");
    }

    void remove(Id batch) override {
        try {
            Sql jobs("DELETE FROM sluice_gang_job WHERE batch_id="), gangs("DELETE FROM sluice_gang WHERE batch_id=");
            db_.execute(jobs << batch);
            db_.execute(gangs << batch);
            Sql waits("DELETE FROM sluice_gang_wait WHERE batch_id=");
            db_.execute(waits << batch);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

  private:
    void define_part(std::span<const GangJob> part, int size) {
        Sql gangs("INSERT INTO sluice_gang (batch_id, number, size, ended) VALUES ");
        bulk::rows(gangs, part,
                   [&](const GangJob& j) { gangs << j.gang.batch << "," << j.gang.number << "," << size << ",0"; });
        Sql jobs("INSERT INTO sluice_gang_job (batch_id, number, member, workunit_name) VALUES ");
        bulk::rows(jobs, part, [&](const GangJob& j) {
            jobs << j.gang.batch << "," << j.gang.number << "," << j.member << "," << SqlText{j.workunit_name, 191};
        });
        db_.execute(gangs << " ON DUPLICATE KEY UPDATE size=VALUES(size)");
        db_.execute(jobs << " ON DUPLICATE KEY UPDATE workunit_name=VALUES(workunit_name)");
    }

    Database& db_;
};

}  // namespace

std::vector<GangWait> read_gang_waits(Database& db, const Sql& where) {
    std::vector<GangWait> all;
    try {
        Sql sql("SELECT batch_id, number, members, hosts, since, short_since FROM sluice_gang_wait WHERE ");
        for (Rows r = db.query(sql << where); r.next();) {
            GangWait& w = all.emplace_back();
            r.read(w.gang.batch, w.gang.number, w.members, w.hosts, w.since, w.short_since);
        }
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;  // gang_planner never ran
    }
    return all;
}

std::unique_ptr<GangStore> make_gang_store(Database& db) { return std::make_unique<MysqlGangStore>(db); }

namespace {

constexpr std::size_t kInstancesAtOnce = 1000;

class MysqlGangLeaseStore final : public GangLeaseStore {
  public:
    explicit MysqlGangLeaseStore(Database& db) : db_(db) {}

    void prepare() override {
        make_gang_store(db_)->prepare();
        prepare_host_attempts(db_);  // which hosts are on
        make_tables(
            db_,
            {{"sluice_gang_lease",
              "host_id bigint NOT NULL PRIMARY KEY, batch_id bigint NOT NULL, number bigint NOT NULL, "
              "start bigint NOT NULL, since bigint NOT NULL, lapses integer NOT NULL, workunit_id bigint NOT NULL"},
             {"sluice_gang_host",
              "host_id bigint NOT NULL PRIMARY KEY, kept integer NOT NULL, lapsed integer NOT NULL"},
             {"sluice_gang_version", "id integer NOT NULL PRIMARY KEY, version bigint NOT NULL"},
             {"sluice_gang_wait",
              "batch_id bigint NOT NULL, number bigint NOT NULL, members integer NOT NULL, hosts integer NOT NULL, "
              "since bigint NOT NULL, short_since bigint NOT NULL, PRIMARY KEY (batch_id, number)"}});
        db_.execute(Sql("INSERT IGNORE INTO sluice_gang_version (id, version) VALUES (1, 1)"));
        db_.execute(Sql("DELETE FROM sluice_gang_wait WHERE members<=0"));  // earlier versions left them
        made_ = true;
    }

    std::int64_t version() override {
        std::int64_t version = 0;
        if_made([&] {
            Rows r = db_.query(Sql("SELECT version FROM sluice_gang_version WHERE id=1"));
            if (r.next()) version = r.i64(0);
        });
        return version;
    }

    std::vector<GangMemberRow> open_members(int most) override {
        // Results are looked at for the rows that are wanted only.
        Sql sql("SELECT t.batch_id, t.number, t.size, t.id, ");
        sql << "(SELECT COALESCE(BIT_OR(1<<(v.platformid%63)),0) FROM app_version v WHERE v.appid=t.appid AND "
               "v.deprecated=0), t.rsc_fpops_est, t.error_mask<>0, t.canonical_resultid<>0 OR EXISTS (SELECT 1 FROM "
               "result r WHERE r.workunitid=t.id AND (r.server_state<="
            << ServerState::kInProgress << " OR (r.outcome=" << Outcome::kSuccess << " AND r.validate_state<>"
            << ValidateState::kInvalid
            << "))), t.ended<>0, t.cut FROM (SELECT g.batch_id, g.number, g.size, g.ended, j.member, b.logical_end_time, w.id, "
               "w.appid, w.rsc_fpops_est, w.error_mask, w.canonical_resultid, "
            << kCutWorkunit
            << " AS cut FROM sluice_gang g JOIN batch b ON "
               "b.id=g.batch_id JOIN sluice_gang_job j ON j.batch_id=g.batch_id AND j.number=g.number JOIN workunit w ON "
               "w.name=j.workunit_name WHERE (g.ended=0 OR w.canonical_resultid=0 AND w.error_mask=0) AND b.state="
            << BatchState::kInProgress << " ORDER BY b.logical_end_time, g.batch_id, g.number, j.member LIMIT " << most
            << ") t ORDER BY t.logical_end_time, t.batch_id, t.number, t.member";
        std::vector<GangMemberRow> all;
        if_made([&] {
            for (Rows r = db_.query(sql); r.next();) {
                GangMemberRow& m = all.emplace_back();
                r.read(m.gang.batch, m.gang.number, m.size, m.workunit, m.platforms, m.fpops, m.failed, m.busy, m.ended,
                       m.cut);
            }
        });
        if (static_cast<int>(all.size()) < most) return all;
        const GangId cut = all.back().gang;
        while (!all.empty() && all.back().gang == cut) all.pop_back();
        return all;
    }

    std::vector<GangInstance> instances_of(std::span<const Id> workunits) override {
        std::vector<GangInstance> all;
        for (const auto part : bulk::parts(workunits, kInstancesAtOnce)) {
            Sql sql(
                "SELECT r.workunitid, r.hostid, r.id, COALESCE(h.rpc_time,0), COALESCE(h.p_fpops,0), r.server_state=");
            sql << ServerState::kInProgress
                << " FROM result r LEFT JOIN host h ON h.id=r.hostid WHERE r.hostid<>0 AND r.workunitid IN (";
            Rows r = db_.query(sql.ids(part) << ")");
            while (r.next()) {
                GangInstance& i = all.emplace_back();
                r.read(i.workunit, i.host, i.result, i.heard, i.p_fpops, i.in_progress);
            }
        }
        return all;
    }

    std::vector<GangLease> leases() override {
        const Sql sql(
            "SELECT l.host_id, l.batch_id, l.number, l.start, l.since, l.lapses, l.workunit_id, COALESCE(h.rpc_time,0), "
            "COALESCE(h.p_fpops,0), EXISTS (SELECT 1 FROM result r WHERE r.workunitid=l.workunit_id AND r.hostid=l.host_id) FROM "
            "sluice_gang_lease l LEFT JOIN host h ON h.id=l.host_id ORDER BY l.host_id");
        std::vector<GangLease> all;
        if_made([&] {
            for (Rows r = db_.query(sql); r.next();) {
                GangLease& l = all.emplace_back();
                r.read(l.host, l.gang.batch, l.gang.number, l.start, l.since, l.lapses, l.workunit, l.heard, l.p_fpops,
                       l.has_it);
            }
        });
        return all;
    }

    void note_waits(std::span<const GangWait> changed) override {
        std::vector<GangWait> waiting;
        std::vector<std::pair<Id, std::int64_t>> over;
        for (const GangWait& w : changed) {
            if (w.members > 0)
                waiting.push_back(w);
            else
                over.emplace_back(w.gang.batch, w.gang.number);
        }
        if (!over.empty()) {
            Sql sql("DELETE FROM sluice_gang_wait WHERE ");
            bulk::pairs(sql, "batch_id", "number", over);
            db_.execute(sql);
        }
        if (waiting.empty()) return;
        Sql sql("REPLACE INTO sluice_gang_wait (batch_id, number, members, hosts, since, short_since) VALUES ");
        bulk::rows(sql, waiting, [&](const GangWait& w) {
            sql << w.gang.batch << "," << w.gang.number << "," << w.members << "," << w.hosts << "," << w.since << ","
                << w.short_since;
        });
        db_.execute(sql);
    }

    std::vector<GangWait> waits() override { return read_gang_waits(db_, Sql("members>0")); }

    std::vector<GangHost> free_hosts(std::int64_t heard_since, int quota, int most) override {
        // By their index, as a project has many hosts of old: those with recent credit, then the newest.
        std::vector<GangHost> all;
        if_made([&] { all = read_free_hosts(heard_since, quota, most); });
        std::sort(all.begin(), all.end(), [](const GangHost& a, const GangHost& b) { return a.heard > b.heard; });
        if (all.size() > static_cast<std::size_t>(most)) all.resize(static_cast<std::size_t>(most));
        return all;
    }

    bool write_leases(std::span<const GangLease> keep, std::span<const GangLease> end, std::int64_t version) override {
        bool written = false;
        db_.transaction([&] {
            // Also of two planners on two nodes of a cluster only one gets through.
            Sql sql("UPDATE sluice_gang_version SET version=version+1 WHERE id=1 AND version=");
            written = db_.execute(sql << version) == 1;
            if (!written) return;
            for (const GangLease& l : end) end_lease(l);
            for (const GangLease& l : keep) keep_lease(l);
        });
        return written;
    }

    void give_up(const GangId& gang, std::span<const Id> workunits, std::int64_t now) override {
        // Done again after a lost connection it finds none that is open.
        db_.transaction([&] {
            if (!workunits.empty()) cancel(workunits, now);
            Sql sql("UPDATE sluice_gang SET ended=");
            db_.execute(sql << -now << " WHERE batch_id=" << gang.batch << " AND number=" << gang.number
                            << " AND ended=0");
        });
    }

  private:
    /// Who only reads finds nothing where a table is missing.
    template <typename Read>
    static void if_made(const Read& read) {
        try {
            read();
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }
    bool has_leases() {
        if (made_) return true;
        Rows r = db_.query(
            Sql("SELECT COUNT(*)=2 FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN "
                "('sluice_gang_lease','sluice_gang_host')"));
        return r.next() && r.flag(0);
    }

    std::vector<GangHost> read_free_hosts(std::int64_t heard_since, int quota, int most) {
        std::vector<GangHost> all;
        const auto read = [&](const Sql& hosts, SqlLiteral order) {
            Sql sql(
                "SELECT h.id, h.rpc_time, h.on_frac, h.active_frac, h.p_fpops, COALESCE(k.kept,0), "
                "COALESCE(k.lapsed,0), g.platforms, (SELECT COALESCE(MIN(hav.consecutive_valid),");
            sql << GangHost::kNeverFailed
                << ") FROM host_app_version hav FORCE INDEX (hap) LEFT JOIN app_version av ON av.id=hav.app_version_id WHERE hav.host_id=h.id AND "
                   "COALESCE(av.deprecated,0)=0 AND (hav.et_n>hav.consecutive_valid OR (hav.max_jobs_per_day>0 AND "
                   "hav.max_jobs_per_day<"
                << quota << "))), g.on_since FROM host h FORCE INDEX ";
            // Those without a row in sluice_host_rpc have not been heard of since Sluice serves them.
            sql << hosts << " AND h.userid<>0 AND h.rpc_time>" << heard_since << order << " LIMIT " << most;
            Rows r = db_.query(sql);
            while (r.next()) {
                GangHost& h = all.emplace_back();
                r.read(h.id, h.heard, h.on_frac, h.active_frac, h.p_fpops, h.kept, h.lapsed, h.platforms, h.good_run,
                       h.on_since);
            }
        };
        const bool leased = has_leases();
        Sql others(" JOIN sluice_host_rpc g ON g.host_id=h.id LEFT JOIN ");
        others << (leased ? SqlLiteral("sluice_gang_lease") : SqlLiteral("(SELECT 0 host_id FROM DUAL WHERE 0)"))
               << " l ON l.host_id=h.id LEFT JOIN "
               << (leased ? SqlLiteral("sluice_gang_host")
                          : SqlLiteral("(SELECT 0 host_id, 0 kept, 0 lapsed FROM DUAL WHERE 0)"))
               << " k ON k.host_id=h.id WHERE l.host_id IS NULL AND ";
        Sql credited("(host_avg)"), fresh("(PRIMARY)");
        credited << others << "h.expavg_credit>" << kActiveHostCredit;
        read(credited, " ORDER BY h.expavg_credit DESC");
        Rows last = db_.query(Sql("SELECT MAX(id) FROM host"));
        const Id newest = last.next() ? last.i64(0) : 0;
        fresh << others << "h.id>" << newest - kNewestHosts << " AND h.expavg_credit<=" << kActiveHostCredit;
        read(fresh, " ORDER BY h.id DESC");
        return all;
    }

    void cancel(std::span<const Id> workunits, std::int64_t now) {
        Sql lock("SELECT id FROM workunit WHERE id IN (");
        Rows r = db_.query(lock.ids(workunits) << ") AND canonical_resultid=0 AND error_mask=0 ORDER BY id FOR UPDATE");
        std::vector<Id> open;
        while (r.next()) open.push_back(r.i64(0));
        Sql sql("UPDATE workunit SET error_mask=");
        sql << kWuCancelled << ", transition_time=" << now << " WHERE id IN (";
        if (!open.empty()) db_.execute(sql.ids(open) << ")");
    }
    void end_lease(const GangLease& l) {
        Sql gone("DELETE FROM sluice_gang_lease WHERE host_id=");
        if (db_.execute(gone << l.host) == 0) return;
        Sql never("UPDATE sluice_host_rpc SET gang_start=0 WHERE host_id=");
        db_.execute(never << l.host);
        if (!l.has_it && !l.blamed) return;
        Sql sql("INSERT INTO sluice_gang_host (host_id, kept, lapsed) VALUES (");
        db_.execute(sql << l.host << "," << l.has_it << "," << l.blamed << ") ON DUPLICATE KEY UPDATE kept=kept+"
                        << l.has_it << ", lapsed=lapsed+" << l.blamed);
    }
    void keep_lease(const GangLease& l) {
        Sql sql(
            "REPLACE INTO sluice_gang_lease (host_id, batch_id, number, start, since, lapses, workunit_id) VALUES (");
        db_.execute(sql << l.host << "," << l.gang.batch << "," << l.gang.number << "," << l.start << "," << l.since
                        << "," << l.lapses << "," << l.workunit << ")");
        Sql start("UPDATE sluice_host_rpc SET gang_start=");
        db_.execute(start << l.start << " WHERE host_id=" << l.host);
    }

    Database& db_;
    bool made_ = false;  ///< the tables are there
};

}  // namespace

std::unique_ptr<GangLeaseStore> make_gang_lease_store(Database& db) {
    return std::make_unique<MysqlGangLeaseStore>(db);
}

}  // namespace sluice
