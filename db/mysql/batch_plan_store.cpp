// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/batch_plan_store.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/store_rules.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {

namespace {

constexpr std::size_t kPlanRowsAtOnce = 2000;

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

/// Results are looked at first: those of a batch that comes in between are newer.
NewestIds read_newest_ids(Database& db) {
    NewestIds ids;
    ids.result = highest_id(db, "result");
    ids.batch = highest_id(db, "batch");
    return ids;
}

/// Batches that no plan of batch_planner has seen yet, as the feeder looks for them.
UnplannedBatches read_unplanned(Database& db) {
    UnplannedBatches all;
    all.newest = read_newest_ids(db);
    all.drafts = read_drafts(db, all.newest.batch);
    all.submissions = read_submissions(db);
    return all;
}

/// In progress, with ids above `after`.
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

class MysqlBatchPlanStore final : public BatchPlanStore {
  public:
    explicit MysqlBatchPlanStore(Database& db) : db_(db) {}

    void prepare() override {
        make_tables(
            db_,
            {{"sluice_plan",
              "id tinyint NOT NULL PRIMARY KEY, version bigint NOT NULL, made_at double NOT NULL, "
              "batches integer NOT NULL, hosts integer NOT NULL"},
             {"sluice_plan_batch",
              "version bigint NOT NULL, batch_id bigint NOT NULL, finish double NOT NULL, margin double NOT NULL, "
              "place bigint NOT NULL, jobs bigint NOT NULL, hosts bigint NOT NULL, PRIMARY KEY (version, batch_id)"},
             {"sluice_plan_seen",
              "version bigint NOT NULL, batch_id bigint NOT NULL, newest_batch bigint NOT NULL, "
              "newest_result bigint NOT NULL, PRIMARY KEY (version, batch_id)"},
             {"sluice_plan_host",
              "version bigint NOT NULL, host_id bigint NOT NULL, errors integer NOT NULL, "
              "returned integer NOT NULL, PRIMARY KEY (version, host_id)"},
             {"sluice_plan_eta", "id tinyint NOT NULL PRIMARY KEY, least double NOT NULL, most double NOT NULL"},
             {"sluice_plan_job",
              "result_id bigint NOT NULL PRIMARY KEY, batch_id bigint NOT NULL, reissue_at double NOT NULL"},
             {"sluice_plan_copy",
              "workunit_id bigint NOT NULL PRIMARY KEY, batch_id bigint NOT NULL, result_id bigint NOT NULL, "
              "made_at bigint NOT NULL, KEY copy_batch (batch_id)"},
             {"sluice_plan_submission", "batch_id bigint NOT NULL PRIMARY KEY, heard_at double NOT NULL"}});
    }

    BatchPlan plan() override {
        BatchPlan plan;
        std::size_t batches = 0, hosts = 0;
        try {
            Rows head = db_.query(Sql("SELECT version, made_at, batches, hosts FROM sluice_plan WHERE id=1"));
            if (!head.next()) return plan;
            head.read(plan.version, plan.made_at, batches, hosts);
            Sql rows("SELECT batch_id, finish, margin, place, jobs, hosts FROM sluice_plan_batch WHERE version=");
            Rows b = db_.query(rows << plan.version << " ORDER BY batch_id");
            while (b.next()) plan.batches.push_back({b.i64(0), b.f64(1), b.f64(2), b.i64(3), b.i64(4), b.i64(5)});
            Sql left_out("SELECT host_id, errors, returned FROM sluice_plan_host WHERE version=");
            Rows h = db_.query(left_out << plan.version << " ORDER BY host_id");
            while (h.next()) plan.left_out.push_back({h.i64(0), h.i32(1), h.i32(2)});
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            return {};
        }
        // Two plans were published meanwhile: none is better than half of one.
        if (plan.batches.size() != batches || plan.left_out.size() != hosts) return {};
        read_seen(plan);
        return plan;
    }

    BatchPlan plan_for_schedulers() override {
        if (!is_there()) return {};
        const UnplannedBatches unplanned = read_unplanned(db_);
        BatchPlan last = plan();
        if (last.newest_batch == BatchPlan::kUnknown) return last;
        const std::vector<Id> begun = read_begun_since(db_, begun_after(last));
        return awaiting(std::move(last), unplanned, begun);
    }

    void note_submission(Id batch, double now) override {
        Sql sql("INSERT INTO sluice_plan_submission (batch_id, heard_at) VALUES (");
        try {
            db_.execute(sql << batch << "," << now << ") ON DUPLICATE KEY UPDATE heard_at=VALUES(heard_at)");
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

    void forget_submissions(std::span<const Id> batches, double now) override {
        forget_submissions_of(db_, batches, now);
    }

    std::int64_t publish(const BatchPlan& plan, std::span<const std::pair<Id, double>> completions) override {
        std::int64_t version = 0;
        // Whether a COMMIT without an answer took place is seen by version and time: another planner's has another.
        const auto took_place = [&] {
            Sql sql("SELECT 1 FROM sluice_plan WHERE id=1 AND version=");
            return db_.query(sql << version << " AND made_at=" << plan.made_at << " FOR UPDATE").next();
        };
        db_.transaction([&] { version = write_plan(plan, completions); }, took_place);
        return version;
    }

    EtaFactors eta_factors() override {
        EtaFactors factors;
        try {
            Rows r = db_.query(Sql("SELECT least, most FROM sluice_plan_eta WHERE id=1"));
            if (r.next()) r.read(factors.least, factors.most);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return factors;
    }

    void keep_eta_factors(const EtaFactors& factors) override {
        Sql sql("REPLACE INTO sluice_plan_eta (id, least, most) VALUES (1,");
        db_.execute(sql << factors.least << "," << factors.most << ")");
    }

    std::vector<ReissueTimer> timers() override {
        std::vector<ReissueTimer> all;
        db_.query_streaming(Sql("SELECT result_id, batch_id, reissue_at FROM sluice_plan_job ORDER BY result_id"),
                            [&](const Rows& r) {
                                all.push_back({r.i64(0), r.i64(1), r.f64(2)});
                            });
        return all;
    }

    void set_timers(std::span<const ReissueTimer> add, std::span<const Id> remove) override {
        for (const auto part : bulk::parts(add, kPlanRowsAtOnce)) {
            Sql sql("INSERT IGNORE INTO sluice_plan_job (result_id, batch_id, reissue_at) VALUES ");
            bulk::rows(sql, part, [&](const ReissueTimer& t) { sql << t.result << "," << t.batch << "," << t.at; });
            db_.execute(sql);
        }
        for (const auto part : bulk::parts(remove, kPlanRowsAtOnce)) {
            Sql sql("DELETE FROM sluice_plan_job WHERE result_id IN (");
            db_.execute(sql.ids(part) << ")");
        }
    }

    std::int64_t give_up(std::span<const OpenBatchResult> results, std::int64_t now, bool also_the_last) override {
        std::int64_t all = 0;
        for (const auto part : bulk::parts(results, kPlanRowsAtOnce)) {
            std::int64_t written = 0;
            // Done again after a lost connection it finds nothing in progress.
            db_.transaction([&] { written = give_up_part(part, now, {.also_the_last = also_the_last}); });
            all += written;
        }
        return all;
    }

    std::int64_t copy(std::span<const OpenBatchResult> results, std::int64_t now) override {
        std::int64_t all = 0;
        Sql forget(
            "DELETE c FROM sluice_plan_copy c LEFT JOIN batch b ON b.id=c.batch_id WHERE b.id IS NULL OR b.state=");
        db_.execute(forget << BatchState::kRetired);
        for (const auto part : bulk::parts(results, kPlanRowsAtOnce)) {
            std::int64_t written = 0;
            db_.transaction([&] { written = give_up_part(part, now, {.for_copy = true}); });
            all += written;
        }
        return all;
    }

    std::vector<CopiedJob> copied(std::span<const Id> batches) override {
        std::vector<CopiedJob> all;
        if (batches.empty()) return all;
        Sql sql("SELECT workunit_id, batch_id FROM sluice_plan_copy WHERE batch_id IN (");
        try {
            Rows r = db_.query(sql.ids(batches) << ") ORDER BY workunit_id");
            while (r.next()) all.push_back({r.i64(0), r.i64(1)});
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
        return all;
    }

  private:
    /// Where nobody has ever planned, no more is looked at.
    bool is_there() {
        try {
            return db_.query(Sql("SELECT 1 FROM sluice_plan WHERE id=1")).next();
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            return false;
        }
    }

    /// Without it, as an earlier batch_planner leaves it, the plan is whole, and nothing waits for the next one.
    void read_seen(BatchPlan& plan) {
        try {
            Sql sql("SELECT batch_id, newest_batch, newest_result FROM sluice_plan_seen WHERE version=");
            Rows r = db_.query(sql << plan.version << " ORDER BY batch_id");
            while (r.next()) {
                plan.newest_batch = r.i64(1), plan.newest_result = r.i64(2);
                if (r.i64(0) != 0) plan.awaited.push_back(r.i64(0));
            }
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

    /// Batch 0 stands for there being a plan at all.
    void write_seen(const BatchPlan& plan, std::int64_t version) {
        std::vector<Id> seen = plan.awaited;
        seen.push_back(0);
        for (const auto part : bulk::parts(std::span<const Id>(seen), kPlanRowsAtOnce)) {
            Sql sql("INSERT INTO sluice_plan_seen (version, batch_id, newest_batch, newest_result) VALUES ");
            bulk::rows(sql, part, [&](Id batch) {
                sql << version << "," << batch << "," << plan.newest_batch << "," << plan.newest_result;
            });
            db_.execute(sql);
        }
    }

    /// The rows of the plan before stay until the next one: who reads without waiting finds one of the two, whole.
    std::int64_t write_plan(const BatchPlan& plan, std::span<const std::pair<Id, double>> completions) {
        Rows now = db_.query(Sql("SELECT version FROM sluice_plan WHERE id=1 FOR UPDATE"));
        const std::int64_t version = (now.next() ? now.i64(0) : 0) + 1;
        // Greater ones, too, of when sluice_plan was dropped and they were not.
        for (const SqlLiteral table :
             {SqlLiteral("sluice_plan_batch"), SqlLiteral("sluice_plan_host"), SqlLiteral("sluice_plan_seen")}) {
            Sql forget("DELETE FROM ");
            db_.enqueue(forget << table << " WHERE version<" << version - 1 << " OR version>=" << version);
        }
        write_seen(plan, version);
        for (const auto part : bulk::parts(plan.batches, kPlanRowsAtOnce)) {
            Sql sql("INSERT INTO sluice_plan_batch (version, batch_id, finish, margin, place, jobs, hosts) VALUES ");
            bulk::rows(sql, part, [&](const PlannedBatch& b) {
                sql << version << "," << b.batch << "," << b.finish << "," << b.margin << "," << b.place << ","
                    << b.jobs << "," << b.hosts;
            });
            db_.execute(sql);
        }
        for (const auto part : bulk::parts(plan.left_out, kPlanRowsAtOnce)) {
            Sql sql("INSERT INTO sluice_plan_host (version, host_id, errors, returned) VALUES ");
            bulk::rows(sql, part, [&](const LeftOutHost& h) {
                sql << version << "," << h.host << "," << h.errors << "," << h.returned;
            });
            db_.execute(sql);
        }
        for (const auto& [batch, time] : completions) {
            Sql sql("UPDATE batch SET est_completion_time=");
            db_.enqueue(sql << time << " WHERE id=" << batch << " AND state=1");
        }
        Sql head("REPLACE INTO sluice_plan (id, version, made_at, batches, hosts) VALUES (1,");
        db_.execute(head << version << "," << plan.made_at << "," << plan.batches.size() << "," << plan.left_out.size()
                         << ")");
        return version;
    }

    struct GiveUp {
        bool also_the_last = false, for_copy = false;
    };
    std::int64_t give_up_part(std::span<const OpenBatchResult> part, std::int64_t now, const GiveUp& how) {
        std::vector<Id> results, workunits;
        for (const OpenBatchResult& r : part) results.push_back(r.id), workunits.push_back(r.workunit);
        std::sort(workunits.begin(), workunits.end());
        workunits.erase(std::unique(workunits.begin(), workunits.end()), workunits.end());
        Sql lock("SELECT id FROM workunit WHERE id IN (");
        lock.ids(workunits) << ") AND canonical_resultid=0 AND error_mask=0 ORDER BY id FOR UPDATE";
        std::vector<Id> open = ids_of(lock);
        if (!how.also_the_last && !open.empty()) {
            // Only now: before all of the locks are there, results could come that it would not see.
            Sql more("SELECT id FROM workunit w WHERE id IN (");
            more.ids(open) << ") AND max_total_results>(SELECT COUNT(*) FROM result r WHERE r.workunitid=w.id)";
            open = ids_of(more << " ORDER BY id");
        }
        if (open.empty()) return 0;
        std::sort(results.begin(), results.end());
        if (how.for_copy) results = keep_copies(results, open, now);
        if (results.empty()) return 0;
        Sql touch("UPDATE workunit SET " SLUICE_REAL_WRITE ",transition_time=LEAST(transition_time,");
        touch << now << ") WHERE id IN (";
        db_.execute(touch.ids(open) << ")");
        Sql over("UPDATE result SET server_state=");
        over << ServerState::kOver << ", outcome=" << Outcome::kNoReply << " WHERE id IN (";
        over.ids(results) << ") AND server_state=" << ServerState::kInProgress << " AND workunitid IN (";
        return db_.execute(over.ids(open) << ")");
    }

    std::vector<Id> ids_of(const Sql& query) {
        std::vector<Id> ids;
        Rows r = db_.query(query);
        while (r.next()) ids.push_back(r.i64(0));
        return ids;
    }

    /// Of these, which are in progress, those of jobs without a copy; one a job. `open` is locked.
    std::vector<Id> keep_copies(const std::vector<Id>& results, const std::vector<Id>& open, std::int64_t now) {
        Sql which(
            "SELECT MIN(id) FROM result r LEFT JOIN sluice_plan_copy c ON c.workunit_id=r.workunitid WHERE id IN (");
        which.ids(results) << ") AND server_state=" << ServerState::kInProgress << " AND workunitid IN (";
        Rows r = db_.query(which.ids(open) << ") AND c.workunit_id IS NULL GROUP BY workunitid ORDER BY 1");
        std::vector<Id> copies;
        while (r.next()) copies.push_back(r.i64(0));
        if (copies.empty()) return copies;
        Sql keep(
            "INSERT INTO sluice_plan_copy (workunit_id, batch_id, result_id, made_at) SELECT workunitid, batch, id, ");
        keep << now << " FROM result WHERE id IN (";
        // Rows that are read here are locked: none comes back before it is given up.
        db_.execute(keep.ids(copies) << ") AND server_state=" << ServerState::kInProgress);
        return copies;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<BatchPlanStore> make_batch_plan_store(Database& db) {
    return std::make_unique<MysqlBatchPlanStore>(db);
}

namespace {

constexpr std::size_t kPlanBatchesAtOnce = 200, kPlanResultsAtOnce = 2000;

constexpr SqlLiteral kPlanHostColumns{
    "SELECT h.id, h.p_ncpus, h.p_fpops, h.on_frac, h.active_frac, h.rpc_time, COALESCE(av.appid,0), "
    "COALESCE(hav.et_avg,0), COALESCE(hav.app_version_id,0), h.p_ngpus, h.p_gpu_fpops, h.gpu_active_frac, IF(h.p_ngpus>0 AND h.rpc_time>="};
constexpr SqlLiteral kPlanHosts{",h.misc,'') FROM host h "};
constexpr SqlLiteral kMeasuredVersions{
    " LEFT JOIN host_app_version hav FORCE INDEX (hap) ON hav.host_id=h.id AND hav.et_n>10 AND hav.et_avg>0 LEFT JOIN app_version av ON "
    "av.id=hav.app_version_id WHERE "};

class MysqlBatchPlanFactsStore final : public BatchPlanFactsStore {
  public:
    explicit MysqlBatchPlanFactsStore(Database& db) : db_(db) {}

    void hosts(const HostSelection& selection, const std::function<void(const HostSpeedRow&)>& row) override {
        const auto take = [&](const Rows& r) {
            const auto own = anonymous_version(r.i64(8));
            row({r.i64(0), r.i32(1), r.f64(2), r.f64(3), r.f64(4), r.i64(5), own ? own->appid : r.i64(6), r.f64(7),
                 r.i64(8), r.i32(9), r.f64(10), r.f64(11), r.text(12)});
        };
        Sql credited(kPlanHostColumns);
        credited << selection.misc_since << kPlanHosts << "FORCE INDEX (host_avg)" << kMeasuredVersions
                 << "h.expavg_credit>" << kActiveHostCredit << " AND h.rpc_time>" << selection.heard_since
                 << " ORDER BY h.expavg_credit DESC LIMIT " << selection.most;
        db_.query_streaming(credited, take);
        Rows last = db_.query(Sql("SELECT MAX(id) FROM host"));
        const Id newest = last.next() ? last.i64(0) : 0;
        Sql fresh(kPlanHostColumns);
        fresh << selection.misc_since << kPlanHosts << "FORCE INDEX (PRIMARY)" << kMeasuredVersions << "h.id>"
              << std::max<Id>(0, newest - kNewestHosts) << " AND h.expavg_credit<=" << kActiveHostCredit
              << " AND h.rpc_time>" << selection.heard_since << " ORDER BY h.id LIMIT " << selection.most;
        db_.query_streaming(fresh, take);
    }

    std::vector<AppVersionUse> versions() override {
        std::vector<AppVersionUse> all;
        db_.query_streaming(
            Sql("SELECT v.id, v.appid, v.plan_class, v.deprecated=0 AND v.version_num>=COALESCE(a.min_version,0), v.pfc_n, "
                "v.pfc_avg FROM app_version v LEFT JOIN app a ON a.id=v.appid ORDER BY v.id"),
            [&](const Rows& r) {
                all.push_back({r.i64(0), r.i64(1), r.text(2), r.flag(3), r.f64(4), r.f64(5)});
            });
        return all;
    }

    std::vector<BatchDemandRow> demands(std::span<const Id> batches) override {
        std::vector<BatchDemandRow> all;
        for (const auto part : bulk::parts(batches, kPlanBatchesAtOnce)) {
            Sql sql(
                "SELECT batch, appid, COUNT(*), AVG(GREATEST(rsc_fpops_est,0)) FROM workunit FORCE INDEX (wu_batch) WHERE "
                "batch IN (");
            sql.ids(part) << ") AND canonical_resultid=0 AND error_mask=0 GROUP BY batch, appid ORDER BY batch, appid";
            Rows r = db_.query(sql);
            while (r.next()) add_demand(all, {r.i64(0), r.i64(1), r.i64(2), r.f64(3)});
        }
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.batch < b.batch; });
        return all;
    }

    void open_results(std::span<const Id> batches, const std::function<void(const OpenBatchResult&)>& row) override {
        for (const auto part : bulk::parts(batches, kPlanBatchesAtOnce)) {
            Sql sql(
                "SELECT id, workunitid, batch, hostid, server_state, create_time, sent_time, app_version_id FROM result FORCE "
                "INDEX (res_batch) WHERE batch IN (");
            sql.ids(part) << ") AND server_state IN (1,2,4)";
            db_.query_streaming(sql, [&](const Rows& r) {
                row({r.i64(0), r.i64(1), r.i64(2), r.i64(3), r.code<ServerState>(4), r.i64(5), r.i64(6), r.i64(7)});
            });
        }
    }

    std::vector<ReturnedBatchResult> returned(std::span<const Id> results) override {
        std::vector<ReturnedBatchResult> all;
        for (const auto part : bulk::parts(results, kPlanResultsAtOnce)) {
            Sql sql(
                "SELECT r.id, IF(r.outcome=1,r.elapsed_time,0), w.rsc_fpops_est FROM result r JOIN workunit w ON "
                "w.id=r.workunitid WHERE r.id IN (");
            Rows r = db_.query(sql.ids(part) << ") AND r.server_state=5 AND r.received_time>0");
            while (r.next()) all.push_back({r.i64(0), r.f64(1), r.f64(2)});
        }
        return all;
    }

    std::vector<LeftOutHost> failing_hosts(std::span<const Id> batches) override {
        std::vector<LeftOutHost> all;
        for (const auto part : bulk::parts(batches, kPlanBatchesAtOnce)) {
            Sql sql(
                "SELECT hostid, SUM(outcome=3 AND exit_status NOT IN (200,202,203)), SUM(outcome=1 OR exit_status NOT IN "
                "(200,202,203)) FROM result FORCE INDEX (res_batch) WHERE batch IN (");
            sql.ids(part) << ") AND server_state=5 AND outcome IN (1,3) AND hostid<>0 GROUP BY hostid";
            Rows r = db_.query(sql);
            while (r.next()) add_errors(all, {r.i64(0), r.i32(1), r.i32(2)});
        }
        return only_failing(std::move(all));
    }

    NewestIds newest() override { return read_newest_ids(db_); }

    std::vector<Id> gang_batches(std::span<const Id> batches) override {
        std::vector<Id> all;
        try {
            for (const auto part : bulk::parts(batches, kPlanBatchesAtOnce)) {
                Sql sql("SELECT DISTINCT batch_id FROM sluice_gang WHERE batch_id IN (");
                Rows r = db_.query(sql.ids(part) << ") ORDER BY batch_id");
                while (r.next()) all.push_back(r.i64(0));
            }
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;  // nobody has made gangs
        }
        return all;
    }

  private:
    static void add_demand(std::vector<BatchDemandRow>& all, const BatchDemandRow& row) {
        if (all.empty() || all.back().batch != row.batch) {
            all.push_back(row);
            return;
        }
        BatchDemandRow& sum = all.back();
        const double fpops =
            sum.mean_fpops * static_cast<double>(sum.open) + row.mean_fpops * static_cast<double>(row.open);
        if (row.open > sum.open) sum.app = row.app;
        sum.open += row.open;
        sum.mean_fpops = fpops / static_cast<double>(sum.open);
    }

    static void add_errors(std::vector<LeftOutHost>& all, const LeftOutHost& row) {
        const auto at = std::lower_bound(all.begin(), all.end(), row.host,
                                         [](const LeftOutHost& h, Id wanted) { return h.host < wanted; });
        if (at != all.end() && at->host == row.host)
            at->errors += row.errors, at->returned += row.returned;
        else
            all.insert(at, row);
    }
    static std::vector<LeftOutHost> only_failing(std::vector<LeftOutHost> all) {
        std::erase_if(all, [](const LeftOutHost& h) { return h.errors == 0; });
        return all;
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<BatchPlanFactsStore> make_batch_plan_facts_store(Database& db) {
    return std::make_unique<MysqlBatchPlanFactsStore>(db);
}

}  // namespace sluice
