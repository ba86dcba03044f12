// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/assimilate_store.h"

#include "db/mysql/bulk.h"

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
