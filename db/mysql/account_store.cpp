// SPDX-License-Identifier: LGPL-3.0-or-later
// Accounts and hosts of a scheduler RPC. One statement a verb, but for hosts that are new.
//
// `sluice_host_rpc`, a table of our own, says which attempt of an RPC wrote a host's row last. It tells two RPCs of one
// second apart (rpc_time and rpc_seqno may be the same), and whether a COMMIT took place whose answer was lost. Ids
// below 0 are machines that were registered: their row makes others that register the same one at the same time wait.
// The table of hosts itself is read without locks. A locking read beside the INSERT deadlocks at the auto-increment
// counter when many machines come at once.
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/rpc_store_factories.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/db/account_store.h"
#include "sluice/db/database.h"

namespace sluice {
namespace {

// The columns of `host` that Sluice reads, in one order for SELECT and reading. The table is called h.

#define SLUICE_HOST_COLUMNS                                                                                       \
    "h.id,h.create_time,h.userid,h.rpc_seqno,h.rpc_time,h.total_credit,h.expavg_credit,h.expavg_time,h.timezone," \
    "h.domain_name,h.serialnum,h.last_ip_addr,h.nsame_ip_addr,h.on_frac,h.connected_frac,h.active_frac,"          \
    "h.cpu_efficiency,h.duration_correction_factor,h.p_ncpus,h.p_vendor,h.p_model,h.p_fpops,h.p_iops,h.p_membw,"  \
    "h.os_name,h.os_version,h.m_nbytes,h.m_cache,h.m_swap,h.d_total,h.d_free,h.d_boinc_used_total,"               \
    "h.d_boinc_used_project,h.d_boinc_max,h.n_bwup,h.n_bwdown,h.venue,h.avg_turnaround,h.host_cpid,"              \
    "h.external_ip_addr,h.max_results_day,h.error_rate,h.product_name,h.gpu_active_frac,h.p_ngpus,h.p_gpu_fpops," \
    "h.misc"
inline constexpr int kHostColumns = 47;

/// A column of type TEXT; the others are varchar(254).
struct LongText {
    std::string_view text;
    friend bool operator==(const LongText&, const LongText&) = default;
};

/// Every column that the scheduler writes, with its value: visit(SqlLiteral name, value) where value is std::int64_t,
/// double, std::string_view or LongText. In schema order.
template <typename Visit>
void visit_scheduler_columns(const Host& h, Visit visit) {
    using I = std::int64_t;
    using T = std::string_view;
    visit("rpc_seqno", I{h.rpc_seqno});
    visit("rpc_time", I{h.rpc_time});
    visit("timezone", I{h.timezone});
    visit("domain_name", T{h.domain_name});
    visit("last_ip_addr", T{h.last_ip_addr});
    visit("nsame_ip_addr", I{h.nsame_ip_addr});
    visit("on_frac", h.on_frac);
    visit("connected_frac", h.connected_frac);
    visit("active_frac", h.active_frac);
    visit("duration_correction_factor", h.duration_correction_factor);
    visit("p_ncpus", I{h.p_ncpus});
    visit("p_vendor", T{h.p_vendor});
    visit("p_model", T{h.p_model});
    visit("p_fpops", h.p_fpops);
    visit("p_iops", h.p_iops);
    visit("p_membw", h.p_membw);
    visit("os_name", T{h.os_name});
    visit("os_version", T{h.os_version});
    visit("m_nbytes", h.m_nbytes);
    visit("m_cache", h.m_cache);
    visit("m_swap", h.m_swap);
    visit("d_total", h.d_total);
    visit("d_free", h.d_free);
    visit("d_boinc_used_total", h.d_boinc_used_total);
    visit("d_boinc_used_project", h.d_boinc_used_project);
    visit("d_boinc_max", h.d_boinc_max);
    visit("n_bwup", h.n_bwup);
    visit("n_bwdown", h.n_bwdown);
    visit("host_cpid", T{h.host_cpid});
    visit("external_ip_addr", T{h.external_ip_addr});
    visit("product_name", T{h.product_name});
    visit("gpu_active_frac", h.gpu_active_frac);
    visit("p_ngpus", I{h.p_ngpus});
    visit("p_gpu_fpops", h.p_gpu_fpops);
    visit("misc", LongText{h.misc});
}

/// Reads them, starting at column `at`.
Host read_host(const Rows& r, int c) {
    Host h;
    r.read_from(c, h.id, h.create_time, h.userid, h.rpc_seqno, h.rpc_time, h.total_credit, h.expavg_credit,
                h.expavg_time, h.timezone, h.domain_name, h.serialnum, h.last_ip_addr, h.nsame_ip_addr, h.on_frac,
                h.connected_frac, h.active_frac, h.cpu_efficiency, h.duration_correction_factor, h.p_ncpus, h.p_vendor,
                h.p_model, h.p_fpops, h.p_iops, h.p_membw, h.os_name, h.os_version, h.m_nbytes, h.m_cache, h.m_swap,
                h.d_total, h.d_free, h.d_boinc_used_total, h.d_boinc_used_project, h.d_boinc_max, h.n_bwup, h.n_bwdown,
                h.venue, h.avg_turnaround, h.host_cpid, h.external_ip_addr, h.max_results_day, h.error_rate,
                h.product_name, h.gpu_active_frac, h.p_ngpus, h.p_gpu_fpops, h.misc);
    return h;
}

/// One value as it stands in a statement; integers are forced into 32 bits, the schema's width.
void put_value(Sql& sql, std::int64_t value) { sql << clamp_to_int32(value); }

void put_value(Sql& sql, double value) { sql << value; }

void put_value(Sql& sql, std::string_view value) { sql << SqlText{value}; }

void put_value(Sql& sql, LongText value) { sql << SqlText{value.text, 16000}; }

#define SLUICE_ACCOUNT_COLUMNS                                                                             \
    "u.id,u.create_time,u.email_addr,u.name,u.authenticator,u.passwd_hash,u.total_credit,u.expavg_credit," \
    "u.expavg_time,u.global_prefs,u.project_prefs,u.teamid,u.venue,u.seti_id,u.cross_project_id,t.id,t.name"
#define SLUICE_ACCOUNT_FROM "user u LEFT JOIN team t ON t.id=u.teamid"

Account read_account(const Rows& r, int c) {
    Account a;
    User& u = a.user;
    r.read_from(c, u.id, u.create_time, u.email_addr, u.name, u.authenticator, u.passwd_hash, u.total_credit,
                u.expavg_credit, u.expavg_time, u.global_prefs, u.project_prefs, u.teamid, u.venue, u.seti_id,
                u.cross_project_id, a.team.id, a.team.name);
    return a;
}

/// WHERE of the machine that a description fits; the table is called h.
Sql described_machine(const MachineQuery& q) {
    Sql sql;
    sql << "h.userid=" << q.userid << " AND h.domain_name=" << SqlText{q.domain_name}
        << " AND h.last_ip_addr=" << SqlText{q.last_ip_addr} << " AND h.os_name=" << SqlText{q.os_name}
        << " AND h.p_model=" << SqlText{q.p_model} << " AND h.m_nbytes=" << q.m_nbytes;
    return sql;
}

bool describes_a_machine(const MachineQuery& q) {
    return q.by_description && !q.domain_name.empty() && !q.last_ip_addr.empty() && !q.os_name.empty() &&
           !q.p_model.empty();
}

/// A machine's id in sluice_host_rpc; not of any host.
Id registration_id(const MachineQuery& q) {
    const std::string digest = md5_hex(described_machine(q).str());
    return -1 - static_cast<Id>(std::stoull(digest.substr(0, 15), nullptr, 16));
}

void make_attempts_table(Database& db) {
    db.execute(
        Sql("CREATE TABLE IF NOT EXISTS sluice_host_rpc (host_id bigint NOT NULL PRIMARY KEY, attempt bigint NOT NULL, "
            "trickle_bytes bigint NOT NULL DEFAULT 0, gang_start bigint NOT NULL DEFAULT 0, platforms bigint NOT NULL "
            "DEFAULT -1, on_since bigint NOT NULL DEFAULT 0) engine=InnoDB"));
}

/// It was made by a Sluice that did not count yet, or knew no gangs.
void complete_attempts_table(Database& db) {
    for (const SqlLiteral column :
         {SqlLiteral("trickle_bytes bigint NOT NULL DEFAULT 0"), SqlLiteral("gang_start bigint NOT NULL DEFAULT 0"),
          SqlLiteral("platforms bigint NOT NULL DEFAULT -1"), SqlLiteral("on_since bigint NOT NULL DEFAULT 0")}) {
        try {
            Sql sql("ALTER TABLE sluice_host_rpc ADD COLUMN ");
            db.execute(sql << column);
        } catch (const DbError& e) {
            if (e.code() != kDuplicateColumn) throw;  // it is there, or another process was quicker
        }
    }
}

class MysqlAccountStore final : public AccountStore {
  public:
    explicit MysqlAccountStore(Database& db) : db_(db) {}

    std::optional<HostAndAccount> host_and_account(Id hostid, bool with_versions) override {
        Rows rows = query_hosts([&](const HostSource& host) {
            Sql sql("SELECT ");
            sql << host.columns << "," SLUICE_ACCOUNT_COLUMNS;
            if (with_versions) sql << "," SLUICE_VERSIONS_TEXT;
            sql << " FROM " << host.table
                << " LEFT JOIN user u ON u.id=h.userid LEFT JOIN team t ON t.id=u.teamid WHERE h.id=";
            return db_.query_often(sql, hostid);
        });
        if (!rows.next()) return std::nullopt;
        HostAndAccount found{read_host_and_attempt(rows, 0), std::nullopt, std::nullopt};
        if (with_versions)
            found.versions = read_versions_text(hostid, rows.text(kHostColumns + kOwnColumns + kAccountColumns));
        Account account = read_account(rows, kHostColumns + kOwnColumns);
        if (account.user.id != 0) found.account = std::move(account);
        return found;
    }

    /// By the key byte for byte.
    std::optional<Account> account_by_key(std::string_view authenticator) override {
        Sql sql("SELECT " SLUICE_ACCOUNT_COLUMNS " FROM " SLUICE_ACCOUNT_FROM " WHERE u.authenticator=");
        auto account = one_account(sql << SqlText{authenticator});
        // The column's collation finds the row by its index, but ignores case, accents and blanks at the end. So the
        // bytes are compared too: a mistyped or guessed key must not match.
        if (account && account->user.authenticator != authenticator) return std::nullopt;
        return account;
    }

    std::optional<Account> account_by_id(Id userid) override {
        Sql sql("SELECT " SLUICE_ACCOUNT_COLUMNS " FROM " SLUICE_ACCOUNT_FROM " WHERE u.id=");
        return one_account(sql << userid);
    }

    KnownMachines known_machines(const MachineQuery& q) override {
        KnownMachines known;
        if (q.hashed_cpid.empty() && !describes_a_machine(q) && q.most_new == 0) return known;
        Rows rows = query_hosts([&](const HostSource& host) {
            Sql sql;
            if (!q.hashed_cpid.empty())
                sql << "(SELECT 1," << host.columns << " FROM " << host.table << " WHERE h.userid=" << q.userid
                    << " AND h.host_cpid=" << SqlText{q.hashed_cpid} << " ORDER BY h.id DESC LIMIT 1)";
            if (describes_a_machine(q)) {
                if (sql.size() > 0) sql << " UNION ALL ";
                sql << "(SELECT 2," << host.columns << " FROM " << host.table << " WHERE " << described_machine(q)
                    << " ORDER BY h.id DESC LIMIT 1)";
            }
            if (q.most_new > 0) {  // the newest but so many: found in the index of userid alone
                if (sql.size() > 0) sql << " UNION ALL ";
                sql << "(SELECT 3," << host.columns << " FROM " << host.table
                    << " WHERE h.id=(SELECT n.id FROM host n WHERE n.userid=" << q.userid
                    << " ORDER BY n.id DESC LIMIT 1 OFFSET " << q.most_new - 1 << "))";
            }
            return db_.query(sql);
        });
        while (rows.next()) {
            StoredHost host = read_host_and_attempt(rows, 1);
            if (rows.i64(0) == 3)
                known.too_many_new = host.create_time >= q.new_since;
            else
                (rows.i64(0) == 1 ? known.by_cpid : known.by_description) = std::move(host);
        }
        return known;
    }

    Id insert_host(const StoredHost& host, const MachineQuery* same) override {
        Sql sql(
            "INSERT INTO host (create_time,userid,total_credit,expavg_credit,expavg_time,serialnum,cpu_efficiency,"
            "credit_per_cpu_sec,venue,nresults_today,avg_turnaround,max_results_day,error_rate");
        visit_scheduler_columns(host, [&](SqlLiteral name, auto) { sql << "," << name; });
        sql << ") VALUES (";
        put_value(sql, host.create_time);
        sql << "," << host.userid << ",0,0," << host.expavg_time << ",'',0,0," << SqlText{host.venue} << ",0,0,0,0";
        visit_scheduler_columns(host, [&](SqlLiteral, auto value) {
            sql << ",";
            put_value(sql, value);
        });
        db_.execute(sql << ")");
        const Id id = db_.last_insert_id();
        const bool once = same != nullptr && describes_a_machine(*same);
        if (guarded_) {
            const Sql rows = noted_rows(id, host, once ? registration_id(*same) : 0);
            if (inserted(rows)) return id;
            // Another RPC has just registered this machine, or did it long ago and it was deleted since.
            db_.execute(Sql(rows) << " ON DUPLICATE KEY UPDATE attempt=VALUES(attempt), on_since=VALUES(on_since)");
        }
        return once && known_besides(id, *same) ? 0 : id;
    }

    void update_host(const StoredHost& before, const StoredHost& after, Id userid, const UserChange& change,
                     const std::function<void()>& outdated) override {
        std::vector<Sql> old_values;
        visit_scheduler_columns(before, [&](SqlLiteral, auto value) {
            Sql text;
            put_value(text, value);
            old_values.push_back(std::move(text));
        });
        if (guarded_ && !before.attempt && !first_attempt(after)) return outdated();
        const bool noted = guarded_ && before.attempt;
        Sql sql("UPDATE host h");
        if (noted) sql << " JOIN sluice_host_rpc g ON g.host_id=h.id";
        if (change.any()) sql << " JOIN user u ON u.id=" << userid;
        sql << " SET h.rpc_time=";
        put_value(sql, after.rpc_time);
        std::size_t i = 0;
        visit_scheduler_columns(after, [&](SqlLiteral name, auto value) {
            Sql text;
            put_value(text, value);
            if (text.str() != old_values[i++].str() && name.text != "rpc_time") sql << ",h." << name << "=" << text;
        });
        put_changes(sql, change, true);
        if (noted) sql << ",g.attempt=" << after.attempt.value_or(0);
        if (noted && after.trickle_bytes != before.trickle_bytes) sql << ",g.trickle_bytes=" << after.trickle_bytes;
        if (noted && after.platforms != before.platforms) sql << ",g.platforms=" << after.platforms;
        if (noted && after.on_since != before.on_since) sql << ",g.on_since=" << after.on_since;
        sql << " WHERE h.id=" << after.id << " AND h.rpc_time=" << before.rpc_time
            << " AND h.rpc_seqno=" << before.rpc_seqno;
        if (noted) sql << " AND g.attempt=" << *before.attempt;
        db_.enqueue_matching(std::move(sql), 1, outdated);
    }

    void update_user(Id userid, const UserChange& change) override {
        if (!change.any()) return;
        Sql sql("UPDATE user u SET ");
        put_changes(sql, change, false);
        db_.enqueue(sql << " WHERE u.id=" << userid);
    }

    bool written_by(Id hostid, std::int64_t attempt) override {
        Sql sql("SELECT attempt FROM sluice_host_rpc WHERE host_id=");
        Rows rows = db_.query(sql << hostid << " FOR UPDATE");
        return rows.next() && rows.i64(0) == attempt;
    }

  private:
    struct HostSource {
        SqlLiteral columns, table;
    };
    /// `ask` gets the columns of a host and its attempt, and where they are. Makes our table where it is missing;
    /// where that is not allowed, hosts are guarded by rpc_time and rpc_seqno alone.
    template <typename Ask>
    Rows query_hosts(Ask ask) {
        static constexpr HostSource kPlain{SLUICE_HOST_COLUMNS ",NULL,0,0,-1,0", "host h"};
        static constexpr HostSource kGuarded{SLUICE_HOST_COLUMNS
                                             ",g.attempt,g.trickle_bytes,g.gang_start,g.platforms,"
                                             "g.on_since",
                                             "host h LEFT JOIN sluice_host_rpc g ON g.host_id=h.id"};
        if (!guarded_) return ask(kPlain);
        bool no_column = false;
        try {
            return ask(kGuarded);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable && e.code() != kNoSuchColumn) throw;
            no_column = e.code() == kNoSuchColumn;
        }
        try {
            no_column ? complete_attempts_table(db_) : make_attempts_table(db_);
            return ask(kGuarded);
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kOther) throw;
            log_debug("without sluice_host_rpc: {}", e.what());
        }
        guarded_ = false;
        return ask(kPlain);
    }
    static StoredHost read_host_and_attempt(const Rows& rows, int at) {
        StoredHost host{read_host(rows, at)};
        if (!rows.text(at + kHostColumns).empty()) host.attempt = rows.i64(at + kHostColumns);
        host.trickle_bytes = rows.i64(at + kHostColumns + 1);
        host.gang_start = rows.i64(at + kHostColumns + 2);
        host.platforms = host.attempt ? rows.i64(at + kHostColumns + 3) : kAnyPlatform;
        host.on_since = rows.i64(at + kHostColumns + 4);
        return host;
    }

    /// The row of a new host, and that of its registration (0: none). The latter waits for another RPC that registers
    /// the same machine at this moment. on_since says when that was: GoneRowsStore removes it a day later.
    static Sql noted_rows(Id hostid, const StoredHost& host, Id registration) {
        const std::int64_t attempt = host.attempt.value_or(0);
        Sql sql("INSERT INTO sluice_host_rpc (host_id,attempt,trickle_bytes,platforms,on_since) VALUES ");
        if (registration != 0) sql << "(" << registration << "," << attempt << ",0,0," << host.create_time << "),";
        return sql << "(" << hostid << "," << attempt << "," << host.trickle_bytes << "," << host.platforms << ","
                   << host.on_since << ")";
    }
    bool known_besides(Id hostid, const MachineQuery& machine) {
        Sql sql("SELECT 1 FROM host h WHERE ");
        return db_.query(sql << described_machine(machine) << " AND h.id<>" << hostid << " LIMIT 1").next();
    }
    /// False: there is such a row.
    bool inserted(const Sql& sql) {
        try {
            db_.execute(sql);
            return true;
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kDuplicate) throw;
            return false;
        }
    }
    /// The row of a host that had none; false: another RPC was quicker.
    bool first_attempt(const StoredHost& host) { return inserted(noted_rows(host.id, host, 0)); }

    static void put_changes(Sql& sql, const UserChange& change, bool after_others) {
        const auto comma = [&] {
            if (std::exchange(after_others, true)) sql << ",";
        };
        if (change.cross_project_id) comma(), sql << "u.cross_project_id=" << SqlText{*change.cross_project_id};
        if (change.global_prefs)
            comma(), sql << "u.global_prefs=IF(COALESCE(u.global_prefs,'')=" << SqlBlob{change.global_prefs_before}
                         << "," << SqlBlob{*change.global_prefs} << ",u.global_prefs)";
    }
    std::optional<Account> one_account(const Sql& sql) {
        Rows rows = db_.query(sql);
        if (!rows.next()) return std::nullopt;
        return read_account(rows, 0);
    }
    static constexpr int kOwnColumns = 5;       ///< of sluice_host_rpc, behind the host's
    static constexpr int kAccountColumns = 17;  ///< behind these
    Database& db_;
    bool guarded_ = true;  ///< sluice_host_rpc is there, or may be
};

}  // namespace

void prepare_host_attempts(Database& db) {
    try {
        db.query(
            // CREATE waits for transactions.
            Sql("SELECT attempt,trickle_bytes,gang_start,platforms,on_since FROM sluice_host_rpc LIMIT 0"));
    } catch (const DbError& e) {
        if (e.code() == kNoSuchColumn) return complete_attempts_table(db);
        if (e.code() != kNoSuchTable) throw;
        make_attempts_table(db);
        db.execute(Sql("INSERT IGNORE INTO sluice_host_rpc (host_id,attempt) SELECT id,0 FROM host"));
    }
}

std::unique_ptr<AccountStore> make_account_store(Database& db) { return std::make_unique<MysqlAccountStore>(db); }

}  // namespace sluice
