// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/finish_reply.h"

#include <algorithm>

#include "sched/handle/appointments.h"
#include "sched/handle/group_jobs.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/match/buda.h"

namespace sluice {
namespace {

fs::path time_stats_file(const Rpc& rpc) {
    return fs::path(rpc.config.project_dir) / "time_stats_log" / std::to_string(rpc.rows.host.id % 1000) /
           std::to_string(rpc.rows.host.id);
}

/// When the host's client ran and computed, for projects that study it. A client that sends it unasked fills no disk.
void time_stats(const Rpc& rpc, SchedulerReply& reply) {
    if (!rpc.config.request_time_stats_log) return;
    const fs::path file = time_stats_file(rpc);
    try {
        if (!rpc.request.time_stats_log.empty()) {
            fs::create_directories(file.parent_path());
            write_file_atomically(file, rpc.request.time_stats_log);
        }
        reply.send_time_stats_log = !fs::exists(file);
    } catch (const std::exception& e) {
        rpc.log.critical("[HOST#{}] can't write time stats: {}", rpc.rows.host.id, e.what());
    }
}

/// Who came with the account's weak key does not get the strong one.
std::string gui_urls_for(const Rpc& rpc) {
    constexpr std::string_view kStrong = "<authenticator/>", kWeak = "<weak_auth/>";
    std::string text = rpc.services.files.gui_urls;
    if (!rpc.who.weak_key) return text;
    for (auto at = text.find(kStrong); at != std::string::npos; at = text.find(kStrong, at))
        text.replace(at, kStrong.size(), kWeak);
    return text;
}

void resources(const Rpc& rpc, SchedulerReply& reply) {
    reply.project_has_apps = resources_with_versions(rpc.services.tables, &rpc.services.files.buda,
                                                     rpc.services.files.plan_classes, rpc.config.compat_level);
    for (const Coproc& c : rpc.request.coprocs)
        if (c.count > 0 && c.proc_type != ProcType::kCpu) reply.host_has[static_cast<std::size_t>(c.proc_type)] = true;
}

void account(const Rpc& rpc, SchedulerReply& r) {
    r.user = rpc.who.account.user;
    r.user_known = true;
    r.team = rpc.who.account.team;
    r.host = rpc.rows.host;
    r.email_hash = rpc.who.email_hash;
    r.external_cpid = md5_hex(rpc.who.account.user.cross_project_id + rpc.who.account.user.email_addr);
}

/// Those that config.xml's patterns say, and those of groups that are over, unless a job of this reply wants one.
std::vector<std::string> files_to_delete(const Rpc& rpc, const std::vector<ReplyJob>& jobs) {
    std::vector<std::string> names = rpc.screening.delete_files;
    for (std::string& name : files_of_past_groups(rpc.services.tables, rpc.request.files, rpc.now_sec)) {
        const std::string element = "<name>" + xml_escape(name) + "</name>";
        const auto wants = [&](const ReplyJob& job) { return job.wu_xml.find(element) != std::string::npos; };
        if (std::ranges::find(names, name) == names.end() && std::ranges::none_of(jobs, wants))
            names.push_back(std::move(name));
    }
    return names;
}

void project(const Rpc& rpc, SchedulerReply& r) {
    r.symstore = rpc.config.symstore;
    r.next_rpc_delay = rpc.config.next_rpc_delay;
    if (const double wait = until_appointment(rpc); wait > 0)
        r.next_rpc_delay = r.next_rpc_delay > 0 ? std::min(r.next_rpc_delay, wait) : wait;
    r.non_cpu_intensive = rpc.config.non_cpu_intensive;
    r.strict_memory_bound = rpc.config.strict_memory_bound;
    r.verify_files_on_app_start = rpc.config.verify_files_on_app_start;
    r.delete_files = files_to_delete(rpc, r.jobs);
    r.project_files = rpc.services.files.project_files;
    r.gui_urls = expand_gui_urls(gui_urls_for(rpc), r);
    r.replace_download_url = rpc.config.replace_download_url_by_timezone;
    r.download_servers = rpc.services.files.download_servers;
    r.max_download_urls_per_file = rpc.config.max_download_urls_per_file;
}

}  // namespace

void finish_reply(const Rpc& rpc, Decision& decision, SchedulerReply& reply) {
    reply.extent = ReplyExtent::kFull;
    for (OutgoingJob& job : decision.jobs) reply.jobs.push_back(std::move(job.reply));
    time_stats(rpc, reply);
    account(rpc, reply);
    resources(rpc, reply);
    project(rpc, reply);
}

}  // namespace sluice
