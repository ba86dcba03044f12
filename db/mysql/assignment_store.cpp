// SPDX-License-Identifier: LGPL-3.0-or-later
// Targeted and broadcast jobs of one host.
#include <utility>

#include "db/mysql/columns.h"
#include "db/mysql/errors.h"
#include "db/mysql/rpc_store_factories.h"
#include "sluice/db/assignment_store.h"

namespace sluice {
namespace {

/// More than this many assignments of one host wait for its next request.
constexpr int kMostAssignments = 200;

/// Counts over the instances of a workunit; the table is called o.
Sql counts(Id hostid) {
    Sql sql("COALESCE(SUM(o.server_state IN (");
    sql << ServerState::kInactive << "," << ServerState::kUnsent
        << ")),0),COALESCE(SUM(o.server_state=" << ServerState::kInProgress
        << "),0),COALESCE(SUM(o.server_state=" << ServerState::kOver << " AND o.outcome=" << Outcome::kSuccess
        << " AND o.validate_state<>" << ValidateState::kInvalid << "),0),COALESCE(SUM(o.hostid=" << hostid << "),0)";
    return sql;
}

InstanceCounts read_counts(const Rows& r, int c) {
    return {r.i64(c), r.i32(c + 1), r.i32(c + 2), r.i32(c + 3), r.flag(c + 4)};
}

class MysqlAssignmentStore final : public AssignmentStore {
  public:
    explicit MysqlAssignmentStore(Database& db) : db_(db) {}

    std::vector<AssignedJob> load(const AssignmentQuery& query) override {
        try {
            return load_wanted(query);
        } catch (const DbError& e) {
            if (!query.appointed || e.code() != kNoSuchTable) throw;
            return {};  // somebody has dropped it
        }
    }

    std::vector<InstanceCounts> instances_now(std::span<const Id> workunits, Id hostid) override {
        if (workunits.empty()) return {};
        Sql sql("SELECT o.workunitid,");
        sql << counts(hostid) << " FROM result o WHERE o.workunitid IN (";
        Rows r = db_.query(sql.ids(workunits) << ") GROUP BY o.workunitid LOCK IN SHARE MODE");
        std::vector<InstanceCounts> now;
        while (r.next()) now.push_back(read_counts(r, 0));
        return now;
    }

    void insert_results(std::span<const Result> results) override {
        if (results.empty()) return;
        Sql sql(
            "INSERT INTO result (create_time,workunitid,server_state,outcome,client_state,hostid,userid,"
            "report_deadline,sent_time,received_time,name,cpu_time,xml_doc_in,xml_doc_out,stderr_out,batch,"
            "file_delete_state,validate_state,claimed_credit,granted_credit,opaque,random,app_version_num,appid,"
            "exit_status,teamid,priority,elapsed_time,flops_estimate,app_version_id,runtime_outlier,size_class,"
            "peak_working_set_size,peak_swap_size,peak_disk_usage) VALUES ");
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Result& r = results[i];
            if (i > 0) sql << ",";
            sql << "(" << r.create_time << "," << r.workunitid << "," << r.server_state << "," << r.outcome << ","
                << r.client_state << "," << r.hostid << "," << r.userid << "," << r.report_deadline << ","
                << r.sent_time << ",0," << SqlText{r.name, 191} << ",0," << SqlBlob{r.xml_doc_in} << ",'','',"
                << r.batch << ",0,0,0,0,0," << r.random << "," << r.app_version_num << "," << r.appid << ",0,"
                << r.teamid << "," << r.priority << ",0," << r.flops_estimate << "," << r.app_version_id << ",0,"
                << r.size_class << ",0,0,0)";
        }
        db_.enqueue(std::move(sql));
    }

    void remove(std::span<const Id> assignments) override {
        if (assignments.empty()) return;
        Sql sql("DELETE FROM assignment WHERE id IN (");
        db_.enqueue(sql.ids(assignments) << ")");
    }

  private:
    std::vector<AssignedJob> load_wanted(const AssignmentQuery& query) {
        const Sql wanted = wanted_assignments(query);
        if (wanted.size() == 0) return {};
        Sql sql("SELECT a.id,a.target_id,a.target_type,a.multi,a.resultid,a.workunitid,");
        sql << counts(query.hostid) << "," SLUICE_WORKUNIT_COLUMNS " FROM (" << wanted
            << ") a LEFT JOIN workunit w ON w.id=a.workunitid LEFT JOIN result o ON o.workunitid=a.workunitid"
               " GROUP BY a.id ORDER BY a.place,a.id LIMIT "
            << kMostAssignments;
        std::vector<AssignedJob> jobs;
        Rows r = db_.query(sql);
        while (r.next()) {
            AssignedJob& job = jobs.emplace_back();
            job.assignment = {r.i64(0), r.i64(1), r.code<AssignTarget>(2), r.flag(3), r.i64(5), r.i64(4)};
            job.instances = read_counts(r, 5);
            job.workunit = read_workunit(r, 10);
            job.workunit_found = job.workunit.id != 0;
        }
        return jobs;
    }

    /// `place`: the order in which upstream looks at them.
    static Sql wanted_assignments(const AssignmentQuery& q) {
        Sql sql;
        if (q.appointed) {
            sql << "SELECT 0 place, 0 id, l.host_id target_id, " << AssignTarget::kHost
                << " target_type, 0 multi, l.workunit_id workunitid, 0 resultid FROM sluice_gang_lease l WHERE "
                   "l.host_id="
                << q.hostid << " AND l.workunit_id<>0";
            return sql;
        }
        const auto targets = [&](int place, AssignTarget type, Id id) {
            if (id == 0) return;
            if (sql.size() > 0) sql << " UNION ALL ";
            sql << "SELECT " << place << " place,t.* FROM assignment t WHERE t.target_type=" << type
                << " AND t.target_id=" << id << " AND t.multi=0";
        };
        if (q.targeted) {
            targets(0, AssignTarget::kUser, q.userid);
            targets(1, AssignTarget::kHost, q.hostid);
            targets(2, AssignTarget::kTeam, q.teamid);
        }
        if (!q.broadcasts.empty()) {
            std::vector<Id> ids;
            for (const Assignment& a : q.broadcasts) ids.push_back(a.id);
            if (sql.size() > 0) sql << " UNION ALL ";
            sql << "SELECT 3 place,t.* FROM assignment t WHERE t.multi<>0 AND t.id IN (";
            sql.ids(ids) << ")";
        }
        return sql;
    }
    Database& db_;
};

}  // namespace

std::unique_ptr<AssignmentStore> make_assignment_store(Database& db) {
    return std::make_unique<MysqlAssignmentStore>(db);
}

}  // namespace sluice
