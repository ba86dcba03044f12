// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/differences.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/options/daemon_findings.h"

namespace sluice {
namespace {

constexpr auto kDiffers = FindingGroup::kWouldDiffer, kAbsent = FindingGroup::kNotThere;

// clang-format off
constexpr DifferenceRow kRows[] = {
    // Data
    {"pinned_workunits", kDiffers, "Workunits among the newest that are pinned to an app version", "Each job is judged alone; upstream lets one decide for the jobs behind it.", "A pinned or windowed job decides", true},
    {"unsent_but_done", kDiffers, "Unsent jobs of workunits that are done or have failed", "They are marked as not needed; upstream sends those of done workunits.", "Unsent results of workunits with a canonical result are sent", true},
    {"inactive_but_done", kDiffers, "INACTIVE jobs of workunits that are done", "The transitioner ends them, and their workunits are over.", "INACTIVE results stay so", true},
    {"trickles", kDiffers, "Trickle messages among the newest", "A host may store 16 MB a day, an account 256 MB.", "Trickle-ups of any number and size", true},
    {"anonymous_versions", kDiffers, "Versions of the anonymous platform", "Their estimate holds the CPU's part, too, and their credit follows it.", "flops_estimate of anonymous versions", true},
    {"assigned_to_one", kDiffers, "Jobs that are assigned to a host, user or team", "They are inserted in progress; none is left behind if the request fails.", "Targeted jobs: inserted unsent", true},
    {"broadcast", kDiffers, "Broadcast jobs", "They are sent while the job array is empty, too.", "Broadcast jobs wait", true},
    {"broadcast_to_no_team", kDiffers, "Broadcast jobs for team 0", "They go to nobody.", "A team assignment with target 0", true},
    {"many_apps", kDiffers, "Apps", "Any number works; upstream's feeder ends above 10.", "At most 10 apps", true},
    {"many_platforms", kDiffers, "Platforms", "Any number works; upstream's feeder stops loading at 49.", "At most 10 apps", true},
    {"many_versions", kDiffers, "App versions", "Any number works; upstream's feeder stops loading at 99.", "At most 10 apps", true},
    {"apps_of_one_version", kDiffers, "Apps with homogeneous app versions", "Quota, preferences and capability are checked for committed workunits, too.", "Jobs of a workunit that is committed", true},
    {"apps_not_cpu_intensive", kDiffers, "Apps that are not CPU intensive", "Up to four slots of the app are tried.", "Non-CPU-intensive", true},
    {"apps_with_locality", kDiffers, "Apps with locality scheduling", "A host that has a job's file gets the points; upstream's test is inverted.", "Locality-lite", true},
    {"apps_with_size_classes", kDiffers, "Apps with size classes", "Sluice's size_regulator refuses nonsense, and does not overshoot beside a second one.", "Two size_regulators", true},
    {"apps_of_weight_zero", kDiffers, "Apps of weight 0 beside feeder --allapps", "They get no slot; upstream keeps an empty one for each.", "`--allapps`: an app of weight 0", true},
    {"buda", kDiffers, "BUDA apps", "The cpu_type arm matches aarch64, too.", "BUDA cpu_type arm", true},
    // Configuration
    {"bad_plan_classes", kDiffers, "Classes of plan_class_spec.xml that are wrong", "Only these are refused; upstream refuses all.", "One bad class in plan_class_spec.xml", true},
    {"no_daily_quota", kDiffers, "config.xml has no daily_result_quota", "A host has no quota then; upstream gives it one request until a job is validated.", "Without daily_result_quota", false},
    {"sched_old", kAbsent, "config.xml has sched_old", "Sluice has no multi-pass policy: the option has no effect.", "sched_old: multi-pass policy", false},
    {"resend_lost_results", kDiffers, "config.xml has resend_lost_results", "A deadline gets its grace once, and lost jobs come back also if the client asks for no work.", "Lost jobs: each resend adds", false},
    {"long_gui_urls", kDiffers, "gui_urls.xml is longer than 4 KiB", "All of it is sent; upstream cuts it.", "gui_urls.xml is cut at 4 KiB", false},
    {"debug_req_reply_dir", kDiffers, "config.xml has debug_req_reply_dir", "Copies of requests have mode 0640; upstream's are readable by all.", "Copies of requests and replies", false},
    {"time_stats_log", kDiffers, "There is a folder time_stats_log", "Without request_time_stats_log nothing is stored there.", "time_stats_log is stored", false},
    {"feeder_sleeps", kDiffers, "The feeder has no --sleep_interval", "It fills slots at once; upstream's sleeps for 5 s.", "The feeder sleeps for 5 s", false},
    {"feeder_purge_stale", kDiffers, "The feeder has --purge_stale", "Jobs that gave way rest; upstream's come back at once.", "`--purge_stale` puts the same jobs back", false},
    {"feeder_random_order", kDiffers, "The feeder has --random_order_db", "It draws an order; upstream's is not random.", "`--random_order_db` is not random", false},
    {"feeder_by_batch", kDiffers, "The feeder has --by_batch", "Batches take turns, and by priority within a batch; upstream's ignores all other choices.", "`--by_batch` ignores", false},
    {"feeder_several_choices", kDiffers, "The feeder has several of --mod, --wmod and --appids", "They hold together; upstream's last one counts.", "`--mod`, `--wmod` and `--appids`", false},
    {"validator_options", kAbsent, "A validator has check_punitive or update_credited_job", "Sluice's refuses them: leave them out. For the first, daily_result_quota gives hosts whose jobs fail fewer of them; for the second, fill credited_job yourself before db_purge.", "Validators' options --update_credited_job", false},
    {"fcgi", kDiffers, "The project has cgi-bin/fcgi", "Reload the web server after the move and after the way back: its processes are the program before.", "A FastCGI scheduler keeps the segment", false},
};
// clang-format on

bool has(const std::vector<std::string>& words, std::string_view option) {
    return std::ranges::any_of(words, [&](const std::string& word) {
        const std::string_view name = std::string_view(word).substr(std::min(word.size(), word.find_first_not_of('-')));
        return word.starts_with('-') && (name == option || name.starts_with(std::string(option) + "="));
    });
}

void add_facts_of_feeder(const std::vector<std::string>& words, std::map<std::string, std::int64_t>& facts) {
    if (!has(words, "sleep_interval")) facts["feeder_sleeps"] = 1;
    if (has(words, "purge_stale")) facts["feeder_purge_stale"] = 1;
    if (has(words, "random_order_db")) facts["feeder_random_order"] = 1;
    if (has(words, "by_batch")) facts["feeder_by_batch"] = 1;
    if (has(words, "mod") + has(words, "wmod") + (has(words, "appids") || has(words, "appid")) > 1)
        facts["feeder_several_choices"] = 1;
    if (has(words, "allapps")) facts["all_apps"] = 1;
}

}  // namespace

std::span<const DifferenceRow> difference_rows() { return kRows; }

std::map<std::string, std::int64_t> configured_facts(const std::filesystem::path& project, const ProjectConfig& config,
                                                     const DaemonsAndTasks& entries) {
    namespace fs = std::filesystem;
    std::map<std::string, std::int64_t> facts;
    std::error_code none;
    if (config.daily_result_quota == 0) facts["no_daily_quota"] = 1;
    if (config.sched_old) facts["sched_old"] = 1;
    if (config.resend_lost_results) facts["resend_lost_results"] = 1;
    if (!config.debug_req_reply_dir.empty()) facts["debug_req_reply_dir"] = 1;
    if (!config.request_time_stats_log && fs::is_directory(project / "time_stats_log", none))
        facts["time_stats_log"] = 1;
    if (const auto size = fs::file_size(project / "gui_urls.xml", none); !none && size > 4096)
        facts["long_gui_urls"] = 1;
    if (fs::exists(project / "cgi-bin/fcgi", none)) facts["fcgi"] = 1;
    for (const std::vector<std::string>& words : enabled_commands(entries)) {
        if (has(words, "check_punitive") || has(words, "update_credited_job")) facts["validator_options"] = 1;
        if (!words.empty() && fs::path(words[0]).filename() == "feeder") add_facts_of_feeder(words, facts);
    }
    return facts;
}

std::vector<Finding> difference_findings(const std::map<std::string, std::int64_t>& counts) {
    const auto count_of = [&](std::string_view id) {
        const auto at = counts.find(std::string(id));
        return at == counts.end() ? 0 : at->second;
    };
    std::vector<Finding> found;
    for (const DifferenceRow& row : kRows) {
        const std::int64_t n = count_of(row.id);
        if (n == 0 || (std::string_view(row.id) == "apps_of_weight_zero" && count_of("all_apps") == 0)) continue;
        const std::string number = row.counted ? fmt::format(": {}", n) : "";
        found.push_back(
            {Importance::kDifference, row.group, row.id, fmt::format("{}{}. {}", row.what, number, row.sluice), "", n});
    }
    return found;
}

}  // namespace sluice
