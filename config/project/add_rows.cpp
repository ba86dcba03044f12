#include "config/project/add_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

template <typename Row, typename Add>
void add_missing(const char* kind, const std::vector<Row>& wanted, std::vector<Row> existing, const Add& add,
                 AddedRows& result) {
    for (const Row& row : wanted) {
        const auto same = std::ranges::find(existing, row.name, &Row::name);
        if (same == existing.end()) {
            result.lines.push_back(
                fmt::format("Added {} {} '{}' (id {})", kind, row.name, row.user_friendly_name, add(row)));
            existing.push_back(row);
            ++result.added;
        } else if (same->user_friendly_name != row.user_friendly_name) {
            result.lines.push_back(
                fmt::format("Skipped {} {}: it exists, as '{}'; change it in the database if you want '{}'", kind,
                            row.name, same->user_friendly_name, row.user_friendly_name));
        } else {
            result.lines.push_back(fmt::format("Skipped {} {}: it exists", kind, row.name));
        }
    }
}

}  // namespace

AddedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now) {
    AddedRows result;
    add_missing(
        "platform", wanted.platforms, store.platforms(),
        [&](const Platform& row) { return store.add_platform(row, now); }, result);
    add_missing(
        "app", wanted.apps, store.apps(), [&](const App& row) { return store.add_app(row, now); }, result);
    return result;
}

}  // namespace sluice
