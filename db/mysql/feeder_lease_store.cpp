// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/errors.h"
#include "sluice/db/feeder_store.h"

namespace sluice {
namespace {

constexpr int kLongestKey = 190;  ///< of name and kind: what a key takes

class MysqlFeederLeaseStore final : public FeederLeaseStore {
  public:
    explicit MysqlFeederLeaseStore(Database& db) : db_(db) {}

    std::vector<FeederLease> renew(const std::string& name, const std::string& kind) override {
        try {
            beat(name, kind);
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
            db_.execute(
                Sql("CREATE TABLE IF NOT EXISTS sluice_feeder (name varchar(190) NOT NULL PRIMARY KEY, kind "
                    "varchar(190) NOT NULL, beat bigint NOT NULL) ENGINE=InnoDB"));
            beat(name, kind);
        }
        std::vector<FeederLease> all;
        Sql sql("SELECT name, beat FROM sluice_feeder WHERE kind=");
        for (Rows r = db_.query(sql << SqlText{kind, kLongestKey} << " ORDER BY name"); r.next();)
            all.push_back({r.text(0), r.i64(1)});
        return all;
    }

    void drop(const FeederLease& lease) override {
        Sql sql("DELETE FROM sluice_feeder WHERE name=");
        db_.execute(sql << SqlText{lease.name, kLongestKey} << " AND beat=" << lease.beat);
    }

    void give_back(const std::string& name) override {
        Sql sql("DELETE FROM sluice_feeder WHERE name=");
        db_.execute(sql << SqlText{name, kLongestKey});
    }

  private:
    void beat(const std::string& name, const std::string& kind) {
        Sql sql("INSERT INTO sluice_feeder (name, kind, beat) VALUES (");
        sql << SqlText{name, kLongestKey} << "," << SqlText{kind, kLongestKey}
            << ",1) ON DUPLICATE KEY UPDATE kind=VALUES(kind), beat=beat+1";
        db_.execute(sql);
    }
    Database& db_;
};

}  // namespace

std::unique_ptr<FeederLeaseStore> make_feeder_lease_store(Database& db) {
    return std::make_unique<MysqlFeederLeaseStore>(db);
}

}  // namespace sluice
