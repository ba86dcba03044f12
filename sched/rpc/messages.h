// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What volunteers read: upstream's wording, priority and translation markers, because clients and admins' scripts look
// for them. A text as _("…") is translated by clients from 6.12 on; the writer takes the marker off for older ones.
//
// Some texts exist with and without marker, as upstream has them at its different places. Arguments that a client chose
// (names, types) are cleaned: no message can end early or bring elements of its own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sched/rpc/reply.h"

namespace sluice::messages {

// Requests that get no further
ReplyMessage bad_request(std::string_view error);  ///< of ParsedRequest::error
ReplyMessage cant_find_host();
ReplyMessage bad_key_of_known_host();  ///< with hostid
ReplyMessage bad_key();                ///< first contact
ReplyMessage host_is_banned();
ReplyMessage another_instance();
ReplyMessage cant_open_database();
ReplyMessage database_failed();    ///< a statement; the connection could be made
ReplyMessage no_work_available();  ///< nowork_skip

// Texts of the early reply (write_early_reply)
inline constexpr const char* kMaintenance = "Project is temporarily shut down for maintenance";
inline constexpr const char* kFeederNotRunning = "Server error: feeder not running";
inline constexpr const char* kCantAttachShmem = "Server error: can't attach shared memory";
inline constexpr const char* kCantParseConfig = "Server can't parse configuration file";
inline constexpr const char* kNoKeyFile = "Server can't find key file";

// Clients and computers that get no work
ReplyMessage client_too_old();
ReplyMessage os_not_supported(std::string_view os_name, std::string_view os_version);
ReplyMessage cpu_not_supported(std::string_view vendor, std::string_view model);
ReplyMessage platform_not_supported(std::string_view platform);
ReplyMessage missing_cpu_type();
ReplyMessage missing_os_name();
/// Within the last three days it is a notice. Versions are 10000 * major + 100 * minor + release.
ReplyMessage upgrade_announced(std::int64_t seconds_left, int wanted_version, int client_version);
ReplyMessage key_changed();
ReplyMessage too_recent(int seconds_to_wait);
ReplyMessage unknown_app_in_app_info(std::string_view app_name);
ReplyMessage syntax_error_in_app_info();

// Why no job was sent
ReplyMessage no_tasks_in_project();
ReplyMessage no_tasks_sent();
ReplyMessage no_tasks_for_app(std::string_view friendly_name);
ReplyMessage no_tasks_for_selected_apps();  ///< among the explanations
ReplyMessage wont_finish_in_time(int client_version, double on_frac, double active_frac);
ReplyMessage committed_to_other_platforms();
ReplyMessage computer_type_not_supported();  ///< homogeneous redundancy
ReplyMessage resource_refused_by_prefs(ProcType type);
ReplyMessage daily_quota_finished(int quota);  ///< of the host's row, not scaled
ReplyMessage in_progress_limit();

// Feasibility (upstream's no-work messages: notices)
ReplyMessage needs_ram(std::string_view friendly_name, double needed_bytes, double usable_bytes);
ReplyMessage needs_disk(std::string_view friendly_name, double needed_bytes, double available_bytes);
ReplyMessage needs_bandwidth(std::string_view friendly_name, double needed_bps, double measured_bps);
ReplyMessage daily_limit_reached(int limit);
/// Ours: upstream says nothing.
ReplyMessage no_version_for_request();
ReplyMessage gpu_versions_are_hidden();
ReplyMessage no_version_for_platform(std::string_view platform);
ReplyMessage no_usable_anonymous_version(std::string_view friendly_name);
ReplyMessage ruled_out_by_keywords();
/// Any other text, e.g. of a plan class.
ReplyMessage feasibility(std::string_view text);

// GPUs
ReplyMessage gpu_needs_ram(int min_mb, int preferred_mb, std::string_view gpu_name);
ReplyMessage gpu_needs_driver(std::string_view gpu_name);         ///< no version is usable
ReplyMessage gpu_driver_for_all_apps(std::string_view gpu_name);  ///< some are
ReplyMessage newer_client_for_nvidia();
ReplyMessage gpu_required(const std::vector<ProcType>& types);

// Bounds on what volunteers store (ours)
ReplyMessage trickles_wait();
ReplyMessage trickles_of_account_wait();
ReplyMessage trickles_dropped(std::size_t messages);
ReplyMessage too_many_new_hosts(int most);  ///< in 24 hours

// Single jobs and files
ReplyMessage resent(std::string_view result_name);
ReplyMessage not_resent_expired(std::string_view result_name);
ReplyMessage no_longer_usable(std::string_view result_name);

}  // namespace sluice::messages
