// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/dump_store.h"

#include "db/mysql/errors.h"

namespace sluice {
namespace {

class MysqlDumpStore final : public DumpStore {
  public:
    explicit MysqlDumpStore(Database& db) : db_(db) {}

    bool needs_consent() override {
        return missing_is_none([&] {
            return db_.query(Sql("SELECT 1 FROM consent_type WHERE shortname='STATSEXPORT' AND enabled<>0")).next();
        });
    }

    void users(DumpOrder order, bool consenting, Id team, const std::function<void(const DumpedUser&)>& row) override {
        Sql sql(
            "SELECT t.id, t.name, t.country, t.url, t.email_addr, t.cross_project_id, t.create_time, t.total_credit, "
            "t.expavg_credit, t.expavg_time, t.teamid, t.has_profile FROM user t WHERE t.authenticator "
            "NOT LIKE 'deleted%' AND ");
        if (team != 0)
            sql << "t.teamid=" << team;
        else
            sql << "t.total_credit>0";
        if (consenting) sql << consent("t.id");
        db_.query_streaming(sql << in_order(order), [&](const Rows& r) {
            DumpedUser u;
            r.read(u.id, u.name, u.country, u.url, u.email_addr, u.cross_project_id, u.create_time, u.total_credit,
                   u.expavg_credit, u.expavg_time, u.teamid, u.has_profile);
            row(u);
        });
    }

    void hosts(DumpOrder order, bool consenting, const std::function<void(const DumpedHost&)>& row) override {
        Sql sql(
            "SELECT t.id, t.userid, u.id IS NOT NULL, COALESCE(u.show_hosts,0), t.total_credit, t.expavg_credit, "
            "t.expavg_time, t.p_vendor, t.p_model, t.os_name, t.os_version, t.misc, t.create_time, t.rpc_time, t.timezone, "
            "t.p_ncpus, t.p_fpops, t.p_iops, t.p_membw, t.m_nbytes, t.m_cache, t.m_swap, t.d_total, t.d_free, t.n_bwup, "
            "t.n_bwdown, t.avg_turnaround, t.credit_per_cpu_sec, t.host_cpid FROM host t LEFT JOIN user u ON "
            "u.id=t.userid WHERE t.total_credit>0 AND t.domain_name<>'deleted' AND t.userid<>0");
        if (consenting) sql << consent("t.userid");
        db_.query_streaming(sql << in_order(order), [&](const Rows& r) {
            DumpedHost h;
            r.read(h.id, h.userid, h.owner_is_there, h.show_owner, h.total_credit, h.expavg_credit, h.expavg_time,
                   h.p_vendor, h.p_model, h.os_name, h.os_version, h.misc, h.create_time, h.rpc_time, h.timezone,
                   h.ncpus, h.p_fpops, h.p_iops, h.p_membw, h.m_nbytes, h.m_cache, h.m_swap, h.d_total, h.d_free,
                   h.n_bwup, h.n_bwdown, h.avg_turnaround, h.credit_per_cpu_sec, h.host_cpid);
            row(h);
        });
    }

    void teams(DumpOrder order, bool consenting, const std::function<void(const DumpedTeam&)>& row) override {
        Sql sql("SELECT t.id, ");
        sql << (consenting ? SqlLiteral("COALESCE(u.id,0)") : SqlLiteral("t.userid"))
            << SqlLiteral(
                   ", t.type, t.name, COALESCE(u.name,''), t.url, t.name_html, t.description, t.country, "
                   "t.total_credit, t.expavg_credit, t.expavg_time, t.create_time FROM team t LEFT JOIN user u ON u.id=t.userid");
        if (consenting) sql << consent("u.id");
        sql << " WHERE t.total_credit>0";
        db_.query_streaming(sql << in_order(order), [&](const Rows& r) {
            DumpedTeam t;
            r.read(t.id, t.userid, t.type, t.name, t.founder_name, t.url, t.name_html, t.description, t.country,
                   t.total_credit, t.expavg_credit, t.expavg_time, t.create_time);
            row(t);
        });
    }

    void deleted_users(const std::function<void(const DeletedRow&)>& row) override {
        deleted("SELECT userid, public_cross_project_id FROM user_deleted ORDER BY userid", row);
    }
    void deleted_hosts(const std::function<void(const DeletedRow&)>& row) override {
        deleted("SELECT hostid, public_cross_project_id FROM host_deleted ORDER BY hostid", row);
    }

    void credit_by_app(bool teams, bool consenting, const std::function<void(const CreditByApp&)>& row) override {
        Sql sql(
            "SELECT t.id, COALESCE(a.user_friendly_name,''), COALESCE(SUM(c.njobs),0), COALESCE(SUM(c.total),0), "
            "COALESCE(SUM(c.expavg),0) FROM ");
        sql << (teams ? SqlLiteral("team t LEFT JOIN (credit_team c JOIN app a ON a.id=c.appid) ON c.teamid=t.id")
                      : SqlLiteral("user t LEFT JOIN (credit_user c JOIN app a ON a.id=c.appid) ON c.userid=t.id"))
            << " AND c.total>0 WHERE t.total_credit>0";
        if (!teams) sql << " AND t.authenticator NOT LIKE 'deleted%'";
        if (!teams && consenting) sql << consent("t.id");
        db_.query_streaming(sql << " GROUP BY t.id, a.id, a.user_friendly_name ORDER BY t.id, a.id",
                            [&](const Rows& r) {
                                CreditByApp c;
                                r.read(c.owner, c.app, c.jobs, c.total, c.recent);
                                row(c);
                            });
    }

    DumpTotals totals() override {
        DumpTotals t;
        Rows users = db_.query(Sql(
            "SELECT COUNT(*), COALESCE(SUM(total_credit),0) FROM user WHERE total_credit>0 AND authenticator NOT LIKE "
            "'deleted%'"));
        if (users.next()) users.read(t.users, t.total_credit);
        t.teams = count("SELECT COUNT(*) FROM team WHERE total_credit>0");
        t.hosts = count("SELECT COUNT(*) FROM host WHERE total_credit>0 AND domain_name<>'deleted' AND userid<>0");
        t.users_deleted = count("SELECT COUNT(*) FROM user_deleted");
        t.hosts_deleted = count("SELECT COUNT(*) FROM host_deleted");
        return t;
    }

    std::vector<std::string> app_names() override {
        std::vector<std::string> names;
        for (Rows r = db_.query(Sql("SELECT user_friendly_name FROM app ORDER BY id")); r.next();)
            names.push_back(r.text(0));
        return names;
    }

    std::vector<DumpedBadge> badges() override {
        return missing_is_none([&] {
            std::vector<DumpedBadge> badges;
            for (Rows r = db_.query(Sql("SELECT id, name, title, image_url FROM badge ORDER BY id")); r.next();) {
                DumpedBadge& b = badges.emplace_back();
                r.read(b.id, b.name, b.title, b.image_url);
            }
            return badges;
        });
    }

    void badge_holders(bool teams, bool consenting, const std::function<void(const BadgeHolder&)>& row) override {
        Sql sql(teams ? SqlLiteral("SELECT t.team_id, t.badge_id, t.create_time FROM badge_team t")
                      : SqlLiteral("SELECT t.user_id, t.badge_id, t.create_time FROM badge_user t"));
        if (!teams && consenting) sql << " WHERE t.user_id>0" << consent("t.user_id");
        sql << (teams ? SqlLiteral(" ORDER BY t.team_id, t.badge_id") : SqlLiteral(" ORDER BY t.user_id, t.badge_id"));
        db_.query_streaming(sql, [&](const Rows& r) {
            BadgeHolder b;
            r.read(b.owner, b.badge, b.create_time);
            row(b);
        });
    }

  private:
    /// Tables that a release of BOINC does not have yet, or that only the web site needs.
    template <typename Work>
    auto missing_is_none(const Work& work) -> decltype(work()) {
        try {
            return work();
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            return {};
        }
    }
    std::int64_t count(SqlLiteral statement) {
        return missing_is_none([&]() -> std::int64_t {
            Rows r = db_.query(Sql(statement));
            return r.next() ? r.i64(0) : 0;
        });
    }
    void deleted(SqlLiteral statement, const std::function<void(const DeletedRow&)>& row) {
        missing_is_none([&] {
            db_.query_streaming(Sql(statement), [&](const Rows& r) { row({r.i64(0), r.text(1)}); });
            return 0;
        });
    }
    /// Whose last word was yes. EXISTS: a user with two rows of the same second is still one user.
    /// The last word counts. Upstream's view latest_consent shows two of one second both, so it is not asked.
    static Sql consent(SqlLiteral user) {
        Sql sql(
            " AND EXISTS (SELECT 1 FROM consent_type ct WHERE ct.shortname='STATSEXPORT' AND (SELECT c.consent_flag FROM "
            "consent c WHERE c.consent_type_id=ct.id AND c.userid=");
        return sql << user << " ORDER BY c.consent_time DESC, c.id DESC LIMIT 1)=1)";
    }
    static Sql in_order(DumpOrder order) {
        switch (order) {
            case DumpOrder::kId: return Sql(" ORDER BY t.id");
            case DumpOrder::kTotalCredit: return Sql(" ORDER BY t.total_credit DESC");
            case DumpOrder::kRecentCredit: return Sql(" ORDER BY t.expavg_credit DESC");
            case DumpOrder::kNone: break;
        }
        return Sql("");
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<DumpStore> make_dump_store(Database& db) { return std::make_unique<MysqlDumpStore>(db); }

}  // namespace sluice
