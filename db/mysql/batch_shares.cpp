// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/batch_shares.h"

#include <limits>

#include "db/mysql/errors.h"

namespace sluice {

std::unordered_map<Id, SharePlace> read_batch_shares(Database& db) {
    std::unordered_map<Id, SharePlace> places;
    const auto read = [&](Rows rows) {
        while (rows.next()) {
            const double end = rows.flag(2) ? rows.f64(3) : std::numeric_limits<double>::infinity();
            places[rows.i64(0)] = {{rows.i64(1), end, rows.f64(4)}, rows.f64(5)};
        }
    };
    try {
        Rows any =
            db.query(Sql("SELECT EXISTS (SELECT 1 FROM sluice_share_batch WHERE finished=0) OR EXISTS (SELECT 1 FROM "
                         "sluice_share_stream)"));
        if (!any.next() || !any.flag(0)) return places;
        read(db.query(Sql(
            "SELECT b.id, b.user_id, s.batch_id IS NOT NULL, COALESCE(s.end_tag,0), COALESCE(u.quota,0), 0 FROM batch b "
            "LEFT JOIN sluice_share_batch s ON s.batch_id=b.id AND s.finished=0 LEFT JOIN user_submit u ON "
            "u.user_id=b.user_id WHERE b.state=1")));
        read(db.query(Sql(
            "SELECT b.id, b.user_id, COALESCE(u.quota,0)>0, COALESCE(u.logical_start_time,0)+t.head, COALESCE(u.quota,0), "
            "t.head FROM sluice_share_stream t JOIN batch b ON b.id=t.batch_id LEFT JOIN user_submit u ON "
            "u.user_id=b.user_id WHERE b.state=0")));
        read(db.query(Sql(
            "SELECT t.batch_id, t.user_id, COALESCE(u.quota,0)>0, COALESCE(u.logical_start_time,0)+t.head, "
            "COALESCE(u.quota,0), t.head FROM sluice_share_stream t LEFT JOIN user_submit u ON u.user_id=t.user_id WHERE "
            "t.batch_id=0")));
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    return places;
}

}  // namespace sluice
