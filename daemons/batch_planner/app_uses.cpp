// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_planner/app_uses.h"

#include <algorithm>
#include <cmath>

#include "sluice/model/anonymous_version.h"

namespace sluice {
namespace {

constexpr double kVersionSamples = 100;  ///< statistics of a version count from more than that, as in the scheduler

ResourceUse use_of(const AppVersionUse& v, ProcType type, const PlanClasses& classes, int level) {
    if (type == ProcType::kCpu) return {.devices = 1};
    const GpuUse gpu = classes.gpu_use(v.plan_class, level);
    const bool known = v.pfc_n > kVersionSamples && std::isfinite(v.pfc_avg) && v.pfc_avg > 0;
    return {gpu.devices, gpu.cpus, gpu.peak_scale, gpu.projected, known ? v.pfc_avg : 0};
}

bool is_threaded(const CpuUse& use) { return use.fixed > 1 || (use.fixed <= 0 && use.most > 1) || use.least > 1; }

}  // namespace

AppUses::AppUses(const std::vector<AppVersionUse>& versions, const PlanClasses& classes, int compat_level) {
    for (const AppVersionUse& v : versions) {
        const auto types = classes.resources(v.plan_class, compat_level);
        const ProcType type = classes.resource(v.plan_class, compat_level);
        const CpuUse cpus = type == ProcType::kCpu ? sluice::cpu_use(classes, v.plan_class, compat_level) : CpuUse{};
        if (type != ProcType::kCpu) gpu_versions_.emplace(v.id, type);
        if (cpus != CpuUse{}) cpu_versions_.emplace(v.id, cpus);
        if (!v.sent) continue;
        if (type == ProcType::kCpu) threads_[v.app].push_back(cpus);
        AppUse& app = apps_[v.app];
        for (std::size_t t = 0; t < types.size(); ++t) {
            if (!types[t]) continue;
            const ResourceUse use = use_of(v, static_cast<ProcType>(t), classes, compat_level);
            if (!(app[t].devices > 0) || use.projected > app[t].projected) app[t] = use;
        }
    }
    std::erase_if(threads_, [](const auto& of) { return std::ranges::none_of(of.second, is_threaded); });
}

const std::vector<CpuUse>* AppUses::threads_of_app(Id app) const {
    const auto at = threads_.find(app);
    return at == threads_.end() ? nullptr : &at->second;
}

CpuUse AppUses::cpu_use(Id version) const {
    const auto at = cpu_versions_.find(version);
    return at == cpu_versions_.end() ? CpuUse{} : at->second;
}

ProcType AppUses::type_of(Id version) const {
    if (const auto type = anonymous_type(version)) return *type;
    if (const auto own = anonymous_version(version)) return own->type;
    const auto at = gpu_versions_.find(version);
    return at == gpu_versions_.end() ? ProcType::kCpu : at->second;
}

double unmeasured_speed(const ResourceUse& use, double benchmark, double peak) {
    if (use.pfc > 0 && peak > 0) return (use.devices * use.peak_scale * peak + use.cpus * benchmark) / use.pfc;
    return benchmark * (use.cpus + kGpuPerCpu * use.devices);
}

}  // namespace sluice
