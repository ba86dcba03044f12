// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as a request: bounded, finite, valid UTF-8; and whatever is echoed leaves the reply well-formed.
#include <cmath>
#include <cstdint>

#include "sched/rpc/fields.h"
#include "sched/rpc/messages.h"
#include "sched/rpc/reply.h"
#include "sched/rpc/request.h"
#include "tests/fuzz/rpc/require.h"

namespace {

using namespace sluice;

void check_text(const std::string& text, std::size_t max_bytes) {
    REQUIRE(text.size() <= max_bytes);
    REQUIRE(rpc::to_utf8(text) == text);
}

void check_numbers(const SchedulerRequest& r) {
    const Host& h = r.host;
    for (const double x : {r.work_req_seconds,
                           r.cpu_req_secs,
                           r.cpu_req_instances,
                           r.cpu_estimated_delay,
                           r.duration_correction_factor,
                           r.client_now,
                           h.on_frac,
                           h.active_frac,
                           h.gpu_active_frac,
                           h.connected_frac,
                           h.p_fpops,
                           h.p_iops,
                           h.p_membw,
                           h.m_nbytes,
                           h.m_cache,
                           h.m_swap,
                           h.d_total,
                           h.d_free,
                           h.d_boinc_used_total,
                           h.d_boinc_used_project,
                           h.d_boinc_max,
                           h.n_bwup,
                           h.n_bwdown})
        REQUIRE(std::isfinite(x) && std::abs(x) <= 1e18);
    REQUIRE(r.work_req_seconds >= 0 && r.work_req_seconds <= 28 * 86400);
    REQUIRE(h.p_ncpus >= 1 || !r.has_host_info);
    REQUIRE(r.hostid >= -1);  // -1: an id that nobody has
    REQUIRE(r.client_version() >= 0);
}

void check_host(const SchedulerRequest& r) {
    const Host& h = r.host;
    for (const std::string* s : {&h.domain_name, &h.last_ip_addr, &h.host_cpid, &h.p_vendor, &h.p_model, &h.os_name,
                                 &h.os_version, &h.product_name})
        check_text(*s, 254);
    check_text(r.authenticator, 255);
    REQUIRE(r.authenticator.find('\'') == std::string::npos);
    REQUIRE(r.coprocs.size() <= 32);
    for (const Coproc& c : r.coprocs) {
        REQUIRE(c.count >= 1 && c.count <= 64);
        REQUIRE(c.proc_type == ProcType::kCpu || c.peak_flops > 0);
        REQUIRE(std::isfinite(c.peak_flops * c.count) && c.estimated_delay >= 0 && c.req_secs >= 0);
    }
}

void check_lists(const SchedulerRequest& r) {
    for (const ReportedResult& x : r.results) {
        REQUIRE(!x.name.empty());
        check_text(x.name, 255);
        REQUIRE(x.stderr_out.size() <= 65535 && x.file_infos.size() <= 65535);
        REQUIRE(std::isfinite(x.cpu_time) && std::isfinite(x.elapsed_time));
    }
    for (const TrickleUp& x : r.trickles) {
        check_text(x.variety, 254);
        check_text(x.xml, 262143);
    }
    REQUIRE(r.unknown_tags.size() <= 20 && r.opencl_cpus.size() <= 8 && r.wsl.size() <= 32);
}

void check_reply(const SchedulerRequest& r) {
    SchedulerReply reply;
    reply.extent = ReplyExtent::kFull;
    reply.client_version = r.client_version();
    for (const ReportedResult& x : r.results) reply.result_acks.push_back(x.name);
    for (const OtherResult& x : r.other_results) reply.messages.push_back(messages::no_longer_usable(x.name));
    reply.messages.push_back(messages::platform_not_supported(r.platform_name));
    for (const RequestAppVersion& v : r.app_versions)
        reply.messages.push_back(messages::unknown_app_in_app_info(v.app_name));
    const std::string text = write_reply(reply);
    REQUIRE(text.find("</scheduler_reply>") == text.size() - 19);
    REQUIRE(text.find("<scheduler_reply>", text.find("<scheduler_reply>") + 1) == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ParsedRequest parsed = parse_request({reinterpret_cast<const char*>(data), size}, {});
    REQUIRE(parsed.request.has_value() == parsed.error.empty());
    if (!parsed.request) return 0;
    check_numbers(*parsed.request);
    check_host(*parsed.request);
    check_lists(*parsed.request);
    check_reply(*parsed.request);
    return 0;
}
