// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/columns.h"
#include "sluice/db/share_store.h"

namespace sluice {
namespace {

constexpr std::size_t kNameChars = 191;
constexpr SqlLiteral kNamedUserColumns{"SELECT id, COALESCE(name,''), email_addr FROM user WHERE "};

class MysqlQuotaStore final : public QuotaStore {
  public:
    explicit MysqlQuotaStore(Database& db) : db_(db) {}

    std::optional<NamedUser> user(Id id) override {
        Sql sql(kNamedUserColumns);
        const auto found = named_users(sql << "id=" << id);
        if (found.empty()) return std::nullopt;
        return found.front();
    }

    std::vector<NamedUser> users_called(const std::string& text) override {
        Sql sql(kNamedUserColumns);
        sql << "email_addr=" << SqlText{text, kNameChars} << " OR name=" << SqlText{text, kNameChars};
        return named_users(sql << " ORDER BY id LIMIT 10");
    }

    std::vector<QuotaRow> quotas() override {
        // The others come last: who has no row owns a batch that is new or in progress.
        Rows r = db_.query(Sql(
            "SELECT s.user_id, COALESCE(u.name,''), COALESCE(u.email_addr,''), 1, s.quota, s.submit_all, s.manage_all, "
            "s.max_jobs_in_progress FROM user_submit s LEFT JOIN user u ON u.id=s.user_id UNION ALL SELECT DISTINCT "
            "b.user_id, COALESCE(u.name,''), COALESCE(u.email_addr,''), 0, 0, 0, 0, 0 FROM batch b LEFT JOIN user u ON "
            "u.id=b.user_id WHERE b.state IN (0,1) AND b.user_id NOT IN (SELECT user_id FROM user_submit) ORDER BY 1"));
        std::vector<QuotaRow> all;
        while (r.next()) {
            QuotaRow& q = all.emplace_back();
            r.read(q.user.id, q.user.name, q.user.email, q.has_row, q.quota, q.submit_all, q.manage_all,
                   q.max_jobs_in_progress);
        }
        return all;
    }

    void set_quota(Id user, double quota) override {
        Sql sql(
            "INSERT INTO user_submit (user_id, quota, logical_start_time, submit_all, manage_all, max_jobs_in_progress) "
            "VALUES (");
        db_.execute(sql << user << "," << quota << ",0,0,0,0) ON DUPLICATE KEY UPDATE quota=VALUES(quota)");
    }

    /// No index has received_time, and nearly all rows are over: read in their own order they take half the time.
    std::vector<UsageRow> usage(std::int64_t since) override {
        Sql sql(
            "SELECT IF(r.batch=0,0,COALESCE(b.user_id,-1)), LEAST(r.app_version_id,0), COALESCE(v.plan_class,''), COUNT(*), "
            "SUM(LEAST(GREATEST(r.elapsed_time,r.cpu_time,0),1e8)), SUM(LEAST(GREATEST(r.elapsed_time,0),"
            "IF(r.sent_time>0,GREATEST(r.received_time-r.sent_time,0),1e8),1e8)), SUM(");
        sql << kMeasured
            << "), SUM(r.granted_credit) FROM result r FORCE INDEX (PRIMARY) LEFT JOIN batch b ON b.id=r.batch LEFT JOIN host h ON h.id=r.hostid "
               "LEFT JOIN app_version v ON v.id=r.app_version_id WHERE r.server_state="
            << ServerState::kOver << " AND r.received_time>=" << since;
        Rows r = db_.query(sql << " GROUP BY 1,2,3 ORDER BY 1,2,3");
        std::vector<UsageRow> all;
        while (r.next()) {
            UsageRow& u = all.emplace_back();
            r.read(u.user_id, u.version, u.plan_class, u.instances, u.processor_seconds, u.device_seconds, u.operations,
                   u.credit);
        }
        return all;
    }

  private:
    std::vector<NamedUser> named_users(const Sql& sql) {
        std::vector<NamedUser> all;
        Rows r = db_.query(sql);
        while (r.next()) all.push_back({r.i64(0), r.text(1), r.text(2)});
        return all;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<QuotaStore> make_quota_store(Database& db) { return std::make_unique<MysqlQuotaStore>(db); }

}  // namespace sluice
