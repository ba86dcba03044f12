// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/catalogue_findings.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sluice/base/text.h"

namespace sluice {
namespace {

Finding broken(const char* id, std::string text, std::int64_t count) {
    return {Importance::kWarning, FindingGroup::kWouldNotWork, id, std::move(text), "", count};
}

template <typename Row>
const Row* row_of(const std::vector<Row>& rows, Id id) {
    const auto at = std::ranges::find(rows, id, &Row::id);
    return at == rows.end() ? nullptr : &*at;
}

/// Versions that some host could get.
struct Judged {
    std::set<Id> apps_served;
    std::map<std::string, std::int64_t> unknown_classes;
    std::int64_t without_platform = 0, without_app = 0;
};

Judged judge(const CatalogueRows& rows, const PlanClasses& classes, int compat_level) {
    Judged judged;
    for (const AppVersion& version : rows.versions) {
        if (version.deprecated) continue;
        const Platform* platform = row_of(rows.platforms, version.platformid);
        const bool known = version.plan_class.empty() || classes.find(version.plan_class, compat_level) != nullptr;
        if (!known) ++judged.unknown_classes[version.plan_class];
        if (platform == nullptr || platform->deprecated) ++judged.without_platform;
        if (row_of(rows.apps, version.appid) == nullptr) ++judged.without_app;
        if (known && platform != nullptr && !platform->deprecated) judged.apps_served.insert(version.appid);
    }
    return judged;
}

}  // namespace

std::vector<Finding> catalogue_findings(const CatalogueRows& rows, const PlanClasses& classes, int compat_level) {
    const Judged judged = judge(rows, classes, compat_level);
    std::vector<Finding> found;
    std::vector<std::string> without;
    for (const App& app : rows.apps)
        if (!app.deprecated && !judged.apps_served.contains(app.id)) without.push_back(in_one_line(app.name, 60));
    if (!without.empty())
        found.push_back(broken("app_without_version",
                               fmt::format("apps without a version that a host could get, so that only hosts with a "
                                           "version of their own compute: {}. Add one with bin/update_versions, or "
                                           "deprecate the app",
                                           fmt::join(without, ", ")),
                               static_cast<std::int64_t>(without.size())));
    for (const auto& [name, count] : judged.unknown_classes)
        found.push_back(broken("unknown_plan_class",
                               fmt::format("app versions with the plan class '{}', which is not there or wrong: {}. No "
                                           "host gets them; {}",
                                           in_one_line(name, 60), count, classes.what_there_is(compat_level)),
                               count));
    if (judged.without_platform > 0)
        found.push_back(broken("version_without_platform",
                               fmt::format("app versions of a platform that is deprecated or not there: {}. No host "
                                           "gets them",
                                           judged.without_platform),
                               judged.without_platform));
    if (judged.without_app > 0)
        found.push_back(broken("version_without_app",
                               fmt::format("app versions of apps that are not there: {}", judged.without_app),
                               judged.without_app));
    return found;
}

std::vector<Finding> missing_templates(const std::vector<std::string>& names, const std::filesystem::path& project) {
    std::vector<std::string> missing;
    for (const std::string& name : names) {
        std::error_code none;
        if (name.empty() || !std::filesystem::exists(project / name, none)) missing.push_back(in_one_line(name, 100));
    }
    if (missing.empty()) return {};
    return {broken("missing_template",
                   fmt::format("output templates that unfinished workunits name and that are not in {}: {}. Their "
                               "workunits get no further jobs; put the files back",
                               project.string(), fmt::join(missing, ", ")),
                   static_cast<std::int64_t>(missing.size()))};
}

}  // namespace sluice
