// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/app_rows.h"

namespace sluice {

std::vector<App> all_apps(Database& db, SqlLiteral where) {
    Sql sql(
        "SELECT id, name, user_friendly_name, min_version, homogeneous_redundancy, weight, beta, target_nresults, "
        "min_avg_pfc, host_scale_check, homogeneous_app_version, non_cpu_intensive, locality_scheduling, "
        "n_size_classes, fraction_done_exact, deprecated FROM app");
    Rows rows = db.query(sql << where << " ORDER BY id");
    std::vector<App> all;
    while (rows.next()) {
        App& app = all.emplace_back();
        rows.read(app.id, app.name, app.user_friendly_name, app.min_version, app.homogeneous_redundancy, app.weight,
                  app.beta, app.target_nresults, app.min_avg_pfc, app.host_scale_check, app.homogeneous_app_version,
                  app.non_cpu_intensive, app.locality_scheduling, app.n_size_classes, app.fraction_done_exact,
                  app.deprecated);
    }
    return all;
}

std::vector<App> size_classes_of_apps(Database& db, SqlLiteral where) {
    std::vector<App> apps;
    Sql sql("SELECT id, name, n_size_classes FROM app");
    Rows rows = db.query(sql << where << " ORDER BY id");
    while (rows.next()) {
        App& app = apps.emplace_back();
        rows.read(app.id, app.name, app.n_size_classes);
    }
    return apps;
}

std::map<int, double> typical_sizes_of(Database& db, Id appid) {
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
