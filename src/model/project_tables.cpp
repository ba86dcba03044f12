// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/project_tables.h"

#include <algorithm>

namespace sluice {
namespace {

/// Rows come sorted by id from the database; tests and hand-made tables need not be.
template <typename Row>
const Row* by_id(const std::vector<Row>& rows, Id id) {
    const auto at = std::lower_bound(rows.begin(), rows.end(), id, [](const Row& row, Id x) { return row.id < x; });
    if (at != rows.end() && at->id == id) return &*at;
    const auto found = std::find_if(rows.begin(), rows.end(), [id](const Row& row) { return row.id == id; });
    return found == rows.end() ? nullptr : &*found;
}

template <typename Row>
const Row* by_name(const std::vector<Row>& rows, std::string_view name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [name](const Row& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const App* ProjectTables::app(Id id) const { return by_id(apps, id); }
const App* ProjectTables::app_by_name(std::string_view name) const { return by_name(apps, name); }
const Platform* ProjectTables::platform_by_name(std::string_view name) const { return by_name(platforms, name); }
const Platform* ProjectTables::platform(Id id) const { return by_id(platforms, id); }
const AppVersion* ProjectTables::version(Id id) const { return by_id(versions, id); }

const FileGroup* ProjectTables::file_group(std::string_view file) const {
    const auto at = std::lower_bound(file_groups.begin(), file_groups.end(), file,
                                     [](const FileGroup& g, std::string_view name) { return g.name < name; });
    return at != file_groups.end() && at->name == file ? &*at : nullptr;
}

}  // namespace sluice
