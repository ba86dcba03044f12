// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"
#include "sluice/db/batch_store.h"

namespace sluice {
namespace {

constexpr std::size_t kBatchChunk = 200;  ///< batches a statement
constexpr std::size_t kIdChunk = 2000;    ///< rows by id a statement

struct Median {
    Id id;
    double value;
};

class MysqlBatchStatsStore final : public BatchStatsStore {
  public:
    MysqlBatchStatsStore(Database& db, Database& replica) : db_(db), replica_(replica) {}

    std::vector<MeasuredBatch> batches(Id from, std::int64_t created_after) override {
        Sql sql("SELECT id, app_id, njobs, expire_time FROM batch WHERE id>=");
        Rows r = db_.query(sql << from << " AND create_time>" << created_after << " AND state IN (1,2) ORDER BY id");
        std::vector<MeasuredBatch> all;
        while (r.next()) all.push_back({r.i64(0), r.i64(1), r.i32(2), r.f64(3)});
        return all;
    }

    void results(const ResultSelection& selection, const std::function<void(const ResultTimes&)>& row) override {
        for (const auto part : bulk::parts(selection.batches, kBatchChunk)) {
            Sql sql(kResultColumns);
            sql << "FORCE INDEX (res_batch) WHERE batch IN (";
            stream(sql.ids(part) << ") ORDER BY batch, id", row);
        }
        for (const auto part : bulk::parts(selection.ids, kIdChunk)) {
            Sql sql(kResultColumns);
            sql << "WHERE id IN (";
            stream(sql.ids(part) << ") ORDER BY id", row);
        }
        if (selection.after < 0) return;
        Sql sql(kResultColumns);
        // Most new results may be of jobs without a batch: not worth sending over.
        stream(sql << "FORCE INDEX (PRIMARY) WHERE id>" << selection.after << " AND batch<>0 ORDER BY id", row);
    }

    void open_results(std::span<const Id> apps, const std::function<void(Id, ServerState)>& row) override {
        if (apps.empty()) return;
        Sql sql("SELECT id, server_state FROM result FORCE INDEX (res_app_state) WHERE appid IN (");
        sql.ids(apps) << ") AND server_state IN (1,2,4)";
        replica_.query_streaming(sql, [&](const Rows& r) { row(r.i64(0), r.code<ServerState>(1)); });
    }

    Id last_result_id() override {
        Rows r = replica_.query(Sql("SELECT MAX(id) FROM result"));
        return r.next() ? r.i64(0) : 0;
    }

    std::vector<App> apps() override { return size_classes_of_apps(db_, ""); }

    std::map<Id, double> flagged_hosts(std::span<const Id> among) override {
        std::map<Id, double> flags;
        const auto take = [&](const Rows& r) { flags[r.i64(0)] = r.f64(1); };
        if (among.empty()) db_.query_streaming(Sql("SELECT id, error_rate FROM host WHERE error_rate<>0"), take);
        for (const auto part : bulk::parts(among, kIdChunk)) {
            Sql sql("SELECT id, error_rate FROM host WHERE id IN (");
            db_.query_streaming(sql.ids(part) << ") AND error_rate<>0", take);
        }
        return flags;
    }

    void apply(const StatsWrite& write) override {
        db_.transaction([&] {
            write_medians(write.medians);
            write_hosts(write.hosts);
            for (const auto& [app, accelerable] : write.accelerable) {
                Sql sql("UPDATE app SET n_size_classes=");
                // 2 and more are size classes, no matter who set them and when.
                db_.execute(sql << (accelerable ? 1 : 0) << " WHERE id=" << app << " AND n_size_classes<2");
            }
        });
    }

  private:
    static constexpr SqlLiteral kResultColumns{
        "SELECT id, workunitid, batch, hostid, app_version_id, appid, server_state, outcome, validate_state, exit_status, "
        "sent_time, received_time, report_deadline FROM result "};

    void stream(const Sql& sql, const std::function<void(const ResultTimes&)>& row) {
        replica_.query_streaming(sql, [&](const Rows& r) {
            ResultTimes t;
            Id version = 0, app = 0;
            r.read(t.id, t.workunitid, t.batch, t.hostid, version, app, t.server_state, t.outcome, t.validate_state,
                   t.exit_status, t.sent_time, t.received_time, t.report_deadline);
            t.version = generalized_version_id(app, version);
            row(t);
        });
    }

    void write_medians(const std::vector<std::pair<Id, double>>& medians) {
        std::vector<Median> rows;
        for (const auto& [id, value] : medians) rows.push_back({id, value});
        std::sort(rows.begin(), rows.end(), [](const Median& a, const Median& b) { return a.id < b.id; });
        for (const auto part : bulk::parts(rows, kIdChunk)) {
            Sql sql("UPDATE batch SET expire_time=");
            bulk::by_id(sql, "id", part, [](const Median& m) { return m.value; });
            sql << " WHERE id IN (";
            bulk::id_list(sql, part);
            db_.execute(sql << ")");
        }
    }

    void write_hosts(std::vector<std::pair<Id, bool>> hosts) {
        std::sort(hosts.begin(), hosts.end());  // every process locks in the order of ids
        for (const auto part : bulk::parts(hosts, kIdChunk)) {
            std::vector<Id> all, flagged;
            for (const auto& [host, ltt] : part) {
                all.push_back(host);
                if (ltt) flagged.push_back(host);
            }
            Sql sql("UPDATE host SET error_rate=");
            if (flagged.empty()) {
                sql << "0";
            } else {
                sql << "IF(id IN (";
                sql.ids(flagged) << "),1,0)";
            }
            sql << " WHERE id IN (";
            db_.execute(sql.ids(all) << ")");
        }
    }

    Database& db_;
    Database& replica_;
};

}  // namespace

std::unique_ptr<BatchStatsStore> make_batch_stats_store(Database& db, Database& results_from) {
    return std::make_unique<MysqlBatchStatsStore>(db, results_from);
}

}  // namespace sluice
