// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A scheduler reply as values, and its text in upstream's element order and conventions.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/match/app_choice.h"
#include "sluice/match/verdict.h"
#include "sluice/model/host.h"
#include "sluice/model/user.h"

namespace sluice {

struct App;
struct AppVersion;

struct ReplyMessage {
    std::string text;     ///< translatable texts as upstream holds them: _("text")
    bool notice = false;  ///< priority "notice" (or "high", by client version); else "low"
};

/// A job of the reply with everything its elements are made of.
struct ReplyJob {
    const App* app = nullptr;
    AppChoice version;
    const AppVersion* app_version = nullptr;  ///< null for anonymous platform
    std::string platform_name;                ///< of the version; anonymous: the client's
    Id workunit_id = 0;
    std::string wu_name, wu_xml;  ///< workunit.xml_doc
    std::string keywords;
    /// As in the database: the writer applies version.fpops_scale and version.usage.mem_usage.
    double rsc_fpops_est = 0, rsc_fpops_bound = 0, rsc_memory_bound = 0, rsc_disk_bound = 0;
    Id result_id = 0;
    std::string result_name, result_xml;          ///< result.xml_doc_in
    std::int64_t report_deadline = 0;             ///< without grace
    bool report_immediately = false;              ///< reported as soon as it is done, however late its deadline
    bool is_buda = false;                         ///< usage goes into the workunit too, with the two that follow
    std::string buda_file_infos, buda_file_refs;  ///< of the chosen variant
};

/// Nucleus only: parse error, no database, authentication failure, banned, lock conflict (stage A).
enum class ReplyExtent { kNucleus, kFull };

struct SchedulerReply {
    ReplyExtent extent = ReplyExtent::kNucleus;
    int client_version = 0;
    // stage A
    std::string master_url, project_name;
    bool ended = false;
    double request_delay = 0;  ///< s; 0: none asked for by the server's logic
    double min_sendwork_interval = 0;
    std::vector<ReplyMessage> messages;
    bool send_time_stats_log = false, project_is_down = false, send_full_workload = false;
    // stage B
    std::string symstore;
    double next_rpc_delay = 0;
    User user;
    bool user_known = false;
    std::string email_hash, external_cpid;
    bool send_global_prefs = false;
    bool send_hostid = false;
    Host host;
    Team team;  ///< id 0: none
    // stage C
    std::vector<std::string> result_acks, result_aborts, result_aborts_if_not_started;
    std::vector<ReplyJob> jobs;
    std::string code_sign_key, code_sign_key_signature;  ///< empty: not sent
    bool message_ack = false;
    std::vector<std::string> trickle_downs;
    bool non_cpu_intensive = false, strict_memory_bound = false, verify_files_on_app_start = false;
    std::vector<std::string> delete_files;
    std::vector<std::string> file_transfer_requests;  ///< verbatim
    /// For no_rsc_apps and its predecessors: has the project a version for the type? nullopt: not known, nothing is
    /// written. Nothing is written either where the project has none for any type of the host: some 7.0 clients would
    /// never call again.
    std::optional<std::array<bool, kProcTypes>> project_has_apps;
    std::array<bool, kProcTypes> host_has{true, false, false, false, false};  ///< reported with a count > 0
    std::string gui_urls, project_files;                                      ///< texts, placeholders already replaced
    // download mirrors
    std::string replace_download_url;                           ///< <replace_download_url_by_timezone>; empty: off
    std::vector<std::pair<int, std::string>> download_servers;  ///< (UTC offset s, base URL)
    int max_download_urls_per_file = 0;

    void say(ReplyMessage message) { messages.push_back(std::move(message)); }
    /// At least so many seconds, and at most two days.
    void delay(double seconds) { request_delay = std::min(std::max(request_delay, seconds), 172800.0); }
};

/// Header ("Content-type: text/xml", empty line) and exactly one <scheduler_reply> element. A job whose documents
/// can't be merged (no <workunit>) must have been refused before: see can_send().
std::string write_reply(const SchedulerReply& reply);
/// Can the job's documents be merged? Asked before anything is written to the database.
Verdict can_send(const ReplyJob& job);
/// The early form: Content-type text/plain, one low message, request_delay, project_is_down.
std::string write_early_reply(const std::string& message, double delay, bool ended);

/// The <request_delay> that the reply carries, s: what the server's logic asked for, at least a little more than
/// <min_sendwork_interval>, at most two days. 0: none.
double delay_to_send(const SchedulerReply& reply);

/// gui_urls.xml with the placeholders of the account replaced; <ifteam> blocks dropped for users without team.
std::string expand_gui_urls(const std::string& text, const SchedulerReply& reply);

}  // namespace sluice
