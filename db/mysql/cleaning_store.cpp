// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/cleaning_store.h"

#include <map>

#include "db/mysql/errors.h"

namespace sluice {
namespace {

class MysqlCleaningStore final : public CleaningStore {
  public:
    explicit MysqlCleaningStore(Database& db) : db_(db) {}

    std::optional<Id> app_id(const std::string& name) override {
        Sql sql("SELECT id FROM app WHERE name=");
        Rows r = db_.query(sql << SqlText{name});
        return r.next() ? std::optional<Id>(r.i64(0)) : std::nullopt;
    }

    std::vector<FileOwner> file_owners(FilesOf of, FileDeleteState state, const FileFilter& f, Id after,
                                       int limit) override {
        const bool result = of == FilesOf::kResult;
        Sql sql(result ? SqlLiteral("SELECT id, name, xml_doc_in, outcome, client_state FROM result")
                       : SqlLiteral("SELECT id, name, xml_doc, 0, 0 FROM workunit"));
        sql << " WHERE file_delete_state=" << state << " AND id>" << after;
        if (f.share.n > 0) sql << " AND id % " << f.share.n << "=" << f.share.i;
        if (f.appid != 0) sql << " AND appid=" << f.appid;
        if (!result && !f.xml_doc_like.empty()) sql << " AND xml_doc LIKE " << SqlBlob{f.xml_doc_like};
        std::vector<FileOwner> owners;
        for (Rows r = db_.query(sql << " ORDER BY id LIMIT " << limit); r.next();) {
            FileOwner& o = owners.emplace_back();
            r.read(o.id, o.name, o.xml, o.outcome, o.client_state);
        }
        return owners;
    }

    std::vector<std::string> files_in_use(const std::vector<std::string>& files) override {
        return groups_are_there() ? in_use(files) : std::vector<std::string>();
    }

    std::int64_t delete_files(FilesOf of, const std::vector<Id>& rows, FileDeleteState was,
                              const std::vector<std::string>& files, const DeletingWork& work) override {
        if (rows.empty()) return 0;
        const bool grouped = !files.empty() && groups_are_there();
        std::int64_t marked = 0;
        db_.transaction([&] {
            Sql lock(of == FilesOf::kResult ? SqlLiteral("SELECT id FROM result")
                                            : SqlLiteral("SELECT id FROM workunit"));
            lock << " FORCE INDEX (PRIMARY) WHERE id IN (";
            lock.ids(rows) << ") AND file_delete_state=" << was << " ORDER BY id FOR UPDATE";
            std::vector<Id> released;
            for (Rows r = db_.query(lock); r.next();) released.push_back(r.i64(0));
            if (grouped) lock_groups(files);
            // Asked after the locks: what was committed before them is seen, and nothing can come after.
            const DeletedFiles gone = work(released, grouped ? in_use(files) : std::vector<std::string>());
            mark(of, gone.done, FileDeleteState::kDone);
            if (was != FileDeleteState::kError) mark(of, gone.failed, FileDeleteState::kError);
            marked = static_cast<std::int64_t>(gone.done.size());
            if (was != FileDeleteState::kError) marked += static_cast<std::int64_t>(gone.failed.size());
        });
        return marked;
    }

    std::optional<std::int64_t> oldest_workunit() override {
        Rows r =
            db_.query(Sql("SELECT create_time FROM workunit WHERE name NOT LIKE '%nodelete%' ORDER BY id LIMIT 1"));
        return r.next() ? std::optional<std::int64_t>(r.i64(0)) : std::nullopt;
    }

    std::vector<PurgedWorkunit> purgeable(const PurgeFilter& f, Id after, int limit) override {
        Sql sql(
            "SELECT id, create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, "
            "rsc_disk_bound, need_validate, canonical_resultid, canonical_credit, transition_time, delay_bound, error_mask, "
            "file_delete_state, assimilate_state, hr_class, opaque, min_quorum, target_nresults, max_error_results, "
            "max_total_results, max_success_results, result_template_file, priority, mod_time FROM workunit WHERE "
            "file_delete_state=");
        sql << FileDeleteState::kDone << " AND id>" << after << " AND name NOT LIKE '%nodelete%'";
        if (f.share.n > 0) sql << " AND id % " << f.share.n << "=" << f.share.i;
        if (f.appid != 0) sql << " AND appid=" << f.appid;
        if (f.min_age_days > 0)
            sql << " AND mod_time < CURRENT_TIMESTAMP() - INTERVAL "
                << static_cast<std::int64_t>(f.min_age_days * 86400) << " SECOND";
        if (f.finished_batches)
            sql << " AND (batch=0 OR batch IN (SELECT b.id FROM batch b WHERE b.state=" << BatchState::kRetired << "))";
        else if (f.not_of_open)
            sql << " AND (batch=0 OR NOT EXISTS (SELECT 1 FROM batch b WHERE b.id=workunit.batch AND b.state="
                << BatchState::kInProgress << "))";
        std::vector<PurgedWorkunit> found;
        for (Rows r = db_.query(sql << " ORDER BY id LIMIT " << limit); r.next();) {
            PurgedWorkunit& p = found.emplace_back();
            Workunit& w = p.row;
            r.read(w.id, w.create_time, w.appid, w.name, w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound,
                   w.rsc_memory_bound, w.rsc_disk_bound, w.need_validate, w.canonical_resultid, w.canonical_credit,
                   w.transition_time, w.delay_bound, w.error_mask, w.file_delete_state, w.assimilate_state, w.hr_class,
                   w.opaque, w.min_quorum, w.target_nresults, w.max_error_results, w.max_total_results,
                   w.max_success_results, w.result_template_file, w.priority, p.mod_time);
        }
        if (!found.empty()) read_results(found);
        return found;
    }

    std::int64_t purge(const std::vector<Id>& workunits, bool assignments) override {
        if (workunits.empty()) return 0;
        std::int64_t rows = 0;
        db_.transaction([&] {
            // Workunits first, as everywhere. One that was released anew meanwhile keeps its results.
            Sql lock("SELECT id FROM workunit WHERE id IN (");
            lock.ids(workunits) << ") AND file_delete_state=" << FileDeleteState::kDone << " ORDER BY id FOR UPDATE";
            std::vector<Id> ids;
            for (Rows r = db_.query(lock); r.next();) ids.push_back(r.i64(0));
            rows = static_cast<std::int64_t>(ids.size());
            if (ids.empty()) return;
            db_.enqueue(Sql("DELETE FROM result WHERE workunitid IN (").ids(ids) << ")");
            if (assignments) db_.enqueue(Sql("DELETE FROM assignment WHERE workunitid IN (").ids(ids) << ")");
            db_.enqueue(Sql("DELETE FROM workunit WHERE id IN (").ids(ids) << ")");
        });
        return rows;
    }

  private:
    /// The first job of a group makes the tables. So they may come while this program runs.
    bool groups_are_there() {
        if (groups_) return true;
        try {
            db_.query(Sql("SELECT 1 FROM sluice_file_group LIMIT 1"));
            return groups_ = true;
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            return false;
        }
    }

    static void append_names(Sql& sql, const std::vector<std::string>& files) {
        for (const std::string& file : files) sql << SqlBlob{file} << SqlLiteral(",");
        sql << "'')";
    }

    /// Of a name without a group the gap is locked where such a row would stand.
    void lock_groups(const std::vector<std::string>& files) {
        Sql sql("SELECT id FROM sluice_file_group FORCE INDEX (group_name) WHERE name IN (");
        append_names(sql, files);
        db_.query(sql << " ORDER BY name FOR UPDATE");
    }

    std::vector<std::string> in_use(const std::vector<std::string>& files) {
        std::vector<std::string> used;
        if (files.empty()) return used;
        Sql sql("SELECT g.name FROM sluice_file_group g WHERE g.name IN (");
        append_names(sql, files);
        sql << " AND EXISTS (SELECT 1 FROM sluice_file_group_wu j JOIN workunit w ON w.id=j.workunitid WHERE "
               "j.group_id=g.id AND w.file_delete_state="
            << FileDeleteState::kInit << ")";
        for (Rows r = db_.query(sql); r.next();) used.push_back(r.text(0));
        return used;
    }

    void mark(FilesOf of, const std::vector<Id>& rows, FileDeleteState is) {
        if (rows.empty()) return;
        Sql sql(of == FilesOf::kResult ? SqlLiteral("UPDATE result") : SqlLiteral("UPDATE workunit"));
        sql << " SET file_delete_state=" << is << " WHERE id IN (";
        db_.enqueue(sql.ids(rows) << ")");
    }

    void read_results(std::vector<PurgedWorkunit>& workunits) {
        std::vector<Id> ids;
        std::map<Id, PurgedWorkunit*> by_id;
        for (PurgedWorkunit& w : workunits) ids.push_back(w.row.id), by_id[w.row.id] = &w;
        Sql sql(
            "SELECT id, create_time, workunitid, server_state, outcome, client_state, hostid, userid, report_deadline, "
            "sent_time, received_time, name, cpu_time, xml_doc_in, xml_doc_out, stderr_out, batch, file_delete_state, "
            "validate_state, claimed_credit, granted_credit, opaque, random, app_version_num, app_version_id, appid, "
            "exit_status, teamid, priority, mod_time FROM result WHERE workunitid IN (");
        // Documents of up to 64 KB each: row by row, not twice in memory.
        db_.query_streaming(sql.ids(ids) << ") ORDER BY workunitid, id", [&](const Rows& row) {
            PurgedResult p;
            Result& r = p.row;
            row.read(r.id, r.create_time, r.workunitid, r.server_state, r.outcome, r.client_state, r.hostid, r.userid,
                     r.report_deadline, r.sent_time, r.received_time, r.name, r.cpu_time, r.xml_doc_in, r.xml_doc_out,
                     r.stderr_out, r.batch, r.file_delete_state, r.validate_state, r.claimed_credit, r.granted_credit,
                     r.opaque, r.random, r.app_version_num, r.app_version_id, r.appid, r.exit_status, r.teamid,
                     r.priority, p.mod_time);
            by_id.at(r.workunitid)->results.push_back(std::move(p));
        });
    }

    Database& db_;
    bool groups_ = false;  ///< the tables of file groups are there
};

}  // namespace

std::unique_ptr<CleaningStore> make_cleaning_store(Database& db) { return std::make_unique<MysqlCleaningStore>(db); }

}  // namespace sluice
