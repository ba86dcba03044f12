// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/database_rows.h"

#include <type_traits>

#include "db/mysql/file_groups.h"

namespace sluice::test {
namespace {

// One list of columns for both directions: visit(column, member); fixed(column) is a column that no record holds.

template <typename V>
void visit(V& v, Platform& r) {
    v("id", r.id), v("name", r.name), v("user_friendly_name", r.user_friendly_name), v("deprecated", r.deprecated);
    v.fixed("create_time");
}
template <typename V>
void visit(V& v, App& r) {
    v("id", r.id), v("name", r.name), v("user_friendly_name", r.user_friendly_name), v("min_version", r.min_version);
    v("deprecated", r.deprecated), v("homogeneous_redundancy", r.homogeneous_redundancy), v("weight", r.weight);
    v("beta", r.beta), v("target_nresults", r.target_nresults), v("min_avg_pfc", r.min_avg_pfc);
    v("host_scale_check", r.host_scale_check), v("homogeneous_app_version", r.homogeneous_app_version);
    v("non_cpu_intensive", r.non_cpu_intensive), v("locality_scheduling", r.locality_scheduling);
    v("n_size_classes", r.n_size_classes), v("fraction_done_exact", r.fraction_done_exact);
    v.fixed("create_time");
}
template <typename V>
void visit(V& v, AppVersion& r) {
    v("id", r.id), v("appid", r.appid), v("platformid", r.platformid), v("version_num", r.version_num);
    v.blob("xml_doc", r.xml_doc), v("min_core_version", r.min_core_version), v("max_core_version", r.max_core_version);
    v("deprecated", r.deprecated), v("plan_class", r.plan_class), v("pfc_n", r.pfc_n), v("pfc_avg", r.pfc_avg);
    v("pfc_scale", r.pfc_scale), v("expavg_credit", r.expavg_credit), v("expavg_time", r.expavg_time),
        v("beta", r.beta);
    v.fixed("create_time");
}
template <typename V>
void visit(V& v, User& r) {
    v("id", r.id), v("create_time", r.create_time), v("email_addr", r.email_addr), v.nullable("name", r.name);
    v.nullable("authenticator", r.authenticator), v("passwd_hash", r.passwd_hash), v("total_credit", r.total_credit);
    v("expavg_credit", r.expavg_credit), v("expavg_time", r.expavg_time), v.blob("global_prefs", r.global_prefs);
    v.blob("project_prefs", r.project_prefs), v("venue", r.venue), v("teamid", r.teamid), v("seti_id", r.seti_id);
    v("cross_project_id", r.cross_project_id);
    v.fixed("send_email"), v.fixed("show_hosts"), v.fixed("posts"), v.fixed("seti_nresults");
    v.fixed("seti_last_result_time"), v.fixed("seti_total_cpu"), v.fixed("has_profile"), v.fixed("email_validated");
    v.fixed("donated");
}
template <typename V>
void visit(V& v, Team& r) {
    v("id", r.id), v("name", r.name);
    v.fixed("create_time"), v.fixed("userid"), v.fixed("type"), v.fixed("nusers"), v.fixed("expavg_time");
}
template <typename V>
void visit(V& v, Host& r) {
    v("id", r.id), v("create_time", r.create_time), v("userid", r.userid), v("rpc_seqno", r.rpc_seqno);
    v("rpc_time", r.rpc_time), v("total_credit", r.total_credit), v("expavg_credit", r.expavg_credit);
    v("expavg_time", r.expavg_time), v("timezone", r.timezone), v("domain_name", r.domain_name);
    v("serialnum", r.serialnum), v("last_ip_addr", r.last_ip_addr), v("nsame_ip_addr", r.nsame_ip_addr);
    v("on_frac", r.on_frac), v("connected_frac", r.connected_frac), v("active_frac", r.active_frac);
    v("cpu_efficiency", r.cpu_efficiency), v("duration_correction_factor", r.duration_correction_factor);
    v("p_ncpus", r.p_ncpus), v("p_vendor", r.p_vendor), v("p_model", r.p_model), v("p_fpops", r.p_fpops);
    v("p_iops", r.p_iops), v("p_membw", r.p_membw), v("os_name", r.os_name), v("os_version", r.os_version);
    v("m_nbytes", r.m_nbytes), v("m_cache", r.m_cache), v("m_swap", r.m_swap), v("d_total", r.d_total);
    v("d_free", r.d_free), v("d_boinc_used_total", r.d_boinc_used_total);
    v("d_boinc_used_project", r.d_boinc_used_project), v("d_boinc_max", r.d_boinc_max), v("n_bwup", r.n_bwup);
    v("n_bwdown", r.n_bwdown), v("venue", r.venue), v("avg_turnaround", r.avg_turnaround), v("host_cpid", r.host_cpid);
    v("external_ip_addr", r.external_ip_addr), v("max_results_day", r.max_results_day), v("error_rate", r.error_rate);
    v("product_name", r.product_name), v("gpu_active_frac", r.gpu_active_frac), v("p_ngpus", r.p_ngpus);
    v("p_gpu_fpops", r.p_gpu_fpops), v.blob("misc", r.misc);
    v.fixed("credit_per_cpu_sec"), v.fixed("nresults_today");
}
template <typename V>
void visit(V& v, HostAppVersion& r) {
    v("host_id", r.host_id), v("app_version_id", r.app_version_id), v("pfc_n", r.pfc_n), v("pfc_avg", r.pfc_avg);
    v("et_n", r.et.n), v("et_avg", r.et.avg), v("et_var", r.et.var), v("et_q", r.et.q);
    v("max_jobs_per_day", r.max_jobs_per_day), v("n_jobs_today", r.n_jobs_today), v("turnaround_n", r.turnaround.n);
    v("turnaround_avg", r.turnaround.avg), v("turnaround_var", r.turnaround.var), v("turnaround_q", r.turnaround.q);
    v("consecutive_valid", r.consecutive_valid);
}
template <typename V>
void visit(V& v, Workunit& r) {
    v("id", r.id), v("create_time", r.create_time), v("appid", r.appid), v("name", r.name),
        v.blob("xml_doc", r.xml_doc);
    v("batch", r.batch), v("rsc_fpops_est", r.rsc_fpops_est), v("rsc_fpops_bound", r.rsc_fpops_bound);
    v("rsc_memory_bound", r.rsc_memory_bound), v("rsc_disk_bound", r.rsc_disk_bound);
    v("rsc_bandwidth_bound", r.rsc_bandwidth_bound), v("need_validate", r.need_validate);
    v("canonical_resultid", r.canonical_resultid), v("canonical_credit", r.canonical_credit);
    v("transition_time", r.transition_time), v("delay_bound", r.delay_bound), v("error_mask", r.error_mask);
    v("file_delete_state", r.file_delete_state), v("assimilate_state", r.assimilate_state), v("hr_class", r.hr_class);
    v("opaque", r.opaque), v("min_quorum", r.min_quorum), v("target_nresults", r.target_nresults);
    v("max_error_results", r.max_error_results), v("max_total_results", r.max_total_results);
    v("max_success_results", r.max_success_results), v("result_template_file", r.result_template_file);
    v("priority", r.priority), v("fileset_id", r.fileset_id), v("app_version_id", r.app_version_id);
    v("transitioner_flags", r.transitioner_flags), v("size_class", r.size_class), v("keywords", r.keywords);
    v("app_version_num", r.app_version_num);
}
template <typename V>
void visit(V& v, Result& r) {
    v("id", r.id), v("create_time", r.create_time), v("workunitid", r.workunitid), v("server_state", r.server_state);
    v("outcome", r.outcome), v("client_state", r.client_state), v("hostid", r.hostid), v("userid", r.userid);
    v("report_deadline", r.report_deadline), v("sent_time", r.sent_time), v("received_time", r.received_time);
    v("name", r.name), v("cpu_time", r.cpu_time), v.blob("xml_doc_in", r.xml_doc_in),
        v.blob("xml_doc_out", r.xml_doc_out);
    v.blob("stderr_out", r.stderr_out), v("batch", r.batch), v("file_delete_state", r.file_delete_state);
    v("validate_state", r.validate_state), v("claimed_credit", r.claimed_credit), v("granted_credit", r.granted_credit);
    v("opaque", r.opaque), v("random", r.random), v("app_version_num", r.app_version_num), v("appid", r.appid);
    v("exit_status", r.exit_status), v("teamid", r.teamid), v("priority", r.priority);
    v("elapsed_time", r.elapsed_time), v("flops_estimate", r.flops_estimate), v("app_version_id", r.app_version_id);
    v("runtime_outlier", r.runtime_outlier), v("size_class", r.size_class);
    v("peak_working_set_size", r.peak_working_set_size), v("peak_swap_size", r.peak_swap_size);
    v("peak_disk_usage", r.peak_disk_usage);
}
template <typename V>
void visit(V& v, Assignment& r) {
    v("id", r.id), v("target_id", r.target_id), v("target_type", r.target_type), v("multi", r.multi);
    v("workunitid", r.workunitid), v("resultid", r.resultid);
    v.fixed("create_time");
}
template <typename V>
void visit(V& v, Batch& r) {
    v("id", r.id), v("user_id", r.user_id), v("app_id", r.app_id), v("create_time", r.create_time);
    v("logical_start_time", r.logical_start_time), v("logical_end_time", r.logical_end_time);
    v("est_completion_time", r.est_completion_time), v("njobs", r.njobs), v("fraction_done", r.fraction_done);
    v("nerror_jobs", r.nerror_jobs), v("state", r.state), v("completion_time", r.completion_time);
    v("credit_estimate", r.credit_estimate), v("credit_canonical", r.credit_canonical),
        v("credit_total", r.credit_total);
    v("name", r.name), v("expire_time", r.expire_time);
    v.fixed("project_state"), v.text_fixed("description");
}
template <typename V>
void visit(V& v, MemoryMessage& r) {
    v("id", r.id), v("hostid", r.hostid), v("create_time", r.create_time), v("variety", r.variety);
    v.blob("xml", r.xml), v("handled", r.handled);
}

/// Columns and values of one row for an INSERT.
struct Writer {
    Sql columns, values;
    void column(SqlLiteral name) {
        if (columns.size() > 0) columns << ",", values << ",";
        columns << name;
    }
    template <typename T>
    void operator()(SqlLiteral name, const T& value) {
        column(name);
        if constexpr (std::is_same_v<T, std::string>)
            values << SqlText{value};
        else
            values << value;
    }
    void blob(SqlLiteral name, const std::string& value) {
        column(name);
        values << SqlBlob{value};
    }
    /// A unique column where '' would collide.
    void nullable(SqlLiteral name, const std::string& value) {
        column(name);
        if (value.empty())
            values << "NULL";
        else
            values << SqlText{value};
    }
    void fixed(SqlLiteral name) { (*this)(name, 0); }
    void text_fixed(SqlLiteral name) { (*this)(name, std::string()); }
};

struct ColumnNames {
    Sql columns;
    template <typename T>
    void operator()(SqlLiteral name, const T&) {
        if (columns.size() > 0) columns << ",";
        columns << name;
    }
    void blob(SqlLiteral name, const std::string& value) { (*this)(name, value); }
    void nullable(SqlLiteral name, const std::string& value) { (*this)(name, value); }
    void fixed(SqlLiteral) {}
    void text_fixed(SqlLiteral) {}
};

struct Reader {
    Rows& rows;
    int column = 0;
    template <typename T>
    void operator()(SqlLiteral, T& value) {
        const int at = column++;
        if constexpr (std::is_same_v<T, std::string>)
            value = rows.text(at);
        else if constexpr (std::is_floating_point_v<T>)
            value = rows.f64(at);
        else
            value = static_cast<T>(rows.i64(at));
    }
    void blob(SqlLiteral name, std::string& value) { (*this)(name, value); }
    void nullable(SqlLiteral name, std::string& value) { (*this)(name, value); }
    void fixed(SqlLiteral) {}
    void text_fixed(SqlLiteral) {}
};

template <typename Map>
void store(Database& db, SqlLiteral table, const Map& rows) {
    for (const auto& [key, row] : rows) {
        Writer writer;
        auto copy = row;
        visit(writer, copy);
        Sql sql("insert into ");
        sql << table << " (" << writer.columns << ") values (" << writer.values << ")";
        db.execute(sql);
    }
}

template <typename Row>
std::vector<Row> load(Database& db, SqlLiteral table) {
    ColumnNames names;
    Row empty;
    visit(names, empty);
    Sql sql("select ");
    sql << names.columns << " from " << table;
    Rows rows = db.query(sql);
    std::vector<Row> all;
    while (rows.next()) {
        Reader reader{rows};
        visit(reader, all.emplace_back());
    }
    return all;
}

template <typename Row, typename Index>
void load_by_id(Database& db, SqlLiteral table, FakeTable<Table<Id, Row, Index>>& into) {
    for (Row& row : load<Row>(db, table)) {
        const Id id = row.id;
        into.put(id, std::move(row));
    }
}

}  // namespace

/// Tables of our own, which the program that fills them makes.
static void store_file_groups(Database& db, const FakeDb& rows) {
    if (rows.file_groups.empty()) return;
    prepare_file_groups(db);
    for (const auto& [id, group] : rows.file_groups) {
        Sql sql("INSERT INTO sluice_file_group (id, name, idle_since) VALUES (");
        db.execute(sql << id << "," << SqlBlob{group.name} << "," << group.idle_since << ")");
    }
    for (const auto& [member, there] : rows.group_workunits) {
        Sql sql("INSERT INTO sluice_file_group_wu (group_id, workunitid) VALUES (");
        db.execute(sql << member.first << "," << member.second << ")");
    }
}

void store_rows(Database& db, const FakeDb& rows) {
    store_file_groups(db, rows);
    db.transaction([&] {
        store(db, "platform", rows.platforms);
        store(db, "app", rows.apps);
        store(db, "app_version", rows.versions);
        store(db, "user", rows.users);
        store(db, "team", rows.teams);
        store(db, "host", rows.hosts);
        store(db, "host_app_version", rows.host_app_versions);
        store(db, "workunit", rows.workunits);
        store(db, "result", rows.results);
        store(db, "assignment", rows.assignments);
        store(db, "batch", rows.batches);
        store(db, "msg_from_host", rows.from_host);
        store(db, "msg_to_host", rows.to_host);
    });
}

FakeDb load_rows(Database& db) {
    FakeDb rows;
    load_by_id(db, "platform", rows.platforms);
    load_by_id(db, "app", rows.apps);
    load_by_id(db, "app_version", rows.versions);
    load_by_id(db, "user", rows.users);
    load_by_id(db, "team", rows.teams);
    load_by_id(db, "host", rows.hosts);
    for (HostAppVersion& row : load<HostAppVersion>(db, "host_app_version"))
        rows.host_app_versions.put({row.host_id, row.app_version_id}, row);
    load_by_id(db, "workunit", rows.workunits);
    load_by_id(db, "result", rows.results);
    load_by_id(db, "assignment", rows.assignments);
    load_by_id(db, "batch", rows.batches);
    load_by_id(db, "msg_from_host", rows.from_host);
    load_by_id(db, "msg_to_host", rows.to_host);
    return rows;
}

}  // namespace sluice::test
