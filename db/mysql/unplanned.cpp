// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/unplanned.h"

#include "db/mysql/errors.h"

namespace sluice {
namespace {

std::vector<Id> ids_read(Database& db, const Sql& sql) {
    std::vector<Id> ids;
    for (Rows r = db.query(sql); r.next();) ids.push_back(r.i64(0));
    return ids;
}

Id highest_id(Database& db, SqlLiteral table) {
    Sql sql("SELECT MAX(id) FROM ");
    Rows r = db.query(sql << table);
    return r.next() ? r.i64(0) : 0;
}

/// A schema of before February 2025 has no such index: each batch would cost a look at all workunits.
bool knows_jobs_of_batches(Database& db) {
    return db
        .query(Sql("SELECT 1 FROM information_schema.statistics WHERE table_schema=DATABASE() AND "
                   "table_name='workunit' AND index_name='wu_batch' LIMIT 1"))
        .next();
}

std::vector<NewBatch> read_drafts(Database& db, Id newest) {
    std::vector<NewBatch> drafts;
    if (!knows_jobs_of_batches(db)) return drafts;
    Sql sql(
        "SELECT b.id, COALESCE((SELECT w.create_time FROM workunit w FORCE INDEX (wu_batch) WHERE w.batch=b.id ORDER BY "
        "w.id LIMIT 1),0) FROM batch b FORCE INDEX (PRIMARY) WHERE b.id>");
    sql << newest - BatchPlanStore::kMostDrafts << " AND b.id<=" << newest << " AND b.state=";
    for (Rows r = db.query(sql << BatchState::kInit); r.next();) drafts.push_back({r.i64(0), r.i64(1)});
    return drafts;
}

std::vector<NotedSubmission> read_submissions(Database& db) {
    std::vector<NotedSubmission> all;
    try {
        Rows r = db.query(Sql("SELECT batch_id, heard_at FROM sluice_plan_submission"));
        while (r.next()) all.push_back({r.i64(0), r.f64(1)});
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;  // nobody has submitted anything
    }
    return all;
}

}  // namespace

NewestIds read_newest_ids(Database& db) {
    NewestIds ids;
    ids.result = highest_id(db, "result");
    ids.batch = highest_id(db, "batch");
    return ids;
}

UnplannedBatches read_unplanned(Database& db) {
    UnplannedBatches all;
    all.newest = read_newest_ids(db);
    all.drafts = read_drafts(db, all.newest.batch);
    all.submissions = read_submissions(db);
    return all;
}

std::vector<Id> read_begun_since(Database& db, Id after) {
    Sql sql("SELECT id FROM batch FORCE INDEX (PRIMARY) WHERE id>");
    return ids_read(db, sql << after << " AND state=" << BatchState::kInProgress);
}

void forget_submissions_of(Database& db, std::span<const Id> decided, double now) {
    std::vector<Id> over;
    // A look without locks comes first: a submission that goes on writes its row before each of its transactions.
    for (const NotedSubmission& s : read_submissions(db))
        if (is_to_be_forgotten(s, decided, now)) over.push_back(s.batch);
    if (over.empty()) return;
    Sql sql("DELETE FROM sluice_plan_submission WHERE batch_id IN (");
    db.execute(sql.ids(over) << ")");
}

}  // namespace sluice
