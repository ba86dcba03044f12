// SPDX-License-Identifier: LGPL-3.0-or-later
// host_app_version and messages of one host. Increments, never absolute counters: transitioner and validator write the
// same rows (upstream's absolute writes lose updates).
#include "sluice/db/host_state_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "db/mysql/errors.h"
#include "db/mysql/rpc_store_factories.h"

namespace sluice {
namespace {

class MysqlHostStateStore final : public HostStateStore {
  public:
    explicit MysqlHostStateStore(Database& db) : db_(db) {}

    HostState load(Id hostid, bool with_messages, bool with_turnaround) override {
        try {
            return read(hostid, with_messages, with_turnaround);
        } catch (const DbError& e) {
            if (!with_turnaround || e.code() != kNoSuchTable) throw;
            return read(hostid, with_messages, false);  // the caller heard of the table before it was deleted
        }
    }

    void change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) override {
        if (changes.empty()) return;
        std::vector<VersionChange> sorted(changes.begin(), changes.end());  // every process locks in this order
        std::sort(sorted.begin(), sorted.end(),
                  [](const auto& a, const auto& b) { return a.generalized_id < b.generalized_id; });
        db_.enqueue(upsert_statement(hostid, new_day, sorted));
    }

    void insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) override {
        for (std::size_t next = 0; next < messages.size();) {
            Sql sql("INSERT INTO msg_from_host (create_time,hostid,variety,handled,xml) VALUES ");
            const std::size_t first = next;
            do {
                const MessageFromHost& m = messages[next];
                if (next > first) sql << ",";
                sql << "(" << now << "," << hostid << "," << SqlText{m.variety} << ",0," << SqlText{m.xml, 4u << 20}
                    << ")";
            } while (++next < messages.size() && sql.size() < Database::kBulkBytes);
            db_.enqueue(std::move(sql));
        }
    }

    std::int64_t trickle_bytes(const AccountDay& account) override {
        Sql sql("SELECT trickle_bytes FROM sluice_host_rpc WHERE host_id=");
        counted_ = true;
        try {
            Rows rows = db_.query(sql << key_of(account) << " AND attempt=" << account.day);
            return rows.next() ? rows.i64(0) : 0;
        } catch (const DbError& e) {
            // Without our table, which the account store makes where it is allowed to, nothing is counted.
            if (e.code() != kNoSuchTable && e.code() != kNoSuchColumn) throw;
        }
        counted_ = false;
        return 0;
    }

    void add_trickle_bytes(const AccountDay& account, std::int64_t bytes) override {
        if (!counted_) return;
        Sql sql("INSERT INTO sluice_host_rpc (host_id,attempt,trickle_bytes) VALUES (");
        // The assignments are done in this order.
        db_.enqueue(sql << key_of(account) << "," << account.day << "," << bytes
                        << ") ON DUPLICATE KEY UPDATE trickle_bytes=IF(attempt=VALUES(attempt),trickle_bytes,0)"
                           "+VALUES(trickle_bytes),attempt=VALUES(attempt)");
    }

    void mark_delivered(std::span<const Id> messages) override {
        if (messages.empty()) return;
        Sql sql("UPDATE msg_to_host SET handled=1 WHERE id IN (");
        db_.enqueue(sql.ids(messages) << ") AND handled=0");
    }

  private:
    /// The account's row in sluice_host_rpc, `attempt` being the day: below the ids of hosts and of registrations.
    static Id key_of(const AccountDay& account) { return -(Id{1} << 62) - account.userid; }

    /// One statement for all: a kind, 14 numbers, a text.
    HostState read(Id hostid, bool with_messages, bool with_turnaround) {
        Sql sql(
            "SELECT 0,app_version_id,pfc_n,pfc_avg,et_n,et_avg,et_var,et_q,max_jobs_per_day,n_jobs_today,"
            "turnaround_n,turnaround_avg,turnaround_var,turnaround_q,consecutive_valid,NULL"
            " FROM host_app_version WHERE host_id=");
        sql << hostid;
        if (with_messages)
            sql << " UNION ALL SELECT 1,id,0,0,0,0,0,0,0,0,0,0,0,0,0,xml FROM msg_to_host WHERE hostid=" << hostid
                << " AND handled=0";
        if (with_turnaround)
            sql << " UNION ALL SELECT 2,app_version_id,ltt,0,0,0,0,0,0,0,0,0,0,0,0,NULL FROM sluice_host_ltt WHERE host_id="
                << hostid;
        if (with_messages) sql << " ORDER BY 1,2";
        HostState state;
        Rows rows = db_.query(sql);
        while (rows.next()) {
            switch (rows.i64(0)) {
                case 1: state.messages.push_back({rows.i64(1), rows.text(15)}); break;
                case 2: state.low_turnaround.emplace_back(rows.i64(1), rows.flag(2)); break;
                default: state.versions.push_back(read_version(rows, hostid));
            }
        }
        return state;
    }

    static HostAppVersion read_version(const Rows& r, Id hostid) {
        HostAppVersion v;
        v.host_id = hostid;
        r.read_from(1, v.app_version_id, v.pfc_n, v.pfc_avg, v.et.n, v.et.avg, v.et.var, v.et.q, v.max_jobs_per_day,
                    v.n_jobs_today, v.turnaround.n, v.turnaround.avg, v.turnaround.var, v.turnaround.q,
                    v.consecutive_valid);
        return v;
    }

    static Sql distrusted(std::span<const VersionChange> changes) {
        Sql list("0");
        for (const VersionChange& c : changes)
            if (c.lost_trust) list << "," << c.generalized_id;
        return list;
    }

    static Sql upsert_statement(Id hostid, bool new_day, std::span<const VersionChange> changes) {
        Sql sql(
            "INSERT INTO host_app_version (host_id,app_version_id,pfc_n,pfc_avg,et_n,et_avg,et_var,et_q,"
            "max_jobs_per_day,n_jobs_today,turnaround_n,turnaround_avg,turnaround_var,turnaround_q,"
            "consecutive_valid) VALUES ");
        for (std::size_t i = 0; i < changes.size(); ++i) {
            const VersionChange& c = changes[i];
            sql << (i > 0 ? Sql(",(") : Sql("(")) << hostid << "," << c.generalized_id << ",0,0,0,0,0,0,"
                << c.max_jobs_per_day << "," << c.jobs_sent << ",0,0,0,0,0)";
        }
        sql << " ON DUPLICATE KEY UPDATE n_jobs_today=" << (new_day ? Sql("0") : Sql("n_jobs_today"))
            << "+VALUES(n_jobs_today),max_jobs_per_day=IF(VALUES(max_jobs_per_day)=0,max_jobs_per_day,"
               "GREATEST(1,max_jobs_per_day+VALUES(max_jobs_per_day))),consecutive_valid=IF(app_version_id IN ("
            << distrusted(changes) << "),0,consecutive_valid)";
        return sql;
    }

    Database& db_;
    bool counted_ = true;  ///< as the last reading of trickle_bytes() found
};

}  // namespace

std::unique_ptr<HostStateStore> make_host_state_store(Database& db) {
    return std::make_unique<MysqlHostStateStore>(db);
}

}  // namespace sluice
