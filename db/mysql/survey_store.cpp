// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/survey_store.h"

#include <cmath>

namespace sluice {
namespace {

/// Of so many workunits that wait, those with the least ids, the one that has waited longest is looked for.
constexpr int kLookedAtForAge = 500;

/// "(SELECT COUNT(*) FROM (SELECT 1 FROM … LIMIT n) t)".
Sql counted(const Sql& from) {
    Sql sql("(SELECT COUNT(*) FROM (SELECT 1 FROM ");
    return sql << from << " LIMIT " << SurveyStore::kMostCounted << ") t)";
}

class MysqlSurveyStore final : public SurveyStore {
  public:
    explicit MysqlSurveyStore(Database& db) : db_(db) {}

    std::vector<AppWork> work() override {
        Rows r = db_.query(Sql("SELECT id,name,user_friendly_name FROM app WHERE deprecated=0 ORDER BY id"));
        std::vector<AppWork> apps;
        while (r.next()) {
            AppWork& a = apps.emplace_back();
            r.read(a.app, a.name, a.title);
        }
        for (AppWork& a : apps) read_work(a);
        return apps;
    }

    WorkBacklog backlog(std::int64_t now) override {
        WorkBacklog b;
        Sql due("workunit WHERE transition_time<");
        due << now;
        Sql sql("SELECT ");
        // 0 is no time: upstream's tools leave it where nothing is to be done.
        sql << counted(due)
            << ",(SELECT COALESCE(MIN(transition_time),0) FROM workunit WHERE transition_time>0 AND transition_time<"
            << now << ")," << counted(Sql("workunit WHERE file_delete_state=1")) << ","
            << counted(Sql("result WHERE file_delete_state=1"));
        Rows r = db_.query(sql);
        if (r.next()) r.read(b.transitions, b.oldest_transition, b.workunit_files, b.result_files);
        return b;
    }

    std::vector<AppDay> last_day(std::int64_t now) override {
        std::vector<Id> apps;
        for (Rows r = db_.query(Sql("SELECT id FROM app WHERE deprecated=0 ORDER BY id")); r.next();)
            apps.push_back(r.i64(0));
        std::vector<AppDay> days;
        for (const Id app : apps) {
            // The rows of results are wide: only so many of them are read, by the index of what is over.
            Sql sql(
                "SELECT COUNT(*),AVG(elapsed_time),MIN(elapsed_time),MAX(elapsed_time),COUNT(DISTINCT userid) FROM "
                "(SELECT elapsed_time,userid,validate_state,received_time FROM result FORCE INDEX (res_app_state) "
                "WHERE appid=");
            sql << app << " AND server_state=5 ORDER BY id DESC LIMIT " << kMostOfADay
                << ") t WHERE validate_state=1 AND received_time>" << now - kDay;
            Rows r = db_.query(sql);
            if (!r.next() || r.i64(0) == 0) continue;
            AppDay& d = days.emplace_back(AppDay{.app = app});
            r.read_from(1, d.mean_runtime, d.least_runtime, d.most_runtime, d.users);
        }
        return days;
    }

    Community community(std::int64_t now) override {
        Community c;
        c.users = population("user", now);
        c.hosts = population("host", now);
        Rows sum = db_.query(Sql("SELECT COALESCE(SUM(expavg_credit),0) FROM user WHERE expavg_credit>0"));
        if (sum.next()) c.recent_credit = sum.f64(0);
        Sql sql(
            "SELECT FLOOR(LOG2(p_fpops)) speed,COUNT(*) FROM (SELECT p_fpops FROM host WHERE expavg_credit>1 ORDER BY expavg_credit DESC LIMIT ");
        sql << kMostCounted << ") t WHERE p_fpops>=1e6 AND p_fpops<1e15 GROUP BY speed ORDER BY speed";
        Rows r = db_.query(sql);
        while (r.next()) c.speeds.push_back({std::exp2(r.f64(0)), r.i64(1)});
        return c;
    }

    std::string server_version() override {
        Rows r = db_.query(Sql("SELECT VERSION()"));
        return r.next() ? r.text(0) : "";
    }

  private:
    static constexpr std::int64_t kDay = 86400;

    void read_work(AppWork& a) {
        Sql unsent("result WHERE appid="), running("result WHERE appid="), validate("workunit WHERE appid="),
            assimilate("workunit WHERE appid=");
        unsent << a.app << " AND server_state=2";
        running << a.app << " AND server_state=4";
        validate << a.app << " AND need_validate=1";
        assimilate << a.app << " AND assimilate_state=1";
        Sql sql("SELECT ");
        sql << counted(unsent) << "," << counted(running) << "," << counted(validate) << "," << counted(assimilate)
            << "," << oldest(validate) << "," << oldest(assimilate);
        Rows r = db_.query(sql);
        if (r.next())
            r.read(a.unsent, a.in_progress, a.to_validate, a.to_assimilate, a.oldest_validation, a.oldest_assimilation);
    }

    /// Since when the row was not changed: a workunit that waits is let alone.
    static Sql oldest(const Sql& from) {
        Sql sql("(SELECT COALESCE(UNIX_TIMESTAMP(MIN(mod_time)),0) FROM (SELECT mod_time FROM ");
        return sql << from << " ORDER BY id LIMIT " << kLookedAtForAge << ") t)";
    }

    /// Ids grow with time: who came today is among the last.
    Population population(const char* table, std::int64_t now) {
        Population p;
        Sql name;
        name.identifier(table);
        Sql credit(name), recent(name), today("(SELECT create_time FROM ");
        credit << " WHERE total_credit>1";
        recent << " WHERE expavg_credit>1";
        today << name << " ORDER BY id DESC LIMIT " << kMostCounted << ") n WHERE create_time>" << now - kDay;
        Sql sql("SELECT ");
        Rows r = db_.query(sql << counted(credit) << "," << counted(recent) << "," << counted(today));
        if (r.next()) r.read(p.with_credit, p.with_recent_credit, p.new_today);
        return p;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<SurveyStore> make_survey_store(Database& db) { return std::make_unique<MysqlSurveyStore>(db); }

}  // namespace sluice
