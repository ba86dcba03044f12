// SPDX-License-Identifier: LGPL-3.0-or-later
// Results and workunits of a scheduler RPC: all statements are bulk ones. Workunits are locked before results, and each
// in the order of their ids (bulk.h). So schedulers and transitioners rarely deadlock; if they do, the transaction is
// repeated.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/rpc_store_factories.h"
#include "sluice/db/rpc_result_store.h"

namespace sluice {
namespace {

using I = std::int64_t;

/// Sorted by id; of two with one id the first stays.
template <typename Item>
std::vector<Item> by_ascending_id(std::span<const Item> items) {
    std::vector<Item> sorted(items.begin(), items.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    sorted.erase(std::unique(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.id == b.id; }),
                 sorted.end());
    return sorted;
}

template <typename Item>
std::vector<Id> ids_of_jobs(const std::vector<Item>& items) {
    std::vector<Id> ids;
    ids.reserve(items.size());
    for (const Item& item : items) ids.push_back(item.id);
    return ids;
}

#define SLUICE_KNOWN_RESULT                                                                                         \
    "SELECT r.id,r.workunitid,r.appid,r.name,r.server_state,r.outcome,r.validate_state,r.file_delete_state,"        \
    "r.client_state,r.sent_time,r.received_time,r.report_deadline,r.hostid,h.userid,r.app_version_id,w.error_mask," \
    "w.assimilate_state,w.rsc_memory_bound,r.batch FROM result r LEFT JOIN workunit w ON w.id=r.workunitid LEFT JOIN host h ON h.id=r.hostid "

KnownResult read_known(const Rows& r) {
    KnownResult k;
    r.read(k.id, k.workunitid, k.appid, k.name, k.server_state, k.outcome, k.validate_state, k.file_delete_state,
           k.client_state, k.sent_time, k.received_time, k.report_deadline, k.hostid, k.userid_of_host,
           k.app_version_id, k.wu_error_mask, k.wu_assimilate_state, k.wu_memory_bound, k.batch);
    return k;
}

/// Which results a report may change: still out, or given up for lost and not heard of since.
Sql acceptable_report() {
    Sql sql("received_time=0 AND (server_state=");
    sql << ServerState::kInProgress << " OR (server_state=" << ServerState::kOver << " AND outcome IN ("
        << Outcome::kNoReply << "," << Outcome::kClientDetached << ")))";
    return sql;
}

class MysqlRpcResultStore final : public RpcResultStore {
  public:
    explicit MysqlRpcResultStore(Database& db) : db_(db) {}

    std::vector<KnownResult> load(const ResultQuery& query) override;
    std::vector<LostJob> lost_jobs(std::span<const Id> results) override;
    std::vector<WorkunitFacts> facts(const FactsQuery& query) override;
    std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) override;
    void touch_workunits(std::span<const WorkunitTouch> touches) override;
    void store_reports(const ReportBatch& batch, const OnRefused& refused) override;
    void send(const SendBatch& batch, const OnRefused& refused) override;
    void detach(Id hostid, std::int64_t now, std::span<const Id> results) override;

  private:
    /// A report in the order of ids; its texts, up to 128 KB each, stay where they are.
    struct ReportRow {
        Id id = 0;
        const ReportWrite* report = nullptr;
    };
    void store_some_reports(const ReportBatch& batch, std::span<const ReportRow> some, const OnRefused& refused);
    /// Of `ids`, those for which `condition` does not hold, seen with their current values.
    std::vector<Id> not_fulfilling(const std::vector<Id>& ids, const Sql& condition);
    Database& db_;
};

std::vector<KnownResult> MysqlRpcResultStore::load(const ResultQuery& query) {
    Sql sql;
    if (!query.names.empty()) (sql << SLUICE_KNOWN_RESULT "WHERE r.name IN (").texts(query.names) << ")";
    if (query.in_progress_on_host != 0) {
        if (sql.size() > 0) sql << " UNION ";
        sql << SLUICE_KNOWN_RESULT "WHERE r.hostid=" << query.in_progress_on_host
            << " AND r.server_state=" << ServerState::kInProgress;
    }
    std::vector<KnownResult> known;
    if (sql.size() == 0) return known;
    Rows rows = db_.query(sql << " ORDER BY 1");
    while (rows.next()) known.push_back(read_known(rows));
    return known;
}

std::vector<WorkunitFacts> MysqlRpcResultStore::facts(const FactsQuery& query) {
    if (query.results.empty()) return {};
    Sql sql(
        "SELECT r.id,r.workunitid,r.server_state,r.name,r.xml_doc_in,w.error_mask,w.canonical_resultid,w.hr_class,"
        "w.app_version_id,w.transitioner_flags,w.transition_time,");
    if (query.count_user)
        sql << "(SELECT COUNT(*) FROM result o WHERE o.workunitid=r.workunitid AND o.userid=" << query.userid << "),";
    else
        sql << "0,";
    if (query.count_host)
        sql << "(SELECT COUNT(*) FROM result o WHERE o.workunitid=r.workunitid AND o.hostid=" << query.hostid << ")";
    else
        sql << "0";
    sql << " FROM result r JOIN workunit w ON w.id=r.workunitid WHERE r.id IN (";
    Rows rows = db_.query(sql.ids(query.results) << ")");
    std::unordered_map<Id, WorkunitFacts> found;
    while (rows.next()) {
        WorkunitFacts f{rows.i64(0),  rows.i64(1),  true,         rows.code<ServerState>(2),
                        rows.i32(5),  rows.i64(6),  rows.i32(7),  rows.i64(8),
                        rows.i32(9),  rows.i64(10), rows.i32(11), rows.i32(12),
                        rows.text(3), rows.text(4)};
        found.emplace(f.result_id, std::move(f));
    }
    std::vector<WorkunitFacts> facts;
    for (const Id id : query.results) {
        const auto it = found.find(id);
        facts.push_back(it == found.end() ? WorkunitFacts{} : it->second);
        facts.back().result_id = id;
    }
    return facts;
}

// Each row of a group costs a look at its workunit and results, so they are counted: at most 2 * look_at of each part,
// until `jobs` are found.
std::vector<UnsentJob> MysqlRpcResultStore::jobs_of_groups(const GroupQuery& query) {
    std::vector<UnsentJob> jobs;
    if (query.parts.empty()) return jobs;
    Sql sql = select_unsent_jobs();
    sql << " FROM (";
    for (std::size_t i = 0; i < query.parts.size(); ++i) {
        if (i > 0) sql << " UNION ";
        for (const bool behind : {true, false})
            sql << (behind ? Sql("(") : Sql(" UNION ("))
                << "SELECT workunitid FROM sluice_file_group_wu WHERE group_id=" << query.parts[i].group
                << (behind ? Sql(" AND workunitid>=") : Sql(" AND workunitid<")) << query.parts[i].from
                << " ORDER BY workunitid LIMIT " << query.look_at << ")";
    }
    sql << ") g STRAIGHT_JOIN workunit w FORCE INDEX (PRIMARY) ON w.id=g.workunitid STRAIGHT_JOIN result r FORCE INDEX "
           "(res_wuid) ON r.workunitid=w.id WHERE r.server_state="
        << ServerState::kUnsent
        << " AND w.error_mask=0 AND w.canonical_resultid=0 AND w.transitioner_flags=" << TransitionerFlags::kNormal
        << " LIMIT " << query.jobs;
    try {
        for (Rows rows = db_.query(sql); rows.next();) jobs.push_back(read_unsent_job(rows));
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    return jobs;
}

void MysqlRpcResultStore::touch_workunits(std::span<const WorkunitTouch> touches) {
    if (touches.empty()) return;
    const std::vector<WorkunitTouch> sorted = by_ascending_id(touches);
    const auto any = [&](auto wants) { return std::any_of(sorted.begin(), sorted.end(), wants); };
    Sql exact("0");
    for (const WorkunitTouch& t : sorted)
        if (!t.at_most) exact << "," << t.id;
    Sql sql("UPDATE workunit FORCE INDEX (PRIMARY) SET " SLUICE_REAL_WRITE ",transition_time=IF(id NOT IN (");
    sql << exact << ") AND transition_time<";
    const auto time_of = [&] {
        sql << "(";
        bulk::by_id(sql, "id", sorted, [](const WorkunitTouch& t) { return I{t.transition_time}; });
        sql << "+0)";
    };
    time_of();
    sql << ",transition_time,";
    time_of();
    sql << ")";
    if (any([](const auto& t) { return t.hr_class != 0; })) {
        sql << ",hr_class=IF(hr_class=0,";
        bulk::by_id(sql, "id", sorted, [](const WorkunitTouch& t) { return I{t.hr_class}; });
        sql << ",hr_class)";
    }
    if (any([](const auto& t) { return t.app_version_id != 0; })) {
        sql << ",app_version_id=IF(app_version_id=0,";
        bulk::by_id(sql, "id", sorted, [](const WorkunitTouch& t) { return I{t.app_version_id}; });
        sql << ",app_version_id)";
    }
    for (const WorkunitTouch& t : sorted)
        if (t.replicate > 0) {
            sql << ",target_nresults=CASE id";
            for (const WorkunitTouch& r : sorted)
                if (r.replicate > 0) sql << " WHEN " << r.id << " THEN " << r.replicate;
            sql << " ELSE target_nresults END,min_quorum=CASE id";
            for (const WorkunitTouch& r : sorted)
                if (r.replicate > 0) sql << " WHEN " << r.id << " THEN " << r.replicate;
            sql << " ELSE min_quorum END";
            break;
        }
    sql << " WHERE id IN (";
    db_.enqueue(sql.ids(ids_of_jobs(sorted)) << ")");
}

void MysqlRpcResultStore::store_some_reports(const ReportBatch& batch, std::span<const ReportRow> some,
                                             const OnRefused& refused) {
    Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET ");
    const auto number = [&](SqlLiteral column, auto value) {
        sql << column << "=";
        bulk::by_id(sql, "id", some, [&](const ReportRow& row) { return value(*row.report); });
        sql << ",";
    };
    using W = const ReportWrite&;
    number("client_state", [](W w) { return static_cast<I>(w.client_state); });
    number("cpu_time", [](W w) { return w.cpu_time; });
    number("elapsed_time", [](W w) { return w.elapsed_time; });
    number("peak_working_set_size", [](W w) { return w.peak_working_set_size; });
    number("peak_swap_size", [](W w) { return w.peak_swap_size; });
    number("peak_disk_usage", [](W w) { return w.peak_disk_usage; });
    number("exit_status", [](W w) { return I{w.exit_status}; });
    number("app_version_num", [](W w) { return I{w.app_version_num}; });
    number("outcome", [](W w) { return static_cast<I>(w.outcome); });
    number("validate_state", [](W w) { return static_cast<I>(w.validate_state); });
    number("stderr_out", [](W w) { return SqlBlob{w.stderr_out}; });
    number("xml_doc_out", [](W w) { return SqlBlob{w.xml_doc_out}; });
    // The columns of the guard are set last: an UPDATE's later assignments see the earlier ones.
    sql << "hostid=" << batch.hostid << ",teamid=" << batch.teamid << ",received_time=" << batch.now
        << ",server_state=" << ServerState::kOver << " WHERE id IN (";
    bulk::id_list(sql, some);
    sql << ") AND " << acceptable_report();
    Sql written("server_state=");
    written << ServerState::kOver << " AND hostid=" << batch.hostid << " AND received_time=" << batch.now;
    const std::vector<Id> ids = ids_of_jobs(std::vector<ReportRow>(some.begin(), some.end()));
    db_.enqueue_matching(std::move(sql), static_cast<I>(ids.size()),
                         [this, ids, written, refused] { refused(not_fulfilling(ids, written)); });
}

void MysqlRpcResultStore::store_reports(const ReportBatch& batch, const OnRefused& refused) {
    std::vector<ReportRow> rows;
    for (const ReportWrite& report : batch.results) rows.push_back({report.id, &report});
    const std::vector<ReportRow> sorted = by_ascending_id(std::span<const ReportRow>(rows));
    for (std::size_t next = 0; next < sorted.size();) {
        std::size_t bytes = 0, end = next;
        while (end < sorted.size() && (end == next || bytes < Database::kBulkBytes)) {
            const ReportWrite& report = *sorted[end].report;
            bytes += 300 + report.stderr_out.size() + report.xml_doc_out.size();
            ++end;
        }
        store_some_reports(batch, std::span(sorted).subspan(next, end - next), refused);
        next = end;
    }
}

std::vector<Id> MysqlRpcResultStore::not_fulfilling(const std::vector<Id>& ids, const Sql& condition) {
    Sql sql("SELECT id FROM result WHERE id IN (");
    sql.ids(ids) << ") AND " << condition << " FOR UPDATE";  // current values, not those of the snapshot
    std::unordered_set<Id> fulfilling;
    Rows rows = db_.query(sql);
    while (rows.next()) fulfilling.insert(rows.i64(0));
    std::vector<Id> rest;
    for (const Id id : ids)
        if (!fulfilling.contains(id)) rest.push_back(id);
    return rest;
}

/// Joined to the workunits (locked by touch_workunits before), so that error, commitment and one-per-user are judged by
/// what is true at this moment.
void MysqlRpcResultStore::send(const SendBatch& batch, const OnRefused& refused) {
    if (batch.results.empty()) return;
    const std::vector<SendWrite> sorted = by_ascending_id(std::span<const SendWrite>(batch.results));
    std::vector<Id> workunits, resends{0}, hr{0}, versions{0};
    for (const SendWrite& s : sorted) {
        workunits.push_back(s.workunit_id);
        if (s.resend) resends.push_back(s.id);
        if (s.hr_class > 0) hr.push_back(s.id);
        if (s.committed_version > 0) versions.push_back(s.id);
    }
    const bool unique = batch.one_per_user || batch.one_per_host;
    Sql sql("UPDATE result r FORCE INDEX (PRIMARY) JOIN workunit w ON w.id=r.workunitid");
    if (unique) {
        sql << " LEFT JOIN (SELECT DISTINCT o.workunitid FROM result o WHERE o.workunitid IN (";
        sql.ids(workunits) << ") AND " << (batch.one_per_user ? Sql("o.userid=") : Sql("o.hostid="))
                           << (batch.one_per_user ? batch.userid : batch.hostid) << " AND o.id NOT IN (";
        sql.ids(resends) << ")) taken ON taken.workunitid=r.workunitid";
    }
    sql << " SET r.hostid=" << batch.hostid << ",r.userid=" << batch.userid;
    const auto set = [&](SqlLiteral column, auto value) {
        sql << "," << column << "=";
        bulk::by_id(sql, "r.id", sorted, value);
    };
    using W = const SendWrite&;
    const auto sent_time = [&](W w) { return I{w.sent_time != 0 ? w.sent_time : batch.now}; };
    const auto deadline = [](W w) { return I{w.report_deadline}; };
    set("r.sent_time", sent_time);
    set("r.report_deadline", deadline);
    set("r.flops_estimate", [](W w) { return w.flops_estimate; });
    set("r.app_version_id", [](W w) { return I{w.app_version_id}; });
    sql << ",r.server_state=" << ServerState::kInProgress << " WHERE r.id IN (";
    sql.ids(ids_of_jobs(sorted)) << ") AND ((r.server_state=" << ServerState::kUnsent << " AND w.error_mask=0";
    if (unique) sql << " AND taken.workunitid IS NULL";
    sql << ") OR (r.server_state=" << ServerState::kInProgress << " AND r.hostid=" << batch.hostid << " AND r.id IN (";
    sql.ids(resends) << ")))";
    if (hr.size() > 1) {
        sql << " AND (r.id NOT IN (";
        sql.ids(hr) << ") OR w.hr_class=";
        bulk::by_id(sql, "r.id", sorted, [](W w) { return I{w.hr_class}; });
        sql << ")";
    }
    if (versions.size() > 1) {
        sql << " AND (r.id NOT IN (";
        sql.ids(versions) << ") OR w.app_version_id=";
        bulk::by_id(sql, "r.id", sorted, [](W w) { return I{w.committed_version}; });
        sql << ")";
    }
    Sql ours("server_state=");
    ours << ServerState::kInProgress << " AND hostid=" << batch.hostid << " AND sent_time=";
    bulk::by_id(ours, "id", sorted, sent_time);
    ours << " AND report_deadline=";
    bulk::by_id(ours, "id", sorted, deadline);
    db_.enqueue_matching(std::move(sql), static_cast<I>(sorted.size()),
                         [this, ids = ids_of_jobs(sorted), ours, refused] { refused(not_fulfilling(ids, ours)); });
}

void MysqlRpcResultStore::detach(Id hostid, std::int64_t now, std::span<const Id> results) {
    if (results.empty()) return;
    Sql sql("UPDATE result FORCE INDEX (PRIMARY) SET server_state=");
    sql << ServerState::kOver << ",outcome=" << Outcome::kClientDetached << ",received_time=" << now
        << " WHERE id IN (";
    sql.ids(results) << ") AND server_state=" << ServerState::kInProgress << " AND hostid=" << hostid;
    db_.enqueue(std::move(sql));
}

std::vector<LostJob> MysqlRpcResultStore::lost_jobs(std::span<const Id> results) {
    if (results.empty()) return {};
    Sql sql(
        "SELECT r.id,r.workunitid,r.name,r.xml_doc_in,r.report_deadline,r.sent_time,r.priority,r.appid,r.size_class,"
        "r.app_version_id,r.batch,r.flops_estimate," SLUICE_WORKUNIT_COLUMNS
        " FROM result r LEFT JOIN workunit w ON w.id=r.workunitid WHERE r.id IN (");
    Rows r = db_.query(sql.ids(results) << ") ORDER BY r.id DESC");  // upstream's order, by its index
    std::vector<LostJob> jobs;
    while (r.next()) {
        LostJob& job = jobs.emplace_back();
        r.read(job.result.id, job.result.workunitid, job.result.name, job.result.xml_doc_in, job.result.report_deadline,
               job.result.sent_time, job.result.priority, job.result.appid, job.result.size_class,
               job.result.app_version_id, job.result.batch, job.result.flops_estimate);
        job.workunit = read_workunit(r, 12);
        job.workunit_found = job.workunit.id != 0;
    }
    return jobs;
}

}  // namespace

std::unique_ptr<RpcResultStore> make_rpc_result_store(Database& db) {
    return std::make_unique<MysqlRpcResultStore>(db);
}

}  // namespace sluice
