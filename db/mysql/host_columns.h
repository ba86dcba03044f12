// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The columns of `host` that Sluice reads, in one order for SELECT and reading. The table is called h.
#include <cstdint>
#include <string_view>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

#define SLUICE_HOST_COLUMNS                                                                                       \
    "h.id,h.create_time,h.userid,h.rpc_seqno,h.rpc_time,h.total_credit,h.expavg_credit,h.expavg_time,h.timezone," \
    "h.domain_name,h.serialnum,h.last_ip_addr,h.nsame_ip_addr,h.on_frac,h.connected_frac,h.active_frac,"          \
    "h.cpu_efficiency,h.duration_correction_factor,h.p_ncpus,h.p_vendor,h.p_model,h.p_fpops,h.p_iops,h.p_membw,"  \
    "h.os_name,h.os_version,h.m_nbytes,h.m_cache,h.m_swap,h.d_total,h.d_free,h.d_boinc_used_total,"               \
    "h.d_boinc_used_project,h.d_boinc_max,h.n_bwup,h.n_bwdown,h.venue,h.avg_turnaround,h.host_cpid,"              \
    "h.external_ip_addr,h.max_results_day,h.error_rate,h.product_name,h.gpu_active_frac,h.p_ngpus,h.p_gpu_fpops," \
    "h.misc"
inline constexpr int kHostColumns = 47;

/// Reads them, starting at column `at`.
Host read_host(const Rows& rows, int at);

/// A column of type TEXT; the others are varchar(254).
struct LongText {
    std::string_view text;
    friend bool operator==(const LongText&, const LongText&) = default;
};

/// Every column that the scheduler writes, with its value: visit(SqlLiteral name, value) where value is std::int64_t,
/// double, std::string_view or LongText. In schema order.
template <typename Visit>
void visit_scheduler_columns(const Host& h, Visit visit) {
    using I = std::int64_t;
    using T = std::string_view;
    visit("rpc_seqno", I{h.rpc_seqno});
    visit("rpc_time", I{h.rpc_time});
    visit("timezone", I{h.timezone});
    visit("domain_name", T{h.domain_name});
    visit("last_ip_addr", T{h.last_ip_addr});
    visit("nsame_ip_addr", I{h.nsame_ip_addr});
    visit("on_frac", h.on_frac);
    visit("connected_frac", h.connected_frac);
    visit("active_frac", h.active_frac);
    visit("duration_correction_factor", h.duration_correction_factor);
    visit("p_ncpus", I{h.p_ncpus});
    visit("p_vendor", T{h.p_vendor});
    visit("p_model", T{h.p_model});
    visit("p_fpops", h.p_fpops);
    visit("p_iops", h.p_iops);
    visit("p_membw", h.p_membw);
    visit("os_name", T{h.os_name});
    visit("os_version", T{h.os_version});
    visit("m_nbytes", h.m_nbytes);
    visit("m_cache", h.m_cache);
    visit("m_swap", h.m_swap);
    visit("d_total", h.d_total);
    visit("d_free", h.d_free);
    visit("d_boinc_used_total", h.d_boinc_used_total);
    visit("d_boinc_used_project", h.d_boinc_used_project);
    visit("d_boinc_max", h.d_boinc_max);
    visit("n_bwup", h.n_bwup);
    visit("n_bwdown", h.n_bwdown);
    visit("host_cpid", T{h.host_cpid});
    visit("external_ip_addr", T{h.external_ip_addr});
    visit("product_name", T{h.product_name});
    visit("gpu_active_frac", h.gpu_active_frac);
    visit("p_ngpus", I{h.p_ngpus});
    visit("p_gpu_fpops", h.p_gpu_fpops);
    visit("misc", LongText{h.misc});
}

/// One value as it stands in a statement; integers are forced into 32 bits, the schema's width.
void put_value(Sql& sql, std::int64_t value);
void put_value(Sql& sql, double value);
void put_value(Sql& sql, std::string_view value);
void put_value(Sql& sql, LongText value);

}  // namespace sluice
