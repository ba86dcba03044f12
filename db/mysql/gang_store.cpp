// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/gang_store.h"
#include "db/mysql/bulk.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"

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
            OpenPlanResult& o = i.result;
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

}  // namespace sluice
