// SPDX-License-Identifier: LGPL-3.0-or-later
// Order of locks, as everywhere in Sluice: workunits by id, then results, then host_app_version by key. "force index
// (primary)": otherwise the server may walk another index (wu_timeout, ind_res_st) or a whole small table. It then
// locks rows and gaps outside this page.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "sluice/db/database.h"
#include "sluice/db/transition_store.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

// Rows of host_app_version inside a transaction of another store.

using HostVersionKey = std::pair<Id, Id>;  ///< host, generalized version

HostAppVersion read_row(const Rows& r) {
    HostAppVersion v;
    r.read(v.host_id, v.app_version_id, v.max_jobs_per_day, v.turnaround.n, v.turnaround.avg, v.turnaround.var,
           v.turnaround.q, v.consecutive_valid);
    return v;
}

/// Locks those that exist, in order of their keys. Only what a penalty changes is read.
std::map<HostVersionKey, HostAppVersion> lock_host_versions(Database& db, const std::set<HostVersionKey>& keys) {
    std::map<HostVersionKey, HostAppVersion> versions;
    if (keys.empty()) return versions;
    Sql sql(
        "SELECT host_id, app_version_id, max_jobs_per_day, turnaround_n, turnaround_avg, turnaround_var, "
        "turnaround_q, consecutive_valid FROM host_app_version FORCE INDEX (hap) WHERE ");
    bulk::pairs(sql, "host_id", "app_version_id", keys);
    sql << " ORDER BY host_id, app_version_id FOR UPDATE";
    Rows rows = db.query(sql);
    while (rows.next()) {
        HostAppVersion v = read_row(rows);
        versions[{v.host_id, v.app_version_id}] = v;
    }
    return versions;
}

/// For a key without a row: takes over the row of the newest other version of the same app, platform and plan class on
/// that host, but none of `in_use`. Upstream: a new version inherits what is known of the old one. Without such a row
/// it makes a new one.
HostAppVersion adopted_host_version(Database& db, HostVersionKey key, const std::set<HostVersionKey>& in_use) {
    const auto [host, version] = key;
    if (!anonymous_version(version)) {
        Sql sql(
            "SELECT hav.host_id, hav.app_version_id, hav.max_jobs_per_day, hav.turnaround_n, hav.turnaround_avg, "
            "hav.turnaround_var, hav.turnaround_q, hav.consecutive_valid FROM app_version mine "
            "JOIN app_version other ON other.appid=mine.appid AND other.platformid=mine.platformid "
            "AND other.plan_class=mine.plan_class AND other.id<>mine.id "
            "JOIN host_app_version hav ON hav.app_version_id=other.id WHERE mine.id=");
        sql << version << " AND hav.host_id=" << host;
        for (auto at = in_use.lower_bound({host, 0}); at != in_use.end() && at->first == host; ++at)
            sql << " AND hav.app_version_id<>" << at->second;
        sql << " ORDER BY other.version_num DESC LIMIT 1 FOR UPDATE";
        Rows rows = db.query(sql);
        if (rows.next()) {
            HostAppVersion v = read_row(rows);
            Sql repoint("UPDATE host_app_version SET app_version_id=");
            repoint << version << " WHERE host_id=" << host << " AND app_version_id=" << v.app_version_id;
            db.execute(repoint);
            v.app_version_id = version;
            return v;
        }
    }
    Sql sql(
        "INSERT INTO host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
        "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
        "consecutive_valid) VALUES (");
    db.execute(sql << host << "," << version << ",0,0,0,0,0,0,0,0,0,0,0,0,0)");
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = version;
    return v;
}

/// Writes turnaround, quota and consecutive_valid; all rows exist.
void save_penalties(Database& db, const std::map<HostVersionKey, HostAppVersion>& versions) {
    for (const auto& [key, v] : versions) {
        Sql sql("UPDATE host_app_version SET max_jobs_per_day=");
        sql << v.max_jobs_per_day << ", turnaround_n=" << v.turnaround.n << ", turnaround_avg=" << v.turnaround.avg
            << ", turnaround_var=" << v.turnaround.var << ", turnaround_q=" << v.turnaround.q
            << ", consecutive_valid=" << v.consecutive_valid << " WHERE host_id=" << key.first
            << " AND app_version_id=" << key.second;
        db.execute(sql);
    }
}

/// A row found in another state than it was decided on: read and decide again.
[[noreturn]] void changed_meanwhile(const char* what) {
    throw DbError(DbError::Kind::kRetry, 0, std::string(what) + " changed while it was being decided on");
}

constexpr SqlLiteral kWorkunitColumns =
    "id, appid, name, batch, need_validate, canonical_resultid, transition_time, delay_bound, error_mask, "
    "file_delete_state, assimilate_state, hr_class, min_quorum, target_nresults, max_error_results, "
    "max_total_results, max_success_results, result_template_file, priority, app_version_id, transitioner_flags, "
    "size_class, rsc_fpops_est";

Workunit read_workunit(const Rows& r) {
    Workunit wu;
    r.read(wu.id, wu.appid, wu.name, wu.batch, wu.need_validate, wu.canonical_resultid, wu.transition_time,
           wu.delay_bound, wu.error_mask, wu.file_delete_state, wu.assimilate_state, wu.hr_class, wu.min_quorum,
           wu.target_nresults, wu.max_error_results, wu.max_total_results, wu.max_success_results,
           wu.result_template_file, wu.priority, wu.app_version_id, wu.transitioner_flags, wu.size_class,
           wu.rsc_fpops_est);
    return wu;
}

ResultFacts read_result(const Rows& r) {
    return {.id = r.i64(1),
            .server_state = r.code<ServerState>(2),
            .outcome = r.code<Outcome>(3),
            .validate_state = r.code<ValidateState>(4),
            .file_delete_state = r.code<FileDeleteState>(5),
            .exit_status = r.i32(6),
            .report_deadline = r.i64(7),
            .received_time = r.i64(8),
            .hostid = r.i64(9),
            .app_version_id = r.i64(10),
            .suffix = result_name_suffix(r.text(11))};
}

class MysqlTransitionStore final : public TransitionStore {
  public:
    explicit MysqlTransitionStore(Database& db) : db_(db) {}

    std::set<Id> apps_with_size_classes() override;
    std::map<int, double> typical_sizes(Id appid) override { return typical_sizes_of(db_, appid); }
    std::vector<DueWorkunit> due(std::int64_t now, const TransitionScope& scope, DueWorkunit after, int limit) override;
    std::vector<TransitionFacts> facts(std::span<const Id> ids) override { return read(ids, std::nullopt, false); }
    int transition(std::span<const Id> ids, std::optional<std::int64_t> now,
                   const std::function<TransitionWrites(const std::vector<TransitionFacts>&)>& decide) override;
    void postpone(std::span<const Id> ids, std::int64_t until) override;

  private:
    void append_due(std::vector<DueWorkunit>& list, const Sql& where, const TransitionScope& scope, int limit);
    std::vector<TransitionFacts> read(std::span<const Id> ids, std::optional<std::int64_t> due_before, bool lock);
    void write_results(const std::vector<ResultChange>& changes);
    void insert_results(const std::vector<Result>& results);
    void write_workunits(const std::vector<WorkunitChange>& changes, const std::vector<TransitionFacts>& facts);
    void write_time_outs(const std::vector<TimedOut>& timed_out);

    Database& db_;
};

std::set<Id> MysqlTransitionStore::apps_with_size_classes() {
    std::set<Id> ids;
    Rows rows = db_.query(Sql("SELECT id FROM app WHERE n_size_classes>1"));
    while (rows.next()) ids.insert(rows.i64(0));
    return ids;
}

void MysqlTransitionStore::append_due(std::vector<DueWorkunit>& list, const Sql& where, const TransitionScope& scope,
                                      int limit) {
    const int rest = limit - static_cast<int>(list.size());
    if (rest <= 0) return;
    Sql sql("SELECT transition_time, id FROM workunit WHERE ");
    sql << where << " AND transitioner_flags<>" << TransitionerFlags::kNoTransition;
    if (scope.share.n > 0) sql << " AND id % " << scope.share.n << "=" << scope.share.i;
    sql << " ORDER BY transition_time, id LIMIT " << rest;
    Rows rows = db_.query(sql);
    while (rows.next()) list.push_back({rows.i64(0), rows.i64(1)});
}

std::vector<DueWorkunit> MysqlTransitionStore::due(std::int64_t now, const TransitionScope& scope, DueWorkunit after,
                                                   int limit) {
    std::vector<DueWorkunit> list;
    if (scope.only) {
        if (after.id == 0) {
            Sql one("id=");
            append_due(list, one << *scope.only, {}, 1);
        }
        return list;
    }
    // In two ranges of wu_timeout: one condition with "or" would read the whole first second again for every page.
    if (after.id != 0 && after.transition_time < now) {
        Sql same_second("transition_time=");
        append_due(list, same_second << after.transition_time << " AND id>" << after.id, scope, limit);
    }
    Sql later("transition_time<");
    later << now;
    if (after.id != 0) later << " AND transition_time>" << after.transition_time;
    append_due(list, later, scope, limit);
    return list;
}

std::vector<TransitionFacts> MysqlTransitionStore::read(std::span<const Id> ids, std::optional<std::int64_t> due_before,
                                                        bool lock) {
    std::vector<TransitionFacts> facts;
    if (ids.empty()) return facts;
    Sql sql("SELECT ");
    sql << kWorkunitColumns << " FROM workunit FORCE INDEX (PRIMARY) WHERE id IN (";
    sql.ids(ids) << ") AND transitioner_flags<>" << TransitionerFlags::kNoTransition;
    if (due_before) sql << " AND transition_time<" << *due_before;
    sql << " ORDER BY id";
    if (lock) sql << " FOR UPDATE";
    std::vector<Id> found;
    Rows rows = db_.query(sql);
    while (rows.next()) {
        facts.push_back({read_workunit(rows), {}});
        found.push_back(facts.back().wu.id);
    }
    if (found.empty()) return facts;
    std::unordered_map<Id, TransitionFacts*> by_id;
    for (TransitionFacts& f : facts) by_id[f.wu.id] = &f;
    Sql results(
        "SELECT workunitid, id, server_state, outcome, validate_state, file_delete_state, exit_status, "
        "report_deadline, received_time, hostid, app_version_id, name "
        "FROM result WHERE workunitid IN (");
    results.ids(found) << ") ORDER BY workunitid, id";
    // Row by row: a workunit may have any number of results.
    db_.query_streaming(results, [&](const Rows& r) { by_id.at(r.i64(0))->results.push_back(read_result(r)); });
    return facts;
}

int MysqlTransitionStore::transition(
    std::span<const Id> ids, std::optional<std::int64_t> now,
    const std::function<TransitionWrites(const std::vector<TransitionFacts>&)>& decide) {
    std::vector<Id> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    int handled = 0;
    db_.transaction([&] {
        const std::vector<TransitionFacts> facts = read(sorted, now, true);
        handled = static_cast<int>(facts.size());
        if (facts.empty()) return;
        const TransitionWrites writes = decide(facts);
        write_results(writes.results);
        insert_results(writes.created);
        write_workunits(writes.workunits, facts);
        write_time_outs(writes.timed_out);
    });
    return handled;
}

/// One statement for all results that go from the same states to the same states.
void MysqlTransitionStore::write_results(const std::vector<ResultChange>& changes) {
    using Step = std::tuple<ServerState, Outcome, ValidateState, FileDeleteState, ServerState, Outcome, ValidateState,
                            FileDeleteState, std::int64_t>;
    std::map<Step, std::vector<Id>> steps;
    for (const ResultChange& c : changes)
        steps[{c.was.server_state, c.was.outcome, c.was.validate_state, c.was.file_delete_state, c.server_state,
               c.outcome, c.validate_state, c.file_delete_state, c.if_deadline_before.value_or(0)}]
            .push_back(c.was.id);
    for (auto& [step, ids] : steps) {
        const auto& [state, outcome, validate, files, new_state, new_outcome, new_validate, new_files, deadline] = step;
        std::sort(ids.begin(), ids.end());
        Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=");
        sql << new_state << ", outcome=" << new_outcome << ", validate_state=" << new_validate
            << ", file_delete_state=" << new_files << " WHERE id IN (";
        sql.ids(ids) << ") AND server_state=" << state << " AND outcome=" << outcome
                     << " AND validate_state=" << validate << " AND file_delete_state=" << files;
        if (deadline != 0) sql << " AND report_deadline<" << deadline;
        if (db_.execute(sql) != static_cast<std::int64_t>(ids.size())) changed_meanwhile("a result");
    }
}

void MysqlTransitionStore::insert_results(const std::vector<Result>& results) {
    Sql sql;
    const auto flush = [&] {
        if (sql.size() > 0) db_.execute(sql);
        sql = {};
    };
    for (const Result& r : results) {
        if (sql.size() == 0) {
            sql << "INSERT INTO result (create_time, workunitid, server_state, outcome, client_state, hostid, userid, "
                   "report_deadline, sent_time, received_time, name, cpu_time, xml_doc_in, xml_doc_out, stderr_out, "
                   "batch, file_delete_state, validate_state, claimed_credit, granted_credit, opaque, random, "
                   "app_version_num, appid, exit_status, teamid, priority, elapsed_time, flops_estimate, "
                   "app_version_id, runtime_outlier, size_class, peak_working_set_size, peak_swap_size, "
                   "peak_disk_usage) VALUES ";
        } else {
            sql << ",";
        }
        sql << "(" << r.create_time << "," << r.workunitid << "," << r.server_state << ",0,0,0,0,0,0,0,"
            << SqlText{r.name, 191} << ",0," << SqlBlob{r.xml_doc_in} << ",'',''," << r.batch << ",0,0,0,0,0,"
            << r.random << ",0," << r.appid << ",0,0," << r.priority << ",0,0,0,0," << r.size_class << ",0,0,0)";
        if (sql.size() >= Database::kBulkBytes) flush();
    }
    flush();
}

/// The rows are locked and `facts` is what they hold, so only the columns that differ are named. Workunits with the
/// same new values share a statement; in a page of new workunits that is all of them.
void MysqlTransitionStore::write_workunits(const std::vector<WorkunitChange>& changes,
                                           const std::vector<TransitionFacts>& facts) {
    std::unordered_map<Id, const Workunit*> rows;
    for (const TransitionFacts& f : facts) rows[f.wu.id] = &f.wu;
    std::map<std::string, std::pair<Sql, std::vector<const WorkunitChange*>>> groups;
    for (const WorkunitChange& c : changes) {
        const Workunit& wu = *rows.at(c.id);
        Sql set;
        if (c.need_validate != wu.need_validate) set << "need_validate=" << c.need_validate << ",";
        if (c.error_mask != wu.error_mask) set << "error_mask=" << c.error_mask << ",";
        if (c.assimilate_state != wu.assimilate_state) set << "assimilate_state=" << c.assimilate_state << ",";
        if (c.file_delete_state != wu.file_delete_state) set << "file_delete_state=" << c.file_delete_state << ",";
        if (c.hr_class != wu.hr_class) set << "hr_class=" << c.hr_class << ",";
        if (c.app_version_id != wu.app_version_id) set << "app_version_id=" << c.app_version_id << ",";
        if (c.size_class != wu.size_class) set << "size_class=" << c.size_class << ",";
        auto& [sql, members] = groups[set.str()];
        sql = set;
        members.push_back(&c);
    }
    for (auto& [key, group] : groups) {
        auto& [set, members] = group;
        std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->id < b->id; });
        std::vector<Id> ids;
        std::map<std::int64_t, std::vector<Id>> times;
        for (const WorkunitChange* c : members) {
            ids.push_back(c->id);
            times[c->transition_time].push_back(c->id);
        }
        Sql sql("UPDATE workunit FORCE INDEX (PRIMARY) SET ");
        sql << set << "transition_time=";
        if (times.size() == 1) {
            sql << times.begin()->first;
        } else {
            sql << "CASE id";
            for (const WorkunitChange* c : members) sql << " WHEN " << c->id << " THEN " << c->transition_time;
            sql << " END";
        }
        sql << " WHERE id IN (";
        db_.execute(sql.ids(ids) << ")");
    }
}

void MysqlTransitionStore::write_time_outs(const std::vector<TimedOut>& timed_out) {
    if (timed_out.empty()) return;
    std::set<HostVersionKey> keys;
    for (const TimedOut& t : timed_out) keys.emplace(t.hostid, t.generalized_version);
    auto versions = lock_host_versions(db_, keys);
    for (const HostVersionKey& key : keys)
        if (!versions.contains(key)) versions[key] = adopted_host_version(db_, key, keys);
    for (const TimedOut& t : timed_out) penalize(versions.at({t.hostid, t.generalized_version}), t);
    save_penalties(db_, versions);
}

void MysqlTransitionStore::postpone(std::span<const Id> ids, std::int64_t until) {
    if (ids.empty()) return;
    std::vector<Id> sorted(ids.begin(), ids.end());
    std::sort(sorted.begin(), sorted.end());
    Sql sql("UPDATE workunit FORCE INDEX (PRIMARY) SET transition_time=");
    sql << until << " WHERE id IN (";
    db_.execute(sql.ids(sorted) << ") AND transition_time<" << until);
}

}  // namespace

std::unique_ptr<TransitionStore> make_transition_store(Database& db) {
    return std::make_unique<MysqlTransitionStore>(db);
}

}  // namespace sluice
