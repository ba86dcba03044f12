// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <vector>

#include "db/mysql/columns.h"
#include "db/mysql/file_groups.h"
#include "sluice/base/clock.h"
#include "sluice/db/column_size.h"
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

class MysqlWorkStore final : public WorkStore {
  public:
    explicit MysqlWorkStore(Database& db) : db_(db) {}

    std::optional<App> app_by_name(const std::string& name) override {
        Sql sql(
            "SELECT id, name, user_friendly_name, deprecated, n_size_classes, min_avg_pfc, locality_scheduling FROM app WHERE name=");
        Rows rows = db_.query(sql << SqlText{name, 191});
        if (!rows.next()) return std::nullopt;
        App app;
        rows.read(app.id, app.name, app.user_friendly_name, app.deprecated, app.n_size_classes, app.min_avg_pfc,
                  app.locality_scheduling);
        return app;
    }

    std::map<int, double> typical_sizes(Id appid) override { return typical_sizes_of(db_, appid); }

    std::string xml_too_long(JobDocument document, std::size_t bytes) override {
        const bool of_workunit = document == JobDocument::kWorkunit;
        return why_too_long(db_, {of_workunit ? "workunit" : "result", of_workunit ? "xml_doc" : "xml_doc_in"}, bytes);
    }

    std::string why_pinned_job_waits(Id appid, int version_num) override {
        return sluice::why_pinned_job_waits(db_, appid, version_num);
    }

    std::optional<BatchState> batch_state(Id batch) override {
        Sql sql("SELECT state FROM batch WHERE id=");
        Rows r = db_.query(sql << batch);
        if (!r.next()) return std::nullopt;
        return r.code<BatchState>(0);
    }

    void insert(std::span<Workunit> workunits, std::span<const JobRows> rows) override {
        if (workunits.empty()) return;
        const auto write = [&] {
            std::size_t first = 0;
            while (first < workunits.size()) first = insert_some(workunits, rows, first);
            insert_rows(workunits, rows);
        };
        prepare_groups(rows);
        for (int attempt = 1;; ++attempt) {
            try {
                return db_.transaction(write, [&] { return exists(workunits[0]); });
            } catch (const DbError& e) {
                if (e.kind() != DbError::Kind::kLost || attempt == kAttempts) throw;  // nothing was written
            }
        }
    }

    std::optional<BatchChunk> insert_into_batch(Id batch, std::span<const Workunit> workunits,
                                                std::span<const JobRows> rows, std::size_t expected) override {
        std::optional<BatchChunk> chunk;
        const auto write = [&] { chunk = write_into_batch(batch, workunits, rows, expected); };
        prepare_groups(rows);
        for (int attempt = 1;; ++attempt) {
            try {
                db_.transaction(write);
                return chunk;
            } catch (const DbError& e) {
                // What was committed all the same is found to be there.
                if (e.kind() != DbError::Kind::kLost || attempt == kAttempts) throw;
            }
        }
    }

    std::size_t jobs_named(Id batch, const std::string& prefix) override {
        Sql sql("SELECT COUNT(*) FROM workunit FORCE INDEX (wu_batch) WHERE batch=");
        sql << batch << " AND LEFT(name," << prefix.size() << ")=" << SqlText{prefix, 191};
        Rows r = db_.query(sql);
        return r.next() ? static_cast<std::size_t>(r.i64(0)) : 0;
    }

    bool update(const Workunit& w, const JobRows& rows) override {
        prepare_groups({&rows, 1});
        bool there = false;
        db_.transaction([&] {
            Sql sql("UPDATE workunit SET ");
            assign(sql, w);
            there = db_.execute(sql << " WHERE id=" << w.id) == 1;
            if (!there) return;
            add_to_file_groups(db_, {&w, 1}, {&rows.file_group, 1});
            if (rows.check_files) rows.check_files();
        });
        return there;
    }

  private:
    static constexpr int kAttempts = 3;
    std::optional<BatchChunk> write_into_batch(Id batch, std::span<const Workunit> workunits,
                                               std::span<const JobRows> rows, std::size_t expected) {
        Sql lock("SELECT state FROM batch WHERE id=");
        Rows row = db_.query(lock << batch << " FOR UPDATE");
        if (!row.next()) return std::nullopt;
        BatchChunk chunk;
        chunk.state = row.code<BatchState>(0);
        const std::map<std::string, Id> there = batches_of(workunits);
        std::vector<Workunit> left;
        std::vector<JobRows> their_rows;
        for (std::size_t i = 0; i < workunits.size(); ++i) {
            const auto found = there.find(workunits[i].name);
            if (found == there.end()) {
                left.push_back(workunits[i]);
                their_rows.push_back(rows[i]);
            } else if (found->second == batch) {
                ++chunk.present;
            } else if (chunk.taken.empty()) {
                chunk.taken = workunits[i].name;
            }
        }
        if (!left.empty() && chunk.state != BatchState::kInit) chunk.missing = left[0].name;
        chunk.strange = !left.empty() && (chunk.present < expected || has_another_such_line(batch, left[0].name));
        if (!chunk.taken.empty() || !chunk.missing.empty() || chunk.strange || left.empty()) return chunk;
        std::size_t first = 0;
        while (first < left.size()) first = insert_some(left, their_rows, first);
        insert_rows(left, their_rows);
        chunk.inserted = left.size();
        // The lock above holds on one node of a cluster. Whoever changes the batch's state on another writes the row.
        Sql count("UPDATE batch SET njobs=njobs+");
        db_.execute(count << left.size() << " WHERE id=" << batch);
        return chunk;
    }

    /// Of "batch_12_340_1a2b3c4d": line 340 of the batch's file has another content, since somebody else submits
    /// another file at the same time.
    bool has_another_such_line(Id batch, const std::string& name) {
        if (!name.starts_with("batch_" + std::to_string(batch) + "_")) return false;
        std::string pattern;
        for (const char c : name.substr(0, name.rfind('_') + 1)) pattern += c == '_' ? "\\_" : std::string(1, c);
        Sql sql("SELECT 1 FROM workunit WHERE name LIKE ");
        sql << SqlText{pattern + "%", 191} << " LIMIT 1";
        return db_.query(sql).next();
    }

    /// Of those of the names that are there.
    std::map<std::string, Id> batches_of(std::span<const Workunit> workunits) {
        std::map<std::string, Id> all;
        if (workunits.empty()) return all;
        Sql sql("SELECT name, batch FROM workunit WHERE name IN (");
        for (std::size_t i = 0; i < workunits.size(); ++i)
            (i > 0 ? sql << "," : sql) << SqlText{workunits[i].name, 191};
        Rows r = db_.query(sql << ")");
        while (r.next()) all[r.text(0)] = r.i64(1);
        return all;
    }

    /// One multi-row INSERT from `first` on, at most kBulkBytes; where the next one starts.
    std::size_t insert_some(std::span<Workunit> workunits, std::span<const JobRows> rows, std::size_t first) {
        Sql sql(
            "INSERT INTO workunit (create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, "
            "rsc_memory_bound, rsc_disk_bound, need_validate, canonical_resultid, canonical_credit, transition_time, "
            "delay_bound, error_mask, file_delete_state, assimilate_state, hr_class, opaque, min_quorum, "
            "target_nresults, max_error_results, max_total_results, max_success_results, result_template_file, "
            "priority, rsc_bandwidth_bound, fileset_id, app_version_id, transitioner_flags, size_class, keywords, "
            "app_version_num) VALUES ");
        std::size_t next = first;
        for (; next < workunits.size() && sql.size() < Database::kBulkBytes; ++next) {
            if (next > first) sql << ",";
            values(sql, workunits[next]);
        }
        db_.execute(sql);
        workunits[first].id = db_.last_insert_id();
        std::vector<Workunit*> wanted;
        for (std::size_t i = first + 1; i < next; ++i)
            if (i + 1 == workunits.size() || rows[i].assignment || !rows[i].file_group.empty())
                wanted.push_back(&workunits[i]);
        if (!wanted.empty()) read_ids(wanted);
        return next;
    }

    /// The rows of one INSERT get ascending ids, in whatever steps (auto_increment_increment; clusters change it).
    void read_ids(const std::vector<Workunit*>& inserted) {
        Sql sql("SELECT id FROM workunit WHERE name IN (");
        for (std::size_t i = 0; i < inserted.size(); ++i) (i > 0 ? sql << "," : sql) << SqlText{inserted[i]->name, 191};
        Rows rows = db_.query(sql << ") ORDER BY id");
        for (Workunit* w : inserted) {
            if (!rows.next()) throw DbError(DbError::Kind::kOther, 0, "the workunits just inserted are not there");
            w->id = rows.i64(0);
        }
    }

    /// A name is there once, and an id is given out once: a row with both is the one that was inserted here.
    bool exists(const Workunit& w) {
        Sql sql("SELECT 1 FROM workunit WHERE id=");
        return db_.query(sql << w.id << " AND name=" << SqlText{w.name, 191} << " FOR UPDATE").next();
    }

    static void values(Sql& sql, const Workunit& w) {
        sql << "(" << w.create_time << "," << w.appid << "," << SqlText{w.name, 191} << "," << SqlBlob{w.xml_doc} << ","
            << w.batch << "," << w.rsc_fpops_est << "," << w.rsc_fpops_bound << "," << w.rsc_memory_bound << ","
            << w.rsc_disk_bound << ",0,0," << w.canonical_credit << "," << w.transition_time << "," << w.delay_bound
            << ",0,0,0," << w.hr_class << "," << w.opaque << "," << w.min_quorum << "," << w.target_nresults << ","
            << w.max_error_results << "," << w.max_total_results << "," << w.max_success_results << ","
            << SqlText{w.result_template_file, 63} << "," << w.priority << "," << w.rsc_bandwidth_bound << ","
            << w.fileset_id << "," << w.app_version_id << "," << w.transitioner_flags << "," << w.size_class << ","
            << SqlText{w.keywords, 254} << "," << w.app_version_num << ")";
    }

    static void assign(Sql& sql, const Workunit& w) {
        sql << "create_time=" << w.create_time << ", appid=" << w.appid << ", name=" << SqlText{w.name, 191}
            << ", xml_doc=" << SqlBlob{w.xml_doc} << ", batch=" << w.batch << ", rsc_fpops_est=" << w.rsc_fpops_est
            << ", rsc_fpops_bound=" << w.rsc_fpops_bound << ", rsc_memory_bound=" << w.rsc_memory_bound
            << ", rsc_disk_bound=" << w.rsc_disk_bound << ", rsc_bandwidth_bound=" << w.rsc_bandwidth_bound
            << ", need_validate=0, canonical_resultid=0, error_mask=0, file_delete_state=0, canonical_credit="
            << w.canonical_credit << ", assimilate_state=0, transition_time=" << w.transition_time
            << ", delay_bound=" << w.delay_bound << ", hr_class=" << w.hr_class << ", opaque=" << w.opaque
            << ", min_quorum=" << w.min_quorum << ", target_nresults=" << w.target_nresults
            << ", max_error_results=" << w.max_error_results << ", max_total_results=" << w.max_total_results
            << ", max_success_results=" << w.max_success_results
            << ", result_template_file=" << SqlText{w.result_template_file, 63} << ", priority=" << w.priority
            << ", fileset_id=" << w.fileset_id << ", app_version_id=" << w.app_version_id
            << ", transitioner_flags=" << w.transitioner_flags << ", size_class=" << w.size_class
            << ", keywords=" << SqlText{w.keywords, 254} << ", app_version_num=" << w.app_version_num;
    }

    /// Makes the tables if they are needed: not within a transaction.
    void prepare_groups(std::span<const JobRows> rows) {
        const auto grouped = [](const JobRows& row) { return !row.file_group.empty(); };
        if (groups_there_ || std::ranges::none_of(rows, grouped)) return;
        prepare_file_groups(db_);
        groups_there_ = true;
    }

    void insert_rows(std::span<const Workunit> workunits, std::span<const JobRows> rows) {
        Sql sql("INSERT INTO assignment (create_time, target_id, target_type, multi, workunitid, resultid) VALUES ");
        bool any = false;
        std::vector<std::string> groups;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            groups.push_back(rows[i].file_group);
            const auto& assignment = rows[i].assignment;
            if (!assignment) continue;
            if (any) sql << ",";
            sql << "(" << workunits[i].create_time << "," << assignment->target_id << "," << assignment->target_type
                << "," << (assignment->multi ? 1 : 0) << "," << workunits[i].id << ",0)";
            any = true;
        }
        if (any) db_.execute(sql);
        add_to_file_groups(db_, workunits, groups);
        for (const JobRows& row : rows)
            if (!row.file_group.empty() && row.check_files) row.check_files();
    }

    Database& db_;
    bool groups_there_ = false;
};

}  // namespace

std::unique_ptr<WorkStore> make_work_store(Database& db) { return std::make_unique<MysqlWorkStore>(db); }

}  // namespace sluice
