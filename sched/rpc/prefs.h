// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the scheduler reads out of preferences documents. As upstream does it: tags are searched as text, a venue's
// block replaces all the rest, and what does not parse is ignored.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/match/host_facts.h"

namespace sluice {

/// 0 = not set, for every field.
struct GlobalPrefs {
    double mod_time = 0;  ///< UNIX s, never after `now`
    double disk_max_used_gb = 0, disk_max_used_pct = 0, disk_min_free_gb = 0;
    double work_buf_min_days = 0;
    double ram_max_used_busy_frac = 0, ram_max_used_idle_frac = 0;
    double max_ncpus_pct = 0;
};
/// `venue` empty: the text outside all venue blocks. mod_time is read wherever it stands.
GlobalPrefs parse_global_prefs(std::string_view xml, std::string_view venue, double now);

/// Which preferences schedule, which are stored, which are sent (upstream's rules).
struct PrefsDecision {
    GlobalPrefs effective;
    bool store_in_account = false;  ///< user.global_prefs := request's master prefs
    bool send_to_client = false;    ///< the account's are newer than what the client has
};
struct PrefsSources {
    std::string_view working, master, account;  ///< request's two documents, user.global_prefs
    std::string_view venue;                     ///< host.venue
    bool weak_key = false;
    bool from_this_account = false;  ///< global_prefs_source_email_hash is this account's
};
PrefsDecision decide_prefs(const PrefsSources& sources, double now);

struct ProjectPrefs {
    std::vector<Id> selected_apps;  ///< <app_id>, in order; empty: all
    bool allow_non_preferred_apps = false, allow_beta_work = false;
    std::array<bool, kProcTypes> dont_use{};
    int max_jobs = 0, max_cpus = 0;  ///< 0 = no limit
    std::string text;                ///< the part for this venue, for plan classes with project_prefs_tag
};
ProjectPrefs parse_project_prefs(std::string_view xml, std::string_view venue);

/// The content of <venue name="V">; without such a block (or without V) the text with every venue block taken out.
std::string venue_part(std::string_view xml, std::string_view venue);

}  // namespace sluice
