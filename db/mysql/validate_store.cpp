// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/store_rules.h"
#include "sluice/db/validate_store.h"

namespace sluice {
namespace {

/// The filter as conditions on workunit w.
Sql conditions_of(const WorkunitFilter& f, Id after) {
    Sql sql(" w.appid=");
    sql << f.appid << " AND w.id>" << after;
    if (f.share.n > 0) sql << " AND w.id % " << f.share.n << "=" << f.share.i;
    if (f.wu_id != 0) sql << " AND w.id=" << f.wu_id;
    if (f.min_wu_id != 0) sql << " AND w.id>=" << f.min_wu_id;
    if (f.max_wu_id != 0) sql << " AND w.id<=" << f.max_wu_id;
    return sql;
}

Result read_validated_result(const Rows& r) {
    Result x;
    r.read(x.id, x.workunitid, x.server_state, x.outcome, x.validate_state, x.hostid, x.userid, x.teamid, x.sent_time,
           x.received_time, x.name, x.cpu_time, x.elapsed_time, x.flops_estimate, x.app_version_id, x.appid,
           x.granted_credit, x.xml_doc_in, x.exit_status, x.runtime_outlier, x.client_state, x.claimed_credit,
           x.stderr_out);
    return x;
}

Workunit read_validated_workunit(const Rows& r) {
    Workunit w;
    r.read(w.id, w.name, w.canonical_resultid, w.canonical_credit, w.transition_time, w.error_mask, w.assimilate_state,
           w.min_quorum, w.target_nresults, w.max_success_results, w.rsc_fpops_est, w.rsc_fpops_bound, w.opaque,
           w.delay_bound, w.batch, w.appid);
    return w;
}

class MysqlValidateStore final : public ValidateStore {
  public:
    explicit MysqlValidateStore(Database& db) : db_(db) {}

    std::optional<App> app_by_name(const std::string& name) override {
        Sql sql("SELECT id, name, target_nresults, min_avg_pfc, host_scale_check FROM app WHERE name=");
        Rows r = db_.query(sql << SqlText{name, 191});
        if (!r.next()) return std::nullopt;
        App a;
        r.read(a.id, a.name, a.target_nresults, a.min_avg_pfc, a.host_scale_check);
        return a;
    }

    std::vector<WorkunitWithResults> page(const WorkunitFilter& filter, Id after, int limit) override {
        Sql sql(
            "SELECT w.id, w.name, w.canonical_resultid, w.canonical_credit, w.transition_time, w.error_mask, "
            "w.assimilate_state, w.min_quorum, w.target_nresults, w.max_success_results, w.rsc_fpops_est, "
            "w.rsc_fpops_bound, w.opaque, w.delay_bound, w.batch, w.appid FROM workunit w WHERE w.need_validate>0 AND");
        sql << conditions_of(filter, after) << " ORDER BY w.id LIMIT " << limit;
        std::vector<WorkunitWithResults> page;
        std::map<Id, std::size_t> index;
        Rows r = db_.query(sql);
        while (r.next()) {
            index[r.i64(0)] = page.size();
            page.push_back({read_validated_workunit(r), {}});
        }
        if (page.empty()) return page;
        std::vector<Id> ids;
        for (const auto& p : page) ids.push_back(p.wu.id);
        Sql results(
            "SELECT id, workunitid, server_state, outcome, validate_state, hostid, userid, teamid, sent_time, "
            "received_time, name, cpu_time, elapsed_time, flops_estimate, app_version_id, appid, granted_credit, "
            "xml_doc_in, exit_status, runtime_outlier, client_state, claimed_credit, ");
        if (filter.with_stderr)
            results << "stderr_out";
        else
            results << "''";
        results << " FROM result WHERE workunitid IN (";
        Rows rows = db_.query(results.ids(ids) << ") ORDER BY id");
        while (rows.next()) page[index[rows.i64(1)]].results.push_back(read_validated_result(rows));
        return page;
    }

    std::map<std::pair<Id, Id>, HostAppVersion> host_app_versions(std::span<const std::pair<Id, Id>> keys) override {
        return load_host_versions(keys, false);
    }

    std::map<Id, AppVersion> versions(Id appid) override {
        Sql sql("SELECT id, pfc_n, pfc_avg, pfc_scale FROM app_version WHERE appid=");
        std::map<Id, AppVersion> out;
        Rows r = db_.query(sql << appid);
        while (r.next()) {
            AppVersion& v = out[r.i64(0)];
            r.read(v.id, v.pfc_n, v.pfc_avg, v.pfc_scale);
        }
        return out;
    }

    Validated apply(const WorkunitWithResults& read, const ValidationWrite& w, double now) override {
        Validated outcome = Validated::kGone;
        try {
            db_.transaction([&] {
                outcome = lock(read);
                if (outcome != Validated::kWritten) return;
                write_workunit(read.wu, w, now);
                for (const auto& r : w.results) write_result(r);
                cancel(w.cancel);
                write_statistics(w, now);
            });
        } catch (const ChangedMeanwhile&) {
            outcome = Validated::kChanged;
        }
        return outcome;
    }

  private:
    /// Thrown within the transaction to undo it.
    struct ChangedMeanwhile {};

    /// Locks the workunit and compares what the decision was made from with what is there now: a result that came in
    /// meanwhile would otherwise wait for ever for a verdict, and a verdict could rest on a result that has changed.
    Validated lock(const WorkunitWithResults& read) {
        Sql sql(
            "SELECT canonical_resultid, error_mask, assimilate_state, min_quorum, target_nresults, "
            "max_success_results FROM workunit WHERE need_validate>0 AND id=");
        const Workunit& wu = read.wu;
        Rows r = db_.query(sql << wu.id << " FOR UPDATE");
        if (!r.next()) return Validated::kGone;
        const bool same = r.i64(0) == wu.canonical_resultid && r.i32(1) == wu.error_mask &&
                          r.code<AssimilateState>(2) == wu.assimilate_state && r.i32(3) == wu.min_quorum &&
                          r.i32(4) == wu.target_nresults && r.i32(5) == wu.max_success_results;
        return same && same_results(read) ? Validated::kWritten : Validated::kChanged;
    }

    bool same_results(const WorkunitWithResults& read) {
        Sql sql("SELECT id, server_state, outcome, validate_state FROM result WHERE workunitid=");
        Rows r = db_.query(sql << read.wu.id << " ORDER BY id");
        for (const Result& was : read.results)
            if (!r.next() || r.i64(0) != was.id || r.code<ServerState>(1) != was.server_state ||
                r.code<Outcome>(2) != was.outcome || r.code<ValidateState>(3) != was.validate_state)
                return false;
        return !r.next();
    }

    void write_workunit(const Workunit& read, const ValidationWrite& w, double now) {
        Sql sql("UPDATE workunit SET need_validate=");
        sql << (w.still_needed ? 1 : 0);
        if (w.canonical_resultid != 0)
            sql << ", canonical_resultid=" << w.canonical_resultid << ", canonical_credit=" << w.canonical_credit;
        if (w.error_mask != 0) sql << ", error_mask=error_mask|" << w.error_mask;
        if (w.assimilate) sql << ", assimilate_state=" << AssimilateState::kReady;
        if (w.target_nresults != 0) sql << ", target_nresults=" << w.target_nresults;
        // Someone else asked for a transition meanwhile (a report came in): that must not be lost.
        if (w.transition_time != 0)
            sql << ", transition_time=IF(transition_time=" << read.transition_time << "," << w.transition_time
                << ",LEAST(transition_time," << std::max<std::int64_t>(static_cast<std::int64_t>(now), 1) << "))";
        db_.execute(sql << " WHERE id=" << read.id);
    }

    void write_result(const ValidationWrite::ResultRow& r) {
        Sql sql("UPDATE result SET server_state=");
        sql << r.server_state << ", outcome=" << r.outcome << ", validate_state=" << r.validate_state
            << ", granted_credit=" << r.granted_credit << ", runtime_outlier=" << (r.runtime_outlier ? 1 : 0)
            << " WHERE id=" << r.id << " AND server_state=" << r.was_server_state
            << " AND validate_state=" << r.was_validate_state;
        // Programs that don't take the workunit's lock may still have been quicker.
        if (db_.execute(sql) != 1) throw ChangedMeanwhile{};
    }

    void cancel(const std::vector<Id>& ids) {
        if (ids.empty()) return;
        // Without the hint the server may walk all unsent results by their state's index.
        Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=");
        sql << ServerState::kOver << ", outcome=" << Outcome::kDidntNeed
            << " WHERE server_state<=" << ServerState::kUnsent << " AND id IN (";
        db_.execute(sql.ids(ids) << ")");
    }

    std::map<std::pair<Id, Id>, HostAppVersion> load_host_versions(std::span<const std::pair<Id, Id>> keys, bool lock) {
        std::map<std::pair<Id, Id>, HostAppVersion> out;
        if (keys.empty()) return out;
        Sql sql(
            "SELECT host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, max_jobs_per_day, "
            "n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, consecutive_valid "
            "FROM host_app_version FORCE INDEX (hap) WHERE ");
        bulk::pairs(sql, "host_id", "app_version_id", keys);
        sql << " ORDER BY host_id, app_version_id";
        if (lock) sql << " FOR UPDATE";
        Rows r = db_.query(sql);
        while (r.next()) {
            HostAppVersion& h = out[{r.i64(0), r.i64(1)}];
            r.read(h.host_id, h.app_version_id, h.pfc_n, h.pfc_avg, h.et.n, h.et.avg, h.et.var, h.et.q,
                   h.max_jobs_per_day, h.n_jobs_today, h.turnaround.n, h.turnaround.avg, h.turnaround.var,
                   h.turnaround.q, h.consecutive_valid);
        }
        return out;
    }

    void write_statistics(const ValidationWrite& w, double now) {
        std::vector<ValidationWrite::HostRow> due;
        std::vector<std::pair<Id, Id>> keys;
        for (const auto& h : w.hosts) {
            if (h.hostid == 0) continue;
            due.push_back(h);
            keys.emplace_back(h.hostid, h.generalized_version);
        }
        std::sort(keys.begin(), keys.end());  // every process locks in this order
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        auto versions = load_host_versions(keys, true);
        for (const auto& h : due)  // the scheduler makes these rows; one made here would have a quota of 1
            if (const auto it = versions.find({h.hostid, h.generalized_version}); it != versions.end())
                add_verdict(it->second, h);
        for (const auto& [key, hav] : versions) save(hav);
        std::sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.hostid < b.hostid; });
        for (const auto& h : due)
            if (h.valid) write_credit(h, now);
        for (const auto& h : due)
            if (h.app_version_id > 0 && h.pfc >= 0) write_version(h, now);
    }

    void save(const HostAppVersion& h) {
        Sql sql(
            "INSERT INTO host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
            "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
            "consecutive_valid) VALUES (");
        sql << h.host_id << "," << h.app_version_id << "," << h.pfc_n << "," << h.pfc_avg << "," << h.et.n << ","
            << h.et.avg << "," << h.et.var << "," << h.et.q << "," << h.max_jobs_per_day << "," << h.n_jobs_today << ","
            << h.turnaround.n << "," << h.turnaround.avg << "," << h.turnaround.var << "," << h.turnaround.q << ","
            << h.consecutive_valid
            << ") ON DUPLICATE KEY UPDATE pfc_n=VALUES(pfc_n), pfc_avg=VALUES(pfc_avg), et_n=VALUES(et_n), "
               "et_avg=VALUES(et_avg), et_var=VALUES(et_var), et_q=VALUES(et_q), "
               "max_jobs_per_day=VALUES(max_jobs_per_day), turnaround_n=VALUES(turnaround_n), "
               "turnaround_avg=VALUES(turnaround_avg), turnaround_var=VALUES(turnaround_var), "
               "turnaround_q=VALUES(turnaround_q), consecutive_valid=VALUES(consecutive_valid)";
        db_.execute(sql);
    }

    /// Host, user and team, in that order everywhere.
    void write_credit(const ValidationWrite::HostRow& h, double now) {
        {
            Sql sql("SELECT total_credit, expavg_credit, expavg_time, avg_turnaround FROM host WHERE id=");
            Rows r = db_.query(sql << h.hostid << " FOR UPDATE");
            if (!r.next()) return;
            double avg = r.f64(1), time = r.f64(2), turnaround = r.f64(3);
            if (h.grants) add_credit(now, h.started, h.credit, avg, time);
            if (h.turnaround >= 0) turnaround = blended_turnaround(turnaround, h.turnaround);
            Sql update("UPDATE host SET total_credit=total_credit+");
            db_.execute(update << h.credit << ", expavg_credit=" << avg << ", expavg_time=" << time
                               << ", avg_turnaround=" << turnaround << " WHERE id=" << h.hostid);
        }
        write_account("SELECT expavg_credit, expavg_time FROM user WHERE id=",
                      "UPDATE user SET total_credit=total_credit+", h.userid, h, now);
        write_account("SELECT expavg_credit, expavg_time FROM team WHERE id=",
                      "UPDATE team SET total_credit=total_credit+", h.teamid, h, now);
        if (h.credit_appid == 0) return;
        write_app_credit(
            {"SELECT expavg, expavg_time FROM credit_user WHERE credit_type=0 AND appid=", " AND userid=",
             "INSERT INTO credit_user (appid, userid, njobs, total, expavg, expavg_time, credit_type) VALUES ("},
            h.userid, h, now);
        // Also for team 0: what users without a team did.
        write_app_credit(
            {"SELECT expavg, expavg_time FROM credit_team WHERE credit_type=0 AND appid=", " AND teamid=",
             "INSERT INTO credit_team (appid, teamid, njobs, total, expavg, expavg_time, credit_type) VALUES ("},
            h.teamid, h, now);
    }

    struct AppCreditTable {
        SqlLiteral select, whose, insert;
    };
    /// As upstream keeps it: the average of a new row begins now.
    void write_app_credit(const AppCreditTable& table, Id id, const ValidationWrite::HostRow& h, double now) {
        Sql sql(table.select);
        Rows r = db_.query(sql << h.credit_appid << table.whose << id << " FOR UPDATE");
        const bool there = r.next();
        double avg = there ? r.f64(0) : 0, time = there ? r.f64(1) : now;
        add_credit(now, h.started, h.credit, avg, time);
        Sql write(table.insert);
        db_.execute(write << h.credit_appid << "," << id << ",1," << h.credit << "," << avg << "," << time
                          << ",0) ON DUPLICATE KEY UPDATE njobs=njobs+1, total=total+VALUES(total), "
                             "expavg=VALUES(expavg), expavg_time=VALUES(expavg_time)");
    }

    void write_account(SqlLiteral select, SqlLiteral update, Id id, const ValidationWrite::HostRow& h, double now) {
        if (id == 0 || h.credit == 0) return;
        Sql sql(select);
        Rows r = db_.query(sql << id << " FOR UPDATE");
        if (!r.next()) return;
        double avg = r.f64(0), time = r.f64(1);
        add_credit(now, h.started, h.credit, avg, time);
        Sql write(update);
        db_.execute(write << h.credit << ", expavg_credit=" << avg << ", expavg_time=" << time << " WHERE id=" << id);
    }

    void write_version(const ValidationWrite::HostRow& h, double now) {
        Sql sql("SELECT pfc_n, pfc_avg, expavg_credit, expavg_time FROM app_version WHERE id=");
        Rows r = db_.query(sql << h.app_version_id << " FOR UPDATE");
        if (!r.next()) return;
        double n = r.f64(0), avg = r.f64(1), credit = r.f64(2), time = r.f64(3);
        add_sample(n, avg, h.pfc, kVersionRule);
        add_credit(now, h.started, h.credit, credit, time);
        Sql write("UPDATE app_version SET pfc_n=");
        db_.execute(write << n << ", pfc_avg=" << avg << ", expavg_credit=" << credit << ", expavg_time=" << time
                          << " WHERE id=" << h.app_version_id);
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<ValidateStore> make_validate_store(Database& db) { return std::make_unique<MysqlValidateStore>(db); }

}  // namespace sluice
