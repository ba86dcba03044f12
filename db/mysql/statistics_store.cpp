// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/statistics_store.h"

namespace sluice {
namespace {

struct AverageWords {
    SqlLiteral table, id, average;
    double counts;  ///< averages above this one
};
AverageWords words_of(CreditTable table) {
    switch (table) {
        case CreditTable::kUser: return {"user", "id", "expavg_credit", 0.1};
        case CreditTable::kHost: return {"host", "id", "expavg_credit", 0.1};
        case CreditTable::kTeam: return {"team", "id", "expavg_credit", 0.1};
        case CreditTable::kUserByApp: return {"credit_user", "userid", "expavg", 0};
        case CreditTable::kTeamByApp: return {"credit_team", "teamid", "expavg", 0};
        case CreditTable::kAppVersion: break;
    }
    return {"app_version", "id", "expavg_credit", 0};
}

class MysqlStatisticsStore final : public StatisticsStore {
  public:
    explicit MysqlStatisticsStore(Database& db) : db_(db) {}

    std::vector<Id> aged(CreditTable table, Id after, double before, int limit) override {
        const AverageWords w = words_of(table);
        Sql sql("SELECT DISTINCT ");  // a user has a row for each app
        sql << w.id << " FROM " << w.table << " WHERE " << w.id << ">" << after << aged_since(w, before) << " ORDER BY "
            << w.id << " LIMIT " << limit;
        std::vector<Id> ids;
        for (Rows r = db_.query(sql); r.next();) ids.push_back(r.i64(0));
        return ids;
    }

    std::int64_t decay(CreditTable table, const std::vector<Id>& ids, double before, double now) override {
        // The formula of add_credit() (model/average.h) for no work, in the statement itself: between a read and a
        // write a grant of credit would be lost. The server assigns in this order, so the first line still sees the old
        // time.
        const AverageWords w = words_of(table);
        Sql sql("UPDATE ");
        sql << w.table << " SET " << w.average << "=ROUND(IF(expavg_time>0, " << w.average << "*EXP(-GREATEST(0, "
            << now << "-expavg_time)*LN(2)/604800), " << w.average << "), 6), expavg_time=ROUND(" << now
            << ", 6) WHERE " << w.id << " IN (";
        sql.ids(ids) << ")" << aged_since(w, before);
        std::int64_t rows = 0;
        db_.transaction([&] { rows = db_.execute(sql); });
        return rows;
    }

    std::vector<TeamSize> team_sizes(Id after, int limit) override {
        Sql sql("SELECT t.id, t.nusers, (SELECT COUNT(*) FROM user u WHERE u.teamid=t.id) FROM team t WHERE t.id>");
        std::vector<TeamSize> sizes;
        for (Rows r = db_.query(sql << after << " AND t.expavg_credit>0.1 ORDER BY t.id LIMIT " << limit); r.next();) {
            TeamSize& size = sizes.emplace_back();
            r.read(size.team, size.stored, size.counted);
        }
        return sizes;
    }

    bool correct_team_size(const TeamSize& size) override {
        Sql sql("UPDATE team SET nusers=");
        return db_.execute(sql << size.counted << " WHERE id=" << size.team << " AND nusers=" << size.stored) == 1;
    }

  private:
    static Sql aged_since(const AverageWords& w, double before) {
        Sql sql(" AND ");
        return sql << w.average << ">" << w.counts << " AND expavg_time<" << before;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<StatisticsStore> make_statistics_store(Database& db) {
    return std::make_unique<MysqlStatisticsStore>(db);
}

}  // namespace sluice
