#pragma once
// What the size and batch daemons know of apps.
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

}  // namespace sluice
