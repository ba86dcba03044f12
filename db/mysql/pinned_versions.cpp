// SPDX-License-Identifier: LGPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "db/mysql/columns.h"
#include "db/store_rules.h"
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

using VersionsOfApps = std::map<Id, std::vector<AppVersion>>;

/// Deprecated ones, too. `tables` gets the platforms that are in use.
VersionsOfApps versions_of(Database& db, std::span<const Id> apps, ProjectTables& tables) {
    Sql sql(
        "SELECT v.id, v.appid, v.platformid, v.version_num, v.plan_class, v.deprecated, IFNULL(p.deprecated,1) FROM "
        "app_version v LEFT JOIN platform p ON p.id=v.platformid WHERE v.appid IN (");
    VersionsOfApps all;
    for (Rows rows = db.query(sql.ids(apps) << ") ORDER BY v.id"); rows.next();) {
        AppVersion& v = all[rows.i64(1)].emplace_back();
        rows.read(v.id, v.appid, v.platformid, v.version_num, v.plan_class, v.deprecated);
        if (!rows.flag(6) && tables.platform(v.platformid) == nullptr)
            tables.platforms.push_back({v.platformid, "", ""});
    }
    return all;
}

std::string numbers_of(const std::vector<AppVersion>& versions) {
    constexpr std::size_t kMost = 10;
    std::set<int, std::greater<>> numbers;
    for (const AppVersion& v : versions) numbers.insert(v.version_num);
    std::string text;
    std::size_t n = 0;
    for (const int number : numbers) {
        if (n++ == kMost) return text + ", …";
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    return text.empty() ? "none" : text;
}

std::string why_the_feeder_drops(const App& app, const std::vector<AppVersion>& all, int version_num,
                                 const ProjectTables& tables) {
    const std::vector<AppVersion> usable = usable_versions(all, tables);
    const auto is_it = [&](const AppVersion& v) { return v.version_num == version_num; };
    if (std::ranges::any_of(usable, is_it)) return "";
    if (std::ranges::none_of(all, is_it))
        return fmt::format(
            "app {} has no version {}, so no host can run the job: release it with update_versions, or pin the job to "
            "a version that can be sent ({})",
            app.name, version_num, numbers_of(usable));
    const std::string subject = fmt::format("version {} of app {}", version_num, app.name);
    if (std::ranges::none_of(all, [&](const AppVersion& v) { return is_it(v) && !v.deprecated; }))
        return fmt::format(
            "{} is deprecated, so no host gets it: run bin/app_settings {} --app_version {} deprecated=0, or pin the job "
            "to a version that can be sent ({})",
            subject, app.name, version_num, numbers_of(usable));
    if (std::ranges::none_of(all, [&](const AppVersion& v) {
            return is_it(v) && !v.deprecated && tables.platform(v.platformid) != nullptr;
        }))
        return fmt::format("{} is for platforms that are deprecated or missing: add them with xadd", subject);
    const std::string helps = fmt::format("bin/app_settings {} min_version={} lets it be sent", app.name, version_num);
    if (app.min_version > 0)
        return fmt::format("{} is below the app's min_version {}, so the feeder leaves it out: {}", subject,
                           app.min_version, helps);
    return fmt::format("{} has a newer one, and the feeder keeps older versions only of apps with min_version: {}",
                       subject, helps);
}

}  // namespace

std::vector<std::string> why_pinned_jobs_wait(Database& db, const std::set<PinnedVersion>& pins) {
    if (pins.empty()) return {};
    ProjectTables tables;
    tables.apps = all_apps(db, "");
    std::vector<Id> ids;
    for (const auto& [app, number] : pins)
        if (ids.empty() || ids.back() != app) ids.push_back(app);
    VersionsOfApps versions = versions_of(db, ids, tables);
    std::vector<std::string> lines;
    for (const auto& [id, number] : pins) {
        const App* app = tables.app(id);
        std::string why = app == nullptr ? "" : why_the_feeder_drops(*app, versions[id], number, tables);
        if (!why.empty()) lines.push_back(std::move(why));
    }
    return lines;
}

std::string why_pinned_job_waits(Database& db, Id appid, int version_num) {
    const auto lines = why_pinned_jobs_wait(db, {{appid, version_num}});
    return lines.empty() ? "" : lines.front();
}

}  // namespace sluice
