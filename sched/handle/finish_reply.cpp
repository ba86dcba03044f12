#include "finish_reply.h"

#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/match/buda.h"

namespace sluice {
namespace {

fs::path time_stats_file(const Rpc& rpc) {
    return fs::path(rpc.config.project_dir) / "time_stats_log" / std::to_string(rpc.host.id % 1000) /
           std::to_string(rpc.host.id);
}

/// When the host's client ran and computed, for projects that study it. Whoever sends it unasked fills no disk.
void time_stats(Rpc& rpc) {
    if (!rpc.config.request_time_stats_log) return;
    const fs::path file = time_stats_file(rpc);
    try {
        if (!rpc.request.time_stats_log.empty()) {
            fs::create_directories(file.parent_path());
            write_file_atomically(file, rpc.request.time_stats_log);
        }
        rpc.reply.send_time_stats_log = !fs::exists(file);
    } catch (const std::exception& e) {
        log_critical("[HOST#{}] can't write time stats: {}", rpc.host.id, e.what());
    }
}

/// Who came with the account's weak key does not get the strong one.
std::string gui_urls_for(const Rpc& rpc) {
    constexpr std::string_view kStrong = "<authenticator/>", kWeak = "<weak_auth/>";
    std::string text = rpc.services.files.gui_urls;
    if (!rpc.weak_key) return text;
    for (auto at = text.find(kStrong); at != std::string::npos; at = text.find(kStrong, at))
        text.replace(at, kStrong.size(), kWeak);
    return text;
}

void resources(Rpc& rpc) {
    rpc.reply.project_has_apps = resources_with_versions(rpc.services.tables, &rpc.services.files.buda);
    for (const Coproc& c : rpc.request.coprocs)
        if (c.count > 0 && c.proc_type != ProcType::kCpu)
            rpc.reply.host_has[static_cast<std::size_t>(c.proc_type)] = true;
}

void account(Rpc& rpc) {
    SchedulerReply& r = rpc.reply;
    r.user = rpc.account.user;
    r.user_known = true;
    r.team = rpc.account.team;
    r.host = rpc.host;
    r.email_hash = rpc.email_hash;
    r.external_cpid = md5_hex(rpc.account.user.cross_project_id + rpc.account.user.email_addr);
}

void project(Rpc& rpc) {
    SchedulerReply& r = rpc.reply;
    r.symstore = rpc.config.symstore;
    r.next_rpc_delay = rpc.config.next_rpc_delay;
    r.non_cpu_intensive = rpc.config.non_cpu_intensive;
    r.strict_memory_bound = rpc.config.strict_memory_bound;
    r.verify_files_on_app_start = rpc.config.verify_files_on_app_start;
    r.delete_files = rpc.screening.delete_files;
    r.project_files = rpc.services.files.project_files;
    r.gui_urls = expand_gui_urls(gui_urls_for(rpc), r);
    r.replace_download_url = rpc.config.replace_download_url_by_timezone;
    r.download_servers = rpc.services.files.download_servers;
    r.max_download_urls_per_file = rpc.config.max_download_urls_per_file;
}

}  // namespace

void finish_reply(Rpc& rpc) {
    rpc.reply.extent = ReplyExtent::kFull;
    for (PlannedJob& job : rpc.jobs) rpc.reply.jobs.push_back(std::move(job.reply));
    time_stats(rpc);
    account(rpc);
    resources(rpc);
    project(rpc);
}

}  // namespace sluice
