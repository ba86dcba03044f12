// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/assimilate_store.h"

#include <map>

#include "db/mysql/bulk.h"
#include "db/mysql/columns.h"

namespace sluice {
namespace {

class MysqlAssimilateStore final : public AssimilateStore {
  public:
    explicit MysqlAssimilateStore(Database& db) : db_(db) {}

    std::optional<Id> app_id(const std::string& name) override {
        Sql sql("SELECT id FROM app WHERE name=");
        Rows r = db_.query(sql << SqlText{name, 191});
        return r.next() ? std::optional<Id>(r.i64(0)) : std::nullopt;
    }

    std::vector<Assimilable> page(const WorkunitFilter& f, Id after, int limit) override {
        Sql sql(
            "SELECT w.id, w.name, w.batch, w.error_mask, w.canonical_resultid, r.id, r.name, r.xml_doc_in, "
            "r.elapsed_time, r.hostid, r.received_time, r.cpu_time, r.userid, r.exit_status FROM workunit w LEFT JOIN result r ON r.id=w.canonical_resultid "
            "WHERE w.assimilate_state=1 AND w.appid=");
        sql << f.appid << " AND w.id>" << after;
        if (f.share.n > 0) sql << " AND w.id % " << f.share.n << "=" << f.share.i;
        if (f.wu_id != 0) sql << " AND w.id=" << f.wu_id;
        sql << " ORDER BY w.id LIMIT " << limit;
        std::vector<Assimilable> page;
        Rows r = db_.query(sql);
        while (r.next()) {
            Assimilable a;
            r.read(a.wu.id, a.wu.name, a.wu.batch, a.wu.error_mask, a.wu.canonical_resultid);
            a.wu.appid = f.appid;
            if (r.i64(5) != 0) {
                Result result;
                r.read_from(5, result.id, result.name, result.xml_doc_in, result.elapsed_time, result.hostid,
                            result.received_time, result.cpu_time, result.userid, result.exit_status);
                a.canonical = std::move(result);
            }
            page.push_back(std::move(a));
        }
        return page;
    }

    std::vector<WorkunitWithResults> whole(std::span<const Id> workunits) override {
        std::vector<WorkunitWithResults> all;
        std::map<Id, std::size_t> place;
        Sql sql("SELECT " SLUICE_WORKUNIT_COLUMNS
                ",w.create_time,w.canonical_credit,w.opaque,w.min_quorum,w.max_error_results,w.max_total_results,"
                "w.max_success_results,w.assimilate_state,w.file_delete_state FROM workunit w WHERE w.id IN (");
        Rows w = db_.query(sql.ids(workunits) << ") ORDER BY w.id");
        while (w.next()) {
            Workunit wu = read_workunit(w, 0);
            w.read_from(24, wu.create_time, wu.canonical_credit, wu.opaque, wu.min_quorum, wu.max_error_results,
                        wu.max_total_results, wu.max_success_results, wu.assimilate_state, wu.file_delete_state);
            place[wu.id] = all.size();
            all.push_back({std::move(wu), {}});
        }
        Sql results(
            "SELECT id, create_time, workunitid, server_state, outcome, client_state, hostid, userid, report_deadline, "
            "sent_time, received_time, name, cpu_time, xml_doc_in, xml_doc_out, stderr_out, batch, file_delete_state, "
            "validate_state, claimed_credit, granted_credit, opaque, random, app_version_num, appid, exit_status, teamid, "
            "priority, elapsed_time, flops_estimate, app_version_id, runtime_outlier, size_class, peak_working_set_size, "
            "peak_swap_size, peak_disk_usage FROM result WHERE workunitid IN (");
        Rows r = db_.query(results.ids(workunits) << ") ORDER BY id");
        while (r.next()) {
            Result x;
            r.read(x.id, x.create_time, x.workunitid, x.server_state, x.outcome, x.client_state, x.hostid, x.userid,
                   x.report_deadline, x.sent_time, x.received_time, x.name, x.cpu_time, x.xml_doc_in, x.xml_doc_out,
                   x.stderr_out, x.batch, x.file_delete_state, x.validate_state, x.claimed_credit, x.granted_credit,
                   x.opaque, x.random, x.app_version_num, x.appid, x.exit_status, x.teamid, x.priority, x.elapsed_time,
                   x.flops_estimate, x.app_version_id, x.runtime_outlier, x.size_class, x.peak_working_set_size,
                   x.peak_swap_size, x.peak_disk_usage);
            if (const auto at = place.find(x.workunitid); at != place.end())
                all[at->second].results.push_back(std::move(x));
        }
        return all;
    }

    std::int64_t done(std::span<const AssimilatedWorkunit> workunits, std::int64_t now) override {
        Sql sql("UPDATE workunit FORCE INDEX (PRIMARY) SET assimilate_state=2, error_mask=error_mask|");
        bulk::by_id(sql, "id", workunits, [](const AssimilatedWorkunit& w) { return std::int64_t{w.error_mask}; });
        sql << ", transition_time=" << now << " WHERE assimilate_state=1 AND id IN (";
        bulk::id_list(sql, workunits);
        return db_.execute(sql << ")");
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<AssimilateStore> make_assimilate_store(Database& db) {
    return std::make_unique<MysqlAssimilateStore>(db);
}

}  // namespace sluice
