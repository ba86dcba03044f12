// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/store_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sluice/base/text.h"
#include "sluice/db/transition_store.h"
#include "sluice/model/average.h"

namespace sluice {
namespace {

constexpr double kMinVersionSamples = 100;
/// A GPU's peak speed is about ten times what an application gets out of it.
constexpr double kGpuOnlyFactor = 0.1;

struct ClaimMean {
    double sum = 0, samples = 0;
    int versions = 0;
    void add(const AppVersion& v) {
        sum += v.pfc_avg * v.pfc_n;
        samples += v.pfc_n;
        ++versions;
    }
    double mean() const { return sum / samples; }
};

bool differs(double a, double b) { return std::abs(a - b) > 1e-12 * std::max(std::abs(a), std::abs(b)); }

std::optional<double> measure_of(const App& app, const std::vector<AppVersion>& versions, const ResourceOf& resource) {
    ClaimMean cpu, gpu;
    for (const AppVersion& v : versions) {
        if (v.deprecated || v.appid != app.id || v.pfc_n <= kMinVersionSamples) continue;
        (resource(v.plan_class) == ProcType::kCpu ? cpu : gpu).add(v);
    }
    std::optional<double> measure;
    if (cpu.versions > 0 && gpu.versions > 0) {
        measure = std::min(cpu.mean(), gpu.mean());
    } else if (cpu.versions > 1) {
        measure = cpu.mean();
    } else if (gpu.versions > 0) {
        measure = gpu.mean() * kGpuOnlyFactor;
    }
    // Zero or nonsense in the statistics must not become everybody's scale.
    if (measure && !(*measure > 0 && std::isfinite(*measure))) measure.reset();
    return measure;
}

}  // namespace

int core_version_in_full(int version) { return version > 0 && version < 10000 ? version * 100 : version; }

std::vector<AppVersion> usable_versions(std::vector<AppVersion> versions, const ProjectTables& tables) {
    // One that no reply can carry takes no work from an older one.
    std::map<std::tuple<Id, Id, std::string>, std::pair<bool, int>> newest;
    for (const AppVersion& v : versions) {
        if (v.deprecated) continue;
        auto& best = newest[{v.appid, v.platformid, v.plan_class}];
        best = std::max(best, {is_whole(v.xml_doc, "app_version"), v.version_num});
    }
    std::vector<AppVersion> usable;
    for (AppVersion& v : versions) {
        const App* app = tables.app(v.appid);
        if (app == nullptr || tables.platform(v.platformid) == nullptr) continue;
        const bool gone = v.deprecated;
        const bool older = gone || v.version_num < newest[{v.appid, v.platformid, v.plan_class}].second;
        const bool unwanted = gone || (app->min_version == 0 ? older : v.version_num < app->min_version);
        if (unwanted && !app->homogeneous_app_version) continue;
        v.deprecated = older || unwanted;
        v.min_core_version = core_version_in_full(v.min_core_version);
        v.max_core_version = core_version_in_full(v.max_core_version);
        usable.push_back(std::move(v));
    }
    std::sort(usable.begin(), usable.end(), [](const AppVersion& a, const AppVersion& b) { return a.id < b.id; });
    return usable;
}

std::int64_t percentile_index(std::int64_t n, int percent) { return std::min(n * percent / 100, n - 1); }

CreditScales new_credit_scales(const std::vector<App>& apps, const std::vector<AppVersion>& versions,
                               const ResourceOf& resource) {
    CreditScales scales;
    for (const App& app : apps) {
        const std::optional<double> measure = measure_of(app, versions, resource);
        if (!measure) continue;
        if (differs(app.min_avg_pfc, *measure)) {
            scales.apps.push_back(app);
            scales.apps.back().min_avg_pfc = *measure;
        }
        for (const AppVersion& v : versions) {
            if (v.deprecated || v.appid != app.id || v.pfc_n < kMinVersionSamples || !(v.pfc_avg > 0)) continue;
            const double scale = *measure / v.pfc_avg;
            if (!std::isfinite(scale) || !differs(v.pfc_scale, scale)) continue;
            scales.versions.push_back(v);
            scales.versions.back().pfc_scale = scale;
        }
    }
    return scales;
}

std::int64_t result_name_suffix(std::string_view name) {
    const auto underscore = name.rfind('_');
    if (underscore == name.npos) return -1;
    const char* const begin = name.data() + underscore + 1;
    const char* const end = name.data() + name.size();
    std::int64_t suffix = -1;
    const auto [stop, error] = std::from_chars(begin, end, suffix);
    // Beyond 31 bits it is no counter of ours, and counting on from it would overflow.
    const bool sensible =
        error == std::errc{} && stop == end && suffix >= 0 && suffix < std::numeric_limits<std::int32_t>::max();
    return sensible ? suffix : -1;
}

void penalize(HostAppVersion& version, const TimedOut& timed_out) {
    add_sample(version.turnaround, timed_out.turnaround, kHostVersionRule);
    const int quota = timed_out.daily_quota;
    const int now = version.max_jobs_per_day == 0 ? quota : std::min(version.max_jobs_per_day, quota);
    version.max_jobs_per_day = std::max(1, now - 1);
    version.consecutive_valid = 0;
}

}  // namespace sluice
