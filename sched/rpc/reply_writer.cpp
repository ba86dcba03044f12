// SPDX-License-Identifier: LGPL-3.0-or-later
// The reply's text, element by element in upstream's order. Clients before 4.20 read by line: every scalar stands on
// one line, block tags on lines of their own; no XML prolog.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "sched/rpc/documents.h"
#include "sched/rpc/reply.h"
#include "sluice/base/text.h"
#include "sluice/model/catalogue.h"

namespace sluice {
namespace rpc {
namespace {

/// What the captured replies of the upstream version that we stand for say: 100 * major + minor.
constexpr int kSchedulerVersion = 803;
/// Longer delays would keep a client away for good if a server set one by mistake.
constexpr double kMaxDelay = 2 * 86400;

// Client versions at which the protocol changed.
constexpr int kOneMessageOnly = 41900;  ///< up to here: one <message>, without line feeds
constexpr int kHighPriority = 61100;    ///< up to here: "high" instead of "notice"
constexpr int kTranslates = 61200;      ///< from here: _("…") is sent as it is and translated by the client
constexpr int kKnowsDontUseDcf = 70028;
constexpr int kKnowsNoRscApps = 70040;

void number(std::string& out, std::string_view tag, double value) {
    out += fmt::format("<{0}>{1:.6f}</{0}>\n", tag, value);
}
void integer(std::string& out, std::string_view tag, std::int64_t value) {
    out += fmt::format("<{0}>{1}</{0}>\n", tag, value);
}
void text(std::string& out, std::string_view tag, std::string_view value) {
    out += fmt::format("<{0}>{1}</{0}>\n", tag, value);
}
void flag(std::string& out, std::string_view tag, bool set) {
    if (set) out += fmt::format("<{}/>\n", tag);
}
/// A document of the database or of a file, on lines of its own.
void lines(std::string& out, std::string_view document) {
    out += document;
    if (!document.empty() && document.back() != '\n') out += '\n';
}
void named_blocks(std::string& out, std::string_view tag, const std::vector<std::string>& names) {
    // Names came from the client: nothing in them may look like an element of ours.
    for (const std::string& name : names)
        out += fmt::format("<{0}>\n    <name>{1}</name>\n</{0}>\n", tag, xml_escape(name));
}

/// _("text") -> text, for clients that do not translate.
std::string without_markers(std::string message) {
    replace_all(message, "_(\"", "");
    replace_all(message, "\")", "");
    return message;
}

/// Nothing that ends a message or the reply early may come in with what a client once sent.
std::string harmless(std::string message) {
    replace_all(message, "</message", "< /message");
    replace_all(message, "</scheduler_reply", "< /scheduler_reply");
    return message;
}

void write_messages(std::string& out, const SchedulerReply& reply) {
    if (reply.messages.empty()) return;
    const int version = reply.client_version;
    std::string all;
    bool notice = false;
    for (const ReplyMessage& m : reply.messages) {
        const std::string body = harmless(version < kTranslates ? without_markers(m.text) : m.text);
        notice = notice || m.notice;
        if (version <= kOneMessageOnly) {
            all += body + " ";
        } else {
            const char* priority = !m.notice ? "low" : version <= kHighPriority ? "high" : "notice";
            out += fmt::format("<message priority=\"{}\">{}</message>\n", priority, body);
        }
    }
    if (all.empty()) return;
    std::ranges::replace(all, '\n', ' ');
    out += fmt::format("<message priority=\"{}\">{}</message>\n", notice ? "notice" : "low", all);
}

void write_nucleus(std::string& out, const SchedulerReply& reply) {
    integer(out, "scheduler_version", kSchedulerVersion);
    flag(out, "dont_use_dcf", reply.client_version >= kKnowsDontUseDcf);
    if (!reply.master_url.empty()) text(out, "master_url", reply.master_url);
    if (reply.ended) integer(out, "ended", 1);
    if (const double delay = delay_to_send(reply); delay > 0) number(out, "request_delay", delay);
    write_messages(out, reply);
    text(out, "project_name", reply.project_name);
    if (reply.send_time_stats_log) integer(out, "send_time_stats_log", 1);
    flag(out, "project_is_down", reply.project_is_down);
    flag(out, "send_full_workload", reply.send_full_workload && !reply.project_is_down);
}

void write_identity(std::string& out, const SchedulerReply& reply) {
    if (!reply.symstore.empty()) text(out, "symstore", reply.symstore);
    if (reply.next_rpc_delay > 0) number(out, "next_rpc_delay", reply.next_rpc_delay);
    if (reply.user_known) {
        integer(out, "userid", reply.user.id);
        text(out, "user_name", xml_escape(reply.user.name, true));
        number(out, "user_total_credit", reply.user.total_credit);
        number(out, "user_expavg_credit", reply.user.expavg_credit);
        integer(out, "user_create_time", reply.user.create_time);
        text(out, "email_hash", reply.email_hash);
        if (!reply.user.cross_project_id.empty()) {
            text(out, "cross_project_id", xml_escape(reply.user.cross_project_id));
            text(out, "external_cpid", reply.external_cpid);
        }
        if (reply.send_global_prefs) lines(out, harmless(reply.user.global_prefs));
        lines(out, reply.user.project_prefs.empty() ? "\n" : harmless(reply.user.project_prefs));
    }
    if (reply.send_hostid) integer(out, "hostid", reply.host.id);
    number(out, "host_total_credit", reply.host.total_credit);
    number(out, "host_expavg_credit", reply.host.expavg_credit);
    text(out, "host_venue", xml_escape(reply.host.venue));
    integer(out, "host_create_time", reply.host.create_time);
    if (reply.team.id != 0) integer(out, "teamid", reply.team.id);
    text(out, "team_name", reply.team.id != 0 ? xml_escape(reply.team.name, true) : "");
}

void key_block(std::string& out, std::string_view tag, const std::string& key) {
    if (!key.empty()) out += fmt::format("<{0}>\n{1}\n</{0}>\n", tag, trim(key));
}

/// Which resources the project has nothing for.
void write_no_apps(std::string& out, const SchedulerReply& reply) {
    if (!reply.project_has_apps) return;
    const auto& has = *reply.project_has_apps;
    const auto index = [](ProcType type) { return static_cast<std::size_t>(type); };
    bool any = has[index(ProcType::kCpu)];
    for (std::size_t i = 1; i < kProcTypes; ++i) any = any || (reply.host_has[i] && has[i]);
    if (!any) return;
    if (reply.client_version < kKnowsNoRscApps) {
        integer(out, "no_cpu_apps", !has[index(ProcType::kCpu)]);
        integer(out, "no_cuda_apps", !has[index(ProcType::kNvidia)]);
        integer(out, "no_ati_apps", !has[index(ProcType::kAmd)]);
    }
    for (std::size_t i = 0; i < kProcTypes; ++i) {
        if ((i == 0 || reply.host_has[i]) && !has[i])
            text(out, "no_rsc_apps", proc_type_name(static_cast<ProcType>(i)));
    }
}

Mirrors mirrors_for(const SchedulerReply& reply) {
    Mirrors mirrors;
    if (reply.replace_download_url.empty()) return mirrors;
    mirrors.replace = reply.replace_download_url;
    mirrors.bases = sort_mirrors(reply.download_servers, reply.host.timezone, reply.host.id);
    const auto most = static_cast<std::size_t>(std::max(reply.max_download_urls_per_file, 0));
    if (most > 0 && mirrors.bases.size() > most) mirrors.bases.resize(most);
    return mirrors;
}

std::string app_element(const App& app) {
    return fmt::format(
        "<app>\n    <name>{}</name>\n    <user_friendly_name>{}</user_friendly_name>\n"
        "    <non_cpu_intensive>{:d}</non_cpu_intensive>\n    <fraction_done_exact>{:d}</fraction_done_exact>\n</app>\n",
        app.name, app.user_friendly_name, app.non_cpu_intensive, app.fraction_done_exact);
}

/// What the client merges by name (apps, versions, workunits) once each, in the order of the jobs; then the results.
void write_work(std::string& out, const SchedulerReply& reply) {
    const Mirrors mirrors = mirrors_for(reply);
    std::unordered_set<Id> apps, versions, workunits;
    // An anonymous-platform client has its own apps and versions and refuses ours.
    for (const ReplyJob& job : reply.jobs) {
        if (job.app && job.app_version && !job.version.anonymous && apps.insert(job.app->id).second)
            out += app_element(*job.app);
    }
    for (const ReplyJob& job : reply.jobs) {
        if (!job.app_version || job.version.anonymous || !versions.insert(job.app_version->id).second) continue;
        if (const auto document = app_version_document(job, reply.client_version))
            out += replace_download_urls(*document, mirrors);
    }
    for (const ReplyJob& job : reply.jobs) {
        if (!workunits.insert(job.workunit_id).second) continue;
        if (const auto document = workunit_document(job)) out += replace_download_urls(*document, mirrors) + "\n";
    }
    for (const ReplyJob& job : reply.jobs) {
        if (const auto document = result_document(job)) out += *document;
    }
}

void write_rest(std::string& out, const SchedulerReply& reply) {
    key_block(out, "code_sign_key", reply.code_sign_key);
    key_block(out, "code_sign_key_signature", reply.code_sign_key_signature);
    flag(out, "message_ack", reply.message_ack);
    for (const std::string& message : reply.trickle_downs) lines(out, message);
    flag(out, "non_cpu_intensive", reply.non_cpu_intensive);
    flag(out, "strict_memory_bound", reply.strict_memory_bound);
    flag(out, "verify_files_on_app_start", reply.verify_files_on_app_start);
    for (const std::string& name : reply.delete_files) text(out, "delete_file_info", xml_escape(name));
    for (const std::string& request : reply.file_transfer_requests) lines(out, request);
    write_no_apps(out, reply);
    lines(out, reply.gui_urls);
    lines(out, reply.project_files);
}

}  // namespace
}  // namespace rpc

double delay_to_send(const SchedulerReply& reply) {
    const double interval = reply.min_sendwork_interval;
    const double least = interval > 0 ? std::max(1.01 * interval, interval + 1) : 0;
    return std::min(std::max(finite_or_zero(reply.request_delay), least), rpc::kMaxDelay);
}

Verdict can_send(const ReplyJob& job) {
    const auto broken = [](Reason reason, const std::string& xml) {
        return refuse(reason, static_cast<double>(xml.size()));
    };
    const std::string none;
    const std::string& version = job.app_version ? job.app_version->xml_doc : none;
    if (!job.version.anonymous && !is_whole(version, "app_version")) return broken(Reason::kVersionDocument, version);
    if (!is_whole(job.wu_xml, "workunit")) return broken(Reason::kWorkunitDocument, job.wu_xml);
    if (!is_whole(job.result_xml, "result")) return broken(Reason::kResultDocument, job.result_xml);
    return feasible();
}

std::string write_reply(const SchedulerReply& reply) {
    std::string out = "Content-type: text/xml\n\n<scheduler_reply>\n";
    rpc::write_nucleus(out, reply);
    if (reply.extent == ReplyExtent::kFull && !reply.project_is_down) {
        rpc::write_identity(out, reply);
        rpc::named_blocks(out, "result_ack", reply.result_acks);
        rpc::named_blocks(out, "result_abort", reply.result_aborts);
        rpc::named_blocks(out, "result_abort_if_not_started", reply.result_aborts_if_not_started);
        rpc::write_work(out, reply);
        rpc::write_rest(out, reply);
    }
    return out + "</scheduler_reply>\n";
}

std::string write_early_reply(const std::string& message, double delay, bool ended) {
    const double seconds = std::clamp(finite_or_zero(delay), 0.0, rpc::kMaxDelay);
    return fmt::format(
        "Content-type: text/plain\n\n<scheduler_reply>\n"
        "    <message priority=\"low\">{}</message>\n"
        "    <request_delay>{}</request_delay>\n"
        "    <project_is_down/>\n{}"
        "</scheduler_reply>\n",
        rpc::harmless(message), static_cast<std::int64_t>(seconds), ended ? "    <ended>1</ended>\n" : "");
}

}  // namespace sluice
