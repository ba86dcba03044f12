// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/turns.h"
#include "sluice/db/batch_store.h"

namespace sluice {
namespace {

constexpr SqlLiteral kOwnedColumns{
    "SELECT b.id, b.user_id, b.app_id, b.create_time, b.logical_start_time, b.logical_end_time, b.est_completion_time, "
    "b.njobs, b.fraction_done, b.nerror_jobs, b.state, b.completion_time, b.credit_canonical, b.name, b.description, "
    "a.name, u.name FROM batch b LEFT JOIN app a ON a.id=b.app_id LEFT JOIN user u ON u.id=b.user_id WHERE "};

OwnedBatch read_owned(const Rows& r) {
    OwnedBatch o;
    Batch& b = o.row;
    r.read(b.id, b.user_id, b.app_id, b.create_time, b.logical_start_time, b.logical_end_time, b.est_completion_time,
           b.njobs, b.fraction_done, b.nerror_jobs, b.state, b.completion_time, b.credit_canonical, b.name,
           o.description, o.app_name, o.user_name);
    return o;
}

class MysqlBatchOwnerStore final : public BatchOwnerStore {
  public:
    explicit MysqlBatchOwnerStore(Database& db) : db_(db) {}

    void create(OwnedBatch& batch) override {
        Batch& b = batch.row;
        const auto write = [&] {
            Sql sql(
                "INSERT INTO batch (user_id, create_time, logical_start_time, logical_end_time, est_completion_time, njobs, "
                "fraction_done, nerror_jobs, state, completion_time, credit_estimate, credit_canonical, credit_total, name, "
                "app_id, project_state, description, expire_time) VALUES (");
            sql << b.user_id << "," << b.create_time << ",0,0,0," << b.njobs << ",0,0," << b.state << ",0,0,0,0,"
                << SqlText{b.name, 255} << "," << b.app_id << ",0," << SqlText{batch.description, 255} << ",0)";
            db_.execute(sql);
            b.id = db_.last_insert_id();
        };
        // An id is given out once.
        const auto took_place = [&] {
            Sql sql("SELECT 1 FROM batch WHERE id=");
            return db_.query(sql << b.id << " FOR UPDATE").next();
        };
        repeat_if_lost([&] { db_.transaction(write, took_place); });
    }

    std::optional<OwnedBatch> batch(Id id) override {
        Sql sql(kOwnedColumns);
        Rows r = db_.query(sql << "b.id=" << id);
        if (!r.next()) return std::nullopt;
        return read_owned(r);
    }

    std::vector<OwnedBatch> list(const BatchFilter& filter) override {
        Sql sql(kOwnedColumns);
        if (filter.in_progress)
            sql << "b.id>=" << first_open_batch(db_) << " AND b.state=" << BatchState::kInProgress;
        else
            sql << "b.state IN (0,1,2,3" << (filter.all ? SqlLiteral(",4)") : SqlLiteral(")"));
        if (filter.user_id != 0) sql << " AND b.user_id=" << filter.user_id;
        sql << " ORDER BY b.id " << (filter.in_progress ? SqlLiteral("") : SqlLiteral("DESC ")) << "LIMIT "
            << filter.limit;
        Rows r = db_.query(sql);
        std::vector<OwnedBatch> all;
        while (r.next()) all.push_back(read_owned(r));
        if (!filter.in_progress) std::reverse(all.begin(), all.end());
        return all;
    }

    std::optional<std::string> user_name(Id id) override {
        Sql sql("SELECT name FROM user WHERE id=");
        Rows r = db_.query(sql << id);
        if (!r.next()) return std::nullopt;
        return r.text(0);
    }

    BatchCost cost(Id batch) override {
        // Outcomes 3, 4, 6, 7: error, no reply, validate error, detached. Of successes: invalid (2) and too late (5).
        Sql sql(
            "SELECT SUM(sent), SUM(sent>0), SUM(t), SUM(bad+IF(n_valid>quorum, t_valid*(n_valid-quorum)/n_valid, 0)) FROM "
            "(SELECT MAX(w.min_quorum) quorum, SUM(r.sent_time>0) sent, SUM(GREATEST(r.cpu_time,r.elapsed_time)) t, "
            "SUM(IF(r.outcome IN (3,4,6,7) OR (r.outcome=1 AND r.validate_state IN (2,5)), "
            "GREATEST(r.cpu_time,r.elapsed_time), 0)) bad, SUM(r.outcome=1 AND r.validate_state=1) n_valid, "
            "SUM(IF(r.outcome=1 AND r.validate_state=1, GREATEST(r.cpu_time,r.elapsed_time), 0)) t_valid FROM result r "
            "FORCE INDEX (res_batch) JOIN workunit w ON w.id=r.workunitid WHERE r.batch=");
        Rows r = db_.query(sql << batch << " GROUP BY r.workunitid) per_workunit");
        BatchCost cost;
        if (r.next()) r.read(cost.instances, cost.workunits, cost.seconds, cost.wasted_seconds);
        add_copies(batch, cost);
        return cost;
    }

    BatchInstances instances(Id batch) override {
        Sql sql("SELECT COALESCE(SUM(server_state IN (1,2)),0), COALESCE(SUM(server_state=4),0), ");
        sql << "COUNT(DISTINCT IF(hostid<>0,hostid,NULL)), COUNT(DISTINCT IF(server_state=4,hostid,NULL)) FROM result FORCE "
               "INDEX (res_batch) WHERE batch=";
        Rows r = db_.query(sql << batch);
        BatchInstances i;
        if (r.next()) r.read(i.unsent, i.in_progress, i.hosts, i.hosts_at_work);
        return i;
    }

    HostsHeardOf hosts_since(std::int64_t since, int most) override {
        HostsHeardOf heard;
        Sql number("SELECT COUNT(*) FROM host WHERE userid<>0 AND rpc_time>");
        Rows n = db_.query(number << since);
        if (n.next()) heard.count = n.i64(0);
        Sql sql("SELECT id FROM host WHERE userid<>0 AND rpc_time>");
        Rows r = db_.query(sql << since << " ORDER BY rpc_time DESC, id LIMIT " << most);
        while (r.next()) heard.newest.push_back(r.i64(0));
        return heard;
    }

    std::optional<BatchState> change_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                           std::int64_t now) override {
        std::optional<BatchState> state;
        // Once more after a lost connection: the change is there already then, or is made now.
        const auto work = [&] {
            Sql lock("SELECT state FROM batch WHERE id=");
            Rows r = db_.query(lock << batch << " FOR UPDATE");
            if (!r.next()) return state.reset();
            state = r.code<BatchState>(0);
            if (std::find(from.begin(), from.end(), *state) == from.end()) return;
            Sql sql("UPDATE batch SET state=");
            sql << to;
            if (to == BatchState::kAborted) sql << ", completion_time=" << now;
            if (to == BatchState::kInProgress)
                sql << ", njobs=(SELECT COUNT(*) FROM workunit WHERE workunit.batch=" << batch << ")";
            db_.execute(sql << " WHERE id=" << batch);
            state = to;
        };
        if (db_.in_transaction())
            work();
        else
            repeat_if_lost([&] { db_.transaction(work); });
        return state;
    }

    std::optional<Id> cancel_jobs(Id batch, Id after, int limit, std::int64_t now) override {
        const std::vector<Id> all = workunits_of(batch, after, limit);
        std::vector<Id> open;
        if (all.empty()) return std::nullopt;
        repeat_if_lost([&] {
            db_.transaction([&] {
                open.clear();
                Sql lock("SELECT id FROM workunit WHERE id IN (");
                Rows still = db_.query(lock.ids(all) << ") AND canonical_resultid=0 ORDER BY id FOR UPDATE");
                while (still.next()) open.push_back(still.i64(0));
                if (open.empty()) return;
                Sql workunits("UPDATE workunit SET error_mask=error_mask|");
                workunits << kWuCancelled << ", transition_time=" << now << " WHERE id IN (";
                db_.execute(workunits.ids(open) << ") AND error_mask&" << kWuCancelled << "=0");
                Sql results("UPDATE result SET server_state=");
                results << ServerState::kOver << ", outcome=" << Outcome::kDidntNeed << " WHERE workunitid IN (";
                db_.execute(results.ids(open) << ") AND server_state<=" << ServerState::kUnsent);
            });
        });
        return all.back();
    }

    std::vector<App> apps() override { return all_apps(db_, ""); }

    void count_as_assimilated(Id batch, std::span<const Id> apps, OverBy by, std::int64_t now) override {
        constexpr int kOfATransaction = 1000;
        if (apps.empty()) return;
        for (Id after = 0;;) {
            const std::vector<Id> some = workunits_of(batch, after, kOfATransaction);
            if (some.empty()) return;
            Sql sql("UPDATE workunit SET assimilate_state=");
            sql << AssimilateState::kDone << ", transition_time=" << now << " WHERE id IN (";
            sql.ids(some) << ") AND assimilate_state<>" << AssimilateState::kDone << " AND appid IN (";
            sql.ids(apps) << ")";
            if (by == OverBy::kCancelling)
                sql << " AND canonical_resultid=0 AND error_mask&" << kWuCancelled << "<>0";
            else
                sql << " AND (canonical_resultid<>0 OR error_mask<>0)";
            repeat_if_lost([&] { db_.execute(sql); });
            after = some.back();
        }
    }

  private:
    /// The next ones, by id.
    std::vector<Id> workunits_of(Id batch, Id after, int limit) {
        Sql sql("SELECT id FROM workunit FORCE INDEX (wu_batch) WHERE batch=");
        Rows r = db_.query(sql << batch << " AND id>" << after << " ORDER BY id LIMIT " << limit);
        std::vector<Id> ids;
        while (r.next()) ids.push_back(r.i64(0));
        return ids;
    }

    /// Of a job with a copy: what came back too late, and valid ones beyond the quorum.
    void add_copies(Id batch, BatchCost& cost) {
        Sql sql(
            "SELECT COUNT(*), SUM(late+IF(n_valid>quorum, t_valid*(n_valid-quorum)/n_valid, 0)) FROM (SELECT "
            "IFNULL(MAX(w.min_quorum),1) quorum, SUM(IF(r.outcome=4 OR (r.outcome=1 AND r.validate_state=5), "
            "GREATEST(r.cpu_time,r.elapsed_time), 0)) late, SUM(r.outcome=1 AND r.validate_state=1) n_valid, "
            "SUM(IF(r.outcome=1 AND r.validate_state=1, GREATEST(r.cpu_time,r.elapsed_time), 0)) t_valid FROM "
            "sluice_plan_copy c LEFT JOIN workunit w ON w.id=c.workunit_id LEFT JOIN result r ON "
            "r.workunitid=c.workunit_id WHERE c.batch_id=");
        try {
            Rows r = db_.query(sql << batch << " GROUP BY c.workunit_id) per_workunit");
            if (r.next()) r.read(cost.copies, cost.copies_wasted_seconds);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;  // batch_planner never ran
        }
    }

    /// What is done again changes nothing: it finds what was done.
    template <typename Work>
    void repeat_if_lost(Work work) {
        constexpr int kAttempts = 3;
        for (int attempt = 1;; ++attempt) {
            try {
                return work();
            } catch (const DbError& e) {
                if (e.kind() != DbError::Kind::kLost || attempt == kAttempts) throw;
            }
        }
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<BatchOwnerStore> make_batch_owner_store(Database& db) {
    return std::make_unique<MysqlBatchOwnerStore>(db);
}

}  // namespace sluice
