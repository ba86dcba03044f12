// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>

#include "db/mysql/bulk.h"
#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "sluice/db/batch_store.h"

namespace sluice {
namespace {

constexpr std::size_t kRowsAtATime = 5000;  ///< rows a statement and transaction

class MysqlHostLttStore final : public HostLttStore {
  public:
    explicit MysqlHostLttStore(Database& db) : db_(db) {}

    std::vector<VersionTurnaround> of_host(Id host) override {
        std::vector<VersionTurnaround> rows;
        Sql sql(kColumns);
        read(sql << " WHERE host_id=" << host << " ORDER BY app_version_id",
             [&](const VersionTurnaround& v) { rows.push_back(v); });
        return rows;
    }

    void all(const std::function<void(const VersionTurnaround&)>& row) override {
        Sql sql(kColumns);
        read(sql << " ORDER BY host_id, app_version_id", row);
    }

    void write(std::span<const VersionTurnaround> rows, std::span<const std::pair<Id, Id>> gone) override {
        make_tables(db_, {{"sluice_host_ltt",
                           "host_id integer NOT NULL, app_version_id integer NOT NULL, ltt tinyint NOT NULL, "
                           "ratio double NOT NULL, jobs integer NOT NULL, PRIMARY KEY (host_id, app_version_id)"}});
        for (const auto part : bulk::parts(rows, kRowsAtATime)) {
            Sql sql("INSERT INTO sluice_host_ltt (host_id, app_version_id, ltt, ratio, jobs) VALUES ");
            bulk::rows(sql, part, [&](const VersionTurnaround& v) {
                sql << v.host_id << "," << v.version << "," << (v.ltt ? 1 : 0) << "," << v.ratio << "," << v.jobs;
            });
            db_.execute(sql << " ON DUPLICATE KEY UPDATE ltt=VALUES(ltt), ratio=VALUES(ratio), jobs=VALUES(jobs)");
        }
        for (const auto part : bulk::parts(gone, kRowsAtATime)) {
            Sql sql("DELETE FROM sluice_host_ltt WHERE ");
            bulk::pairs(sql, "host_id", "app_version_id", part);
            db_.execute(sql);
        }
    }

  private:
    static constexpr SqlLiteral kColumns{"SELECT host_id, app_version_id, ltt, ratio, jobs FROM sluice_host_ltt"};

    void read(const Sql& sql, const std::function<void(const VersionTurnaround&)>& row) {
        try {
            db_.query_streaming(sql, [&](const Rows& r) { row({r.i64(0), r.i64(1), r.flag(2), r.f64(3), r.i32(4)}); });
        } catch (const DbError& e) {
            if (e.code() != kNoSuchTable) throw;
        }
    }

    Database& db_;
};

}  // namespace

std::unique_ptr<HostLttStore> make_host_ltt_store(Database& db) { return std::make_unique<MysqlHostLttStore>(db); }

}  // namespace sluice
