// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <tuple>

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
           x.granted_credit, x.xml_doc_in, x.exit_status, x.runtime_outlier, x.client_state, x.claimed_credit, x.opaque,
           x.batch, x.app_version_num, x.stderr_out, x.xml_doc_out);
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
            "xml_doc_in, exit_status, runtime_outlier, client_state, claimed_credit, opaque, batch, "
            "app_version_num, ");
        if (filter.with_stderr)
            results << "stderr_out, xml_doc_out";
        else
            results << "'', ''";
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

    using ValidateStore::apply;
    std::vector<Validated> apply(std::span<const ValidationStep> steps, double now) override {
        std::vector<Validated> outcomes;
        try {
            db_.transaction([&] {
                outcomes = lock(steps);
                std::vector<ValidationStep> standing;
                for (std::size_t i = 0; i < steps.size(); ++i)
                    if (outcomes[i] == Validated::kWritten) standing.push_back(steps[i]);
                if (standing.empty()) return;
                write_workunits(standing, now);
                write_results(standing);
                cancel(standing);
                write_statistics(standing, now);
            });
        } catch (const ChangedMeanwhile&) {
            // The count of a statement for many rows does not say which.
            outcomes.assign(steps.size(), Validated::kChanged);
        }
        return outcomes;
    }

  private:
    /// Thrown within the transaction to undo it.
    struct ChangedMeanwhile {};
    using HostRow = ValidationWrite::HostRow;

    /// Locks the workunits and compares the facts of the decision with what is there now. Otherwise a result that came
    /// in meanwhile would wait for ever, and a verdict could rest on a result that has changed.
    std::vector<Validated> lock(std::span<const ValidationStep> steps) {
        std::vector<Id> ids;
        for (const ValidationStep& step : steps) ids.push_back(step.read->wu.id);
        Sql sql(
            "SELECT canonical_resultid, error_mask, assimilate_state, min_quorum, target_nresults, "
            "max_success_results, id FROM workunit FORCE INDEX (PRIMARY) WHERE need_validate>0 AND id IN (");
        std::map<Id, bool> same;  // of those that still ask
        Rows r = db_.query(sql.ids(ids) << ") ORDER BY id FOR UPDATE");
        while (r.next()) {
            const Id id = r.i64(6);
            const auto place = static_cast<std::size_t>(std::ranges::lower_bound(ids, id) - ids.begin());
            const Workunit& wu = steps[place].read->wu;
            same[id] = r.i64(0) == wu.canonical_resultid && r.i32(1) == wu.error_mask &&
                       r.code<AssimilateState>(2) == wu.assimilate_state && r.i32(3) == wu.min_quorum &&
                       r.i32(4) == wu.target_nresults && r.i32(5) == wu.max_success_results;
        }
        std::vector<Validated> outcomes(steps.size(), Validated::kGone);
        if (same.empty()) return outcomes;
        compare_results(steps, same);
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (const auto it = same.find(ids[i]); it != same.end())
                outcomes[i] = it->second ? Validated::kWritten : Validated::kChanged;
        return outcomes;
    }

    /// Sets `same` to false where results are others than they were.
    void compare_results(std::span<const ValidationStep> steps, std::map<Id, bool>& same) {
        struct Seen {
            Id id = 0;
            ServerState server_state{};
            Outcome outcome{};
            ValidateState validate_state{};
        };
        std::map<Id, std::vector<Seen>> there;
        std::vector<Id> ids;
        for (const auto& [id, is_same] : same) ids.push_back(id);
        Sql sql("SELECT workunitid, id, server_state, outcome, validate_state FROM result WHERE workunitid IN (");
        Rows r = db_.query(sql.ids(ids) << ") ORDER BY workunitid, id");
        while (r.next())
            there[r.i64(0)].push_back({r.i64(1), r.code<ServerState>(2), r.code<Outcome>(3), r.code<ValidateState>(4)});
        for (const ValidationStep& step : steps) {
            const auto it = same.find(step.read->wu.id);
            if (it == same.end()) continue;
            it->second =
                it->second &&
                std::ranges::equal(step.read->results, there[step.read->wu.id], [](const Result& was, const Seen& is) {
                    return is.id == was.id && is.server_state == was.server_state && is.outcome == was.outcome &&
                           is.validate_state == was.validate_state;
                });
        }
    }

    /// A row of a statement for many: bulk::by_id() looks for `id`.
    template <typename What>
    struct WithId {
        Id id;
        What of;
    };
    using StepWithId = WithId<ValidationStep>;

    /// One statement for all workunits of which the same columns change.
    void write_workunits(std::span<const ValidationStep> steps, double now) {
        using Shape = std::tuple<bool, bool, int, bool, int, bool>;
        std::map<Shape, std::vector<StepWithId>> alike;
        for (const ValidationStep& step : steps) {
            const ValidationWrite& w = *step.write;
            alike[{w.still_needed, w.canonical_resultid != 0, w.error_mask, w.assimilate, w.target_nresults,
                   w.transition_time != 0}]
                .push_back({step.read->wu.id, step});
        }
        for (const auto& [shape, rows] : alike) {
            const ValidationWrite& w = *rows.front().of.write;
            Sql sql("UPDATE workunit FORCE INDEX (PRIMARY) SET need_validate=");
            sql << (w.still_needed ? 1 : 0);
            if (w.canonical_resultid != 0) {
                sql << ", canonical_resultid=";
                bulk::by_id(sql, "id", rows, [](const StepWithId& s) { return s.of.write->canonical_resultid; });
                sql << ", canonical_credit=";
                bulk::by_id(sql, "id", rows, [](const StepWithId& s) { return s.of.write->canonical_credit; });
            }
            if (w.error_mask != 0) sql << ", error_mask=error_mask|" << w.error_mask;
            if (w.assimilate) sql << ", assimilate_state=" << AssimilateState::kReady;
            if (w.target_nresults != 0) sql << ", target_nresults=" << w.target_nresults;
            if (w.transition_time != 0) write_transition(sql, rows, now);
            sql << " WHERE id IN (";
            bulk::id_list(sql, rows);
            db_.enqueue(sql << ")");
        }
    }

    /// Someone else asked for a transition meanwhile (a report came in): that must not be lost.
    static void write_transition(Sql& sql, const std::vector<StepWithId>& rows, double now) {
        sql << ", transition_time=IF(transition_time=";
        bulk::by_id(sql, "id", rows, [](const StepWithId& s) { return s.of.read->wu.transition_time; });
        sql << ",";
        bulk::by_id(sql, "id", rows, [](const StepWithId& s) { return s.of.write->transition_time; });
        sql << ",LEAST(transition_time," << std::max<std::int64_t>(static_cast<std::int64_t>(now), 1) << "))";
    }

    /// One statement for all results that go from the same states to the same states.
    void write_results(std::span<const ValidationStep> steps) {
        using Row = ValidationWrite::ResultRow;
        using Change = std::tuple<ServerState, ValidateState, ServerState, Outcome, ValidateState, bool, bool>;
        std::map<Change, std::vector<Row>> alike;
        for (const ValidationStep& step : steps)
            for (const Row& r : step.write->results)
                alike[{r.was_server_state, r.was_validate_state, r.server_state, r.outcome, r.validate_state,
                       r.runtime_outlier, r.opaque.has_value()}]
                    .push_back(r);
        for (auto& [change, rows] : alike) {
            std::ranges::sort(rows, {}, &Row::id);
            const Row& r = rows.front();
            Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=");
            sql << r.server_state << ", outcome=" << r.outcome << ", validate_state=" << r.validate_state
                << ", runtime_outlier=" << (r.runtime_outlier ? 1 : 0) << ", granted_credit=";
            bulk::by_id(sql, "id", rows, [](const Row& row) { return row.granted_credit; });
            if (r.opaque) {
                sql << ", opaque=";
                bulk::by_id(sql, "id", rows, [](const Row& row) { return *row.opaque; });
            }
            sql << " WHERE id IN (";
            bulk::id_list(sql, rows);
            sql << ") AND server_state=" << r.was_server_state << " AND validate_state=" << r.was_validate_state;
            // Programs that don't take the workunit's lock may still have been quicker.
            if (!db_.execute_matching(sql, static_cast<std::int64_t>(rows.size()))) throw ChangedMeanwhile{};
        }
    }

    void cancel(std::span<const ValidationStep> steps) {
        std::vector<Id> ids;
        for (const ValidationStep& step : steps)
            ids.insert(ids.end(), step.write->cancel.begin(), step.write->cancel.end());
        if (ids.empty()) return;
        std::ranges::sort(ids);
        // Without the hint the server may walk all unsent results by their state's index.
        Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=");
        sql << ServerState::kOver << ", outcome=" << Outcome::kDidntNeed
            << " WHERE server_state<=" << ServerState::kUnsent << " AND id IN (";
        db_.enqueue(sql.ids(ids) << ")");
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

    /// All rows are locked first, table by table as every process does it; then all are written.
    void write_statistics(std::span<const ValidationStep> steps, double now) {
        std::vector<HostRow> due;
        for (const ValidationStep& step : steps) {
            const auto of_step = due.insert(due.end(), step.write->hosts.begin(), step.write->hosts.end());
            std::stable_sort(of_step, due.end(), [](const auto& a, const auto& b) { return a.hostid < b.hostid; });
        }
        std::erase_if(due, [](const HostRow& h) { return h.hostid == 0; });
        if (due.empty()) return;
        write_host_versions(due);
        write_credit(due, now);
        write_versions(due, now);
    }

    void write_host_versions(const std::vector<HostRow>& due) {
        std::vector<std::pair<Id, Id>> keys;
        for (const HostRow& h : due) keys.emplace_back(h.hostid, h.generalized_version);
        std::sort(keys.begin(), keys.end());  // every process locks in this order
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        auto versions = load_host_versions(keys, true);
        if (versions.empty()) return;
        for (const HostRow& h : due)  // the scheduler makes these rows; one made here would have a quota of 1
            if (const auto it = versions.find({h.hostid, h.generalized_version}); it != versions.end())
                add_verdict(it->second, h);
        Sql sql(
            "INSERT INTO host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
            "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
            "consecutive_valid) VALUES ");
        bulk::rows(sql, versions, [&](const auto& row) {
            const HostAppVersion& h = row.second;
            sql << h.host_id << "," << h.app_version_id << "," << h.pfc_n << "," << h.pfc_avg << "," << h.et.n << ","
                << h.et.avg << "," << h.et.var << "," << h.et.q << "," << h.max_jobs_per_day << "," << h.n_jobs_today
                << "," << h.turnaround.n << "," << h.turnaround.avg << "," << h.turnaround.var << "," << h.turnaround.q
                << "," << h.consecutive_valid;
        });
        db_.enqueue(sql << " ON DUPLICATE KEY UPDATE pfc_n=VALUES(pfc_n), pfc_avg=VALUES(pfc_avg), et_n=VALUES(et_n), "
                           "et_avg=VALUES(et_avg), et_var=VALUES(et_var), et_q=VALUES(et_q), "
                           "max_jobs_per_day=VALUES(max_jobs_per_day), turnaround_n=VALUES(turnaround_n), "
                           "turnaround_avg=VALUES(turnaround_avg), turnaround_var=VALUES(turnaround_var), "
                           "turnaround_q=VALUES(turnaround_q), consecutive_valid=VALUES(consecutive_valid)");
    }

    /// A row to which credit comes: of host, user, team, app_version, credit_user or credit_team.
    struct Account {
        Id id = 0;
        double average = 0, averaged_at = 0;  ///< expavg_credit, expavg_time
        double turnaround = 0;                ///< of a host
        double pfc_n = 0, pfc_average = 0;    ///< of a version
        double added = 0;                     ///< credit
        int jobs = 0;                         ///< so many had a part in it
    };
    using Accounts = std::vector<Account>;

    static Account* find(Accounts& accounts, Id id) {
        const auto it = std::ranges::lower_bound(accounts, id, {}, &Account::id);
        return it != accounts.end() && it->id == id ? &*it : nullptr;
    }
    static void add(Account& a, const HostRow& h, double now) {
        a.added += h.credit;
        add_credit(now, h.started, h.credit, a.average, a.averaged_at);
    }
    static void keep_once(std::vector<Id>& ids) {
        std::ranges::sort(ids);
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    }

    /// Locks rows in the order of their ids; those that are there. `read` takes the columns after the id.
    template <typename Read>
    Accounts lock_accounts(SqlLiteral select, std::vector<Id> ids, Read read) {
        Accounts accounts;
        keep_once(ids);
        if (ids.empty()) return accounts;
        Sql sql(select);
        sql << " FORCE INDEX (PRIMARY) WHERE id IN (";
        Rows r = db_.query(sql.ids(ids) << ") ORDER BY id FOR UPDATE");
        while (r.next()) {
            accounts.emplace_back().id = r.i64(0);
            read(r, accounts.back());
        }
        return accounts;
    }
    /// Hosts, users and teams, in that order everywhere.
    void write_credit(const std::vector<HostRow>& due, double now) {
        std::vector<const HostRow*> valid;
        std::vector<Id> ids;
        for (const HostRow& h : due)
            if (h.valid) valid.push_back(&h), ids.push_back(h.hostid);
        Accounts hosts =
            lock_accounts("SELECT id, expavg_credit, expavg_time, avg_turnaround FROM host", ids,
                          [](const Rows& r, Account& a) { r.read_from(1, a.average, a.averaged_at, a.turnaround); });
        std::erase_if(valid, [&](const HostRow* h) { return find(hosts, h->hostid) == nullptr; });
        for (const HostRow* h : valid) {
            Account& host = *find(hosts, h->hostid);
            host.added += h->credit;
            if (h->grants) add_credit(now, h->started, h->credit, host.average, host.averaged_at);
            if (h->turnaround >= 0) host.turnaround = blended_turnaround(host.turnaround, h->turnaround);
        }
        if (!hosts.empty()) {
            Sql sql("UPDATE host FORCE INDEX (PRIMARY) SET avg_turnaround=");
            bulk::by_id(sql, "id", hosts, [](const Account& a) { return a.turnaround; });
            save_credit(sql << ", total_credit=total_credit+", hosts);
        }
        write_owners("SELECT id, expavg_credit, expavg_time FROM user", "UPDATE user FORCE INDEX (PRIMARY) SET ",
                     &HostRow::userid, valid, now);
        write_owners("SELECT id, expavg_credit, expavg_time FROM team", "UPDATE team FORCE INDEX (PRIMARY) SET ",
                     &HostRow::teamid, valid, now);
        write_app_credit(valid, now);
    }

    void write_owners(SqlLiteral select, SqlLiteral update, Id HostRow::*whose,
                      const std::vector<const HostRow*>& valid, double now) {
        std::vector<Id> ids;
        for (const HostRow* h : valid)
            if (h->*whose != 0 && h->credit != 0) ids.push_back(h->*whose);
        Accounts owners =
            lock_accounts(select, ids, [](const Rows& r, Account& a) { r.read_from(1, a.average, a.averaged_at); });
        if (owners.empty()) return;
        for (const HostRow* h : valid)
            if (Account* owner = h->credit != 0 ? find(owners, h->*whose) : nullptr) add(*owner, *h, now);
        Sql sql(update);
        save_credit(sql << "total_credit=total_credit+", owners);
    }

    /// Ends a statement that is to go on with what is added.
    void save_credit(Sql& sql, const Accounts& accounts) {
        bulk::by_id(sql, "id", accounts, [](const Account& a) { return a.added; });
        save_average(sql, accounts);
    }
    void save_average(Sql& sql, const Accounts& accounts) {
        sql << ", expavg_credit=";
        bulk::by_id(sql, "id", accounts, [](const Account& a) { return a.average; });
        sql << ", expavg_time=";
        bulk::by_id(sql, "id", accounts, [](const Account& a) { return a.averaged_at; });
        sql << " WHERE id IN (";
        bulk::id_list(sql, accounts);
        db_.enqueue(sql << ")");
    }

    struct AppCreditTable {
        SqlLiteral select, whose, order, insert;
        Id HostRow::*owner;
    };
    void write_app_credit(const std::vector<const HostRow*>& valid, double now) {
        std::map<Id, std::vector<const HostRow*>> by_app;
        for (const HostRow* h : valid)
            if (h->credit_appid != 0) by_app[h->credit_appid].push_back(h);
        if (by_app.empty()) return;
        const AppCreditTable users{
            "SELECT userid, expavg, expavg_time FROM credit_user WHERE credit_type=0 AND appid=", " AND userid IN (",
            ") ORDER BY userid FOR UPDATE",
            "INSERT INTO credit_user (appid, userid, njobs, total, expavg, expavg_time, credit_type) VALUES ",
            &HostRow::userid};
        // Also for team 0: what users without a team did.
        const AppCreditTable teams{
            "SELECT teamid, expavg, expavg_time FROM credit_team WHERE credit_type=0 AND appid=", " AND teamid IN (",
            ") ORDER BY teamid FOR UPDATE",
            "INSERT INTO credit_team (appid, teamid, njobs, total, expavg, expavg_time, credit_type) VALUES ",
            &HostRow::teamid};
        for (const AppCreditTable* table : {&users, &teams})
            for (const auto& [app, hosts] : by_app) write_app_credit(*table, app, hosts, now);
    }

    /// As upstream keeps it: the average of a new row begins now.
    void write_app_credit(const AppCreditTable& table, Id app, const std::vector<const HostRow*>& hosts, double now) {
        std::vector<Id> ids;
        for (const HostRow* h : hosts) ids.push_back(h->*table.owner);
        keep_once(ids);
        Accounts accounts;
        for (const Id id : ids) {
            Account& a = accounts.emplace_back();
            a.id = id, a.averaged_at = now;
        }
        Sql sql(table.select);
        Rows r = db_.query((sql << app << table.whose).ids(ids) << table.order);
        while (r.next())
            if (Account* a = find(accounts, r.i64(0))) r.read_from(1, a->average, a->averaged_at);
        for (const HostRow* h : hosts) {
            Account& a = *find(accounts, h->*table.owner);
            add(a, *h, now);
            ++a.jobs;
        }
        Sql write(table.insert);
        bulk::rows(write, accounts, [&](const Account& a) {
            write << app << "," << a.id << "," << a.jobs << "," << a.added << "," << a.average << "," << a.averaged_at
                  << ",0";
        });
        db_.enqueue(write << " ON DUPLICATE KEY UPDATE njobs=njobs+VALUES(njobs), total=total+VALUES(total), "
                             "expavg=VALUES(expavg), expavg_time=VALUES(expavg_time)");
    }

    void write_versions(const std::vector<HostRow>& due, double now) {
        std::vector<Id> ids;
        const auto is_sample = [](const HostRow& h) { return h.app_version_id > 0 && h.pfc >= 0; };
        for (const HostRow& h : due)
            if (is_sample(h)) ids.push_back(h.app_version_id);
        Accounts versions = lock_accounts(
            "SELECT id, expavg_credit, expavg_time, pfc_n, pfc_avg FROM app_version", ids,
            [](const Rows& r, Account& a) { r.read_from(1, a.average, a.averaged_at, a.pfc_n, a.pfc_average); });
        if (versions.empty()) return;
        for (const HostRow& h : due)
            if (Account* v = is_sample(h) ? find(versions, h.app_version_id) : nullptr) {
                add_sample(v->pfc_n, v->pfc_average, h.pfc, kVersionRule);
                add_credit(now, h.started, h.credit, v->average, v->averaged_at);
            }
        Sql sql("UPDATE app_version FORCE INDEX (PRIMARY) SET pfc_n=");
        bulk::by_id(sql, "id", versions, [](const Account& a) { return a.pfc_n; });
        sql << ", pfc_avg=";
        bulk::by_id(sql, "id", versions, [](const Account& a) { return a.pfc_average; });
        save_average(sql, versions);
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<ValidateStore> make_validate_store(Database& db) { return std::make_unique<MysqlValidateStore>(db); }

}  // namespace sluice
