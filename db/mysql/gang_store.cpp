#include "sluice/db/gang_store.h"

#include "db/mysql/bulk.h"
#include "db/mysql/errors.h"

namespace sluice {
namespace {

constexpr std::size_t kGangRowsAtOnce = 1000;

class MysqlGangStore final : public GangStore {
  public:
    explicit MysqlGangStore(Database& db) : db_(db) {}

    void prepare() override {
        db_.execute(Sql(
            "CREATE TABLE IF NOT EXISTS sluice_gang (batch_id bigint NOT NULL, number bigint NOT NULL, size integer "
            "NOT NULL, ended bigint NOT NULL, PRIMARY KEY (batch_id, number)) ENGINE=InnoDB"));
        db_.execute(
            Sql("CREATE TABLE IF NOT EXISTS sluice_gang_job (batch_id bigint NOT NULL, number bigint NOT NULL, member "
                "integer NOT NULL, workunit_name varchar(191) NOT NULL, PRIMARY KEY (batch_id, number, member)) "
                "ENGINE=InnoDB"));
        db_.execute(Sql(
            "CREATE TABLE IF NOT EXISTS sluice_gang_lease (host_id bigint NOT NULL PRIMARY KEY, batch_id bigint NOT "
            "NULL, number bigint NOT NULL, start bigint NOT NULL, since bigint NOT NULL, lapses integer NOT NULL, "
            "workunit_id bigint NOT NULL) ENGINE=InnoDB"));
        db_.execute(Sql(
            "CREATE TABLE IF NOT EXISTS sluice_gang_host (host_id bigint NOT NULL PRIMARY KEY, kept integer NOT NULL, "
            "lapsed integer NOT NULL) ENGINE=InnoDB"));
    }

    void define(std::span<const GangJob> jobs, int size) override {
        // Done again after a lost connection it finds what was written.
        for (const auto part : bulk::parts(jobs, kGangRowsAtOnce)) db_.transaction([&] { define_part(part, size); });
    }

    std::optional<GangFacts> find(const GangId& gang) override {
        Sql sql("SELECT size, ended FROM sluice_gang WHERE batch_id=");
        Rows r = db_.query(sql << gang.batch << " AND number=" << gang.number);
        if (!r.next()) return std::nullopt;
        return GangFacts{r.i32(0), r.i64(1) != 0};
    }

    void end(const GangId& gang, std::int64_t now) override {
        Sql sql("UPDATE sluice_gang SET ended=");
        db_.execute(sql << now << " WHERE batch_id=" << gang.batch << " AND number=" << gang.number << " AND ended=0");
    }

    std::vector<GangMemberRow> open_members(int most) override {
        // Results are looked at for the rows that are wanted only.
        Sql sql(
            "SELECT t.batch_id, t.number, t.size, t.id, t.appid, t.rsc_fpops_est, t.error_mask<>0, t.canonical_resultid<>0 OR "
            "EXISTS (SELECT 1 FROM result r WHERE r.workunitid=t.id AND (r.server_state<=");
        sql << ServerState::kInProgress << " OR (r.outcome=" << Outcome::kSuccess << " AND r.validate_state<>"
            << ValidateState::kInvalid
            << "))) FROM (SELECT g.batch_id, g.number, g.size, j.member, b.logical_end_time, w.id, w.appid, w.rsc_fpops_est, "
               "w.error_mask, w.canonical_resultid FROM sluice_gang g JOIN batch b ON b.id=g.batch_id JOIN sluice_gang_job j "
               "ON j.batch_id=g.batch_id AND j.number=g.number JOIN workunit w ON w.name=j.workunit_name WHERE g.ended=0 AND "
               "b.state="
            << BatchState::kInProgress << " ORDER BY b.logical_end_time, g.batch_id, g.number, j.member LIMIT " << most
            << ") t ORDER BY t.logical_end_time, t.batch_id, t.number, t.member";
        Rows r = db_.query(sql);
        std::vector<GangMemberRow> all;
        while (r.next()) {
            GangMemberRow& m = all.emplace_back();
            r.read(m.gang.batch, m.gang.number, m.size, m.workunit, m.app, m.fpops, m.failed, m.busy);
        }
        if (static_cast<int>(all.size()) < most) return all;
        const GangId cut = all.back().gang;
        while (!all.empty() && all.back().gang == cut) all.pop_back();
        return all;
    }

    std::vector<std::pair<Id, Id>> hosts_of(std::span<const Id> workunits) override {
        std::vector<std::pair<Id, Id>> all;
        for (const auto part : bulk::parts(workunits, kGangRowsAtOnce)) {
            Sql sql("SELECT workunitid, hostid FROM result WHERE hostid<>0 AND workunitid IN (");
            Rows r = db_.query(sql.ids(part) << ")");
            while (r.next()) all.emplace_back(r.i64(0), r.i64(1));
        }
        return all;
    }

    std::vector<GangLease> leases() override {
        Rows r = db_.query(Sql(
            "SELECT l.host_id, l.batch_id, l.number, l.start, l.since, l.lapses, l.workunit_id, COALESCE(h.rpc_time,0), "
            "EXISTS (SELECT 1 FROM result r WHERE r.workunitid=l.workunit_id AND r.hostid=l.host_id) FROM "
            "sluice_gang_lease l LEFT JOIN host h ON h.id=l.host_id ORDER BY l.host_id"));
        std::vector<GangLease> all;
        while (r.next()) {
            GangLease& l = all.emplace_back();
            r.read(l.host, l.gang.batch, l.gang.number, l.start, l.since, l.lapses, l.workunit, l.heard, l.has_it);
        }
        return all;
    }

    std::vector<GangHost> free_hosts(std::int64_t heard_since, int most) override {
        // Those without a row in sluice_host_rpc have not been heard of since Sluice serves them.
        Sql sql(
            "SELECT h.id, h.rpc_time, h.on_frac, h.active_frac, h.p_fpops, COALESCE(k.kept,0), COALESCE(k.lapsed,0) FROM "
            "host h JOIN sluice_host_rpc g ON g.host_id=h.id LEFT JOIN sluice_gang_lease l ON l.host_id=h.id LEFT JOIN "
            "sluice_gang_host k ON k.host_id=h.id WHERE l.host_id IS NULL AND h.userid<>0 AND h.rpc_time>");
        Rows r = db_.query(sql << heard_since << " ORDER BY h.rpc_time DESC LIMIT " << most);
        std::vector<GangHost> all;
        while (r.next()) {
            GangHost& h = all.emplace_back();
            r.read(h.id, h.heard, h.on_frac, h.active_frac, h.p_fpops, h.kept, h.lapsed);
        }
        return all;
    }

    void write_leases(std::span<const GangLease> keep, std::span<const GangLease> end) override {
        // Done again after a lost connection it would count an end twice: what is gone has been counted.
        db_.transaction([&] {
            for (const GangLease& l : end) end_lease(l);
            for (const GangLease& l : keep) keep_lease(l);
        });
    }

    void remove(Id batch) override {
        try {
            Sql jobs("DELETE FROM sluice_gang_job WHERE batch_id="), gangs("DELETE FROM sluice_gang WHERE batch_id=");
            db_.execute(jobs << batch);
            db_.execute(gangs << batch);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

  private:
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
    void define_part(std::span<const GangJob> part, int size) {
        Sql gangs("INSERT IGNORE INTO sluice_gang (batch_id, number, size, ended) VALUES ");
        bulk::rows(gangs, part,
                   [&](const GangJob& j) { gangs << j.gang.batch << "," << j.gang.number << "," << size << ",0"; });
        Sql jobs("INSERT IGNORE INTO sluice_gang_job (batch_id, number, member, workunit_name) VALUES ");
        bulk::rows(jobs, part, [&](const GangJob& j) {
            jobs << j.gang.batch << "," << j.gang.number << "," << j.member << "," << SqlText{j.workunit_name, 191};
        });
        db_.execute(gangs);
        db_.execute(jobs);
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<GangStore> make_gang_store(Database& db) { return std::make_unique<MysqlGangStore>(db); }

}  // namespace sluice
