// SPDX-License-Identifier: LGPL-3.0-or-later
// A scheduler request of any client from 5.x to 8.x. Stands for upstream's SCHEDULER_REQUEST::parse; the elements are
// its own, the limits below are ours. Linear in the size of the input: every byte is read by one parser, and raw
// documents are cut out, not scanned again.
//
// Upstream gives up on a deprecated element with text, an empty boolean pair, or preferences that are too long. Here
// they are skipped, and the rest counts.
#include <algorithm>
#include <unordered_set>

#include "sched/rpc/fields.h"
#include "sched/rpc/parse_parts.h"
#include "sluice/base/text.h"

namespace sluice {
namespace rpc {
namespace {

/// Upstream's buffer for a preferences document, wrapper included.
constexpr std::size_t kMaxPreferences = 65535;
/// Upstream's buffer for a key.
constexpr std::size_t kMaxKey = 4095;
/// A log that grew for years; its end is kept, which is what the server has not seen yet.
constexpr std::size_t kMaxTimeStatsLog = std::size_t{4} << 20;
constexpr std::size_t kMaxUnknownTags = 20, kMaxUnknownTag = 64;
/// 10000 * major stays a 32-bit number.
constexpr int kMaxVersionPart = 99999;

using R = SchedulerRequest;
constexpr Field<R> kFields[] = {
    {"authenticator", &R::authenticator},
    {"cross_project_id", &R::cross_project_id, kColumnText},
    {"hostid", &R::hostid},
    {"rpc_seqno", &R::rpc_seqno},
    {"core_client_major_version", &R::core_major},
    {"core_client_minor_version", &R::core_minor},
    {"core_client_release", &R::core_release},
    {"platform_name", &R::platform_name},
    {"work_req_seconds", &R::work_req_seconds},
    {"cpu_req_secs", &R::cpu_req_secs},
    {"cpu_req_instances", &R::cpu_req_instances},
    {"estimated_delay", &R::cpu_estimated_delay},
    {"duration_correction_factor", &R::duration_correction_factor},
    {"dont_send_work", &R::dont_send_work},
    {"client_cap_plan_class", &R::client_cap_plan_class},
    {"dont_use_docker", &R::dont_use_docker},
    {"dont_use_wsl", &R::dont_use_wsl},
    {"allow_multiple_clients", &R::allow_multiple_clients},
    {"global_prefs_source_email_hash", &R::global_prefs_source_email_hash, 63},
};

using ParseBlock = void (*)(XmlReader&, ParseState&);
constexpr struct {
    std::string_view tag;
    ParseBlock parse;
} kBlocks[] = {
    {"result", parse_result},
    {"other_results", parse_other_results},
    {"in_progress_results", parse_in_progress_results},
    {"app_versions", parse_app_versions},
    {"file_info", parse_file_info},
    {"msg_from_host", parse_trickle},
    {"host_info", parse_host_info},
    {"time_stats", parse_time_stats},
    {"net_stats", parse_net_stats},
    {"disk_usage", parse_disk_usage},
    {"coprocs", parse_coprocs},
    {"alt_platform", parse_alt_platform},
    {"user_keywords", parse_user_keywords},
};

/// Sent by some client at some time, without use for a server: skipped with their content, and not worth a log line.
constexpr std::string_view kIgnored[] = {"client_brand",
                                         "resource_share_fraction",
                                         "rrs_fraction",
                                         "prrs_fraction",
                                         "sandbox",
                                         "uptime",
                                         "previous_uptime",
                                         "host_venue",
                                         "active_task_set",
                                         "app",
                                         "app_version",
                                         "duration_variability",
                                         "new_version_check_time",
                                         "newer_version",
                                         "project",
                                         "project_files",
                                         "proxy_info",
                                         "user_network_request",
                                         "user_run_request",
                                         "master_url",
                                         "project_name",
                                         "user_name",
                                         "team_name",
                                         "email_hash",
                                         "user_total_credit",
                                         "user_expavg_credit",
                                         "user_create_time",
                                         "host_total_credit",
                                         "host_expavg_credit",
                                         "host_create_time",
                                         "nrpc_failures",
                                         "master_fetch_failures",
                                         "min_rpc_time",
                                         "short_term_debt",
                                         "long_term_debt",
                                         "resource_share",
                                         "scheduler_url",
                                         "daily_xfer_history",
                                         "client_opaque",
                                         "job_log"};

/// The raw text up to the end tag; empty if there is none or it is longer than `max_bytes`.
std::string_view raw(XmlReader& xml, std::size_t max_bytes) {
    if (xml.empty_element()) return {};
    const auto text = xml.raw_to_end();
    return text && text->size() <= max_bytes ? *text : std::string_view();
}

bool read_raw_document(XmlReader& xml, SchedulerRequest& request) {
    if (xml.name() == "global_preferences") {
        constexpr std::string_view kOpen = "<global_preferences>", kClose = "</global_preferences>";
        const auto body = raw(xml, kMaxPreferences - kOpen.size() - kClose.size());
        request.global_prefs.clear();
        if (!body.empty()) request.global_prefs = to_utf8(std::string(kOpen).append(body).append(kClose));
        if (request.global_prefs.size() > kMaxPreferences) request.global_prefs.clear();
    } else if (xml.name() == "working_global_preferences") {
        request.working_global_prefs = to_utf8(raw(xml, kMaxPreferences));
    } else if (xml.name() == "code_sign_key") {
        request.code_sign_key = trim(raw(xml, std::string_view::npos));
        if (request.code_sign_key.size() > kMaxKey) request.code_sign_key.clear();
    } else if (xml.name() == "time_stats_log") {
        std::string_view log = raw(xml, std::string_view::npos);
        if (log.size() > kMaxTimeStatsLog) {
            log.remove_prefix(log.size() - kMaxTimeStatsLog);
            log.remove_prefix(std::min(log.find('\n'), log.size() - 1) + 1);
        }
        request.time_stats_log = log;
    } else {
        return false;
    }
    return true;
}

void parse_element(XmlReader& xml, ParseState& state) {
    if (read_field(xml, state.request, kFields) || read_raw_document(xml, state.request)) return;
    for (const auto& block : kBlocks) {
        if (block.tag == xml.name()) return block.parse(xml, state);
    }
    if (std::ranges::find(kIgnored, xml.name()) != std::end(kIgnored)) return xml.skip();
    state.unknown(xml);
}

double at_least_0(double value, double most) { return std::clamp(value, 0.0, most); }

void clean_scalars(SchedulerRequest& r) {
    r.authenticator.resize(std::min(r.authenticator.find_first_of("'\""), r.authenticator.size()));
    r.hostid = std::max<Id>(r.hostid, -1);  // no host has such an id: the client is told so
    r.rpc_seqno = clamp_to_int32(r.rpc_seqno);
    for (int* part : {&r.core_major, &r.core_minor, &r.core_release}) *part = std::clamp(*part, 0, kMaxVersionPart);
    r.work_req_seconds = at_least_0(r.work_req_seconds, kMaxRequestSeconds);
    r.cpu_req_secs = at_least_0(r.cpu_req_secs, kMaxRequestSeconds);
    r.cpu_req_instances = at_least_0(r.cpu_req_instances, kMaxRequestInstances);
    r.cpu_estimated_delay = at_least_0(r.cpu_estimated_delay, kMaxNumber);
    for (Coproc& coproc : r.coprocs) {
        if (coproc.estimated_delay < 0) coproc.estimated_delay = r.cpu_estimated_delay;
    }
}

/// Of two results with one name the first counts, as upstream.
void drop_repeated_results(std::vector<ReportedResult>& results) {
    std::unordered_set<std::string> seen;
    std::erase_if(results, [&](const ReportedResult& r) { return !seen.insert(r.name).second; });
}

/// Null and positioned on <scheduler_request>, or the error.
const char* find_root(XmlReader& xml) {
    for (;;) {
        const auto kind = xml.next();
        if (kind == XmlReader::Kind::kEof) return "xp.get_tag() failed";
        if (kind != XmlReader::Kind::kStart) continue;
        return xml.name() == "scheduler_request" && !xml.empty_element() ? nullptr : "no start tag";
    }
}

}  // namespace

void ParseState::unknown(XmlReader& xml) {
    if (request.unknown_tags.size() < kMaxUnknownTags)
        request.unknown_tags.push_back(to_utf8(xml.name().substr(0, kMaxUnknownTag)));
    xml.skip();
}

}  // namespace rpc

ParsedRequest parse_request(std::string_view text, const RequestLimits& limits,
                            const std::function<void(std::size_t)>& done_with) {
    constexpr std::size_t kNowAndThen = 1 << 20;  // bytes
    ParsedRequest parsed;
    if (text.size() > limits.max_bytes) {
        parsed.error = "request too large";
        return parsed;
    }
    XmlReader xml(text);
    if (const char* error = rpc::find_root(xml)) {
        parsed.error = error;
        return parsed;
    }
    SchedulerRequest request;
    rpc::ParseState state{request, limits};
    std::size_t told = 0;
    while (xml.next_child("scheduler_request")) {
        rpc::parse_element(xml, state);
        if (!done_with || xml.position() < told + kNowAndThen) continue;
        done_with(told = xml.position());
    }
    if (xml.name() != "scheduler_request") {  // the end of the input came before the end tag
        parsed.error = "no end tag";
        return parsed;
    }
    rpc::clean_scalars(request);
    rpc::drop_repeated_results(request.results);
    parsed.request = std::move(request);
    return parsed;
}

}  // namespace sluice
