// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/host_version_rows.h"

#include "db/mysql/bulk.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

HostAppVersion read_row(const Rows& r) {
    HostAppVersion v;
    r.read(v.host_id, v.app_version_id, v.max_jobs_per_day, v.turnaround.n, v.turnaround.avg, v.turnaround.var,
           v.turnaround.q, v.consecutive_valid);
    return v;
}

}  // namespace

std::map<HostVersionKey, HostAppVersion> lock_host_versions(Database& db, const std::set<HostVersionKey>& keys) {
    std::map<HostVersionKey, HostAppVersion> versions;
    if (keys.empty()) return versions;
    Sql sql(
        "SELECT host_id, app_version_id, max_jobs_per_day, turnaround_n, turnaround_avg, turnaround_var, "
        "turnaround_q, consecutive_valid FROM host_app_version FORCE INDEX (hap) WHERE ");
    bulk::pairs(sql, "host_id", "app_version_id", keys);
    sql << " ORDER BY host_id, app_version_id FOR UPDATE";
    Rows rows = db.query(sql);
    while (rows.next()) {
        HostAppVersion v = read_row(rows);
        versions[{v.host_id, v.app_version_id}] = v;
    }
    return versions;
}

HostAppVersion adopted_host_version(Database& db, HostVersionKey key, const std::set<HostVersionKey>& in_use) {
    const auto [host, version] = key;
    if (!anonymous_version(version)) {
        Sql sql(
            "SELECT hav.host_id, hav.app_version_id, hav.max_jobs_per_day, hav.turnaround_n, hav.turnaround_avg, "
            "hav.turnaround_var, hav.turnaround_q, hav.consecutive_valid FROM app_version mine "
            "JOIN app_version other ON other.appid=mine.appid AND other.platformid=mine.platformid "
            "AND other.plan_class=mine.plan_class AND other.id<>mine.id "
            "JOIN host_app_version hav ON hav.app_version_id=other.id WHERE mine.id=");
        sql << version << " AND hav.host_id=" << host;
        for (auto at = in_use.lower_bound({host, 0}); at != in_use.end() && at->first == host; ++at)
            sql << " AND hav.app_version_id<>" << at->second;
        sql << " ORDER BY other.version_num DESC LIMIT 1 FOR UPDATE";
        Rows rows = db.query(sql);
        if (rows.next()) {
            HostAppVersion v = read_row(rows);
            Sql repoint("UPDATE host_app_version SET app_version_id=");
            repoint << version << " WHERE host_id=" << host << " AND app_version_id=" << v.app_version_id;
            db.execute(repoint);
            v.app_version_id = version;
            return v;
        }
    }
    Sql sql(
        "INSERT INTO host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
        "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
        "consecutive_valid) VALUES (");
    db.execute(sql << host << "," << version << ",0,0,0,0,0,0,0,0,0,0,0,0,0)");
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = version;
    return v;
}

void save_penalties(Database& db, const std::map<HostVersionKey, HostAppVersion>& versions) {
    for (const auto& [key, v] : versions) {
        Sql sql("UPDATE host_app_version SET max_jobs_per_day=");
        sql << v.max_jobs_per_day << ", turnaround_n=" << v.turnaround.n << ", turnaround_avg=" << v.turnaround.avg
            << ", turnaround_var=" << v.turnaround.var << ", turnaround_q=" << v.turnaround.q
            << ", consecutive_valid=" << v.consecutive_valid << " WHERE host_id=" << key.first
            << " AND app_version_id=" << key.second;
        db.execute(sql);
    }
}

}  // namespace sluice
