#include "sluice/db/assimilate_store.h"

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
            "r.elapsed_time, r.hostid FROM workunit w LEFT JOIN result r ON r.id=w.canonical_resultid "
            "WHERE w.assimilate_state=1 AND w.appid=");
        sql << f.appid << " AND w.id>" << after;
        if (f.share.n > 0) sql << " AND w.id % " << f.share.n << "=" << f.share.i;
        if (f.wu_id != 0) sql << " AND w.id=" << f.wu_id;
        sql << " ORDER BY w.id LIMIT " << limit;
        std::vector<Assimilable> page;
        Rows r = db_.query(sql);
        while (r.next()) {
            Assimilable a;
            a.wu.id = r.i64(0);
            a.wu.name = r.text(1);
            a.wu.batch = r.i64(2);
            a.wu.error_mask = r.i32(3);
            a.wu.canonical_resultid = r.i64(4);
            a.wu.appid = f.appid;
            if (r.i64(5) != 0) {
                Result result;
                result.id = r.i64(5);
                result.name = r.text(6);
                result.xml_doc_in = r.text(7);
                result.elapsed_time = r.f64(8);
                result.hostid = r.i64(9);
                a.canonical = std::move(result);
            }
            page.push_back(std::move(a));
        }
        return page;
    }

    bool done(Id wu_id, int error_mask, std::int64_t now) override {
        Sql sql("UPDATE workunit SET assimilate_state=2, error_mask=error_mask|");
        sql << error_mask << ", transition_time=" << now << " WHERE assimilate_state=1 AND id=" << wu_id;
        return db_.execute(sql) == 1;
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<AssimilateStore> make_assimilate_store(Database& db) {
    return std::make_unique<MysqlAssimilateStore>(db);
}

}  // namespace sluice
