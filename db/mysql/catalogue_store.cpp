// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "db/mysql/columns.h"
#include "db/mysql/file_groups.h"
#include "db/mysql/share_work.h"
#include "db/store_rules.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/catalogue_store.h"

namespace sluice {
namespace {

class MysqlCatalogueStore final : public CatalogueStore {
  public:
    explicit MysqlCatalogueStore(Database& db) : db_(db) {}
    ProjectTables load_tables() override;
    std::vector<FileGroup> keep_file_groups(std::int64_t now) override;
    int update_credit_scales(const ResourceOf& resource) override;
    std::vector<Inactive> inactive_for_ever() override;
    std::vector<Inactive> inactive_and_none_unsent() override;

  private:
    std::vector<Platform> platforms();
    std::vector<AppVersion> versions(bool with_xml);
    std::vector<Assignment> broadcasts();
    HostPerfInfo host_perf();
    std::map<int, std::int64_t> by_class(Id appid, ServerState state);
    std::vector<double> speeds_of_active_hosts();
    bool has_turnaround_verdicts();
    Database& db_;
    FileGroupKeeper file_groups_{db_};
};

std::vector<Platform> MysqlCatalogueStore::platforms() {
    Rows rows = db_.query(Sql("SELECT id, name, user_friendly_name FROM platform WHERE deprecated=0 ORDER BY id"));
    std::vector<Platform> all;
    while (rows.next()) all.push_back({.id = rows.i64(0), .name = rows.text(1), .user_friendly_name = rows.text(2)});
    return all;
}

std::vector<AppVersion> MysqlCatalogueStore::versions(bool with_xml) {
    Sql sql(
        "SELECT id, appid, platformid, version_num, min_core_version, max_core_version, plan_class, pfc_n, pfc_avg, "
        "pfc_scale, expavg_credit, expavg_time, beta, deprecated");
    if (with_xml) sql << ", xml_doc";
    // Old versions of homogeneous apps serve workunits that are committed to them.
    sql << " FROM app_version WHERE deprecated=0 OR appid IN (SELECT id FROM app WHERE homogeneous_app_version<>0 AND "
           "deprecated=0) ORDER BY id";
    Rows rows = db_.query(sql);
    std::vector<AppVersion> all;
    while (rows.next()) {
        AppVersion& v = all.emplace_back();
        rows.read(v.id, v.appid, v.platformid, v.version_num, v.min_core_version, v.max_core_version, v.plan_class,
                  v.pfc_n, v.pfc_avg, v.pfc_scale, v.expavg_credit, v.expavg_time, v.beta, v.deprecated);
        if (with_xml) v.xml_doc = rows.text(14);
    }
    return all;
}

std::vector<Assignment> MysqlCatalogueStore::broadcasts() {
    Rows rows = db_.query(Sql(
        "SELECT id, target_id, target_type, multi, workunitid, resultid FROM assignment WHERE multi<>0 ORDER BY id"));
    std::vector<Assignment> all;
    while (rows.next())
        all.push_back({.id = rows.i64(0),
                       .target_id = rows.i64(1),
                       .target_type = rows.code<AssignTarget>(2),
                       .multi = rows.flag(3),
                       .workunitid = rows.i64(4),
                       .resultid = rows.i64(5)});
    return all;
}

// To read a million hosts takes seconds, and the feeder's slots wait for it. Then 200 hosts after each of a hundred
// evenly spaced ids stand for all.
std::vector<double> MysqlCatalogueStore::speeds_of_active_hosts() {
    constexpr std::int64_t kPlaces = 100, kOfEach = 200;
    Rows ids = db_.query(Sql("SELECT MIN(id), MAX(id) FROM host"));
    if (!ids.next()) return {};
    std::int64_t id = ids.i64(0);
    const std::int64_t step = (ids.i64(1) - id) / kPlaces + 1;
    Sql sql("SELECT p_fpops FROM ");
    if (step <= kOfEach) {
        sql << "host";
    } else {
        sql << "(";
        for (std::int64_t place = 0; place < kPlaces; ++place, id += step) {
            if (place > 0) sql << " UNION ALL ";
            sql << "(SELECT p_fpops, expavg_credit FROM host WHERE id>=" << id << " AND id<" << id + step
                << " ORDER BY id LIMIT " << kOfEach << ")";
        }
        sql << ") h";
    }
    sql << " WHERE expavg_credit>10";
    std::vector<double> speeds;
    for (Rows rows = db_.query(sql); rows.next();) speeds.push_back(rows.f64(0));
    std::sort(speeds.begin(), speeds.end());
    return speeds;
}

HostPerfInfo MysqlCatalogueStore::host_perf() {
    HostPerfInfo perf;
    const std::vector<double> speeds = speeds_of_active_hosts();
    const auto n = static_cast<std::int64_t>(speeds.size());
    if (n < kMinHostsForPerf) return perf;
    const auto size = static_cast<double>(n);
    perf.mean = std::accumulate(speeds.begin(), speeds.end(), 0.0) / size;
    double squares = 0;
    for (const double s : speeds) squares += (s - perf.mean) * (s - perf.mean);
    perf.stddev = std::sqrt(squares / size);
    perf.median = speeds[static_cast<std::size_t>(percentile_index(n, 50))];
    perf.percentile95 = speeds[static_cast<std::size_t>(percentile_index(n, 95))];
    return perf;
}

bool MysqlCatalogueStore::has_turnaround_verdicts() {
    Rows rows = db_.query(
        Sql("SELECT 1 FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name='sluice_host_ltt'"));
    return rows.next();
}

ProjectTables MysqlCatalogueStore::load_tables() {
    ProjectTables tables;
    tables.platforms = platforms();
    tables.apps = all_apps(db_, " WHERE deprecated=0");
    tables.versions = usable_versions(versions(true), tables);
    tables.broadcasts = broadcasts();
    tables.perf = host_perf();
    tables.has_turnaround_verdicts = has_turnaround_verdicts();
    for (const auto& [batch, place] : read_batch_shares(db_)) tables.batch_shares[batch] = place.share;
    tables.plan = make_batch_plan_store(db_)->plan_for_schedulers();
    tables.file_groups = read_file_groups(db_, kMaxFileGroups);
    return tables;
}

std::vector<FileGroup> MysqlCatalogueStore::keep_file_groups(std::int64_t now) {
    file_groups_.keep(now);
    return read_file_groups(db_, kMaxFileGroups);
}

int MysqlCatalogueStore::update_credit_scales(const ResourceOf& resource) {
    const CreditScales scales = new_credit_scales(all_apps(db_, " WHERE deprecated=0"), versions(false), resource);
    if (scales.versions.empty() && scales.apps.empty()) return 0;
    // Always in order of id, as every writer of these tables does.
    db_.transaction([&] {
        for (const AppVersion& v : scales.versions) {
            Sql sql("UPDATE app_version SET pfc_scale=");
            sql << v.pfc_scale << " WHERE id=" << v.id;
            db_.execute(sql);
        }
        for (const App& app : scales.apps) {
            Sql sql("UPDATE app SET min_avg_pfc=");
            sql << app.min_avg_pfc << " WHERE id=" << app.id;
            db_.execute(sql);
        }
    });
    return static_cast<int>(scales.versions.size() + scales.apps.size());
}

/// At most kInactiveLookedAt in all.
std::map<int, std::int64_t> MysqlCatalogueStore::by_class(Id appid, ServerState state) {
    Sql sql("SELECT size_class, COUNT(*) FROM (SELECT size_class FROM result FORCE INDEX (res_app_state) WHERE appid=");
    sql << appid << " AND server_state=" << state << " LIMIT " << kInactiveLookedAt
        << ") r GROUP BY size_class ORDER BY size_class";
    std::map<int, std::int64_t> counts;
    for (Rows rows = db_.query(sql); rows.next();) counts[rows.i32(0)] = rows.i64(1);
    return counts;
}

std::vector<CatalogueStore::Inactive> MysqlCatalogueStore::inactive_for_ever() {
    std::vector<Inactive> found;
    for (const App& app : all_apps(db_, " WHERE deprecated=0")) {
        if (app.size_classes() > 0) continue;
        for (const auto& [size_class, n] : by_class(app.id, ServerState::kInactive))
            found.push_back({app.id, size_class, n});
    }
    return found;
}

std::vector<CatalogueStore::Inactive> MysqlCatalogueStore::inactive_and_none_unsent() {
    std::vector<Inactive> found;
    for (const App& app : all_apps(db_, " WHERE deprecated=0")) {
        if (app.size_classes() == 0) continue;
        const auto inactive = by_class(app.id, ServerState::kInactive);
        if (inactive.empty()) continue;
        const auto unsent = by_class(app.id, ServerState::kUnsent);
        std::int64_t seen = 0;
        for (const auto& [size_class, n] : unsent) seen += n;
        if (seen >= kInactiveLookedAt) continue;
        for (const auto& [size_class, n] : inactive)
            if (!unsent.contains(size_class)) found.push_back({app.id, size_class, n});
    }
    return found;
}

}  // namespace

std::unique_ptr<CatalogueStore> make_catalogue_store(Database& db) { return std::make_unique<MysqlCatalogueStore>(db); }

}  // namespace sluice
