// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/project/project_xml.h"
#include "sluice/db/project_setup_store.h"

namespace sluice {

enum class OfExisting { kKeep, kUpdate };

struct ChangedRows {
    int changed = 0;                 ///< added or updated
    std::vector<std::string> lines;  ///< one for each row wanted: what was done
};

/// Adds the platforms and apps whose names are not in the database yet. Of others user_friendly_name and, where
/// project.xml has one, min_version are brought in step (upstream behaviour).
ChangedRows add_rows(ProjectSetupStore& store, const ProjectXml& wanted, std::int64_t now, OfExisting existing);

}  // namespace sluice
