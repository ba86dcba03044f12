#include "db/mysql/host_columns.h"

#include "sluice/base/text.h"

namespace sluice {

Host read_host(const Rows& r, int c) {
    Host h;
    h.id = r.i64(c++);
    h.create_time = r.i64(c++);
    h.userid = r.i64(c++);
    h.rpc_seqno = r.i64(c++);
    h.rpc_time = r.i64(c++);
    h.total_credit = r.f64(c++);
    h.expavg_credit = r.f64(c++);
    h.expavg_time = r.f64(c++);
    h.timezone = r.i32(c++);
    h.domain_name = r.text(c++);
    h.serialnum = r.text(c++);
    h.last_ip_addr = r.text(c++);
    h.nsame_ip_addr = r.i32(c++);
    h.on_frac = r.f64(c++);
    h.connected_frac = r.f64(c++);
    h.active_frac = r.f64(c++);
    h.cpu_efficiency = r.f64(c++);
    h.duration_correction_factor = r.f64(c++);
    h.p_ncpus = r.i32(c++);
    h.p_vendor = r.text(c++);
    h.p_model = r.text(c++);
    h.p_fpops = r.f64(c++);
    h.p_iops = r.f64(c++);
    h.p_membw = r.f64(c++);
    h.os_name = r.text(c++);
    h.os_version = r.text(c++);
    h.m_nbytes = r.f64(c++);
    h.m_cache = r.f64(c++);
    h.m_swap = r.f64(c++);
    h.d_total = r.f64(c++);
    h.d_free = r.f64(c++);
    h.d_boinc_used_total = r.f64(c++);
    h.d_boinc_used_project = r.f64(c++);
    h.d_boinc_max = r.f64(c++);
    h.n_bwup = r.f64(c++);
    h.n_bwdown = r.f64(c++);
    h.venue = r.text(c++);
    h.avg_turnaround = r.f64(c++);
    h.host_cpid = r.text(c++);
    h.external_ip_addr = r.text(c++);
    h.max_results_day = r.i32(c++);
    h.error_rate = r.f64(c++);
    h.product_name = r.text(c++);
    h.gpu_active_frac = r.f64(c++);
    h.p_ngpus = r.i32(c++);
    h.p_gpu_fpops = r.f64(c++);
    h.misc = r.text(c++);
    return h;
}

void put_value(Sql& sql, std::int64_t value) { sql << clamp_to_int32(value); }
void put_value(Sql& sql, double value) { sql << value; }
void put_value(Sql& sql, std::string_view value) { sql << SqlText{value}; }
void put_value(Sql& sql, LongText value) { sql << SqlText{value.text, 16000}; }

}  // namespace sluice
