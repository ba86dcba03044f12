// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/add_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

/// What project.xml says otherwise than the row: the row as it should be. A name that is not given is the short one.
bool take_name(std::string& existing, const std::string& wanted, const std::string& short_name) {
    if (wanted == existing || wanted == short_name) return false;
    existing = wanted;
    return true;
}
bool take_changes(Platform& existing, const Platform& wanted) {
    return take_name(existing.user_friendly_name, wanted.user_friendly_name, wanted.name);
}
bool take_changes(App& existing, const App& wanted) {
    const bool renamed = take_name(existing.user_friendly_name, wanted.user_friendly_name, wanted.name);
    const bool other_version = wanted.min_version != 0 && wanted.min_version != existing.min_version;
    if (other_version) existing.min_version = wanted.min_version;
    return renamed || other_version;
}

/// The rows to change.
template <typename Row, typename Add>
std::vector<Row> add_missing(const char* kind, const std::vector<Row>& wanted, std::vector<Row> existing,
                             OfExisting of_existing, const Add& add, ChangedRows& result) {
    std::vector<Row> changed;
    for (const Row& row : wanted) {
        const auto same = std::ranges::find(existing, row.name, &Row::name);
        if (same == existing.end()) {
            result.lines.push_back(
                fmt::format("Added {} {} '{}' (id {})", kind, row.name, row.user_friendly_name, add(row)));
            existing.push_back(row);
            ++result.changed;
        } else if (of_existing == OfExisting::kUpdate && take_changes(*same, row)) {
            result.lines.push_back(fmt::format("Updated {} {} '{}'", kind, row.name, same->user_friendly_name));
            changed.push_back(*same);
            ++result.changed;
        } else {
            const char* changes_it = std::is_same_v<Row, App> ? "; bin/app_settings shows and changes it" : "";
            result.lines.push_back(fmt::format("Skipped {} {}: it exists{}", kind, row.name, changes_it));
        }
    }
    return changed;
}

}  // namespace

ChangedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now, OfExisting existing) {
    ChangedRows result;
    const auto platforms = add_missing(
        "platform", wanted.platforms, store.platforms(), existing,
        [&](const Platform& row) { return store.add_platform(row, now); }, result);
    const auto apps = add_missing(
        "app", wanted.apps, store.apps(), existing, [&](const App& row) { return store.add_app(row, now); }, result);
    store.update(platforms, apps);
    return result;
}

}  // namespace sluice
