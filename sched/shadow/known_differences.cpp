// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/known_differences.h"

#include <algorithm>
#include <string_view>

#include "sluice/match/reasons.h"

namespace sluice {
namespace {

/// Was any job refused for this reason?
bool refused(const DifferencePair& p, std::string_view reason) {
    const auto& reasons = p.decision.stats.reasons;
    for (std::size_t i = 0; i < reasons.size(); ++i)
        if (reasons[i].count > 0 && reason == reason_name(static_cast<Reason>(i))) return true;
    return false;
}
bool at_level_one(const DifferencePair& p) { return p.config.compat_level > 0; }
bool sent(std::string_view word) { return word.starts_with("sent"); }

/// Did they send jobs of a version that this client is too old for, or that is for test users only?
bool sent_a_version_with_lost_flags(const DifferencePair& p) {
    const auto& alternatives = p.request.alt_platforms;
    for (const AppVersion& v : p.tables.versions) {
        const Platform* platform = p.tables.platform(v.platformid);
        const App* app = p.tables.app(v.appid);
        if (platform == nullptr || app == nullptr) continue;
        const bool runs_here =
            platform->name == p.request.platform_name ||
            std::find(alternatives.begin(), alternatives.end(), platform->name) != alternatives.end();
        const bool restricted = v.beta || v.min_core_version > p.request.client_version();
        if (runs_here && restricted && p.their_kinds.contains(kind_of_jobs(app->name, v.plan_class))) return true;
    }
    return false;
}

struct KnownDifference {
    const char* row;  ///< the first words of its first cell
    bool (*explains)(const DifferencePair&);
};
constexpr KnownDifference kKnown[] = {
    {"Lost jobs are resent only if the client asks for work",
     [](const DifferencePair& p) { return p.ours == "lost_jobs_resent" && !sent(p.theirs); }},
    {"Broadcast jobs wait while the job array is empty",
     [](const DifferencePair& p) { return p.theirs == "array_empty" && p.ours == "assigned_jobs_sent"; }},
    {"A client of an unknown platform",
     [](const DifferencePair& p) { return p.ours == "unknown_platform" && p.theirs == "unknown_platform"; }},
    {"Without daily_result_quota a host gets one request until a validation",
     [](const DifferencePair& p) {
         return p.config.daily_result_quota <= 0 && sent(p.ours) && (p.theirs == "daily_quota" || sent(p.theirs));
     }},
    {"An over-quota candidate ends the pass for the whole resource",
     [](const DifferencePair& p) { return sent(p.ours) && refused(p, "daily_quota"); }},
    {"the feeder's refresh of credit scales overwrites its cached versions", sent_a_version_with_lost_flags},
    {"Simulation: cpu_time_remaining only, deadlines of this reply's jobs absolute",
     [](const DifferencePair& p) {
         return p.config.workload_sim && (p.request.has_other_results || p.request.has_in_progress_results) &&
                (sent(p.ours) || p.ours == "deadline" || p.ours == "deadline_others");
     }},
    {"Only jobs of HR and homogeneous-version apps are checked for errors, and none for a canonical result",
     [](const DifferencePair& p) {
         return sent(p.theirs) && (refused(p, "workunit_error") || refused(p, "workunit_done"));
     }},
    {"Slow checks ask the database job by job, through the whole array",
     [](const DifferencePair& p) { return sent(p.theirs) && refused(p, "look_up_limit"); }},
    {"One reply may hold two instances of a workunit",
     [](const DifferencePair& p) {
         return at_level_one(p) && sent(p.theirs) && refused(p, "one_instance_per_workunit");
     }},
    {"An idle host always gets a job",
     [](const DifferencePair& p) {
         return at_level_one(p) && sent(p.theirs) && (p.ours == "deadline" || p.ours == "deadline_others");
     }},
    {"Memory: the job's bound alone",
     [](const DifferencePair& p) { return at_level_one(p) && sent(p.theirs) && refused(p, "memory_set"); }},
    {"Instances asked for without seconds are no request for work",
     [](const DifferencePair& p) { return at_level_one(p) && p.theirs == "not_asked" && p.ours != "not_asked"; }},
    {"Anonymous platform: preferences against GPUs or CPUs are ignored",
     [](const DifferencePair& p) {
         return at_level_one(p) && p.request.anonymous() && sent(p.theirs) &&
                (refused(p, "gpu_refused_by_prefs") || refused(p, "cpu_refused_by_prefs"));
     }},
    {"HR does not know Apple silicon, FreeBSD and Android",
     [](const DifferencePair& p) { return at_level_one(p) && p.theirs == "hr_class_unknown" && sent(p.ours); }},
};

}  // namespace

std::string kind_of_jobs(const std::string& app, const std::string& plan_class) {
    return plan_class.empty() ? app : app + " [" + plan_class + "]";
}

std::string explaining_row(const DifferencePair& pair) {
    for (const KnownDifference& known : kKnown)
        if (known.explains(pair)) return known.row;
    return "";
}

std::vector<std::string> explaining_rows() {
    std::vector<std::string> rows;
    for (const KnownDifference& known : kKnown) rows.emplace_back(known.row);
    return rows;
}

}  // namespace sluice
