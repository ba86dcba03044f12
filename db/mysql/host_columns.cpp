// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/host_columns.h"

#include "sluice/base/text.h"

namespace sluice {

Host read_host(const Rows& r, int c) {
    Host h;
    r.read_from(c, h.id, h.create_time, h.userid, h.rpc_seqno, h.rpc_time, h.total_credit, h.expavg_credit,
                h.expavg_time, h.timezone, h.domain_name, h.serialnum, h.last_ip_addr, h.nsame_ip_addr, h.on_frac,
                h.connected_frac, h.active_frac, h.cpu_efficiency, h.duration_correction_factor, h.p_ncpus, h.p_vendor,
                h.p_model, h.p_fpops, h.p_iops, h.p_membw, h.os_name, h.os_version, h.m_nbytes, h.m_cache, h.m_swap,
                h.d_total, h.d_free, h.d_boinc_used_total, h.d_boinc_used_project, h.d_boinc_max, h.n_bwup, h.n_bwdown,
                h.venue, h.avg_turnaround, h.host_cpid, h.external_ip_addr, h.max_results_day, h.error_rate,
                h.product_name, h.gpu_active_frac, h.p_ngpus, h.p_gpu_fpops, h.misc);
    return h;
}

void put_value(Sql& sql, std::int64_t value) { sql << clamp_to_int32(value); }
void put_value(Sql& sql, double value) { sql << value; }
void put_value(Sql& sql, std::string_view value) { sql << SqlText{value}; }
void put_value(Sql& sql, LongText value) { sql << SqlText{value.text, 16000}; }

}  // namespace sluice
