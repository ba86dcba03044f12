// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "sluice/db/batch_store.h"

namespace sluice {
namespace {

/// One workunit and the value that guards its change.
struct GuardedValue {
    Id id;
    std::int64_t value;
};
std::vector<GuardedValue> sorted(const std::vector<std::pair<Id, int>>& pairs) {
    std::vector<GuardedValue> out;
    for (const auto& [id, value] : pairs) out.push_back({id, value});
    std::sort(out.begin(), out.end(), [](const GuardedValue& a, const GuardedValue& b) { return a.id < b.id; });
    return out;
}
std::vector<Id> ids_of(const std::vector<GuardedValue>& rows) {
    std::vector<Id> ids;
    for (const auto& row : rows) ids.push_back(row.id);
    return ids;
}

class MysqlBatchAccelStore final : public BatchAccelStore {
  public:
    explicit MysqlBatchAccelStore(Database& db) : db_(db) {}

    std::vector<App> apps() override { return size_classes_of_apps(db_, ""); }

    void prepare() override {
        make_tables(
            db_, {{"sluice_accel_job",
                   "workunit_id integer NOT NULL PRIMARY KEY, batch_id bigint NOT NULL, marked tinyint NOT NULL, "
                   "priority integer NOT NULL, lent integer NOT NULL, extra integer NOT NULL, since integer NOT NULL, "
                   "KEY accel_batch (batch_id)"},
                  {"sluice_accel_result",
                   "workunit_id integer NOT NULL, result_id integer NOT NULL, priority integer NOT NULL, "
                   "PRIMARY KEY (workunit_id, result_id)"}});
    }

    std::map<Id, int> accelerated_batches() override {
        std::map<Id, int> all;
        try {
            Rows r = db_.query(Sql("SELECT batch_id, SUM(extra) FROM sluice_accel_job GROUP BY batch_id"));
            while (r.next()) all[r.i64(0)] = r.i32(1);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return all;
    }

    std::vector<OpenJob> open_jobs(Id batch, Id after, int limit) override {
        Sql sql(
            "SELECT id, name, priority, target_nresults, max_total_results, min_quorum, transitioner_flags, transition_time, "
            "size_class FROM workunit FORCE INDEX (wu_batch) WHERE batch=");
        sql << batch << " AND id>" << after << " AND canonical_resultid=0 AND error_mask=0 ORDER BY id LIMIT " << limit;
        std::vector<OpenJob> jobs;
        std::map<Id, std::size_t> index;
        std::vector<Id> ids;
        Rows r = db_.query(sql);
        while (r.next()) {
            index[r.i64(0)] = jobs.size();
            ids.push_back(r.i64(0));
            jobs.push_back(read_job(r, batch));
        }
        if (jobs.empty()) return jobs;
        Sql results(
            "SELECT workunitid, id, server_state, outcome, validate_state, sent_time, priority FROM result "
            "WHERE workunitid IN (");
        Rows instances = db_.query(results.ids(ids) << ") ORDER BY workunitid, id");
        while (instances.next())
            jobs[index[instances.i64(0)]].instances.push_back(
                {instances.i64(1), instances.code<ServerState>(2), instances.code<Outcome>(3),
                 instances.code<ValidateState>(4), instances.i64(5), instances.i64(6)});
        read_before(ids, [&](const AcceleratedJob& b) { jobs[index[b.workunitid]].before = b; });
        return jobs;
    }

    std::optional<double> mean_turnaround(Id batch) override {
        Sql sql(
            "SELECT COUNT(*), AVG(CAST(received_time AS SIGNED)-CAST(sent_time AS SIGNED)) FROM result FORCE INDEX (res_batch) "
            "WHERE batch=");
        Rows r = db_.query(sql << batch << " AND outcome=" << Outcome::kSuccess << " AND validate_state<>"
                               << ValidateState::kInvalid << " AND received_time>=sent_time AND sent_time>0");
        if (!r.next() || r.i64(0) == 0) return std::nullopt;
        return r.f64(1);
    }

    void apply(const AccelWrite& w) override {
        if (w.empty()) return;
        db_.transaction([&] {
            restore(w.restore);
            lower(w.lower);
            mark(w);
            mark_results(w);
            ask_for_more(w);
            give_back(w.give_back);
        });
    }

    void forget(std::span<const Id> batches) override {
        if (batches.empty()) return;
        db_.transaction([&] {
            Sql results(
                "DELETE r FROM sluice_accel_result r JOIN sluice_accel_job j ON j.workunit_id=r.workunit_id "
                "WHERE j.batch_id IN (");
            db_.execute(results.ids(batches) << ")");
            Sql jobs("DELETE FROM sluice_accel_job WHERE batch_id IN (");
            db_.execute(jobs.ids(batches) << ")");
        });
    }

  private:
    static OpenJob read_job(const Rows& r, Id batch) {
        OpenJob job;
        job.wu.batch = batch;
        r.read(job.wu.id, job.wu.name, job.wu.priority, job.wu.target_nresults, job.wu.max_total_results,
               job.wu.min_quorum, job.wu.transitioner_flags, job.wu.transition_time, job.wu.size_class);
        return job;
    }

    void read_before(const std::vector<Id>& ids, const std::function<void(const AcceleratedJob&)>& row) {
        Sql sql(
            "SELECT workunit_id, batch_id, marked, priority, lent, extra FROM sluice_accel_job WHERE workunit_id IN (");
        try {
            Rows r = db_.query(sql.ids(ids) << ")");
            while (r.next()) row({r.i64(0), r.i64(1), r.flag(2), r.i64(3), r.i32(4), r.i32(5)});
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

    /// The statement that keeps the old value also reads it, under the row's lock. So a submitter's change at this
    /// moment is not lost.
    void mark(const AccelWrite& w) {
        if (w.mark.empty()) return;
        const Sql open = still_open(w.mark);
        const SqlLiteral which = w.only_zero ? SqlLiteral(" AND priority=0") : SqlLiteral(" AND priority<=0");
        Sql keep(
            "INSERT INTO sluice_accel_job (workunit_id, batch_id, marked, priority, lent, extra, since) "
            "SELECT id, batch, 1, priority, 0, 0, ");
        keep
            << w.now << " FROM workunit WHERE " << open << which
            << " ORDER BY id FOR UPDATE ON DUPLICATE KEY UPDATE marked=1, priority=VALUES(priority), since=VALUES(since)";
        db_.execute(keep);
        Sql raise("UPDATE workunit SET priority=1 WHERE ");
        db_.execute(raise << open << which);
    }

    void mark_results(const AccelWrite& w) {
        if (w.mark_results.empty()) return;
        std::vector<Id> ids = w.mark_results;
        std::sort(ids.begin(), ids.end());
        Sql unsent("id IN (");
        unsent.ids(ids) << ") AND server_state IN (1,2)"
                        << (w.only_zero ? SqlLiteral(" AND priority=0") : SqlLiteral(" AND priority<=0"));
        Sql keep(
            "INSERT INTO sluice_accel_result (workunit_id, result_id, priority) SELECT workunitid, id, priority FROM result "
            "WHERE ");
        db_.execute(keep << unsent << " ORDER BY id FOR UPDATE ON DUPLICATE KEY UPDATE priority=VALUES(priority)");
        Sql raise("UPDATE result SET priority=1 WHERE ");
        db_.execute(raise << unsent);
    }

    void ask_for_more(const AccelWrite& w) {
        if (w.more.empty()) return;
        const auto rows = sorted(w.more);
        const auto ids = ids_of(rows);
        // target_nresults as it was read: a process that raised it meanwhile has asked for an instance already.
        Sql guard = still_open(ids);
        guard << " AND target_nresults=";
        bulk::by_id(guard, "id", rows, [](const GuardedValue& g) { return g.value; });
        Sql keep(
            "INSERT INTO sluice_accel_job (workunit_id, batch_id, marked, priority, lent, extra, since) "
            "SELECT id, batch, 0, priority, 1, 1, ");
        keep << w.now << " FROM workunit WHERE " << guard
             << " ORDER BY id FOR UPDATE ON DUPLICATE KEY UPDATE lent=lent+1, extra=extra+1";
        db_.execute(keep);
        Sql raise("UPDATE workunit SET target_nresults=target_nresults+1, transition_time=LEAST(transition_time,");
        db_.execute(raise << w.now << ") WHERE " << guard);
    }

    void give_back(const std::vector<std::pair<Id, int>>& pairs) {
        if (pairs.empty()) return;
        const auto rows = sorted(pairs);
        const auto ids = ids_of(rows);
        // Only what is still lent as it was read. What another process, or a COMMIT whose answer was lost, has given
        // back is not given back twice.
        Sql as_read("workunit_id IN (");
        as_read.ids(ids) << ") AND lent=";
        bulk::by_id(as_read, "workunit_id", rows, [](const GuardedValue& g) { return g.value; });
        Sql back(
            "UPDATE sluice_accel_job j STRAIGHT_JOIN workunit w ON w.id=j.workunit_id SET "
            "w.target_nresults=GREATEST(1,w.target_nresults-j.lent) WHERE ");
        db_.execute(back << as_read << " AND w.canonical_resultid=0 AND w.error_mask=0");
        Sql forget("UPDATE sluice_accel_job SET lent=0 WHERE ");
        db_.execute(forget << as_read);
    }

    void restore(std::vector<Id> ids) {
        if (ids.empty()) return;
        std::sort(ids.begin(), ids.end());
        // Only what still has the value that we gave it: a submitter's later change stays.
        Sql workunits(
            "UPDATE sluice_accel_job j STRAIGHT_JOIN workunit w ON w.id=j.workunit_id "
            "SET w.target_nresults=GREATEST(1,w.target_nresults-j.lent), "
            "w.priority=IF(j.marked=1 AND w.priority=1, j.priority, w.priority) WHERE j.workunit_id IN (");
        db_.execute(workunits.ids(ids) << ") AND w.canonical_resultid=0 AND w.error_mask=0");
        Sql marked(
            "UPDATE sluice_accel_result s STRAIGHT_JOIN result r ON r.id=s.result_id SET r.priority=s.priority "
            "WHERE s.workunit_id IN (");
        db_.execute(marked.ids(ids) << ") AND r.server_state IN (1,2) AND r.priority=1");
        // Results that the transitioner made since: they inherited the raised priority (plus its boost for retries).
        Sql made(
            "UPDATE sluice_accel_job j STRAIGHT_JOIN result r ON r.workunitid=j.workunit_id "
            "LEFT JOIN sluice_accel_result s ON s.workunit_id=j.workunit_id AND s.result_id=r.id "
            "SET r.priority=r.priority-1+j.priority WHERE j.workunit_id IN (");
        db_.execute(made.ids(ids) << ") AND j.marked=1 AND s.result_id IS NULL AND r.server_state IN (1,2) "
                                     "AND r.create_time>=j.since AND r.priority>=1");
        Sql results("DELETE FROM sluice_accel_result WHERE workunit_id IN (");
        db_.execute(results.ids(ids) << ")");
        Sql jobs("UPDATE sluice_accel_job SET marked=0, lent=0 WHERE workunit_id IN (");
        db_.execute(jobs.ids(ids) << ")");
    }

    void lower(std::vector<Id> ids) {
        if (ids.empty()) return;
        std::sort(ids.begin(), ids.end());
        Sql workunits("UPDATE workunit SET priority=0 WHERE priority=1 AND ");
        db_.execute(workunits << still_open(ids));
        Sql results("UPDATE result SET priority=0 WHERE priority=1 AND server_state IN (1,2) AND workunitid IN (");
        db_.execute(results.ids(ids) << ")");
    }

    static Sql still_open(std::vector<Id> ids) {
        std::sort(ids.begin(), ids.end());
        Sql sql("id IN (");
        sql.ids(ids) << ") AND canonical_resultid=0 AND error_mask=0";
        return sql;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<BatchAccelStore> make_batch_accel_store(Database& db) {
    return std::make_unique<MysqlBatchAccelStore>(db);
}

}  // namespace sluice
