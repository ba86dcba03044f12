#include "host_version_rows.h"

namespace sluice {
namespace {

constexpr Id kFirstAnonymous = 1000000;  ///< generalized ids from here on are of the anonymous platform

HostAppVersion read_row(const Rows& r) {
    HostAppVersion v;
    v.host_id = r.i64(0);
    v.app_version_id = r.i64(1);
    v.max_jobs_per_day = r.i32(2);
    v.turnaround = {r.f64(3), r.f64(4), r.f64(5), r.f64(6)};
    v.consecutive_valid = r.i32(7);
    return v;
}

}  // namespace

std::map<HostVersionKey, HostAppVersion> lock_host_versions(Database& db, const std::set<HostVersionKey>& keys) {
    std::map<HostVersionKey, HostAppVersion> versions;
    if (keys.empty()) return versions;
    Sql sql(
        "select host_id, app_version_id, max_jobs_per_day, turnaround_n, turnaround_avg, turnaround_var, "
        "turnaround_q, consecutive_valid from host_app_version force index (hap) where (host_id, app_version_id) in (");
    bool first = true;
    for (const auto& [host, version] : keys) {
        if (!first) sql << ",";
        first = false;
        sql << "(" << host << "," << version << ")";
    }
    sql << ") order by host_id, app_version_id for update";
    Rows rows = db.query(sql);
    while (rows.next()) {
        HostAppVersion v = read_row(rows);
        versions[{v.host_id, v.app_version_id}] = v;
    }
    return versions;
}

HostAppVersion adopted_host_version(Database& db, HostVersionKey key, const std::set<HostVersionKey>& in_use) {
    const auto [host, version] = key;
    if (version < kFirstAnonymous) {
        Sql sql(
            "select hav.host_id, hav.app_version_id, hav.max_jobs_per_day, hav.turnaround_n, hav.turnaround_avg, "
            "hav.turnaround_var, hav.turnaround_q, hav.consecutive_valid from app_version mine "
            "join app_version other on other.appid=mine.appid and other.platformid=mine.platformid "
            "and other.plan_class=mine.plan_class and other.id<>mine.id "
            "join host_app_version hav on hav.app_version_id=other.id where mine.id=");
        sql << version << " and hav.host_id=" << host;
        for (auto at = in_use.lower_bound({host, 0}); at != in_use.end() && at->first == host; ++at)
            sql << " and hav.app_version_id<>" << at->second;
        sql << " order by other.version_num desc limit 1 for update";
        Rows rows = db.query(sql);
        if (rows.next()) {
            HostAppVersion v = read_row(rows);
            Sql repoint("update host_app_version set app_version_id=");
            repoint << version << " where host_id=" << host << " and app_version_id=" << v.app_version_id;
            db.execute(repoint);
            v.app_version_id = version;
            return v;
        }
    }
    Sql sql(
        "insert into host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
        "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
        "consecutive_valid) values (");
    db.execute(sql << host << "," << version << ",0,0,0,0,0,0,0,0,0,0,0,0,0)");
    HostAppVersion v;
    v.host_id = host;
    v.app_version_id = version;
    return v;
}

void save_penalties(Database& db, const std::map<HostVersionKey, HostAppVersion>& versions) {
    for (const auto& [key, v] : versions) {
        Sql sql("update host_app_version set max_jobs_per_day=");
        sql << v.max_jobs_per_day << ", turnaround_n=" << v.turnaround.n << ", turnaround_avg=" << v.turnaround.avg
            << ", turnaround_var=" << v.turnaround.var << ", turnaround_q=" << v.turnaround.q
            << ", consecutive_valid=" << v.consecutive_valid << " where host_id=" << key.first
            << " and app_version_id=" << key.second;
        db.execute(sql);
    }
}

}  // namespace sluice
