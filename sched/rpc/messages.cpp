// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/rpc/messages.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::messages {
namespace {

constexpr double kMegabyte = 1024.0 * 1024.0, kKilobyte = 1024.0;

ReplyMessage low(std::string text) { return {std::move(text), false}; }
ReplyMessage notice(std::string text) { return {std::move(text), true}; }

/// A text for translation.
std::string marked(std::string_view text) { return fmt::format("_(\"{}\")", text); }

/// A client's words inside a message: no markup, no control characters, no more than a line.
std::string plain(std::string_view words) {
    std::string out(words.substr(0, 255));
    std::ranges::replace_if(
        out, [](char c) { return c == '<' || c == '>' || static_cast<unsigned char>(c) < ' '; }, '?');
    return out;
}

}  // namespace

ReplyMessage bad_request(std::string_view error) { return low(fmt::format("Error in request message: {}", error)); }
ReplyMessage cant_find_host() { return low("Can't find host record"); }
ReplyMessage bad_key_of_known_host() {
    return notice(marked("Invalid or missing account key.  To fix, remove and add this project."));
}
ReplyMessage bad_key() { return low("Invalid or missing account key.  To fix, remove and add this project ."); }
ReplyMessage host_is_banned() { return low("Not accepting requests from this host"); }
ReplyMessage another_instance() { return low("Another scheduler instance is running for this host"); }
ReplyMessage cant_open_database() { return low("Server can't open database"); }
ReplyMessage database_failed() { return low("Server error: a database query failed; try again later"); }
ReplyMessage no_work_available() { return low("No work available"); }
ReplyMessage trickles_wait() {
    return low("Messages of this computer's tasks wait until tomorrow: today it sent as many as this project takes");
}
ReplyMessage trickles_of_account_wait() {
    return low(
        "Messages of this computer's tasks wait until tomorrow: today the computers of this account sent as many as "
        "this project takes");
}
ReplyMessage trickles_dropped(std::size_t messages) {
    return notice(fmt::format("{} messages of this computer's tasks were too many and are lost", messages));
}
ReplyMessage too_many_new_hosts(int most) {
    return notice(fmt::format(
        "This account added {} computers in 24 hours, as many as this project allows. Try again tomorrow.", most));
}

ReplyMessage client_too_old() {
    return notice(marked("Your BOINC client software is too old.  Please install the current version."));
}
ReplyMessage os_not_supported(std::string_view os_name, std::string_view os_version) {
    return notice(fmt::format("{} {} {}", marked("This project doesn't support operating system"), plain(os_name),
                              plain(os_version)));
}
ReplyMessage cpu_not_supported(std::string_view vendor, std::string_view model) {
    return notice(
        fmt::format("{} {} {}", marked("This project doesn't support CPU type"), plain(vendor), plain(model)));
}
ReplyMessage platform_not_supported(std::string_view platform) {
    return notice(fmt::format("{} {}", marked("This project doesn't support computers of type"), plain(platform)));
}
ReplyMessage missing_cpu_type() { return notice("Missing CPU type in request"); }
ReplyMessage missing_os_name() { return notice("Missing OS name in request"); }

ReplyMessage upgrade_announced(std::int64_t seconds_left, int wanted_version, int client_version) {
    const std::int64_t hours = std::max<std::int64_t>(seconds_left, 0) / 3600;
    const auto dotted = [](int v) { return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100); };
    return {fmt::format("In {} days and {} hours, this project will require a minimum BOINC version of {}.  You are "
                        "currently using version {}; please upgrade before this time.",
                        hours / 24, hours % 24, dotted(wanted_version), dotted(client_version)),
            hours < 3 * 24};
}

ReplyMessage key_changed() {
    return notice(marked("The project has changed its security key.  Please remove and add this project."));
}
ReplyMessage too_recent(int seconds_to_wait) {
    return low(fmt::format("Not sending work. Last request too recent. Please wait {} seconds.", seconds_to_wait));
}
ReplyMessage unknown_app_in_app_info(std::string_view app_name) {
    return notice(fmt::format("Unknown app name {} in app_info.xml", plain(app_name)));
}
ReplyMessage syntax_error_in_app_info() { return notice("Syntax error in app_info.xml"); }

ReplyMessage no_tasks_in_project() { return low("Project has no tasks available"); }
ReplyMessage no_tasks_sent() { return low("No tasks sent"); }
ReplyMessage no_tasks_for_app(std::string_view friendly_name) {
    return low(fmt::format("No tasks are available for {}", friendly_name));
}
ReplyMessage no_tasks_for_selected_apps() {
    return low(marked("No tasks are available for the applications you have selected."));
}
ReplyMessage wont_finish_in_time(int client_version, double on_frac, double active_frac) {
    if (client_version <= 41900)
        return low(fmt::format("Tasks won't finish in time: Computer available {:.1f}% of the time", 100 * on_frac));
    return low(
        fmt::format("Tasks won't finish in time: BOINC runs {:.1f}% of the time; computation is enabled {:.1f}% "
                    "of that",
                    100 * on_frac, 100 * active_frac));
}
ReplyMessage committed_to_other_platforms() { return low("Tasks are committed to other platforms"); }
ReplyMessage computer_type_not_supported() {
    return notice(marked("Your computer type is not supported by this project"));
}
ReplyMessage resource_refused_by_prefs(ProcType type) {
    return low(marked(fmt::format("Tasks for {} are available, but your preferences are set to not accept them",
                                  proc_type_user_name(type))));
}
ReplyMessage daily_quota_finished(int quota) {
    return low(fmt::format("This computer has finished a daily quota of {} tasks", quota));
}
ReplyMessage in_progress_limit() { return low("This computer has reached a limit on tasks in progress"); }

ReplyMessage needs_ram(std::string_view friendly_name, double needed_bytes, double usable_bytes) {
    return notice(fmt::format("{} needs {:.2f} MB RAM but only {:.2f} MB is available for use.", friendly_name,
                              needed_bytes / kMegabyte, usable_bytes / kMegabyte));
}
ReplyMessage needs_disk(std::string_view friendly_name, double needed_bytes, double available_bytes) {
    return notice(fmt::format(
        "{} needs {:.2f}MB more disk space.  You currently have {:.2f} MB available and it needs {:.2f} MB.",
        friendly_name, (needed_bytes - available_bytes) / kMegabyte, available_bytes / kMegabyte,
        needed_bytes / kMegabyte));
}
ReplyMessage needs_bandwidth(std::string_view friendly_name, double needed_bps, double measured_bps) {
    return notice(
        fmt::format("{} requires {:.2f} KB/sec download bandwidth.  Your computer has been measured at {:.2f} KB/sec.",
                    friendly_name, needed_bps / kKilobyte, measured_bps / kKilobyte));
}
ReplyMessage daily_limit_reached(int limit) {
    return notice(fmt::format("Daily job limit ({}) has been reached", limit));
}
ReplyMessage no_version_for_request() {
    return low("The tasks that wait have no application for this computer and the resources it asks work for");
}
ReplyMessage gpu_versions_are_hidden() {
    return low(
        "This project's applications for your GPU can't be sent: its configuration names their plan class wrongly, "
        "which its administrators can correct");
}
ReplyMessage no_version_for_platform(std::string_view platform) {
    return low(fmt::format("No application of this project runs on this type of computer ({})", platform));
}
ReplyMessage no_usable_anonymous_version(std::string_view friendly_name) {
    return notice(
        fmt::format("{} {}.", marked("Your app_info.xml file doesn't have a usable version of"), friendly_name));
}
ReplyMessage ruled_out_by_keywords() { return notice("Some jobs are ruled out by your science/location preferences"); }
ReplyMessage feasibility(std::string_view text) { return notice(std::string(text)); }

ReplyMessage gpu_needs_ram(int min_mb, int preferred_mb, std::string_view gpu_name) {
    return low(
        fmt::format("A minimum of {} MB (preferably {} MB) of video RAM is needed to process tasks using your "
                    "computer's {}",
                    min_mb, preferred_mb, plain(gpu_name)));
}
ReplyMessage gpu_needs_driver(std::string_view gpu_name) {
    return notice(fmt::format("{}: {}", plain(gpu_name),
                              marked("Upgrade to the latest driver to process tasks using your computer's GPU")));
}
ReplyMessage gpu_driver_for_all_apps(std::string_view gpu_name) {
    return low(fmt::format("{}: {}", plain(gpu_name),
                           marked("Upgrade to the latest driver to use all of this project's GPU applications")));
}
ReplyMessage newer_client_for_nvidia() {
    return notice(
        marked("A newer version of BOINC is needed to use your NVIDIA GPU; please upgrade to the current version"));
}
ReplyMessage gpu_required(const std::vector<ProcType>& types) {
    std::string names;
    for (const ProcType type : types) names += (names.empty() ? "" : " or ") + std::string(proc_type_user_name(type));
    return notice(marked(fmt::format("An {} is required to run tasks for this project", names)));
}

ReplyMessage resent(std::string_view name) { return low(fmt::format("Resent lost task {}", plain(name))); }
ReplyMessage not_resent_expired(std::string_view name) {
    return low(fmt::format("Didn't resend lost task {} (expired)", plain(name)));
}
ReplyMessage no_longer_usable(std::string_view name) {
    return low(fmt::format("Result {} is no longer usable", plain(name)));
}

}  // namespace sluice::messages
