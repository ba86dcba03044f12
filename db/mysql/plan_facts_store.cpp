// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <string>

#include "db/mysql/bulk.h"
#include "db/mysql/errors.h"
#include "db/mysql/unplanned.h"
#include "sluice/db/plan_store.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

constexpr std::size_t kPlanBatchesAtOnce = 200, kPlanResultsAtOnce = 2000;
/// Below that a host has computed nothing for months: credit halves in a week (update_stats).
constexpr double kLeastCredit = 0.1;
constexpr Id kNewestIds = 10000;  ///< ids among which hosts without credit are looked for

constexpr SqlLiteral kPlanHostColumns{
    "SELECT h.id, h.p_ncpus, h.p_fpops, h.on_frac, h.active_frac, h.rpc_time, COALESCE(av.appid,0), "
    "COALESCE(hav.et_avg,0), COALESCE(hav.app_version_id,0), h.p_ngpus, h.p_gpu_fpops, h.gpu_active_frac, IF(h.p_ngpus>0 AND h.rpc_time>="};
constexpr SqlLiteral kPlanHosts{",h.misc,'') FROM host h "};
constexpr SqlLiteral kMeasuredVersions{
    " LEFT JOIN host_app_version hav FORCE INDEX (hap) ON hav.host_id=h.id AND hav.et_n>10 AND hav.et_avg>0 LEFT JOIN app_version av ON "
    "av.id=hav.app_version_id WHERE "};

class MysqlPlanFactsStore final : public PlanFactsStore {
  public:
    explicit MysqlPlanFactsStore(Database& db) : db_(db) {}

    void hosts(const HostSelection& selection, const std::function<void(const HostSpeedRow&)>& row) override {
        const auto take = [&](const Rows& r) {
            const auto own = anonymous_version(r.i64(8));
            row({r.i64(0), r.i32(1), r.f64(2), r.f64(3), r.f64(4), r.i64(5), own ? own->appid : r.i64(6), r.f64(7),
                 r.i64(8), r.i32(9), r.f64(10), r.f64(11), r.text(12)});
        };
        Sql credited(kPlanHostColumns);
        credited << selection.misc_since << kPlanHosts << "FORCE INDEX (host_avg)" << kMeasuredVersions
                 << "h.expavg_credit>" << kLeastCredit << " AND h.rpc_time>" << selection.heard_since
                 << " ORDER BY h.expavg_credit DESC LIMIT " << selection.most;
        db_.query_streaming(credited, take);
        Rows last = db_.query(Sql("SELECT MAX(id) FROM host"));
        const Id newest = last.next() ? last.i64(0) : 0;
        Sql fresh(kPlanHostColumns);
        fresh << selection.misc_since << kPlanHosts << "FORCE INDEX (PRIMARY)" << kMeasuredVersions << "h.id>"
              << std::max<Id>(0, newest - kNewestIds) << " AND h.expavg_credit<=" << kLeastCredit << " AND h.rpc_time>"
              << selection.heard_since << " ORDER BY h.id LIMIT " << selection.most;
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

    void open_results(std::span<const Id> batches, const std::function<void(const OpenPlanResult&)>& row) override {
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

    std::vector<ReturnedPlanResult> returned(std::span<const Id> results) override {
        std::vector<ReturnedPlanResult> all;
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

std::unique_ptr<PlanFactsStore> make_plan_facts_store(Database& db) {
    return std::make_unique<MysqlPlanFactsStore>(db);
}

}  // namespace sluice
