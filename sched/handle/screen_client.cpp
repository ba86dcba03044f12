// SPDX-License-Identifier: LGPL-3.0-or-later
// Before the database: who is not served at all, and who can be answered without it. First failing check wins: client
// version, operating system, CPU. Stands for upstream's checks at the start of process_request.
#include <algorithm>

#include "sched/handle/screen_client.h"
#include "sched/rpc/messages.h"

namespace sluice {
namespace {

constexpr double kOneDay = 86400;

bool banned(const RpcServices& s, const SchedulerRequest& r, Screening& out) {
    if (s.config.min_core_client_version > 0 && r.client_version() < s.config.min_core_client_version) {
        s.log.normal("[HOST#{}] Wrong client version from user: wanted {}, got {}", r.hostid,
                     s.config.min_core_client_version, r.client_version());
        out.refuse(Screening::Refused::kOldClient, messages::client_too_old(), kOneDay);
        return true;
    }
    const Host& h = r.host;
    if (s.files.ban_os.matches(h.os_name + "\t" + h.os_version)) {
        s.log.normal("Unacceptable OS {} {}", h.os_name, h.os_version);
        out.refuse(Screening::Refused::kOs, messages::os_not_supported(h.os_name, h.os_version), kOneDay);
        return true;
    }
    if (s.files.ban_cpu.matches(h.p_vendor + "\t" + h.p_model)) {
        s.log.normal("Unacceptable CPU {} {}", h.p_vendor, h.p_model);
        out.refuse(Screening::Refused::kCpu, messages::cpu_not_supported(h.p_vendor, h.p_model), kOneDay);
        return true;
    }
    return false;
}

void missing_fields(const RpcServices& s, const SchedulerRequest& r, Screening& out) {
    if (!r.has_host_info) return;  // a replicated trickle message describes no host
    if (r.host.p_vendor.empty()) {
        s.log.normal("missing p_vendor");
        out.messages.push_back(messages::missing_cpu_type());
    }
    if (r.host.os_name.empty()) {
        s.log.normal("missing os_name");
        out.messages.push_back(messages::missing_os_name());
    }
}

/// In whatever way the request ends.
void warn_of_app_info(const RpcServices& s, const SchedulerRequest& r, Screening& out) {
    if (!r.anonymous()) return;
    for (const RequestAppVersion& v : r.app_versions) {
        if (v.syntax_error)
            out.messages.push_back(messages::syntax_error_in_app_info());
        else if (s.tables.app_by_name(v.app_name) == nullptr)
            out.messages.push_back(messages::unknown_app_in_app_info(v.app_name));
    }
}

/// A minimum version that will come into force: low priority until three days are left.
void announce_upgrade(const RpcServices& s, const SchedulerRequest& r, Screening& out) {
    const int wanted = s.config.min_core_client_version_announced;
    if (r.client_version() >= wanted) return;
    const std::int64_t left = s.config.min_core_client_upgrade_deadline - s.env.clock.now_sec();
    if (left < 3600) return;
    out.messages.push_back(messages::upgrade_announced(left, wanted, r.client_version()));
    s.log.debug("Sending warning: upgrade client {} within {} days {} hours", r.client_version(), left / 86400,
                left / 3600 % 24);
}

/// Nothing to send, nothing reported: answered without the database. Hosts without an id still need one.
void skip_database(const RpcServices& s, const SchedulerRequest& r, Screening& out) {
    if (!out.pool_empty || !s.config.nowork_skip || !r.results.empty() || r.hostid == 0) return;
    // Upstream says so here too and goes on; then the client reads it twice in other words.
    if (s.config.msg_to_host || s.config.enable_vda || !r.trickles.empty()) return;
    out.messages.push_back(messages::no_work_available());
    s.log.normal("No work - skipping DB access");
    out.finished = true;
}

}  // namespace

bool wants_work(const ProjectConfig& config, const SchedulerRequest& r, const ProjectTables& tables) {
    if (r.dont_send_work) return false;
    // Idle processors are a reason to ask, whatever the seconds; upstream does not listen to that alone.
    const bool idle_counts = config.compat_level > 0;
    const auto asks = [&](double seconds, double instances) { return seconds > 0 || (idle_counts && instances > 0); };
    if (r.work_req_seconds > 0 || asks(r.cpu_req_secs, r.cpu_req_instances)) return true;
    const auto gpu_asks = [&](const Coproc& c) {
        return c.proc_type != ProcType::kCpu && c.count > 0 && asks(c.req_secs, c.req_instances);
    };
    if (std::any_of(r.coprocs.begin(), r.coprocs.end(), gpu_asks)) return true;
    return std::any_of(tables.apps.begin(), tables.apps.end(), [](const App& a) { return a.non_cpu_intensive; });
}

Screening screen_client(const RpcServices& s, const SchedulerRequest& r) {
    Screening out;
    for (const StickyFile& file : r.files)
        if (s.files.file_delete.matches(file.name)) out.delete_files.push_back(file.name);
    warn_of_app_info(s, r, out);
    if (s.config.dont_send_jobs) out.refused = Screening::Refused::kDontSendJobs;
    banned(s, r, out);
    missing_fields(s, r, out);
    // Upstream returns here for clients with trickle messages too, and never stores those.
    if (!out.may_send_work() && r.results.empty() && r.trickles.empty()) {
        out.finished = true;
        return out;
    }
    announce_upgrade(s, r, out);
    out.wants_work = wants_work(s.config, r, s.tables);
    const bool assigned = s.config.enable_assignment || s.config.enable_assignment_multi;
    if (out.wants_work && !assigned) out.pool_empty = !s.pool.any_present();
    if (out.wants_work) skip_database(s, r, out);
    return out;
}

}  // namespace sluice
