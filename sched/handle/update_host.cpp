// The host's row as it will be after this RPC, and which of the client's platforms the project knows. What a request
// does not describe stays as it is: a replicated trickle message has no host_info (upstream blanks the row then).
#include "host_json.h"
#include "rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr double kUnsupportedPlatformDelay = 86400;

void describe_machine(Host& h, const SchedulerRequest& r) {
    const Host& said = r.host;
    h.timezone = said.timezone;
    h.domain_name = said.domain_name;
    h.nsame_ip_addr = h.last_ip_addr == said.last_ip_addr ? h.nsame_ip_addr + 1 : 0;
    h.last_ip_addr = said.last_ip_addr;
    h.p_ncpus = said.p_ncpus;
    h.p_vendor = said.p_vendor;
    h.p_model = said.p_model;
    h.p_fpops = said.p_fpops;
    h.p_iops = said.p_iops;
    h.p_membw = said.p_membw;
    h.os_name = said.os_name;
    h.os_version = said.os_version;
    h.m_nbytes = said.m_nbytes;
    h.m_cache = said.m_cache;
    h.m_swap = said.m_swap;
    h.d_total = said.d_total;
    h.d_free = said.d_free;
    h.d_boinc_used_total = said.d_boinc_used_total;  // 0 if the client keeps its disk usage to itself
    h.d_boinc_used_project = said.d_boinc_used_project;
    if (r.has_disk_usage) h.d_boinc_max = said.d_boinc_max;
    h.n_bwup = said.n_bwup;
    h.n_bwdown = said.n_bwdown;
    h.product_name = said.product_name;
    h.misc = host_json(r);
}

void describe_gpus(Host& h, const SchedulerRequest& r) {
    h.p_ngpus = 0;
    h.p_gpu_fpops = 0;
    for (const Coproc& c : r.coprocs) {
        h.p_ngpus += c.count;
        h.p_gpu_fpops += c.count * c.peak_flops;
    }
}

void update_row(Rpc& rpc) {
    Host& h = rpc.host;
    const SchedulerRequest& r = rpc.request;
    if (r.has_host_info) {
        describe_machine(h, r);
        describe_gpus(h, r);
        h.duration_correction_factor = r.duration_correction_factor;
    }
    if (r.has_time_stats) {
        h.on_frac = r.host.on_frac;
        h.connected_frac = r.host.connected_frac;
        h.active_frac = r.host.active_frac;
        h.gpu_active_frac = r.host.gpu_active_frac;
    }
    // The hash ties a machine to an account: nobody can pass for another user's host.
    if (!r.host.host_cpid.empty()) h.host_cpid = md5_hex(r.host.host_cpid + rpc.account.user.email_addr);
    h.external_ip_addr = rpc.services.remote_address;
    h.rpc_seqno = rpc.rpc_seqno;
    h.rpc_time = rpc.now_sec;
}

void find_platforms(Rpc& rpc) {
    const ProjectTables& tables = rpc.services.tables;
    const auto add = [&](const std::string& name) {
        if (tables.platform_by_name(name) != nullptr) rpc.platforms.push_back(name);
    };
    add(rpc.request.platform_name);
    if (!rpc.request.anonymous())
        for (const std::string& name : rpc.request.alt_platforms) add(name);
    if (!rpc.platforms.empty()) return;
    // Upstream drops reported results and trickle messages here; only work is refused.
    rpc.say(messages::platform_not_supported(rpc.request.platform_name));
    log_critical("[HOST#{}] platform '{}' not found", rpc.host.id, rpc.request.platform_name);
    rpc.delay(kUnsupportedPlatformDelay);
    rpc.may_send_work = false;
}

/// Global preferences travel between client and account; project preferences say what the volunteer wants computed.
void apply_preferences(Rpc& rpc) {
    User& user = rpc.account.user;
    const SchedulerRequest& r = rpc.request;
    const PrefsDecision decision =
        decide_prefs({r.working_global_prefs, r.global_prefs, user.global_prefs, rpc.host.venue, rpc.weak_key,
                      r.global_prefs_source_email_hash == rpc.email_hash},
                     rpc.now);
    rpc.prefs = decision.effective;
    rpc.reply.send_global_prefs = decision.send_to_client;
    if (decision.store_in_account) {
        if (rpc.config.debug_prefs) log_normal("[prefs] updating db prefs");
        rpc.writes.user.global_prefs_before = user.global_prefs;
        rpc.writes.user.global_prefs = user.global_prefs = r.global_prefs;
    }
    if (rpc.config.debug_prefs)
        log_normal("[prefs] have_master:{} have_working: {} have_db: {}; sending DB prefs: {}", !r.global_prefs.empty(),
                   !r.working_global_prefs.empty(), !user.global_prefs.empty(), decision.send_to_client);
    ProjectPrefs wants = parse_project_prefs(user.project_prefs, rpc.host.venue);
    rpc.pref_max_cpus = wants.max_cpus;
    rpc.user.id = user.id;
    rpc.user.teamid = user.teamid;
    rpc.user.selected_apps = std::move(wants.selected_apps);
    rpc.user.allow_non_preferred_apps = wants.allow_non_preferred_apps;
    rpc.user.allow_beta_work = wants.allow_beta_work;
    rpc.user.dont_use = wants.dont_use;
    rpc.user.max_jobs_in_progress = wants.max_jobs;
    rpc.user.project_prefs = std::move(wants.text);
    rpc.user.user_filter_applies = rpc.config.user_filter;
}

}  // namespace

Stage update_host(Rpc& rpc) {
    update_row(rpc);
    find_platforms(rpc);
    apply_preferences(rpc);
    return Stage::kContinue;
}

}  // namespace sluice
