// SPDX-License-Identifier: LGPL-3.0-or-later
// What a single job has for or against it, apart from the other jobs of the reply.
#include <algorithm>

#include "tests/unit/oracle/rules.h"

namespace sluice::oracle {

bool selected(const UserFacts& user, const App& app) {
    const auto& list = user.selected_apps;
    return list.empty() || std::count(list.begin(), list.end(), app.id) > 0;
}

int hr_type(const MatchParams& params, const App& app) {
    const int own = static_cast<int>(app.homogeneous_redundancy);
    return own != 0 ? own : params.homogeneous_redundancy;
}

int host_hr_class(const World& w, const App& app) {
    const int type = hr_type(w.params, app);
    return type == 0 ? 0 : type == 1 ? w.host.hr_class_fine : w.host.hr_class_coarse;
}

Reason Rules::app_check(const App& app) const {
    if (app.non_cpu_intensive) return Reason::kNonCpuIntensive;
    if (app.beta && !w_.user.allow_beta_work) return Reason::kBetaNotAllowed;
    if (!selected(w_.user, app) && !w_.user.allow_non_preferred_apps) return Reason::kAppNotSelected;
    if (hr_type(p_, app) != 0 && host_hr_class(w_, app) == 0) return Reason::kHrClassUnknown;
    return Reason::kFeasible;
}

Reason Rules::job_check(const App& app, const JobSummary& job) const {
    if (p_.user_filter && job.batch != 0 && job.batch != w_.user.id) return Reason::kUserFilter;
    if (p_.jobs_without_batch == "refuse" && job.batch == 0) return Reason::kJobWithoutBatch;
    if (hr_type(p_, app) != 0 && job.hr_class != 0 && job.hr_class != host_hr_class(w_, app))
        return Reason::kHrClassMismatch;
    for (int i = 0; p_.keyword_sched && i < job.n_keywords; ++i)
        if (w_.user.keywords_no.count(job.keywords[static_cast<std::size_t>(i)]) > 0) return Reason::kKeywordRefused;
    return Reason::kFeasible;
}

// 1: yes, 0: no, 0.5: nobody knows yet. Upstream knows a flag of the host; level 1 also verdicts on its versions.
double Rules::low_turnaround(const Version& v) const {
    const bool flag = h_.row.error_rate > 0;
    if (!ours_) return flag ? 1 : 0;
    if (const auto verdict = h_.low_turnaround_versions.find(v.statistics_id);
        verdict != h_.low_turnaround_versions.end())
        return verdict->second ? 1 : 0;
    if (flag) return 1;
    for (const HostAppVersion& row : h_.versions)
        if (row.turnaround.n > 0) return 0;
    return 0.5;
}

Reason Rules::version_check(const App& app, const JobSummary& job, const Version& v) const {
    if (app.homogeneous_app_version && job.app_version_id != 0 && job.app_version_id != v.id)
        return Reason::kAppVersionMismatch;
    const bool accelerated = p_.batch_accel && app.n_size_classes > 0 && job.wu_priority > 0;
    const bool waited_enough = p_.ltt_reserve_timeout > 0 && w_.now - job.time_added >= p_.ltt_reserve_timeout;
    if (accelerated && low_turnaround(v) == 0 && !waited_enough) return Reason::kReservedForLtt;
    if (job.need_reliable && !app.beta && !v.reliable) return Reason::kNeedsReliable;
    double memory = job.rsc_memory_bound;
    if (memory > h_.usable_ram) return Reason::kMemory;
    // Level 1: a job for an idle processor must fit beside the largest jobs that can run there with it.
    const bool idle = !w_.wanted.resource_specific || w_.wanted.instances[static_cast<std::size_t>(v.type)] > 0;
    if (ours_ && idle) {
        std::vector<double> held;
        for (const JobOnHost& other : h_.in_progress) held.push_back(other.memory);
        std::sort(held.rbegin(), held.rend());
        for (std::size_t i = 0; i < held.size() && static_cast<int>(i) + 1 < h_.usable_cpus; ++i) memory += held[i];
        if (memory > h_.usable_ram) return Reason::kMemory;
    }
    return Reason::kFeasible;
}

Reason Rules::last_check(const JobSummary& job) const {
    if (job.rsc_disk_bound > h_.disk_available) return Reason::kDisk;
    if (job.rsc_bandwidth_bound > 0 && h_.row.n_bwdown > 0 && h_.row.n_bwdown < job.rsc_bandwidth_bound)
        return Reason::kBandwidth;
    return Reason::kFeasible;
}

Reason Rules::slow_check(const App& app, const World::Slot& slot, const Version& v) const {
    const WorkunitFacts& f = slot.facts;
    if (!f.found || f.workunit_id != slot.job.workunit_id || f.server_state != ServerState::kUnsent)
        return Reason::kResultGone;
    if (f.error_mask != 0) return Reason::kWorkunitError;
    if (f.canonical_resultid != 0) return Reason::kWorkunitDone;
    if (hr_type(p_, app) != 0 && f.hr_class != 0 && f.hr_class != host_hr_class(w_, app))
        return Reason::kHrCommittedElsewhere;
    if (app.homogeneous_app_version && f.app_version_id != 0 && f.app_version_id != v.id)
        return Reason::kVersionCommittedElsewhere;
    if (p_.one_result_per_user_per_wu) return f.results_of_user > 0 ? Reason::kOneResultPerUser : Reason::kFeasible;
    if (p_.one_result_per_host_per_wu && f.results_of_host > 0) return Reason::kOneResultPerHost;
    return Reason::kFeasible;
}

double Rules::weight(const char* term, double level0, double level1) const {
    const auto given = p_.score_weights.find(term);
    if (given != p_.score_weights.end()) return given->second;
    return ours_ ? level1 : level0;
}

// The quantile that the processor's effective speed falls into; -1: the app has no classes, or nobody knows.
int Rules::size_class(const App& app, const Version& v) const {
    const auto known = w_.tables.size_quantiles.find(app.id);
    if (!p_.size_classes || app.n_size_classes < 2 || known == w_.tables.size_quantiles.end()) return -1;
    const double speed = v.flops * (v.type == 0 ? h_.cpu_availability : h_.gpu_availability);
    int n = 0;
    while (n < static_cast<int>(known->second.size()) && speed >= known->second[static_cast<std::size_t>(n)]) ++n;
    return n;
}

// From -1 (the least) to 1 (the largest) of the distinct values of its kind.
double Rules::rank_points(int priority, const std::vector<int>& priorities) const {
    constexpr int kLogicalEndTime = -100000000;  // below: minus the logical end time of a batch
    const bool end_time = priority < kLogicalEndTime;
    const double of_kind = end_time ? weight("batch_let", 0, 3) : weight("result_priority", 1, 4);
    if (!end_time && !ours_) return of_kind * priority;
    std::set<int> kind;
    for (int p : priorities)
        if ((p < kLogicalEndTime) == end_time) kind.insert(p);
    if (kind.size() < 2) return 0;
    const auto below = std::distance(kind.begin(), kind.find(priority));
    return of_kind * (2.0 * static_cast<double>(below) / static_cast<double>(kind.size() - 1) - 1);
}

// All but what depends on the other candidates (rank_points).
double Rules::score(const App& app, const World::Slot& slot, const Version& v) const {
    const JobSummary& job = slot.job;
    double points = 0;
    if (!ours_ && job.priority < -100000000) points += weight("result_priority", 1, 4) * job.priority;
    const bool accelerated = p_.batch_accel && app.n_size_classes > 0 && job.wu_priority > 0;
    if (accelerated && low_turnaround(v) == 1) points += weight("ltt_match", 10, 10);
    if (app.beta) points += weight("beta", 1, 1);
    if (!selected(w_.user, app)) points -= weight("non_preferred_app", 1, 1);
    if (slot.infeasible > 0 || job.hr_class > 0) points += weight("previously_infeasible", 1, 1);
    double bytes = 0, here = 0;
    bool any_here = false;
    for (int i = 0; i < job.n_input_files; ++i) {
        const InputFileHint& file = job.input_files[static_cast<std::size_t>(i)];
        bytes += file.nbytes;
        if (h_.files.count(file.name_hash) == 0) continue;
        any_here = true;
        here += file.nbytes;
    }
    if (app.locality_scheduling == 1 && any_here)
        points += weight("locality_lite", 10, 10) * (ours_ ? here / bytes : 1);
    const bool sizes = p_.size_classes && !w_.tables.size_quantiles.empty();
    const int host = size_class(app, v);
    if (ours_ && sizes && (host < 0 || job.size_class < 0)) {
        points += weight("size_class", 5, 5);  // upstream: such a job is smaller than any, or has no points
    } else if (host >= 0) {
        const double value = job.size_class == host ? 1 : job.size_class < host ? -.2 : -.4;
        points += weight("size_class", 5, 5) * value;
    }
    int yes = 0;
    for (int i = 0; p_.keyword_sched && i < job.n_keywords; ++i)
        yes += w_.user.keywords_yes.count(job.keywords[static_cast<std::size_t>(i)]) > 0 ? 1 : 0;
    if (yes > 0) points += weight("keyword", 1, 1) * (ours_ ? static_cast<double>(yes) / job.n_keywords : yes);
    const double availability = v.type == 0 ? h_.cpu_availability : h_.gpu_availability;
    const double runtime = job.rsc_fpops_est / v.flops / availability;
    const double demand = std::max({runtime / job.delay_bound, job.rsc_memory_bound / h_.usable_ram,
                                    h_.disk_available > 0 ? job.rsc_disk_bound / h_.disk_available : 0});
    points += weight("hardness", 0, 2) * std::min(demand, 1.0);
    if (hr_type(p_, app) != 0 && job.hr_class != 0) points += weight("hr_committed", 0, 2);  // to this host's class
    if (job.need_reliable && v.reliable) points += weight("reliable_retry", 0, 3);
    constexpr double kWeek = 7 * 24 * 3600;
    if (job.create_time > 0) points += weight("waiting", 0, 1) * std::clamp((w_.now - job.create_time) / kWeek, 0., 1.);
    return points;
}

}  // namespace sluice::oracle
