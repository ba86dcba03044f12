#include "sluice/db/pinned_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "db/catalogue_rules.h"
#include "db/mysql/app_rows.h"

namespace sluice {
namespace {

/// Of one app, deprecated ones, too. `tables` gets the platforms that are in use.
std::vector<AppVersion> versions_of(Database& db, Id appid, ProjectTables& tables) {
    Sql sql(
        "SELECT v.id, v.appid, v.platformid, v.version_num, v.plan_class, v.deprecated, IFNULL(p.deprecated,1) FROM "
        "app_version v LEFT JOIN platform p ON p.id=v.platformid WHERE v.appid=");
    std::vector<AppVersion> all;
    for (Rows rows = db.query(sql << appid); rows.next();) {
        AppVersion& v = all.emplace_back();
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

std::string why_the_feeder_drops(Database& db, const App& app, int version_num) {
    ProjectTables tables;
    tables.apps = {app};
    const std::vector<AppVersion> all = versions_of(db, app.id, tables), usable = usable_versions(all, tables);
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

std::string why_pinned_job_waits(Database& db, Id appid, int version_num) {
    for (const App& app : all_apps(db, ""))
        if (app.id == appid) return why_the_feeder_drops(db, app, version_num);
    return "";
}

}  // namespace sluice
