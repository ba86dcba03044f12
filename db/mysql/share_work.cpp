// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/share_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>

#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/turns.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// Of instances that are over.
Sql ended_sums() {
    constexpr SqlLiteral kOver{"SUM(IF(r.server_state=5 AND "};
    constexpr SqlLiteral kNeverBack{"(r.outcome=7 OR (r.outcome=4 AND r.received_time=0)),"};
    Sql sql("SUM(IF(r.server_state=5,");
    sql << kMeasured << ",0)), " << kOver << "r.outcome=1," << kMeasured << ",0)), " << kOver << "r.outcome=1,"
        << kEstimate << ",0)), " << kOver << kNeverBack << kEstimate << ",0)), SUM(r.server_state=5 AND r.outcome=1)";
    return sql;
}

Sql open_jobs(const std::vector<Id>& batches) {
    Sql sql("SELECT batch, SUM(IF(canonical_resultid=0 AND error_mask=0,");
    sql << kEstimate
        << "*target_nresults,0)), SUM(canonical_resultid=0 AND error_mask=0) FROM workunit w FORCE INDEX (wu_batch) WHERE "
           "batch IN (";
    return sql.ids(batches) << ")";
}

}  // namespace

void read_work(Database& db, std::span<BatchWork> works) {
    std::map<Id, BatchWork*> by_id;
    std::vector<Id> ids;
    for (BatchWork& w : works) by_id[w.id] = &w, ids.push_back(w.id), w.purged = true;
    Rows w = db.query(open_jobs(ids) << " GROUP BY batch");
    while (w.next()) {
        BatchWork& b = *by_id[w.i64(0)];
        b.purged = false;
        b.open = w.f64(1);
    }
    Sql ended("SELECT r.batch, ");
    ended << ended_sums()
          << " FROM result r FORCE INDEX (res_batch) JOIN workunit w ON w.id=r.workunitid LEFT JOIN host h ON "
             "h.id=r.hostid WHERE r.server_state=5 AND r.batch IN (";
    Rows r = db.query(ended.ids(ids) << ") GROUP BY r.batch");
    while (r.next()) {
        BatchWork& b = *by_id[r.i64(0)];
        r.read_from(1, b.measured, b.measured_successes, b.estimated_successes, b.lost, b.successes);
    }
    // A scalar subquery with a LIMIT: the first that waits is enough, and no optimizer makes a join of it.
    Sql waiting(
        "SELECT id FROM batch b WHERE (SELECT 1 FROM result FORCE INDEX (res_batch) WHERE batch=b.id AND "
        "server_state IN (1,2) LIMIT 1)=1 AND id IN (");
    for (Rows some = db.query(waiting.ids(ids) << ")"); some.next();) by_id[some.i64(0)]->waits = true;
}

namespace {

/// s. What comes back longer after it was given up is not looked at any more: its estimate stays charged.
constexpr double kLookedAt = 86400;

/// Looks at results from `first` on. From which on the next pass has to look.
Id read_stream(Database& db, BatchWork& stream, Id first) {
    StreamWork& work = *stream.stream;
    // When it was over, as far as a row tells.
    constexpr SqlLiteral kOverAt{"IF(r.received_time>0,r.received_time,r.report_deadline)"};
    // Lost at its deadline, and counted an hour later, whether or not the transitioner has seen it by then. What comes
    // back after that hour was counted as lost, and is then given back.
    constexpr SqlLiteral kLate{"(r.report_deadline>0 AND r.received_time>r.report_deadline+3600)"};
    constexpr SqlLiteral kGone{"(r.received_time=0 AND (r.server_state=4 OR r.outcome IN (4,7)))"};
    const double from = std::min(work.until, work.next_until);
    const auto at = [&](const SqlLiteral& time, bool before) {
        Sql sql("(");
        sql << time << ">" << from << " AND " << time << (before ? Sql("<=") : Sql(">"));
        return sql << work.next_until << ")";
    };
    constexpr SqlLiteral kDeadline{"r.report_deadline"};
    Sql sql("SELECT ");
    for (const bool before : {true, false}) {
        const SqlLiteral over = before ? SqlLiteral("") : SqlLiteral("r.server_state=5 AND ");
        sql << "SUM(IF(r.server_state=5 AND " << at(kOverAt, before) << "," << kMeasured << ",0)), SUM(" << kEstimate
            << "*(IF(" << over << "(" << kLate << " OR " << kGone << ") AND " << at(kDeadline, before) << ",1,0)-IF("
            << kLate << " AND " << at(kOverAt, before) << ",1,0))), ";
    }
    sql << "SUM(IF(r.server_state=4 AND r.report_deadline>" << work.next_until << "," << kEstimate
        << ",0)), SUM(r.server_state IN (1,2)), " << ended_sums() << ", MIN(IF(r.server_state=5 AND " << kOverAt
        << "<=" << from - kLookedAt
        << ",NULL,r.id)), MAX(r.id), MIN(r.workunitid) FROM result r FORCE INDEX (res_batch) JOIN workunit w ON "
           "w.id=r.workunitid LEFT JOIN host h ON h.id=r.hostid WHERE r.batch=";
    Rows r = db.query(sql << stream.id << " AND r.id>=" << first);
    if (!r.next()) return first;
    r.read(work.settled, work.settled_lost, work.recent, work.recent_lost, work.running, work.waiting, stream.measured,
           stream.measured_successes, stream.estimated_successes, stream.lost, stream.successes);
    const Id needed = r.i64(11), last = r.i64(12), first_job = first == 0 ? 0 : r.i64(13);
    stream.waits = work.waiting > 0;
    if (first > 0 && last == 0) return first;  // nothing has happened for long
    Rows w = db.query(open_jobs({stream.id}) << " AND w.id>=" << first_job << " GROUP BY batch");
    stream.purged = !w.next();
    if (!stream.purged) w.read_from(1, stream.open, work.open_jobs);
    if (needed > 0) return needed;
    return last > 0 ? last + 1 : first;
}

/// By batch: from which result on a pass has to look, as the last one that wrote has found.
std::map<Id, Id> first_results(Database& db) {
    constexpr std::string_view kName = "stream ";
    std::map<Id, Id> firsts;
    try {
        // Rows of an older database may have been loaded, whose ids are lower.
        Rows r = db.query(Sql(
            "SELECT name, IF(value>(SELECT COALESCE(MAX(id),0)+1 FROM result),0,value) FROM sluice_marks WHERE name "
            "LIKE 'stream %'"));
        while (r.next()) firsts[parse_int(r.text(0).substr(kName.size())).value_or(0)] = r.i64(1);
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    return firsts;
}

}  // namespace

void read_streams(Database& db, std::span<BatchWork> streams, bool writes) {
    if (streams.empty()) return;
    std::map<Id, Id> firsts = first_results(db);
    for (BatchWork& w : streams) {
        // Nothing is settled of a stream without a row: it is new, or somebody has dropped the tables.
        const Id first = w.stream->until < 0 ? 0 : firsts[w.id], next = read_stream(db, w, first);
        if (writes && next != first) set_mark(db, fmt::format("stream {}", w.id), next);
    }
}

std::unordered_map<Id, SharePlace> read_batch_shares(Database& db) {
    std::unordered_map<Id, SharePlace> places;
    const auto read = [&](Rows rows) {
        while (rows.next()) {
            const double end = rows.flag(2) ? rows.f64(3) : std::numeric_limits<double>::infinity();
            places[rows.i64(0)] = {{rows.i64(1), end, rows.f64(4)}, rows.f64(5)};
        }
    };
    try {
        Rows any =
            db.query(Sql("SELECT EXISTS (SELECT 1 FROM sluice_share_batch WHERE finished=0) OR EXISTS (SELECT 1 FROM "
                         "sluice_share_stream)"));
        if (!any.next() || !any.flag(0)) return places;
        read(db.query(Sql(
            "SELECT b.id, b.user_id, s.batch_id IS NOT NULL, COALESCE(s.end_tag,0), COALESCE(u.quota,0), 0 FROM batch b "
            "LEFT JOIN sluice_share_batch s ON s.batch_id=b.id AND s.finished=0 LEFT JOIN user_submit u ON "
            "u.user_id=b.user_id WHERE b.state=1")));
        read(db.query(Sql(
            "SELECT b.id, b.user_id, COALESCE(u.quota,0)>0, COALESCE(u.logical_start_time,0)+t.head, COALESCE(u.quota,0), "
            "t.head FROM sluice_share_stream t JOIN batch b ON b.id=t.batch_id LEFT JOIN user_submit u ON "
            "u.user_id=b.user_id WHERE b.state=0")));
        read(db.query(Sql(
            "SELECT t.batch_id, t.user_id, COALESCE(u.quota,0)>0, COALESCE(u.logical_start_time,0)+t.head, "
            "COALESCE(u.quota,0), t.head FROM sluice_share_stream t LEFT JOIN user_submit u ON u.user_id=t.user_id WHERE "
            "t.batch_id=0")));
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    return places;
}

}  // namespace sluice
