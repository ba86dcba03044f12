// Accounts and hosts of a scheduler RPC. One statement a verb.
#include "sluice/db/account_store.h"

#include <utility>
#include <vector>

#include "host_columns.h"
#include "rpc_store_factories.h"

namespace sluice {
namespace {

#define SLUICE_ACCOUNT_COLUMNS                                                                             \
    "u.id,u.create_time,u.email_addr,u.name,u.authenticator,u.passwd_hash,u.total_credit,u.expavg_credit," \
    "u.expavg_time,u.global_prefs,u.project_prefs,u.teamid,u.venue,u.seti_id,u.cross_project_id,t.id,t.name"
#define SLUICE_ACCOUNT_FROM "user u LEFT JOIN team t ON t.id=u.teamid"

Account read_account(const Rows& r, int c) {
    Account a;
    User& u = a.user;
    u.id = r.i64(c++);
    u.create_time = r.i64(c++);
    u.email_addr = r.text(c++);
    u.name = r.text(c++);
    u.authenticator = r.text(c++);
    u.passwd_hash = r.text(c++);
    u.total_credit = r.f64(c++);
    u.expavg_credit = r.f64(c++);
    u.expavg_time = r.f64(c++);
    u.global_prefs = r.text(c++);
    u.project_prefs = r.text(c++);
    u.teamid = r.i64(c++);
    u.venue = r.text(c++);
    u.seti_id = r.i64(c++);
    u.cross_project_id = r.text(c++);
    a.team.id = r.i64(c++);
    a.team.name = r.text(c++);
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

class MysqlAccountStore final : public AccountStore {
  public:
    explicit MysqlAccountStore(Database& db) : db_(db) {}

    std::optional<HostAndAccount> host_and_account(Id hostid) override {
        Sql sql("SELECT " SLUICE_HOST_COLUMNS "," SLUICE_ACCOUNT_COLUMNS
                " FROM host h LEFT JOIN user u ON u.id=h.userid LEFT JOIN team t ON t.id=u.teamid WHERE h.id=");
        Rows rows = db_.query(sql << hostid);
        if (!rows.next()) return std::nullopt;
        HostAndAccount found{read_host(rows, 0), std::nullopt};
        Account account = read_account(rows, kHostColumns);
        if (account.user.id != 0) found.account = std::move(account);
        return found;
    }

    /// By the key byte for byte.
    std::optional<Account> account_by_key(std::string_view authenticator) override {
        Sql sql("SELECT " SLUICE_ACCOUNT_COLUMNS " FROM " SLUICE_ACCOUNT_FROM " WHERE u.authenticator=");
        auto account = one_account(sql << SqlText{authenticator});
        // The column's collation finds the row by its index, but takes letters of either case, accents and blanks at
        // the end for the same: a key that is guessed or mistyped is none.
        if (account && account->user.authenticator != authenticator) return std::nullopt;
        return account;
    }

    std::optional<Account> account_by_id(Id userid) override {
        Sql sql("SELECT " SLUICE_ACCOUNT_COLUMNS " FROM " SLUICE_ACCOUNT_FROM " WHERE u.id=");
        return one_account(sql << userid);
    }

    KnownMachines known_machines(const MachineQuery& q) override {
        KnownMachines known;
        Sql sql;
        if (!q.hashed_cpid.empty())
            sql << "(SELECT 1," SLUICE_HOST_COLUMNS " FROM host h WHERE h.userid=" << q.userid
                << " AND h.host_cpid=" << SqlText{q.hashed_cpid} << " ORDER BY h.id DESC LIMIT 1)";
        if (describes_a_machine(q)) {
            if (sql.size() > 0) sql << " UNION ALL ";
            sql << "(SELECT 2," SLUICE_HOST_COLUMNS " FROM host h WHERE " << described_machine(q)
                << " ORDER BY h.id DESC LIMIT 1)";
        }
        if (sql.size() == 0) return known;
        Rows rows = db_.query(sql);
        while (rows.next()) (rows.i64(0) == 1 ? known.by_cpid : known.by_description) = read_host(rows, 1);
        return known;
    }

    Id insert_host(const Host& host, const MachineQuery* same) override {
        Sql sql(
            "INSERT INTO host (create_time,userid,total_credit,expavg_credit,expavg_time,serialnum,cpu_efficiency,"
            "credit_per_cpu_sec,venue,nresults_today,avg_turnaround,max_results_day,error_rate");
        visit_scheduler_columns(host, [&](SqlLiteral name, auto) { sql << "," << name; });
        sql << ") SELECT ";
        put_value(sql, host.create_time);
        sql << "," << host.userid << ",0,0," << host.expavg_time << ",'',0,0," << SqlText{host.venue} << ",0,0,0,0";
        visit_scheduler_columns(host, [&](SqlLiteral, auto value) {
            sql << ",";
            put_value(sql, value);
        });
        sql << " FROM DUAL";
        if (same != nullptr && describes_a_machine(*same))
            sql << " WHERE NOT EXISTS (SELECT 1 FROM host h WHERE " << described_machine(*same) << ")";
        return db_.execute(sql) == 1 ? db_.last_insert_id() : 0;
    }

    bool update_host(const Host& before, const Host& after, Id userid, const UserChange& change) override {
        std::vector<Sql> old_values;
        visit_scheduler_columns(before, [&](SqlLiteral, auto value) {
            Sql text;
            put_value(text, value);
            old_values.push_back(std::move(text));
        });
        Sql sql("UPDATE host h");
        if (change.any()) sql << " JOIN user u ON u.id=" << userid;
        sql << " SET h.rpc_time=";
        put_value(sql, after.rpc_time);
        std::size_t i = 0;
        visit_scheduler_columns(after, [&](SqlLiteral name, auto value) {
            Sql text;
            put_value(text, value);
            if (text.str() != old_values[i++].str()) sql << ",h." << name << "=" << text;
        });
        put_changes(sql, change, true);
        sql << " WHERE h.id=" << after.id << " AND h.rpc_time=" << before.rpc_time
            << " AND h.rpc_seqno=" << before.rpc_seqno;
        return db_.execute(sql) > 0;
    }

    void update_user(Id userid, const UserChange& change) override {
        if (!change.any()) return;
        Sql sql("UPDATE user u SET ");
        put_changes(sql, change, false);
        db_.execute(sql << " WHERE u.id=" << userid);
    }

  private:
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
    Database& db_;
};

}  // namespace

std::unique_ptr<AccountStore> make_account_store(Database& db) { return std::make_unique<MysqlAccountStore>(db); }

}  // namespace sluice
