#include "db/mysql/share_work.h"

#include <algorithm>
#include <map>

#include "db/mysql/measured_work.h"

namespace sluice {

void read_work(Database& db, std::span<BatchWork> works) {
    std::map<Id, BatchWork*> by_id;
    std::vector<Id> ids;
    for (BatchWork& w : works) by_id[w.id] = &w, ids.push_back(w.id), w.purged = true;
    Sql open("SELECT batch, SUM(IF(canonical_resultid=0 AND error_mask=0,");
    open << kEstimate
         << "*target_nresults,0)), SUM(canonical_resultid=0 AND error_mask=0) FROM workunit w FORCE INDEX (wu_batch) "
            "WHERE batch IN (";
    Rows w = db.query(open.ids(ids) << ") GROUP BY batch");
    while (w.next()) {
        BatchWork& b = *by_id[w.i64(0)];
        b.purged = false;
        b.open = w.f64(1);
        if (b.stream) b.stream->open_jobs = w.i64(2);
    }
    Sql ended("SELECT r.batch, SUM(");
    ended
        << kMeasured << "), SUM(IF(r.outcome=1," << kMeasured << ",0)), SUM(IF(r.outcome=1," << kEstimate
        << ",0)), SUM(IF(r.outcome=7 OR (r.outcome=4 AND r.received_time=0)," << kEstimate
        << ",0)), "
           "SUM(r.outcome=1) FROM result r FORCE INDEX (res_batch) JOIN workunit w ON w.id=r.workunitid LEFT JOIN host "
           "h ON h.id=r.hostid WHERE r.server_state=5 AND r.batch IN (";
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

void read_stream(Database& db, Id batch, StreamWork& work) {
    // When it was over, as far as a row tells.
    constexpr SqlLiteral kOverAt{"IF(r.received_time>0,r.received_time,r.report_deadline)"};
    // Lost at its deadline, known an hour later, whether or not the transitioner has seen it by then; what comes
    // back after that hour was counted as lost, and is given back when it comes.
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
        << ",0)), SUM(r.server_state IN (1,2)) FROM result r FORCE INDEX (res_batch) JOIN workunit w ON "
           "w.id=r.workunitid LEFT JOIN host h ON h.id=r.hostid WHERE r.batch=";
    Rows r = db.query(sql << batch);
    if (!r.next()) return;
    r.read(work.settled, work.settled_lost, work.recent, work.recent_lost, work.running, work.waiting);
}

}  // namespace sluice
