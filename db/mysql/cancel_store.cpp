// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

class MysqlCancelStore final : public CancelStore {
  public:
    explicit MysqlCancelStore(Database& db) : db_(db) {}

    std::optional<Id> app_id(const std::string& name) override {
        Sql sql("SELECT id FROM app WHERE name=");
        Rows r = db_.query(sql << SqlText{name});
        return r.next() ? std::optional<Id>(r.i64(0)) : std::nullopt;
    }

    std::vector<Id> page(const CancelFilter& f, Id after, int limit) override {
        Sql sql("SELECT id FROM workunit WHERE id>");
        sql << after;
        if (f.first) sql << " AND id>=" << *f.first;
        if (f.last) sql << " AND id<=" << *f.last;
        if (f.batch) sql << " AND batch=" << *f.batch;
        if (f.appid) sql << " AND appid=" << *f.appid;
        if (f.name) sql << " AND name=" << SqlText{*f.name};
        if (f.name_like) sql << " AND name LIKE " << SqlText{*f.name_like};
        // Who names many does not mean those that are done: their late results would get no credit.
        if (f.batch || f.appid || f.name_like) sql << " AND canonical_resultid=0";
        std::vector<Id> ids;
        for (Rows r = db_.query(sql << " ORDER BY id LIMIT " << limit); r.next();) ids.push_back(r.i64(0));
        return ids;
    }

    Cancelled count(const std::vector<Id>& workunits) override {
        Sql sql(
            "SELECT COALESCE(SUM(server_state<=2), 0), COALESCE(SUM(server_state=4), 0) FROM result WHERE workunitid IN (");
        Rows r = db_.query(sql.ids(workunits) << ")");
        Cancelled counted{.workunits = static_cast<std::int64_t>(workunits.size())};
        if (r.next()) r.read(counted.unsent, counted.in_progress);
        return counted;
    }

    Cancelled cancel(const std::vector<Id>& workunits, std::int64_t now) override {
        Cancelled done;
        db_.transaction([&] {
            done = {};
            Sql mark("UPDATE workunit SET error_mask=error_mask|16, transition_time=");
            done.workunits = db_.execute((mark << now << " WHERE id IN (").ids(workunits) << ")");
            Sql end("UPDATE result SET server_state=5, outcome=5 WHERE server_state<=2 AND workunitid IN (");
            done.unsent = db_.execute(end.ids(workunits) << ")");
            Sql running("SELECT COUNT(*) FROM result WHERE server_state=4 AND workunitid IN (");
            Rows r = db_.query(running.ids(workunits) << ")");
            if (r.next()) r.read(done.in_progress);
        });
        return done;
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<CancelStore> make_cancel_store(Database& db) { return std::make_unique<MysqlCancelStore>(db); }

}  // namespace sluice
