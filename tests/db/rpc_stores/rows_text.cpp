// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/db/rpc_stores/rows_text.h"

#include <fmt/format.h>

namespace sluice::test {
namespace {

template <typename E>
int code(E e) {
    return static_cast<int>(e);
}

std::string text(const Result& r) {
    return fmt::format(
        "result {} wu {} state {} outcome {} client {} host {} user {} team {} deadline {} sent {} received {} "
        "name {} cpu {} elapsed {} out [{}] err [{}] validate {} exit {} num {} flops {} version {} peaks {} {} {}\n",
        r.id, r.workunitid, code(r.server_state), code(r.outcome), code(r.client_state), r.hostid, r.userid, r.teamid,
        r.report_deadline, r.sent_time, r.received_time, r.name, r.cpu_time, r.elapsed_time, r.xml_doc_out,
        r.stderr_out, code(r.validate_state), r.exit_status, r.app_version_num, r.flops_estimate, r.app_version_id,
        r.peak_working_set_size, r.peak_swap_size, r.peak_disk_usage);
}

std::string text(const Host& h) {
    return fmt::format(
        "host {} user {} seqno {} time {} tz {} name {} ip {} same {} frac {} {} {} {} dcf {} cpus {} {} {} fp {} os {} {} "
        "mem {} disk {} {} {} {} {} bw {} {} cpid {} ext {} product {} gpus {} {} misc [{}] credit {} venue {}\n",
        h.id, h.userid, h.rpc_seqno, h.rpc_time, h.timezone, h.domain_name, h.last_ip_addr, h.nsame_ip_addr, h.on_frac,
        h.connected_frac, h.active_frac, h.gpu_active_frac, h.duration_correction_factor, h.p_ncpus, h.p_vendor,
        h.p_model, h.p_fpops, h.os_name, h.os_version, h.m_nbytes, h.d_total, h.d_free, h.d_boinc_used_total,
        h.d_boinc_used_project, h.d_boinc_max, h.n_bwup, h.n_bwdown, h.host_cpid, h.external_ip_addr, h.product_name,
        h.p_ngpus, h.p_gpu_fpops, h.misc, h.total_credit, h.venue);
}

}  // namespace

std::string rows_text(const FakeDb& db) {
    std::string all;
    for (const auto& [id, r] : db.results) all += text(r);
    for (const auto& [id, h] : db.hosts) all += text(h);
    for (const auto& [id, w] : db.workunits)
        all += fmt::format("workunit {} transition {} hr {} version {} target {} quorum {}\n", id, w.transition_time,
                           w.hr_class, w.app_version_id, w.target_nresults, w.min_quorum);
    for (const auto& [key, v] : db.host_app_versions)
        all += fmt::format("hav {} {} max {} today {} valid {} et {}\n", key.first, key.second, v.max_jobs_per_day,
                           v.n_jobs_today, v.consecutive_valid, v.et.n);
    for (const auto& [id, u] : db.users)
        all += fmt::format("user {} cpid {} prefs [{}]\n", id, u.cross_project_id, u.global_prefs);
    for (const auto& [id, m] : db.from_host)
        all += fmt::format("from {} host {} {} {} [{}] {}\n", id, m.hostid, m.create_time, m.variety, m.xml, m.handled);
    for (const auto& [id, m] : db.to_host) all += fmt::format("to {} host {} handled {}\n", id, m.hostid, m.handled);
    for (const auto& [id, a] : db.assignments) all += fmt::format("assignment {} wu {}\n", id, a.workunitid);
    return all;
}

}  // namespace sluice::test
