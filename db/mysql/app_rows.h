#pragma once
// What daemons and create_work know of apps and of the sizes of their jobs.
#include <map>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/sql.h"
#include "sluice/model/records.h"

namespace sluice {

/// id, name and n_size_classes, by id. `where`: " WHERE ..." or "".
inline std::vector<App> size_classes_of_apps(Database& db, SqlLiteral where) {
    std::vector<App> apps;
    Sql sql("SELECT id, name, n_size_classes FROM app");
    Rows r = db.query(sql << where << " ORDER BY id");
    while (r.next()) {
        App a;
        a.id = r.i64(0);
        a.name = r.text(1);
        a.n_size_classes = r.i32(2);
        apps.push_back(std::move(a));
    }
    return apps;
}

/// The geometric mean of rsc_fpops_est by size class, of the app's jobs among the newest workunits.
inline std::map<int, double> typical_sizes_of(Database& db, Id appid) {
    // By id: there is no index on the size class, and old jobs say little of those to come.
    Sql sql(
        "SELECT size_class, EXP(AVG(LN(rsc_fpops_est))) FROM workunit FORCE INDEX (PRIMARY) WHERE id > "
        "(SELECT MAX(id) FROM workunit) - 10000 AND size_class>=0 AND rsc_fpops_est>0 AND appid=");
    sql << appid << " AND size_class<(SELECT n_size_classes FROM app WHERE id=" << appid << ") GROUP BY size_class";
    std::map<int, double> sizes;
    Rows rows = db.query(sql);
    while (rows.next()) sizes[rows.i32(0)] = rows.f64(1);
    return sizes;
}

}  // namespace sluice
