#include "sluice/db/cleaning_store.h"

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

    std::int64_t mark(FilesOf of, const std::vector<Id>& ids, FileDeleteState was, FileDeleteState is) override {
        if (ids.empty()) return 0;
        Sql sql(of == FilesOf::kResult ? SqlLiteral("UPDATE result") : SqlLiteral("UPDATE workunit"));
        sql << " SET file_delete_state=" << is << " WHERE file_delete_state=" << was << " AND id IN (";
        sql.ids(ids) << ")";
        std::int64_t rows = 0;
        db_.transaction([&] { rows = db_.execute(sql); });
        return rows;
    }

    std::vector<std::string> files_in_use(const std::vector<std::string>& files) override {
        std::vector<std::string> used;
        if (files.empty() || !groups_) return used;
        Sql sql("SELECT g.name FROM sluice_file_group g WHERE g.name IN (");
        for (const std::string& file : files) sql << SqlBlob{file} << SqlLiteral(",");
        sql << "''";
        sql << ") AND EXISTS (SELECT 1 FROM sluice_file_group_wu j JOIN workunit w ON w.id=j.workunitid WHERE "
               "j.group_id=g.id AND w.assimilate_state<>"
            << AssimilateState::kDone << ")";
        try {
            for (Rows r = db_.query(sql); r.next();) used.push_back(r.text(0));
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            groups_ =
                false;  // until this program starts again: a project that begins with locality restarts its daemons
        }
        return used;
    }

    std::optional<std::int64_t> oldest_workunit() override {
        Rows r =
            db_.query(Sql("SELECT create_time FROM workunit WHERE name NOT LIKE '%nodelete%' ORDER BY id LIMIT 1"));
        return r.next() ? std::optional<std::int64_t>(r.i64(0)) : std::nullopt;
    }

  private:
    Database& db_;
    bool groups_ = true;  ///< the tables of file groups are there
};

}  // namespace

std::unique_ptr<CleaningStore> make_cleaning_store(Database& db) { return std::make_unique<MysqlCleaningStore>(db); }

}  // namespace sluice
