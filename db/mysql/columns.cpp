// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/columns.h"

#include "sluice/base/text.h"

namespace sluice {

Workunit read_workunit(const Rows& r, int c) {
    Workunit w;
    r.read_from(c, w.id, w.name, w.xml_doc, w.appid, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound,
                w.rsc_disk_bound, w.rsc_bandwidth_bound, w.need_validate, w.canonical_resultid, w.transition_time,
                w.delay_bound, w.error_mask, w.hr_class, w.target_nresults, w.result_template_file, w.priority,
                w.app_version_id, w.size_class, w.keywords, w.app_version_num, w.transitioner_flags);
    return w;
}

std::optional<std::vector<HostAppVersion>> read_versions_text(Id hostid, std::string_view text) {
    constexpr std::size_t kFields = 14;
    if (text.size() >= kLongestVersionsText) return std::nullopt;
    std::vector<HostAppVersion> versions;
    while (!text.empty()) {
        const std::size_t end = text.find(';');
        if (end == text.npos) return std::nullopt;
        const std::vector<std::string_view> fields = split(text.substr(0, end), ',');
        text.remove_prefix(end + 1);
        if (fields.size() != kFields) return std::nullopt;
        std::size_t next = 0;
        const auto number = [&] { return parse_double(fields[next++]).value_or(0); };
        const auto integer = [&] { return static_cast<int>(number()); };  // of 32 bits: exact as a double
        HostAppVersion v;
        v.host_id = hostid;
        v.app_version_id = integer();
        v.pfc_n = number();
        v.pfc_avg = number();
        for (double* d : {&v.et.n, &v.et.avg, &v.et.var, &v.et.q}) *d = number();
        v.max_jobs_per_day = integer();
        v.n_jobs_today = integer();
        for (double* d : {&v.turnaround.n, &v.turnaround.avg, &v.turnaround.var, &v.turnaround.q}) *d = number();
        v.consecutive_valid = integer();
        versions.push_back(v);
    }
    return versions;
}

Sql select_unsent_jobs() {
    return Sql(
        "SELECT r.id, r.name, r.priority, r.report_deadline, r.server_state, r.create_time, "
        "w.id, w.appid, w.name, w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, "
        "w.rsc_disk_bound, w.rsc_bandwidth_bound, w.canonical_resultid, w.delay_bound, w.error_mask, w.hr_class, "
        "w.target_nresults, w.priority, w.app_version_id, w.transitioner_flags, w.size_class, w.keywords, "
        "w.app_version_num, INSTR(r.xml_doc_in, '<result>') > 0 AND LOCATE('</result>', r.xml_doc_in, "
        "INSTR(r.xml_doc_in, '<result>')) > 0");
}

UnsentJob read_unsent_job(const Rows& rows) {
    UnsentJob job;
    Result& r = job.result;
    Workunit& w = job.workunit;
    rows.read(r.id, r.name, r.priority, r.report_deadline, r.server_state, r.create_time, w.id, w.appid, w.name,
              w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound,
              w.rsc_bandwidth_bound, w.canonical_resultid, w.delay_bound, w.error_mask, w.hr_class, w.target_nresults,
              w.priority, w.app_version_id, w.transitioner_flags, w.size_class, w.keywords, w.app_version_num,
              job.result_is_whole);
    r.workunitid = w.id, r.appid = w.appid;
    return job;
}

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
