// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/version_stats.h"

#include <algorithm>
#include <cmath>

#include "sched/match/app_versions.h"
#include "sluice/base/text.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/anonymous_version.h"

namespace sluice::match {
namespace {

constexpr double kHostSamples = 10, kVersionSamples = 100;  // statistics count from more than that
constexpr double kSpeedCap = 250;                           // an estimate is at most that many times the plan class's
constexpr int kProven = 10;                                 // valid results in a row

// Upstream grants slower kinds of hosts a longer turnaround.
double turnaround_factor(const Host& host) {
    const bool mac = contains_ignoring_case(host.os_name, "Darwin");
    const bool power = contains_ignoring_case(host.p_vendor, "Power Macintosh");
    const bool common = contains_ignoring_case(host.os_name, "Windows") ||
                        contains_ignoring_case(host.os_name, "Linux") || (mac && !power);
    return common ? 1 : 1.8;
}

}  // namespace

const HostAppVersion* find_row(const HostFacts& host, Id generalized_id) {
    for (const HostAppVersion& v : host.versions)
        if (v.app_version_id == generalized_id) return &v;
    return nullptr;
}

bool is_reliable(const MatchContext& x, const HostAppVersion* row) {
    if (!row || row->consecutive_valid < kProven) return false;
    const double most = x.params.reliable_max_avg_turnaround;
    if (most > 0 && row->turnaround.n > kHostSamples && row->turnaround.avg > most * turnaround_factor(x.host.row))
        return false;
    return x.params.daily_result_quota <= 0 || row->max_jobs_per_day >= x.params.daily_result_quota;
}

bool is_trusted(const MatchContext& x, const HostAppVersion* row) {
    return row && row->consecutive_valid >= kProven && x.rng.uniform() > 1.0 / row->consecutive_valid;
}

SpeedEstimate estimate_speed(const MatchContext& x, const AppVersion& version, const HostAppVersion* row,
                             const HostUsage& usage) {
    const auto plausible = [](double v) { return std::isfinite(v) && v > 0; };
    if (!x.params.rte_no_stats && row && row->et.n > kHostSamples) {
        const bool from_pfc = x.params.estimate_flops_from_hav_pfc && row->pfc_avg > 0;
        const double flops = from_pfc ? usage.peak_flops / row->pfc_avg : 1 / row->et.avg;
        if (plausible(flops)) return {std::min(flops, kSpeedCap * usage.projected_flops), false};
    }
    if (!x.params.rte_no_stats && version.pfc_n > kVersionSamples) {
        const double flops = usage.peak_flops / version.pfc_avg;
        if (plausible(flops)) return {flops, true};
    }
    const double f = x.host.row.p_fpops > 0 ? x.host.row.p_fpops : 1e9;
    return {f * (usage.avg_ncpus + kGpuPerCpu * usage.gpu_usage), true};
}

double compared_speed(const MatchContext& x, const HostAppVersion* row, double plan_class_flops, double estimate) {
    double n = 1, v = plan_class_flops;
    if (row) {
        n = std::max(std::floor(row->pfc_n), 1.0);
        v = ((n - 1) * estimate + plan_class_flops) / n;
        // A version that only ever failed here is tried once in a hundred times.
        if (row->pfc_n == 0 && row->max_jobs_per_day == 1 && row->consecutive_valid == 0 && x.rng.uniform() < 0.99)
            v *= 0.01;
    }
    if (x.params.version_select_random_factor == 0) return v;
    return v * std::max(1 + x.params.version_select_random_factor * x.rng.gaussian() / n, 0.1);
}

Quota daily_quota(const MatchContext& x, const HostAppVersion& row) {
    Quota q{row.n_jobs_today, -1};
    if (x.params.daily_result_quota <= 0) return q;  // no quota configured
    const Id id = row.app_version_id;
    double scale = std::max(x.host.row.p_ncpus, 1);
    if (const ProcType type = proc_type_of_row(x, id); type != ProcType::kCpu) {
        scale = std::max(limit_processors(x.host, type), 1);
        if (x.params.gpu_multiplier > 0) scale *= x.params.gpu_multiplier;
    }
    const double n = row.max_jobs_per_day;
    // A version that is down to one job a day gets one, whatever the host's size.
    q.allowed = static_cast<int>(std::min(n == 1 ? 1 : n * scale, 1e9));
    return q;
}

ProcType proc_type_of_row(const MatchContext& x, Id generalized_id) {
    if (const auto own = anonymous_version(generalized_id)) return own->type;
    const AppVersion* version = x.tables.version(generalized_id);
    return version ? x.plan_classes.resource(version->plan_class, x.params.compat_level) : ProcType::kCpu;
}

int size_class_of(const std::vector<double>* quantiles, double effective_speed) {
    if (!quantiles || quantiles->empty()) return -1;
    const auto above = std::upper_bound(quantiles->begin(), quantiles->end(), effective_speed);
    return static_cast<int>(above - quantiles->begin());
}

}  // namespace sluice::match
