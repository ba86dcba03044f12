// SPDX-License-Identifier: LGPL-3.0-or-later
// What the volunteer wants: by the request's preferences, or the account's if those are newer.
#include "sched/handle/rpc.h"

namespace sluice {

/// Global preferences travel between client and account; project preferences say what the volunteer wants computed.
Stage apply_preferences(const Rpc& rpc, Preferences& prefs, RpcWrites& writes, SchedulerReply& reply) {
    const User& user = rpc.who.account.user;
    const SchedulerRequest& r = rpc.request;
    const PrefsDecision decision =
        decide_prefs({r.working_global_prefs, r.global_prefs, user.global_prefs, rpc.rows.host.venue, rpc.who.weak_key,
                      r.global_prefs_source_email_hash == rpc.who.email_hash},
                     rpc.now);
    prefs.global = decision.effective;
    reply.send_global_prefs = decision.send_to_client;
    if (decision.store_in_account) {
        if (rpc.config.debug_prefs) rpc.log.normal("[prefs] updating db prefs");
        writes.user.global_prefs_before = user.global_prefs;
        writes.user.global_prefs = r.global_prefs;
    }
    if (rpc.config.debug_prefs)
        rpc.log.normal("[prefs] have_master:{} have_working: {} have_db: {}; sending DB prefs: {}",
                       !r.global_prefs.empty(), !r.working_global_prefs.empty(),
                       !user.global_prefs.empty() || decision.store_in_account, decision.send_to_client);
    ProjectPrefs wants = parse_project_prefs(user.project_prefs, rpc.rows.host.venue);
    prefs.max_cpus = wants.max_cpus;
    prefs.user.id = user.id;
    prefs.user.teamid = user.teamid;
    prefs.user.selected_apps = std::move(wants.selected_apps);
    prefs.user.allow_non_preferred_apps = wants.allow_non_preferred_apps;
    prefs.user.allow_beta_work = wants.allow_beta_work;
    prefs.user.dont_use = wants.dont_use;
    prefs.user.max_jobs_in_progress = wants.max_jobs;
    prefs.user.project_prefs = std::move(wants.text);
    const std::string& cpid = r.cross_project_id;
    if (!rpc.who.weak_key && !cpid.empty() && cpid != user.cross_project_id) writes.user.cross_project_id = cpid;
    return Stage::kContinue;
}

}  // namespace sluice
